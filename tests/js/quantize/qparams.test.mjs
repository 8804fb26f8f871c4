import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseQParams, init, quantize, tensor } from "zeropoint";
import { refused } from "../../internal/base.mjs";
import {
  DTYPE_NAMES,
  DTYPES,
  LENGTHS,
  Random,
  refuses,
  SPECIAL_VALUES,
  sameFloats,
} from "../support/asserts.mjs";
import { chooseFor, slicesOf } from "../support/reference.mjs";

await init();

const x = tensor([
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
]);

describe("chooseQParams per tensor", () => {
  it("is symmetric int8 unless asked otherwise, with the scale in double precision", () => {
    assert.deepEqual(chooseQParams(x), {
      dtype: "int8",
      scheme: "symmetric",
      scale: Math.fround(728.6) / 127,
      zeroPoint: 0,
    });
  });

  it("is the notebooks' affine range where that contains 0", () => {
    const { scale, zeroPoint } = chooseQParams(x, { scheme: "affine" });
    assert.equal(scale, 3.578823433670343);
    assert.equal(zeroPoint, -77);
  });

  it("widens the affine range to contain 0 unless told not to", () => {
    const positive = tensor([10, 20]);
    const options = { dtype: "uint8", scheme: "affine" };
    const widened = chooseQParams(positive, options);
    assert.deepEqual([widened.scale, widened.zeroPoint], [20 / 255, 0]);
    const own = chooseQParams(positive, { ...options, includeZero: false });
    assert.deepEqual([own.scale, own.zeroPoint], [10 / 255, 0]);
    const negative = chooseQParams(tensor([-20, -10]), { ...options, includeZero: false });
    assert.deepEqual([negative.scale, negative.zeroPoint], [10 / 255, 255]);
  });

  for (const dtype of DTYPE_NAMES) {
    const { qmin, qmax } = DTYPES[dtype];
    it(`gives an all-zero tensor scale 1 in ${dtype}`, () => {
      const zeroPoint = Math.max(qmin, 0);
      const schemes = qmin < 0 ? ["symmetric", "affine"] : ["affine"];
      for (const scheme of schemes) {
        for (const includeZero of [true, false]) {
          const chosen = chooseQParams(tensor([0, -0, 0]), { dtype, scheme, includeZero });
          assert.deepEqual(chosen, { dtype, scheme, scale: 1, zeroPoint });
        }
      }
    });

    it(`uses the whole range of ${dtype}`, () => {
      const values = tensor([-3, 1, 5]);
      const { scale, zeroPoint } = chooseQParams(values, { dtype, scheme: "affine" });
      assert.equal(scale, 8 / (qmax - qmin));
      assert.equal(zeroPoint, chooseFor(values.data, { dtype, scheme: "affine" }).zeroPoint);
      if (qmin < 0) assert.equal(chooseQParams(values, { dtype }).scale, 5 / qmax);
    });
  }

  it("widens a range of zero width to contain 0, even without includeZero", () => {
    const options = { scheme: "affine", includeZero: false };
    const { scale, zeroPoint } = chooseQParams(tensor([5, 5]), options);
    assert.deepEqual([scale, zeroPoint], [5 / 255, -128]);
  });

  it("raises a scale that float32 would flush to the smallest normal float32", () => {
    assert.equal(chooseQParams(tensor([1e-45])).scale, 2 ** -126);
    assert.equal(chooseQParams(tensor([1e-45]), { scheme: "affine" }).scale, 2 ** -126);
    assert.equal(chooseQParams(tensor([1e-45]), { axis: 0 }).scale.data[0], 2 ** -126);
  });

  it("does not overflow where the range of float32 does", () => {
    const { scale } = chooseQParams(tensor([-3e38, 3e38]), { scheme: "affine" });
    assert.equal(scale, (2 * Math.fround(3e38)) / 255);
  });

  it("skips NaN and infinities where told to", () => {
    const { scale } = chooseQParams(tensor([NaN, 2, Infinity, -Infinity]), { nonFinite: "ignore" });
    assert.equal(scale, 2 / 127);
  });

  it("takes one value of shape []", () => {
    assert.equal(chooseQParams(tensor(254)).scale, 2);
  });

  it("rounds other numbers to float32 first", () => {
    const { scale } = chooseQParams({ data: Float64Array.of(0.1), shape: [1] });
    assert.equal(scale, Math.fround(0.1) / 127);
  });
});

