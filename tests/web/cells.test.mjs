// Running, stopping, editing and resetting cells, as a person does it.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  attributeOf,
  bringIntoView,
  cellSelector,
  chromiumOnly,
  click,
  clickInto,
  countVisible,
  enter,
  openNotebook,
  openPage,
  press,
  readCells,
  runAll,
  serveSite,
  textOf,
  typeInto,
  WITHOUT_SCRIPTS,
  waitUntilIdle,
} from "./page.mjs";
import { browser, site } from "./site-and-browser.mjs";

const NOTEBOOK = "quantize-and-dequantize";
const cell = (number) => cellSelector(NOTEBOOK, `cell-${number}`);

let visit;
let page;
beforeEach(async () => {
  visit = await openPage(browser, site.url);
  ({ page } = visit);
  await openNotebook(page, NOTEBOOK);
});
afterEach(() => visit.close());

/** Types code into the first cell and runs it in place. */
async function runInFirstCell(source) {
  await typeInto(page, cell(1), source);
  await press(page, "Mod+Enter");
  await waitUntilIdle(page);
  return (await readCells(page))[0];
}

describe("A cell", () => {
  it("shows what it prints, then the value of its last expression", async () => {
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

  it("counts its runs as In [n]", async () => {
    await runInFirstCell("1");
    assert.equal(await textOf(page, `${cell(1)} .cell-counter`), "In [1]");
    await click(page, `${cell(1)} button.run`);
    await waitUntilIdle(page);
    assert.equal(await textOf(page, `${cell(1)} .cell-counter`), "In [2]");
  });

  it("does not run off with the page's memory when it prints without end", async () => {
    const { output } = await runInFirstCell("for (let i = 0; i < 3e5; i++) print(i);");
    assert.ok(output.length < 300_000);
    assert.match(output, /the rest of the output is left out$/);
  });

  it("leaves out lines that take a page long to lay out, in its output and in what differs", async () => {
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

  it("prints with sep and end as Python does, and shows its value on a line of its own", async () => {
    const source = "print('a', 'b', { sep: '-', end: ': ' });\nprint(1, { end: '' });\n[2]";
    assert.equal((await runInFirstCell(source)).output, "a-b: 1\n[2]");
    const imported = `import { print } from "zeropoint/notebook";\n${source}`;
    assert.equal((await runInFirstCell(imported)).output, "a-b: 1\n[2]");
    const logged = "console.log('a', { end: '' });";
    assert.equal((await runInFirstCell(logged)).output, "a {'end': ''}");
  });

  it("leaves out what is too long in one piece: printed, as a value, in an error, and as plots", async () => {
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

  it("shows what goes to the console, too", async () => {
    const { output } = await runInFirstCell('console.log("a", 1);\nconsole.info([2]);\n3');
    assert.equal(output, "a 1\n[2]\n3");
    const { output: filled } = await runInFirstCell(`console.log("%s: %d", "a", 1.5)`);
    assert.equal(filled, "a: 1");
    const { output: more } = await runInFirstCell("console.table([1]);\nconsole.dir({ a: 1 });");
    assert.equal(more, "[1]\n{'a': 1}");
  });

  it("shows values of every kind by what they are", async () => {
    const { output } = await runInFirstCell(
      'import * as zp from "zeropoint";\n' +
        "class Point { x = 1 }\n" +
        'print(new Set(["a"]), new Point(), Promise.resolve(1), globalThis);\n' +
        "[zp.quantize, zp.QuantizedLinear, new zp.QConfigMapping()]",
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

  it("lets a long output scroll in its own box, which the keyboard reaches", async () => {
    await runInFirstCell("for (let i = 0; i < 500; i++) print(i);");
    const output = `${cell(1)} .cell-output pre.text`;
    const box = await page.waitForSelector(`${output}[tabindex="0"]`);
    const { height } = await box.boundingBox();
    assert.ok(height > 300 && height < 900, `${height} pixels`);
  });

  it("draws lines anew when there is more room for them, and leaves their table open", async () => {
    await page.setViewport({ width: 360, height: 740 });
    const plot =
      '{ title: "t", x: "x", y: "y", series: [{ name: "a", points: [[0, 1], [2, 3]] }] }';
    await runInFirstCell(`plotLines(${plot});`);
    const svg = `${cell(1)} .drawing-box svg`;
    const width = () => page.$eval(svg, (element) => element.getBoundingClientRect().width);
    const narrow = await width();
    await click(page, `${cell(1)} .panel-table summary`);
    await page.setViewport({ width: 740, height: 360 });
    await page.waitForFunction(
      (selector, before) =>
        document.querySelector(selector).getBoundingClientRect().width > before + 100,
      {},
      svg,
      narrow,
    );
    assert.equal(await page.$$eval(svg, (all) => all.length), 1);
    assert.ok(await page.$eval(`${cell(1)} .panel-table`, (table) => table.open));
    await page.setViewport({ width: 360, height: 740 });
    await page.waitForFunction(
      (selector, before) =>
        document.querySelector(selector).getBoundingClientRect().width === before,
      {},
      svg,
      narrow,
    );
  });

  it("stays where it is when it has been run and judged", async () => {
    const left = () =>
      page.$eval(`${cell(6)} .cell-code`, (code) => code.getBoundingClientRect().left);
    const before = await left();
    await click(page, `${cell(6)} button.run-to-here`);
    await page.waitForSelector(`${cell(6)}[data-verdict="matches"]`);
    assert.equal(await left(), before);
  });

  it("cannot reach the page, only its worker", async () => {
    const { output } = await runInFirstCell("[typeof document, typeof window]");
    assert.equal(output, "['undefined', 'undefined']");
  });
});

describe("An error", () => {
  it("is shown at its cell with name, message and line, and later cells still run", async () => {
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

  it("of the grammar names its line and runs nothing of the cell", async () => {
    const { error, output } = await runInFirstCell("print('never');\nlet x = ;");
    assert.match(error, /SyntaxError/);
    assert.match(error, /line 2/);
    assert.equal(output, "");
  });

  it("marks its line in the code, until that is changed or runs", async () => {
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

  it("is seen where the reader is, below the end of the screen too", async () => {
    await page.setViewport({ width: 900, height: 500 });
    await runInFirstCell(`${"// a line\n".repeat(12)}nothing;`);
    await page.waitForFunction(
      (selector) => {
        const { bottom } = document.querySelector(selector).getBoundingClientRect();
        return bottom < innerHeight + 1;
      },
      { timeout: 5000 },
      `${cell(1)} .cell-error`,
    );
  });

  it("below many calls inside the library still names its line", async () => {
    const { error } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\n\ntorch.tensor([1, 2]).sub(torch.tensor([1, 2, 3]));',
    );
    assert.match(error, /shapes \[2\] and \[3\] do not fit each other.*line 3/);
  });

  it("tells of a name that torch does not have, where undefined would be the default", async () => {
    const { error } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\ntorch.tensor([1], { dtype: torch.int9 });',
    );
    assert.match(error, /TypeError torch has no int9.*line 2/);
    const { error: deeper } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\ntorch.quantization.qconfig.default_qconfg;',
    );
    assert.match(
      deeper,
      /TypeError torch\.quantization\.qconfig has no default_qconfg.*line 2\s*Did you mean default_qconfig\?/,
    );
  });

  it("guesses which of torch's names, or of a tensor's methods, was meant", async () => {
    const start = 'import { torch } from "zeropoint/notebook";\nlet t = torch.tensor([1, 2]);\n';
    for (const [source, meant] of [
      ["torch.quantise_per_tensor(t);", "quantize_per_tensor"],
      ["t.dvi(2);", "div"],
      ["t.add(1).sqare();", "square"],
    ]) {
      const { error } = await runInFirstCell(start + source);
      assert.match(error, new RegExp(`line 3\\s*Did you mean ${meant}\\?`), source);
    }
    assert.doesNotMatch((await runInFirstCell(`${start}t.zzzzzz();`)).error, /Did you mean/);
  });

  it("tells of a part that the cell's last value does not have, and of a call that is none", async () => {
    const start = 'import { torch } from "zeropoint/notebook";\nlet t = torch.tensor([1, 2]);\n';
    for (const [source, told] of [
      ["t.shap", /TypeError t has no shap.*line 3\s*Did you mean shape\?/],
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

  it("names the cell that defines what is missing", async () => {
    await click(page, `${cell(3)} button.run`);
    await page.waitForSelector(`${cell(3)} .cell-error`);
    assert.equal(
      await textOf(page, `${cell(3)} .error-note`),
      "Cell 1 defines it: has it been run?",
    );
  });

  it("that is no Error shows the value that was thrown", async () => {
    assert.match((await runInFirstCell("throw { a: 1 };")).error, /Thrown \{'a': 1\}/);
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

  it("says which exception Python raises", async () => {
    const { error } = await runInFirstCell(
      'import { torch } from "zeropoint/notebook";\ntorch.tensor([]).max();',
    );
    assert.match(error, /RangeError .*Python raises \w+ here/);
  });

  it("says what can be imported, and what a module does not export", async () => {
    assert.match((await runInFirstCell('import x from "numpy";')).error, /"zeropoint\/notebook"/);
    const { error } = await runInFirstCell('import { nope } from "zeropoint";');
    assert.match(error, /no export called nope/);
    const { error: slip } = await runInFirstCell('import { quantise } from "zeropoint";');
    assert.match(slip, /Did you mean quantize\?/);
  });
});

describe("Stop", () => {
  it("ends an endless loop while the page stays alive, and the notebook runs again", async () => {
    await typeInto(page, cell(2), "while (true) {}");
    await click(page, ".view[data-current] [data-action='run-all']");
    await page.waitForSelector(`${cell(2)}[data-state="running"]`);

    // The page answers while the loop runs.
    const before = await page.evaluate(() => performance.now());
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    assert.ok((await page.evaluate(() => performance.now())) - before < 2000);

    await click(page, ".view[data-current] [data-action='stop']");
    await waitUntilIdle(page);
    const stopped = await readCells(page);
    assert.equal(stopped[1].state, "stopped");
    assert.match(stopped[1].error, /Stopped/);
    assert.ok(stopped.slice(2).every(({ state }) => state === "idle"));

    await click(page, `${cell(2)} button.reset-cell`);
    await runAll(page);
    const cells = await readCells(page);
    assert.ok(cells.every(({ state }) => state === "done"));
    assert.equal(cells.filter(({ verdict }) => verdict === "matches").length, 7);
  });

  it("leaves what has not had its turn as it was, but for its variables", async () => {
    await runAll(page);
    await typeInto(page, cell(2), "while (true) {}");
    await click(page, ".view[data-current] [data-action='run-all']");
    await page.waitForSelector(`${cell(2)}[data-state="running"]`);
    await click(page, ".view[data-current] [data-action='stop']");
    await waitUntilIdle(page);
    await page.waitForSelector(`${cell(18)}[data-stale][data-state="done"]`);
    assert.equal(await textOf(page, `${cell(18)} .cell-counter`), "In [18]");
    assert.equal(await textOf(page, `${cell(18)} .verdict`), "matches PyTorch 2.6");
  });

  it("hands the focus to Run all, and is announced once", async () => {
    await page.evaluate(() => {
      window.announced = [];
      const region = document.getElementById("announcements");
      new MutationObserver(() => {
        if (region.textContent) window.announced.push(region.textContent);
      }).observe(region, { childList: true, characterData: true, subtree: true });
    });
    const stop = async (start) => {
      await typeInto(page, cell(1), "while (true) {}");
      await start();
      await page.waitForSelector(`${cell(1)}[data-state="running"]`);
      await page.focus(".view[data-current] [data-action='stop']");
      await press(page, "Enter");
      await waitUntilIdle(page);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.action), "run-all");
      // Announcements are made after 50 milliseconds.
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
      assert.deepEqual(await page.evaluate(() => window.announced.splice(0)), [
        "Stopped. The variables of this notebook are gone.",
      ]);
    };
    await stop(() => press(page, "Mod+Enter"));
    await stop(() => click(page, ".view[data-current] [data-action='run-all']"));
  });

  it("marks earlier outputs as old, because their variables are gone", async () => {
    await runInFirstCell("let kept = 1;");
    await typeInto(page, cell(2), "while (true) {}");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(2)}[data-state="running"]`);
    await click(page, ".view[data-current] [data-action='stop']");
    await waitUntilIdle(page);
    await page.waitForSelector(`${cell(1)}[data-stale]`);
    await typeInto(page, cell(2), "kept");
    await press(page, "Mod+Enter");
    await waitUntilIdle(page);
    assert.match((await readCells(page))[1].error, /kept is not defined/);
  });
});

describe("Editing", () => {
  it("shows where an output differs, and Reset cell brings the original back", async () => {
    await runAll(page);
    await typeInto(page, cell(18), "dequantized_tensor.sub(test_tensor).abs().mean();");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(18)}[data-verdict="differs"]`);
    assert.equal(await textOf(page, `${cell(18)} .verdict`), "differs from the unedited notebook");
    const [ink, verdict] = await page.$$eval(`${cell(18)} :is(.cell-label, .verdict)`, (all) =>
      all.map((each) => getComputedStyle(each).color),
    );
    assert.equal(verdict, ink);
    const difference = await page.$$eval(`${cell(18)} .difference pre > span`, (lines) =>
      lines.map((line) => [line.className, line.textContent.trim()]),
    );
    assert.deepEqual(difference[0], ["line-expected", "expected: − tensor(170.8753)"]);
    assert.equal(difference[1][0], "line-actual");

    await click(page, `${cell(18)} button.reset-cell`);
    await click(page, `${cell(18)} button.run`);
    await page.waitForSelector(`${cell(18)}[data-verdict="matches"]`);
    assert.equal(await countVisible(page, `${cell(18)} button.reset-cell`), 0);
  });

  it("makes the output beside it old, until the code is again what was run", async () => {
    await runAll(page);
    const last = cell(18);
    const colour = () => page.$eval(`${last} .verdict`, (each) => getComputedStyle(each).color);
    const good = await colour();
    assert.match(await textOf(page, ".view[data-current] .toolbar-status"), /; 7 of 7 outputs/);
    await clickInto(page, last);
    // Where no code is right that begins with it.
    await press(page, "Home");
    await enter(page, "1");
    await page.waitForSelector(`${last}[data-stale][data-verdict="matches"]`);
    assert.notEqual(await colour(), good);
    assert.match(await textOf(page, ".view[data-current] .toolbar-status"), /; 6 of 6 outputs/);
    await press(page, "Backspace");
    await page.waitForSelector(`${last}:not([data-stale])`);
    assert.equal(await colour(), good);
    await enter(page, "1");
    await page.waitForSelector(`${last}[data-stale]`);
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${last}[data-state="failed"]:not([data-stale])`);
  });

  it("elsewhere in the notebook is why an output differs", async () => {
    await typeInto(page, cell(4), "let scale = 3.6; let zero_point = -70;");
    await runAll(page);
    await page.waitForSelector(`${cell(6)}[data-verdict="differs"]`);
    assert.equal(await textOf(page, `${cell(6)} .verdict`), "differs from the unedited notebook");
  });

  it("comes back after Reset notebook by Undo, until something else is changed", async () => {
    const status = ".view[data-current] .toolbar-status";
    const undo = `${status} [data-action="undo-reset"]`;
    const reset = async () => {
      await page.$eval("#announcements", (region) => region.replaceChildren());
      await click(page, ".view[data-current] [data-action='reset']");
      await page.waitForFunction(() =>
        document.getElementById("announcements").textContent.includes("as it was at first"),
      );
    };
    await reset();
    assert.equal(await page.$(undo), null);
    await typeInto(page, cell(1), "6 * 7");
    await typeInto(page, cell(2), "43");
    await reset();
    assert.equal(await textOf(page, status), "Reset. Undo");
    assert.match(await textOf(page, "#announcements"), /Undo brings your changes back/);
    assert.equal(await page.$(".cell[data-edited]"), null);
    await page.focus(undo);
    await press(page, "Enter");
    await page.waitForFunction(
      () => document.getElementById("announcements").textContent === "Your changes are back.",
    );
    assert.equal(await textOf(page, `${cell(1)} >>> .cm-content`), "6 * 7");
    assert.equal(await textOf(page, `${cell(2)} >>> .cm-content`), "43");
    assert.equal(await page.$(undo), null);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.action), "reset");

    await reset();
    await page.waitForSelector(undo);
    await runAll(page);
    assert.match(await textOf(page, undo), /^Undo reset$/);
    await typeInto(page, cell(3), "44");
    assert.equal(await page.$(undo), null);
  });

  it("is undone for all cells by Reset notebook, which also starts a fresh worker", async () => {
    await runInFirstCell("globalThis.leak = 1;");
    await click(page, ".view[data-current] [data-action='reset']");
    await page.waitForFunction(() =>
      document.getElementById("announcements").textContent.includes("as it was at first"),
    );
    assert.ok((await readCells(page)).every(({ output, state }) => !output && state === "idle"));
    const { output } = await runInFirstCell("typeof leak");
    assert.equal(output, "'undefined'");
  });
});

describe("What was changed", () => {
  it("is there again when the page is loaded again, until it is reset", async () => {
    const load = async () => {
      await page.reload();
      await page.waitForSelector(`#${NOTEBOOK}[data-current] .toolbar:not([hidden])`);
    };
    const original = await textOf(page, `${cell(1)} >>> .cm-content`);
    await runInFirstCell("6 * 7");
    await load();
    await page.waitForSelector(`${cell(1)}[data-edited] button.reset-cell:not([hidden])`);
    await click(page, `${cell(1)} button.run`);
    await page.waitForSelector(`${cell(1)}[data-state="done"]`);
    assert.equal((await readCells(page))[0].output, "42");
    assert.equal(await textOf(page, `${cell(1)} >>> .cm-content`), "6 * 7");
    await click(page, `${cell(1)} button.reset-cell`);
    await load();
    assert.equal(await page.$(`${cell(1)}[data-edited]`), null);
    assert.equal(await textOf(page, `${cell(1)} >>> .cm-content`), original);
  });
});

describe("An editor", () => {
  it("takes exactly the room of the code it replaces, so that nothing jumps", async () => {
    const heights = (where) =>
      where.$$eval(`#${NOTEBOOK} .cell-code`, (all) =>
        all.map((code) => code.getBoundingClientRect().height),
      );
    for (let number = 1; number <= 18; number++) {
      await bringIntoView(page, cell(number));
      await page.waitForSelector(`${cell(number)} >>> .cm-content`);
    }
    const withEditors = await heights(page);

    const withoutScripts = await serveSite({ headers: WITHOUT_SCRIPTS });
    const still = await openPage(browser, withoutScripts.url, { isLive: false });
    assert.deepEqual(withEditors, await heights(still.page));
    await still.close();
    await withoutScripts.close();
  });
});

describe("An editor in forced colours", () => {
  it("shows that it has the focus", chromiumOnly("force colours"), async () => {
    const session = await page.createCDPSession();
    const features = [{ name: "forced-colors", value: "active" }];
    await session.send("Emulation.setEmulatedMedia", { features });
    await clickInto(page, cell(1));
    const { outlineStyle, outlineWidth } = await page.$eval(`${cell(1)} .cell-code`, (code) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(code);
      return { outlineStyle, outlineWidth };
    });
    assert.deepEqual(
      { outlineStyle, outlineWidth },
      { outlineStyle: "solid", outlineWidth: "2px" },
    );
  });
});

describe("Run to here", () => {
  it("runs the cells above and this one, and no more", async () => {
    await click(page, `${cell(6)} button.run-to-here`);
    await waitUntilIdle(page);
    const states = (await readCells(page)).map(({ state }) => state);
    assert.deepEqual(states.slice(0, 6), Array(6).fill("done"));
    assert.ok(states.slice(6).every((state) => state !== "done"));
  });
});

describe("The keyboard alone", () => {
  it("opens a notebook, runs every cell with Shift+Enter, and leaves the editor with Escape", async () => {
    await page.evaluate(() => {
      location.hash = "overview";
      document.activeElement?.blur();
    });
    await page.waitForSelector("#overview[data-current]");
    const focusedText = () =>
      page.evaluate(() => document.activeElement?.textContent.trim().replace(/\s+/g, " "));

    // To the first notebook's link, and through it.
    let text = "";
    for (let i = 0; i < 40 && !/^1\s?Quantize and dequantize/.test(text); i++) {
      await page.keyboard.press("Tab");
      text = await focusedText();
    }
    assert.match(text, /^1\s?Quantize and dequantize/);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`#${NOTEBOOK}[data-current]`);

    // Into the first editor: it takes part in the order of the Tab key.
    const inEditor = () => page.evaluate(() => document.activeElement?.className === "editor");
    for (let i = 0; i < 40 && !(await inEditor()); i++) await page.keyboard.press("Tab");
    assert.ok(await inEditor());

    for (let number = 1; number <= 18; number++) {
      // The next editor has the focus as soon as it is made, which may be after the run.
      await page.waitForFunction(
        (id) => document.activeElement.closest(".cell")?.dataset.cell === id,
        {},
        `cell-${number}`,
      );
      await press(page, "Shift+Enter");
      await page.waitForSelector(`${cell(number)}[data-state="done"]`);
    }
    assert.equal((await readCells(page)).filter(({ verdict }) => verdict === "matches").length, 7);

    // Tab indents, until Escape.
    const source = () => textOf(page, `${cell(18)} >>> .cm-content`);
    const before = await source();
    await page.keyboard.press("Tab");
    assert.notEqual(await source(), before);
    await page.keyboard.press("Escape");
    // CodeMirror alone would forget the Escape after two seconds.
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 2500;
    });
    await page.keyboard.press("Tab");
    assert.ok(!(await inEditor()));
  });

  it("passes through an editor with Tab, which indents once the code was changed or clicked", async () => {
    const before = await textOf(page, `${cell(1)} >>> .cm-content`);
    const source = () => textOf(page, `${cell(1)} >>> .cm-content`);
    const inEditor = () =>
      page.evaluate((own) => !!document.querySelector(`${own} .editor:focus-within`), cell(1));
    const comeByTab = async () => {
      await page.focus(`${cell(1)} button.run`);
      await page.keyboard.press("Tab");
      assert.ok(await inEditor());
    };
    await comeByTab();
    await page.keyboard.press("Tab");
    assert.ok(!(await inEditor()));
    await press(page, "Shift+Tab");
    assert.ok(await inEditor());
    await press(page, "Shift+Tab");
    assert.ok(!(await inEditor()));
    assert.equal(await source(), before);

    await comeByTab();
    await enter(page, "1");
    await page.keyboard.press("Tab");
    assert.ok(await inEditor());
    assert.equal(await source(), `  1${before}`);

    await page.keyboard.press("Escape");
    await enter(page, "2");
    await page.keyboard.press("Tab");
    assert.ok(!(await inEditor()));

    await comeByTab();
    await clickInto(page, cell(1));
    const clicked = await source();
    await page.keyboard.press("Tab");
    assert.ok(await inEditor());
    assert.notEqual(await source(), clicked);
  });

  it("reaches every control, each with a name and a visible focus", async () => {
    await runAll(page);
    const seen = new Set();
    await page.focus(".skip-link");
    await page.keyboard.press("Tab");
    for (let i = 0; i < 400; i++) {
      const focused = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const inner = element.shadowRoot?.activeElement ?? element;
        const box = element.closest(".cell-code") ?? inner;
        const shown = [inner, box].some((each) => {
          const { outlineStyle, outlineWidth } = getComputedStyle(each);
          return outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0;
        });
        return {
          key: `${element.closest("[id]")?.id} ${element.className} ${element.textContent.trim().slice(0, 20)}`,
          name: (inner.getAttribute("aria-label") ?? inner.textContent).trim(),
          shown,
        };
      });
      if (!focused) break;
      assert.ok(focused.name.length > 0, `${focused.key} has no name`);
      assert.ok(focused.shown, `${focused.key} does not show that it is focused`);
      seen.add(focused.key);
      await page.keyboard.press("Tab");
    }
    assert.equal(await page.$(".cell[data-edited]"), null, "Tab has edited on its way");
    const keys = [...seen].join("\n");
    for (const name of [
      "button run ",
      "button run-to-here",
      "Dark theme",
      "Keys",
      "Run all",
      "Table",
    ]) {
      assert.ok(keys.includes(name), `${name} was not reached`);
    }
  });

  it("sees the cell that Shift+Enter goes on to, however much room the output takes", async () => {
    await page.setViewport({ width: 1280, height: 800 });
    // At the top of a page no browser keeps what is seen in its place, and some do nowhere.
    await page.evaluate(() => {
      document.documentElement.style.overflowAnchor = "none";
    });
    await typeInto(
      page,
      cell(1),
      "await new Promise((done) => setTimeout(done, 1500));\nfor (let i = 0; i < 60; i++) print(i);",
    );
    await press(page, "Shift+Enter");
    await page.waitForSelector(`${cell(2)} .editor:focus-within`);
    await page.waitForSelector(`${cell(1)}[data-state="done"]`);
    // Smoothly, or at once: in the end the head of the cell is on the screen.
    await page.waitForFunction(
      (selector) => {
        const { top } = document.querySelector(selector).getBoundingClientRect();
        return top > 0 && top < innerHeight;
      },
      { timeout: 10_000 },
      `${cell(2)} .cell-head`,
    );
  });

  it("is told what happened by a polite announcement", async () => {
    await clickInto(page, cell(1));
    await press(page, "Shift+Enter");
    await page.waitForFunction(
      () => document.getElementById("announcements").textContent === "Cell 1 ran.",
    );
    await runAll(page);
    await page.waitForFunction(() =>
      document
        .getElementById("announcements")
        .textContent.includes("18 cells ran. 7 of 7 outputs match"),
    );
    assert.equal(await attributeOf(page, "#announcements", "aria-live"), "polite");
  });

  it("is told at the end, too, when all cells are run while one is running", async () => {
    await typeInto(page, cell(1), "await new Promise((done) => setTimeout(done, 1000));");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(1)}[data-state="running"]`);
    await click(page, ".view[data-current] [data-action='run-all']");
    await page.waitForFunction(() =>
      document.getElementById("announcements").textContent.startsWith("18 cells ran."),
    );
  });
});

describe("A worker that cannot be loaded", () => {
  it("is reported at the cell", async () => {
    const broken = await serveSite({ missing: /\/worker-[^/]*\.js$/ });
    const other = await openPage(browser, broken.url);
    await openNotebook(other.page, NOTEBOOK);
    await click(other.page, `${cell(1)} button.run`);
    await other.page.waitForSelector(`${cell(1)} .cell-error`);
    assert.match(
      await textOf(other.page, `${cell(1)} .cell-error`),
      /Cannot run The worker that runs the cells could not be loaded/,
    );
    await other.close();
    await broken.close();
  });
});

describe("What comes when a cell has ended", () => {
  it("is shown at that cell: what a timer prints, and what it throws", async () => {
    const first = `${cell(1)} .cell-output`;
    await runInFirstCell("setTimeout(() => print('late'), 50);\nlet kept = 1;");
    await page.waitForSelector(`${first} pre.text`);
    assert.equal((await textOf(page, first)).trim(), "late");
    await runInFirstCell("setTimeout(() => {\n  throw new Error('too late');\n}, 50);\n1");
    await page.waitForSelector(`${first} .cell-error`);
    assert.match(
      await textOf(page, first),
      /1\s+Error too late\s*line 2\s*It came after the cell had ended: is an await missing\?/,
    );
    // The notebook's variables are still there.
    assert.equal((await runInFirstCell("kept + 1")).output, "2");
  });

  it("is shown, too, where a promise is rejected that nobody awaits", async () => {
    await runInFirstCell("Promise.reject(new RangeError('alone'));\n1");
    await page.waitForSelector(`${cell(1)} .cell-error`);
    assert.match(await textOf(page, `${cell(1)} .cell-error`), /^\s*RangeError alone/);
  });
});

describe("What a timer throws while its cell is waiting", () => {
  it("ends that cell, and leaves the variables as they are", async () => {
    await runInFirstCell("let kept = 1;");
    const { state, error } = await runInFirstCell(
      "setTimeout(() => { throw new Error('late'); }, 20);\nawait new Promise(() => {});",
    );
    assert.equal(state, "failed");
    assert.match(error, /^\s*Error late\s*line 1/);
    assert.equal((await runInFirstCell("kept + 1")).output, "2");
  });
});

describe("A forgotten await", () => {
  it("is named where a Promise meets an operator, a text or a method", async () => {
    const missing = /write await before what makes it/;
    assert.match((await runInFirstCell("Promise.resolve(1) + 1")).error, missing);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the cell's own
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
