// wllama in Chromium loads GGUF files that quantizeModel wrote, and decodes with them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { it } from "node:test";
import { findBrowser } from "../../scripts/toolchain/browser.mjs";
import { makeLlama } from "../js/support/files/llama.mjs";
import { launchBrowser } from "../web/browser.mjs";
import { quantize } from "./llama-models.mjs";

const TYPES = ["F32", "Q8_0", "Q4_0", "Q4_K_M", "Q6_K", "IQ4_XS"];
const engines = join(process.env.ZEROPOINT_ENGINES ?? "", "node_modules");
const wllama = join(engines, "@wllama", "wllama", "esm");

const PAGE = `<!doctype html><title>wllama</title><script type="module">
import { Wllama } from "/wllama/index.js";
window.load = async (file) => {
  const model = new Wllama({ default: "/wllama/wasm/wllama.wasm" }, { suppressNativeLog: true });
  const blob = await (await fetch(file)).blob();
  await model.loadModel([blob], { n_threads: 1, n_ctx: 64, n_gpu_layers: 0 });
  // Letters only: random weights also choose bytes that are no UTF-8, which wllama cannot return.
  const settings = { max_tokens: 4, temperature: 0, grammar: "root ::= [a-z]+" };
  const { choices } = await model.createCompletion({ prompt: "ab", ...settings });
  await model.exit();
  return choices[0];
};
</script>`;

const KINDS = { ".js": "text/javascript", ".wasm": "application/wasm" };

const skip = !findBrowser("chromium") && "Chromium is needed";

it("wllama decodes with files of quantizeModel in Chromium", { skip }, async () => {
  const model = await makeLlama({ layers: 2, kv: 2, seed: 41 });
  const files = new Map();
  for (const type of TYPES) files.set(`/${type}.gguf`, await quantize(model, type));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const isEngine = pathname.startsWith("/wllama/");
    const body = isEngine
      ? readFileSync(join(wllama, pathname.slice("/wllama/".length)))
      : (files.get(pathname) ?? PAGE);
    const type = files.has(pathname) ? "application/octet-stream" : "text/html";
    response.writeHead(200, { "content-type": KINDS[extname(pathname)] ?? type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => "load" in window);
    for (const file of files.keys()) {
      const choice = await page.evaluate((each) => window.load(each), file);
      assert.match(choice.text, /^[a-z]+$/, file);
    }
  } finally {
    await browser.close();
    server.close();
  }
});
