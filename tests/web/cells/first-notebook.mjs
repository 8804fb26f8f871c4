// A page with the first notebook open: a new one for each test, or one for all tests of a suite.

import { after, afterEach, before, beforeEach } from "node:test";
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

async function open() {
  visit = await openPage(browser, site.url);
  ({ page } = visit);
  await openNotebook(page, NOTEBOOK);
}
const close = () => visit?.close();

/** Opens a new page for each test of a suite, or of a file. */
export function openForEach() {
  beforeEach(open);
  afterEach(close);
}

/** Opens one page for all tests of a suite, which leave it as they like. In Node 20 a file's hooks do not wait for each other. */
export function openOnce() {
  before(open);
  after(close);
}

/** Types code into the first cell and runs it in place. */
export async function runInFirstCell(source) {
  await typeInto(page, cell(1), source);
  await press(page, "Mod+Enter");
  await waitUntilIdle(page);
  return (await readCells(page))[0];
}
