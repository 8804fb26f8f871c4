// The browser under test: Chromium, or the browser in ZEROPOINT_BROWSER.

import puppeteer from "puppeteer-core";
import { BROWSER_NAMES, browserTitle, findBrowser } from "../../scripts/browser.mjs";

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
  // Scroll bars take no space, as on phones and in headless Chromium.
  "ui.useOverlayScrollbars": 1,
};

/** Time limit of a single operation on a small and busy machine, in milliseconds. */
export const PATIENCE = 120_000;

/**
 * Starts the browser under test.
 * @param {{ args?: string[], preferences?: Record<string, unknown> }} options
 *   args for Chromium, preferences for Firefox
 */
export function launchBrowser({ args = [], preferences = {} } = {}) {
  const executablePath = findBrowser(browserName);
  if (!executablePath) {
    const variable = `ZEROPOINT_${browserName.toUpperCase()}`;
    throw new Error(`no ${browserTitle(browserName)} found: set ${variable} to its path`);
  }
  const own =
    browserName === "chromium"
      ? { browser: "chrome", args: [...CHROMIUM_ARGUMENTS, ...args] }
      : { browser: "firefox", extraPrefsFirefox: { ...FIREFOX_PREFERENCES, ...preferences } };
  return puppeteer.launch({
    ...own,
    executablePath,
    headless: true,
    timeout: PATIENCE,
    protocolTimeout: 5 * PATIENCE,
  });
}
