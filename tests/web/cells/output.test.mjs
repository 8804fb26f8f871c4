// Outputs of a cell: text, values and plots.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { click, press, readCells, textOf, typeInto, waitFor, waitUntilIdle } from "../page.mjs";
import { cell, openOnce, page, resetForEach, runInFirstCell } from "./first-notebook.mjs";

describe("A cell", () => {
  resetForEach();

  it("counts its runs as In [n]", async () => {
    await runInFirstCell("1");
    assert.equal(await textOf(page, `${cell(1)} .cell-counter`), "In [1]");
    await click(page, `${cell(1)} button.run`);
    await waitUntilIdle(page);
    assert.equal(await textOf(page, `${cell(1)} .cell-counter`), "In [2]");
  });

  it("leaves out lines too long to lay out, in the output and in the difference", async () => {
    const source = "for (let i = 0; i < 2e4; i++) print(i);";
    const { output } = await runInFirstCell(source);
    const lines = output.split("\n");
    assert.equal(lines.length, 5001);
    assert.equal(lines[4999], "4999");
    assert.match(lines[5000], /left out$/);
    await typeInto(page, cell(6), source);
    await press(page, "Mod+Enter");
    await waitUntilIdle(page);
    const shown = await page.$$eval(`${cell(6)} pre.difference > span`, (spans) => spans.length);
    assert.equal(shown, 500);
    assert.match(await textOf(page, `${cell(6)} pre.difference`), /difference is left out\n$/);
  });

  it("redraws lines when there is more space, and leaves their table open", async () => {
    await page.setViewport({ width: 360, height: 740 });
    const plot =
      '{ title: "t", x: "x", y: "y", series: [{ name: "a", points: [[0, 1], [2, 3]] }] }';
    await runInFirstCell(`plotLines(${plot});`);
    const svg = `${cell(1)} .drawing-box svg`;
    const width = () => page.$eval(svg, (element) => element.getBoundingClientRect().width);
    const narrow = await width();
    await click(page, `${cell(1)} .panel-table summary`);
    await page.setViewport({ width: 740, height: 360 });
    await waitFor(
      page,
      (selector, before) =>
        document.querySelector(selector).getBoundingClientRect().width > before + 100,
      svg,
      narrow,
    );
    assert.equal(await page.$$eval(svg, (all) => all.length), 1);
    assert.ok(await page.$eval(`${cell(1)} .panel-table`, (table) => table.open));
    await page.setViewport({ width: 360, height: 740 });
    await waitFor(
      page,
      (selector, before) =>
        document.querySelector(selector).getBoundingClientRect().width === before,
      svg,
      narrow,
    );
  });

  it("keeps its position after a run and its verdict", async () => {
    const left = () =>
      page.$eval(`${cell(6)} .cell-code`, (code) => code.getBoundingClientRect().left);
    const before = await left();
    await click(page, `${cell(6)} button.run-to-here`);
    await page.waitForSelector(`${cell(6)}[data-verdict="matches"]`);
    assert.equal(await left(), before);
  });
});

