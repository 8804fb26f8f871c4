// Opens the page in a tab: one for each test file, reset between its tests.

import { browserName, PATIENCE } from "./browser.mjs";
import { EMPTY_PATH } from "./serve.mjs";

/**
 * Opens the page and records errors and policy violations. Loads it into a tab of an earlier test of this file that was
 * closed: its storage is empty then, and its viewport, preferences and scripts are those of the new test. Its service
 * worker and compiled scripts stay, unless the test is about them.
 * @param {import("puppeteer-core").Browser} browser
 * @param {string} url
 * @param {{ viewport?: { width: number, height: number }, colorScheme?: string,
 *   reducedMotion?: string, isLive?: boolean, isFirst?: boolean, isPrivate?: boolean, prepare?: () => void,
 *   onMessage?: (text: string) => void }} options
 *   isLive: whether scripts may run; if so, waits for them; isFirst: in a new tab for which nothing is stored, compiled
 *   or registered, as for a reader's first visit; isPrivate: whether nothing of the visit reaches the disk;
 *   prepare: runs in the page before its scripts; onMessage: gets each message on the console, and uncaught errors
 */
export async function openPage(browser, url, options = {}) {
  const {
    viewport,
    colorScheme,
    reducedMotion,
    isLive = true,
    isFirst = false,
    isPrivate = true,
    prepare,
    onMessage,
  } = options;
  const { origin } = new URL(url);
  const tab = isPrivate
    ? await emptyTab(browser, origin, isFirst)
    : await newTab(browser.defaultBrowserContext(), (page) => page.close());
  const { page } = tab;
  await page.setViewport(viewport ?? { width: 1280, height: 900 });
  if (colorScheme || reducedMotion) await emulate(page, { colorScheme, reducedMotion });
  if (prepare) tab.prepared = await page.evaluateOnNewDocument(prepare);
  /** @type {string[]} */
  const problems = [];
  tab.report = (problem, address) => {
    if (!address?.startsWith(origin)) problems.push(problem);
  };
  tab.onMessage = onMessage;
  await page.goto(url);
  if (isLive) await page.waitForSelector(".is-live .view[data-current]:not([data-part])");
  return {
    page,
    /** Console errors and warnings, uncaught exceptions, foreign requests and policy violations. */
    async problems() {
      return [...problems, ...(await page.evaluate(() => window.cspViolations))];
    },
    close: tab.close,
  };
}

/**
 * A tab, with what `openPage` records of its current page.
 * @param {import("puppeteer-core").BrowserContext | import("puppeteer-core").Browser} context
 * @param {(page: import("puppeteer-core").Page) => Promise<void>} close
 */
async function newTab(context, close) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const tab = {
    page,
    close: () => close(page),
    /** @type {{ identifier: string } | undefined} the script of `prepare` */
    prepared: undefined,
    /** @type {(problem: string, address?: string) => void} address: of a request, a problem only on other servers */
    report: () => {},
    /** @type {((text: string) => void) | undefined} */
    onMessage: undefined,
  };
  page.on("console", (message) => {
    tab.onMessage?.(message.text());
    if (["error", "warn"].includes(message.type())) tab.report(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => {
    tab.onMessage?.(`uncaught: ${error.message}`);
    tab.report(`uncaught: ${error.message}`);
  });
  page.on("request", (request) => {
    // Firefox reports its built-in fonts, at data: addresses, which the policy forbids for the page.
    const isRemote = /^(https?|wss?):/.test(request.url());
    if (isRemote) tab.report(`request: ${request.url()}`, request.url());
  });
  await page.evaluateOnNewDocument(() => {
    window.cspViolations = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      window.cspViolations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  return tab;
}

/** Tabs of this file whose test has ended, each in a context of its own, and the origin that it showed last. */
const idleTabs = [];

/** Whether a tab is in this file's own context. */
let isInOwnContext = false;

/** A tab without storage for an origin. */
async function emptyTab(browser, origin, isFirst) {
  if (isFirst || idleTabs.length === 0) return firstTab(browser, origin, isFirst);
  const index = idleTabs.findLastIndex((each) => each.origin === origin);
  const [{ tab, origin: last }] = idleTabs.splice(index, 1);
  tab.report = () => {};
  tab.onMessage = undefined;
  if (tab.prepared) {
    await tab.page.removeScriptToEvaluateOnNewDocument(tab.prepared.identifier);
    tab.prepared = undefined;
  }
  if (browserName === "chromium") {
    await tab.page.emulateMediaType();
    await tab.page.emulateMediaFeatures();
  }
  await tab.page.bringToFront();
  await clearStorage(tab.page, origin, { isKnown: origin === last });
  return keepAfterwards(tab, origin);
}

/** Makes `close` keep the tab for the next test. */
function keepAfterwards(tab, origin) {
  let isOpen = true;
  return Object.assign(tab, {
    close: async () => {
      if (isOpen) idleTabs.push({ tab, origin });
      isOpen = false;
    },
  });
}

/**
 * Removes what pages have stored for an origin.
 * @param {import("puppeteer-core").Page} page
 * @param {string} origin
 * @param {{ isKnown: boolean }} options  isKnown: whether its service worker and caches are of the same server
 */
async function clearStorage(page, origin, { isKnown }) {
  // A document of the same origin without scripts: an open page could write again, and holds its databases open.
  await page.goto(origin + EMPTY_PATH);
  await page.evaluate(async (keepsWorker) => {
    localStorage.clear();
    sessionStorage.clear();
    for (const { name } of await indexedDB.databases()) {
      await new Promise((resolve, reject) => {
        const request = indexedDB.deleteDatabase(name);
        request.onsuccess = resolve;
        request.onerror = () => reject(request.error);
      });
    }
    if (keepsWorker) return;
    for (const each of await navigator.serviceWorker.getRegistrations()) await each.unregister();
    for (const name of await caches.keys()) await caches.delete(name);
  }, isKnown);
}

/**
 * A new tab. In Chromium in this file's context, unless it has one already: a context of its own starts processes and
 * compiles all scripts again, for which it takes twice the time.
 */
async function firstTab(browser, origin, isFirst) {
  if (isInOwnContext || browserName !== "chromium") {
    const context = await browser.createBrowserContext();
    const tab = await newTab(context, () => context.close());
    return isFirst ? tab : keepAfterwards(tab, origin);
  }
  isInOwnContext = true;
  const tab = await newTab(browser, async (page) => {
    await page.close();
    isInOwnContext = false;
  });
  const session = await tab.page.createCDPSession();
  await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  await session.detach();
  return isFirst ? tab : keepAfterwards(tab, origin);
}

/**
 * Emulates the preferences of the reader's system; defaults: light theme, motion allowed.
 * @param {import("puppeteer-core").Page} page
 * @param {{ colorScheme?: string, reducedMotion?: string }} preferences
 */
export async function emulate(page, { colorScheme = "light", reducedMotion = "no-preference" }) {
  const isUsual = colorScheme === "light" && reducedMotion === "no-preference";
  if (browserName !== "chromium" && isUsual) return;
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: colorScheme },
    { name: "prefers-reduced-motion", value: reducedMotion },
  ]);
}
