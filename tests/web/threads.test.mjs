// The library's threads in the browser under test: with and without shared memory, under policies, and with workers
// that end unexpectedly.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { chromiumOnly, launchBrowser, PATIENCE } from "./browser.mjs";
import { openPage, waitFor } from "./page.mjs";
import { servePackage } from "./serve.mjs";

let browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser?.close());

/** A page of a server with these options, with all messages on its console. */
async function open(options) {
  const site = await servePackage(options);
  const script = "/tests/web/in-browser/threads-page.js";
  const printed = [];
  const onMessage = (text) => printed.push(text);
  const visit = await openPage(browser, `${site.origin}/page?script=${script}`, {
    isLive: false,
    onMessage,
  });
  const { page } = visit;
  await waitFor(page, () => globalThis.run);
  return {
    page,
    printed,
    run: (scenario, settings) =>
      page.evaluate((name, given) => globalThis.run(name, given), scenario, settings),
    close: async () => {
      await visit.close();
      await site.close();
    },
  };
}

describe("Threads in a page that is cross-origin isolated", () => {
  let visit;
  before(async () => {
    visit = await open({ isolated: true });
  });
  after(() => visit?.close());

  it("are as many as requested, and give the same bits as one thread", async () => {
    const { started, ...seen } = await visit.run("instance", { threads: 3 });
    assert.deepEqual(seen, { isIsolated: true, threads: 3, isSame: true, reason: null });
    assert.equal(started, 2);
  });

  it("run in many instances without disturbing each other", async () => {
    const { threads, wrong, calls } = await visit.run("many");
    assert.deepEqual(threads, [1, 2, 3, 2, 4, 2]);
    assert.deepEqual({ wrong, calls }, { wrong: 0, calls: 50 });
  });

  it("run in a worker of the page, too", { timeout: PATIENCE }, async () => {
    const settings = { scenario: "instance", options: { threads: 2 } };
    const { started, ...seen } = await visit.run("inWorker", settings);
    assert.deepEqual(seen, { isIsolated: true, threads: 2, isSame: true, reason: null });
    assert.equal(started, 1);
  });

  it("log nothing on the console", () => {
    assert.deepEqual(visit.printed, []);
  });
});

describe("Concurrent calls of init", () => {
  it("share one core and its worker", async () => {
    const visit = await open({ isolated: true });
    const { answers, later, started } = await visit.run("init", { threads: 2 });
    for (const answer of [...answers, later]) assert.equal(answer.threads, 2);
    assert.equal(started, 1);
    await visit.close();
  });
});

describe("Threads that are unavailable", () => {
  const isOne = async (options, reason, settings = { threads: 2 }) => {
    const visit = await open(options);
    const seen = await visit.run("instance", settings);
    assert.equal(seen.error, undefined);
    assert.equal(seen.threads, 1);
    assert.match(seen.reason, reason);
    assert.equal(seen.isSame, true);
    return { ...visit, seen };
  };

  it("are replaced by one thread, without a message, in a page that is not isolated", async () => {
    const { printed, seen, close } = await isOne({ isolated: false }, /isolat/);
    assert.equal(seen.isIsolated, false);
    assert.equal(seen.started, 0);
    assert.deepEqual(printed, []);
    await close();
  });

  it("are reported by init on every call", async () => {
    const visit = await open({ isolated: false });
    const { answers, later } = await visit.run("init", { threads: 2 });
    for (const { threads, reason } of [...answers, later]) {
      assert.equal(threads, 1);
      assert.match(reason, /isolat/);
    }
    await visit.close();
  });

  it("are replaced by one thread where the worker's script is missing", async () => {
    const missing = /^\/dist\/core\/threads\/worker\.js$/;
    const { close } = await isOne({ isolated: true, missing }, /^a worker could not be started/);
    await close();
  });

  it("are replaced by one thread where the policy allows no worker", async () => {
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'";
    const { close } = await isOne({ isolated: true, policy }, /^a worker could not be started/);
    await close();
  });

  it("are replaced by one thread where the page allows no policy called zeropoint", async () => {
    const policy =
      "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; " +
      "require-trusted-types-for 'script'; trusted-types other";
    const { close } = await isOne({ isolated: true, policy }, /^a worker could not be started/);
    await close();
  });
});

describe("Workers that end unexpectedly leave a working library", () => {
  let visit;
  before(async () => {
    visit = await open({ isolated: true });
  });
  after(() => visit?.close());

  it("between calls", async () => {
    const { right, usable, error } = await visit.run("ended");
    assert.equal(error, undefined);
    assert.deepEqual(right, [1000, 1000, 1000]);
    assert.equal(usable, true);
  });

  it("during a call", async () => {
    const { right, usable, error } = await visit.run("endedInTheMidst");
    assert.equal(error, undefined);
    assert.deepEqual(right, [50, 1000, 50, 1000, 50, 1000]);
    assert.equal(usable, true);
  });

  it("with the worker that owned them, during its call", async () => {
    const { right, usable, error } = await visit.run("endedOwner");
    assert.equal(error, undefined);
    assert.deepEqual(right, [1000, 1000]);
    assert.equal(usable, true);
  });

  it("when terminated during a call", chromiumOnly("terminate a worker's execution"), async () => {
    const other = await open({ isolated: true });
    assert.equal(await other.run("longCall"), 2);
    const [worker] = other.page.workers();
    // Execution stops at once, without an event.
    await worker.client.send("Runtime.terminateExecution");
    assert.deepEqual(await other.page.evaluate(() => globalThis.longCall), [64, 1000]);
    await other.close();
  });
});
