// A page with the first notebook open, for a test file about its cells.

import { after, afterEach, before, beforeEach } from "node:test";
import {
  cellSelector,
  click,
  openNotebook,
  openPage,
  press,
  readCells,
  typeInto,
  waitFor,
  waitUntilIdle,
} from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

const NOTEBOOK = "quantize-and-dequantize";

/** The selector of a cell, by its number. */
export const cell = (number) => cellSelector(NOTEBOOK, `cell-${number}`);

export let visit;
export let page;

async function open(options) {
  visit = await openPage(browser, site.url, options);
  ({ page } = visit);
  await openNotebook(page, NOTEBOOK);
}
async function close() {
  await visit?.close();
  visit = undefined;
}

/** Loads the page for each test of a suite, or of a file: without editors, and with nothing in focus. */
export function openForEach(options) {
  beforeEach(() => open(options));
  afterEach(close);
}

/** Opens one page for all tests of a suite, which leave it as they like. In Node 20 a file's hooks do not wait for each other. */
export function openOnce() {
  before(() => open());
  after(close);
}

/**
 * Opens one page for all tests of a suite, or of a file, and resets the notebook before each: code, results, worker,
 * the size of the screen and the place on it. Editors of cells stay. Loads the page again where that fails.
 */
export function resetForEach() {
  beforeEach(() => (visit ? reset().catch(reopen) : open()));
  after(close);
}

async function reopen() {
  await close();
  await open();
}

async function reset() {
  await page.bringToFront();
  await page.setViewport({ width: 1280, height: 900 });
  await openNotebook(page, NOTEBOOK);
  // The second time there is no change to bring back: Undo goes.
  for (let i = 0; i < 2; i++) {
    await page.$eval("#announcements", (region) => region.replaceChildren());
    await click(page, ".view[data-current] [data-action='reset']");
    await waitFor(page, () =>
      document.getElementById("announcements").textContent.includes("as it was at first"),
    );
  }
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details[open]:not(.contents *)")) {
      details.open = false;
    }
    scrollTo({ top: 0, behavior: "instant" });
    document.activeElement?.blur();
    window.cspViolations = [];
  });
}

/** Types code into the first cell and runs it in place. */
export async function runInFirstCell(source) {
  await typeInto(page, cell(1), source);
  await press(page, "Mod+Enter");
  await waitUntilIdle(page);
  return (await readCells(page))[0];
}
