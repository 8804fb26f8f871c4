// Memory of a page that is used for long: what a view or a run leaves behind, in nodes, listeners and workers.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chromiumOnly, openNotebook, openPage, runAll, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

/** Counts what is alive after a collection of garbage. */
async function countAlive(page) {
  const session = await page.createCDPSession();
  // References of finished tasks and of observers go with a later collection.
  for (let i = 0; i < 4; i++) {
    await session.send("HeapProfiler.collectGarbage");
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
  }
  await session.detach();
  const { Nodes: nodes, JSEventListeners: listeners } = await page.metrics();
  return { nodes, listeners, workers: page.workers().length };
}

/** Opens views, one after the other. */
async function visit(page, views) {
  for (const view of views) {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, view);
    await page.waitForSelector(`[id="${view}"][data-current]:not([data-part])`);
    if (view === "play") await page.waitForSelector("#play .play[data-complete]");
  }
}

describe("A page that is used for long", () => {
  it("keeps nothing of opening views again", chromiumOnly("count nodes"), async () => {
    const { page, close } = await openPage(browser, site.url);
    const views = ["overview", "quantize-and-dequantize", "play", "lab", "search", "measure"];
    await visit(page, views);
    await visit(page, views);
    const before = await countAlive(page);
    for (let i = 0; i < 20; i++) await visit(page, views);
    assert.deepEqual(await countAlive(page), before);
    await close();
  });

  for (const [notebook, plots] of [
    ["quantize-and-dequantize", 1],
    ["what-it-costs", 2],
  ]) {
    const title = `keeps no plot and no output of earlier runs of ${notebook}`;
    it(title, chromiumOnly("count nodes"), async () => {
      const { page, close } = await openPage(browser, site.url);
      await openNotebook(page, notebook);
      const run = async () => {
        await runAll(page);
        await waitFor(
          page,
          (count) => document.querySelectorAll(".view[data-current] .plot").length === count,
          plots,
        );
      };
      for (let i = 0; i < 2; i++) await run();
      const before = await countAlive(page);
      for (let i = 0; i < 6; i++) await run();
      const after = await countAlive(page);
      // The nodes of one run may wait for a collection.
      assert.ok(after.nodes - before.nodes < 100, JSON.stringify({ before, after }));
      assert.ok(after.listeners - before.listeners < 10, JSON.stringify({ before, after }));
      assert.equal(after.workers, before.workers);
      await close();
    });
  }
});