describe("chooseQParams per channel", () => {
  it("gives float32 scales and int32 zero points of a shape that broadcasts", () => {
    const scales = Float32Array.of(728.6, 295.5, 684.6).map((value) => value / 127);
    assert.deepEqual(chooseQParams(x, { axis: 0 }), {
      dtype: "int8",
      scheme: "symmetric",
      scale: { data: scales, shape: [3, 1] },
      zeroPoint: { data: new Int32Array(3), shape: [3, 1] },
      axis: 0,
    });
  });

  it("counts a negative axis from the end and reports it from the start", () => {
    const y = tensor(
      new Float32Array(24).map((_, i) => i - 11),
      [2, 3, 4],
    );
    for (let axis = 0; axis < 3; axis++) {
      assert.deepEqual(chooseQParams(y, { axis: axis - 3 }), chooseQParams(y, { axis }));
      assert.equal(chooseQParams(y, { axis: axis - 3 }).axis, axis);
      assert.deepEqual(
        chooseQParams(y, { axis }).scale.shape,
        y.shape.map((length, i) => (i === axis ? length : 1)),
      );
    }
  });

  it("chooses for every channel what it would choose for it alone", () => {
    const random = new Random(1);
    const shape = [3, 5, 4];
    const data = random.normal(60, 10);
    for (const options of [{}, { scheme: "affine", dtype: "uint4" }]) {
      for (let axis = 0; axis < 3; axis++) {
        const slices = slicesOf(shape, { axis });
        const { scale, zeroPoint } = chooseQParams(tensor(data, shape), { ...options, axis });
        for (let i = 0; i < slices.count; i++) {
          const channel = data.filter((_, at) => slices.of(at) === i);
          const alone = chooseQParams(tensor(channel), options);
          assert.equal(scale.data[i], Math.fround(alone.scale));
          assert.equal(zeroPoint.data[i], alone.zeroPoint);
        }
      }
    }
  });

  it("is fine with no channels", () => {
    const { scale, zeroPoint } = chooseQParams(tensor(new Float32Array(0), [0, 3]), { axis: 0 });
    assert.deepEqual(scale, { data: new Float32Array(0), shape: [0, 1] });
    assert.deepEqual(zeroPoint, { data: new Int32Array(0), shape: [0, 1] });
  });
});

