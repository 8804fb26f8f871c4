// Runs every cell of every notebook in the page, and compares the outputs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { heatMapCells } from "./heat-maps.mjs";
import {
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
  textOf,
  typeInto,
  waitFor,
} from "./page.mjs";
import { NOTEBOOKS } from "./site/views.mjs";
import { browser, site } from "./site-and-browser.mjs";

const seeds = JSON.parse(readFileSync(new URL("../vectors/seeds.json", import.meta.url), "utf8"));
const qconfigs = JSON.parse(
  readFileSync(new URL("../vectors/qconfig.json", import.meta.url), "utf8"),
);
const seed = (id) => seeds.cases.find((one) => one.id === `seeds/${id}`);

// The cells of the originals. Numbers missing here are missing there too.
const numbered = (...numbers) => numbers.flat().map((number) => `in-${number}`);
const from = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const counted = (count) => from(1, count).map((number) => `cell-${number}`);
const ORIGINALS = {
  "quantize-and-dequantize": counted(18),
  "finer-granularity": numbered(
    [1, 2, 3, 9, 10, 11, 12, 15, 16, 17, 14, 18, 21, 22, 23, 24, 25, 26, 27, 28],
    from(30, 58),
    [60, 61, 64],
  ),
  "per-channel": counted(39),
  "schemes-observers-qconfig": counted(10),
  "quantizer-from-scratch": numbered(from(1, 55), from(57, 59)),
};

// Cells with a known output, from the original or from PyTorch, by notebook.
const COMPARED = {
  "quantize-and-dequantize": counted(18).filter((_, i) =>
    [6, 9, 10, 13, 16, 17, 18].includes(i + 1),
  ),
  "finer-granularity": numbered(
    [16, 17, 18, 22, 26, 28, 30, 31, 33, 35, 37, 39, 41, 42, 43, 44, 45, 47, 48, 50, 51, 52, 53],
    [55, 61, 64],
  ),
  "per-channel": [
    5, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 26, 28, 29, 30, 31, 33, 38, 39,
  ].map((number) => `cell-${number}`),
  "schemes-observers-qconfig": ["2", "3", "4", "6-fixed", "8", "9", "10"].map((id) => `cell-${id}`),
  "quantizer-from-scratch": numbered(
    [6, 8, 9, 11, 12, 13, 14, 15, 16, 18, 21, "22-extra", "23-printed", "26-printed", "29-printed"],
    [36, 37, 39, 40, 41, 42, 43, 44, 47, 48, 57, 58, 59],
  ),
};

const RANDOM = numbered([23, 24, 25, 26, 27, 29, 30, 32, 33, 34, 51, 52]);
const ROUNDED = ["in-25-printed", "in-27-printed", "in-30-printed", "in-34-printed"];

for (const [notebook, originals] of Object.entries(ORIGINALS)) {
  describe(`Notebook ${notebook}`, () => {
    let visit;
    let cells;
    before(async () => {
      visit = await openPage(browser, site.url);
      await openNotebook(visit.page, notebook);
      await runAll(visit.page);
      cells = await readCells(visit.page);
    });
    after(() => visit.close());

    it("has every cell of the original, in its order", () => {
      const ids = cells
        .map(({ id }) => id)
        .filter((id) => !/-(printed|fixed|extra|torchao)$/.test(id));
      assert.deepEqual(ids, originals);
    });

    it("runs every cell without an error", () => {
      const failed = cells.filter(({ state }) => state !== "done");
      assert.deepEqual(failed, []);
    });

    it("matches every known output, character for character", () => {
      const comparable = cells.filter(({ kind }) => kind === "stored" || kind === "torch");
      assert.deepEqual(
        comparable.map(({ id }) => id),
        COMPARED[notebook],
      );
      for (const { id, output, expected, verdict } of comparable) {
        assert.equal(output, expected, id);
        assert.equal(verdict, "matches", id);
      }
    });

    it("makes no foreign requests and breaks no policy", async () => {
      assert.deepEqual(await visit.problems(), []);
    });
  });
}

