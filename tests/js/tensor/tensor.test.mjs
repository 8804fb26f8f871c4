import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tensor } from "zeropoint";
import { refuses, sameFloats } from "../support/asserts.mjs";

describe("tensor", () => {
  const cases = {
    "a number is 0-dimensional": [tensor(2.5), [2.5], []],
    "a list has one axis": [tensor([1, 2, 3]), [1, 2, 3], [3]],
    "rows follow one another": [
      tensor([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
      [1, 2, 3, 4, 5, 6],
      [3, 2],
    ],
    "nesting may be deep": [tensor([[[[1]], [[2]]]]), [1, 2], [1, 2, 1, 1]],
    "rows may be typed arrays": [
      tensor([Float32Array.of(1, 2), Int8Array.of(3, 4)]),
      [1, 2, 3, 4],
      [2, 2],
    ],
    "no values": [tensor([]), [], [0]],
    "rows without values": [tensor([[], []]), [], [2, 0]],
    "a typed array has one axis": [tensor(Float64Array.of(0.1, 1e39)), [0.1, Infinity], [2]],
    "a shape for a typed array": [tensor(Uint8Array.of(1, 2, 3, 4), [2, 2]), [1, 2, 3, 4], [2, 2]],
    "a shape for a list": [tensor([1, 2], [2, 1]), [1, 2], [2, 1]],
    "another shape for nested numbers": [tensor([[1, 2]], [2]), [1, 2], [2]],
    "a shape for one number": [tensor(7, [1, 1]), [7], [1, 1]],
    "another tensor's values": [tensor({ data: [1, 2], dims: [1, 2] }), [1, 2], [1, 2]],
    "doubles are rounded": [tensor([0.1, 16777217]), [0.1, 16777216], [2]],
    "NaN, infinities and -0 stay": [tensor([NaN, -Infinity, -0]), [NaN, -Infinity, -0], [3]],
  };
  for (const [name, [actual, data, shape]] of Object.entries(cases)) {
    it(name, () => {
      sameFloats(actual.data, data);
      assert.deepEqual(actual.shape, shape);
    });
  }

  it("reads each length and number of nested lists once", () => {
    const reads = [];
    const watched = (list, path) =>
      new Proxy(list, {
        get(target, key) {
          if (typeof key === "string") reads.push(path + key);
          return target[key];
        },
      });
    const rows = [watched([1, 2], "row 0: "), watched([3, 4], "row 1: ")];
    assert.deepEqual([...tensor(watched(rows, "")).data], [1, 2, 3, 4]);
    assert.equal(new Set(reads).size, reads.length, reads.join(", "));
  });

  it("owns its values and its shape", () => {
    const values = Float32Array.of(1, 2);
    const shape = [1, 2];
    const x = tensor(values, shape);
    values[0] = 9;
    shape[0] = 9;
    assert.deepEqual([...x.data], [1, 2]);
    assert.deepEqual(x.shape, [1, 2]);
    assert.notEqual(tensor(x).data, x.data);
  });

  it("is a plain object with its values after structuredClone", () => {
    const copy = structuredClone(tensor([[1, 2]]));
    assert.deepEqual(copy, { data: Float32Array.of(1, 2), shape: [1, 2] });
    assert.equal(String(tensor(copy)), "tensor([[1., 2.]])");
  });

  it("prints as PyTorch does", () => {
    const text =
      "tensor([[ 191.6000,  -13.5000,  728.6000],\n        [  92.1400,  295.5000, -184.0000]])";
    assert.equal(
      String(
        tensor([
          [191.6, -13.5, 728.6],
          [92.14, 295.5, -184],
        ]),
      ),
      text,
    );
    assert.equal(String(tensor(2)), "tensor(2.)");
    assert.equal(String(tensor([[]])), "tensor([], size=(1, 0))");
  });

  it("takes large lists", () => {
    const x = tensor(Array.from({ length: 300 }, (_, i) => new Array(300).fill(i)));
    assert.deepEqual(x.shape, [300, 300]);
    assert.equal(x.data[299 * 300], 299);
  });
});

describe("tensor refuses", () => {
  const message = (got) =>
    `tensor: values must be a number, nested arrays of numbers, a typed array or a tensor, got ${got}`;
  const kinds = [
    ["nothing", [], message("undefined")],
    ["null", [null], message("null")],
    ["text", ["1"], message('"1"')],
    ["a BigInt", [1n], message("1n")],
    ["a boolean", [true], message("true")],
    ["text in a list", [[1, "2"]], 'tensor: values[1] must be a number, got "2"'],
    ["null in a row", [[[1], [null]]], "tensor: values[1][0] must be a number, got null"],
    ["a hole", [new Array(3)], "tensor: values[0] must be a number, got undefined"],
    ["a BigInt in a list", [[1n]], "tensor: values[0] must be a number, got 1n"],
    ["a list beside numbers", [[1, [2]]], "tensor: values[1] must be a number, got [2]"],
    [
      "rows of BigInts",
      [[BigInt64Array.of(1n)]],
      /^tensor: values must hold numbers, got a BigInt/,
    ],
  ];
  for (const [name, args, text] of kinds) {
    it(name, () => refuses(() => tensor(...args), TypeError, "ZP_INVALID_TENSOR", text));
  }

  const ragged = [
    [[[1, 2], [3]], "tensor: values[1] must have length 2, as its neighbours have, got 1"],
    [[[1], 2], "tensor: values[1] must be an array of length 1, as its neighbours are, got 2"],
    [[[[1]], [[1], [2]]], "tensor: values[1] must have length 1, as its neighbours have, got 2"],
    [
      [Float32Array.of(1, 2), Float32Array.of(1)],
      "tensor: values[1] must have length 2, as its neighbours have, got 1",
    ],
  ];
  for (const [values, text] of ragged) {
    it(`the ragged ${JSON.stringify(values)}`, () => {
      refuses(() => tensor(values), RangeError, "ZP_INVALID_SHAPE", text);
    });
  }

  it("bytes of a file for the values they hold, and says how to take them", () => {
    refuses(
      () => tensor(new Uint8Array(Float32Array.of(1, 2, 3).buffer), [3]),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "tensor: values of shape [3] must have 3 values, got 12; bytes need a Float32Array over them",
    );
    assert.deepEqual(tensor(Uint8Array.of(1, 2, 3, 4), [4]).data, Float32Array.of(1, 2, 3, 4));
  });

  it("a shape that does not fit", () => {
    refuses(
      () => tensor([1, 2, 3], [2, 2]),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "tensor: values of shape [2, 2] must have 4 values, got 3",
    );
    refuses(
      () => tensor([1], [1.5]),
      RangeError,
      "ZP_INVALID_SHAPE",
      /shape\[0\] must be an integer/,
    );
    refuses(
      () => tensor([1], 1),
      TypeError,
      "ZP_INVALID_SHAPE",
      /shape must be an array of lengths/,
    );
  });
});
