// Quantized files in the Model Lab: their tensors and values, two files beside each other, files by address and by
// folder, mixes of GGUF, and accuracy on the inputs of a sample.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import { compare, openModel, quantizeModel } from "zeropoint/models";
import { root } from "../../../scripts/process/run.mjs";
import { collect } from "../../js/support/files/formats.mjs";
import { constant, onnxModel } from "../../js/support/onnx/models.mjs";
import { safetensors } from "../../js/support/processes/cli.mjs";
import { axeViolations, onceForAll } from "../axe.mjs";
import { fromPage } from "../from-page.mjs";
import { press, textOf, waitFor } from "../page.mjs";
import { openFile, openLab, waitForPlan } from "./pages.mjs";

const { metricText } = await fromPage("lab/format.js");
const { bytesText } = await fromPage("shell/drawing/numbers.js");

const folder = mkdtempSync(join(tmpdir(), "zeropoint-lab-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const ORIGINAL = join(root, "build", "cost", "digits-deep.gguf");
const QUANTIZED = join(folder, "digits-Q4_K_M.gguf");

before(async () => {
  await init();
  const model = await openModel(ORIGINAL);
  const { files } = await quantizeModel(model, "Q4_K_M");
  writeFileSync(QUANTIZED, await collect(files[0].stream()));
  await model.close();
});

const rowsOf = (page, selector) =>
  page.$$eval(`${selector} tbody tr`, (rows) =>
    rows.map((row) => Array.from(row.cells, ({ textContent }) => textContent)),
  );

const waitForComparison = (page) => page.waitForSelector(".compare-result tbody tr");

describe("A quantized file in the Model Lab", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openLab();
    page = visit.page;
    await openFile(page, QUANTIZED);
    await page.waitForSelector(".lab.is-analyzed");
  });
  after(() => visit?.close());

  it("shows its tensors with types, shapes, bits and bytes", async () => {
    await page.$eval(".lab-tensors summary", (summary) => summary.click());
    await page.waitForSelector(".lab-tensors tbody tr");
    const rows = await rowsOf(page, ".lab-tensors");
    assert.equal(rows.length, 58);
    const output = rows.find(([name]) => name === "output.weight");
    assert.deepEqual(output, ["output.weight", "q6_k", "6.56", "2.1 kB", "10 × 256"]);
    assert.match(await textOf(page, ".lab-metadata"), /general\.architecture/);
  });

  it("filters them by name", async () => {
    await page.focus(".lab-tensors input");
    await page.keyboard.type("OUTPUT");
    await waitFor(page, () => document.querySelectorAll(".lab-tensors tbody tr").length === 2);
  });

  it("draws the dequantized values of any tensor, by keyboard", async () => {
    await page.focus(".lab-tensors tbody button");
    await press(page, "Enter");
    await page.waitForSelector(".lab-drawer[open] svg");
    assert.match(await textOf(page, ".lab-drawer .detail"), /^From -[\d.]+ to [\d.]+, dequantized/);
  });

  it("has no violations of accessibility rules", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
    await press(page, "Escape");
    await page.waitForSelector(".lab-drawer:not([open])");
    assert.deepEqual(await axeViolations(page), []);
  });

  it("shows no table of errors where nothing is to be quantized", async () => {
    assert.match(await textOf(page, ".lab-status"), /no layer to quantize/);
    assert.equal(await page.$eval(".lab-table", (table) => table.checkVisibility()), false);
  });
});

