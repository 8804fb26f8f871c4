// A new page before each test, with the first notebook open.

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
beforeEach(async () => {
  visit = await openPage(browser, site.url);
  ({ page } = visit);
  await openNotebook(page, NOTEBOOK);
});
afterEach(() => visit.close());

/** Types code into the first cell and runs it in place. */
export async function runInFirstCell(source) {
  await typeInto(page, cell(1), source);
  await press(page, "Mod+Enter");
  await waitUntilIdle(page);
  return (await readCells(page))[0];
}
