// Messages that a cell forges: the page ignores them, stays alive, and keeps no address that they name.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openNotebook, openPage, readCells, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { cell, openOnce, page as ownPage, runInFirstCell } from "./first-notebook.mjs";

describe("What a cell makes the kernel send", () => {
  openOnce();

  it("is no plot of more values than its data", async () => {
    const forged = `({ kind: "quantization-errors", n_bits: 8,
      panels: [{ title: "t", shape: [1, 2 ** 40], data: [1] }] })`;
    const { state, error, plots } = await runInFirstCell(forged);
    assert.deepEqual([state, plots], ["failed", 0]);
    assert.match(error, /as many values as their shape/);
  });

  it("is at most 50 errors of promises", async () => {
    await runInFirstCell(
      "for (let i = 0; i < 20_000; i++) Promise.reject(new Error(String(i))); 1",
    );
    await waitFor(
      ownPage,
      (selector) =>
        document
          .querySelector(`${selector} .cell-output`)
          .textContent.includes("the other errors are left out"),
      cell(1),
    );
    const errors = await ownPage.$$eval(`${cell(1)} .cell-error`, (all) => all.length);
    assert.ok(errors <= 51, String(errors));
    const { output } = await runInFirstCell("print(1 + 1)");
    assert.equal(output, "2");
  });

  it("is no answer to a run that the cell asks for itself", async () => {
    const { output } = await runInFirstCell(`
      self.dispatchEvent(new MessageEvent("message", { data: { type: "export", title: "x", cells: [] } }));
      self.dispatchEvent(new MessageEvent("message",
        { data: { type: "run", run: 10 ** 6, label: "x", source: "print('forged')", checks: [] } }));
      await new Promise((resolve) => setTimeout(resolve, 50));
      print("own")`);
    assert.equal(output, "own");
  });
});

describe("The page of a worker that sends messages of its own", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openPage(browser, site.url, {
      prepare: () => {
        const Original = Worker;
        window.Worker = class extends Original {
          constructor(...given) {
            super(...given);
            window.worker = this;
          }
        };
      },
    });
    ({ page } = visit);
    await openNotebook(page, "quantize-and-dequantize");
    await page.$eval(`${cell(1)} button.run`, (button) => button.click());
    await page.waitForSelector(`${cell(1)}[data-state='done']`);
  });
  after(() => visit?.close());

  const forge = (count, make) =>
    page.evaluate(
      (times, source) => {
        const data = new Function(`return (${source})()`)();
        for (let i = 0; i < times; i++) {
          window.worker.dispatchEvent(new MessageEvent("message", { data }));
        }
      },
      count,
      String(make),
    );

  it("draws no forged plot, and shows no forged text", async () => {
    await forge(1, () => ({
      type: "output",
      run: 1,
      output: {
        kind: "plot",
        plot: {
          ...{ kind: "quantization-errors", n_bits: 8 },
          panels: [{ name: "original", title: "", shape: [1, 2 ** 40], data: new Float64Array(1) }],
        },
      },
    }));
    await forge(1, () => ({
      type: "output",
      run: 1,
      output: { kind: "text", text: "x".repeat(2 ** 26) },
    }));
    const [{ plots, output }] = await readCells(page);
    assert.equal(plots, 0);
    assert.ok(output.length < 10_000, String(output.length));
  });

  it("keeps no files that a forged list names", async () => {
    await forge(3, () => ({
      type: "ready",
      files: Array(1000).fill(`${location.origin}/index.html?forged`),
    }));
    const kept = await page.evaluate(async () => {
      const found = await Promise.all(
        (await caches.keys()).map(async (name) =>
          (await (await caches.open(name)).keys()).map(({ url }) => url),
        ),
      );
      return found.flat().filter((url) => url.includes("forged"));
    });
    assert.deepEqual(kept, []);
  });

  it("ends the worker that sends 20,000 of them, and runs cells in a new one", async () => {
    const start = Date.now();
    await forge(20_000, () => ({ type: "output", run: 1, output: { kind: "text", text: "x" } }));
    assert.ok(Date.now() - start < 20_000);
    await page.$eval(`${cell(1)} button.run`, (button) => button.click());
    await page.waitForSelector(`${cell(1)}[data-state='done']`);
    const [{ output }] = await readCells(page);
    assert.doesNotMatch(output, /xxx/);
  });
});
