// The public functions against what PyTorch answered, wherever both define the answer. Where the
// notebooks' arithmetic has no sound answer, the test says what the library does instead.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  chooseQParams,
  dequantize,
  init,
  linear,
  QuantizedLinear,
  quantizationError,
  quantize,
  tensor,
} from "zeropoint";
import { DTYPES, refuses, sameCodes, sameFloats } from "../support/asserts.mjs";
import {
  assertScalar,
  assertTensor,
  cases,
  decodeScalar,
  decodeTensor,
  isTensor,
} from "../support/vectors.mjs";

await init();

const SMALLEST_NORMAL = 2 ** -126;

/** A given scale or zero point as the public functions take it: BigInts become numbers. */
function given(encoded) {
  if (!isTensor(encoded)) return decodeScalar(encoded);
  const { data, shape } = decodeTensor(encoded);
  return { data: data instanceof BigInt64Array ? Array.from(data, Number) : data, shape };
}

const numbersOf = (value) => (typeof value === "number" ? [value] : Array.from(value.data));

/**
 * A code of PyTorch's, or the library's where PyTorch casts values that its integers cannot hold: the zero point
 * for NaN, and the largest int32 where the cast wraps around.
 */
function soundCode(code, x, scale, zeroPoint, dtype) {
  if (Number.isNaN(x)) return zeroPoint;
  const shifted = Math.fround(Math.fround(x / Math.fround(scale)) + Math.fround(zeroPoint));
  return dtype === "int32" && shifted >= 2 ** 31 ? 2 ** 31 - 1 : code;
}

function soundCodes(expected, x, scale, zeroPoint, dtype) {
  return expected.data.map((code, i) => soundCode(code, x.data[i], scale, zeroPoint, dtype));
}

/** Adds one to the count of a kind of case. */
function count(counts, kind) {
  counts[kind] = (counts[kind] ?? 0) + 1;
}

/** Asserts those errors of quantization that a case has. */
function assertErrors(x, values, out, id) {
  if (out.mse) assertScalar(quantizationError(x, values, "mse"), out.mse, id);
  if (out.mae) assertScalar(quantizationError(x, values, "mae"), out.mae, id);
}

