// A page with the first notebook open: a new one before each test, or one for all tests of a file.

import { afterEach, beforeEach } from "node:test";
import {
  cellSelector,
  openNotebook,
  openPage,
  press,
  readCells,
  typeInto,
  waitUntilIdle,
} from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

const NOTEBOOK = "quantize-and-dequantize";

/** The selector of a cell, by its number. */
export const cell = (number) => cellSelector(NOTEBOOK, `cell-${number}`);

export let visit;
export let page;
let isKept = false;

/** Keeps one page for all tests of a file; it ends with the browser. */
export function keepPage() {
  isKept = true;
}

beforeEach(async () => {
  if (isKept && visit) return;
  visit = await openPage(browser, site.url);
  ({ page } = visit);
  await openNotebook(page, NOTEBOOK);
});
afterEach(() => isKept || visit.close());

/** Types code into the first cell and runs it in place. */
export async function runInFirstCell(source) {
  await typeInto(page, cell(1), source);
  await press(page, "Mod+Enter");
  await waitUntilIdle(page);
  return (await readCells(page))[0];
}
