// Finds the browsers installed on this machine.

import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { capture, isExecutable, which } from "../process/run.mjs";

const home = homedir();
const programFiles = [
  process.env.PROGRAMFILES,
  process.env["PROGRAMFILES(X86)"],
  process.env.LOCALAPPDATA,
].filter(Boolean);
const applications = ["/Applications", join(home, "Applications")];

/**
 * The two browsers of the tests. Search order: the paths in the environment `variables`; the `names` on PATH;
 * the usual `places`; the downloads of Playwright (`family` in its cache) and Puppeteer (`puppeteer`), which
 * contain one of the `programs`.
 */
const BROWSERS = {
  chromium: {
    title: "Chromium",
    variables: ["ZEROPOINT_CHROMIUM", "CHROME_PATH", "CHROMIUM", "CHROME_BIN"],
    names: [
      "chromium",
      "chromium-browser",
      "google-chrome",
      "google-chrome-stable",
      "google-chrome-beta",
      "google-chrome-unstable",
      "chrome",
      "chrome-headless-shell",
      "chromium-headless-shell",
    ],
    places: {
      darwin: applications.flatMap((folder) => [
        `${folder}/Google Chrome.app/Contents/MacOS/Google Chrome`,
        `${folder}/Chromium.app/Contents/MacOS/Chromium`,
        `${folder}/Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary`,
      ]),
      linux: ["/opt/google/chrome/chrome", "/snap/bin/chromium", "/usr/lib/chromium/chromium"],
      win32: programFiles.map((folder) => join(folder, "Google/Chrome/Application/chrome.exe")),
    },
    family: "chromium",
    puppeteer: ["chrome", "chromium", "chrome-headless-shell"],
    programs: [
      "chrome",
      "headless_shell",
      "chrome-headless-shell",
      "chrome.exe",
      "headless_shell.exe",
      "Chromium.app/Contents/MacOS/Chromium",
      "Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    ],
  },
  firefox: {
    title: "Firefox",
    variables: ["ZEROPOINT_FIREFOX", "FIREFOX_PATH", "FIREFOX", "FIREFOX_BIN"],
    names: ["firefox", "firefox-esr", "firefox-devedition", "firefox-nightly"],
    places: {
      darwin: applications.flatMap((folder) => [
        `${folder}/Firefox.app/Contents/MacOS/firefox`,
        `${folder}/Firefox Developer Edition.app/Contents/MacOS/firefox`,
        `${folder}/Firefox Nightly.app/Contents/MacOS/firefox`,
      ]),
      linux: ["/opt/firefox/firefox", "/snap/bin/firefox", "/usr/lib/firefox/firefox"],
      win32: programFiles.map((folder) => join(folder, "Mozilla Firefox/firefox.exe")),
    },
    // Playwright's Firefox is patched and does not support WebDriver BiDi.
    family: undefined,
    puppeteer: ["firefox"],
    programs: ["firefox", "firefox.exe", "Firefox.app/Contents/MacOS/firefox"],
  },
};

/** The names that `findBrowser` takes. */
export const BROWSER_NAMES = Object.keys(BROWSERS);

/** The display name of a browser. */
export const browserTitle = (name) => BROWSERS[name].title;

const PLAYWRIGHT_CACHE = {
  darwin: join(home, "Library/Caches/ms-playwright"),
  linux: join(home, ".cache/ms-playwright"),
  win32: join(process.env.LOCALAPPDATA ?? home, "ms-playwright"),
};

/** The folders in a folder, newest version first. */
function folders(path) {
  if (!path || !existsSync(path)) return [];
  const compare = (a, b) => b.localeCompare(a, "en", { numeric: true });
  return readdirSync(path).sort(compare);
}

/** The programs in folders like <cache>/<browser and version>/<platform>. */
function* downloads(cache, isWanted, programs) {
  for (const version of folders(cache).filter(isWanted)) {
    for (const folder of folders(join(cache, version))) {
      for (const program of programs) yield join(cache, version, folder, program);
    }
  }
}

function* candidates({ variables, names, places, family, puppeteer, programs }) {
  for (const variable of variables) {
    const value = process.env[variable];
    if (value) yield which(value) ?? value;
  }
  for (const name of names) yield which(name);
  yield* places[process.platform] ?? [];
  if (family !== undefined) {
    const cache = process.env.PLAYWRIGHT_BROWSERS_PATH || PLAYWRIGHT_CACHE[process.platform];
    yield* downloads(cache, (name) => name.startsWith(family), programs);
  }
  const cache = process.env.PUPPETEER_CACHE_DIR || join(home, ".cache/puppeteer");
  for (const browser of puppeteer) yield* downloads(join(cache, browser), () => true, programs);
}

/** Whether the program starts: some distributions install a script that only asks to install the browser. */
function works(path) {
  return process.platform === "win32" || capture(path, ["--version"], { timeout: 60_000 }).ok;
}

/** The path of a browser for the tests, by its name here, or undefined. */
export function findBrowser(name = "chromium") {
  for (const path of candidates(BROWSERS[name])) {
    if (path && isExecutable(path) && works(path)) return path;
  }
  return undefined;
}
