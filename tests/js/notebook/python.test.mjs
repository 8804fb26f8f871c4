// How Python's values print, against what Python and IPython printed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  display,
  float,
  int,
  isTuple,
  printed,
  repr,
  round,
  str,
  torch,
  tuple,
} from "zeropoint/notebook";
import { cases, decodeTensor, doubleFromHex } from "../support/vectors.mjs";

/** A tagged value of python.json. */
function untag(tagged) {
  const [[kind, content]] = Object.entries(tagged);
  switch (kind) {
    case "none":
      return null;
    case "bool":
    case "str":
      return content;
    case "int":
      return Number.isSafeInteger(Number(content)) ? Number(content) : BigInt(content);
    case "float":
      return doubleFromHex(content);
    case "size":
      return torch.Size(content);
    case "tensor": {
      const { data, shape } = decodeTensor(content);
      return torch.tensor({ data, shape });
    }
    case "dict":
      return Object.fromEntries(content.map(([key, value]) => [untag(key), untag(value)]));
    case "tuple":
      return tuple(...content.map(untag));
    case "list":
      return content.map(untag);
  }
  throw new Error(`unknown kind ${kind}`);
}

const all = cases("python");

describe("repr", () => {
  it("prints all 512 values of python.json as Python does", () => {
    assert.equal(all.length, 512);
    for (const { id, value, repr: text } of all) assert.equal(repr(untag(value)), text, id);
  });

  it("prints numbers as Python prints floats, and safe integers as ints", () => {
    assert.equal(repr(1.5442274161614478e-5), "1.5442274161614478e-05");
    assert.equal(repr(1e16), "1e+16");
    assert.equal(repr(2 ** 53), "9007199254740992.0");
    assert.equal(repr(2 ** 53 - 1), "9007199254740991");
    assert.equal(repr(-0), "-0.0");
    assert.equal(repr(Number.NaN), "nan");
    assert.equal(repr(-Infinity), "-inf");
    assert.equal(repr(2n ** 70n), "1180591620717411303424");
  });

  it("prints values that Python does not have in its own form", () => {
    assert.equal(repr(undefined), "None");
    assert.equal(repr(Float32Array.of(0.5, 2)), "[0.5, 2]");
    assert.equal(repr(new Map([[1, "a"]])), "{1: 'a'}");
    assert.equal(repr(new RangeError("no")), "RangeError('no')");
    assert.equal(
      repr(function quantize() {}),
      "<function quantize>",
    );
    assert.equal(repr(new Date(0)), String(new Date(0)));
    assert.equal(repr([/a+/g, Symbol("s"), 10n]), "[/a+/g, Symbol(s), 10]");
    assert.equal(repr(torch.iinfo(torch.int8)), "iinfo(min=-128, max=127, dtype=int8)");
  });

  it("prints Sets as Python's sets, and the holes of arrays as None", () => {
    assert.equal(repr(new Set([1, "a"])), "{1, 'a'}");
    assert.equal(repr(new Set()), "set()");
    assert.equal(repr(new Array(2)), "[None, None]");
  });

  it("prints objects of any class by its name, with the properties they have", () => {
    class Point {
      #hidden = 0;
      x = 1;
      y = [this.#hidden];
    }
    assert.equal(repr(Point), "<class Point>");
    assert.equal(repr([new Point()]), "[Point {'x': 1, 'y': [0]}]");
    assert.equal(repr(new (class {})()), "Object {}");
    assert.equal(repr(Object.create(new Point())), "Point {}");
    const loop = new Point();
    loop.y = loop;
    assert.equal(repr(loop), "Point {'x': 1, 'y': {...}}");
    const long = new Point();
    long.y = "y".repeat(70);
    assert.equal(display(long), `Point {'x': 1,\n 'y': '${long.y}'}`);
    assert.equal(repr([new WeakMap(), new ArrayBuffer(2)]), "[<WeakMap>, <ArrayBuffer>]");
    assert.equal(repr(Promise.resolve(1)), "<Promise, not awaited>");
  });

  it("ends where a value contains itself", () => {
    const list = [1];
    list.push(list);
    assert.equal(repr(list), "[1, [...]]");
    assert.equal(display(list), "[1, [...]]");
    const dict = {};
    dict.self = dict;
    assert.equal(repr(dict), "{'self': {...}}");
    const twice = [1];
    assert.equal(repr([twice, twice]), "[[1], [1]]");
  });
});

describe("display", () => {
  it("lays all 512 values of python.json out as IPython does", () => {
    assert.equal(all.length, 512);
    for (const { id, value, ipython } of all) {
      assert.equal(display(untag(value)) ?? "None", ipython, id);
    }
  });

  it("shows nothing for None", () => {
    assert.equal(display(null), undefined);
    assert.equal(display(undefined), undefined);
  });
});

describe("str and printed", () => {
  it("leave strings as they are, but not inside lists", () => {
    assert.equal(str("it's"), "it's");
    assert.equal(str(["it's"]), `["it's"]`);
    assert.equal(printed("a", 1, 0.5, null, torch.tensor([1])), "a 1 0.5 None tensor([1])");
    assert.equal(printed(), "");
  });
});

describe("float, int and round", () => {
  it("let a whole number print as a float and stay a number", () => {
    assert.equal(repr(float(-184)), "-184.0");
    assert.equal(display(float(3)), "3.0");
    assert.equal(`${float(3)}`, "3.0");
    assert.equal(float(3) + 1, 4);
    assert.equal(repr(float(0.25)), "0.25");
  });

  it("round half to even, without a negative zero", () => {
    assert.deepEqual(
      [0.5, 1.5, 2.5, -0.5, -1.5, -76.5, 2 ** 52 + 1].map((x) => round(x)),
      [0, 2, 2, 0, -2, -76, 2 ** 52 + 1],
    );
    assert.deepEqual(
      [2.9, -2.9, -0.5].map((x) => int(x)),
      [2, -2, 0],
    );
    assert.ok(Object.is(round(-0.3), 0));
  });

  it("round to digits by the exact value, ties to even", () => {
    const rounded = [
      [2.675, 2, 2.67],
      [0.125, 2, 0.12],
      [0.375, 2, 0.38],
      [-2.5, 0, -2],
      [1e300, 20, 1e300],
      [5e-324, 323, 0],
      [1234.5, -2, 1200],
      [1250, -2, 1200],
      [1350, -2, 1400],
      [1350, 2, 1350],
      [-15, -1, -20],
      [torch.nan, 2, torch.nan],
    ];
    for (const [x, digits, expected] of rounded) {
      assert.deepEqual(round(x, digits), expected, `round(${x}, ${digits})`);
      assert.deepEqual(round(x, { ndigits: digits }), expected);
    }
    assert.equal(round(2.5, null), 2);
    assert.equal(round(12345678901234567890n, -1), 12345678901234567890n);
    assert.equal(repr(round(float(3), 1)), "3.0");
    assert.ok(Object.is(round(-0.01, 1), -0));
    assert.throws(() => round(1.7e308, -308), { pythonType: "OverflowError" });
    assert.throws(() => round(1.5, 0.5), { name: "TypeError", pythonType: "TypeError" });
    assert.throws(() => round(1, 2, 3), { name: "TypeError", pythonType: "TypeError" });
  });

  it("read ints of every base", () => {
    const read = [
      ["12", 16, 18],
      [" -ff ", 16, -255],
      ["0xFF", 16, 255],
      ["0b101", 0, 5],
      ["0b1", 16, 177],
      ["0o17", 8, 15],
      ["1_000", 10, 1000],
      ["z", 36, 35],
      ["9".repeat(20), 10, BigInt("9".repeat(20))],
    ];
    for (const [text, base, expected] of read) assert.equal(int(text, base), expected, text);
    assert.equal(int("12"), 12);
    assert.equal(int("12", { base: 8 }), 10);
    for (const [text, base] of [["1.5"], ["12", 2], ["", 10], ["1__0"], ["017", 0], ["1", 37]]) {
      assert.throws(() => int(text, base), { name: "RangeError", pythonType: "ValueError" }, text);
    }
    assert.throws(() => int(12, 16), { name: "TypeError", pythonType: "TypeError" });
  });

  it("refuse what Python refuses", () => {
    for (const cast of [int, round]) {
      assert.throws(() => cast(Number.NaN), { name: "RangeError", pythonType: "ValueError" });
      assert.throws(() => cast(Infinity), { name: "RangeError", pythonType: "OverflowError" });
      assert.throws(() => cast(undefined), { name: "TypeError", pythonType: "TypeError" });
    }
  });

  it("take tensors of one element", () => {
    assert.equal(int(torch.tensor(2.7)), 2);
    assert.equal(repr(float(torch.tensor([3]))), "3.0");
  });
});

describe("tuple", () => {
  it("is a frozen array that equals a plain one and prints with parentheses", () => {
    const pair = tuple(1, "a");
    assert.deepEqual(pair, [1, "a"]);
    assert.ok(Array.isArray(pair) && Object.isFrozen(pair));
    assert.ok(isTuple(pair) && !isTuple([1, "a"]) && isTuple(torch.zeros(2).shape));
    assert.equal(repr(pair), "(1, 'a')");
    assert.equal(repr(tuple(1)), "(1,)");
    assert.equal(repr([...pair]), "[1, 'a']");
    assert.equal(repr(pair.map((x) => x)), "[1, 'a']");
  });
});
