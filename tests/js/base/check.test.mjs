import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";
import {
  checkOptions,
  findMisfit,
  newArray,
  OWN,
  overlap,
  show,
  showShape,
} from "../../internal/base.mjs";
import { checkNested, checkShape, checkTensor } from "../../internal/tensor.mjs";
import { DTYPES, refuses } from "../support/asserts.mjs";

const otherRealm = createContext();
const inOtherRealm = (code) => runInContext(code, otherRealm);

const likeAnArray = "an object as JSON or a Proxy makes of typed arrays";

describe("checkTensor takes", () => {
  const cases = {
    "{ data, shape }": [{ data: Float32Array.of(1, 2), shape: [2] }, [1, 2], [2]],
    "{ data, dims }": [{ data: Float32Array.of(1, 2), dims: [1, 2] }, [1, 2], [1, 2]],
    "a typed array, as one axis": [Float32Array.of(1, 2), [1, 2], [2]],
    "an array of numbers as data": [{ data: [1, 0.1], shape: [2] }, [1, Math.fround(0.1)], [2]],
    "one value of shape []": [{ data: Float32Array.of(5), shape: [] }, [5], []],
    "no values": [{ data: new Float32Array(0), shape: [3, 0] }, [], [3, 0]],
    integers: [{ data: Int16Array.of(-3, 4), shape: [2] }, [-3, 4], [2]],
    "a part of a buffer": [
      { data: new Float32Array(Float32Array.of(9, 1, 2, 9).buffer, 4, 2), shape: [2] },
      [1, 2],
      [2],
    ],
    "a shape in a typed array": [
      { data: Float32Array.of(1, 2), shape: Uint32Array.of(2) },
      [1, 2],
      [2],
    ],
    "memory shared between threads": [
      { data: new Float32Array(new SharedArrayBuffer(8)), shape: [2] },
      [0, 0],
      [2],
    ],
    "resizable memory": [
      { data: new Float32Array(new ArrayBuffer(8, { maxByteLength: 64 })), shape: [2] },
      [0, 0],
      [2],
    ],
    "growable shared memory": [
      { data: new Float32Array(new SharedArrayBuffer(8, { maxByteLength: 64 })), shape: [2] },
      [0, 0],
      [2],
    ],
    "an array of another realm": [
      { data: inOtherRealm("Float32Array.of(1, 2)"), shape: inOtherRealm("[2]") },
      [1, 2],
      [2],
    ],
    "a tensor of another realm": [
      inOtherRealm("({ data: Float64Array.of(1), shape: [1] })"),
      [1],
      [1],
    ],
    getters: [
      {
        get data() {
          return Float32Array.of(3);
        },
        get dims() {
          return [1];
        },
      },
      [3],
      [1],
    ],
  };
  for (const [name, [value, data, shape]] of Object.entries(cases)) {
    it(name, () => {
      const checked = checkTensor("test", "x", value);
      assert.deepEqual(Array.from(checked.data), data);
      assert.deepEqual(checked.shape, shape);
      assert.equal(checked.size, data.length);
    });
  }

  it("no length from a subclass that overrides length", () => {
    class Long extends Float32Array {
      get length() {
        return 1000;
      }
    }
    const message = "test: x of shape [1000] must have 1000 values, got 2";
    const value = { data: new Long(2), shape: [1000] };
    refuses(() => checkTensor("test", "x", value), RangeError, "ZP_SHAPE_MISMATCH", message);
  });

  it("only the first values of memory that another thread may grow", () => {
    const buffer = new SharedArrayBuffer(8, { maxByteLength: 64 });
    const { data } = checkTensor("test", "x", { data: new Float32Array(buffer), shape: [2] });
    buffer.grow(64);
    assert.equal(data.length, 2);
  });
});

