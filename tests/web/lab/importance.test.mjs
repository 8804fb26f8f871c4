// An importance matrix by drop: errors of outputs, and GGUF files that are rounded by it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dequantizeBlocks, init, quantizeBlocks } from "zeropoint";
import { openModel } from "zeropoint/models";
import { root } from "../../../scripts/process/run.mjs";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../internal/formats.mjs";
import { collect } from "../../js/support/files/formats.mjs";
import { fromPage } from "../from-page.mjs";
import { textOf, waitFor } from "../page.mjs";
import { addInputs, openLab, shownCells, waitForPlan } from "./pages.mjs";

const { metricText } = await fromPage("lab/format.js");

const WEIGHT = "blk.3.ffn_down.weight";
const COLUMNS = 256;
const COUNT = 4;
/** Mean squares of the inputs of all weights. */
const MEANS = Float32Array.from({ length: COLUMNS }, (_, i) => 0.25 + (i % 9) ** 2);

const folder = mkdtempSync(join(tmpdir(), "zeropoint-lab-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let model;
let matrix;

before(async () => {
  await init();
  model = await openModel(join(root, "build", "cost", "digits-deep.gguf"));
  const part = (name, shape, values) => ({
    ...{ name, shape, dtype: "float32", bytes: () => [new Uint8Array(values.buffer)] },
  });
  const weights = [...model.tensors.values()].filter(({ shape }) => shape.length === 2);
  const tensors = weights.flatMap(({ name }) => [
    part(
      `${name}.in_sum2`,
      [1, COLUMNS],
      MEANS.map((mean) => COUNT * mean),
    ),
    part(`${name}.counts`, [1, 1], Float32Array.of(COUNT)),
  ]);
  const keys = [
    ["general.type", ggufEntry("string", "imatrix")],
    ["imatrix.datasets", ggufEntry("array", ["text"], "string")],
    ["imatrix.chunk_count", ggufEntry("uint32", 1)],
    ["imatrix.chunk_size", ggufEntry("uint32", 64)],
  ];
  matrix = Buffer.from(await collect(writeGGUF(layoutGGUF(tensors, keys, "test"))));
  writeFileSync(join(folder, "own.gguf"), matrix);
});
after(() => model?.close());

/** SQNR of the outputs of rows and of their blocks, for uncorrelated inputs of the mean squares. */
async function outputSqnr(name, type) {
  const { data, shape } = await model.read(name);
  const restored = dequantizeBlocks(quantizeBlocks({ data, shape }, type), type, shape).data;
  let signal = 0;
  let noise = 0;
  for (const [i, value] of data.entries()) {
    signal += MEANS[i % COLUMNS] * value ** 2;
    noise += MEANS[i % COLUMNS] * (value - restored[i]) ** 2;
  }
  return 10 * Math.log10(signal / noise);
}

const showCommands = async (page) => {
  await page.$eval("[data-report='command']", (button) => button.click());
  return await textOf(page, ".lab-command");
};

describe("An importance matrix in the Model Lab", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openLab("#lab?sample=digits-deep.gguf");
    page = visit.page;
    await waitForPlan(page);
    // Beside the box of inputs: it is no other model.
    await page.evaluate((base64) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], "own.gguf"));
      const options = { dataTransfer, bubbles: true, cancelable: true };
      document.querySelector(".lab").dispatchEvent(new DragEvent("drop", options));
    }, matrix.toString("base64"));
    await waitFor(page, () =>
      document.querySelector(".lab-inputs-list").textContent.includes("own.gguf"),
    );
    await waitForPlan(page);
  });
  after(() => visit?.close());

  it("is dropped anywhere, for the model that is open", async () => {
    assert.equal(await textOf(page, ".lab-name"), "digits-deep.gguf");
    assert.match(
      await textOf(page, ".lab-inputs-list"),
      /^own\.gguf: importance of the inputs of 25 weights.*the table has errors of rounding without it$/,
    );
  });

  it("gives the errors of outputs for uncorrelated inputs of its mean squares", async () => {
    const cells = new Map(await shownCells(page));
    for (const type of ["q8_0", "q4_0"]) {
      const expected = metricText("sqnr", await outputSqnr(WEIGHT, type));
      assert.equal(cells.get(`${WEIGHT} ${type}`), `≈ → ${expected}`);
    }
    const cut = await page.$$eval(".layer-body .is-planned", (all) => {
      const isCut = (cell) =>
        cell.firstChild.getBoundingClientRect().left < cell.getBoundingClientRect().left;
      return [all.length > 0, all.filter(isCut).map(({ textContent }) => textContent)];
    });
    assert.deepEqual(cut, [true, []]);
    assert.match(
      await textOf(page, ".budget-text"),
      /≈ [\d.]+ dB in outputs, .* as if the inputs of a layer were uncorrelated/,
    );
  });

  it("rounds the file that is written", async () => {
    await page.waitForSelector("[data-action='write']:not(:disabled)");
    await page.$eval("[data-action='write']", (button) => {
      const create = URL.createObjectURL;
      URL.createObjectURL = (given) => {
        window.lastFile = given;
        return create.call(URL, given);
      };
      button.click();
    });
    await page.waitForSelector(".lab-written a[download]", { timeout: 60_000 });
    const base64 = await page.evaluate(async () => {
      const bytes = new Uint8Array(await window.lastFile.arrayBuffer());
      return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    });
    const written = await openModel(new Uint8Array(Buffer.from(base64, "base64")));
    assert.equal(written.metadata.get("quantize.imatrix.file"), "own.gguf");
    let differing = 0;
    for (const { name, dtype, shape } of written.tensors.values()) {
      if (!/^q\d/.test(dtype)) continue;
      const { data } = await model.read(name);
      const x = { data, shape };
      const importance = { data: MEANS, shape: [COLUMNS] };
      const bytes = await written.readBytes(name);
      assert.deepEqual(bytes, quantizeBlocks(x, dtype, { importance }), name);
      if (Buffer.compare(bytes, quantizeBlocks(x, dtype)) !== 0) differing++;
    }
    await written.close();
    assert.ok(differing > 0, "no tensor is rounded by the importance");
  });

  it("is named in the commands", async () => {
    const commands = await showCommands(page);
    assert.match(commands, /--plan plan\.json --imatrix own\.gguf -o /);
    assert.match(commands, /^# The lab takes own\.gguf as inputs, too/);
  });

  it("is removed with the inputs", async () => {
    await page.$eval("[data-action='remove-inputs']", (button) => button.click());
    await waitFor(page, () =>
      /^Shown: errors of the weights/.test(document.querySelector(".lab-shows").textContent),
    );
    await waitForPlan(page);
    assert.doesNotMatch(await textOf(page, ".lab-command"), /imatrix|own\.gguf/);
    assert.deepEqual(await visit.problems(), []);
  });

  it("is refused beside a model that is no GGUF file", async () => {
    const other = await openLab("#lab?sample=digits.safetensors");
    await waitForPlan(other.page);
    await addInputs(other.page, join(folder, "own.gguf"));
    await waitFor(other.page, () =>
      /own\.gguf: not used, an importance matrix is for GGUF files/.test(
        document.querySelector(".lab-inputs-list").textContent,
      ),
    );
    await other.close();
  });
});