describe("The first cell", () => {
  openOnce();

  it("shows printed text, then the value of the last expression", async () => {
    const { output } = await runInFirstCell("print('a', 1, [2, 'b']);\n[1, 0.5]");
    assert.equal(output, "a 1 [2, 'b']\n[1, 0.5]");
  });

  it("may await, and shares its names with the next cell", async () => {
    await runInFirstCell("const answer = await new Promise((done) => setTimeout(done, 10, 42));");
    await typeInto(page, cell(2), "answer");
    await press(page, "Mod+Enter");
    await waitUntilIdle(page);
    assert.equal((await readCells(page))[1].output, "42");
  });

  it("limits endless printing, so that the page's memory suffices", async () => {
    const { output } = await runInFirstCell("for (let i = 0; i < 3e5; i++) print(i);");
    assert.ok(output.length < 300_000);
    assert.match(output, /the rest of the output is left out$/);
  });

  it("prints with sep and end as Python does, and shows the value on a separate line", async () => {
    const source = "print('a', 'b', { sep: '-', end: ': ' });\nprint(1, { end: '' });\n[2]";
    assert.equal((await runInFirstCell(source)).output, "a-b: 1\n[2]");
    const imported = `import { print } from "zeropoint/notebook";\n${source}`;
    assert.equal((await runInFirstCell(imported)).output, "a-b: 1\n[2]");
    const logged = "console.log('a', { end: '' });";
    assert.equal((await runInFirstCell(logged)).output, 'a { end: "" }');
  });

  it("leaves out oversized pieces: printed, as a value, in an error, and as plots", async () => {
    const line =
      '{ title: "t", x: "x", y: "y", series: [{ name: "s", points: [[0, 1], [1, 2]] }] }';
    for (const [source, part] of [
      ['print("x".repeat(3e6));', "output"],
      ['"x".repeat(3e6)', "output"],
      ['throw new Error("x".repeat(3e6));', "error"],
      [`for (let i = 0; i < 500; i++) plotLines(${line});`, "output"],
    ]) {
      const { [part]: text, plots } = await runInFirstCell(source);
      assert.ok(text.length < 250_000 && plots <= 50, source);
      assert.match(text, /left out/, source);
    }
  });

  it("shows console messages, too", async () => {
    const { output } = await runInFirstCell('console.log("a", 1);\nconsole.info([2]);\n3');
    assert.equal(output, "a 1\n[2]\n3");
    const { output: filled } = await runInFirstCell(`console.log("%s: %d", "a", 1.5)`);
    assert.equal(filled, "a: 1");
    const { output: more } = await runInFirstCell("console.table([1]);\nconsole.dir({ a: 1 });");
    assert.equal(more, "[1]\n{ a: 1 }");
  });

  it("shows values of every kind", async () => {
    const { output } = await runInFirstCell(
      'import * as zp from "zeropoint";\nimport { QConfigMapping } from "zeropoint/torch";\n' +
        "class Point { x = 1 }\n" +
        'print(new Set(["a"]), new Point(), Promise.resolve(1), globalThis);\n' +
        "[zp.quantize, zp.QuantizedLinear, new QConfigMapping()]",
    );
    assert.equal(
      output,
      "{'a'} Point {'x': 1} <Promise, not awaited> <DedicatedWorkerGlobalScope>\n" +
        "[<function quantize>, <class QuantizedLinear>, QConfigMapping(global: null)]",
    );
    const { output: functions } = await runInFirstCell(
      'import { plot_quantization_errors, torch } from "zeropoint/notebook";\n' +
        "[print, plotLines, plot_quantization_errors, torch.nn.functional.linear, torch.add]",
    );
    const names = ["print", "plotLines", "plot_quantization_errors", "linear", "add"];
    assert.equal(
      functions.replaceAll(/\s+/g, " "),
      `[${names.map((name) => `<function ${name}>`).join(", ")}]`,
    );
  });

  it("shows torch itself", async () => {
    const { output } = await runInFirstCell('import { torch } from "zeropoint/notebook";\ntorch');
    assert.match(output, /^\{'Tensor': <class Tensor>,\n/);
  });

  it("makes a long output scrollable in its box, by keyboard too", async () => {
    await runInFirstCell("for (let i = 0; i < 500; i++) print(i);");
    const output = `${cell(1)} .cell-output pre.text`;
    const box = await page.waitForSelector(`${output}[tabindex="0"]`);
    const { height } = await box.boundingBox();
    assert.ok(height > 300 && height < 900, `${height} pixels`);
  });

  it("cannot reach the page, only its worker", async () => {
    const { output } = await runInFirstCell("[typeof document, typeof window]");
    assert.equal(output, "['undefined', 'undefined']");
  });
});
