// The argument of plotLines and the drawn points; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { binsOf } = await fromPage("notebook/plots/bins.js");
const { decimated, linesFigure } = await fromPage("notebook/plots/lines.js");
const { linesPlot } = await fromPage("notebook/plots/lines-plot.js");
const { toHtml } = await fromPage("shell/drawing/tree.js");

const series = (points) => linesPlot({ series: [{ name: "s", points }] }).series[0];

describe("plotLines", () => {
  it("names its argument when it has the wrong type", () => {
    assert.throws(() => linesPlot(), /plotLines takes \{ title, x, y, series.*got undefined/);
    assert.throws(() => linesPlot([1, 2]), /got a list of 2/);
    assert.throws(() => linesPlot({}), /series must be a list .* got undefined/);
    assert.throws(() => series("text"), /points of s must be a list of \[x, y\], got a string/);
    assert.throws(() => series([1]), /point 0 of s must be \[x, y\], got a number/);
    assert.throws(() => series([[0, Infinity]]), /points of s must be finite, or NaN in y/);
    assert.throws(
      () => linesPlot({ series: [{ name: "s", points: [] }], level: { y: "x" } }),
      /level must be \{ name, y, within\? \}/,
    );
  });

  it("takes more than four series", () => {
    const many = Array.from({ length: 6 }, (_, i) => ({ name: `${i}`, points: [[0, i]] }));
    assert.equal(linesPlot({ series: many }).series.length, 6);
  });
});

describe("The drawn points", () => {
  it("are at most four for each pixel, the extremes among them", () => {
    const points = Array.from({ length: 100_000 }, (_, i) => [i, Math.sin(i)]);
    points[50_000][1] = 7;
    const [piece, ...others] = decimated(series(points), (x) => x / 250);
    assert.deepEqual(others, []);
    assert.ok(piece.length <= 4 * 401, `${piece.length}`);
    assert.ok(piece.includes(50_000) && piece[0] === 0 && piece.at(-1) === 99_999);
    assert.ok(piece.every((at, i) => i === 0 || at > piece[i - 1]));
  });

  it("have a gap where a value is missing", () => {
    const points = [
      [0, 1],
      [1, 2],
      [2, Number.NaN],
      [3, 4],
    ];
    assert.deepEqual(
      decimated(series(points), (x) => 10 * x),
      [[0, 1], [3]],
    );
  });

  it("show a value between two gaps, where a line has nothing to join", () => {
    const points = Array.from({ length: 1000 }, (_, i) => [i, i % 2 ? Number.NaN : i]);
    const html = toHtml(linesFigure(linesPlot({ series: [{ name: "s", points }] }), 800));
    const [, dots] = /<path class="alone" d="([^"]*)"/.exec(html) ?? [];
    assert.equal(dots?.match(/M/g)?.length, 500);
    // No element for each point or piece.
    assert.ok(html.match(/<path /g).length <= 2);
  });
});

describe("The marks of a large heat map", () => {
  const SHAPES = [
    [1, 1, 40],
    [1, 64, 64],
    [1, 1000, 3],
    [1, 3, 2000],
    [4, 20, 30],
    [512, 64, 64],
    [5000, 7, 9],
    [1, 2048, 2048],
  ];
  for (const [slices, rows, columns] of SHAPES) {
    it(`have room on a screen, and cover all values: ${slices} × ${rows} × ${columns}`, () => {
      const bins = binsOf({ slices, rows, columns });
      const width = bins.columns * bins.width;
      const height = bins.groups * bins.rows * bins.height + (bins.groups - 1) * bins.gap;
      assert.ok(width <= 512 && height <= 640, `${width} × ${height}`);
      assert.ok(width >= 72 && height >= 24, `${width} × ${height}`);
      assert.ok(bins.groups * bins.values >= slices * rows);
      assert.ok(bins.rows * bins.down >= bins.values && bins.columns * bins.across >= columns);
    });
  }

  it("are single values where these have room", () => {
    const { down, across, groups } = binsOf({ slices: 2, rows: 100, columns: 300 });
    assert.deepEqual({ down, across, groups }, { down: 1, across: 1, groups: 2 });
  });
});