describe("Two files in the Model Lab", () => {
  it("are compared tensor by tensor, as by the package, with a report", async () => {
    const visit = await openLab();
    const { page } = visit;
    await openFile(page, ORIGINAL, QUANTIZED);
    await waitForComparison(page);
    const [a, b] = await Promise.all([ORIGINAL, QUANTIZED].map((path) => openModel(path)));
    const expected = new Map();
    for await (const { name, equal, sqnr } of compare(a, b)) {
      expected.set(name, equal ? "equal" : metricText("sqnr", sqnr));
    }
    await Promise.all([a.close(), b.close()]);
    const rows = await rowsOf(page, ".compare-result");
    assert.deepEqual(new Map(rows.map((cells) => [cells[0], cells[1]])), expected);
    assert.match(await textOf(page, ".compare-result p"), /58 tensors: 33 equal, 25 different/);
    const report = await page.evaluate(async () => {
      const create = URL.createObjectURL;
      let blob;
      URL.createObjectURL = (given) => {
        blob = given;
        return create.call(URL, given);
      };
      document.querySelector("[data-compared='csv']").click();
      URL.createObjectURL = create;
      return await blob.text();
    });
    assert.match(report, /^name,shape,from,to,equal,parameters,mse,max,sqnr,cosine,reason\r\n/);
    assert.equal(report.trimEnd().split("\r\n").length, 59);
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("are compared by a link, across formats", async () => {
    const visit = await openLab("#lab?sample=digits-deep.gguf&beside=digits-deep.onnx");
    await waitForComparison(visit.page);
    assert.match(await textOf(visit.page, ".compare-result p"), /58 equal, 0 different/);
    await waitForPlan(visit.page);
    assert.match(await visit.page.evaluate(() => location.hash), /&beside=digits-deep\.onnx/);
    await visit.close();
  });

  it("are compared when the second one is chosen later; what is no model is refused", async () => {
    const visit = await openLab("#lab?sample=digits-deep.gguf");
    const { page } = visit;
    await waitForPlan(page);
    const choose = async (path) => (await page.$(".lab-compare input")).uploadFile(path);
    const text = join(folder, "notes.gguf");
    writeFileSync(text, "not a model");
    await choose(text);
    await page.waitForSelector(".compare-result .cell-error");
    assert.match(await textOf(page, ".compare-result"), /^The files cannot be compared: /);
    await choose(QUANTIZED);
    await waitForComparison(page);
    await visit.close();
  });
});

describe("Files that are no file of the input", () => {
  const name = readdirSync(join(root, "dist", "web", "assets")).find((file) =>
    /^digits-deep.*\.gguf$/.test(file),
  );

  it("are opened by an address of the site, which the link has", async () => {
    const visit = await openLab();
    const { page } = visit;
    await page.focus("[name='address']");
    await page.keyboard.type(`assets/${name}`);
    await press(page, "Enter");
    await waitForPlan(page);
    assert.equal(await textOf(page, ".lab-name"), name);
    await waitFor(page, () => /file=assets/.test(location.hash));
    await visit.close();
  });

  it("are not fetched from other sites, and the page says what to do", async () => {
    const visit = await openLab("#lab?file=https%3A%2F%2Fexample.org%2Fmodel.gguf");
    await visit.page.waitForSelector(".lab-problem:not([hidden])");
    assert.match(
      await textOf(visit.page, ".lab-problem"),
      /nothing from other sites, such as https:\/\/example\.org: download the file, then drop it/,
    );
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("are found in a folder that is dropped", async () => {
    const visit = await openLab();
    const { page } = visit;
    const bytes = readFileSync(QUANTIZED).toString("base64");
    await page.evaluate(async (text) => {
      const content = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const file = new File([content], "inside.gguf");
      const other = new File([new Uint8Array(5_000_000)], "photo.jpeg");
      let rest = [other, file].map((each) => ({
        isFile: true,
        file: (resolve) => resolve(each),
      }));
      const entry = {
        isDirectory: true,
        createReader: () => ({
          readEntries(resolve) {
            resolve(rest);
            rest = [];
          },
        }),
      };
      const event = new DragEvent("drop", { bubbles: true, cancelable: true });
      const dataTransfer = {
        types: ["Files"],
        files: [new File([], "folder")],
        items: [{ webkitGetAsEntry: () => entry }],
      };
      Object.defineProperty(event, "dataTransfer", { value: dataTransfer });
      document.querySelector(".lab").dispatchEvent(event);
    }, bytes);
    await page.waitForSelector(".lab.is-open");
    assert.equal(await textOf(page, ".lab-name"), "inside.gguf");
    // Without what else is in the folder.
    const { size } = statSync(QUANTIZED);
    assert.ok((await textOf(page, ".lab-file")).includes(bytesText(size)));
    await visit.close();
  });
});

describe("A model with external data in the Model Lab", () => {
  it("has the size of its data, too", async () => {
    const values = new Float32Array(64 * 256).map((_, i) => Math.sin(i));
    const place = { location: "weights.bin", offset: 0, length: values.byteLength };
    const bytes = await onnxModel({
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [{ ...constant("w", [64, 256], values), place }],
      inputs: [{ name: "x", shape: ["batch", 64] }],
      outputs: [{ name: "y", shape: ["batch", 256] }],
    });
    const paths = ["outside.onnx", "weights.bin"].map((name) => join(folder, name));
    writeFileSync(paths[0], bytes);
    writeFileSync(paths[1], new Uint8Array(values.buffer));
    const visit = await openLab();
    await openFile(visit.page, ...paths);
    await visit.page.waitForSelector(".lab.is-open");
    assert.match(await textOf(visit.page, ".lab-file"), /65\.5 kB/);
    await visit.close();
  });
});

describe("Files of which the Model Lab opens one", () => {
  it("are named where they are missing", async () => {
    const bytes = await safetensors({ w: { shape: [2, 32], values: new Float32Array(64) } });
    const path = join(folder, "model-00002-of-00006.safetensors");
    writeFileSync(path, bytes);
    const visit = await openLab();
    await openFile(visit.page, path);
    await visit.page.waitForSelector(".lab.is-open");
    assert.equal(
      await textOf(visit.page, ".lab-missing"),
      "File 2 of 6 of a model, opened alone. Missing: model-00001-of-00006.safetensors, model-00003-of-00006.safetensors, …, model.safetensors.index.json. Open all files together, or drop their folder.",
    );
    await visit.close();
  });

  it("can each be chosen of several models", async () => {
    const names = ["a.safetensors", "b.safetensors", "c.safetensors"];
    const paths = [];
    for (const [i, name] of names.entries()) {
      const values = new Float32Array(64 * (i + 1));
      paths.push(join(folder, name));
      writeFileSync(paths[i], await safetensors({ w: { shape: [2 * (i + 1), 32], values } }));
    }
    const visit = await openLab();
    const { page } = visit;
    await openFile(page, ...paths);
    const waitForName = (name) =>
      waitFor(page, (wanted) => document.querySelector(".lab-name")?.textContent === wanted, name);
    const others = () =>
      page.$$eval(".lab-others button", (all) => all.map(({ textContent }) => textContent));
    await waitForName(names[0]);
    assert.match(await textOf(page, ".lab-others"), /^Opened of 3 files\. Another one:/);
    assert.deepEqual(await others(), names.slice(1));
    await page.$eval(".lab-others button:last-child", (button) => button.click());
    await waitForName(names[2]);
    assert.match(await textOf(page, ".lab-facts"), /192 parameters/);
    assert.deepEqual(await others(), names.slice(0, 2));
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("are said to be missing before anything is read of them", async () => {
    const values = new Float32Array(64 * 256);
    const place = { location: "away.bin", offset: 0, length: values.byteLength };
    const path = join(folder, "alone.onnx");
    const model = await onnxModel({
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [{ ...constant("w", [64, 256], values), place }],
      inputs: [{ name: "x", shape: ["batch", 64] }],
      outputs: [{ name: "y", shape: ["batch", 256] }],
    });
    writeFileSync(path, model);
    const visit = await openLab();
    await openFile(visit.page, path);
    await visit.page.waitForSelector(".lab-problem:not([hidden])");
    assert.match(
      await textOf(visit.page, ".lab-problem"),
      /this file needs away\.bin beside it: drop them together, or their folder/,
    );
    await visit.close();
  });
});

describe("The samples of 25 layers in the Model Lab", () => {
  it("show llama-quantize's mixes beside the frontier, in bits per value", async () => {
    const visit = await openLab("#lab?sample=digits-deep.gguf");
    const { page } = visit;
    await waitForPlan(page);
    await waitFor(page, () => /Q4_K_M/.test(document.querySelector(".frontier-table").textContent));
    const rows = await rowsOf(page, ".frontier-table");
    const mixes = rows.filter(([scheme]) => /^Q\d_/.test(scheme));
    const bits = Object.fromEntries(mixes.map(([scheme, , text]) => [scheme, Number(text)]));
    assert.ok(bits.Q4_K_M > 4.5 && bits.Q4_K_M < bits.Q8_0, JSON.stringify(bits));
    assert.equal(
      await page.$$eval(".frontier-uniform.is-preset", (all) => all.length),
      mixes.length,
    );
    assert.equal(await page.$eval(".lab-mixes", ({ hidden }) => hidden), false);
    await visit.close();
  });

  it("are planned as a mix that is chosen, by its square or in the table, until the slider moves", async () => {
    const visit = await openLab("#lab?sample=digits-deep.gguf");
    const { page } = visit;
    await waitForPlan(page);
    const names = await page.$$eval(".frontier-table tbody button", (all) =>
      all.map(({ textContent }) => textContent),
    );
    assert.ok(names.includes("Q4_K_M") && !names.includes("q4_k"), names.join());
    const waitForMix = (name) =>
      waitFor(
        page,
        (mix) => document.querySelector(".budget-text").textContent.startsWith(mix),
        `${name}, llama.cpp's mix: `,
      );
    await page.$eval(".frontier-uniform[data-preset='Q4_K_M'] text", (label) =>
      label.dispatchEvent(new MouseEvent("click", { bubbles: true })),
    );
    await waitForMix("Q4_K_M");
    assert.match(
      await textOf(page, ".budget-text"),
      /: [\d.]+ kB \(\d+ % of [\d.]+ kB\), [\d.]+ dB in outputs, [456]\.\d\d bits per value$/,
    );
    const cell = await page.$eval(".layer-body .is-plan", ({ title }) => title);
    assert.equal(cell, "By the mix Q4_K_M.");
    await waitFor(page, () => /preset=Q4_K_M/.test(location.hash));
    const again = await openLab(await page.evaluate(() => location.hash));
    await waitForPlan(again.page);
    await waitFor(again.page, () =>
      /^Q4_K_M, /.test(document.querySelector(".budget-text").textContent),
    );
    await again.close();
    await page.$eval(".frontier-table", (table) => {
      table.open = true;
    });
    await page.focus(".frontier-table tbody tr:last-child button");
    await press(page, "Enter");
    await waitForMix(names.at(-1));
    await page.focus(".budget input");
    await press(page, "ArrowLeft");
    await waitFor(
      page,
      () =>
        !/mix/.test(document.querySelector(".budget-text").textContent) &&
        !/preset/.test(location.hash),
    );
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("have the slider on the axis of the chart", async () => {
    const visit = await openLab("#lab?sample=digits-deep.gguf");
    const { page } = visit;
    await waitForPlan(page);
    const far = await page.evaluate(() => {
      const slider = document.querySelector(".budget input");
      const { left, width } = slider.getBoundingClientRect();
      const share = (slider.value - slider.min) / (slider.max - slider.min);
      const thumb = left + 8 + share * (width - 16);
      const marker = document.querySelector(".frontier-current").getBoundingClientRect();
      return Math.abs(thumb - (marker.left + marker.width / 2));
    });
    assert.ok(far < 4, `${far} pixels`);
    await visit.close();
  });

  it("say how many answers stay right", async () => {
    const visit = await openLab("#lab?sample=digits-deep.onnx&target=web");
    const { page } = visit;
    await waitForPlan(page);
    assert.equal(await page.$eval(".lab-mixes", ({ hidden }) => hidden), true);
    assert.match(await textOf(page, ".lab-inputs-list"), /image 1000 × 256: input of the model/);
    await page.waitForSelector("[data-action='write']:not(:disabled)");
    for (const selector of ["[name='runs']", "[data-action='write']"]) {
      await page.$eval(selector, (element) => element.click());
    }
    await page.waitForSelector(".lab-written a[download]", { timeout: 120_000 });
    const text = await textOf(page, ".lab-written");
    const [, before, after] = /right answers: ([\d.]+) % before, ([\d.]+) % quantized/.exec(text);
    assert.ok(before > 92 && after > 80, text);
    await visit.close();
  });
});