describe("Expected outputs", () => {
  /** By cell: the expected text, and its label on the page. */
  let expected;
  before(async () => {
    const visit = await openPage(browser, site.url);
    for (const id of NOTEBOOKS) await openNotebook(visit.page, id);
    const expectations = await visit.page.$$eval(".cell-expected", (elements) =>
      elements.map((element) => [
        element.closest(".cell").id,
        { kind: element.dataset.kind, text: element.querySelector("pre").textContent },
      ]),
    );
    await visit.close();
    expected = new Map(expectations);
  });

  it("equal the originals' in the vectors", () => {
    const printed = seeds.cases.filter((one) => one.printed !== null);
    const compared = printed.flatMap(({ id, printed: text }) => {
      const [, source, cell] = id.match(/^seeds\/(\d+)\.(.*)$/);
      const notebook = { "001": "finer-granularity", "004": "quantizer-from-scratch" }[source];
      const number = cell.match(/^In\[(\d+)\]$/)?.[1];
      if (!notebook || !number) return [];
      const { kind, text: shown } =
        expected.get(`${notebook}-in-${number}`) ??
        expected.get(`${notebook}-in-${number}-printed`);
      assert.equal(kind, "stored", id);
      assert.equal(shown, text, id);
      return [id];
    });
    assert.equal(compared.length, 24);
  });

  it("equal PyTorch's where the original has none", () => {
    const cells = {
      "quantize-and-dequantize-cell-6": "002.quantized_tensor",
      "quantize-and-dequantize-cell-9": "002.dequantized_tensor",
      "quantize-and-dequantize-cell-10": "002.no_cast",
      "quantize-and-dequantize-cell-13": "002.dequantized_tensor",
      "quantize-and-dequantize-cell-16": "002.diff",
      "quantize-and-dequantize-cell-17": "002.square",
      "quantize-and-dequantize-cell-18": "002.mse",
      "per-channel-cell-9": "001.In[31]",
      "per-channel-cell-15": "001.In[37]",
      "per-channel-cell-26": "001.In[48]",
      "per-channel-cell-29": "001.In[51]",
      "per-channel-cell-33": "000.per_channel_dim0",
      "per-channel-cell-38": "001.In[61]",
      "per-channel-cell-39": "001.In[64]",
      "schemes-observers-qconfig-cell-3": "003.per_tensor",
      "schemes-observers-qconfig-cell-4": "003.per_channel",
    };
    for (const [cell, id] of Object.entries(cells)) {
      assert.deepEqual(expected.get(cell), { kind: "torch", text: seed(id).torch_repr }, cell);
    }
  });
});

