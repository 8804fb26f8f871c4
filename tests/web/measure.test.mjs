// "Measure on your machine", and the pages with its results.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { axeViolations, onceForAll } from "./axe.mjs";
import {
  click,
  countVisible,
  inWholeSuite,
  openPage,
  openPart,
  press,
  serveSite,
  textOf,
  WITHOUT_SCRIPTS,
  waitFor,
} from "./page.mjs";
import { browser, site } from "./site-and-browser.mjs";

const published = JSON.parse(
  readFileSync(new URL("../../web/benchmark.json", import.meta.url), "utf8"),
);

const ended = (page) =>
  page.waitForSelector(".measure:not([data-running]) .measure-status:not(:empty)");

describe("A whole measurement", () => {
  let visit;
  let page;
  before(async () => {
    const viewport = { width: 360, height: 740 };
    visit = await openPage(browser, `${site.url}#measure`, { viewport });
    ({ page } = visit);
    await click(page, "[data-action='measure']");
    await ended(page);
  });
  after(() => visit?.close());

  it("checks every result", async () => {
    assert.equal(await textOf(page, ".measure-status"), "Done: every result was right.");
  });

  it("has no violations found by axe", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
  });

  /** Name, value and width of the bar of each row in the table of a task. */
  async function rowsOf(task) {
    await page.$$eval(".measure-results details", (tasks) => {
      for (const each of tasks) each.open = true;
    });
    const tables = await page.$$eval(".measure-results table", (found) =>
      found.map((table) => ({
        caption: table.caption.textContent,
        rows: Array.from(table.tBodies[0].rows, (row) => ({
          name: row.cells[0].firstChild.textContent,
          value: Number.parseFloat(row.cells[2].firstChild.textContent),
          bar: row.querySelector("rect").getBBox().width,
        })),
      })),
    );
    const table = tables.find(({ caption }) => caption === task.replaceAll(" = ", "\u00a0=\u00a0"));
    assert.ok(table, `${tables.map(({ caption }) => caption)}`);
    return table.rows;
  }

  for (const task of [
    "Linear layer, float32 activations, M = 1, K = 2048, N = 2048",
    "Linear layer, float32 activations, M = 64, K = 1024, N = 1024",
    "Quantize per tensor",
    "64 × 64 layer, one row (less is better)",
  ]) {
    it(`shows a number and a bar for every form of a task: ${task}`, async () => {
      const rows = await rowsOf(task);
      const names = rows.map(({ name }) => name);
      assert.ok(names.includes("plain JavaScript"));
      assert.ok(names.includes("zeropoint, baseline"));
      for (const { name, value, bar } of rows) assert.ok(value > 0 && bar > 0, `${name}: ${value}`);
    });
  }

  it("fits a screen of 360 pixels", async () => {
    const { scrollWidth, clientWidth } = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return { scrollWidth, clientWidth };
    });
    assert.equal(scrollWidth, clientWidth);
  });

  it("has no errors and breaks no policy", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

describe("Measure on your machine", inWholeSuite, () => {
  it("stops by keyboard, and starts again", async () => {
    const visit = await openPage(browser, `${site.url}#measure`);
    const { page } = visit;
    const focused = () => page.evaluate(() => document.activeElement.dataset.action);
    await page.focus("[data-action='measure']");
    await press(page, "Enter");
    await page.waitForSelector(".measure[data-running]");
    assert.equal(await focused(), "stop");
    assert.ok(await page.$eval("[data-action='measure']", (button) => button.disabled));
    await press(page, "Enter");
    await ended(page);
    assert.equal(await textOf(page, ".measure-status"), "Stopped.");
    assert.equal(await focused(), "measure");
    await waitFor(page, () => document.getElementById("announcements").textContent === "Stopped.");
    await press(page, "Enter");
    await page.waitForSelector(".measure[data-running]");
    await visit.close();
  });

  it("reports that its worker cannot be loaded", async () => {
    const broken = await serveSite({ missing: /measure-worker/ });
    const visit = await openPage(browser, `${broken.url}#measure`);
    await click(visit.page, "[data-action='measure']");
    await ended(visit.page);
    assert.match(await textOf(visit.page, ".measure-status"), /^The worker that measures failed/);
    await visit.close();
    await broken.close();
  });
});

describe("Published measurements", inWholeSuite, () => {
  it("is on the page without scripts, with the figures of the benchmark's file", async () => {
    const plain = await serveSite({ headers: WITHOUT_SCRIPTS });
    const visit = await openPage(browser, plain.url, { isLive: false });
    const { page } = visit;
    await openPart(page, "measure");
    const text = await page.$eval("#measure", (view) => view.innerText);
    assert.ok(text.includes(`Measured on ${published.date} in ${published.engine}`));
    assert.ok((await countVisible(page, "#measure .measure-task")) > 5);
    assert.equal(await countVisible(page, "#measure table.measurements"), 0);
    assert.equal(await countVisible(page, ".measure"), 0);
    await page.goto(plain.url);
    await openPart(page, "digit-planes");
    assert.equal(await countVisible(page, "#digit-planes table.measurements"), 1);
    await visit.close();
    await plain.close();
  });

  it("shows small numbers with two digits, and unabbreviated names of operations", async () => {
    const visit = await openPage(browser, `${site.url}#measure`);
    const tables = await visit.page.$$eval("#measure table.measurements", (found) =>
      found.map((table) => ({
        caption: table.caption.textContent,
        values: Array.from(table.tBodies[0].rows, (row) => row.cells[2].firstChild.textContent),
      })),
    );
    assert.ok(tables.some(({ caption }) => caption === "Quantization error per tensor"));
    const short = tables.flatMap(({ values }) =>
      values.filter((value) => /^0\.0*[1-9]$/.test(value)),
    );
    assert.deepEqual(short, []);
    await visit.close();
  });

  it("shows the correct digits of its example", async () => {
    const visit = await openPage(browser, `${site.url}#digit-planes`);
    const rows = await visit.page.$$eval("#digit-planes .facts tbody tr", (found) =>
      found.map((row) => Array.from(row.cells, (cell) => cell.textContent)),
    );
    assert.equal(rows.length, 4);
    for (const [x, , ...digits] of rows) {
      const shifted = digits.reduce((sum, digit) => 128 * sum + Number(digit), 0);
      // The largest value is 3.1416, so the unit is 2^2 / 2^27.
      const value = (shifted - 2 ** 27) * 2 ** -25;
      const error = Math.abs(value - Math.fround(Number(x.replace("−", "-"))));
      assert.ok(error <= 2 ** -26, `${x} is ${value}`);
      assert.ok(digits.every((digit) => Number(digit) < 128));
    }
    await visit.close();
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has no violations found by axe in the ${colorScheme} theme`, onceForAll, async () => {
      const visit = await openPage(browser, site.url, { colorScheme });
      const { page } = visit;
      for (const view of ["measure", "digit-planes"]) {
        await page.evaluate((hash) => {
          location.hash = hash;
        }, view);
        await page.waitForSelector(`#${view}[data-current]`);
        assert.deepEqual(await axeViolations(page), [], view);
      }
      await visit.close();
    });
  }
});
