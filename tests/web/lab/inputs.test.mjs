// Inputs by drop: of layers, whose cells then show the errors of outputs, and of an ONNX model, which is run on them.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
import { root } from "../../../scripts/process/run.mjs";
import { writeNpy, writeNpz } from "../../internal/formats.mjs";
import { Random } from "../../js/support/asserts.mjs";
import { collect } from "../../js/support/files/formats.mjs";
import { axeViolations, onceForAll } from "../axe.mjs";
import { fromPage } from "../from-page.mjs";
import { press, textOf, waitFor } from "../page.mjs";
import { addInputs, focusTable, openLab, shownCells, waitForPlan } from "./pages.mjs";

const { metricText } = await fromPage("lab/format.js");

const folder = mkdtempSync(join(tmpdir(), "zeropoint-lab-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const arrayOf = (name, shape, values, dtype = "float32") => ({
  ...{ name, shape, dtype, byteLength: values.byteLength },
  bytes: () => [new Uint8Array(values.buffer)],
});

async function npyFile(name, ...array) {
  const path = join(folder, name);
  writeFileSync(path, await collect(writeNpy(arrayOf("array", ...array))));
  return path;
}

async function npzFile(name, ...arrays) {
  const path = join(folder, name);
  writeFileSync(path, await collect(writeNpz(arrays)));
  return path;
}

const random = new Random(11);
const INPUTS = {
  "fc1.weight": { data: random.normal(32 * 784).map(Math.abs), shape: [32, 784] },
  "fc2.weight": { data: random.normal(16 * 64), shape: [16, 64] },
};

/** The expected texts of all cells. */
async function expectedCells(activations) {
  await init();
  const model = await openModel(join(root, "build", "cost", "digits.safetensors"));
  const cells = new Map();
  for await (const row of analyze(model, { activations })) {
    if (row.scheme === "keep") continue;
    const isOutput = row.shows === "outputs";
    const text = metricText("sqnr", isOutput ? row.outputSqnr : row.sqnr);
    // More than 512 inputs: the error of outputs is from their mean squares.
    const mark = row.moments === "diagonal" ? "≈ " : "";
    cells.set(`${row.name} ${row.scheme}`, isOutput ? `${mark}→ ${text}` : text);
  }
  await model.close();
  return cells;
}

const filledCells = async (page) =>
  new Map((await shownCells(page)).filter(([, text]) => text !== "·"));

/** Waits for a line of the list of inputs, and for the analysis that follows. */
async function waitForInput(page, text) {
  await waitFor(
    page,
    (wanted) => document.querySelector(".lab-inputs-list").textContent.includes(wanted),
    text,
  );
  await waitForPlan(page);
}

