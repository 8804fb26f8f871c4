// The package's own tests, tests/js, in the browser under test: on every build, under the strictest
// policy that the package promises to run under.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { after, before, describe, it } from "node:test";
import { browserTitle } from "../../scripts/browser.mjs";
import { root } from "../../scripts/run.mjs";
import { browserName, launchBrowser, PATIENCE } from "./browser.mjs";
import { REPORTING, STRICT_POLICY, servePackage } from "./serve.mjs";

/** Every one of them, wherever it runs: a browser that cannot run one fails. */
const BUILDS = ["baseline", "relaxed"];

/** What needs Node, and why: whole files, or tests of a file. All else runs in browsers. */
const NODE_ONLY = {
  "async.test.mjs": {
    "The worker > ends with its instance, and lets Node end at once": "starts a Node",
    "The worker > lets Node end when the work was stopped before it began": "starts a Node",
    "The worker > keeps Node alive while it works, and no longer": "starts a Node",
    "What the asynchronous functions do > gives others their turn, however quick the answers are":
      "pages give every message a turn of its own",
    "What the asynchronous functions do > is loaded with the first call, whose arguments are read before":
      "starts a Node that has not loaded it",
    "What the asynchronous functions do > starts no worker if the instance is disposed while it is loaded":
      "starts a Node that has not loaded it",
    "What the asynchronous functions do > may fail to load: the promise is rejected, and says why":
      "starts a Node that cannot load it",
  },
  "bench.test.mjs": "runs the benchmark's command",
  "cost.test.mjs": "reads the digits from files; what-it-costs.test.mjs does it on the page",
  "examples.test.mjs": "has TypeScript read the sources",
  "readme.test.mjs": "runs the README's example in a Node of its own",
  "soak.test.mjs": "starts a Node that can be told to collect garbage",
  "threads.test.mjs": {
    // threads.test.mjs beside this file ends the workers of pages.
    "threads of the baseline build > outlive workers that end between calls": "ends Node's workers",
    "threads of the baseline build > outlive workers that are ended while they compute":
      "ends Node's workers",
    "threads of the baseline build > are not waited for, nor given up, when one stops by an error in its part":
      "breaks Node's workers",
    "threads of the baseline build > are not waited for, nor given up, when one was ended at work":
      "ends Node's workers",
    "threads of the relaxed build > outlive workers that end between calls": "ends Node's workers",
    "threads of the relaxed build > outlive workers that are ended while they compute":
      "ends Node's workers",
    "threads of the relaxed build > are not waited for, nor given up, when one stops by an error in its part":
      "breaks Node's workers",
    "threads of the relaxed build > are not waited for, nor given up, when one was ended at work":
      "ends Node's workers",
    "The workers of an instance > end with it, and no other's do": "ends Node's workers",
    "The workers of an instance > are terminated when one of them falls silent, which would not end by itself":
      "counts Node's workers",
    "The workers of an instance > end some time after nobody can use it any more": "starts a Node",
    "threads that cannot be had > are one thread where workers do not start": "has Node's workers",
    "threads that cannot be had > are one thread where a worker ends at once":
      "ends Node's workers",
    "threads that cannot be had > are fetched again by whoever asked for them, without a quarrel":
      "starts a Node",
    "a process with threads > ends by itself": "starts a Node",
    "a process with threads > ends by itself when only init is awaited by nobody": "starts a Node",
  },
  "types.test.mjs": "runs the TypeScript compiler",
  "linear.test.mjs": {
    "QuantizedLinear.dispose > is all there is where the engine has no Symbol.dispose":
      "starts a Node whose Symbol.dispose is gone",
    "QuantizedLinear.dispose > is made up for by the garbage collector":
      "asks V8 to collect garbage",
  },
  "pack.test.mjs": {
    "unpack > takes a Node buffer, which is a Uint8Array": "makes a Buffer",
  },
  "print.test.mjs": {
    "a tensor of zeropoint/notebook > prints the same in Node's console": "is about node:util",
  },
  "wasm-text.test.mjs": "makes binaries and their texts with what builds the package",
};

const files = readdirSync(`${root}/tests/js`).filter((name) => name.endsWith(".test.mjs"));

let browser;
let site;
before(async () => {
  site = await servePackage({ policy: STRICT_POLICY + REPORTING });
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await site?.close();
});

/** One page is opened or closed at a time: Firefox opens a page beside one that must not go away. */
let last = Promise.resolve();
function inTurn(work) {
  const turn = last.then(work);
  last = turn.catch(() => {});
  return turn;
}

/** Runs one file on one build in a page of its own. */
async function runInBrowser(file, build) {
  const page = await inTurn(() => browser.newPage());
  try {
    page.setDefaultTimeout(PATIENCE);
    const problems = [];
    page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`));
    await page.evaluateOnNewDocument(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (event) => {
        window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    await page.goto(`${site.url}?file=tests/js/${file}&build=${build}`);
    const outcome = await page.evaluate(() => globalThis.finished);
    problems.push(...(await page.evaluate(() => window.violations)));
    return { ...outcome, problems };
  } finally {
    await inTurn(() => page.close());
  }
}

const concurrency = Math.min(availableParallelism(), 4);
for (const build of BUILDS) {
  describe(`In ${browserTitle(browserName)}, on build ${build}`, { concurrency }, () => {
    for (const file of files) {
      it(file, { timeout: PATIENCE }, async (t) => {
        const { error, loaded, results, problems } = await runInBrowser(file, build);
        // Some of what needs Node does so as soon as it is imported.
        if (typeof NODE_ONLY[file] === "string" && error !== undefined) return;
        assert.equal(error, undefined);
        assert.equal(loaded, build);
        assert.ok(results.length > 0, "there are no tests in it");

        const failed = results.filter(({ outcome }) => outcome === "failed");
        const list = failed.map(({ name, reason }) => `${name}\n${reason}`).join("\n\n");
        assert.equal(failed.length, 0, `${failed.length} of ${results.length} failed:\n${list}`);

        const listed = NODE_ONLY[file] ?? {};
        // A file may have tests of its own for each build that the engine runs.
        const isElsewhere = (name) =>
          build === "baseline" && name.includes(" of the relaxed build ");
        const nodeOnly = results.filter(({ outcome }) => outcome !== "passed");
        const all = JSON.stringify(nodeOnly, null, 2);
        const why = `Node alone runs this, and NODE_ONLY must say why: ${all}`;
        if (typeof listed === "string") {
          assert.ok(nodeOnly.length === results.length, `Some of it runs in browsers: ${all}`);
        } else {
          const expected = Object.keys(listed).filter((name) => !isElsewhere(name));
          assert.deepEqual(
            nodeOnly.map(({ name }) => name),
            expected,
            why,
          );
        }
        assert.deepEqual(problems, []);
        const passed = results.filter(({ outcome }) => outcome === "passed").length;
        t.diagnostic(`${file}: ${passed} passed, ${results.length - passed} not run`);
      });
    }
  });
}

describe("The policy", () => {
  it("was broken nowhere, in workers neither, or the server would have been told", async () => {
    // Reports come late: this one, of a worker that evaluates text, comes after all others.
    const told = site.nextReport();
    const page = await browser.newPage();
    await page.goto(`${site.origin}/page?script=/tests/web/in-browser/offending-worker.js`);
    const report = await told;
    await page.close();
    assert.match(report, /offending-worker\.js/);
    assert.equal(site.reports.length, 1, site.reports.join("\n"));
  });
});