describe("Random cells", () => {
  // One page for all tests: the last one changes it.
  let visit;
  let page;
  /** The cells after each of three runs. */
  const runs = [];
  before(async () => {
    visit = await openPage(browser, site.url);
    ({ page } = visit);
    await openNotebook(page, "quantizer-from-scratch");
    for (let round = 0; round < 3; round++) {
      await runAll(page);
      runs.push(await readCells(page));
    }
  });
  after(() => visit?.close());

  it("are marked", async () => {
    const marked = await page.$$eval(".view[data-current] .tag-random", (tags) =>
      tags.map((tag) => tag.closest(".cell").dataset.cell),
    );
    assert.deepEqual(marked, RANDOM);
  });

  it("satisfy their properties in every run", () => {
    for (const cells of runs) {
      for (const { id, checks, verdict } of cells) {
        // in-24 draws quantized_tensor and scale again: it shows nothing and has no property.
        if (!RANDOM.includes(id) || id === "in-24") continue;
        assert.equal(verdict, "holds", id);
        assert.ok(checks.length > 0 && checks.every((check) => check === "holds"), id);
      }
    }
  });

  it("differ from run to run", () => {
    const outputs = runs.map((cells) => cells.find(({ id }) => id === "in-23").output);
    assert.equal(new Set(outputs).size, 3);
  });

  it("are followed by the numbers the original printed, which agree to 4 decimals", async () => {
    for (const id of ROUNDED) {
      const { verdict, checks, kind } = runs.at(-1).find((cell) => cell.id === id);
      assert.equal(kind, "rounded", id);
      assert.equal(verdict, "holds", id);
      assert.ok(
        checks.every((check) => check === "holds"),
        id,
      );
      const text = await textOf(page, `${cellSelector("quantizer-from-scratch", id)} .verdict`);
      assert.equal(text, "agrees as far as 4 decimals allow");
    }
  });

  it("report a violated property", async () => {
    // A scale that does not match the codes: values move by more than half a step.
    const cell = cellSelector("quantizer-from-scratch", "in-33");
    await clickInto(page, cell);
    await press(page, "Mod+a");
    await enter(page, "dequantized_tensor = test_tensor.mul(2);");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell}[data-verdict="violated"]`);
    assert.match(await textOf(page, `${cell} .check-result`), /does not hold/);
  });
});

describe("Notebook 2's plot", () => {
  it("replaces the stored NameError, with a note", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await openNotebook(page, "finer-granularity");
    await runAll(page);
    const cell = cellSelector("finer-granularity", "in-21");
    const { plots, state, kind, expected } = (await readCells(page)).find(
      ({ id }) => id === "in-21",
    );
    assert.deepEqual({ plots, state, kind }, { plots: 1, state: "done", kind: "replaced" });
    assert.equal(expected, "NameError: name 'plot_quantization_errors' is not defined");
    assert.match(await textOf(page, `${cell} .cell-expected summary`), /plot takes its place/);
    await visit.close();
  });
});

describe("plot_quantization_errors", () => {
  let visit;
  before(async () => {
    visit = await openPage(browser, site.url);
    await openNotebook(visit.page, "quantize-and-dequantize");
    await runAll(visit.page);
  });
  after(() => visit.close());
  const cell = cellSelector("quantize-and-dequantize", "cell-15");

  it("draws original, codes, dequantized and absolute error, with the number of bits", async () => {
    const titles = await visit.page.$$eval(`${cell} .panel figcaption`, (captions) =>
      captions.map((caption) => caption.firstChild.textContent),
    );
    assert.equal(titles.length, 4);
    assert.match(titles[0], /original/i);
    assert.match(titles[1], /8.bit/i);
    assert.match(titles[2], /dequantized/i);
    assert.match(titles[3], /error/i);
    assert.match(await textOf(visit.page, `${cell} .plot-title`), /3 × 3 tensor to 8 bits/);
  });

  /** The texts of each panel's drawing and table, and the drawing's label. */
  async function readPanels() {
    await visit.page.$$eval(`${cell} .panel details`, (tables) => {
      for (const table of tables) table.open = true;
    });
    await waitFor(
      visit.page,
      (panel) =>
        [...document.querySelectorAll(panel)].every((each) => each.querySelector("tbody td")),
      `${cell} .panel`,
    );
    return visit.page.$$eval(`${cell} .panel`, (all) =>
      all.map((panel) => ({
        drawn: Array.from(panel.querySelectorAll("svg text"), (text) => text.textContent),
        listed: Array.from(panel.querySelectorAll("tbody td"), (value) => value.textContent),
        label: panel.querySelector("svg").getAttribute("aria-label"),
      })),
    );
  }

  it("writes the same numbers into the drawing and into the table behind it", async () => {
    const panels = await readPanels();
    assert.equal(panels.length, 4);
    for (const { drawn, listed, label } of panels) {
      assert.equal(drawn.length, 9);
      assert.deepEqual(drawn, listed);
      assert.match(label, /3 rows, 3 columns, from .* to /);
    }
  });

  it("writes PyTorch's codes into the second panel, and errors into the last", async () => {
    const panels = await readPanels();
    assert.deepEqual(
      panels[1].drawn.map((text) => Number(text.replace("−", "-"))),
      seed("002.quantized_tensor").out.q.data,
    );
    assert.equal(panels[3].drawn[2], "39.1");
  });

  it("keeps every number readable on its background colour", async () => {
    const cells = await heatMapCells(visit.page, `${cell} svg.heat-map`);
    const ratios = cells.map(({ contrast }) => contrast);
    assert.equal(ratios.length, 36);
    assert.ok(Math.min(...ratios) >= 4.5, `least contrast ${Math.min(...ratios)}`);
  });

  it("gives a code the colour of the value that it stands for, on a scale that its legend shows", async () => {
    const panels = await visit.page.$$eval(`${cell} svg.heat-map`, (maps) =>
      maps.map((map) =>
        Array.from(map.querySelectorAll("rect"), (rect) => rect.getAttribute("fill")),
      ),
    );
    const [, codes, dequantized] = panels;
    assert.deepEqual(codes, dequantized);
    const bars = await visit.page.$$eval(`${cell} .scale-bar`, (all) =>
      all.map((bar) => new Set(Array.from(bar.children, (each) => each.getAttribute("fill"))).size),
    );
    assert.equal(bars.length, 2);
    assert.ok(
      bars.every((colours) => colours >= 20),
      String(bars),
    );
    const ends = await visit.page.$$eval(`${cell} .scale-end`, (all) =>
      all.map(({ textContent }) => textContent),
    );
    assert.equal(ends[0], `−${ends[1]}`);
  });

  it("writes numbers of at least 9 pixels, on a phone too", async () => {
    for (const width of [390, 1440]) {
      await visit.page.setViewport({ width, height: 900 });
      const sizes = await visit.page.$$eval(`${cell} svg.heat-map`, (maps) =>
        maps.map((map) => {
          const scale = map.getBoundingClientRect().width / map.viewBox.baseVal.width;
          return scale * Number(map.querySelector("text").getAttribute("font-size"));
        }),
      );
      assert.ok(Math.min(...sizes) >= 9, `${width}: ${sizes}`);
    }
    await visit.page.setViewport({ width: 1280, height: 900 });
  });

  it("scrolls where numbers of 9 pixels do not fit, on a phone", async () => {
    const { page } = visit;
    const wide = cellSelector("quantize-and-dequantize", "cell-18");
    await page.setViewport({ width: 390, height: 900 });
    await typeInto(
      page,
      wide,
      "let wide = torch.randn([3, 12]);\nlet wideCodes = linear_q_with_scale_and_zero_point(wide, 0.1, 0);\n" +
        "plot_quantization_errors(wide, wideCodes, linear_dequantization(wideCodes, 0.1, 0));",
    );
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${wide} svg.heat-map`);
    const maps = await page.$$eval(`${wide} svg.heat-map`, (all) =>
      all.map((map) => {
        const { width } = map.getBoundingClientRect();
        const scale = width / map.viewBox.baseVal.width;
        const size = scale * Number(map.querySelector("text").getAttribute("font-size"));
        return { size, isWider: width > map.closest(".scroll-x").clientWidth };
      }),
    );
    for (const { size, isWider } of maps) assert.ok(size >= 9 && isWider, `${size}, ${isWider}`);
    await page.setViewport({ width: 1280, height: 900 });
  });

  it("writes all numbers in one size, with margins at their sides", async () => {
    const numbers = await visit.page.$$eval(`${cell} svg.heat-map text`, (texts) =>
      texts.map((text) => ({
        size: text.getAttribute("font-size"),
        width: text.getBBox().width,
        room: text.closest("svg").querySelector("rect").getBBox().width,
      })),
    );
    assert.equal(new Set(numbers.map(({ size }) => size)).size, 1);
    for (const { width, room } of numbers) assert.ok(width <= room - 6, `${width} of ${room}`);
  });

  describe("of a big tensor", () => {
    const big = cellSelector("quantize-and-dequantize", "cell-18");
    before(async () => {
      const { page } = visit;
      await typeInto(
        page,
        big,
        "let big = torch.randn([100, 30]);\nlet codes = linear_q_with_scale_and_zero_point(big, 0.1, 0);\n" +
          "plot_quantization_errors(big, codes, linear_dequantization(codes, 0.1, 0));",
      );
      await press(page, "Mod+Enter");
      await page.waitForSelector(`${big} .plot canvas`);
    });

    it("draws every value on a canvas", async () => {
      const drawn = await visit.page.$eval(`${big} .panel canvas`, (canvas) => {
        const { width, height } = canvas;
        const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
        const [cellWidth, cellHeight] = [width / 30, height / 100];
        let drawn = 0;
        for (let i = 0; i < 100; i++) {
          for (let j = 0; j < 30; j++) {
            drawn += pixels[4 * (i * cellHeight * width + j * cellWidth) + 3] === 255;
          }
        }
        return drawn;
      });
      assert.equal(drawn, 100 * 30);
    });

    it("labels the canvas, which fits its panel", async () => {
      const { label, isWhole } = await visit.page.$eval(`${big} .panel`, (panel) => {
        const canvas = panel.querySelector("canvas");
        return {
          label: canvas.getAttribute("aria-label"),
          isWhole: canvas.getBoundingClientRect().width <= panel.clientWidth,
        };
      });
      assert.ok(isWhole);
      assert.match(label, /100 rows, 30 columns/);
    });

    it("pages the table", async () => {
      const { page } = visit;
      const table = `${big} .panel details`;
      await page.$eval(table, (details) => {
        details.open = true;
      });
      assert.match(await textOf(page, `${table} .pager`), /Rows 0 to 24 of 100/);
      for (const last of [49, 74, 99]) {
        await click(page, `${table} [aria-label="Next rows"]`);
        assert.match(await textOf(page, `${table} .pager`), new RegExp(`to ${last} of 100`));
      }
      assert.equal(
        await page.$eval(table, (details) => details.querySelectorAll("tbody tr").length),
        25,
      );
    });
  });
});

