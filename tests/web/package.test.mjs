// The package's tests, tests/js, in the browser under test, under the strictest policy that the package supports.
// Runs the files of MEETS_PAGE on the default build of the browser, in Firefox PyTorch's vectors too. ZEROPOINT_FULL=1, as in
// npm run check, runs every file, and tests of reference values with relaxed SIMD hidden as well (in Chromium those of
// PyTorch). ZEROPOINT_THOROUGH=1 runs every file on both builds.

import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { after, before, describe, it } from "node:test";
import { isFull, isThorough } from "../../scripts/process/run.mjs";
import { testsOfResults } from "../../scripts/test/engines.mjs";
import { testFilesIn } from "../../scripts/test/test-files.mjs";
import { browserTitle } from "../../scripts/toolchain/browser.mjs";
import { browserName, launchBrowser, PATIENCE } from "./browser.mjs";
import { REPORTING, STRICT_POLICY, servePackage } from "./serve.mjs";

/** Files of tests, as paths in tests/js. */
const inTestsJs = (paths) =>
  paths.map((path) => path.replaceAll("\\", "/").slice("tests/js/".length));

/** Files with another file for pages, with the reason. */
const ELSEWHERE = {
  "worker/calls.test.mjs":
    "ends workers of Node and mocks its timers; connect.test.mjs is for pages",
};

/** Tests that need Node, with the reason: whole files, or single tests of a file. */
const NODE_ONLY = {
  "bench.test.mjs": "runs the benchmark's command",
  "cli/activations.test.mjs": "starts the command line",
  "cli/arguments.test.mjs": "starts the command line",
  "cli/output.test.mjs": "starts the command line",
  "cli/inspect.test.mjs": "starts the command line",
  "cli/help.test.mjs": "starts the command line",
  "cli/analyze.test.mjs": "starts the command line",
  "cli/compare.test.mjs": "starts the command line",
  "cli/examples.test.mjs": "starts the command line",
  "cli/quantize.test.mjs": "starts the command line",
  "cli/interruption.test.mjs": "starts the command line",
  "cli/plan.test.mjs": "starts the command line",
  "cli/plan-size.test.mjs": "starts the command line",
  "cli/jobs.test.mjs": "starts the command line",
  "cli/units.test.mjs": "reads the code of the command line, which is for Node",
  "cost.test.mjs": "reads the digits from files; what-it-costs.test.mjs does it on the page",
  "examples.test.mjs": "has TypeScript read the sources",
  "layers.test.mjs": "reads the sources",
  "readme.test.mjs":
    "runs the README's examples in a Node of their own; walk.test.mjs runs one on a page",
  "soak.test.mjs": "starts a Node that can be told to collect garbage",
  "core/threads/threads.test.mjs": {
    // The page's equivalent is threads.test.mjs, which ends the workers of pages.
    "threads of the baseline build > compute in parallel":
      "looks at the memory from a worker of Node",
    "threads of the baseline build > survive workers that end between calls": "ends Node's workers",
    "threads of the baseline build > survive workers that are ended while they compute":
      "ends Node's workers",
    "threads of the baseline build > are not waited for, nor given up, when one stops by an error in its part":
      "breaks Node's workers",
    "threads of the baseline build > are not waited for, nor given up, when one was ended at work":
      "ends Node's workers",
    "threads of the relaxed build > compute in parallel":
      "looks at the memory from a worker of Node",
    "threads of the relaxed build > survive workers that end between calls": "ends Node's workers",
    "threads of the relaxed build > survive workers that are ended while they compute":
      "ends Node's workers",
    "threads of the relaxed build > are not waited for, nor given up, when one stops by an error in its part":
      "breaks Node's workers",
    "threads of the relaxed build > are not waited for, nor given up, when one was ended at work":
      "ends Node's workers",
    "The workers of an instance > end with the instance; workers of other instances go on":
      "ends Node's workers",
    "The workers of an instance > are terminated when one of them stops answering":
      "counts Node's workers",
    "The workers of an instance > end after the instance was garbage-collected": "starts a Node",
    "threads that are unavailable > are one thread where workers do not start":
      "has Node's workers",
    "threads that are unavailable > are one thread where a worker ends at once":
      "ends Node's workers",
    "threads that are unavailable > may be requested again with the same count, although the first call got fewer":
      "starts a Node",
    "a process with threads > ends by itself": "starts a Node",
    "a process with threads > ends by itself after concurrent calls of init": "starts a Node",
  },
  "types.test.mjs": "runs the TypeScript compiler",
  "linear/dispose.test.mjs": {
    "QuantizedLinear.dispose > works in engines without Symbol.dispose":
      "starts a Node whose Symbol.dispose is gone",
    "QuantizedLinear.dispose > happens at garbage collection if it was not called":
      "asks V8 to collect garbage",
  },
  "quantize/pack.test.mjs": {
    "unpack > takes a Node buffer, which is a Uint8Array": "makes a Buffer",
  },
  "tensor/print.test.mjs": {
    "a tensor of zeropoint/notebook > prints the same in Node's console": "is about node:util",
  },
  "core/kernels.test.mjs": {
    "the kernels of an instance > are the 16-bit ones where V8 has no single instruction":
      "starts a Node",
  },
  "models/quantize/memory.test.mjs": "measures processes of their own",
  "models/quantize/onnx-runtime.test.mjs":
    "imports npm's onnxruntime-web; onnx.test.mjs runs it on a page",
  "search/memory.test.mjs": "measures processes of their own",
  "formats/memory.test.mjs": "starts Nodes with little memory",
  "models/save/load.test.mjs": {
    "load > takes paths and file URLs of Node": "writes files",
    "load > takes addresses, by ranges where the server has them": "starts a server",
  },
  "models/hostile-model.test.mjs": {
    "an opened model > is opened by a file address, with its shards, or by that of its folder":
      "writes files",
  },
  "models/open/open.test.mjs": {
    "openModel > opens shards by their index or folder": "writes files",
    "openModel > opens shards by the bytes of their index, with options.externalData":
      "writes files",
    "openModel > says which file is missing": "writes files",
    "openModel > says that a folder holds no model": "writes files",
    "openModel > opens a model of TensorFlow.js, its shards beside it, and its quantized weights":
      "writes files",
    "openModel > reads only headers until a value is requested, by ranges of an address":
      "starts a server",
    "openModel > of an address > says that the answer to a request was cut off": "starts a server",
    "openModel > of an address > reads the whole file if a server does not say how long it is":
      "starts a server",
    "openModel > of an address > rejects with the reason of a signal that is aborted while the body comes":
      "starts a server",
  },
  "models/analyze/memory.test.mjs": "measures a Node of its own",
  "models/stack.test.mjs": "starts a Node with a small stack",
  "models/many-tensors.test.mjs": "counts how often V8 runs blocks of code, by Node's inspector",
  "models/quantize/gguf-memory.test.mjs": "writes a file, and measures a Node of its own",
  "untrusted.test.mjs": {
    "tensors that change > never writes out of bounds while another thread grows an array":
      "starts a Node worker",
  },
  "core/embedded.test.mjs": "writes texts with a script that builds the package",
};