describe("Inputs of layers in the Model Lab", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openLab();
    page = visit.page;
    await page.click('[data-sample="digits.safetensors"]');
    await waitForPlan(page);
  });
  after(() => visit?.close());

  it("show the errors of the outputs of their layer, as the package computes them", async () => {
    const { data, shape } = INPUTS["fc1.weight"];
    await addInputs(page, await npyFile("fc1.weight.npy", shape, data));
    await waitForInput(page, "fc1.weight 32 × 784: inputs of fc1.weight");
    const activations = { "fc1.weight": INPUTS["fc1.weight"] };
    assert.deepEqual(await filledCells(page), await expectedCells(activations));
  });

  it("are said beside the table, layer for layer", async () => {
    assert.equal(
      await textOf(page, ".lab-shows"),
      "Shown: errors of the outputs of 1 layer, errors of the weights of 1 layer; outputs of 1 layer " +
        "estimated as if the inputs were uncorrelated.",
    );
    const label = await page.$eval(".layer-body .is-scheme", (cell) => cell.ariaLabel);
    assert.match(label, /: estimated output [\d.]+/);
    assert.match(await textOf(page, ".budget-text"), / dB in weights/);
  });

  it("are dropped as an npz, by the names of layers, and the plan is one of outputs", async () => {
    const { data, shape } = INPUTS["fc2.weight"];
    const path = await npzFile(
      "all.npz",
      arrayOf("fc2", shape, data),
      arrayOf("fc1.bias", [2, 64], new Float32Array(128)),
      arrayOf("else", shape, data),
    );
    await dropOn(page, ".lab-inputs", path);
    await waitForInput(page, "fc2 16 × 64: inputs of fc2.weight");
    await waitFor(page, () =>
      / dB in outputs/.test(document.querySelector(".budget-text").textContent),
    );
    assert.deepEqual(await filledCells(page), await expectedCells(INPUTS));
    const list = await textOf(page, ".lab-inputs-list");
    assert.match(list, /fc1\.bias 2 × 64: not used, fc1\.bias is kept as it is/);
    assert.match(list, /else 16 × 64: not used, no layer and no input of the model has this name/);
  });

  it("are in the details of a cell", async () => {
    await focusTable(page);
    for (let i = 0; i < 4; i++) await press(page, "ArrowRight");
    await waitFor(page, () => document.activeElement?.dataset.column === "4");
    const shown = await page.evaluate(() => document.activeElement.textContent);
    await press(page, "Enter");
    await page.waitForSelector(".lab-drawer[open] .detail-facts");
    const facts = await textOf(page, ".detail-facts");
    assert.ok(
      facts.startsWith(`SQNR of outputs${shown.replace(/^● /, "").replace("→ ", "")} dB`),
      `${facts}, ${shown}`,
    );
    assert.match(facts, /SQNR of weights/);
    await press(page, "Escape");
  });

  it("have nothing that axe finds", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
  });

  it("that do not fit are refused with the reason", async () => {
    await addInputs(page, await npyFile("fc2.npy", [4, 63], new Float32Array(4 * 63)));
    await waitFor(page, () =>
      /fc2 4 × 63: not used, .*must have 64 inputs, got 63/.test(
        document.querySelector(".lab-inputs-list").textContent,
      ),
    );
    assert.deepEqual(await filledCells(page), await expectedCells(INPUTS));
  });

  it("are removed by the keyboard, and the errors of weights come back", async () => {
    await page.focus("[data-action='remove-inputs']");
    await press(page, "Enter");
    await waitFor(page, () => {
      const { textContent } = document.querySelector(".lab-shows");
      return textContent === "Shown: errors of the weights of 2 layers; all exact.";
    });
    await waitForPlan(page);
    assert.deepEqual(await filledCells(page), await expectedCells({}));
    assert.equal(await textOf(page, ".lab-inputs-list"), "");
  });

  it("have caused no error", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

/** Drops a file on an element, as from a file manager. */
async function dropOn(page, selector, path) {
  await page.evaluate(() => {
    const input = document.createElement("input");
    input.type = "file";
    input.id = "carrier";
    document.body.append(input);
  });
  await (await page.$("#carrier")).uploadFile(path);
  await page.evaluate((target) => {
    const input = document.querySelector("#carrier");
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(input.files[0]);
    input.remove();
    const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector(target).dispatchEvent(event);
  }, selector);
}

describe("Inputs of an ONNX model in the Model Lab", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openLab();
    page = visit.page;
    await page.click('[data-sample="digits.onnx"]');
    await waitForPlan(page);
  });
  after(() => visit?.close());

  /** Writes the file with a run of both models. @returns what the lab says about it */
  async function writeAndRun() {
    const isChecked = await page.$eval("[name='runs']", ({ checked }) => checked);
    if (!isChecked) await page.click("[name='runs']");
    await page.click("[data-action='write']");
    // A link of an earlier writing is removed first.
    await waitFor(
      page,
      () =>
        document.querySelector(".lab-written a[download]") &&
        document.querySelector(".lab-write-progress").hidden,
    );
    return await textOf(page, ".lab-written");
  }

  it("are named with their types and shapes", async () => {
    assert.match(await textOf(page, ".lab-inputs-model"), /: image \(float32 batch × 784\)\.$/);
  });

  const largestDifference = (text) => Number(/largest difference ([\d.]+)/.exec(text)[1]);
  let random;

  it("are random by default", async () => {
    const text = await writeAndRun();
    random = largestDifference(text);
    assert.match(text, /model in ONNX Runtime Web, both on the same random inputs:/);
    assert.match(text, /largest difference [\d.e-]+, [\d.]+ dB/);
  });

  it("are used as they were dropped, in the type that the model takes", async () => {
    // Nothing times the weights of the first layer is nothing: only the small one of the second layer is off.
    const zeros = new Float64Array(3 * 784);
    await addInputs(page, await npyFile("image.npy", [3, 784], zeros, "float64"));
    await waitForInput(page, "image 3 × 784: input of the model");
    const text = await writeAndRun();
    assert.match(text, /both on the inputs that you added \(image\):/);
    assert.ok(largestDifference(text) < random / 5, `${text}, ${random}`);
  });

  it("have caused no error", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

describe("The samples of 25 layers", () => {
  for (const name of ["digits-deep.gguf", "digits-deep.onnx"]) {
    it(`have inputs of all layers, and ${name} is planned by errors of outputs`, async () => {
      const visit = await openLab(`#lab?sample=${name}`);
      const { page } = visit;
      await waitForPlan(page);
      assert.match(
        await textOf(page, ".lab-inputs-list"),
        /^digits-deep-layers\.npz: inputs of 25 layers: errors of their outputs are shown/,
      );
      assert.equal(
        await textOf(page, ".lab-shows"),
        "Shown: errors of the outputs of 25 layers; all exact.",
      );
      assert.match(await textOf(page, ".budget-text"), / dB in outputs/);
      const isWarned = () => page.$eval(".lab-by-weights", ({ hidden }) => !hidden);
      assert.equal(await isWarned(), false);
      await page.$eval("[data-action='remove-inputs']", (button) => button.click());
      await waitFor(page, () =>
        / dB in weights/.test(document.querySelector(".budget-text").textContent),
      );
      assert.equal(await isWarned(), true);
      assert.deepEqual(await visit.problems(), []);
      await visit.close();
    });
  }
});
