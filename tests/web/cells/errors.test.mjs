// Errors of a cell, and their hints.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  click,
  enter,
  press,
  readCells,
  runAll,
  textOf,
  typeInto,
  waitFor,
  waitUntilIdle,
} from "../page.mjs";
import { cell, openOnce, page, resetForEach, runInFirstCell, visit } from "./first-notebook.mjs";

describe("An error", () => {
  resetForEach();

  it("is shown at its cell with name, message and line; later cells still run", async () => {
    await typeInto(page, cell(4), "let scale = 3.5;\nlet zero_point = nothing;");
    await typeInto(page, cell(8), "let late = 1;\nlate");
    await runAll(page);
    const cells = await readCells(page);
    assert.equal(cells[3].state, "failed");
    assert.match(cells[3].error, /ReferenceError nothing is not defined/);
    assert.match(cells[3].error, /line 2/);
    assert.match(cells[3].error, /No cell of this notebook defines it\./);
    assert.equal(cells[7].output, "1");
    assert.equal(cells[17].state, "failed");
    assert.equal(cells[17].verdict, "differs");
    assert.deepEqual(await visit.problems(), []);
  });

  it("marks its line in the code, until the code is changed or runs", async () => {
    const marked = () =>
      page.$eval(`${cell(1)} .editor`, ({ shadowRoot }) =>
        Array.from(shadowRoot.querySelectorAll(".cm-failed-line"), (line) => line.textContent),
      );
    await runInFirstCell("let one = 1;\nnothing;\none;");
    assert.deepEqual(await marked(), ["nothing;"]);
    await enter(page, " ");
    assert.deepEqual(await marked(), []);
    await press(page, "Mod+Enter");
    await waitUntilIdle(page);
    assert.deepEqual(await marked(), ["nothing;"]);
    await runInFirstCell("let nothing;");
    assert.deepEqual(await marked(), []);
    assert.deepEqual(await visit.problems(), []);
  });

  it("is visible at the reader's position, below the end of the screen too", async () => {
    await page.setViewport({ width: 900, height: 500 });
    await runInFirstCell(`${"// a line\n".repeat(12)}nothing;`);
    await waitFor(
      page,
      (selector) => {
        const { bottom } = document.querySelector(selector).getBoundingClientRect();
        return bottom < innerHeight + 1;
      },
      `${cell(1)} .cell-error`,
    );
  });

  it("names the cell that defines a missing name", async () => {
    await click(page, `${cell(3)} button.run`);
    await page.waitForSelector(`${cell(3)} .cell-error`);
    assert.equal(
      await textOf(page, `${cell(3)} .error-note`),
      "Cell 1 defines it: has it been run?",
    );
  });

  it("inside an earlier cell's function names that cell, and the line that called it", async () => {
    await runAll(page);
    await typeInto(page, cell(5), "let one = 1;\nlinear_q_with_scale_and_zero_point(one, 2, 3);");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(5)} .cell-error`);
    assert.match(
      await textOf(page, `${cell(5)} .error-where`),
      /^line 2 of Cell 2, called from line 2 here$/,
    );
  });
});

describe("An error in the first cell", () => {
  openOnce();

  it("of the grammar names its line, and runs no part of the cell", async () => {
    const { error, output } = await runInFirstCell("print('never');\nlet x = ;");
    assert.match(error, /SyntaxError/);
    assert.match(error, /line 2/);
    assert.equal(output, "");
  });

  it("below many calls inside the library still names its line", async () => {
    const { error } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\n\ntorch.tensor([1, 2]).sub(torch.tensor([1, 2, 3]));',
    );
    assert.match(error, /shapes \[2\] and \[3\] do not fit each other.*line 3/);
  });

  it("reports a name missing from torch, which would be undefined by default", async () => {
    const { error } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\ntorch.tensor([1], { dtype: torch.int9 });',
    );
    assert.match(
      error,
      /AttributeError module 'torch' has no attribute 'int9'.*line 2\s*Did you mean torch\.int8\?/,
    );
    const { error: called } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\nconst x = torch.ones(2, 2);\nx.matmull(x);',
    );
    assert.match(
      called,
      /AttributeError 'Tensor' object has no attribute 'matmull'.*line 3\s*Did you mean matmul\?/,
    );
    const { error: deeper } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\ntorch.quantization.qconfig.default_qconfg;',
    );
    assert.match(
      deeper,
      /AttributeError module 'torch\.quantization\.qconfig' has no attribute 'default_qconfg'.*line 2\s*Did you mean torch\.quantization\.qconfig\.default_qconfig\?/,
    );
  });

  it("suggests a similar name of torch or of a tensor's methods", async () => {
    const start = 'import { torch } from "zeropoint/notebook";\nlet t = torch.tensor([1, 2]);\n';
    for (const [source, meant] of [
      ["torch.quantise_per_tensor(t);", "torch.quantize_per_tensor"],
      ["t.dvi(2);", "div"],
      ["t.add(1).sqare();", "square"],
    ]) {
      const { error } = await runInFirstCell(start + source);
      assert.match(error, new RegExp(`line 3\\s*Did you mean ${meant}\\?`), source);
    }
    assert.doesNotMatch((await runInFirstCell(`${start}t.zzzzzz();`)).error, /Did you mean/);
  });

  it("reports a missing property of the cell's last value, and a call of a value", async () => {
    const start = 'import { torch } from "zeropoint/notebook";\nlet t = torch.tensor([1, 2]);\n';
    for (const [source, told] of [
      [
        "t.shap",
        /AttributeError 'Tensor' object has no attribute 'shap'.*line 3\s*Did you mean shape\?/,
      ],
      ["t.shape[1]", /TypeError t\.shape has no 1: its length is 1/],
      ["torch.iinfo(torch.int8).maximum", /has no maximum/],
      ["t.shape()", /t\.shape is a value and no function/],
      ["t.abs.max()", /t\.abs is a function: write t\.abs\(\)/],
      ["let s = t.max().item();\ns.item()", /s is a number and no tensor/],
      ["torch.iinfo(int8)", /Did you mean torch\.int8\?/],
    ]) {
      assert.match((await runInFirstCell(start + source)).error, told, source);
    }
    assert.equal((await runInFirstCell(`${start}t.shape[0]`)).output, "2");
  });

  it("of a thrown value that is no Error shows the value", async () => {
    assert.match((await runInFirstCell("throw { a: 1 };")).error, /Thrown \{'a': 1\}/);
  });

  it("names the corresponding exception of Python", async () => {
    const { error } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\ntorch.tensor([]).max();',
    );
    assert.match(error, /RangeError .*Python raises \w+ here/);
  });

  it("lists importable modules, and names a missing export", async () => {
    assert.match((await runInFirstCell('import x from "numpy";')).error, /"zeropoint\/notebook"/);
    const { error } = await runInFirstCell('import { nope } from "zeropoint";');
    assert.match(error, /no export called nope/);
    const { error: slip } = await runInFirstCell('import { quantise } from "zeropoint";');
    assert.match(slip, /Did you mean quantize\?/);
  });
});

describe("A forgotten await", () => {
  openOnce();

  it("is reported where a Promise meets an operator, a text or a method", async () => {
    const missing = /write await before what makes it/;
    assert.match((await runInFirstCell("Promise.resolve(1) + 1")).error, missing);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code of the cell
    assert.match((await runInFirstCell("`${Promise.resolve(1)}`")).error, missing);
    assert.match(
      (await runInFirstCell("const later = Promise.resolve(1);\nlater.add(1)")).error,
      /later is a Promise: write await/,
    );
    assert.match((await runInFirstCell("const [q, s] = later;")).error, missing);
    assert.match((await runInFirstCell("later.shape")).error, missing);
    assert.match((await runInFirstCell("print(later.scale * 2)")).error, missing);
  });
});