/**
 * Files whose results depend on a page: on how it loads the core, on its workers, threads, blobs, streams, requests and
 * policies. The others run in Node, whose engine is Chromium's; npm run check runs them here as well.
 */
const MEETS_PAGE = [
  "core/create.test.mjs",
  "core/init.test.mjs",
  "core/kernels.test.mjs",
  "core/load.test.mjs",
  "core/memory.test.mjs",
  "core/threads/staging.test.mjs",
  "core/threads/threads.test.mjs",
  "core/threads/workers.test.mjs",
  "linear/threads.test.mjs",
  "models/detached.test.mjs",
  "models/load-module.test.mjs",
  "models/open/blob-reader.test.mjs",
  "models/open/open.test.mjs",
  "models/save/load.test.mjs",
  "models/save/save.test.mjs",
  "slim.test.mjs",
  "untrusted.test.mjs",
  "worker/bits.test.mjs",
  "worker/load.test.mjs",
];

/** PyTorch's vectors: once in an engine that is not Node's. */
const isOfPyTorch = (file) => /\/pytorch\.test/.test(file);

const isForBrowser = (file) =>
  isFull || MEETS_PAGE.includes(file) || (browserName !== "chromium" && isOfPyTorch(file));

const files = inTestsJs(testFilesIn("tests/js"))
  .filter((file) => !(file in ELSEWHERE) && isForBrowser(file))
  // A page takes seconds to open: only the thorough run checks that these files still need Node.
  .filter((file) => isThorough || typeof NODE_ONLY[file] !== "string");

/** Whether a file also runs with relaxed SIMD hidden. Tests of properties run on all builds by themselves. */
function isForBaseline(file) {
  if (isThorough) return true;
  if (!isFull) return false;
  if (/propert|threads|staging|kernels/.test(file)) return false;
  // Chromium's engine runs all of them on this build in Node.
  return browserName !== "chromium" || isOfPyTorch(file);
}

