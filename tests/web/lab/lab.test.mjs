// The Model Lab: opened, analyzed, planned, written and read again, with the figures of the package.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
import { root } from "../../../scripts/process/run.mjs";
import { metricText } from "../../../web/lab/format.js";
import { axeViolations, onceForAll, RULES_OF_COLOUR } from "../axe.mjs";
import { browserName } from "../browser.mjs";
import { press, textOf } from "../page.mjs";
import { LAB, openFile, openLab, shownCells, waitForPlan } from "./pages.mjs";

describe("The Model Lab", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openLab();
    page = visit.page;
    await page.click('[data-sample="digits.safetensors"]');
    await waitForPlan(page);
  });
  after(() => visit?.close());

  it("says what the file holds", async () => {
    assert.equal(await textOf(page, ".lab-name"), "digits.safetensors");
    assert.equal(
      await textOf(page, ".lab-facts"),
      "safetensors · 4 tensors · 50,890 parameters · float32 · 204 kB",
    );
  });

  it("shows the figures of the package in every cell", async () => {
    await init();
    const model = await openModel(join(root, "build", "cost", "digits.safetensors"));
    const expected = new Map();
    for await (const row of analyze(model)) {
      if (row.scheme !== "keep")
        expected.set(`${row.name} ${row.scheme}`, metricText("sqnr", row.sqnr));
    }
    await model.close();
    const shown = await shownCells(page);
    const filled = shown.filter(([, text]) => text !== "·");
    assert.deepEqual(new Map(filled), expected);
    assert.ok(expected.size >= 10);
  });

  it("moves the plan along its frontier by the arrow keys of the slider", async () => {
    const before = await textOf(page, ".budget-text");
    await page.focus(".budget input");
    for (let i = 0; i < 3; i++) await press(page, "ArrowLeft");
    await page.waitForFunction(
      (text) => document.querySelector(".budget-text").textContent !== text,
      {},
      before,
    );
    assert.match(
      await textOf(page, ".budget-text"),
      /^[\d.]+ kB \(\d+ % of 204 kB\), [\d.]+ dB in weights, /,
    );
  });

  it("moves through the table by the arrow keys and opens a cell by Enter", async () => {
    await page.focus('.layer-body [tabindex="0"]');
    for (let i = 0; i < 4; i++) await press(page, "ArrowRight");
    await page.waitForFunction(() => document.activeElement?.dataset.column === "4");
    await press(page, "Enter");
    await page.waitForSelector(".lab-drawer[open] .detail-facts");
    const scheme = await textOf(page, ".layer-head .is-scheme button");
    assert.ok((await textOf(page, ".detail-what")).includes(scheme));
  });

  it("has nothing that axe finds in the details", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
  });

  it("closes the details by Escape, and puts the focus back into the table", async () => {
    await press(page, "Escape");
    await page.waitForSelector(".lab-drawer:not([open])");
    await page.waitForFunction(() => document.activeElement?.dataset.column === "4");
  });

  it("puts the focus back into a table that was drawn again behind the details", async () => {
    await press(page, "Enter");
    await page.waitForSelector(".lab-drawer[open] .detail-facts");
    for (const metric of ["mse", "sqnr"]) await page.select(`${LAB} [name="metric"]`, metric);
    await press(page, "Escape");
    await page.waitForFunction(() => document.activeElement?.dataset.column === "4");
  });

  it("has nothing that axe finds in the view itself", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
  });

  it("writes the planned file, reads it again and hands it over", async () => {
    await page.click("[data-action='write']");
    await page.waitForSelector(".lab-written a[download]", { timeout: 20_000 });
    const text = await textOf(page, ".lab-written");
    assert.match(text, /204 kB became [\d.]+ kB/);
    assert.match(text, /4 of 4 tensors read again/);
    const { name, address } = await page.$eval(".lab-written a[download]", (link) => ({
      name: link.download,
      address: link.href,
    }));
    assert.equal(name, "digits.safetensors");
    assert.match(address, /^blob:/);
  });

  it("keeps pins and the budget in the link, which opens the same plan again", async () => {
    const budget = await textOf(page, ".budget-text");
    const hash = await page.evaluate(() => location.hash);
    const again = await openLab(hash);
    await waitForPlan(again.page);
    assert.equal(await textOf(again.page, ".budget-text"), budget);
    await again.close();
  });

  it("has caused no error", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

describe("The Model Lab's other files", () => {
  it("opens GGUF and ONNX", async () => {
    const visit = await openLab();
    for (const name of ["digits.gguf", "digits.onnx"]) {
      await visit.page.click(`[data-sample="${name}"]`);
      await visit.page.waitForFunction(
        (file) =>
          document.querySelector(".lab-name")?.textContent === file &&
          document.querySelector(".lab.is-analyzed.is-planned"),
        {},
        name,
      );
    }
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("says where a damaged file breaks its format", async () => {
    const bytes = readFileSync(join(root, "build", "cost", "digits.safetensors"));
    const path = join(tmpdir(), `zeropoint-lab-${process.pid}.safetensors`);
    writeFileSync(path, bytes.subarray(0, bytes.length - 100));
    const visit = await openLab();
    await openFile(visit.page, path);
    await visit.page.waitForSelector(".lab-problem:not([hidden])");
    const text = await textOf(visit.page, ".lab-problem");
    assert.match(text, /byte [\d,]+: expected .+, found .+/);
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("fits a screen of 320 pixels and the dark theme", async () => {
    const visit = await openLab("#lab?sample=digits.safetensors", {
      viewport: { width: 320, height: 700 },
      // Firefox offers tests no way to emulate a setting.
      ...(browserName === "chromium" && { colorScheme: "dark" }),
    });
    await waitForPlan(visit.page);
    const width = await visit.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 320, String(width));
    if (!onceForAll.skip) {
      assert.deepEqual(await axeViolations(visit.page, RULES_OF_COLOUR), []);
    }
    await visit.close();
  });
});
