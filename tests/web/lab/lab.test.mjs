// The Model Lab: opened, analyzed, planned, written and read again, with the figures of the package.

import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
import { root } from "../../../scripts/process/run.mjs";
import { writeNpy } from "../../internal/formats.mjs";
import { collect } from "../../js/support/files/formats.mjs";
import { modelOf } from "../../js/support/onnx/layers.mjs";
import { normals } from "../../js/support/onnx/models.mjs";
import { axeViolations, onceForAll, RULES_OF_COLOUR } from "../axe.mjs";
import { browserName } from "../browser.mjs";
import { fromPage } from "../from-page.mjs";
import { inWholeSuite, press, textOf, waitFor } from "../page.mjs";
import { addInputs, LAB, openFile, openLab, shownCells, waitForPlan } from "./pages.mjs";

const { metricText } = await fromPage("lab/format.js");

/** The row of a layer in the table. */
const rowOf = (page, name) =>
  page.evaluateHandle(
    (layer) =>
      [...document.querySelectorAll(".layer-body .layer-row")].find(
        (row) => row.querySelector(".is-name").textContent === layer,
      ),
    name,
  );

/** Opens the details of a cell, which may be beyond the edge of the table. */
async function openDetails(page, name, cell) {
  // In one step: between two the table may be drawn again, and the cell be no part of it.
  await page.evaluate(
    (layer, selector) =>
      [...document.querySelectorAll(".layer-body .layer-row")]
        .find((row) => row.querySelector(".is-name").textContent === layer)
        .querySelector(selector)
        .click(),
    name,
    cell,
  );
  await page.waitForSelector(".lab-drawer[open] .detail-actions");
}

const planLabel = async (page, name) =>
  (await rowOf(page, name)).$eval(".is-plan", (cell) => cell.getAttribute("aria-label"));

/** Waits until the table shows a scheme as that of the plan. */
const waitForPlanned = (page, name, text) =>
  waitFor(
    page,
    (layer, wanted) =>
      [...document.querySelectorAll(".layer-body .layer-row")].some(
        (row) =>
          row.querySelector(".is-name").textContent === layer &&
          row.querySelector(".is-plan").textContent === wanted,
      ),
    name,
    text,
  );

