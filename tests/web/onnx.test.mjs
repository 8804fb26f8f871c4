// A quantized ONNX model in onnxruntime-web, in the browser under test.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import { root } from "../../scripts/process/run.mjs";
import { difference } from "../js/support/onnx/engine.mjs";
import { LAYERS, modelOf, quantized } from "../js/support/onnx/layers.mjs";
import { normals } from "../js/support/onnx/models.mjs";
import { runOnnx } from "../js/support/onnx/run.mjs";
import { launchBrowser } from "./browser.mjs";

const PAGE = `<!doctype html><script type="module">
  import * as ort from "/ort/ort.wasm.min.mjs";
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = "/ort/";
  const session = await ort.InferenceSession.create("/model.onnx");
  const inputs = await (await fetch("/inputs.json")).json();
  const x = new ort.Tensor("float32", Float32Array.from(inputs.data), inputs.shape);
  const { y } = await session.run({ x });
  window.result = [...y.data];
</script>`;

const TYPES = { ".mjs": "text/javascript", ".wasm": "application/wasm" };

/** Serves onnxruntime-web under /ort/, and the given answers: type and content by address. */
async function serveEngine(answers) {
  const engine = join(root, "node_modules", "onnxruntime-web", "dist");
  const server = createServer(({ url }, response) => {
    const [, name] = /^\/ort\/([\w.-]+)$/.exec(url) ?? [];
    const [type, content] =
      answers[url] ?? (name ? [TYPES[extname(name)], readFileSync(join(engine, name))] : []);
    if (content === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": type }).end(content);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

describe("onnxruntime-web", () => {
  let server;
  let browser;
  before(async () => {
    await init();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    server?.close();
  });

  it("runs a model of 4 bits", async () => {
    const layer = LAYERS.MatMul;
    const bytes = await modelOf(layer, normals(96 * 20, 3));
    const { bytes: written } = await quantized(bytes, "int4-g32", { target: "web" });
    const { y: expected } = await runOnnx(written, layer.inputs);
    const { shape, data } = layer.inputs.x;
    server = await serveEngine({
      "/": ["text/html", PAGE],
      "/model.onnx": ["application/octet-stream", written],
      "/inputs.json": ["application/json", JSON.stringify({ shape, data: [...data] })],
    });
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction("window.result", { timeout: 60_000 });
    const result = await page.evaluate("window.result");
    assert.ok(difference(result, expected.data) < 96 * 4 * 2 ** -24);
  });
});
