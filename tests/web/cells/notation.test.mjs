// Cells in JavaScript, in PyTorch, or both.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { click, press, typeInto } from "../page.mjs";
import { cell, openForEach, page } from "./first-notebook.mjs";

describe("The notation of cells", () => {
  openForEach();

  async function choose(value) {
    await click(page, `[data-current] .notation label:has([value="${value}"])`);
    await page.waitForSelector(`[data-current] .notation [value="${value}"]:checked`);
  }

  /** Which code of a cell can be seen: JavaScript, PyTorch. */
  const seen = (number) =>
    page.$eval(cell(number), (element) =>
      [".cell-code", ".cell-torch > pre"].map(
        (part) => element.querySelector(part)?.checkVisibility() ?? false,
      ),
    );

  it("is JavaScript at first, and both or PyTorch for all cells where the reader chooses it", async () => {
    assert.deepEqual(await seen(2), [true, false]);
    await choose("both");
    assert.deepEqual(await seen(2), [true, true]);
    await choose("pytorch");
    assert.deepEqual(await seen(2), [false, true]);
    assert.deepEqual(await seen(3), [false, true]);
    await choose("javascript");
    assert.deepEqual(await seen(3), [true, false]);
  });

  it("stays after a reload, and for other notebooks", async () => {
    await choose("pytorch");
    await page.reload();
    await page.waitForSelector("[data-current] .notation:not([hidden]) [value=pytorch]:checked");
    assert.deepEqual(await seen(2), [false, true]);
    await page.evaluate(() => {
      location.hash = "finer-granularity";
    });
    const other = "#finer-granularity[data-current]";
    await page.waitForSelector(`${other} .notation:not([hidden]) [value=pytorch]:checked`);
    // This step is in JavaScript alone, and says so.
    const text = await page.$eval(
      `${other} .cell:not(:has(.cell-torch))`,
      (element) => element.innerText,
    );
    assert.match(text, /no counterpart in PyTorch/);
    await page.evaluate(() => localStorage.removeItem("zeropoint-notation"));
  });

  it("runs cells by keys where only PyTorch is seen, and keeps a reader's own code in sight", async () => {
    await choose("pytorch");
    await page.focus(cell(1));
    await press(page, "Shift+Enter");
    await page.waitForSelector(`${cell(1)}[data-state="done"]`);
    await page.focus(`${cell(2)} .cell-torch > pre`);
    await press(page, "Escape");
    assert.deepEqual(await seen(2), [false, true]);
    await choose("both");
    await typeInto(page, cell(2), "1 + 1");
    await choose("pytorch");
    assert.deepEqual(await seen(2), [true, true]);
    await page.evaluate(() => localStorage.removeItem("zeropoint-notation"));
  });

  it("has a file for Jupyter with the Python side", async () => {
    const file = await page.evaluate(async () => {
      const link = document.querySelector("[data-current] .downloads a[download]");
      return (await fetch(link.href)).json();
    });
    assert.equal(file.metadata.kernelspec.language, "python");
    assert.ok(file.cells.length > 18);
  });
});