describe("quantize and dequantize with given qparams", () => {
  const counts = {};

  /** The error of quantize, as arguments of `refuses`; undefined if it quantizes the case. */
  function refusalOf(x, { dtype, scale }, shape) {
    const isScale = (value) => Math.fround(value) > 0 && Math.fround(value) < Infinity;
    if (DTYPES[dtype] === undefined) return [RangeError, "ZP_INVALID_DTYPE", /got "int64"$/];
    if (x.dtype === "int64") return [TypeError, "ZP_INVALID_TENSOR", /BigInts$/];
    if (!numbersOf(scale).every(isScale)) {
      return [RangeError, "ZP_INVALID_SCALE", /options\.scale/];
    }
    if (shape.join() !== x.shape.join()) {
      return [RangeError, "ZP_SHAPE_MISMATCH", /must broadcast against shape/];
    }
  }

  /** Whether PyTorch computes a case in float64; the library rounds its inputs to float32 first. */
  const isFloat64 = (x, scale) =>
    x.dtype === "float64" || (isTensor(scale) && scale.t === "f64" && scale.shape.length > 0);

  for (const { id, op, in: input, out, note = "" } of cases("linear_q")) {
    if (op !== "linear_q_with_scale_and_zero_point") continue;
    const title = `${id} ${note}`;
    const x = decodeTensor(input.x);
    const { dtype } = input;
    const scale = given(input.scale);
    const zeroPoint = given(input.zero_point);
    const options = { dtype, scale, zeroPoint };

    const refusal = refusalOf(x, options, out.q.shape);
    if (refusal) {
      count(counts, refusal[1]);
      it(`refuse ${title}`, () => refuses(() => quantize(x, options), ...refusal));
      continue;
    }
    if (isFloat64(x, input.scale)) {
      count(counts, "rounded");
      it(`round the inputs to float32 first: ${title}`, () => {
        const sameInFloat32 = { data: Float32Array.from(x.data), shape: x.shape };
        sameCodes(quantize(x, options).data, quantize(sameInFloat32, options).data);
      });
      continue;
    }
    count(counts, "agreed");
    if (out.q.crc32 !== undefined) {
      it(`agree with PyTorch, by checksum: ${title}`, () => {
        const q = quantize(x, options);
        assertTensor(q.data, q.shape, out.q, id);
        assertTensor(dequantize(q).data, q.shape, out.dq, id);
        assertScalar(quantizationError(x, dequantize(q)), out.mse, id);
      });
      continue;
    }
    it(`agree with PyTorch: ${title}`, () => {
      const q = quantize(x, options);
      const expected = decodeTensor(out.q);
      const isPerTensor = typeof scale === "number" && typeof zeroPoint === "number";
      const codes = isPerTensor ? soundCodes(expected, x, scale, zeroPoint, dtype) : expected.data;
      sameCodes(q.data, codes);
      assert.deepEqual(q.shape, out.q.shape);
      const dequantized = dequantize({ ...q, data: expected.data });
      assertTensor(dequantized.data, dequantized.shape, out.dq, id);
    });
  }

  it("agree with PyTorch in most cases", () => {
    assert.deepEqual(counts, {
      agreed: 52,
      rounded: 4,
      ZP_INVALID_DTYPE: 8,
      ZP_INVALID_TENSOR: 1,
      ZP_INVALID_SCALE: 15,
      ZP_SHAPE_MISMATCH: 3,
    });
  });

  let fuzzed = 0;
  for (const { id, op, in: input, out } of cases("fuzz")) {
    if (op !== "linear_q_all_dtypes") continue;
    for (const dtype of ["int8", "uint8", "int16", "int32"]) {
      const zeroPoint = decodeScalar(input.zero_point);
      if (zeroPoint < DTYPES[dtype].qmin) continue;
      fuzzed++;
      it(`agree with PyTorch on random bits: ${id} ${dtype}`, () => {
        const x = decodeTensor(input.x);
        const scale = decodeScalar(input.scale);
        const codes = soundCodes(decodeTensor(out[dtype]), x, scale, zeroPoint, dtype);
        sameCodes(quantize(x, { dtype, scale, zeroPoint }).data, codes);
      });
    }
  }
  it("are compared on at least 30 cases of random bits", () => assert.ok(fuzzed >= 30));
});

describe("quantize with qparams chosen per tensor", () => {
  const counts = {};

  /** The error of quantize, as arguments of `refuses`; undefined if it quantizes the case. */
  function refusalOf(x, { dtype, scheme }) {
    if (scheme === "symmetric" && DTYPES[dtype].qmin === 0) {
      return [RangeError, "ZP_INVALID_SCHEME", /must be "affine" for dtype uint8/];
    }
    if (x.data.length === 0) return [RangeError, "ZP_EMPTY", /has no values/];
    if (!x.data.every(Number.isFinite)) return [RangeError, "ZP_NON_FINITE", /must be finite/];
  }

  for (const { id, op, in: input, out, note = "" } of cases("qparams")) {
    if (input.seed004_compat || DTYPES[input.dtype] === undefined) continue;
    const title = `${id} ${op} ${note}`;
    const x = decodeTensor(input.x);
    const { dtype } = input;
    const isSymmetric = op === "linear_q_symmetric" || op === "get_q_scale_symmetric";
    const scheme = isSymmetric ? "symmetric" : "affine";
    const options = { dtype, scheme, includeZero: false };

    const refusal = refusalOf(x, options);
    if (refusal) {
      count(counts, "refused");
      it(`refuses ${title}`, () => refuses(() => quantize(x, options), ...refusal));
      continue;
    }
    if (out.raises || decodeScalar(out.scale) < SMALLEST_NORMAL) {
      count(counts, "sound");
      it(`chooses valid qparams where PyTorch does not: ${title}`, () => {
        const { scale, zeroPoint } = quantize(x, options);
        if (x.data.every((value) => value === 0)) assert.equal(scale, 1);
        else assert.ok(scale >= SMALLEST_NORMAL && Number.isFinite(scale));
        assert.ok(zeroPoint >= DTYPES[dtype].qmin && zeroPoint <= DTYPES[dtype].qmax);
      });
      it(`keeps values to within half a step where PyTorch does not: ${title}`, () => {
        // The smallest step leaves values far below it at 0; dividing and adding round to float32.
        const q = quantize(x, options);
        dequantize(q).data.forEach((value, i) => {
          const error = Math.abs(value - x.data[i]);
          assert.ok(error <= q.scale * 0.5001, `${value} for ${x.data[i]}`);
        });
      });
      continue;
    }
    count(counts, "agreed");
    it(`agrees with PyTorch: ${title}`, () => {
      const q = quantize(x, options);
      assertScalar(q.scale, out.scale, id);
      assert.equal(q.zeroPoint, out.zero_point ?? 0);
      const expected = decodeTensor(out.q);
      const codes = soundCodes(expected, x, q.scale, q.zeroPoint, dtype);
      sameCodes(q.data, codes);
      assert.deepEqual(q.shape, x.shape);
      if (codes.some((code, i) => code !== expected.data[i])) return;
      const values = dequantize(q);
      if (out.dq) assertTensor(values.data, values.shape, out.dq, id);
      assertErrors(x, values, out, id);
    });
  }

  it("agrees with PyTorch in most cases", () => {
    assert.deepEqual(counts, { agreed: 104, refused: 53, sound: 37 });
  });

  it("chooses the notebooks' affine int8 qparams for random ranges", () => {
    const { in: input, out } = cases("fuzz").find(({ op }) => op === "choose_qparams_rows");
    const mins = decodeTensor(input.min).data;
    const maxs = decodeTensor(input.max).data;
    const scales = decodeTensor(out.seed_scale_int8).data;
    let compared = 0;
    for (let i = 0; i < mins.length; i++) {
      if (mins[i] === maxs[i] || !(scales[i] >= SMALLEST_NORMAL)) continue;
      compared++;
      const options = { scheme: "affine", includeZero: false };
      const { scale, zeroPoint } = chooseQParams(tensor([mins[i], maxs[i]]), options);
      assert.equal(scale, scales[i], `row ${i}`);
      assert.equal(zeroPoint, out.seed_zero_point_int8[i], `row ${i}`);
    }
    assert.ok(compared >= 100, `${compared}`);
  });
});

