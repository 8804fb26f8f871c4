// The compiled core that the page and its workers share.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openNotebook, openPage, runAll, serveSite, waitFor } from "../page.mjs";
import { browser } from "../site-and-browser.mjs";

/** Counts in `window.compiled` how often a page compiles the core. Runs in the page. */
function countCompilations() {
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
}

/** Moves the control of a notebook's figure, and waits for its drawing. */
async function useFigure(page, notebook, name) {
  await openNotebook(page, notebook);
  const figure = `#${notebook} [data-figure='${name}']`;
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
}

describe("The core for the figures, the cells of two notebooks and the playground", () => {
  /** The files of a core that the page requested. @type {Set<string>} */
  const files = new Set();
  let own;
  let visit;
  before(async () => {
    own = await serveSite({
      pause: (path) => {
        if (/\/assets\/(relaxed|baseline)/.test(path)) files.add(path);
        return undefined;
      },
    });
    visit = await openPage(browser, own.url, { isFirst: true, prepare: countCompilations });
    const { page } = visit;
    await useFigure(page, "quantize-and-dequantize", "by-hand");
    for (const notebook of ["quantize-and-dequantize", "per-channel"]) {
      await openNotebook(page, notebook);
      await runAll(page);
      assert.equal(await page.$(`#${notebook} [data-state="failed"]`), null);
    }
    await page.evaluate(() => {
      location.hash = "play";
    });
    await page.waitForSelector("#play .play[data-complete]");
  });
  after(async () => {
    await visit?.close();
    await own?.close();
  });

  it("is one file", () => {
    assert.deepEqual(
      [...files].map((path) => path.replace(/^.*\/|-[^-]*(?=\.\w+$)/g, "")),
      [files.size === 1 && /relaxed/.test([...files][0]) ? "relaxed.wasm" : "baseline.wasm"],
    );
  });

  it("is compiled once", async () => {
    assert.equal(await visit.page.evaluate(() => window.compiled), 1);
  });

  it("has no errors", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});
