// npm test: sets up, builds and runs all tests. All suites run, even if some fail.

import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { buildCore, buildJs, buildNative, buildPage } from "../build/build.mjs";
import { endTree } from "../process/children.mjs";
import { childSeconds, treeSeconds } from "../process/cpu.mjs";
import {
  Failure,
  isFull,
  isThorough,
  root,
  run,
  runAsScript,
  sideBySide,
  step,
  tally,
} from "../process/run.mjs";
import { browserTitle, findBrowser } from "../toolchain/browser.mjs";
import { setUp } from "../toolchain/setup.mjs";
import { testEngines } from "./engines.mjs";
import { fuzzBriefly } from "./fuzz.mjs";
import { runTestFiles, testFilesIn } from "./test-files.mjs";

const HELP = `
npm test [-- suite ...]

Sets up what is missing, builds, and runs the named suites; without a name native, js, web and package.

  native     C++ tests
  js         JavaScript tests in Node
  web        the JavaScript tests that meet a page, and the default tests of the page, in Chromium
  package    the packed package: content, types, interface, sizes, command line, pages without a bundler

  page       all tests of the page, in Chromium
  web-whole  the same as web, with all tests of the page
  firefox    the same as web, in Firefox
  page-firefox    the default tests of the page, in Firefox
  docs       the tests that read README and docs, and those of the page that need no browser

npm run check runs these:

  full       the JavaScript tests with all of their runs and sizes, in Node and all of them in Chromium
  page       all tests of the page, in Chromium
  package-matrix  the packed package in bundlers, versions of Node, Deno, Bun, workerd, React and Next
  engines    tests of results in further builds, on this Node and on Node 24
  asan tsan  the native tests under sanitizers; under the thread sanitizer those that start threads
  valgrind   the native tests under valgrind
  fuzz       the fuzz targets, briefly
`;

function ctest(title, preset) {
  return step(title, () => run("ctest", ["--preset", preset, "--parallel", "2"]));
}

/** The files of tests/package that install tools: bundlers, runtimes and frameworks. */
const isOfMatrix = (file) => /(bundlers|node|recipes|runtimes)\.test\.mjs$/.test(file);

const packageTests = (title, isChosen) =>
  step(title, () =>
    runTestFiles(testFilesIn("tests/package").filter(isChosen), {
      concurrency,
      seconds: 480,
      env: { ZEROPOINT_CHROMIUM: findBrowser() },
    }),
  );

