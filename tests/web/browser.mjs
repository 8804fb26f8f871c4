// The browser under test: Chromium, or the browser in ZEROPOINT_BROWSER.

import puppeteer from "puppeteer-core";
import { BROWSER_NAMES, browserTitle, findBrowser } from "../../scripts/toolchain/browser.mjs";

/** The browser under test: `"chromium"` or `"firefox"`. */
export const browserName = process.env.ZEROPOINT_BROWSER || "chromium";
if (!BROWSER_NAMES.includes(browserName)) {
  throw new Error(`ZEROPOINT_BROWSER takes ${BROWSER_NAMES.join(" or ")}, got ${browserName}`);
}

/** Options for a test that emulates a setting, which only Chromium supports. */
export const chromiumOnly = (what) => ({
  skip: browserName !== "chromium" && `${browserTitle(browserName)} offers tests no way to ${what}`,
});

const CHROMIUM_ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const FIREFOX_PREFERENCES = {
  // Do not slow down the timers of background pages, which are tested as well.
  "dom.min_background_timeout_value": 4,
  "dom.timeout.enable_budget_timer_throttling": false,
  // No limit on a script's running time, for slow machines.
  "dom.max_script_run_time": 0,
  // Leaving a page ends it and its workers.
  "browser.sessionhistory.max_total_viewers": 0,
  // Scroll bars take no space, as on phones and in headless Chromium.
  "ui.useOverlayScrollbars": 1,
};

/** Time limit of a single operation on a small and busy machine, in milliseconds. */
export const PATIENCE = 120_000;

/** Address of the test runner's browser, which serves several files, one after the other. */
const shared = process.env.ZEROPOINT_BROWSER_ADDRESS;

/**
 * Starts a browser: a process with a new profile, which takes Firefox seconds.
 * @param {string} name
 * @param {import("puppeteer-core").LaunchOptions} options
 */
export function startBrowser(name = browserName, options = {}) {
  const executablePath = findBrowser(name);
  if (!executablePath) {
    const variable = `ZEROPOINT_${name.toUpperCase()}`;
    throw new Error(`no ${browserTitle(name)} found: set ${variable} to its path`);
  }
  const own =
    name === "chromium"
      ? { browser: "chrome", args: CHROMIUM_ARGUMENTS }
      : { browser: "firefox", extraPrefsFirefox: FIREFOX_PREFERENCES };
  return puppeteer.launch({
    ...options,
    ...own,
    executablePath,
    headless: true,
    timeout: PATIENCE,
    protocolTimeout: 5 * PATIENCE,
  });
}

/** Connects to the runner's browser. New pages are in a context of this file, which `close` removes. */
async function joinBrowser() {
  const browser = await puppeteer.connect({
    browserWSEndpoint: shared,
    protocol: browserName === "chromium" ? "cdp" : "webDriverBiDi",
    protocolTimeout: 5 * PATIENCE,
  });
  const context = await browser.createBrowserContext();
  browser.newPage = () => context.newPage();
  browser.close = async () => {
    const others = browser
      .browserContexts()
      .filter((each) => each !== browser.defaultBrowserContext());
    for (const each of others) await each.close();
    await browser.disconnect();
  };
  return browser;
}

/** The browser under test: the runner's, or a new one where a file is run without the runner. */
export const launchBrowser = () => (shared ? joinBrowser() : startBrowser());