describe("quantize per channel and per group", () => {
  const counts = {};

  /** The error of quantize, as arguments of `refuses`; undefined if it quantizes the case. */
  function refusalOf(x, { dtype, group_size }, raises, note) {
    if (DTYPES[dtype].qmin === 0) return [RangeError, "ZP_INVALID_SCHEME", /must be "affine"/];
    if (!x.data.every(Number.isFinite)) return [RangeError, "ZP_NON_FINITE", /must be finite/];
    if (raises?.type === "IndexError" && group_size === undefined) {
      return [RangeError, "ZP_INVALID_AXIS", /options\.axis/];
    }
    if (note === "empty channel") return [RangeError, "ZP_EMPTY", /a channel of x has no values/];
    if (raises && !(group_size > 0)) {
      return [RangeError, "ZP_INVALID_GROUP_SIZE", /options\.groupSize/];
    }
  }

  /** PyTorch's codes, or the library's where PyTorch casts 0 / 0 or 2^31 to int32. */
  const soundSymmetricCodes = (codes, x, dtype) =>
    codes.map((code, i) => {
      if (dtype !== "int32" || code !== -(2 ** 31) || x.data[i] < 0) return code;
      return x.data[i] === 0 ? 0 : 2 ** 31 - 1;
    });

  for (const { id, op, in: input, out, note = "" } of cases("channel_group")) {
    if (DTYPES[input.dtype] === undefined || input.x === undefined) continue;
    const title = `${id} ${op} ${note}`;
    const x = decodeTensor(input.x);
    const { dtype } = input;
    const slicing = op.endsWith("channel") ? { axis: input.dim } : { groupSize: input.group_size };
    const options = { dtype, ...slicing };

    const refusal = refusalOf(x, input, out.raises, note);
    if (refusal) {
      count(counts, "refused");
      it(`refuses ${title}`, () => refuses(() => quantize(x, options), ...refusal));
      continue;
    }
    if (out.raises) {
      count(counts, "sound");
      it(`takes any number of axes, and short groups: ${title}`, () => {
        const row = x.shape.at(-1);
        const groups = (x.data.length / row) * Math.ceil(row / input.group_size);
        assert.deepEqual(quantize(x, options).scale.shape, [groups, 1]);
      });
      continue;
    }
    const scales = decodeTensor(out.scale);
    const isSound = scales.data.every((scale) => scale >= SMALLEST_NORMAL);
    count(counts, isSound ? "agreed" : "sound");
    it(`agrees with PyTorch on scales, or takes 1 for 0: ${title}`, () => {
      const { scale } = quantize(x, options);
      assert.deepEqual(scale.shape, scales.shape);
      const expected = scales.data.map((scale) => (scale === 0 ? 1 : scale));
      sameFloats(scale.data, expected);
    });
    it(`agrees with PyTorch on codes, values and errors: ${title}`, () => {
      const q = quantize(x, options);
      const expected = decodeTensor(out.q).data;
      const codes = soundSymmetricCodes(expected, x, dtype);
      sameCodes(q.data, codes);
      if (codes.some((code, i) => code !== expected[i])) return;
      const values = dequantize(q);
      assertTensor(values.data, values.shape, out.dq, id);
      assertErrors(x, values, out, id);
    });
  }

  it("agrees with PyTorch in most cases", () => {
    assert.deepEqual(counts, { agreed: 55, refused: 26, sound: 7 });
  });
});

