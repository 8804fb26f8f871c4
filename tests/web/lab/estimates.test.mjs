// Estimates from a sample, which exact figures replace; pause, continue and stop.

import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
import { Random } from "../../js/support/asserts.mjs";
import { axeViolations, onceForAll } from "../axe.mjs";
import { fromPage } from "../from-page.mjs";
import { bringIntoView, click, press, textOf, waitFor } from "../page.mjs";
import { LAB, openFile, openLab, shownCells, waitForPlan } from "./pages.mjs";

const { metricText } = await fromPage("lab/format.js");

const SMALL = [256, 512];
/** 1 GiB of bfloat16: its exact analysis takes minutes, longer than the tests before it is stopped. */
const LARGE = [65536, 8192];

/** A file of a small weight, and of a large one, all zeros, that takes no room on the disk. */
function writeSparse(path) {
  const values = new Random(3).normal(SMALL[0] * SMALL[1]);
  const small = 4 * values.length;
  const large = 2 * LARGE[0] * LARGE[1];
  const header = {
    "a.weight": { dtype: "F32", shape: SMALL, data_offsets: [0, small] },
    "b.weight": { dtype: "BF16", shape: LARGE, data_offsets: [small, small + large] },
  };
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeUInt32LE(json.length);
  const file = openSync(path, "w");
  for (const part of [length, json, Buffer.from(values.buffer)]) writeSync(file, part);
  closeSync(file);
  truncateSync(path, 8 + json.length + small + large);
}

/** The expected texts of a layer's cells. */
async function expectedCells(path, name, sample) {
  await init();
  const model = await openModel(path);
  const cells = [];
  for await (const row of analyze(model, { include: [name], ...(sample && { sample }) })) {
    const text = metricText("sqnr", row.sqnr);
    cells.push([`${name} ${row.scheme}`, row.isEstimate ? `≈ ${text}` : text]);
  }
  await model.close();
  return new Map(cells);
}

/** The cells of a layer on the page that hold a figure. */
const cellsOf = async (page, name) =>
  new Map(
    (await shownCells(page)).filter(([key, text]) => key.startsWith(`${name} `) && text !== "·"),
  );

const waitForCells = (page, name, isEstimate) =>
  waitFor(
    page,
    (layer, wanted) =>
      Array.from(document.querySelectorAll(".layer-body .layer-row")).some(
        (row) =>
          row.querySelector(".is-name").textContent === layer &&
          row.querySelectorAll(".is-scheme:not(.is-empty)").length > 0 &&
          (row.querySelector(".is-estimate") !== null) === wanted,
      ),
    name,
    isEstimate,
  );

const barValue = (page) => page.$eval(".lab-progress progress", ({ value }) => value);

/** Names of the files that the lab has in the private file system. */
const keptFiles = (page) =>
  page.evaluate(async () => {
    const names = [];
    const list = async (folder) => {
      for await (const [name, entry] of folder.entries()) {
        if (entry.kind === "directory") await list(entry);
        else names.push(name);
      }
    };
    await list(await navigator.storage.getDirectory());
    return names;
  });

/** Opens and closes the details of a layer's cell: the worker has answered a call in between. */
async function lookAtDetails(page) {
  await page.focus('.layer-body [tabindex="0"]');
  await press(page, "Enter");
  await page.waitForSelector(".lab-drawer[open] .detail-facts");
  await press(page, "Escape");
  await page.waitForSelector(".lab-drawer:not([open])");
}

