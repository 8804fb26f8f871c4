// zeropoint/worker in the browser under test: in a page and in a worker of the page, under the strict policy, and
// where no worker can start.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launchBrowser, PATIENCE } from "./browser.mjs";
import { openPage, waitFor } from "./page.mjs";
import { STRICT_POLICY, servePackage } from "./serve.mjs";

let browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser?.close());

/** The result of a scenario of in-browser/connect-page.js on a page served with these options. */
async function answerOf(scenario, options) {
  const site = await servePackage(options);
  const script = "/tests/web/in-browser/connect-page.js";
  const visit = await openPage(browser, `${site.origin}/page?script=${script}`, { isLive: false });
  const { page } = visit;
  try {
    await waitFor(page, () => globalThis.run);
    return await page.evaluate((name) => globalThis.run(name), scenario);
  } finally {
    await visit.close();
    await site.close();
  }
}

const RIGHT = { isSame: true, isOwn: true, isRising: true, stopped: "AbortError", shape: [1, 256] };
const LIMIT = { timeout: PATIENCE };

describe("A connection in a page", () => {
  for (const isolated of [true, false]) {
    it(`runs in a worker: isolated ${isolated}`, LIMIT, async () => {
      const expected = { ...RIGHT, offThread: true, reason: null };
      assert.deepEqual(await answerOf("use", { isolated }), expected);
    });
  }

  it("runs in a worker under the strict policy", LIMIT, async () => {
    const expected = { ...RIGHT, offThread: true, reason: null };
    assert.deepEqual(await answerOf("use", { policy: STRICT_POLICY }), expected);
  });

  it("runs in a worker of a worker", LIMIT, async () => {
    const answer = await answerOf("inWorker", {});
    assert.deepEqual({ ...answer, reason: null }, { ...RIGHT, offThread: true, reason: null });
  });

  for (const [title, options] of Object.entries({
    "the policy allows no worker": {
      policy: "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'",
    },
    "the script is missing": { missing: /^\/dist\/worker\/worker\.js$/ },
  })) {
    it(`runs on the page's thread where ${title}`, LIMIT, async () => {
      const { reason, ...answer } = await answerOf("use", options);
      assert.deepEqual(answer, { ...RIGHT, offThread: false });
      assert.match(reason, /^a worker could not be started/);
    });
  }

  const RESULTS = [...Array(4).fill("w int8-channel true"), "ZP_INVALID_FILE true"];

  for (const policy of [undefined, STRICT_POLICY]) {
    it(
      `opens, analyzes and writes model files in a worker ${policy ? "under the strict policy" : "without a policy"}`,
      LIMIT,
      async () => {
        const expected = { offThread: true, reason: null, results: RESULTS };
        assert.deepEqual(await answerOf("models", policy && { policy }), expected);
      },
    );
  }

  it("opens, analyzes and writes model files on the page's thread", LIMIT, async () => {
    const missing = /^\/dist\/worker\/models-worker\.js$/;
    const { reason, ...answer } = await answerOf("models", { missing });
    assert.deepEqual(answer, { offThread: false, results: RESULTS });
    assert.match(reason, /^a worker could not be started/);
  });
});
