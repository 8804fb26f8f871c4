// The compiled core that the page and its workers share.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openNotebook, openPage, runAll, serveSite, waitFor } from "../page.mjs";
import { browser } from "../site-and-browser.mjs";

describe("The core", () => {
  it("is one file, compiled once, for the figures, the cells of two notebooks and the playground", async () => {
    /** @type {Set<string>} */
    const files = new Set();
    const own = await serveSite({
      pause: (path) => {
        if (/\/assets\/(relaxed|baseline)/.test(path)) files.add(path);
        return undefined;
      },
    });
    const prepare = () => {
      window.compiled = 0;
      const { compile, Module } = WebAssembly;
      const count = (bytes) => {
        // Not the few bytes that detect features of the engine.
        if (bytes.byteLength > 10_000) window.compiled++;
      };
      WebAssembly.compile = (bytes) => {
        count(bytes);
        return compile.call(WebAssembly, bytes);
      };
      WebAssembly.Module = new Proxy(Module, {
        construct(target, [bytes]) {
          count(bytes);
          return new target(bytes);
        },
      });
    };
    const visit = await openPage(browser, own.url, { prepare });
    const { page } = visit;
    await openNotebook(page, "quantize-and-dequantize");
    const figure = "#quantize-and-dequantize [data-figure='by-hand']";
    await page.waitForSelector(`${figure} form:not([hidden])`);
    await page.$eval(`${figure} input`, (input) => {
      input.value = "4";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await waitFor(
      page,
      (selector) => !document.querySelector(`${selector} .when-wide, ${selector} .when-narrow`),
      figure,
    );
    for (const notebook of ["quantize-and-dequantize", "per-channel"]) {
      await openNotebook(page, notebook);
      await runAll(page);
      assert.equal(await page.$(`#${notebook} [data-state="failed"]`), null);
    }
    await page.evaluate(() => {
      location.hash = "play";
    });
    await page.waitForSelector("#play .play[data-complete]");
    assert.deepEqual(
      [...files].map((path) => path.replace(/^.*\/|-[^-]*(?=\.\w+$)/g, "")),
      [files.size === 1 && /relaxed/.test([...files][0]) ? "relaxed.wasm" : "baseline.wasm"],
    );
    assert.equal(await page.evaluate(() => window.compiled), 1);
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
    await own.close();
  });
});
