// The tarball under every common bundler, with no configuration: the README's example is bundled, and
// computes in a real browser what the README says. Of the builds only the chosen one is downloaded.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { launchBrowser, openPage, serveFolder } from "./browser.mjs";
import { countCores } from "./core.mjs";
import { example, inFunction, promised } from "./example.mjs";
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

  async function checkPage(address) {
    const { printed, problems, cores } = await openPage(browser, address, promised.length);
    assert.deepEqual(problems, []);
    assert.deepEqual(printed, promised);
    assert.equal(cores.length, 1, `one core is downloaded, not ${cores.join(", ")}`);
  }

  async function checkFolder(folder, script) {
    if (script) writeFiles(folder, { "index.html": html(script.name, script.type) });
    assert.equal(countCores(folder), BUILDS, "each build has a chunk of its own");
    const server = await serveFolder(folder);
    try {
      await checkPage(server.address);
    } finally {
      await server.close();
    }
  }

  for (const [version, source] of [
    // Vite 5 bundles for browsers without top-level await unless it is told otherwise.
    ["5", inFunction],
    ["8", example],
  ]) {
    it(`runs in Vite ${version}, served and built`, async (t) => {
      const project = makeProject(`vite-${version}`, {
        tools: [`vite@${version}`],
        files: { "index.html": html("/main.js"), "main.js": source },
      });
      t.diagnostic(`Vite ${versionOf(project, "vite")}`);
      const vite = join("node_modules", "vite", "bin", "vite.js");
      const server = await serve(
        project,
        process.execPath,
        [vite, "--host", "127.0.0.1", "--port", String(20000 + (process.pid % 20000))],
        /(http:\/\/127\.0\.0\.1:\d+\/)/,
      );
      try {
        await checkPage(server.address);
        assert.doesNotMatch(server.output(), DOUBT);
      } finally {
        await server.close();
      }
      runTool(project, "vite/bin/vite.js", ["build"]);
      await checkFolder(join(project, "dist"));
    });
  }

  it("runs with webpack 5", async (t) => {
    const project = makeProject("webpack-5", {
      tools: ["webpack@5", "webpack-cli@6"],
      files: { "src/index.js": example },
    });
    t.diagnostic(`webpack ${versionOf(project, "webpack")}`);
    runTool(project, "webpack/bin/webpack.js", ["--mode", "production"], SIZE_HINT);
    await checkFolder(join(project, "dist"), { name: "main.js", type: "text/javascript" });
  });

  it("runs with esbuild and splitting", async (t) => {
    const project = makeProject("esbuild", { tools: ["esbuild@0"], files: { "main.js": example } });
    t.diagnostic(`esbuild ${versionOf(project, "esbuild")}`);
    const args = ["main.js", "--bundle", "--splitting", "--format=esm", "--outdir=out"];
    runTool(project, "esbuild/bin/esbuild", args);
    await checkFolder(join(project, "out"), { name: "main.js" });
  });

  it("runs with Rollup", async (t) => {
    const project = makeProject("rollup", {
      tools: ["rollup@4", "@rollup/plugin-node-resolve@16"],
      files: { "main.js": example },
    });
    t.diagnostic(`Rollup ${versionOf(project, "rollup")}`);
    // Rollup finds no package by itself, whoever made it: the plugin is its own.
    const args = ["main.js", "--dir", "out", "--format", "es", "--plugin", "node-resolve"];
    runTool(project, "rollup/dist/bin/rollup", args);
    await checkFolder(join(project, "out"), { name: "main.js" });
  });
});