describe("checkTensor refuses", () => {
  const detached = Float32Array.of(1, 2);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const shrunk = new Float32Array(new ArrayBuffer(16, { maxByteLength: 16 }), 8, 2);
  shrunk.buffer.resize(4);
  const quantized = { data: Int8Array.of(1), shape: [1], dtype: "int8", scale: 1, zeroPoint: 0 };
  const forms = "a tensor: { data, shape }, { data, dims } or a typed array";

  const cases = [
    ["undefined", undefined, "ZP_INVALID_TENSOR", `test: x must be ${forms}, got undefined`],
    ["null", null, "ZP_INVALID_TENSOR", `test: x must be ${forms}, got null`],
    ["a number", 3, "ZP_INVALID_TENSOR", `test: x must be ${forms}, got 3`],
    ["a string", "abc", "ZP_INVALID_TENSOR", `test: x must be ${forms}, got "abc"`],
    ["a function", () => 1, "ZP_INVALID_TENSOR", `test: x must be ${forms}, got a function`],
    ["an empty object", {}, "ZP_INVALID_TENSOR", `test: x must be ${forms}, got an empty object`],
    [
      "data without a shape",
      { data: Float32Array.of(1) },
      "ZP_INVALID_TENSOR",
      `test: x must be ${forms}, got an object with data`,
    ],
    ["an array", [1, 2], "ZP_INVALID_TENSOR", /got an array; tensor\(…\) makes a tensor of it/],
    ["a DataView", new DataView(new ArrayBuffer(8)), "ZP_INVALID_TENSOR", /got a DataView/],
    ["an ArrayBuffer", new ArrayBuffer(8), "ZP_INVALID_TENSOR", /got an ArrayBuffer/],
    [
      "BigInts",
      BigInt64Array.of(1n),
      "ZP_INVALID_TENSOR",
      "test: x must hold numbers, got a BigInt64Array of BigInts",
    ],
    [
      "data of BigInts",
      { data: BigUint64Array.of(1n), shape: [1] },
      "ZP_INVALID_TENSOR",
      "test: x.data must hold numbers, got a BigUint64Array of BigInts",
    ],
    [
      "a DataView as data",
      { data: new DataView(new ArrayBuffer(8)), shape: [2] },
      "ZP_INVALID_TENSOR",
      "test: x.data must be a typed array or an array of numbers, got a DataView",
    ],
    [
      "text among the numbers",
      { data: [1, "2"], shape: [2] },
      "ZP_INVALID_TENSOR",
      'test: x.data[1] must be a number, got "2"',
    ],
    [
      "a hole among the numbers",
      { data: new Array(2), shape: [2] },
      "ZP_INVALID_TENSOR",
      "test: x.data[0] must be a number, got undefined",
    ],
    ["a quantized tensor", quantized, "ZP_INVALID_TENSOR", /got a quantized tensor; dequantize/],
    [
      "detached memory",
      { data: detached, shape: [0] },
      "ZP_DETACHED",
      "test: the memory of x.data, of type Float32Array, is detached (transferred or shrunk away)",
    ],
    [
      "a detached array",
      detached,
      "ZP_DETACHED",
      /^test: the memory of x, of type Float32Array, is detached/,
    ],
    [
      "memory shrunk away",
      { data: shrunk, shape: [0] },
      "ZP_DETACHED",
      /^test: the memory of x\.data, of type Float32/,
    ],
    [
      "a shape that is no list",
      { data: Float32Array.of(1), shape: 1 },
      "ZP_INVALID_SHAPE",
      "test: x.shape must be an array of lengths, got 1",
    ],
    [
      "a length that is text",
      { data: Float32Array.of(1), dims: ["1"] },
      "ZP_INVALID_SHAPE",
      'test: x.dims[0] must be an integer >= 0, got "1"',
    ],
    [
      "a shape of BigInts",
      { data: Float32Array.of(1), dims: BigInt64Array.of(1n) },
      "ZP_INVALID_SHAPE",
      "test: x.dims must be an array of lengths, got BigInt64Array(1)",
    ],
  ];
  for (const [name, value, code, message] of cases) {
    it(name, () => refuses(() => checkTensor("test", "x", value), TypeError, code, message));
  }

  const wrongShapes = [
    [[-1], "ZP_INVALID_SHAPE", "test: x.shape[0] must be an integer >= 0, got -1"],
    [[1, 1.5], "ZP_INVALID_SHAPE", "test: x.shape[1] must be an integer >= 0, got 1.5"],
    [[Number.NaN], "ZP_INVALID_SHAPE", "test: x.shape[0] must be an integer >= 0, got NaN"],
    [[2 ** 32, 0], "ZP_SIZE_OVERFLOW", "test: x.shape[0] must be less than 2^32, got 4294967296"],
    [new Array(65).fill(1), "ZP_INVALID_SHAPE", "test: x.shape must have at most 64 axes, got 65"],
    [[2], "ZP_SHAPE_MISMATCH", "test: x of shape [2] must have 2 values, got 1"],
    [[0], "ZP_SHAPE_MISMATCH", "test: x of shape [0] must have 0 values, got 1"],
    [
      new Array(40).fill(2 ** 31),
      "ZP_SHAPE_MISMATCH",
      /^test: x of shape \[2147483648, .*, …\] \(40 axes\) must have \S+ values, got 1$/,
    ],
  ];
  for (const [shape, code, message] of wrongShapes) {
    it(`the shape ${showShape(shape)} for one value`, () => {
      const value = { data: Float32Array.of(1), shape };
      refuses(() => checkTensor("test", "x", value), RangeError, code, message);
    });
  }
});

