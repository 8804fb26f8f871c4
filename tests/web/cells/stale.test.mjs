// Stale results, restarting, and results after a reload or with a second tab.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  click,
  codeOf,
  countVisible,
  press,
  readCells,
  runAll,
  textOf,
  typeInto,
  waitUntilIdle,
} from "../page.mjs";
import { site } from "../site-and-browser.mjs";
import { cell, page, resetForEach } from "./first-notebook.mjs";

resetForEach();

const NOTEBOOK = "quantize-and-dequantize";
const STALE = ".view[data-current] [data-action='run-stale']";

const staleCells = () =>
  page.$$eval(".view[data-current] .cell[data-stale]", (cells) =>
    cells.map(({ dataset }) => Number(dataset.cell.slice("cell-".length))),
  );

describe("Stale results", () => {
  it("are the results that depend on an edited cell, directly or not; Run stale refreshes them", async () => {
    await runAll(page);
    assert.equal(await countVisible(page, STALE), 0);
    await typeInto(page, cell(4), "let scale = 3.5; let zero_point = -70;");
    const stale = await staleCells();
    assert.ok(stale.includes(4) && stale.includes(5) && stale.includes(6), stale.join());
    assert.ok(!stale.includes(1) && !stale.includes(2) && !stale.includes(3), stale.join());
    assert.equal(await textOf(page, STALE), `Run stale (${stale.length})`);
    await click(page, STALE);
    await waitUntilIdle(page);
    assert.deepEqual(await staleCells(), []);
    assert.equal(await countVisible(page, STALE), 0);
  });
});

describe("Restart", () => {
  it("keeps changed code, and marks all results as stale", async () => {
    await typeInto(page, cell(1), "globalThis.leak = 1;");
    await press(page, "Mod+Enter");
    await waitUntilIdle(page);
    await click(page, ".view[data-current] [data-action='restart']");
    await page.waitForSelector(`${cell(1)}[data-stale][data-edited]`);
    await typeInto(page, cell(1), "typeof leak");
    await press(page, "Mod+Enter");
    await waitUntilIdle(page);
    assert.equal((await readCells(page))[0].output, "'undefined'");
  });
});

describe("Run from here", () => {
  it("runs this cell and all cells below", async () => {
    await click(page, `${cell(16)} button.run-from-here`);
    await waitUntilIdle(page);
    const states = (await readCells(page)).map(({ state }) => state ?? "idle");
    assert.deepEqual(states.slice(0, 15), Array(15).fill("idle"));
    assert.ok(states.slice(15).every((state) => state === "done" || state === "failed"));
  });
});

describe("Results after a reload", () => {
  const reload = async () => {
    // A transaction that reads waits for those that write before it; a reload would abort them.
    await page.evaluate(async () => {
      const stored = await indexedDB.databases();
      const { name } = stored.find((each) => each.name.startsWith("zeropoint-results"));
      const opening = indexedDB.open(name);
      await new Promise((resolve) => {
        opening.onsuccess = resolve;
      });
      const reading = opening.result.transaction("results").objectStore("results").count();
      await new Promise((resolve) => {
        reading.onsuccess = resolve;
      });
      opening.result.close();
    });
    await page.reload();
    await page.waitForSelector(`#${NOTEBOOK}[data-current] .toolbar:not([hidden])`);
  };

  it("are restored, marked as stale, until they run or are reset", async () => {
    await runAll(page);
    const before = (await readCells(page)).map(({ output }) => output);
    await reload();
    await page.waitForSelector(`${cell(18)}[data-stale]`);
    const after = await readCells(page);
    assert.deepEqual(
      after.map(({ output }) => output),
      before,
    );
    await click(page, STALE);
    await waitUntilIdle(page);
    assert.deepEqual(await staleCells(), []);
    await click(page, ".view[data-current] [data-action='reset']");
    await page.waitForSelector(`${cell(18)}[data-state="idle"]`);
    await reload();
    assert.ok((await readCells(page)).every(({ output }) => output === ""));
  });
});

describe("Two tabs", () => {
  let other;
  beforeEach(async () => {
    other = await page.browserContext().newPage();
    await other.goto(`${site.url}#${NOTEBOOK}`);
    await other.waitForSelector(`#${NOTEBOOK}[data-current] .toolbar:not([hidden])`);
  });
  afterEach(() => other.close());

  it("show the same code if only one of them is edited", async () => {
    await page.bringToFront();
    await typeInto(page, cell(2), "21 * 2");
    await other.waitForSelector(`${cell(2)}[data-edited]`);
    assert.equal(await codeOf(other, cell(2)), "21 * 2");
  });

  it("ask which code to keep if both are edited", async () => {
    await other.bringToFront();
    await typeInto(other, cell(2), "1");
    await page.bringToFront();
    await page.waitForSelector(`${cell(2)}[data-edited]`);
    await typeInto(page, cell(2), "2");
    await other.waitForSelector(`${cell(2)} .cell-conflict`);
    assert.equal(await codeOf(other, cell(2)), "1");
    await other.bringToFront();
    await click(other, `${cell(2)} .take-other`);
    await other.waitForSelector(`${cell(2)}:not(:has(.cell-conflict))`);
    assert.equal(await codeOf(other, cell(2)), "2");
  });
});