/** Writes the file, and waits until it was read again. */
async function write(page) {
  await page.$eval(".lab-written", (element) => element.replaceChildren());
  await page.$eval("[data-action='write']", (button) => button.click());
  await page.waitForSelector(".lab-written p");
}

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
      "safetensors · 4 tensors · 50,890 parameters · float32 · 204 kB".replaceAll(" ·", "\u00a0·"),
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

  it("sorts by a column, a second time the other way, and says which way", async () => {
    const button = '.layer-head [data-sort="name"]';
    const sorted = async (direction) => {
      await page.$eval(button, (each) => each.click());
      await page.waitForSelector(`.layer-head [aria-sort="${direction}"] [data-sort="name"]`);
      return page.$$eval(".layer-body .is-name", (cells) => cells.map((each) => each.textContent));
    };
    const names = ["fc1.weight", "fc2.weight"];
    const first = await page.$eval(
      ".layer-head [aria-sort] [data-sort='name']",
      (each) => each.closest("[aria-sort]").ariaSort,
    );
    const other = { ascending: "descending", descending: "ascending", none: "ascending" };
    let direction = first;
    for (let i = 0; i < 2; i++) {
      direction = other[direction];
      const expected = direction === "ascending" ? names : names.toReversed();
      assert.deepEqual(await sorted(direction), expected);
    }
  });

  it("moves the plan along its frontier by the arrow keys of the slider", async () => {
    const before = await textOf(page, ".budget-text");
    await page.focus(".budget input");
    for (let i = 0; i < 3; i++) await press(page, "ArrowLeft");
    await waitFor(
      page,
      (text) => document.querySelector(".budget-text").textContent !== text,
      before,
    );
    assert.match(
      await textOf(page, ".budget-text"),
      /^[\d.]+ kB \(\d+ % of 204 kB\), [\d.]+ dB in weights, /,
    );
  });

  it("moves through the table by the arrow keys and opens a cell by Enter", async () => {
    await page.focus('.layer-body [tabindex="0"]');
    for (let i = 0; i < 3; i++) await press(page, "ArrowRight");
    await waitFor(page, () => document.activeElement?.dataset.column === "3");
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
    await waitFor(page, () => document.activeElement?.dataset.column === "3");
  });

  it("puts the focus back into a table that was drawn again behind the details", async () => {
    await press(page, "Enter");
    await page.waitForSelector(".lab-drawer[open] .detail-facts");
    for (const metric of ["mse", "sqnr"]) await page.select(`${LAB} [name="metric"]`, metric);
    await press(page, "Escape");
    await waitFor(page, () => document.activeElement?.dataset.column === "3");
  });

  it("opens details right after others were closed", async () => {
    await press(page, "Enter");
    await page.waitForSelector(".lab-drawer[open] .detail-facts");
    // In one task, as if the key was pressed before the dialog's event of closing.
    await page.$eval(".lab-drawer", (drawer) => {
      drawer.addEventListener("close", () => drawer.classList.add("has-closed"), { once: true });
      drawer.close();
      const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true });
      document.activeElement.dispatchEvent(enter);
    });
    await waitFor(page, () => document.querySelector(".lab-drawer.has-closed[open] .detail-facts"));
    await press(page, "Escape");
    await waitFor(page, () => document.activeElement?.dataset.column === "3");
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
    assert.equal(name, "digits-quantized.safetensors");
    assert.match(address, /^blob:/);
  });

  it("leaves a layer in its own dtype by a pin in the details", async () => {
    await openDetails(page, "fc2.weight", ".is-plan");
    // The focus begins on the button that closes.
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Close");
    await page.focus(".lab-drawer [data-pin='keep']");
    await press(page, "Enter");
    await waitForPlanned(page, "fc2.weight", "■ keep");
    assert.equal(await planLabel(page, "fc2.weight"), "keep, pinned");
    await openDetails(page, "fc2.weight", ".is-plan");
    assert.equal(
      await textOf(page, ".detail-plan"),
      "The plan keeps this layer in float32. You pinned it.",
    );
    assert.equal(await page.$(".lab-drawer [data-pin='keep']"), null);
    await press(page, "Escape");
    await write(page);
    const rows = await page.$$eval(".lab-written tbody tr", (all) =>
      all.map((row) => Array.from(row.cells, ({ textContent }) => textContent)),
    );
    const [, scheme, before, after] = rows.find(([name]) => name === "fc2.weight");
    assert.deepEqual([scheme, before, after], ["keep", "2.6 kB", "2.6 kB"]);
  });

  it("pins the scheme of a cell, and removes the pin again", async () => {
    await openDetails(page, "fc1.weight", '[aria-label^="int8-channel:"]');
    await page.focus(".lab-drawer [data-pin='int8-channel']");
    await press(page, "Enter");
    await waitForPlanned(page, "fc1.weight", "■ int8-channel");
    await openDetails(page, "fc1.weight", ".is-plan");
    await page.focus(".lab-drawer [data-pin='']");
    await press(page, "Enter");
    await waitFor(
      page,
      () => !document.querySelector(".layer-body").textContent.includes("■ int8-channel"),
    );
    assert.equal(await planLabel(page, "fc1.weight"), null);
  });

  it("plans a size that is chosen before the frontier of a new pin is there", async () => {
    const own = await openLab("#lab?sample=digits.safetensors");
    await waitForPlan(own.page);
    await openDetails(own.page, "fc1.weight", '[aria-label^="int8-channel:"]');
    await own.page.evaluate(() => {
      document.querySelector(".lab-drawer [data-pin='int8-channel']").click();
      // The least size without the pin.
      const slider = document.querySelector(".budget input");
      slider.value = slider.min;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await own.page.waitForSelector("[data-action='write']:not(:disabled)");
    assert.equal(await textOf(own.page, ".lab-problem"), "");
    await own.close();
  });

  it("keeps pins, budget and output in the link, which opens the same plan again", async () => {
    await page.select("[name='format']", "safetensors");
    await page.select("[name='target']", "mlx");
    await waitFor(page, () => /target=mlx/.test(location.hash));
    await page.waitForSelector("[data-action='write']:not(:disabled)");
    await waitForPlan(page);
    // The file has no graph.
    assert.ok(await page.$("[name='format'] option[value='onnx']:disabled"));
    const budget = await textOf(page, ".budget-text");
    const hash = await page.evaluate(() => location.hash);
    const again = await openLab(hash);
    await waitForPlan(again.page);
    await waitForPlanned(again.page, "fc2.weight", "■ keep");
    assert.equal(await textOf(again.page, ".budget-text"), budget);
    const values = await again.page.$$eval(".lab-ship select", (all) =>
      all.map(({ value }) => value),
    );
    assert.deepEqual(values, ["safetensors", "mlx"]);
    await again.close();
  });

  it("follows a link while it is open, and keeps its state on a link without one", async () => {
    const link = "#lab?v=1&sample=digits.safetensors&metric=mse&filter=fc1";
    const follow = (hash) =>
      page.evaluate((to) => {
        location.hash = to;
      }, hash);
    await follow(link);
    await waitFor(page, () => document.querySelectorAll(".layer-body .layer-row").length === 1);
    const [metric, filter] = await page.$$eval(
      ".lab-analysis :is([name='metric'], [name='filter'])",
      (all) => all.map(({ value }) => value),
    );
    assert.deepEqual([metric, filter], ["mse", "fc1"]);
    assert.match(await textOf(page, ".lab-shows"), /^1 of 2 layers found\. Shown: /);
    await waitForPlan(page);
    await follow("#lab");
    await waitFor(page, () => /metric=mse&filter=fc1/.test(location.hash));
    assert.equal(await page.$eval("[name='filter']", ({ value }) => value), "fc1");
  });

  it("says so if a filter finds no layer", async () => {
    await page.focus("[name='filter']");
    await page.keyboard.type("x");
    await waitFor(page, () =>
      document
        .querySelector(".lab-shows")
        .textContent.startsWith("No name of a layer contains “fc1x”. "),
    );
  });

  it("has caused no error", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

describe("The Model Lab's other files", inWholeSuite, () => {
  it("shows the file that was chosen last, whichever is open first", async () => {
    const visit = await openLab();
    const { page } = visit;
    await page.evaluate(() => {
      for (const name of ["digits.safetensors", "digits-deep.gguf", "digits.onnx"]) {
        document.querySelector(`[data-sample="${name}"]`).click();
      }
    });
    await waitFor(page, () => document.querySelector(".lab-name")?.textContent === "digits.onnx");
    await waitForPlan(page);
    assert.match(await textOf(page, ".lab-facts"), /^ONNX/);
    assert.equal(await textOf(page, ".lab-status"), "2 layers analyzed.");
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("copies the commands of the same job, or says that the browser does not allow it", async () => {
    const visit = await openLab("#lab?sample=digits.safetensors");
    const { page } = visit;
    await waitForPlan(page);
    await page.$eval("[data-report='command']", (button) => button.click());
    await page.evaluate(() => {
      navigator.clipboard.writeText = async (text) => {
        window.copied = text;
      };
    });
    const press = () => page.$eval(".lab-copy button", (button) => button.click());
    await press();
    await waitFor(page, () => document.querySelector(".lab-copy span").textContent === "Copied.");
    const commands = await textOf(page, ".lab-command");
    assert.match(commands, /^npx zeropoint analyze digits\.safetensors/);
    assert.equal(await page.evaluate(() => window.copied), commands);
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("no"));
    });
    await press();
    await waitFor(page, () =>
      /not allow/.test(document.querySelector(".lab-copy span").textContent),
    );
    await visit.close();
  });

  it("opens GGUF and ONNX", async () => {
    const visit = await openLab();
    for (const name of ["digits-deep.gguf", "digits.onnx"]) {
      await visit.page.click(`[data-sample="${name}"]`);
      await waitFor(
        visit.page,
        (file) =>
          document.querySelector(".lab-name")?.textContent === file &&
          document.querySelector(".lab.is-analyzed.is-planned"),
        name,
      );
    }
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("writes a checkpoint for MLX with its config.json, without a picker for one file", async () => {
    const visit = await openLab("#lab?sample=digits.safetensors&target=mlx");
    const { page } = visit;
    await waitForPlan(page);
    await page.evaluate(() => {
      window.showSaveFilePicker = () => {
        throw new Error("one file is not enough");
      };
    });
    await write(page);
    const names = await page.$$eval(".lab-written a[download]", (all) =>
      all.map(({ download }) => download),
    );
    assert.deepEqual(names, ["digits.safetensors", "config.json", "model.safetensors.index.json"]);
    assert.match(await textOf(page, ".lab-written"), /4 of 4 tensors read again/);
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("writes to the place that the picker gives, and says so", async () => {
    const visit = await openLab("#lab?sample=digits.safetensors");
    const { page } = visit;
    await waitForPlan(page);
    await page.evaluate(() => {
      window.showSaveFilePicker = async ({ suggestedName }) =>
        (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true });
    });
    await write(page);
    const text = await textOf(page, ".lab-written");
    assert.match(text, /Saved as digits-quantized\.safetensors\. 4 of 4 tensors read again/);
    assert.equal(await page.$(".lab-written a[download]"), null);
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });

  it("leaves out pins of a link for layers that the file does not have", async () => {
    const visit = await openLab("#lab?sample=digits.safetensors&pin=other.weight=int8-channel");
    await waitForPlan(visit.page);
    assert.equal(await visit.page.$(".lab-problem:not([hidden])"), null);
    assert.equal(await visit.page.$("[data-action='unpin']:not([hidden])"), null);
    await visit.close();
  });

  it("removes pins that another output format cannot store, and says so", async () => {
    const pins = "pin=fc1.weight%3Dint8-channel&pin=fc2.weight%3Dkeep";
    const visit = await openLab(`#lab?sample=digits.safetensors&${pins}`);
    const { page } = visit;
    await waitForPlan(page);
    await page.select("[name='format']", "gguf");
    await waitFor(
      page,
      () =>
        document.querySelector(".lab-status").textContent ===
        "Pins removed, because GGUF cannot store their schemes: fc1.weight (int8-channel).",
    );
    await waitForPlanned(page, "fc2.weight", "■ keep");
    await waitFor(page, () => !/int8-channel/.test(location.hash));
    assert.equal(await page.$(".lab-problem:not([hidden])"), null);
    await visit.close();
  });

  it("says that a file has no layer to quantize, and why", async () => {
    const path = join(tmpdir(), `zeropoint-lab-${process.pid}.npy`);
    const bytes = () => [new Uint8Array(8)];
    writeFileSync(
      path,
      await collect(writeNpy({ name: "a", shape: [2], dtype: "float32", byteLength: 8, bytes })),
    );
    const visit = await openLab();
    await openFile(visit.page, path);
    await visit.page.waitForSelector(`${LAB}.is-analyzed`);
    assert.match(
      await textOf(visit.page, ".lab-status"),
      /^This file has no layer to quantize\. Kept: 1 tensor \(.+\)\.$/,
    );
    await visit.close();
  });

  it("shows the ends of names that are longer than their column", async () => {
    const name = `model.${"layers.".repeat(20)}weight`;
    const path = join(tmpdir(), `zeropoint-lab-${process.pid}-names.safetensors`);
    const json = Buffer.from(
      JSON.stringify({ [name]: { dtype: "F32", shape: [64, 64], data_offsets: [0, 16384] } }),
    );
    const length = Buffer.alloc(8);
    length.writeUInt32LE(json.length);
    writeFileSync(path, Buffer.concat([length, json, Buffer.alloc(16384, 1)]));
    const visit = await openLab();
    await openFile(visit.page, path);
    await waitForPlan(visit.page);
    const { cell, text } = await visit.page.evaluate(() => {
      const element = document.querySelector(".layer-body .is-name");
      const range = document.createRange();
      range.selectNodeContents(element);
      return {
        cell: element.getBoundingClientRect().toJSON(),
        text: range.getBoundingClientRect().toJSON(),
      };
    });
    assert.ok(text.right <= cell.right, `${text.right} > ${cell.right}`);
    assert.ok(text.left < cell.left, "the name fits");
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

  it("leaves nothing of the file before, after one that is damaged", async () => {
    const path = join(tmpdir(), `zeropoint-lab-${process.pid}-bad.safetensors`);
    writeFileSync(path, "no model");
    const visit = await openLab("#lab?sample=digits.safetensors");
    const { page } = visit;
    await waitForPlan(page);
    await openFile(page, path);
    await page.waitForSelector(".lab-problem:not([hidden])");
    const shown = await page.$$eval(".lab > section", (all) =>
      all.filter((each) => each.checkVisibility()).map(({ className }) => className),
    );
    assert.deepEqual(shown, []);
    await waitFor(page, () => !/sample=/.test(location.hash));
    await visit.close();
  });

  it("opens a file that is dropped anywhere on its page, and no notebook does", async () => {
    const visit = await openLab();
    const { page } = visit;
    const drop = (selector) =>
      page.evaluate(async (target) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["no model"], `${target}.gguf`));
        const options = { dataTransfer, bubbles: true, cancelable: true };
        return !document.querySelector(target).dispatchEvent(new DragEvent("drop", options));
      }, selector);
    for (const place of ["h1, .view[data-current] h2", "body", ".lab-inputs"]) {
      assert.equal(await drop(place), true, place);
      await waitFor(
        page,
        (name) => document.querySelector(".lab-problem").textContent.includes(name),
        `${place}.gguf`,
      );
    }
    await page.evaluate(() => {
      location.hash = "#per-channel";
    });
    await page.waitForSelector("#per-channel[data-current]");
    assert.equal(await drop("body"), false);
    await visit.close();
  });

  it("shows whole shapes of any rank", async () => {
    const path = join(tmpdir(), `zeropoint-lab-${process.pid}-shape.safetensors`);
    const shape = [36, 1, 1, 256];
    const bytes = 4 * shape.reduce((a, b) => a * b, 1);
    const json = Buffer.from(
      JSON.stringify({ "conv.weight": { dtype: "F32", shape, data_offsets: [0, bytes] } }),
    );
    const length = Buffer.alloc(8);
    length.writeUInt32LE(json.length);
    writeFileSync(path, Buffer.concat([length, json, Buffer.alloc(bytes, 1)]));
    const visit = await openLab();
    await openFile(visit.page, path);
    await waitForPlan(visit.page);
    const { text, hidden } = await visit.page.$eval(".layer-body .is-shape", (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const [own, all] = [range, cell].map((each) => each.getBoundingClientRect());
      return {
        text: cell.textContent,
        hidden: Math.max(all.left - own.left, own.right - all.right),
      };
    });
    assert.equal(text, "36 × 1 × 1 × 256");
    assert.ok(hidden <= 0, `${hidden} pixels are cut off`);
    await visit.close();
  });

  const figuresInSight = (page) =>
    page.$eval(".layer-table", (table) => {
      const { left } = table.getBoundingClientRect();
      const right = left + table.clientLeft + table.clientWidth;
      const stored = [...table.querySelectorAll(".layer-body .is-scheme:not(.is-unwritten)")];
      const heads = [...table.querySelectorAll(".layer-head .is-scheme")];
      const isOut = (cell) => cell.getBoundingClientRect().right > right + 0.5;
      const isCut = (cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const [own, all] = [range, cell].map((each) => each.getBoundingClientRect());
        return own.left < all.left - 0.5 || own.right > all.right + 0.5;
      };
      return {
        schemes: stored.length / table.querySelectorAll(".layer-body .layer-row").length,
        out: stored.filter(isOut).length,
        cut: [...stored, ...heads].filter(isCut).map(({ textContent }) => textContent),
      };
    });

  it("shows the figures of all schemes that the output stores at 1440 pixels, none of them cut", async () => {
    const viewport = { width: 1440, height: 900 };
    const visit = await openLab("#lab?sample=digits-deep.onnx&target=web", { viewport });
    await waitForPlan(visit.page);
    await visit.page.waitForSelector(".layer-body .is-unwritten");
    assert.deepEqual(await figuresInSight(visit.page), { schemes: 11, out: 0, cut: [] });
    await visit.close();
  });

  it("shows estimated errors of outputs in columns as narrow as those of weights, none of them cut", async () => {
    const path = join(tmpdir(), "fc1.weight.npy");
    const values = Float32Array.from({ length: 32 * 784 }, (_, i) => (i * 7) % 5);
    const bytes = () => [new Uint8Array(values.buffer)];
    const array = { name: "a", shape: [32, 784], dtype: "float32", byteLength: values.byteLength };
    writeFileSync(path, await collect(writeNpy({ ...array, bytes })));
    const viewport = { width: 1440, height: 900 };
    const visit = await openLab("#lab?sample=digits.onnx&target=web", { viewport });
    await waitForPlan(visit.page);
    await visit.page.waitForSelector(".layer-body .is-unwritten");
    const ofWeights = await figuresInSight(visit.page);
    assert.deepEqual(ofWeights.cut, []);
    await addInputs(visit.page, path);
    await visit.page.waitForSelector(".has-many-marks .layer-body .is-planned .cell-marks");
    await waitForPlan(visit.page);
    assert.deepEqual(await figuresInSight(visit.page), ofWeights);
    await visit.close();
    rmSync(path, { force: true });
  });

  it("has figures of ggml's blocks for all layers of the GGUF sample", async () => {
    const visit = await openLab("#lab?sample=digits-deep.gguf");
    await waitForPlan(visit.page);
    const cells = new Map(await shownCells(visit.page));
    const schemes = [...new Set([...cells.keys()].map((key) => key.split(" ")[1]))];
    assert.ok(schemes.includes("q4_k"), schemes.join());
    for (const [cell, text] of cells) assert.match(text, /\d/, cell);
    const layers = (await textOf(visit.page, ".lab-status")).match(/^(\d+) layers analyzed/)[1];
    assert.equal(layers, "25");
    await visit.close();
  });

  describe("on a phone", () => {
    let phone;
    before(async () => {
      phone = await openLab("#lab?sample=digits.safetensors", {
        viewport: { width: 320, height: 700 },
      });
      await waitForPlan(phone.page);
    });
    after(() => phone?.close());

    it("shows whole names", async () => {
      // In one step: another plan may replace the rows between two.
      const widths = await phone.page.$eval(".layer-body", (body) =>
        Array.from(body.querySelectorAll(".is-name"), (name) => name.getBoundingClientRect().width),
      );
      assert.ok(Math.min(...widths) > 280, String(widths));
    });

    it("keeps a name in its place while the figures below it are scrolled", async () => {
      const left = await phone.page.$eval(".layer-table", (table) => {
        table.scrollLeft = 300;
        return table.querySelector(".layer-body .is-name").getBoundingClientRect().left;
      });
      assert.ok(left >= 0, String(left));
    });

    it("numbers the circles of schemes, and lists their names", async () => {
      const [labels, names, schemes] = await phone.page.evaluate(() =>
        [".frontier-uniform text", ".frontier-key li", ".frontier-table tbody th"].map((selector) =>
          Array.from(document.querySelectorAll(selector), ({ textContent }) => textContent),
        ),
      );
      assert.deepEqual(
        labels,
        names.map((_, i) => String(i + 1)),
      );
      assert.deepEqual(names.toSorted(), schemes.toSorted());
    });
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

  const title = "has nothing that axe finds on a phone, with everything open that can be";
  it(title, onceForAll, async () => {
    const visit = await openLab("#lab?sample=digits.onnx", {
      viewport: { width: 320, height: 700, hasTouch: true, isMobile: true },
    });
    const { page } = visit;
    await waitForPlan(page);
    await write(page);
    await page.$eval("[data-report='command']", (button) => button.click());
    await page.$$eval(".lab details", (all) => {
      for (const details of all) details.open = true;
    });
    // Boxes become focusable with the next frame, if they scroll.
    await page.waitForSelector(".lab-command[tabindex]");
    assert.deepEqual(await axeViolations(page), []);
    const low = await page.$$eval(
      ".lab :is(button, select, summary, a, [role='rowheader'], [role='gridcell'])",
      (all) =>
        all
          .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 43)
          .map((each) => each.textContent),
    );
    assert.deepEqual(low, []);
    await visit.close();
  });
});

describe("An ONNX model with weights [inputs, outputs] in the Model Lab", inWholeSuite, () => {
  const path = join(tmpdir(), `zeropoint-lab-${process.pid}.onnx`);
  const [inputs, outputs] = [96, 64];
  const graph = {
    inputs: [{ name: "x", shape: ["m", inputs] }],
    outputs: [{ name: "y", shape: ["m", outputs] }],
    nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
  };
  let bytes;
  let visit;
  before(async () => {
    await init();
    bytes = await modelOf({ graph, shape: [inputs, outputs] }, normals(inputs * outputs));
    writeFileSync(path, bytes);
    visit = await openLab();
    await openFile(visit.page, path);
    await waitForPlan(visit.page);
  });
  after(async () => {
    await visit?.close();
    rmSync(path, { force: true });
  });

  /** Waits until the table has the error of groups as the library measures it for a format. */
  async function waitForErrorIn(format) {
    const model = await openModel(bytes);
    const rows = [];
    for await (const row of analyze(model, { format, schemes: ["int4-g32"] })) rows.push(row);
    const isShown = (text) => {
      const heads = [...document.querySelectorAll(".layer-head .is-scheme button")];
      const at = heads.findIndex((head) => head.textContent === "int4-g32");
      const cell = document.querySelectorAll(".layer-body .layer-row .is-scheme")[at];
      return cell.textContent.replace("● ", "") === text;
    };
    const text = metricText("sqnr", rows[0].sqnr);
    await waitFor(visit.page, isShown, text);
    return text;
  }

  it("is measured again for an output format whose groups run along another axis", async () => {
    const along = await waitForErrorIn("onnx");
    await visit.page.select("[name='format']", "safetensors");
    assert.notEqual(await waitForErrorIn("safetensors"), along);
    await visit.page.select("[name='format']", "");
    await waitForErrorIn("onnx");
    await waitForPlan(visit.page);
    assert.deepEqual(await visit.problems(), []);
  });
});
