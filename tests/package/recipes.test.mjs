// Recipes of README and docs in the projects they are for, copied from the text.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { readRecipe } from "../js/support/processes/recipes.mjs";
import { launchBrowser, openPage, serveFolder } from "./browser.mjs";
import { example, promised } from "./example.mjs";
import { makeProject, makeProjectOrSkip, versionOf, writeFiles } from "./project.mjs";

/** Imports a file of a project's dependencies. */
const importFrom = (project, ...path) =>
  import(pathToFileURL(join(project, "node_modules", ...path)));

/** esbuild from a project's dependencies. */
const bundlerOf = async (project) =>
  (await importFrom(project, "esbuild", "lib", "main.js")).default;

const html = (head, body) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>zeropoint</title><link rel="icon" href="/icon.svg">
${head}<div id="root"></div>${body}`;

/** Renders the component, changes its weight, then removes it. */
const REACT_PAGE = `
import { createElement, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Scores } from "./scores.jsx";
import { tensor } from "zeropoint";

const root = createRoot(document.getElementById("root"));
const input = tensor([1, 2]);
const show = (weight) =>
  root.render(createElement(StrictMode, null, createElement(Scores, { weight, input })));
/** The output's text, once it shows a tensor other than the last one. */
const shown = async (last) => {
  for (;;) {
    const text = document.querySelector("output")?.textContent ?? "";
    if (text.startsWith("tensor") && text !== last) return text;
    await new Promise(requestAnimationFrame);
  }
};
show(tensor([[127, 0], [0, 127]]));
const first = await shown();
console.log(first);
show(tensor([[0, 127], [127, 0]]));
console.log(await shown(first));
root.unmount();
console.log(document.getElementById("root").textContent === "" ? "removed" : "still there");
`;

/** Runs the README's example, then an instance on two threads, then a connection. */
const POLICY_PAGE = `
import { create } from "zeropoint";
import { connect } from "zeropoint/worker";
${example}
const threaded = await create({ threads: 2 });
console.log(threaded.threads, threaded.reason);
threaded.dispose();
const connection = await connect();
console.log(connection.offThread, (await connection.quantize(tensor([1, -2]))).data.join(" "));
connection.dispose();
`;

/** Bundles main.js for a page, with React's checks for development. */
async function bundlePage(project) {
  const { build } = await bundlerOf(project);
  await build({
    absWorkingDir: project,
    entryPoints: ["main.js"],
    outdir: "out",
    bundle: true,
    splitting: true,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"development"' },
  });
}

/** Bundles worker.js as Cloudflare's tools do: one module, with the WebAssembly separate. */
async function bundleWorker(project) {
  const { build } = await bundlerOf(project);
  await build({
    absWorkingDir: project,
    entryPoints: ["worker.js"],
    outfile: "out/worker.js",
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker"],
    alias: { "zeropoint/baseline.wasm": "./baseline.wasm" },
    external: ["./baseline.wasm"],
  });
  const library = join(project, "node_modules", "zeropoint");
  const { exports } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  const binary = readFileSync(join(library, exports["./baseline.wasm"].default));
  writeFiles(project, { "out/baseline.wasm": binary });
}

/** Cloudflare's runtime with the bundle of a project. */
async function startRuntime(project) {
  const miniflare = await importFrom(project, "miniflare", "dist", "src", "index.js");
  return new miniflare.default.Miniflare({
    rootPath: project,
    modulesRoot: join(project, "out"),
    modules: [
      { type: "ESModule", path: join(project, "out", "worker.js") },
      { type: "CompiledWasm", path: join(project, "out", "baseline.wasm") },
    ],
    compatibilityDate: "2026-01-01",
  });
}

describe("A recipe of README and docs", () => {
  let browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  async function printedBy(project, count, headers) {
    const server = await serveFolder(project, headers);
    try {
      const { printed, problems } = await openPage(browser, server.address, count);
      assert.deepEqual(problems, []);
      return printed;
    } finally {
      await server.close();
    }
  }

  it("holds a layer in a React component, which disposes of it", async (t) => {
    const project = makeProject("react", {
      tools: ["react@19", "react-dom@19", "esbuild@0.25"],
      files: {
        "index.html": html("", '<script type="module" src="/out/main.js"></script>'),
        "icon.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
        "main.js": REACT_PAGE,
        "scores.jsx": readRecipe("A layer in React", "jsx"),
      },
    });
    t.diagnostic(`React ${versionOf(project, "react")}`);
    await bundlePage(project);
    const printed = await printedBy(project, 3);
    assert.deepEqual(
      printed.filter((line) => !line.includes("React DevTools")),
      ["tensor([127., 254.])", "tensor([254., 127.])", "removed"],
    );
  });

  it("bundles the package with one core into a single file", async () => {
    const project = makeProject("single-file", {
      tools: ["esbuild@0.25"],
      files: {
        "index.html": html("", '<script src="/out/main.js"></script>'),
        "icon.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
        "main.js": readRecipe("A single file", "js"),
      },
    });
    const { build } = await bundlerOf(project);
    await build({
      absWorkingDir: project,
      entryPoints: ["main.js"],
      outdir: "out",
      bundle: true,
      minify: true,
      format: "iife",
      loader: { ".wasm": "binary" },
    });
    assert.deepEqual(readdirSync(join(project, "out")), ["main.js"]);
    assert.ok(statSync(join(project, "out", "main.js")).size < 350_000);
    assert.deepEqual(await printedBy(project, 1), ["64,-127"]);
  });

  it("runs in Cloudflare's runtime, which compiles no WebAssembly at run time", async (t) => {
    const project = makeProjectOrSkip(t, "cloudflare", {
      tools: ["miniflare@4", "esbuild@0.25"],
      files: { "worker.js": readRecipe("A Cloudflare Worker", "js") },
    });
    if (!project) return;
    t.diagnostic(`miniflare ${versionOf(project, "miniflare")}`);
    await bundleWorker(project);
    const runtime = await startRuntime(project);
    try {
      for (let i = 0; i < 2; ++i) {
        const response = await runtime.dispatchFetch("http://localhost/", {
          method: "POST",
          body: "[1, 1, 2]",
        });
        assert.deepEqual(await response.json(), { shape: [2], data: [9, 21] });
      }
    } finally {
      await runtime.dispose();
    }
  });

  it("runs under the strict policy, threads and zeropoint/worker included", async () => {
    const project = makeProject("policy", { tools: ["vite@8"] });
    writeFiles(project, {
      "index.html": html(
        readRecipe("A strict content security policy", "html"),
        '<script type="module" src="/main.js"></script>',
      ),
      "public/icon.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
      "main.js": POLICY_PAGE,
    });
    const { build } = await importFrom(project, "vite", "dist", "node", "index.js");
    await build({
      root: project,
      logLevel: "error",
      build: { modulePreload: { polyfill: false } },
    });
    const isolated = {
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    };
    const printed = await printedBy(join(project, "dist"), promised.length + 2, isolated);
    assert.deepEqual(printed, [...promised, "2 undefined", "true 64 -127"]);
  });
});
