// The tarball under every common bundler, without configuration: bundles the README's example, runs it in a real
// browser and compares its output with the README. Only the chosen build is downloaded.

import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { ISOLATED, launchBrowser, openPage, serveFolder, serveThrough } from "./browser.mjs";
import { countCores } from "./core.mjs";
import { example, inFunction, onConnection, onSlim, onThreads, promised } from "./example.mjs";
import { makeProject, run, serve, versionOf, writeFiles } from "./project.mjs";

/** The number of the package's builds, each in a separate chunk. */
const BUILDS = countCores(fileURLToPath(new URL("../../dist/wasm", import.meta.url)));

/** webpack's warning for every file above 244 KiB. */
const SIZE_HINT = /WARNING in (asset|entrypoint) size limit|compiled with \d warning/;

/** The start of a tool's warning or error; file names do not match. */
const DOUBT = /(^|\s)(\(!\)|\[?(warn(ing)?s?|errors?)\]?:?)(\s|$)/i;

const html = (script, type = "module") =>
  `<!doctype html><meta charset="utf-8"><title>zeropoint</title><link rel="icon" href="data:,">
<script type="${type}" src="${script}"></script>`;

/** Runs a tool's program in a project; fails if it prints warnings or errors. */
function runTool(project, script, args, allowed = /$^/) {
  const { code, stdout, stderr } = run(project, process.execPath, [
    join("node_modules", script),
    ...args,
  ]);
  const output = `${stdout}\n${stderr}`;
  assert.equal(code, 0, output);
  const doubts = output.split("\n").filter((line) => DOUBT.test(line) && !allowed.test(line));
  assert.deepEqual(doubts, [], output);
  return output;
}