describe("quantizationError", () => {
  let compared = 0;
  for (const { id, op, in: input, out, note } of cases("error")) {
    if (op === "quantization_error") {
      compared++;
      it(`${id} ${note ?? ""}`, () => {
        const a = decodeTensor(input.a);
        const b = decodeTensor(input.b);
        assertScalar(quantizationError(a, b, "mse"), out.mse, id);
        assertScalar(quantizationError(a, b, "mae"), out.mae, id);
      });
    } else if (op === "sum_mean") {
      compared++;
      it(`${id} mean of squares, ${note}`, () => {
        // The distance to zeros is the tensor itself, so mse is the mean of its squares.
        const x = decodeTensor(input.x);
        const zeros = tensor(new Float32Array(x.data.length), x.shape);
        const [expected] = decodeTensor(out.mean_sq).data;
        assert.equal(quantizationError(x, zeros), expected);
      });
    }
  }
  it("was compared on all of them", () => assert.ok(compared >= 52, `${compared}`));
});

describe("linear", () => {
  const accumulations = ["exact", "float32"];

  /**
   * Asserts that y lies within its bound of the exact values: the oracle's (K + 1) 2^-24 sum|x w|, or
   * (K + 2) 2^-23 sum|x w| for float32.
   */
  function within(y, input, out, id, accumulate) {
    const exact = decodeTensor(out.y_exact_f64);
    const tolerance = decodeTensor(out.tol_abs).data;
    const k = input.input.shape.at(-1);
    const factor = accumulate === "exact" ? 1 : (2 * (k + 2)) / (k + 1);
    assert.deepEqual(y.shape, exact.shape, id);
    exact.data.forEach((value, i) => {
      const error = Math.abs(y.data[i] - value);
      assert.ok(error <= factor * tolerance[i], `${id} ${accumulate} value ${i}: off by ${error}`);
    });
  }

  let quantized = 0;
  for (const { id, op, in: input, out } of cases("w8a32")) {
    if (op !== "quantized_linear_W8A32_without_bias") continue;
    for (const accumulate of accumulations) {
      it(`${id} with float weights, ${accumulate}`, () => {
        const y = linear(decodeTensor(input.input), decodeTensor(out.weight), null, { accumulate });
        within(y, input, out, id, accumulate);
      });
      // The notebook adds z_w where it should subtract the zero point: the two agree where it is 0.
      if (input.z_w !== 0) continue;
      quantized++;
      it(`${id} with int8 weights, ${accumulate}`, () => {
        const x = decodeTensor(input.input);
        const { data, shape } = decodeTensor(input.q_w);
        const weight = { data, shape, dtype: "int8", scale: given(input.s_w), zeroPoint: 0 };
        sameFloats(dequantize(weight).data, decodeTensor(out.weight).data);
        const y = linear(x, weight, undefined, { accumulate });
        within(y, input, out, id, accumulate);
        const layer = new QuantizedLinear(weight, { accumulate });
        sameFloats(layer.forward(x).data, y.data);
        layer.dispose();
      });
    }
  }
  it("was compared with int8 weights too", () => assert.ok(quantized >= 10, `${quantized}`));
});