/** Files for each build; a browser that cannot run one fails. */
const PLAN = {
  relaxed: files,
  baseline: (isThorough ? files : inTestsJs(testsOfResults())).filter(isForBaseline),
};

let browser;
let site;
before(async () => {
  site = await servePackage({ policy: STRICT_POLICY + REPORTING, isKept: true });
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await site?.close();
});

/** Queue: opens or closes one page at a time, because Firefox opens a page next to another, which must not close. */
let last = Promise.resolve();
function inTurn(work) {
  const turn = last.then(work);
  last = turn.catch(() => {});
  return turn;
}

/**
 * Pages whose file has ended. The next file is loaded into one of them: it gets a document of its own, without the
 * second that it takes to open a page.
 * @type {{ page: import("puppeteer-core").Page, uncaught: string[] }[]}
 */
const idle = [];

async function openPage() {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  const visit = { page, uncaught: [] };
  page.on("pageerror", (error) => visit.uncaught.push(`uncaught: ${error.message}`));
  await page.evaluateOnNewDocument(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  return visit;
}

/** Runs one file on one build in a separate document; closes the page if the signal ends the test. */
async function runInBrowser(file, build, signal) {
  const visit = idle.pop() ?? (await inTurn(openPage));
  const { page } = visit;
  const close = () => inTurn(() => page.close()).catch(() => {});
  signal.addEventListener("abort", close);
  try {
    visit.uncaught = [];
    await page.goto(`${site.url}?file=tests/js/${file}&build=${build}`);
    const outcome = await page.evaluate(() => globalThis.finished);
    const violations = await page.evaluate(() => window.violations);
    idle.push(visit);
    return { ...outcome, problems: [...visit.uncaught, ...violations] };
  } catch (error) {
    if (!signal.aborted) await close();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/** Fails if a test failed, with the reasons. */
function checkPassed(results) {
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const list = failed.map(({ name, reason }) => `${name}\n${reason}`).join("\n\n");
  assert.equal(failed.length, 0, `${failed.length} of ${results.length} failed:\n${list}`);
}

/** Fails unless the tests of a file that did not run are those in NODE_ONLY. */
function checkNodeOnly(file, build, results) {
  const listed = NODE_ONLY[file] ?? {};
  const nodeOnly = results.filter(({ outcome }) => outcome !== "passed");
  const all = JSON.stringify(nodeOnly, null, 2);
  if (typeof listed === "string") {
    assert.equal(nodeOnly.length, results.length, `Some of these tests run in browsers: ${all}`);
    return;
  }
  // A file may have separate tests for each build that the engine runs.
  const isElsewhere = (name) => build === "baseline" && name.includes(" of the relaxed build ");
  assert.deepEqual(
    nodeOnly.map(({ name }) => name),
    Object.keys(listed).filter((name) => !isElsewhere(name)),
    `These tests run only in Node and must be listed in NODE_ONLY: ${all}`,
  );
}

const concurrency = Math.min(availableParallelism(), 4);
for (const build of Object.keys(PLAN).filter((each) => PLAN[each].length > 0)) {
  describe(`In ${browserTitle(browserName)}, on build ${build}`, { concurrency }, () => {
    for (const file of PLAN[build]) {
      it(file, { timeout: 2 * PATIENCE }, async (t) => {
        const { error, loaded, results, problems } = await runInBrowser(file, build, t.signal);
        // A whole-file exception: the import itself may use Node and fail.
        if (typeof NODE_ONLY[file] === "string" && error !== undefined) return;
        assert.equal(error, undefined);
        assert.equal(loaded, build);
        assert.ok(results.length > 0, "there are no tests in it");
        checkPassed(results);
        checkNodeOnly(file, build, results);
        assert.deepEqual(problems, []);
        const passed = results.filter(({ outcome }) => outcome === "passed").length;
        t.diagnostic(`${file}: ${passed} passed, ${results.length - passed} not run`);
      });
    }
  });
}

describe("The files that meet a page", () => {
  it("are files of tests", () => {
    const all = inTestsJs(testFilesIn("tests/js"));
    assert.deepEqual(
      MEETS_PAGE.filter((file) => !all.includes(file)),
      [],
    );
  });
});

describe("The policy", () => {
  it("is never violated, in workers neither: the server gets no report", async () => {
    // Reports arrive late: provoke one more, from a worker that evaluates text, and wait for it.
    const told = site.nextReport();
    const page = await browser.newPage();
    await page.goto(`${site.origin}/page?script=/tests/web/in-browser/offending-worker.js`);
    const report = await told;
    await page.close();
    assert.match(report, /offending-worker\.js/);
    assert.equal(site.reports.length, 1, site.reports.join("\n"));
  });
});
