// The tarball in a browser without a bundler: on a page, in a Web Worker, and in a service worker.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ISOLATED, launchBrowser, openPage, serveFolder } from "./browser.mjs";
import { example, from, inFunction, onSlim, onThreads, promised } from "./example.mjs";
import { makeProject, run } from "./project.mjs";

const ENTRY = "./node_modules/zeropoint/dist/index.js";

const html = (body) =>
  `<!doctype html><meta charset="utf-8"><title>zeropoint</title><link rel="icon" href="data:,">${body}`;

/** Sends a worker's output to its clients: a service worker's console is not visible to the test. */
const PRINT_TO_CLIENTS = `
const print = (line) => clients.matchAll({ includeUncontrolled: true })
  .then((all) => all.forEach((client) => client.postMessage(line)));
`;

/** A page with a service worker; prints the worker's messages. */
const serviceWorkerPage = (options = "{}") =>
  html(`<script type="module">
navigator.serviceWorker.onmessage = ({ data }) => console.log(data);
await navigator.serviceWorker.register("./worker.js", ${options});
const { active } = await navigator.serviceWorker.ready;
active.postMessage("run");
</script>`);

describe("The tarball without a build", () => {
  let browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  async function checkPage(project, lines = promised) {
    const server = await serveFolder(project, ISOLATED);
    try {
      const { printed, problems, cores } = await openPage(browser, server.address, lines.length);
      assert.deepEqual(problems, []);
      assert.deepEqual(printed, lines);
      assert.equal(cores.length, 1, `one core is downloaded, not ${cores.join(", ")}`);
    } finally {
      await server.close();
    }
  }

  it("runs on a page that imports it by an address", async () => {
    const script = `<script type="module">${from(ENTRY)}</script>`;
    await checkPage(makeProject("page", { files: { "index.html": html(script) } }));
  });

  it("runs on a page on two threads", async () => {
    const script = `<script type="module">${from(ENTRY, onThreads(example))}</script>`;
    const project = makeProject("page-threads", { files: { "index.html": html(script) } });
    await checkPage(project, ["on 2 threads", ...promised]);
  });

  it("runs on a page with a core from a separate file", async () => {
    const core = '(file) => "./node_modules/zeropoint/dist/wasm/" + file';
    const source = from("./node_modules/zeropoint/dist/slim.js", onSlim(example, core));
    const script = `<script type="module">${source}</script>`;
    await checkPage(makeProject("page-slim", { files: { "index.html": html(script) } }));
  });

  it("runs on a page with an import map", async () => {
    const map = `<script type="importmap">{ "imports": { "zeropoint": "${ENTRY}" } }</script>`;
    const script = `${map}<script type="module">${example}</script>`;
    await checkPage(makeProject("import-map", { files: { "index.html": html(script) } }));
  });

  it("runs in a Web Worker", async () => {
    const script = `<script>new Worker("worker.js", { type: "module" })</script>`;
    const files = { "index.html": html(script), "worker.js": from(ENTRY) };
    await checkPage(makeProject("worker", { files }));
  });

  it("runs in a Web Worker that starts nested workers", async () => {
    const script = `<script>new Worker("worker.js", { type: "module" })</script>`;
    const files = { "index.html": html(script), "worker.js": from(ENTRY, onThreads(example)) };
    await checkPage(makeProject("worker-threads", { files }), ["on 2 threads", ...promised]);
  });

  it("runs in a service worker, bundled into one file", async () => {
    const source =
      PRINT_TO_CLIENTS +
      inFunction
        .replaceAll("console.log", "print")
        .replace(
          /\nmain\(\);\n$/,
          `\naddEventListener("message", (event) => event.waitUntil(main()));\n`,
        );
    const project = makeProject("service-worker", {
      tools: ["esbuild@0"],
      files: { "source.js": source, "site/index.html": serviceWorkerPage() },
    });
    const args = ["node_modules/esbuild/bin/esbuild", "source.js", "--bundle"];
    const built = run(project, process.execPath, [...args, "--outfile=site/worker.js"]);
    assert.equal(built.code, 0, built.stderr);
    const server = await serveFolder(join(project, "site"));
    try {
      const { printed, problems } = await openPage(browser, server.address, promised.length);
      assert.deepEqual(problems, []);
      assert.deepEqual(printed, promised);
    } finally {
      await server.close();
    }
  });
});
