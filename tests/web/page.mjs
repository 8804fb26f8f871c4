// The built page in a real browser, operated as by a user.

import { browserName } from "./browser.mjs";

export { chromiumOnly, launchBrowser } from "./browser.mjs";
export { emulate, openPage } from "./open-page.mjs";
export { SUB_PATH, serveSite } from "./serve.mjs";

/** Options for tests that run in the whole suite of the page, and not in the default one of scripts/test/test.mjs. */
export const inWholeSuite = {
  skip: process.env.ZEROPOINT_PAGE === "default" && "part of the whole suite: npm test -- page",
};

/** Headers that block all scripts, for the page as seen without scripts. */
export const WITHOUT_SCRIPTS = { "content-security-policy": "script-src 'none'" };

/**
 * Opens a view by its link, as seen without scripts.
 * @param {import("puppeteer-core").Page} page  shows the document
 * @param {string} id
 */
export async function openPart(page, id) {
  await page.goto(await page.$eval(`[id="${id}"] .part-link a`, (link) => link.href));
}

/**
 * @param {import("puppeteer-core").Page} page
 * @param {string} id
 */
export async function openNotebook(page, id) {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, id);
  await page.waitForSelector(`#${id}[data-current] .toolbar:not([hidden])`);
}

/**
 * Runs all cells of the current notebook, and waits for the last.
 * @param {import("puppeteer-core").Page} page
 */
export async function runAll(page) {
  await click(page, ".view[data-current] [data-action='run-all']");
  await waitUntilIdle(page);
}

/** @param {import("puppeteer-core").Page} page */
export async function waitUntilIdle(page) {
  await page.waitForSelector(".view[data-current]:not([data-running])");
}

/**
 * Waits until a condition holds in the page. One that throws, such as for an element that is not there yet, does not
 * hold yet: puppeteer alone would never ask it again.
 * @param {import("puppeteer-core").Page} page
 * @param {(...values: any[]) => unknown} condition  runs in the page
 * @param {...unknown} values  for the condition
 */
export async function waitFor(page, condition, ...values) {
  const guarded = new Function(
    "...values",
    `return (async () => (${condition})(...values))().catch(() => false);`,
  );
  try {
    await page.waitForFunction(guarded, {}, ...values);
  } catch (error) {
    // If it still throws, that is the reason.
    await page.evaluate(condition, ...values);
    throw error;
  }
}

/**
 * Waits for the focus to be in an element. Polls every frame: waitForSelector() looks again only when the document's
 * tree changes, which the focus does not.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector
 */
export function waitForFocusIn(page, selector) {
  return waitFor(page, (each) => !!document.querySelector(each), `${selector}:focus-within`);
}

/**
 * The state of every cell of the current notebook after a run.
 * @param {import("puppeteer-core").Page} page
 * @returns {Promise<{ id: string, state: string, verdict: string | undefined, output: string,
 *   expected: string | undefined, kind: string | undefined, checks: string[],
 *   plots: number, error: string }[]>}
 */
export function readCells(page) {
  return page.$$eval(".view[data-current] .cell", (cells) =>
    cells.map((cell) => ({
      id: cell.dataset.cell,
      state: cell.dataset.state,
      verdict: cell.dataset.verdict,
      output: Array.from(cell.querySelectorAll(".cell-output pre.text"), (pre) => pre.textContent)
        .join("")
        .trimEnd(),
      expected: cell.querySelector(".cell-expected pre")?.textContent,
      kind: cell.querySelector(".cell-expected")?.dataset.kind,
      checks: Array.from(cell.querySelectorAll(".cell-checks li"), (item) => item.dataset.result),
      plots: cell.querySelectorAll(".plot").length,
      error: cell.querySelector(".cell-error")?.textContent ?? "",
    })),
  );
}

/**
 * @param {string} notebook
 * @param {string} cell
 */
export function cellSelector(notebook, cell) {
  return `[id="${notebook}-${cell}"]`;
}

/**
 * Clicks an element as soon as it can be clicked.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector
 */
export function click(page, selector) {
  return page.locator(selector).click();
}

/**
 * Presses a key, or keys as "Control+Enter"; "Mod" is Command on a Mac and Control elsewhere.
 * @param {import("puppeteer-core").Page} page
 * @param {string} keys
 */
export async function press(page, keys) {
  const mod = process.platform === "darwin" ? "Meta" : "Control";
  const names = keys.split("+").map((name) => (name === "Mod" ? mod : name));
  const key = names.pop();
  for (const name of names) await page.keyboard.down(name);
  await page.keyboard.press(key);
  for (const name of names.reverse()) await page.keyboard.up(name);
}

/**
 * Enters text where the focus is.
 * @param {import("puppeteer-core").Page} page
 * @param {string} text
 */
export async function enter(page, text) {
  // In one piece, as from an input method; Firefox only accepts single keys.
  if (browserName === "chromium") await page.keyboard.sendCharacter(text);
  else await page.keyboard.type(text);
}

/**
 * Scrolls an element to the middle of the screen without animation: the page's smooth scrolling would make a click
 * miss an element that still moves on a slow machine.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector
 */
export function bringIntoView(page, selector) {
  return page.$eval(selector, (element) =>
    element.scrollIntoView({ block: "center", behavior: "instant" }),
  );
}

/**
 * Clicks into a cell's editor.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector  of the cell
 */
export async function clickInto(page, selector) {
  await openEditor(page, selector);
  await click(page, `${selector} >>> .cm-content`);
  await waitForFocusIn(page, `${selector} .editor`);
}

/**
 * Puts the focus into a cell's code, which loads its editor.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector  of the cell
 */
export async function openEditor(page, selector) {
  await bringIntoView(page, selector);
  if (!(await page.$(`${selector} .editor`))) await page.focus(`${selector} .cell-code pre`);
  await page.waitForSelector(`${selector} .editor`);
}

/**
 * The code of a cell, with or without an editor.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector  of the cell
 */
export function codeOf(page, selector) {
  return page.$eval(`${selector} .cell-code`, (code) => {
    const editor = code.querySelector(".editor");
    if (!editor) return code.textContent;
    return Array.from(
      editor.shadowRoot.querySelectorAll(".cm-line"),
      (line) => line.textContent,
    ).join("\n");
  });
}

/**
 * Replaces the code of a cell as a user would: click into it, select all, type.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector
 * @param {string} source
 */
export async function typeInto(page, selector, source) {
  await clickInto(page, selector);
  await press(page, "Mod+a");
  await enter(page, source);
}

/**
 * The text of the first matching element, once it exists.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector
 */
export async function textOf(page, selector) {
  await page.waitForSelector(selector);
  return page.$eval(selector, (element) => element.textContent);
}

/**
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector
 * @param {string} name
 */
export function attributeOf(page, selector, name) {
  return page.$eval(selector, (element, attribute) => element.getAttribute(attribute), name);
}

/**
 * The number of visible elements that match.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector
 */
export function countVisible(page, selector) {
  return page.$$eval(
    selector,
    (elements) =>
      elements.filter(
        (element) =>
          element.checkVisibility({ visibilityProperty: true }) &&
          element.getBoundingClientRect().width > 0 &&
          element.getBoundingClientRect().height > 0,
      ).length,
  );
}