describe("chooseQParams per group", () => {
  it("gives one scale per run of values, of shape [rows × groups, 1]", () => {
    const y = tensor([
      [1, 2, -4, 0],
      [8, 0, 0, 127],
    ]);
    assert.deepEqual(chooseQParams(y, { groupSize: 2 }), {
      dtype: "int8",
      scheme: "symmetric",
      scale: { data: Float32Array.of(2 / 127, 4 / 127, 8 / 127, 1), shape: [4, 1] },
      zeroPoint: { data: new Int32Array(4), shape: [4, 1] },
      groupSize: 2,
    });
  });

  it("takes any rank, and groups as long as a row or of one value", () => {
    const y = tensor(
      new Float32Array(24).map((_, i) => i + 1),
      [2, 3, 4],
    );
    assert.deepEqual(chooseQParams(y, { groupSize: 4 }).scale.shape, [6, 1]);
    assert.deepEqual(chooseQParams(y, { groupSize: 1 }).scale.shape, [24, 1]);
    assert.deepEqual(chooseQParams(tensor([1, 2]), { groupSize: 2 }).scale.shape, [1, 1]);
  });

  it("ends every row with a short group if the size does not divide its length", () => {
    const y = tensor([
      [1, 2, -4],
      [8, 0, 127],
    ]);
    assert.deepEqual(chooseQParams(y, { groupSize: 2 }), {
      dtype: "int8",
      scheme: "symmetric",
      scale: { data: Float32Array.of(2 / 127, 4 / 127, 8 / 127, 1), shape: [4, 1] },
      zeroPoint: { data: new Int32Array(4), shape: [4, 1] },
      groupSize: 2,
    });
    const { scale } = chooseQParams(tensor(new Float32Array(5 * 70), [5, 70]), { groupSize: 32 });
    assert.deepEqual(scale.shape, [15, 1]);
  });

  it("takes a row as one group if the size exceeds its length", () => {
    // A kernel of a convolution.
    const y = tensor(
      new Float32Array(24).map((_, i) => i + 1),
      [4, 2, 3],
    );
    const { scale, groupSize } = chooseQParams(y, { groupSize: 32 });
    assert.equal(groupSize, 32);
    assert.deepEqual(scale, {
      data: Float32Array.from([3, 6, 9, 12, 15, 18, 21, 24], (largest) => largest / 127),
      shape: [8, 1],
    });
    const { scale: same } = chooseQParams(y, { groupSize: 2 ** 40 });
    assert.deepEqual(same, scale);
  });

  it("is fine with no rows and with rows without values", () => {
    for (const shape of [
      [0, 4],
      [4, 0],
      [0, 6],
      [0, 3],
    ]) {
      const { scale } = chooseQParams(tensor(new Float32Array(0), shape), { groupSize: 4 });
      assert.deepEqual(scale, { data: new Float32Array(0), shape: [0, 1] });
    }
  });
});

describe("chooseQParams agrees with the reference", () => {
  const options = DTYPE_NAMES.flatMap((dtype) => [
    ...(DTYPES[dtype].qmin < 0 ? [{ dtype, scheme: "symmetric" }] : []),
    { dtype, scheme: "affine" },
    { dtype, scheme: "affine", includeZero: false },
  ]);
  const finite = SPECIAL_VALUES.filter(Number.isFinite);

  for (const option of options) {
    it(JSON.stringify(option), () => {
      const random = new Random(7);
      for (const length of LENGTHS.slice(1)) {
        for (let round = 0; round < 30; round++) {
          const values =
            round < finite.length
              ? Float32Array.from({ length }, (_, i) => finite[(round + i) % finite.length])
              : random.anyFloats(length).map((value) => (Number.isFinite(value) ? value : 1));
          const expected = chooseFor(values, option);
          const { scale, zeroPoint } = chooseQParams(tensor(values), option);
          assert.equal(scale, expected.scale, `${values}`);
          assert.equal(zeroPoint, expected.zeroPoint, `${values}`);
        }
      }
    });
  }

  it("per channel and per group, at every length around a vector's", () => {
    const random = new Random(8);
    for (const inner of LENGTHS.slice(1)) {
      const shape = [2, 3, inner];
      const data = random.normal(6 * inner);
      for (const slicing of [{ axis: 0 }, { axis: 1 }, { axis: 2 }, { groupSize: inner }]) {
        const slices = slicesOf(shape, slicing);
        const { scale } = chooseQParams(tensor(data, shape), slicing);
        const expected = Array.from(
          { length: slices.count },
          (_, i) =>
            chooseFor(
              data.filter((_, at) => slices.of(at) === i),
              { dtype: "int8", scheme: "symmetric" },
            ).scale,
        );
        sameFloats(scale.data, expected);
      }
    }
  });
});