/** Tests in Node that read README, the changelog or docs. */
const testsOfDocs = () =>
  [...testFilesIn("tests/js"), ...testFilesIn("tests/web/in-node")].filter((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return file.includes("in-node") || /README|CHANGELOG|docs\/|\.md["`]/.test(text);
  });

/** Runs the *.test.mjs files of a folder. */
const nodeTest = (title, folder, settings = {}) =>
  step(title, () => runTestFiles(testFilesIn(folder), settings));

/**
 * The native tests under valgrind, which detects reads of uninitialized memory. Leaves out tests that are
 * variants of others with millions of values instead of thousands.
 */
function valgrind() {
  const options = [
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--errors-for-leak-kinds=all",
  ];
  const tests = [
    join("build", "native", "zeropoint_tests"),
    "--gtest_brief=1",
    "--gtest_filter=-*AcrossAllBitPatterns*:*ForMillionsOfRandomValues*",
  ];
  // GoogleTest splits its tests into shards, one per process, because valgrind runs one thread at a time.
  const shards = Array.from({ length: availableParallelism() }, (_, shard) => {
    const env = { GTEST_TOTAL_SHARDS: `${availableParallelism()}`, GTEST_SHARD_INDEX: `${shard}` };
    const title = `part ${shard + 1} of the native tests (valgrind)`;
    return [title, () => run("valgrind", [...options, ...tests], { env })];
  });
  return step("Native tests (valgrind)", () => sideBySide(shards));
}

/** Number of parallel test files that start browsers or bundlers: each takes up to 2 GiB. */
const concurrency = totalmem() > 6 * 2 ** 30 ? Math.min(2, availableParallelism()) : 1;

/** Starts a browser for several test files, one after another, because starting Firefox takes seconds. */
async function startBrowser(name) {
  // Imported late: an earlier step installs Puppeteer.
  const module = await import("../../tests/web/browser.mjs");
  const noSignals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  const browser = await module.startBrowser(name, noSignals);
  const env = { ZEROPOINT_BROWSER_ADDRESS: browser.wsEndpoint() };
  // Firefox takes one connection at a time, which the test files need.
  await browser.disconnect();
  const child = browser.process();
  const ended = new Promise((done) => child.once("close", done));
  const end = async () => {
    endTree(child);
    await ended;
  };
  return { env, end, cpu: () => treeSeconds(child.pid) };
}

/** Runs the chosen files of tests/web in a browser; two at a time if memory allows, because pages often wait. */
function testInBrowser(name, isChosen = () => true, more = {}) {
  const files = testFilesIn("tests/web", { except: "in-node" }).filter(isChosen);
  const path = { [`ZEROPOINT_${name.toUpperCase()}`]: findBrowser(name) };
  const env = { ZEROPOINT_BROWSER: name, ...path, ...more };
  const title = browserTitle(name);
  const startHelper = () => startBrowser(name);
  // package.test.mjs runs a hundred files, each with its own time limit.
  const settings = { name: title, concurrency, env, seconds: 1200, startHelper };
  // The budget is that of a run of the default sizes in Chromium.
  if (name === "chromium" && !isFull && !more.ZEROPOINT_FULL) settings.budget = FILE_BUDGETS.page;
  return step(`Tests in ${title}`, () => runTestFiles(files, settings));
}

/** Whether a file tests the package in any page; policy.test.mjs tests the project's page too. */
const isOfPackage = (file) => /(package|threads|policy|connect|walk|onnx)\.test\.mjs$/.test(file);
const isOfPage = (file) => !isOfPackage(file) || file.endsWith("policy.test.mjs");

/**
 * The default tests of the page: all cells of the notebooks and their exercises, one path through each other view, axe
 * and links. Parts of these files are for the whole suite alone: `inWholeSuite` in tests/web/page.mjs.
 */
const PAGE_BY_DEFAULT = [
  "notebooks",
  "what-it-costs",
  "search/search",
  "exercises",
  "cells/running",
  "playground/playground",
  "lab/lab",
  "measure",
  "site/axe",
  "site/navigation",
].map((name) => join("tests", "web", `${name}.test.mjs`));

/** Whether `npm test` runs a test file. */
export const isByDefault = (file) =>
  /^tests\/(native|js|web\/in-node)\b/.test(file) ||
  (/^tests\/package\b/.test(file) && !isOfMatrix(file)) ||
  (/^tests\/web\b/.test(file) && (isOfPackage(file) || PAGE_BY_DEFAULT.includes(join(file))));

/** The settings of a run of the page's tests in a browser: its files and its environment. */
const wholePage = [isOfPage, {}];
const defaultPage = isThorough
  ? wholePage
  : [(file) => PAGE_BY_DEFAULT.includes(file), { ZEROPOINT_PAGE: "default" }];

/** The package in pages, and the given tests of the page. */
const withPackage = ([isChosen, env]) => [(file) => isOfPackage(file) || isChosen(file), env];

/** The tests of the page that need no browser, then the chosen ones in Chromium. */
async function testPage(chosen) {
  const { attempt, finish } = tally();
  const inNode = "Tests without a browser";
  const budget = FILE_BUDGETS.js;
  await attempt(inNode, () => nodeTest(inNode, "tests/web/in-node", { budget }));
  await attempt("Tests in Chromium", () => testInBrowser("chromium", ...chosen));
  finish();
}

/** The JavaScript tests with all of their runs and sizes, in Node and in Chromium. */
async function testInFull() {
  const { attempt, finish } = tally();
  const env = { ZEROPOINT_FULL: "1" };
  const title = "JavaScript tests in full";
  await attempt(title, () => nodeTest(title, "tests/js", { env, seconds: 900 }));
  const ofPage = "The page's tests in full without a browser";
  await attempt(ofPage, () => nodeTest(ofPage, "tests/web/in-node", { env }));
  const isOfPackage = (file) => /package\.test\.mjs$/.test(file);
  await attempt("Tests in Chromium", () => testInBrowser("chromium", isOfPackage, env));
  finish();
}

/** For each suite: its prerequisites, its builds and its run. */
const SUITES = {
  native: {
    purposes: ["native"],
    builds: ["native"],
    test: () => ctest("Native tests", "native"),
  },
  js: {
    purposes: ["core"],
    builds: ["core", "js"],
    test: () => nodeTest("JavaScript tests", "tests/js", { budget: FILE_BUDGETS.js }),
  },
  web: {
    purposes: ["core", "chromium"],
    builds: ["core", "js", "page"],
    test: () => testPage(withPackage(defaultPage)),
  },
  "web-whole": {
    purposes: ["core", "chromium"],
    builds: ["core", "js", "page"],
    test: () => testPage(withPackage(wholePage)),
  },
  page: {
    purposes: ["core", "chromium"],
    builds: ["core", "js", "page"],
    test: () => testPage(wholePage),
  },
  firefox: {
    purposes: ["core", "firefox"],
    builds: ["core", "js", "page"],
    test: () => testInBrowser("firefox", ...withPackage(defaultPage)),
  },
  "page-firefox": {
    purposes: ["core", "firefox"],
    builds: ["core", "js", "page"],
    test: () => testInBrowser("firefox", ...defaultPage),
  },
  package: {
    purposes: ["core", "chromium", "engines"],
    builds: ["core", "js"],
    test: () => packageTests("Package tests", (file) => !isOfMatrix(file)),
  },
  "package-matrix": {
    purposes: ["core", "chromium", "engines"],
    builds: ["core", "js"],
    test: () => packageTests("Package tests in other tools", isOfMatrix),
  },
  docs: {
    purposes: ["core"],
    builds: ["core", "js"],
    test: () =>
      step("Tests of the documentation", () =>
        runTestFiles(testsOfDocs(), { budget: FILE_BUDGETS.js }),
      ),
  },
  full: {
    purposes: ["core", "chromium"],
    builds: ["core", "js"],
    test: () => testInFull(),
  },
  engines: {
    purposes: ["core", "engines"],
    builds: ["core", "js"],
    test: () => testEngines(),
  },
  asan: {
    purposes: ["native"],
    builds: ["asan"],
    test: () => ctest("Native tests (address and undefined-behaviour sanitizers)", "native-asan"),
  },
  tsan: {
    purposes: ["native"],
    builds: ["tsan"],
    test: () => ctest("Native tests (thread sanitizer)", "native-tsan"),
  },
  valgrind: {
    purposes: ["native", "valgrind"],
    builds: ["native"],
    test: valgrind,
  },
  fuzz: {
    purposes: ["fuzz"],
    builds: ["fuzz"],
    test: fuzzBriefly,
  },
};

/**
 * CPU-seconds that a test file may take, where `build of core` takes 90: a file of JavaScript tests in Node; a file of the
 * page's tests, with its share of the browser. A run names what took more; it does not fail for it.
 */
const FILE_BUDGETS = { js: 8, page: 30 };

/** CPU-seconds that builds and suites may take on the same machine. */
const BUDGETS = {
  "build of core": 150,
  "build of js": 30,
  "build of page": 60,
  "build of native": 200,
  "native tests": 120,
  "js tests": 300,
  "web tests": 300,
  "web-whole tests": 550,
  "page tests": 450,
  "package tests": 240,
  "docs tests": 60,
};

/** Prints the time of each part, and which parts are over their budget. */
function printTimes(times) {
  console.log("\n== Times");
  for (const { name, seconds, cpu } of times) {
    const budget = BUDGETS[name];
    const isOver = budget !== undefined && cpu > budget;
    const ofBudget = budget === undefined ? "" : ` of ${budget}`;
    const shown = cpu === undefined ? "" : `, ${cpu.toFixed(0)}${ofBudget} CPU-seconds`;
    console.log(`${name}: ${seconds.toFixed(0)} s${shown}${isOver ? "  OVER BUDGET" : ""}`);
  }
}

async function main(names) {
  const chosen = names.length > 0 ? names : ["native", "js", "web", "package"];
  const unknown = chosen.find((name) => !(name in SUITES));
  if (unknown)
    throw new Failure(`npm test takes ${Object.keys(SUITES).join(", ")}, got ${unknown}`);
  const suites = Object.entries(SUITES).filter(([name]) => chosen.includes(name));

  const purposes = [...new Set(suites.flatMap(([, suite]) => suite.purposes))];
  const { emscripten } = await step("Set-up", () => setUp(purposes));

  const build = {
    core: () => buildCore(emscripten),
    js: () => buildJs(),
    page: () => buildPage(),
    native: () => buildNative("native"),
    asan: () => buildNative("native-asan"),
    tsan: () => buildNative("native-tsan"),
    fuzz: () => buildNative("native-fuzz"),
  };
  const { attempt: tryOut, finish } = tally();
  const times = [];
  const attempt = async (name, work) => {
    const [start, before] = [performance.now(), childSeconds()];
    const passed = await tryOut(name, work);
    const cpu = before === undefined ? undefined : childSeconds() - before;
    times.push({ name, seconds: (performance.now() - start) / 1000, cpu });
    return passed;
  };

  // Builds each part once, in the order of their dependencies.
  const built = {};
  for (const part of Object.keys(build)) {
    if (suites.some(([, suite]) => suite.builds.includes(part))) {
      built[part] = await attempt(`build of ${part}`, build[part]);
    }
  }
  for (const [name, suite] of suites) {
    if (suite.builds.every((part) => built[part])) await attempt(`${name} tests`, suite.test);
    else console.log(`\n== ${name} tests: not run, their build failed`);
  }
  printTimes(times);
  finish();
  console.log(`\nAll passed: ${suites.map(([name]) => name).join(", ")}`);
}

await runAsScript(import.meta.url, main, HELP);
