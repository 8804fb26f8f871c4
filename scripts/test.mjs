// npm test: sets up, builds and runs all tests. A suite that fails does not keep the others from
// running.
//
//   npm test -- [name ...]     runs the named suites; without a name, native, js, web and package
//
// npm run check runs the others, which look further: engines (PyTorch's vectors in every build and in a
// newer Node), asan and tsan (the native tests under sanitizers), valgrind, and fuzz (the fuzz targets,
// briefly).

import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { BROWSER_NAMES, browserTitle, findBrowser } from "./browser.mjs";
import { buildCore, buildJs, buildNative, buildPage } from "./build.mjs";
import { testEngines } from "./engines.mjs";
import { fuzzBriefly } from "./fuzz.mjs";
import { Failure, root, run, runAsScript, sideBySide, step, tally } from "./run.mjs";
import { setUp } from "./setup.mjs";

function ctest(title, preset) {
  return step(title, () => run("ctest", ["--preset", preset, "--parallel", "2"]));
}

/** Runs the *.test.mjs files of a folder with Node's test runner. */
function nodeTest(title, folder, { options = [], env = {}, recursive = true } = {}) {
  return step(title, () => {
    const files = readdirSync(join(root, folder), { recursive })
      .filter((name) => name.endsWith(".test.mjs"))
      .map((name) => join(folder, name))
      .sort();
    if (files.length === 0) throw new Failure(`there are no tests in ${folder}`);
    const flags = ["--test", "--test-reporter=spec", ...options];
    return run(process.execPath, [...flags, ...files], { env });
  });
}

/**
 * The native tests under valgrind, which sees what is read before it is written. Left out are those
 * that only take millions of values where others take thousands.
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
  // GoogleTest deals its tests out to so many processes, and valgrind has one thread at work in each.
  const shards = Array.from({ length: availableParallelism() }, (_, shard) => {
    const env = { GTEST_TOTAL_SHARDS: `${availableParallelism()}`, GTEST_SHARD_INDEX: `${shard}` };
    const title = `part ${shard + 1} of the native tests (valgrind)`;
    return [title, () => run("valgrind", [...options, ...tests], { env })];
  });
  return step("Native tests (valgrind)", () => sideBySide(shards));
}

/** What each suite needs to be set up, what it builds, and how it runs. */
const SUITES = {
  native: {
    purposes: ["native"],
    builds: ["native"],
    test: () => ctest("Native tests", "native"),
  },
  js: {
    purposes: ["core"],
    builds: ["core", "js"],
    test: () => nodeTest("JavaScript tests", "tests/js"),
  },
  web: {
    purposes: ["core", "browser"],
    builds: ["core", "js", "page"],
    // One browser at a time: two on a small machine time each other out.
    test: async () => {
      const { attempt, finish } = tally();
      await attempt("Tests without a browser", () =>
        nodeTest("Tests without a browser", "tests/web/in-node"),
      );
      for (const name of BROWSER_NAMES) {
        const env = {
          ZEROPOINT_BROWSER: name,
          [`ZEROPOINT_${name.toUpperCase()}`]: findBrowser(name),
        };
        const title = `Tests in ${browserTitle(name)}`;
        const options = ["--test-concurrency=1"];
        const recursive = false;
        await attempt(title, () => nodeTest(title, "tests/web", { options, env, recursive }));
      }
      finish();
    },
  },
  package: {
    purposes: ["core", "browser"],
    builds: ["core", "js"],
    test: () =>
      nodeTest("Package tests", "tests/package", {
        options: ["--test-concurrency=1"],
        env: { ZEROPOINT_CHROMIUM: findBrowser() },
      }),
  },
  engines: {
    purposes: ["core"],
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

await runAsScript(import.meta.url, async (names) => {
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
  const { attempt, finish } = tally();

  // Each part is built once, in the order in which they depend on each other.
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
  finish();
  console.log(`\nAll passed: ${suites.map(([name]) => name).join(", ")}`);
});