describe("chooseQParams refuses", () => {
  const wrong = [
    [
      "an axis beyond the last",
      { axis: 2 },
      RangeError,
      "ZP_INVALID_AXIS",
      "options.axis must be 0 or 1 for shape [3, 3], got 2",
    ],
    [
      "an axis before the first",
      { axis: -3 },
      RangeError,
      "ZP_INVALID_AXIS",
      "options.axis must be 0 or 1 for shape [3, 3], got -3",
    ],
    [
      "half an axis",
      { axis: 0.5 },
      RangeError,
      "ZP_INVALID_AXIS",
      "options.axis must be 0 or 1 for shape [3, 3], got 0.5",
    ],
    [
      "an axis that is text",
      { axis: "0" },
      TypeError,
      "ZP_INVALID_AXIS",
      'options.axis must be 0 or 1 for shape [3, 3], got "0"',
    ],
    [
      "a group size of 0",
      { groupSize: 0 },
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      "options.groupSize must be a positive integer, got 0",
    ],
    ["a negative group size", { groupSize: -3 }, RangeError, "ZP_INVALID_GROUP_SIZE", /got -3$/],
    [
      "a fractional group size",
      { groupSize: 1.5 },
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      /got 1\.5$/,
    ],
    [
      "a group size that is null",
      { groupSize: null },
      TypeError,
      "ZP_INVALID_GROUP_SIZE",
      "options.groupSize must be a positive integer, got null",
    ],
    [
      "both axis and groupSize",
      { axis: 0, groupSize: 3 },
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      "options.axis and options.groupSize exclude each other, got both",
    ],
    [
      "an unknown dtype",
      { dtype: "int9" },
      RangeError,
      "ZP_INVALID_DTYPE",
      'options.dtype must be "int2", "int3", "int4", "int5", "int6", "int7", "int8", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7", "uint8", "int16", "uint16" or "int32", got "int9"',
    ],
    [
      "the name of a property as dtype",
      { dtype: "toString" },
      RangeError,
      "ZP_INVALID_DTYPE",
      /got "toString"$/,
    ],
    ["a dtype that is a number", { dtype: 8 }, TypeError, "ZP_INVALID_DTYPE", /got 8$/],
    [
      "an unknown scheme",
      { scheme: "both" },
      RangeError,
      "ZP_INVALID_SCHEME",
      'options.scheme must be "symmetric" or "affine", got "both"',
    ],
    ["a scheme that is a number", { scheme: 1 }, TypeError, "ZP_INVALID_SCHEME", /got 1$/],
    [
      "symmetric uint8",
      { dtype: "uint8" },
      RangeError,
      "ZP_INVALID_SCHEME",
      'options.scheme must be "affine" for dtype uint8, which has no negative codes, got "symmetric"',
    ],
    [
      "includeZero that is a number",
      { includeZero: 1 },
      TypeError,
      "ZP_INVALID_OPTION",
      "options.includeZero must be true or false, got 1",
    ],
    [
      "an unknown nonFinite",
      { nonFinite: "skip" },
      RangeError,
      "ZP_INVALID_OPTION",
      'options.nonFinite must be "throw" or "ignore", got "skip"',
    ],
    [
      "a scale, which it is to choose",
      { scale: 1 },
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /has no "scale"/,
    ],
    [
      "a misspelt option",
      { group_size: 3 },
      TypeError,
      "ZP_UNKNOWN_OPTION",
      'options has no "group_size"; did you mean groupSize?',
    ],
  ];
  for (const [name, options, type, code, text] of wrong) {
    it(name, () => {
      const message = typeof text === "string" ? `chooseQParams: ${text}` : text;
      refuses(() => chooseQParams(x, options), type, code, message);
    });
  }

  it("an axis of three, by their range", () => {
    const message = "chooseQParams: options.axis must be from 0 to 2 for shape [1, 1, 1], got 3";
    refuses(
      () => chooseQParams(tensor([[[1]]]), { axis: 3 }),
      RangeError,
      "ZP_INVALID_AXIS",
      message,
    );
  });

  it("more channels than are worth scales without values", () => {
    const none = { data: new Float32Array(0), shape: [2 ** 32 - 1, 0] };
    refuses(
      () => quantize(none, { axis: 0, scale: 1 }),
      RangeError,
      "ZP_SIZE_OVERFLOW",
      "quantize: shape [4294967295, 0] has 4294967295 channels and no values",
    );
  });

  it("an axis or a group of a single value", () => {
    refuses(
      () => chooseQParams(tensor(1), { axis: 0 }),
      RangeError,
      "ZP_INVALID_AXIS",
      "chooseQParams: options.axis must be given for a tensor with axes, not for shape [], got 0",
    );
    refuses(
      () => chooseQParams(tensor(1), { groupSize: 1 }),
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      "chooseQParams: options.groupSize must be given for a tensor with axes, not for shape [], got 1",
    );
  });

  const nonFinite = [
    [[1, NaN], {}, "value 1 is NaN"],
    [[Infinity], {}, "value 0 is Infinity"],
    [[1, 2, -Infinity], { axis: 0 }, "value 2 is -Infinity"],
    [[1, 2, NaN, 4], { groupSize: 2, scheme: "affine" }, "value 2 is NaN"],
  ];
  for (const [values, options, text] of nonFinite) {
    it(`${values} ${JSON.stringify(options)}`, () => {
      refuses(
        () => chooseQParams(tensor(values), options),
        RangeError,
        "ZP_NON_FINITE",
        `chooseQParams: x must be finite to choose a scale, but ${text}; ` +
          'options.nonFinite: "ignore" skips such values',
      );
    });
  }

  it("a double that float32 cannot hold", () => {
    const huge = { data: Float64Array.of(1, 1e39), shape: [2] };
    refuses(
      () => chooseQParams(huge),
      RangeError,
      "ZP_NON_FINITE",
      /: x must be finite, as float32 too, to choose a scale, but value 1 is 1e\+39;/,
    );
  });

  const empty = [
    [[0], {}, "x has no values"],
    [[2, 0], { axis: 0 }, "a channel of x has no values"],
    [[0, 2], { axis: 1 }, "a channel of x has no values"],
  ];
  for (const [shape, options, text] of empty) {
    it(`no values: shape [${shape}] ${JSON.stringify(options)}`, () => {
      refuses(
        () => chooseQParams(tensor(new Float32Array(0), shape), options),
        RangeError,
        "ZP_EMPTY",
        `chooseQParams: ${text} to choose a scale from, got shape [${shape.join(", ")}]`,
      );
    });
  }

  it("no finite values where others are skipped", () => {
    const y = tensor([
      [1, 2],
      [NaN, Infinity],
    ]);
    const message = (slice) =>
      `chooseQParams: a ${slice} of x has no finite values to choose a scale from, got shape [2, 2]`;
    const options = { nonFinite: "ignore" };
    refuses(
      () => chooseQParams(y, { ...options, axis: 0 }),
      RangeError,
      "ZP_EMPTY",
      message("channel"),
    );
    refuses(
      () => chooseQParams(y, { ...options, groupSize: 2 }),
      RangeError,
      "ZP_EMPTY",
      message("group"),
    );
  });

  it("and works on afterwards", () => {
    assert.equal(chooseQParams(tensor([127])).scale, 1);
  });
});

describe("refused", () => {
  it("gives whatever the core refuses the code that the checks give it", () => {
    const cases = {
      kShapeMismatch: "ZP_SHAPE_MISMATCH",
      kInvalidScale: "ZP_INVALID_SCALE",
      kUnsignedSymmetric: "ZP_INVALID_SCHEME",
      kUnsupportedDType: "ZP_UNSUPPORTED_DTYPE",
    };
    for (const [status, code] of Object.entries(cases)) {
      const error = refused("quantize", status);
      assert.ok(error instanceof RangeError);
      assert.equal(error.code, code);
      assert.equal(error.message, `quantize: the core says ${status}`);
    }
  });
});
