// Editing and resetting cells.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  chromiumOnly,
  click,
  clickInto,
  codeOf,
  countVisible,
  enter,
  openEditor,
  openPage,
  openPart,
  press,
  readCells,
  runAll,
  serveSite,
  textOf,
  typeInto,
  WITHOUT_SCRIPTS,
  waitFor,
} from "../page.mjs";
import { browser } from "../site-and-browser.mjs";
import { cell, page, resetForEach, runInFirstCell } from "./first-notebook.mjs";

resetForEach();

const NOTEBOOK = "quantize-and-dequantize";

describe("Editing", () => {
  it("shows where an output differs, and Reset cell restores the original", async () => {
    await runAll(page);
    await typeInto(page, cell(18), "dequantized_tensor.sub(test_tensor).abs().mean();");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(18)}[data-verdict="differs"]`);
    assert.equal(await textOf(page, `${cell(18)} .verdict`), "differs from the unedited notebook");
    const [ink, verdict] = await page.$$eval(`${cell(18)} :is(.cell-label, .verdict)`, (all) =>
      all.map((each) => getComputedStyle(each).color),
    );
    assert.equal(verdict, ink);
    const difference = await page.$$eval(`${cell(18)} .difference pre > span`, (lines) =>
      lines.map((line) => [line.className, line.textContent.trim()]),
    );
    assert.deepEqual(difference[0], ["line-expected", "expected: − tensor(170.8753)"]);
    assert.equal(difference[1][0], "line-actual");

    await click(page, `${cell(18)} button.reset-cell`);
    await click(page, `${cell(18)} button.run`);
    await page.waitForSelector(`${cell(18)}[data-verdict="matches"]`);
    assert.equal(await countVisible(page, `${cell(18)} button.reset-cell`), 0);
  });

  it("marks the output as old, until the code again equals the code that was run", async () => {
    await runAll(page);
    const last = cell(18);
    const colour = () => page.$eval(`${last} .verdict`, (each) => getComputedStyle(each).color);
    const good = await colour();
    assert.match(await textOf(page, ".view[data-current] .toolbar-status"), /; 7 of 7 outputs/);
    await clickInto(page, last);
    // A digit at the start makes any code of this cell invalid.
    await press(page, "Home");
    await enter(page, "1");
    await page.waitForSelector(`${last}[data-stale][data-verdict="matches"]`);
    assert.notEqual(await colour(), good);
    assert.match(await textOf(page, ".view[data-current] .toolbar-status"), /; 6 of 6 outputs/);
    await press(page, "Backspace");
    await page.waitForSelector(`${last}:not([data-stale])`);
    assert.equal(await colour(), good);
    await enter(page, "1");
    await page.waitForSelector(`${last}[data-stale]`);
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${last}[data-state="failed"]:not([data-stale])`);
  });

  it("elsewhere in the notebook is the reason why an output differs", async () => {
    await typeInto(page, cell(4), "let scale = 3.6; let zero_point = -70;");
    await runAll(page);
    await page.waitForSelector(`${cell(6)}[data-verdict="differs"]`);
    assert.equal(await textOf(page, `${cell(6)} .verdict`), "differs from the unedited notebook");
  });

  const status = ".view[data-current] .toolbar-status";
  const undo = `${status} [data-action="undo-reset"]`;

  /** Resets the notebook, and waits until that is announced. */
  async function reset() {
    await page.$eval("#announcements", (region) => region.replaceChildren());
    await click(page, ".view[data-current] [data-action='reset']");
    await waitFor(page, () =>
      document.getElementById("announcements").textContent.includes("as it was at first"),
    );
  }

  it("offers no Undo after Reset notebook if no cell was edited", async () => {
    await reset();
    assert.equal(await page.$(undo), null);
  });

  it("is restored by Undo after Reset notebook", async () => {
    await typeInto(page, cell(1), "6 * 7");
    await typeInto(page, cell(2), "43");
    await reset();
    assert.equal(await textOf(page, status), "Reset. Undo");
    assert.match(await textOf(page, "#announcements"), /Undo brings your changes back/);
    assert.equal(await page.$(".cell[data-edited]"), null);
    await page.focus(undo);
    await press(page, "Enter");
    await waitFor(
      page,
      () => document.getElementById("announcements").textContent === "Your changes are back.",
    );
    assert.equal(await codeOf(page, cell(1)), "6 * 7");
    assert.equal(await codeOf(page, cell(2)), "43");
    assert.equal(await page.$(undo), null);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.action), "reset");
  });

  it("can be restored after a run, but not after the next change", async () => {
    await typeInto(page, cell(1), "6 * 7");
    await reset();
    await page.waitForSelector(undo);
    await runAll(page);
    assert.match(await textOf(page, undo), /^Undo reset$/);
    await typeInto(page, cell(3), "44");
    assert.equal(await page.$(undo), null);
  });

  it("is reverted for all cells by Reset notebook, which also starts a fresh worker", async () => {
    await runInFirstCell("globalThis.leak = 1;");
    await reset();
    assert.ok((await readCells(page)).every(({ output, state }) => !output && state === "idle"));
    const { output } = await runInFirstCell("typeof leak");
    assert.equal(output, "'undefined'");
  });
});

describe("Edited code", () => {
  it("is restored after a reload, until it is reset", async () => {
    const load = async () => {
      await page.reload();
      await page.waitForSelector(`#${NOTEBOOK}[data-current] .toolbar:not([hidden])`);
    };
    const original = await codeOf(page, cell(1));
    await runInFirstCell("6 * 7");
    await load();
    await page.waitForSelector(`${cell(1)}[data-edited] button.reset-cell:not([hidden])`);
    await click(page, `${cell(1)} button.run`);
    await page.waitForSelector(`${cell(1)}[data-state="done"]`);
    assert.equal((await readCells(page))[0].output, "42");
    assert.equal(await codeOf(page, cell(1)), "6 * 7");
    await click(page, `${cell(1)} button.reset-cell`);
    await load();
    assert.equal(await page.$(`${cell(1)}[data-edited]`), null);
    assert.equal(await codeOf(page, cell(1)), original);
  });
});

describe("An editor", () => {
  it("takes exactly the space of the code it replaces, so that nothing moves", async () => {
    const heights = (where) =>
      where.$$eval(`#${NOTEBOOK} .cell-code`, (all) =>
        all.map((code) => code.getBoundingClientRect().height),
      );
    for (let number = 1; number <= 18; number++) {
      await openEditor(page, cell(number));
    }
    const withEditors = await heights(page);

    const withoutScripts = await serveSite({ headers: WITHOUT_SCRIPTS });
    const still = await openPage(browser, withoutScripts.url, { isLive: false });
    await openPart(still.page, NOTEBOOK);
    assert.deepEqual(withEditors, await heights(still.page));
    await still.close();
    await withoutScripts.close();
  });
});

describe("An editor in forced colours", () => {
  it("shows that it has the focus", chromiumOnly("force colours"), async () => {
    const session = await page.createCDPSession();
    const features = [{ name: "forced-colors", value: "active" }];
    await session.send("Emulation.setEmulatedMedia", { features });
    await clickInto(page, cell(1));
    const { outlineStyle, outlineWidth } = await page.$eval(`${cell(1)} .cell-code`, (code) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(code);
      return { outlineStyle, outlineWidth };
    });
    await session.detach();
    assert.deepEqual(
      { outlineStyle, outlineWidth },
      { outlineStyle: "solid", outlineWidth: "2px" },
    );
  });
});
