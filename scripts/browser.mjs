// Finds a Chromium or Chrome that is already on this machine, wherever it came from.

import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { capture, isExecutable, which } from "./run.mjs";

const VARIABLES = ["ZEROPOINT_CHROMIUM", "CHROME_PATH", "CHROMIUM", "CHROME_BIN"];

const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "google-chrome-beta",
  "google-chrome-unstable",
  "chrome",
  "chrome-headless-shell",
  "chromium-headless-shell",
];

const PLACES = {
  darwin: ["/Applications", join(homedir(), "Applications")].flatMap((folder) => [
    `${folder}/Google Chrome.app/Contents/MacOS/Google Chrome`,
    `${folder}/Chromium.app/Contents/MacOS/Chromium`,
    `${folder}/Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary`,
  ]),
  linux: ["/opt/google/chrome/chrome", "/snap/bin/chromium", "/usr/lib/chromium/chromium"],
  win32: [process.env.PROGRAMFILES, process.env["PROGRAMFILES(X86)"], process.env.LOCALAPPDATA]
    .filter(Boolean)
    .map((folder) => join(folder, "Google/Chrome/Application/chrome.exe")),
};

const PLAYWRIGHT_CACHE = {
  darwin: join(homedir(), "Library/Caches/ms-playwright"),
  linux: join(homedir(), ".cache/ms-playwright"),
  win32: join(process.env.LOCALAPPDATA ?? homedir(), "ms-playwright"),
};

/** Where Playwright puts the browsers that it downloads, newest first. */
function* playwrightBrowsers() {
  const cache = process.env.PLAYWRIGHT_BROWSERS_PATH || PLAYWRIGHT_CACHE[process.platform];
  if (!cache || !existsSync(cache)) return;
  const revision = (name) => Number(name.split("-").at(-1)) || 0;
  const browsers = readdirSync(cache).filter((name) => name.startsWith("chromium"));
  for (const browser of browsers.sort((a, b) => revision(b) - revision(a))) {
    for (const folder of readdirSync(join(cache, browser))) {
      for (const program of [
        "chrome",
        "headless_shell",
        "chrome-headless-shell",
        "chrome.exe",
        "headless_shell.exe",
        "Chromium.app/Contents/MacOS/Chromium",
        "Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
      ]) {
        yield join(cache, browser, folder, program);
      }
    }
  }
}

function* candidates() {
  for (const variable of VARIABLES) {
    const value = process.env[variable];
    if (value) yield which(value) ?? value;
  }
  for (const name of NAMES) yield which(name);
  yield* PLACES[process.platform] ?? [];
  yield* playwrightBrowsers();
}

/** Some distributions install a script that only advises to install the browser: ask it to speak. */
function works(path) {
  return process.platform === "win32" || capture(path, ["--version"], { timeout: 30_000 }).ok;
}

/** The path of a browser for the page's tests, or undefined. */
export function findBrowser() {
  for (const path of candidates()) {
    if (path && isExecutable(path) && works(path)) return path;
  }
  return undefined;
}