describe("The Model Lab with a large file", () => {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-lab-"));
  const path = join(folder, "sparse.safetensors");
  let visit;
  let page;
  before(async () => {
    writeSparse(path);
    visit = await openLab();
    page = visit.page;
    await openFile(page, path);
  });
  after(async () => {
    await visit?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("shows estimates of all layers from a sample, marked as such", async () => {
    await waitForCells(page, "b.weight", true);
    assert.deepEqual(
      await cellsOf(page, "b.weight"),
      await expectedCells(path, "b.weight", 2 ** 15),
    );
    const label = await page.$eval(".layer-body .is-estimate", (cell) => cell.ariaLabel);
    assert.match(label, /^int8-channel: estimated |^int\w+-\w+: estimated /);
  });

  it("makes a plan from them, marked as such", async () => {
    await page.waitForSelector(`${LAB}.is-planned .budget-text:not(:empty)`);
    assert.match(
      await textOf(page, ".budget-text"),
      /, ≈ [\d.]+ dB in weights, estimated from samples of the layers$/,
    );
    assert.equal(await page.$(`${LAB}.is-analyzed`), null);
  });

  it("replaces them by exact figures, layer by layer", async () => {
    await waitForCells(page, "a.weight", false);
    assert.deepEqual(await cellsOf(page, "a.weight"), await expectedCells(path, "a.weight"));
    assert.match(
      await textOf(page, ".lab-shows"),
      /of 2 layers; 1 of them estimated from samples of their weights\.$/,
    );
  });

  it("shows the progress with the time left", async () => {
    await waitFor(page, () =>
      /^[\d.]+ [kMG]B of 1\.1 GB, .+ left · b\.weight$/.test(
        document.querySelector(".lab-progress-text").textContent,
      ),
    );
  });

  it("pauses by its button, and still shows details", async () => {
    await page.focus(`${LAB} .lab-progress [data-action='pause']`);
    await press(page, "Enter");
    await waitFor(page, () =>
      document.querySelector(".lab-progress-text").textContent.startsWith("Paused: "),
    );
    // The first answer of the worker follows its last progress.
    await lookAtDetails(page);
    const value = await barValue(page);
    for (let i = 0; i < 10; i++) await lookAtDetails(page);
    assert.equal(await barValue(page), value);
    assert.equal(await textOf(page, "[data-action='pause']"), "Continue");
  });

  it("has nothing that axe finds while it is paused", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
  });

  it("continues by the same button", async () => {
    const value = await barValue(page);
    await page.focus(`${LAB} .lab-progress [data-action='pause']`);
    await press(page, "Enter");
    await waitFor(
      page,
      (paused) => document.querySelector(".lab-progress progress").value > paused,
      value,
    );
    assert.equal(await textOf(page, "[data-action='pause']"), "Pause");
  });

  it("stops, also while it is paused, and keeps what it has", async () => {
    await page.focus(`${LAB} .lab-progress [data-action='pause']`);
    await press(page, "Enter");
    await page.focus(`${LAB} .lab-progress [data-action='stop']`);
    await press(page, "Enter");
    await waitFor(page, () => document.querySelector(".lab-status").textContent === "Stopped.");
    await waitForCells(page, "b.weight", true);
    // The focus goes on to what can be done next.
    await waitFor(page, () => document.activeElement?.dataset.action === "analyze");
  });

  it("writes by a plan of estimates, and keeps nothing of a file whose writing is stopped", async () => {
    await page.focus("[data-action='write']");
    await press(page, "Enter");
    // Of a plan with one scale for a tensor, which takes its range first, the file is read twice.
    await waitFor(page, () =>
      / of [12]\.1 GB/.test(
        document.querySelector(".lab-write-progress .lab-progress-text").textContent,
      ),
    );
    assert.ok((await keptFiles(page)).length > 0);
    await page.focus(".lab-write-progress [data-action='stop']");
    await press(page, "Enter");
    await waitFor(
      page,
      () => document.querySelector(".lab-written").textContent === "Stopped: nothing was kept.",
    );
    await waitFor(page, () => document.activeElement?.dataset.action === "write");
    while ((await keptFiles(page)).length > 0) await new Promise((done) => setTimeout(done, 200));
  });

  it("starts again, and opens another file instead", async () => {
    await page.focus("[data-action='analyze']");
    await press(page, "Enter");
    await waitForCells(page, "b.weight", true);
    await bringIntoView(page, '[data-sample="digits.safetensors"]');
    await click(page, '[data-sample="digits.safetensors"]');
    await waitForPlan(page);
    assert.match(await textOf(page, ".lab-shows"), /of 2 layers; all exact\.$/);
    assert.equal(await page.$(".is-estimate"), null);
  });

  it("has caused no error", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});