describe("The exercise skeleton", () => {
  it("is marked as one, and its call fails with an undefined name", async () => {
    for (const [notebook, id] of [
      ["finer-granularity", "in-23"],
      ["per-channel", "cell-2"],
    ]) {
      const visit = await openPage(browser, site.url);
      const { page } = visit;
      await openNotebook(page, notebook);
      const cell = cellSelector(notebook, id);
      assert.match(await textOf(page, `${cell} .tag-skeleton`), /exercise skeleton/);
      await clickInto(page, cell);
      await press(page, "Mod+End");
      await enter(page, "\nlinear_q_symmetric_per_channel(1, 0, 0);");
      await press(page, "Mod+Enter");
      await page.waitForSelector(`${cell} .cell-error`);
      assert.match(await textOf(page, `${cell} .cell-error`), /quantized_tensor is not defined/);
      await visit.close();
    }
  });
});

describe("Notebook 4", () => {
  let visit;
  let page;
  let cells;
  before(async () => {
    visit = await openPage(browser, site.url);
    ({ page } = visit);
    await openNotebook(page, "schemes-observers-qconfig");
    await runAll(page);
    cells = new Map((await readCells(page)).map((cell) => [cell.id, cell]));
  });
  after(() => visit?.close());

  it("shows PyTorch's results for fixed batches", () => {
    const names = ["MovingAverageMinMax", "Histogram", "MovingAveragePerChannelMinMax"];
    const lines = names.map((name) => `${name}Observer ${seed(`003.${name}Observer`).torch_repr}`);
    assert.equal(cells.get("cell-6-fixed").output, lines.join("\n"));
  });

  it("satisfies properties of random batches", () => {
    for (const [id, count] of [
      ["cell-5", 2],
      ["cell-6", 4],
    ]) {
      const { checks, verdict } = cells.get(id);
      assert.equal(verdict, "holds", id);
      assert.deepEqual(checks, Array(count).fill("holds"), id);
    }
  });

  it("prints QConfigs as PyTorch does", () => {
    for (const [id, name] of [
      ["cell-8", "default_per_channel_qconfig"],
      ["cell-9", "default_dynamic_qconfig"],
      ["cell-10", "per_channel_dynamic_qconfig"],
    ]) {
      const vector = qconfigs.cases.find((one) => one.in.name === name);
      assert.equal(cells.get(id).output, vector.out.repr, id);
    }
  });

  const observers = '[data-figure="observer"]';
  const play = `${observers} [data-action="play"]`;

  /** What the figure of the observers shows. */
  const readObservers = () =>
    page.$eval(observers, (element) => ({
      seen: Number(element.querySelector("input").value),
      labels: Array.from(element.querySelectorAll("svg.drawing"), (svg) =>
        svg.getAttribute("aria-label"),
      ),
      bands: Array.from(element.querySelectorAll(".band"), (band) => band.getAttribute("points")),
      rows: Array.from(element.querySelectorAll("tbody tr"), (row) =>
        Array.from(row.children, (cell) => cell.textContent),
      ),
      // A bar begins with M; bins without values have none.
      bins: element.querySelector("path.bin").getAttribute("d").split("M").length - 1,
    }));

  /** Moves the slider of the observers. */
  async function setBatches(count) {
    await page.waitForSelector(`${observers} form:not([hidden])`);
    await page.locator(`${observers} input`).fill(count);
    // The first use of a control loads the script that draws the illustration.
    await waitFor(
      page,
      (selector) => document.querySelectorAll(`${selector} tbody`).length === 1,
      observers,
    );
  }

  async function pressOn(button, key) {
    await page.focus(button);
    await press(page, key);
  }

  it("shows three observers after the batches that the slider says", async () => {
    await setBatches("4");
    const { rows, bins, bands } = await readObservers();
    assert.deepEqual(
      rows.map(([name]) => name),
      ["min-max", "moving average", "histogram"],
    );
    assert.ok(bins > 32 && bins <= 64, String(bins));
    assert.equal(bands.length, 3);
  });

  it("feeds the next batch to its observers by button", async () => {
    await setBatches("4");
    const before = await readObservers();
    // The fifth batch has the outlier: min-max takes all of it, the average a quarter of it.
    await pressOn(`${observers} [data-action="step"]`, "Enter");
    const after = await readObservers();
    assert.equal(after.seen, 5);
    const max = ({ rows }, row) => Number(rows[row][2]);
    assert.equal(max(after, 0), 6.5);
    const expected = max(before, 1) + (6.5 - max(before, 1)) / 4;
    assert.ok(Math.abs(max(after, 1) - expected) < 0.01, `${max(after, 1)} is not ${expected}`);
    assert.match(after.labels[0], /After 5 of 12 batches/);
    assert.match(after.labels[1], /after 5 batches/);
    assert.notDeepEqual(after.bands, before.bands);
  });

  it("feeds batches automatically, until the last or a pause", async () => {
    await setBatches("9");
    await pressOn(play, " ");
    assert.equal(await textOf(page, play), "Pause");
    await waitFor(
      page,
      (selector) => document.querySelector(`${selector} input`).value === "12",
      observers,
    );
    await page.waitForSelector(`${observers} .player:not([data-playing])`);
    assert.equal(await textOf(page, play), "Play");
    await pressOn(play, " ");
    assert.equal((await readObservers()).seen, 1);
    await pressOn(play, " ");
    assert.equal(await textOf(page, play), "Play");
  });

  it("does not animate with prefers-reduced-motion", chromiumOnly("prefer no motion"), async () => {
    const still = await openPage(browser, site.url, { reducedMotion: "reduce" });
    await openNotebook(still.page, "schemes-observers-qconfig");
    await still.page.waitForSelector(`${observers} form:not([hidden])`);
    assert.equal(await countVisible(still.page, play), 0);
    await click(still.page, `${observers} [data-action="step"]`);
    assert.equal(await still.page.$eval(`${observers} input`, (input) => input.value), "9");
    await still.close();
  });

  for (const width of [360, 320]) {
    it(`clips no text of its drawings, on a phone of ${width} pixels too`, async () => {
      const narrow = await openPage(browser, site.url, { viewport: { width, height: 800 } });
      await openNotebook(narrow.page, "schemes-observers-qconfig");
      const clipped = await narrow.page.$$eval(
        ".view[data-current] .figure svg.drawing",
        (drawings) =>
          drawings
            .filter((drawing) => drawing.checkVisibility())
            .flatMap((drawing) => {
              const { left, right } = drawing.getBoundingClientRect();
              return Array.from(drawing.querySelectorAll("text"))
                .filter((text) => {
                  const box = text.getBoundingClientRect();
                  // Firefox makes boxes of text of whole pixels, rounded outwards.
                  return box.right > right + 1.5 || box.left < left - 1.5;
                })
                .map(({ textContent }) => textContent);
            }),
      );
      assert.deepEqual(clipped, []);
      await narrow.close();
    });
  }

  it("has drawings with text alternatives", async () => {
    await page.waitForSelector(".view[data-current] [data-figure][data-live] form:not([hidden])");
    // The question before a drawing is answered.
    await page.$eval(".view[data-current] .predict [data-choice]", (choice) => choice.click());
    const figures = await page.$$eval(".view[data-current] [data-figure]", (elements) =>
      elements.map((element) => ({
        name: element.dataset.figure,
        labels: Array.from(element.querySelectorAll("svg.drawing"), (svg) =>
          svg.getAttribute("aria-label"),
        ),
        tables: Array.from(element.querySelectorAll("table")).filter((table) =>
          table.checkVisibility(),
        ).length,
        caption: element.querySelector("figcaption").textContent,
      })),
    );
    assert.deepEqual(
      figures.map(({ name }) => name),
      ["scheme-matrix", "granularity", "affine-symmetric", "observer", "clip-or-round"],
    );
    for (const { name, labels, tables, caption } of figures) {
      assert.ok(labels.length > 0 && labels.every((label) => label.length > 20), name);
      assert.equal(tables, 1, name);
      assert.ok(caption.length > 20, name);
    }
  });

  it("recomputes its illustrations when a control moves", async () => {
    const figure = '[data-figure="affine-symmetric"]';
    await page.waitForSelector(`${figure} form:not([hidden])`);
    const rows = () =>
      page.$$eval(`${figure} tbody tr`, (all) =>
        all.map((row) => Array.from(row.children, (cell) => cell.textContent)),
      );
    const slider = page.locator(`${figure} input[type="range"]`);
    await slider.fill("0");
    // The first use of a control loads the core.
    await page.waitForSelector(`${figure} .figure-drawing:not(:has(.when-wide))`);
    const centred = await rows();
    await slider.fill("100");
    const oneSided = await rows();
    // Centred data has about the same cost either way; one-sided data wastes half of a symmetric range.
    assert.equal(centred[0][3], "14 of 15");
    assert.equal(oneSided[0][3], "8 of 15");
    assert.equal(oneSided[1][3], "16 of 16");
    assert.ok(Number(oneSided[1][4]) < Number(oneSided[0][4]) / 2);
  });

  it("has no errors and breaks no policy when its controls are used", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});
