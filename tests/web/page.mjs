// The built page in a real browser, served from below a sub-path as a static host would.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const site = join(dirname(fileURLToPath(import.meta.url)), "../../dist/web");
export const SUB_PATH = "/some/where/zeropoint/";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const USUAL_NAMES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** @returns {Promise<import("playwright-core").Browser>} */
export function launchBrowser() {
  const executablePath = process.env.ZEROPOINT_CHROMIUM || USUAL_NAMES.find(existsSync);
  if (!executablePath) throw new Error("no Chromium found: set ZEROPOINT_CHROMIUM to its path");
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

/**
 * Serves dist/web/ below SUB_PATH and nothing else.
 * @param {{ headers?: Record<string, string>, missing?: RegExp }} options
 *   headers are sent with the page; files whose names match `missing` are not found
 */
export async function serveSite({ headers = {}, missing } = {}) {
  if (!existsSync(join(site, "index.html"))) {
    throw new Error("the page is not built: run npm run build");
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const name = path.endsWith("/") ? `${path}index.html` : path;
    const file = join(site, normalize(name.slice(SUB_PATH.length)));
    const isThere =
      name.startsWith(SUB_PATH) &&
      file.startsWith(site) &&
      !missing?.test(name) &&
      existsSync(file) &&
      statSync(file).isFile();
    if (!isThere) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found");
      return;
    }
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    const extra = type.startsWith("text/html") ? headers : {};
    response.writeHead(200, { "content-type": type, ...extra }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}${SUB_PATH}`,
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Opens the page and keeps a record of everything that must not happen.
 * @param {import("playwright-core").Browser} browser
 * @param {string} url
 * @param {import("playwright-core").BrowserContextOptions} options
 */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  /** @type {string[]} */
  const problems = [];
  const { origin } = new URL(url);
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`));
  context.on("request", (request) => {
    if (!request.url().startsWith(origin)) problems.push(`request: ${request.url()}`);
  });
  await context.addInitScript(() => {
    window.cspViolations = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      window.cspViolations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  await page.goto(url);
  await page.waitForSelector(".is-live");
  return {
    page,
    context,
    /** Console errors, uncaught exceptions, foreign requests and policy violations. */
    async problems() {
      return [...problems, ...(await page.evaluate(() => window.cspViolations))];
    },
    close: () => context.close(),
  };
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} id
 */
export async function openNotebook(page, id) {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, id);
  await page.waitForSelector(`#${id}[data-current] .toolbar:not([hidden])`);
}

/**
 * Runs all cells of the notebook that is shown, and waits for the last.
 * @param {import("playwright-core").Page} page
 */
export async function runAll(page) {
  await page.click(".view[data-current] [data-action='run-all']");
  await waitUntilIdle(page);
}

/** @param {import("playwright-core").Page} page */
export async function waitUntilIdle(page) {
  await page.waitForSelector(".view[data-current]:not([data-running])", { timeout: 60_000 });
}

/**
 * What every cell of the notebook that is shown looks like after a run.
 * @param {import("playwright-core").Page} page
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
 * Replaces the code of a cell as a person would: click into it, select all, type.
 * @param {import("playwright-core").Page} page
 * @param {string} selector
 * @param {string} source
 */
export async function typeInto(page, selector, source) {
  await page.locator(selector).scrollIntoViewIfNeeded();
  const editor = page.locator(`${selector} .cm-content`);
  await editor.waitFor();
  await editor.click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(source);
}
