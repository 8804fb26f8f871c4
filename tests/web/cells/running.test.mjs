// Running and stopping cells.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  click,
  openNotebook,
  openPage,
  press,
  readCells,
  runAll,
  serveSite,
  textOf,
  typeInto,
  waitUntilIdle,
} from "../page.mjs";
import { browser } from "../site-and-browser.mjs";
import { cell, page, resetForEach, runInFirstCell } from "./first-notebook.mjs";

resetForEach();

const NOTEBOOK = "quantize-and-dequantize";

describe("Stop", () => {
  it("ends an endless loop while the page stays responsive, and the notebook runs again", async () => {
    await typeInto(page, cell(2), "while (true) {}");
    await click(page, ".view[data-current] [data-action='run-all']");
    await page.waitForSelector(`${cell(2)}[data-state="running"]`);

    // The page draws frames while the loop runs: no result would come from a blocked page.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    assert.ok(await page.$(`${cell(2)}[data-state="running"]`));

    await click(page, ".view[data-current] [data-action='stop']");
    await waitUntilIdle(page);
    const stopped = await readCells(page);
    assert.equal(stopped[1].state, "stopped");
    assert.match(stopped[1].error, /Stopped/);
    assert.ok(stopped.slice(2).every(({ state }) => state === "idle"));

    await click(page, `${cell(2)} button.reset-cell`);
    await runAll(page);
    const cells = await readCells(page);
    assert.ok(cells.every(({ state }) => state === "done"));
    assert.equal(cells.filter(({ verdict }) => verdict === "matches").length, 7);
  });

  it("ends a run that waits for the work of an earlier cell, and the next begins in a new worker", async () => {
    const { state } = await runInFirstCell("setTimeout(() => { while (true); });\n1");
    assert.equal(state, "done");
    await typeInto(page, cell(1), "print('own')");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(1)}[data-state="running"]`);
    await click(page, ".view[data-current] [data-action='stop']");
    await waitUntilIdle(page);
    assert.equal((await readCells(page))[0].state, "stopped");
    const after = await runInFirstCell("print('own')");
    assert.deepEqual([after.state, after.output], ["done", "own"]);
  });

  it("leaves pending cells unchanged, except for their variables", async () => {
    await runAll(page);
    await typeInto(page, cell(2), "while (true) {}");
    await click(page, ".view[data-current] [data-action='run-all']");
    await page.waitForSelector(`${cell(2)}[data-state="running"]`);
    await click(page, ".view[data-current] [data-action='stop']");
    await waitUntilIdle(page);
    await page.waitForSelector(`${cell(18)}[data-stale][data-state="done"]`);
    assert.equal(await textOf(page, `${cell(18)} .cell-counter`), "In [18]");
    assert.equal(await textOf(page, `${cell(18)} .verdict`), "matches PyTorch 2.6");
  });

  it("moves the focus to Run all, and is announced once", async () => {
    await page.evaluate(() => {
      window.announced = [];
      const region = document.getElementById("announcements");
      new MutationObserver(() => {
        if (region.textContent) window.announced.push(region.textContent);
      }).observe(region, { childList: true, characterData: true, subtree: true });
    });
    const stop = async (start) => {
      await typeInto(page, cell(1), "while (true) {}");
      await start();
      await page.waitForSelector(`${cell(1)}[data-state="running"]`);
      await page.focus(".view[data-current] [data-action='stop']");
      await press(page, "Enter");
      await waitUntilIdle(page);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.action), "run-all");
      // Announcements are delayed by 50 milliseconds.
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
      assert.deepEqual(await page.evaluate(() => window.announced.splice(0)), [
        "Stopped. The variables of this notebook are gone.",
      ]);
    };
    await stop(() => press(page, "Mod+Enter"));
    await stop(() => click(page, ".view[data-current] [data-action='run-all']"));
  });

  it("marks earlier outputs as old, because their variables are gone", async () => {
    await runInFirstCell("let kept = 1;");
    await typeInto(page, cell(2), "while (true) {}");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(2)}[data-state="running"]`);
    await click(page, ".view[data-current] [data-action='stop']");
    await waitUntilIdle(page);
    await page.waitForSelector(`${cell(1)}[data-stale]`);
    await typeInto(page, cell(2), "kept");
    await press(page, "Mod+Enter");
    await waitUntilIdle(page);
    assert.match((await readCells(page))[1].error, /kept is not defined/);
  });
});

describe("Run to here", () => {
  it("runs the cells above and this one only", async () => {
    await click(page, `${cell(6)} button.run-to-here`);
    await waitUntilIdle(page);
    const states = (await readCells(page)).map(({ state }) => state);
    assert.deepEqual(states.slice(0, 6), Array(6).fill("done"));
    assert.ok(states.slice(6).every((state) => state !== "done"));
  });
});

describe("A worker that cannot be loaded", () => {
  it("is reported at the cell", async () => {
    const broken = await serveSite({ missing: /\/worker-[^/]*\.js$/ });
    const other = await openPage(browser, broken.url);
    await openNotebook(other.page, NOTEBOOK);
    await click(other.page, `${cell(1)} button.run`);
    await other.page.waitForSelector(`${cell(1)} .cell-error`);
    assert.match(
      await textOf(other.page, `${cell(1)} .cell-error`),
      /Cannot run The worker that runs the cells could not be loaded/,
    );
    await other.close();
    await broken.close();
  });
});

describe("Events after the end of a cell", () => {
  it("are shown at that cell: a timer's output and errors", async () => {
    const first = `${cell(1)} .cell-output`;
    await runInFirstCell("setTimeout(() => print('late'), 50);\nlet kept = 1;");
    await page.waitForSelector(`${first} pre.text`);
    assert.equal((await textOf(page, first)).trim(), "late");
    await runInFirstCell("setTimeout(() => {\n  throw new Error('too late');\n}, 50);\n1");
    await page.waitForSelector(`${first} .cell-error`);
    assert.match(
      await textOf(page, first),
      /1\s+Error too late\s*line 2\s*It came after the cell had ended: is an await missing\?/,
    );
    // The notebook's variables still exist.
    assert.equal((await runInFirstCell("kept + 1")).output, "2");
  });

  it("are shown for an unhandled rejection, too", async () => {
    await runInFirstCell("Promise.reject(new RangeError('alone'));\n1");
    await page.waitForSelector(`${cell(1)} .cell-error`);
    assert.match(await textOf(page, `${cell(1)} .cell-error`), /^\s*RangeError alone/);
  });
});

describe("An error in a timer while its cell is waiting", () => {
  it("ends that cell, and keeps the variables", async () => {
    await runInFirstCell("let kept = 1;");
    const { state, error } = await runInFirstCell(
      "setTimeout(() => { throw new Error('late'); }, 20);\nawait new Promise(() => {});",
    );
    assert.equal(state, "failed");
    assert.match(error, /^\s*Error late\s*line 1/);
    assert.equal((await runInFirstCell("kept + 1")).output, "2");
  });
});
