// Notebook 6 on the page measures the same as `npm run cost` on the command line, and notebooks 7 and 8 what they say.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { formatTable, measure } from "../../scripts/cost/measure.mjs";
import { loadModel } from "../../scripts/cost/model.mjs";
import {
  bringIntoView,
  cellSelector,
  click,
  openNotebook,
  openPage,
  readCells,
  runAll,
  typeInto,
  waitFor,
} from "./page.mjs";
import { browser, site } from "./site-and-browser.mjs";

const NOTEBOOK = "what-it-costs";

describe("Notebook what-it-costs", () => {
  let visit;
  let cells;
  before(async () => {
    visit = await openPage(browser, site.url);
    await openNotebook(visit.page, NOTEBOOK);
    await runAll(visit.page);
    cells = await readCells(visit.page);
  });
  after(() => visit?.close());

  it("prints the command's table", async () => {
    assert.equal(cells.at(-1).output, formatTable(measure(await loadModel())));
  });

  it("scrolls its table inside the cell on a screen of 360 pixels, never the page", async () => {
    const { page } = visit;
    await page.setViewport({ width: 360, height: 740 });
    const { room, wide, overflow, pageWidth } = await page.$eval(
      `.view[data-current] [data-cell="${cells.at(-1).id}"] .cell-output pre`,
      (table) => ({
        room: table.clientWidth,
        wide: table.scrollWidth,
        overflow: getComputedStyle(table).overflowX,
        pageWidth: document.documentElement.scrollWidth,
      }),
    );
    // Text of 13 pixels: 44 columns are some 50 pixels wider than the cell.
    assert.ok(room > 200 && wide <= room + 60, `${wide} in ${room}`);
    assert.equal(overflow, "auto");
    assert.ok(pageWidth <= 360, String(pageWidth));
    await page.setViewport({ width: 1280, height: 900 });
  });

  it("matches the output of every run, cell by cell", () => {
    const compared = cells.filter(({ kind }) => kind === "measured");
    assert.equal(compared.length, 13);
    for (const { id, output, expected, verdict } of compared) {
      assert.equal(output, expected, id);
      assert.equal(verdict, "matches", id);
    }
  });

  /** The legends, labels and counts of all plots, tables opened, on a screen where lines have a legend. */
  async function readPlots() {
    // Narrow screens have a legend where wide ones label the lines. A table gets its rows when it is opened.
    await visit.page.setViewport({ width: 360, height: 740 });
    await visit.page.$$eval(".view[data-current] .plot details", (tables) => {
      for (const table of tables) table.open = true;
    });
    await waitFor(visit.page, () =>
      Array.from(document.querySelectorAll(".view[data-current] .plot")).every((figure) =>
        figure.querySelector("tbody tr"),
      ),
    );
    const plots = await visit.page.$$eval(".view[data-current] .plot", (figures) =>
      figures.map((figure) => ({
        legend: Array.from(figure.querySelectorAll(".plot-legend li"), (item) => item.textContent),
        label: figure.querySelector("svg[role=img]").getAttribute("aria-label"),
        axes: Array.from(
          figure.querySelectorAll("svg[role=img] text"),
          (text) => text.textContent,
        ).filter((text) => /[a-z]/i.test(text)),
        marks: figure.querySelectorAll("svg[role=img] .mark").length,
        rows: figure.querySelectorAll("tbody tr").length,
      })),
    );
    await visit.page.setViewport({ width: 1280, height: 900 });
    return plots;
  }

  it("draws a series for each granularity", async () => {
    const plots = await readPlots();
    const names = ["per tensor", "per channel", "per group of 16"];
    assert.deepEqual(
      plots.map(({ legend }) => legend),
      [[...names, "float32 ± 0.44"], names],
    );
  });

  it("marks every number that the table has", async () => {
    const counts = (await readPlots()).map(({ marks, rows }) => [marks, rows]);
    // The first table also has float32.
    assert.deepEqual(counts, [
      [15, 16],
      [15, 15],
    ]);
  });

  it("names the axes, in the text alternative too", async () => {
    const plots = await readPlots();
    assert.match(plots[0].label, /percent read right against bits per weight/);
    assert.deepEqual(
      plots.map(({ axes }) => axes),
      [
        ["bits per weight", "percent read right"],
        ["kilobytes", "dB"],
      ],
    );
  });

  it("explains a wrong plot, and a missing module", async () => {
    const { page } = visit;
    const cell = cellSelector(NOTEBOOK, "cell-9");
    for (const [source, message] of [
      ["plotLines({ series: [] });", /series must be a list/],
      [
        'plotLines({ series: [{ name: "a", points: [[1, Infinity]] }] });',
        /must be finite, or NaN in y for a gap, got \[1, Infinity\]/,
      ],
      ['import { x } from "./elsewhere.js";', /cells can import .*"\.\/digits\.js", not/],
    ]) {
      await typeInto(page, cell, source);
      // The page's header would cover a button at the top of the screen.
      await bringIntoView(page, `${cell} button.run`);
      await click(page, `${cell} button.run`);
      await waitFor(
        page,
        (selector, text) => new RegExp(text).test(document.querySelector(selector)?.textContent),
        `${cell} .cell-error`,
        message.source,
      );
    }
  });

  it("makes no foreign requests and breaks no policy", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

for (const [notebook, count] of [
  ["nearest-vectors", 8],
  ["formats-of-files", 9],
]) {
  describe(`Notebook ${notebook}`, () => {
    it("matches the output of every run, cell by cell", async () => {
      const { page, problems, close } = await openPage(browser, site.url);
      await openNotebook(page, notebook);
      await runAll(page);
      const cells = await readCells(page);
      assert.equal(cells.length, count);
      for (const { id, output, expected, verdict } of cells) {
        assert.equal(output, expected, id);
        assert.equal(verdict, "matches", id);
      }
      assert.deepEqual(await problems(), []);
      await close();
    });
  });
}