describe("checkShape", () => {
  it("takes as many axes as PyTorch does", () => {
    assert.equal(checkShape("test", "shape", new Array(64).fill(1)).length, 64);
  });

  it("makes a copy, with 0 for -0", () => {
    const shape = [2, -0];
    const checked = checkShape("test", "shape", shape);
    assert.notEqual(checked, shape);
    assert.ok(Object.is(checked[1], 0));
  });
});

describe("checkNested", () => {
  it("refuses nesting without end", () => {
    const endless = [];
    endless.push(endless);
    refuses(
      () => checkNested("test", "x", endless, Float32Array),
      RangeError,
      "ZP_INVALID_SHAPE",
      "test: x must be nested at most 64 deep",
    );
  });
});

/**
 * 2^32 values. Memory that is never touched is never backed by real pages. A resizable buffer, because Chromium has 16 GiB of
 * addresses for all others of a process, of which arrays of earlier tests may be left.
 */
function largeArray() {
  const length = 2 ** 32;
  return new Uint8Array(new ArrayBuffer(length, { maxByteLength: length }), 0, length);
}

describe("sizes beyond 32 bits", () => {
  it("are refused for a tensor", () => {
    const data = largeArray();
    refuses(
      () => checkTensor("test", "x", { data, shape: [2 ** 16, 2 ** 16] }),
      RangeError,
      "ZP_SIZE_OVERFLOW",
      "test: x must have fewer than 2^32 values, got 4294967296",
    );
    refuses(
      () => checkTensor("test", "x", data),
      RangeError,
      "ZP_SIZE_OVERFLOW",
      /got 4294967296$/,
    );
  });

  it("are refused for nested numbers, which may share their rows", () => {
    const row = new Array(2 ** 16).fill(1);
    refuses(
      () => checkNested("test", "x", new Array(2 ** 16).fill(row), Float32Array),
      RangeError,
      "ZP_SIZE_OVERFLOW",
      "test: x must have fewer than 2^32 values, got shape [65536, 65536]",
    );
  });

  it("are refused for a new array, with the size in the message", () => {
    refuses(
      () => newArray("test", Float32Array, 2 ** 40),
      RangeError,
      "ZP_OUT_OF_MEMORY",
      "test: not enough memory for an array of 1099511627776 values (4398046511104 bytes)",
    );
  });
});

describe("checkOptions", () => {
  it("says so for a function without options", () => {
    refuses(
      () => checkOptions("test", { bits: 4 }, []),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      'test: options has no "bits"; it takes none',
    );
  });

  const known = ["dtype", "groupSize", "zeroPoint"];
  const cases = [
    [{ group_size: 1 }, 'options has no "group_size"; did you mean groupSize?'],
    [{ zeropoint: 1 }, 'options has no "zeropoint"; did you mean zeroPoint?'],
    [{ dtypes: 1 }, 'options has no "dtypes"; did you mean dtype?'],
    [{ bits: 4 }, 'options has no "bits"; it takes dtype, groupSize, zeroPoint'],
    [{ ["x".repeat(500)]: 4 }, /^test: options has no "x{47}…"; it takes dtype/],
  ];
  for (const [options, message] of cases) {
    it(`suggests the option for ${Object.keys(options)[0].slice(0, 20)}`, () => {
      refuses(
        () => checkOptions("test", options, known),
        TypeError,
        "ZP_UNKNOWN_OPTION",
        typeof message === "string" ? `test: ${message}` : message,
      );
    });
  }

  const kinds = [
    ...[null, 3, "int8", [], Float32Array.of(1), () => 1],
    ...[Promise.resolve({}), new Map([["dtype", "int4"]]), new URL("file:///a")],
    AbortSignal.abort(),
  ];
  for (const value of kinds) {
    it(`refuses ${show(value)}`, () => {
      refuses(
        () => checkOptions("test", value, known),
        TypeError,
        "ZP_INVALID_OPTIONS",
        `test: options must be an object, got ${show(value)}`,
      );
    });
  }

  it("gives a copy that inherits nothing, and reads each option once", () => {
    let reads = 0;
    const given = {
      get dtype() {
        return ++reads;
      },
    };
    const options = checkOptions("test", given, known);
    assert.deepEqual([options.dtype, options.dtype, reads], [1, 1, 1]);
    for (const each of [options, checkOptions("test", undefined, known)]) {
      assert.equal(each.constructor, undefined);
      assert.equal("toString" in each, false);
    }
  });

  it("takes undefined for no options, and options of another realm", () => {
    assert.deepEqual({ ...checkOptions("test", undefined, known) }, {});
    assert.equal(checkOptions("test", inOtherRealm("({ dtype: 'int4' })"), known).dtype, "int4");
  });
});