describe("The tarball bundled", () => {
  let browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  /** Opens a page that prints the expected lines, and fails on any unexpected problem. */
  async function checkPage(address, { lines = promised, expected = /$^/ } = {}) {
    const { printed, problems, cores } = await openPage(browser, address, lines.length);
    assert.deepEqual(
      problems.filter((problem) => !expected.test(problem)),
      [],
    );
    assert.equal(printed.length, lines.length, printed.join("\n"));
    for (const [i, line] of lines.entries()) {
      if (line instanceof RegExp) assert.match(printed[i], line);
      else assert.equal(printed[i], line);
    }
    assert.equal(cores.length, 1, `one core is downloaded, not ${cores.join(", ")}`);
  }

  /** Serves a folder, isolated so that threads are available, and checks its page. */
  async function checkFolder(folder, { script, type, ...checks } = {}) {
    if (script) writeFiles(folder, { "index.html": html(script, type) });
    const server = await serveFolder(folder, ISOLATED);
    try {
      await checkPage(server.address, checks);
    } finally {
      await server.close();
    }
  }

  /** Every build is in a separate chunk; the page loads only one of them. */
  function checkChunks(folder) {
    assert.equal(countCores(folder), BUILDS, "each build is in a separate chunk");
  }

  const CONNECTED = ["in a worker", ...promised];
  const NOT_CONNECTED = [/^here, since ./, ...promised];
  const WORKERS = ["on 2 threads", ...promised];
  const NO_WORKERS = [/^on one thread, since ./, ...promised];

  for (const { version, source, served } of [
    // Vite 5 by default targets browsers without top-level await. Its server moves the package's scripts
    // except the worker's.
    { version: "5", source: inFunction, served: NO_WORKERS },
    { version: "8", source: example, served: WORKERS },
  ]) {
    describe(`with Vite ${version}`, () => {
      const connected = served === WORKERS ? CONNECTED : NOT_CONNECTED;
      /** The example's forms: text, and what its pages print, served and built. */
      const forms = {
        example: { text: source },
        threads: {
          text: onThreads(source),
          served: { lines: served, expected: /WebSocket|404/ },
          built: { lines: WORKERS },
        },
        connection: {
          text: onConnection(source),
          served: { lines: connected, expected: /WebSocket|404/ },
          built: { lines: CONNECTED },
        },
        slim: {
          text: onSlim(source, "wasm", 'import wasm from "zeropoint/baseline.wasm?url";\n'),
        },
      };
      let project;
      before(() => {
        const files = Object.entries(forms).flatMap(([name, { text }]) => [
          [`${name}.html`, html(`/${name}.js`)],
          [`${name}.js`, text],
        ]);
        project = makeProject(`vite-${version}`, {
          tools: [`vite@${version}`],
          files: {
            "index.html": html("/main.js"),
            "main.js": source,
            ...Object.fromEntries(files),
          },
        });
      });

      it("runs each form served", async (t) => {
        t.diagnostic(`Vite ${versionOf(project, "vite")}`);
        const vite = join("node_modules", "vite", "bin", "vite.js");
        const port = String(20000 + Math.floor(Math.random() * 20000));
        const args = [vite, "--host", "127.0.0.1", "--port", port];
        const ready = /(http:\/\/127\.0\.0\.1:\d+\/)/;
        const server = await serve(project, process.execPath, args, ready);
        const isolated = await serveThrough(server.address, ISOLATED);
        try {
          for (const [name, { served: checks }] of Object.entries(forms)) {
            // The proxy does not support WebSocket, which Vite uses to announce changes.
            await checkPage(`${isolated.address}${name}.html`, {
              expected: /WebSocket/,
              ...checks,
            });
          }
          assert.doesNotMatch(server.output(), DOUBT);
        } finally {
          await isolated.close();
          await server.close();
        }
      });

      for (const [name, { text, built }] of Object.entries(forms)) {
        it(`runs the form built: ${name}`, async () => {
          writeFiles(project, { "main.js": text });
          runTool(project, "vite/bin/vite.js", ["build"]);
          if (name === "example") checkChunks(join(project, "dist"));
          await checkFolder(join(project, "dist"), built);
        });
      }
    });
  }

  it("runs with webpack 5", async (t) => {
    const project = makeProject("webpack-5", { tools: ["webpack@5", "webpack-cli@6"] });
    t.diagnostic(`webpack ${versionOf(project, "webpack")}`);
    const page = { script: "main.js", type: "text/javascript" };
    const build = (text) => {
      writeFiles(project, { "src/index.js": text });
      rmSync(join(project, "dist"), { recursive: true, force: true });
      runTool(project, "webpack/bin/webpack.js", ["--mode", "production"], SIZE_HINT);
      return join(project, "dist");
    };
    checkChunks(build(example));
    await checkFolder(join(project, "dist"), page);
    await checkFolder(build(onThreads(example)), { lines: WORKERS, ...page });
    await checkFolder(build(onConnection(example)), { lines: CONNECTED, ...page });
    const slim = onSlim(example, 'new URL("zeropoint/baseline.wasm", import.meta.url)');
    await checkFolder(build(slim), page);
  });

  for (const { name, tools, command, wasm } of [
    {
      name: "esbuild",
      tools: ["esbuild@0"],
      command: "esbuild/bin/esbuild main.js --bundle --splitting --format=esm --outdir=out",
      // esbuild needs a loader for unknown file types.
      wasm: "--loader:.wasm=file",
    },
    {
      // Rollup needs its node-resolve plugin to find packages.
      name: "rollup",
      tools: ["rollup@4", "@rollup/plugin-node-resolve@16"],
      command: "rollup/dist/bin/rollup main.js --dir out --format es --plugin node-resolve",
    },
  ]) {
    it(`runs with ${name} and splitting`, async (t) => {
      const project = makeProject(name, { tools });
      t.diagnostic(`${name} ${versionOf(project, name)}`);
      const [tool, ...args] = command.split(" ");
      const build = (text, ...more) => {
        writeFiles(project, { "main.js": text });
        rmSync(join(project, "out"), { recursive: true, force: true });
        runTool(project, tool, [...args, ...more]);
        return join(project, "out");
      };
      // Any warning fails, for example about circular imports.
      build('export * from "zeropoint/notebook";\n');
      checkChunks(build(example));
      await checkFolder(join(project, "out"), { script: "main.js" });
      // Neither esbuild nor Rollup follows new URL(…, import.meta.url) to the worker's script.
      const threaded = { lines: NO_WORKERS, expected: /404/, script: "main.js" };
      await checkFolder(build(onThreads(example)), threaded);
      const unconnected = { ...threaded, lines: NOT_CONNECTED };
      await checkFolder(build(onConnection(example)), unconnected);
      const out = build(onConnection(example, '{ worker: "/worker.js" }'));
      const script = "node_modules/zeropoint/dist/worker/worker.js";
      cpSync(join(project, script), join(out, "worker.js"));
      await checkFolder(out, { lines: CONNECTED, script: "main.js" });
      if (!wasm) return;
      const slim = onSlim(example, "wasm", 'import wasm from "zeropoint/baseline.wasm";\n');
      await checkFolder(build(slim, wasm), { script: "main.js" });
    });
  }
});
