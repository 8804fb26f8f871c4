// The browser under test: Chromium, or the one that ZEROPOINT_BROWSER names.

import puppeteer from "puppeteer-core";
import { BROWSER_NAMES, browserTitle, findBrowser } from "../../scripts/browser.mjs";

/** Which browser is under test: `"chromium"` or `"firefox"`. */
export const browserName = process.env.ZEROPOINT_BROWSER || "chromium";
if (!BROWSER_NAMES.includes(browserName)) {
  throw new Error(`ZEROPOINT_BROWSER takes ${BROWSER_NAMES.join(" or ")}, got ${browserName}`);
}

/** What Chromium alone lets a test pretend: options for a test that needs it. */
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
  // Pages that are not in front are tested as well: their timers must not be slowed down.
  "dom.min_background_timeout_value": 4,
  "dom.timeout.enable_budget_timer_throttling": false,
  // On a slow machine a page may compute for long.
  "dom.max_script_run_time": 0,
  // Scroll bars take no room, as on telephones and in the other browser without a window.
  "ui.useOverlayScrollbars": 1,
};

/** How long anything may take on a small and busy machine, in milliseconds. */
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