describe("findMisfit", () => {
  for (const dtype of ["int2", "int4", "uint2", "uint4"]) {
    it(`finds any code that ${dtype} cannot hold, wherever it is`, () => {
      const { qmin, qmax, array } = DTYPES[dtype];
      const fits = Array.from({ length: qmax - qmin + 1 }, (_, i) => qmin + i);
      const [low, high] = array === Int8Array ? [-128, 127] : [0, 255];
      for (let length = 1; length <= 12; length++) {
        for (let offset = 0; offset < 4; offset++) {
          const codes = new array(new ArrayBuffer(16), offset, length);
          codes.forEach((_, i) => {
            codes[i] = fits[i % fits.length];
          });
          assert.equal(findMisfit(codes, dtype), -1);
          for (let at = 0; at < length; at++) {
            const good = codes[at];
            for (let code = low; code <= high; code++) {
              codes[at] = code;
              assert.equal(findMisfit(codes, dtype), code >= qmin && code <= qmax ? -1 : at);
            }
            codes[at] = good;
          }
        }
      }
    });
  }
});

describe("overlap", () => {
  const buffer = new ArrayBuffer(16);
  const part = (start, length) => new Uint8Array(buffer, start, length);
  it("is detected where a byte is shared", () => {
    assert.equal(overlap(part(0, 8), part(7, 4)), true);
    assert.equal(overlap(part(7, 4), part(0, 8)), true);
    assert.equal(overlap(part(2, 2), part(0, 8)), true);
  });
  it("is not detected for neighbours, other memory or empty arrays inside", () => {
    assert.equal(overlap(part(0, 8), part(8, 8)), false);
    assert.equal(overlap(part(0, 8), new Uint8Array(8)), false);
    assert.equal(overlap(part(0, 8), part(4, 0)), false);
  });
});

describe("show", () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const cases = [
    [undefined, "undefined"],
    [null, "null"],
    [true, "true"],
    [-0, "-0"],
    [1e300, "1e+300"],
    [12n, "12n"],
    [Symbol("s"), "Symbol(s)"],
    ["text", '"text"'],
    ["line\nbreak", '"line\\nbreak"'],
    ["a".repeat(48), `"${"a".repeat(48)}"`],
    ["a".repeat(49), `"${"a".repeat(47)}…"`],
    [10n ** 60n, `1${"0".repeat(46)}…`],
    [class A {}, "a function"],
    [[1, [2], "3"], '[1, […], "3"]'],
    [[1, 2, 3, 4, 5, 6], "[1, 2, 3, 4, …]"],
    [["a".repeat(40), "b".repeat(40)], "an array of length 2"],
    [new Float32Array(10), "Float32Array(10)"],
    [new Map(), "a Map"],
    [new URL("file:///x"), "a URL"],
    [new ArrayBuffer(1), "an ArrayBuffer"],
    [{ a: 1, b: 2 }, "an object with a, b"],
    [Promise.resolve(1), "a Promise: is await missing?"],
    [JSON.parse(JSON.stringify(Int8Array.of(7, 8))), likeAnArray],
    [new Proxy(Int8Array.of(7, 8), {}), likeAnArray],
    [{ typeName: "Embedding", [OWN]: true }, "an Embedding"],
    [{ typeName: "ReLU" }, "a ReLU that this copy of zeropoint did not make"],
    [{}, "an empty object"],
    [Object.create(null), "an empty object"],
    [revoked.proxy, "an object"],
  ];
  for (const [value, text] of cases) {
    it(`prints ${text.slice(0, 40)}`, () => assert.equal(show(value), text));
  }
});
