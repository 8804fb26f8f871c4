// The tarball under every common bundler, with no configuration: the README's example is bundled, and
// computes in a real browser what the README says. Of the builds only the chosen one is downloaded.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { ISOLATED, launchBrowser, openPage, serveFolder, serveThrough } from "./browser.mjs";
import { countCores } from "./core.mjs";
import {
  example,
  inFunction,
  OFF_THREAD,
  ON_THIS_THREAD,
  onAsync,
  onSlim,
  onThreads,
  promised,
} from "./example.mjs";
import { makeProject, run, serve, versionOf, writeFiles } from "./project.mjs";

/** The package's builds, each with a chunk of its own. */
const BUILDS = countCores(fileURLToPath(new URL("../../dist/core", import.meta.url)));

/** webpack finds every file above 244 KiB large. */
const SIZE_HINT = /WARNING in (asset|entrypoint) size limit|compiled with \d warning/;

/** What tools print at the beginning of a doubt: not the names of files. */
const DOUBT = /(^|\s)(\(!\)|\[?(warn(ing)?s?|errors?)\]?:?)(\s|$)/i;

const html = (script, type = "module") =>
  `<!doctype html><meta charset="utf-8"><title>zeropoint</title><link rel="icon" href="data:,">
<script type="${type}" src="${script}"></script>`;

/** Runs a tool's program in a project; it must say nothing of errors or warnings. */
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

  /** Opens a page that prints some lines, and meets no problems but those that are expected. */
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

  /** Serves a folder, isolated so that threads are to be had, and checks the page in it. */
  async function checkFolder(folder, { script, type, ...checks } = {}) {
    if (script) writeFiles(folder, { "index.html": html(script, type) });
    const server = await serveFolder(folder, ISOLATED);
    try {
      await checkPage(server.address, checks);
    } finally {
      await server.close();
    }
  }

  /** Every build is a chunk of its own, of which the page then loads one. */
  function checkChunks(folder) {
    assert.equal(countCores(folder), BUILDS, "each build has a chunk of its own");
  }

  /** On two threads, and another one for what is asynchronous; or on this one alone. */
  const withWorkers = (source) => onAsync(onThreads(source));
  const WORKERS = ["on 2 threads", OFF_THREAD, ...promised];
  const NO_WORKERS = [/^on one thread, since ./, ON_THIS_THREAD, ...promised];

  for (const { version, source, served } of [
    // Vite 5 bundles for browsers without top-level await unless it is told otherwise. Its server
    // moves the package's scripts, all but the worker's.
    { version: "5", source: inFunction, served: NO_WORKERS },
    { version: "8", source: example, served: WORKERS },
  ]) {
    it(`runs in Vite ${version}, served and built`, async (t) => {
      const project = makeProject(`vite-${version}`, {
        tools: [`vite@${version}`],
        files: { "index.html": html("/main.js"), "main.js": source },
      });
      t.diagnostic(`Vite ${versionOf(project, "vite")}`);
      const slim = onSlim(source, "wasm", 'import wasm from "zeropoint/baseline.wasm?url";\n');

      const checkServed = async (text, checks) => {
        writeFiles(project, { "main.js": text });
        const vite = join("node_modules", "vite", "bin", "vite.js");
        const port = String(20000 + Math.floor(Math.random() * 20000));
        const server = await serve(
          project,
          process.execPath,
          [vite, "--host", "127.0.0.1", "--port", port],
          /(http:\/\/127\.0\.0\.1:\d+\/)/,
        );
        const isolated = await serveThrough(server.address, ISOLATED);
        try {
          // What lies between speaks no WebSocket, with which Vite would tell of changes.
          await checkPage(isolated.address, { expected: /WebSocket/, ...checks });
          assert.doesNotMatch(server.output(), DOUBT);
        } finally {
          await isolated.close();
          await server.close();
        }
      };
      await checkServed(source);
      await checkServed(withWorkers(source), { lines: served, expected: /WebSocket|404/ });
      await checkServed(slim);

      const build = (text) => {
        writeFiles(project, { "main.js": text });
        runTool(project, "vite/bin/vite.js", ["build"]);
        return join(project, "dist");
      };
      checkChunks(build(source));
      await checkFolder(join(project, "dist"));
      await checkFolder(build(withWorkers(source)), { lines: WORKERS });
      await checkFolder(build(slim));
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
    await checkFolder(build(withWorkers(example)), { lines: WORKERS, ...page });
    const slim = onSlim(example, 'new URL("zeropoint/baseline.wasm", import.meta.url)');
    await checkFolder(build(slim), page);
  });

  for (const { name, tools, command, wasm } of [
    {
      name: "esbuild",
      tools: ["esbuild@0"],
      command: "esbuild/bin/esbuild main.js --bundle --splitting --format=esm --outdir=out",
      // esbuild has to be told what to do with a file of any kind that it does not know.
      wasm: "--loader:.wasm=file",
    },
    {
      // Rollup finds no package by itself, whoever made it: the plugin is its own.
      name: "rollup",
      tools: ["rollup@4", "@rollup/plugin-node-resolve@16"],
      command: "rollup/dist/bin/rollup main.js --dir out --format es --plugin node-resolve",
    },
  ]) {
    it(`runs with ${name} and splitting`, async (t) => {
      const project = makeProject(name, { tools });
      t.diagnostic(`${name} ${versionOf(project, name)}`);
      const [script, ...args] = command.split(" ");
      const build = (text, ...more) => {
        writeFiles(project, { "main.js": text });
        rmSync(join(project, "out"), { recursive: true, force: true });
        runTool(project, script, [...args, ...more]);
        return join(project, "out");
      };
      // A warning fails, of modules that import in a circle for one.
      build('export * from "zeropoint/notebook";\n');
      checkChunks(build(example));
      await checkFolder(join(project, "out"), { script: "main.js" });
      // Neither of the two follows new URL(…, import.meta.url) to the worker's script.
      const threaded = { lines: NO_WORKERS, expected: /404/, script: "main.js" };
      await checkFolder(build(withWorkers(example)), threaded);
      if (!wasm) return;
      const slim = onSlim(example, "wasm", 'import wasm from "zeropoint/baseline.wasm";\n');
      await checkFolder(build(slim, wasm), { script: "main.js" });
    });
  }
});
