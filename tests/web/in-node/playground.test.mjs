// The playground without a page: texts that are pasted, links, and exported code.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { fromPage } from "../from-page.mjs";

const { parseNumbers } = await fromPage("playground/data/parse.js");
const { cell, javaScript, pyTorch } = await fromPage("playground/exports/code.js");
const { readLink, writeLink } = await fromPage("playground/link.js");
const { consistent, DEFAULTS, FIRST_SOURCE } = await fromPage("playground/state.js");
const { reachOf } = await fromPage("playground/views/histogram.js");
const { evaluate } = await fromPage("playground/worker/evaluate.js");
const { curvesOf } = await fromPage("playground/worker/sweeps.js");

const read = (text) => {
  const { values, shape } = parseNumbers(text);
  return [Array.from(values), shape];
};

describe("Pasted numbers", () => {
  for (const [name, text] of [
    ["JavaScript", "const x = [[1, 2.5], [-3, 4e2],];"],
    ["a typed array's text", "new Float32Array([[1, 2.5], [-3, 4_00]]) // two rows"],
    ["Python", "x = torch.tensor([[1., 2.5],\n  [-3., 4e+2]], dtype=torch.float32)"],
    ["NumPy", "array([[ 1. ,  2.5],\n       [-3., 400.]], dtype=float32)"],
    ["NumPy's print", "[[  1.    2.5]\n [ -3.  400. ]]"],
    ["CSV with a heading", "a,b\n1,2.5\n-3,400\n"],
    ["tabs", "1\t2.5\n-3\t400"],
    ["semicolons and quotes", '"1";"2.5"\r\n"-3";"400"\r\n'],
    ["a table with minus signs", "1\t2.5\n−3\t400"],
  ]) {
    it(`are read from ${name}`, () => {
      assert.deepEqual(read(text), [
        [1, 2.5, -3, 400],
        [2, 2],
      ]);
    });
  }

  it("may have any number of axes", () => {
    assert.deepEqual(read("[[[1], [2]], [[3], [4]]]")[1], [2, 2, 1]);
    assert.deepEqual(read("1 2 3")[1], [3]);
    assert.deepEqual(read("1\n2\n3\n")[1], [3]);
  });

  for (const [text, message] of [
    ["", "line 1, column 1: there are no numbers"],
    ["[1, 2", "line 1, column 1: this list has no end"],
    ["[[1, 2],\n [3]]", "line 2, column 2: this list has 1 entry, the ones before it have 2"],
    ["[[1, 2], 3]", "line 1, column 10: a number beside lists"],
    ["[1,\n two]", 'line 2, column 2: "two" is not a number'],
    ["[1n]", 'line 1, column 2: "1n" is not a number'],
    ["[1, nan]", 'line 1, column 5: "nan" is not a finite float32, and no scale fits it'],
    ["[1e39]", 'line 1, column 2: "1e39" is not a finite float32, and no scale fits it'],
    ["[1] [2]", "line 1, column 5: a second list: put lists into one"],
    ["[]", "line 1, column 1: the list has no numbers"],
    ["1,2\n3", "line 2, column 1: this line has 1 value, the lines before it have 2"],
    ["1,,2", "line 1, column 3: a value is missing"],
    ["1;2\n3;4,5", "line 2, column 4: commas beside semicolons: decimals take a point"],
    ["1,2\nx,y", 'line 2, column 1: "x" is not a number'],
  ]) {
    it(`are refused with line and column: ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseNumbers(text), { name: "ParseError", message });
    });
  }

  it("may be a million and no more", () => {
    const million = Array.from({ length: 1_000_000 }, (_, i) => i % 100);
    assert.equal(parseNumbers(JSON.stringify(million)).values.length, 1_000_000);
    assert.throws(() => parseNumbers(JSON.stringify([...million, 1])), /more than a million/);
  });
});

describe("Settings", () => {
  it("keep the zero point a code of the scheme", () => {
    const given = { ...DEFAULTS, range: "qparams", bits: 2, zeroPoint: -70 };
    assert.equal(consistent({ ...given, scheme: "affine" }).zeroPoint, -2);
    assert.equal(consistent({ ...given, scheme: "affine", isUnsigned: true }).zeroPoint, 0);
    assert.equal(consistent({ ...given, scheme: "symmetric" }).zeroPoint, 0);
  });
});

describe("A link", () => {
  const trip = async (state) => readLink((await writeLink(state)).hash);

  it("keeps settings, data, and the settings to compare with", async () => {
    const settings = consistent({
      ...DEFAULTS,
      scheme: "affine",
      bits: 3,
      isUnsigned: true,
      granularity: "group",
      groupSize: 8,
      range: "percentile",
      percentile: 99.5,
    });
    const other = consistent({
      ...DEFAULTS,
      range: "ends",
      low: -0.25,
      high: 1.5,
      scheme: "affine",
    });
    const values = Float32Array.from({ length: 12 }, (_, i) => Math.fround(Math.sin(i)));
    const source = { kind: "given", name: "x", shape: [3, 4], values };
    const read = await trip({ settings, other, source });
    // What a choice does not use is not kept.
    assert.deepEqual(read.settings, settings);
    assert.deepEqual(read.other, other);
    assert.deepEqual(read.source.shape, [3, 4]);
    assert.deepEqual(read.source.values, values);
  });

  it("keeps generators and seeds instead of their numbers", async () => {
    const source = { kind: "generated", generator: "laplace", rows: 1000, columns: 1000, seed: 7 };
    assert.deepEqual((await trip({ settings: DEFAULTS, source })).source, source);
  });

  it("says that it leaves out data that is too large", async () => {
    const values = Float32Array.from({ length: 5000 }, () => Math.fround(Math.random()));
    const source = { kind: "given", name: "x", shape: [5000], values };
    const { hash, isComplete } = await writeLink({ settings: DEFAULTS, source });
    assert.equal(isComplete, false);
    assert.ok(hash.length < 200);
  });

  for (const [hash, unread] of [
    ["#play", []],
    [
      "#play?v=1&s=nonsense&b=99&g=rows.0&x=evil.1.1.1",
      ["s=nonsense", "b=99", "g=rows.0", "x=evil.1.1.1"],
    ],
    ["#play?s[]=1&&&=", ["s[]=1", "="]],
    ["#play?a=b%3D0", ["b=0"]],
  ]) {
    it(`gives defaults for what it does not know, and names it: ${hash}`, async () => {
      const { settings, other = DEFAULTS, source, unread: named } = await readLink(hash);
      assert.deepEqual([settings, other, source], [DEFAULTS, DEFAULTS, FIRST_SOURCE]);
      assert.deepEqual(named, unread);
    });
  }

  it("refuses data that is cut off, longer than its shape, or not finite", async () => {
    const linkOf = async (shape, values) => {
      const source = { kind: "given", name: "x", shape, values: Float32Array.from(values) };
      return (await writeLink({ settings: DEFAULTS, source })).hash;
    };
    await assert.rejects(readLink(await linkOf([4], [1, 2])), /cut off/);
    await assert.rejects(readLink(await linkOf([1], [1, 2])), /longer/);
    await assert.rejects(readLink(await linkOf([1], [Number.NaN])), /finite/);
    await assert.rejects(readLink("#play?d=1000000x1000000.AAAA"), /shape/);
  });
});

describe("Exported code", () => {
  before(() => zeropoint.init());

  for (const change of [
    { scheme: "affine", isUnsigned: true, bits: 8 },
    { granularity: "group", groupSize: 2, range: "mse" },
    { granularity: "channel", axis: 1, range: "percentile", percentile: 90 },
    { scheme: "affine", range: "ends", low: -1, high: 2 },
    { scheme: "affine", range: "qparams", scale: 0.5, zeroPoint: -3 },
    { arithmetic: "torch", scheme: "affine", bits: 8 },
    { arithmetic: "torch", scheme: "symmetric", bits: 3 },
    { arithmetic: "torch", scheme: "affine", granularity: "channel", axis: 0, bits: 8 },
    { arithmetic: "torch", scheme: "affine", range: "histogram", bits: 8 },
    { arithmetic: "torch", scheme: "affine", range: "ends", low: -1, high: 2, bits: 4 },
  ]) {
    it(`gives the errors that the page shows: ${JSON.stringify(change)}`, async () => {
      const settings = consistent({ ...DEFAULTS, ...change });
      const { metrics } = evaluate(data, settings);
      const entry = new URL("../../../dist/index.js", import.meta.url).href;
      const text = javaScript(settings, source, data)
        .replace('"zeropoint"', JSON.stringify(entry))
        .replace('"zeropoint/torch"', JSON.stringify(import.meta.resolve("zeropoint/torch")))
        .replace("console.log(", "export const errors = Array.of(");
      const { errors } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
      assert.deepEqual(errors, [metrics.mse, metrics.sqnr]);
    });
  }

  const source = { kind: "given", name: "x" };
  const data = { values: Float32Array.from([0.1, 0.2, 3, -4]), shape: [2, 2] };

  it("holds the data in the fewest digits, and the options that differ from the defaults", () => {
    const settings = consistent({ ...DEFAULTS, scheme: "affine", granularity: "channel" });
    const text = javaScript(settings, source, data);
    assert.match(text, /tensor\(\[\n {2}\[0\.1, 0\.2\],\n {2}\[3, -4\],\n\]\)/);
    assert.match(text, /quantize\(x, \{ dtype: "int4", scheme: "affine", axis: 0 \}\)/);
  });

  it("holds nothing but numbers of the data, and names of the settings", () => {
    const settings = { ...DEFAULTS, scheme: "symmetric" };
    const named = { kind: "given", name: '"); alert(1); ("' };
    assert.doesNotMatch(cell(settings, named, data), /alert/);
  });
});

describe("Exported PyTorch code", () => {
  before(() => zeropoint.init());

  const source = { kind: "given", name: "x" };
  const data = { values: Float32Array.from([0.1, 0.2, 3, -4, 0, 0]), shape: [2, 3] };
  const exported = (change) => {
    const settings = consistent({ ...DEFAULTS, ...change });
    const evaluation = evaluate(data, settings);
    return { text: pyTorch(settings, source, data, evaluation), evaluation };
  };
  const hasPython = spawnSync("python3", ["--version"]).status === 0;
  const parse = (text) =>
    spawnSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], {
      input: text,
      encoding: "utf8",
    });

  for (const change of [
    {},
    { scheme: "affine", isUnsigned: true, bits: 8, granularity: "channel", axis: 1 },
    { scheme: "float", granularity: "group", groupSize: 2 },
    { range: "mse", granularity: "group", groupSize: 2 },
    { scheme: "affine", range: "percentile", percentile: 90, granularity: "channel" },
    { scheme: "affine", range: "ends", low: -1, high: 2 },
    { scheme: "affine", range: "qparams", scale: 0.5, zeroPoint: -3 },
    { arithmetic: "torch", scheme: "symmetric", granularity: "channel" },
    { arithmetic: "torch", scheme: "affine", range: "histogram", bits: 8 },
  ]) {
    it(`is Python: ${JSON.stringify(change)}`, {
      skip: !hasPython && "no python3",
    }, () => {
      const { status, stderr } = parse(exported(change).text);
      assert.equal(status, 0, stderr);
    });
  }

  it("holds the scales that zeropoint searched for", () => {
    const { text, evaluation } = exported({ range: "mse", granularity: "group", groupSize: 2 });
    const [, list, shape] = /scale = torch\.tensor\((\[.*\])\)\.reshape\((.*)\)/.exec(text);
    assert.deepEqual(JSON.parse(list).map(Math.fround), Array.from(evaluation.scales));
    assert.equal(shape, "2, 2");
  });

  it("gives a slice of zeros the scale 1, and ends a row with a smaller group", () => {
    const { text } = exported({ granularity: "group", groupSize: 2 });
    assert.match(text, /x\.split\(2, -1\)/);
    assert.match(text, /torch\.where\(scale > 0, scale, torch\.ones_like\(scale\)\)/);
    assert.match(text, /scale\.repeat_interleave\(2, -1\)\[\.\.\., :x\.shape\[-1\]\]/);
  });
});

describe("The histogram", () => {
  it("marks values as clipped that are more than half a step beyond the last code", () => {
    assert.deepEqual(reachOf([-1, -0.5, 0, 0.5]), [-1.25, 0.75]);
    assert.deepEqual(reachOf([]), [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });
});

describe("curvesOf", () => {
  it("gives each point its bits for a value, those of scales included", () => {
    const values = Float32Array.from({ length: 128 }, (_, i) => Math.sin(i));
    const work = curvesOf({ values, shape: [2, 64] }, { ...DEFAULTS, scheme: "symmetric" }, [4, 8]);
    let step = work.next();
    while (!step.done) step = work.next();
    const { bits, group } = step.value;
    // One scale of 32 bits for 128 values.
    assert.deepEqual(
      bits.map(({ x, bitsPerValue }) => [x, Math.floor(bitsPerValue)]),
      [
        [4, 4],
        [8, 8],
      ],
    );
    // Twice as many scales for groups of half the size.
    const [four, eight] = group.map(({ x, bitsPerValue }) => [x, bitsPerValue]);
    assert.deepEqual([four[0], eight[0]], [4, 8]);
    assert.equal(four[1] - eight[1], 32 / 4 - 32 / 8);
  });
});
