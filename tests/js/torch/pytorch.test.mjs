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
 * What the sound family makes of a code that PyTorch got by casting: NaN is the zero point, and int32
 * saturates where the cast wraps around.
 */
function soundCode(code, x, scale, zeroPoint, dtype) {
  if (Number.isNaN(x)) return zeroPoint;
  const shifted = Math.fround(Math.fround(x / Math.fround(scale)) + Math.fround(zeroPoint));
  return dtype === "int32" && shifted >= 2 ** 31 ? 2 ** 31 - 1 : code;
}

function soundCodes(expected, x, scale, zeroPoint, dtype) {
  return expected.data.map((code, i) => soundCode(code, x.data[i], scale, zeroPoint, dtype));
}

describe("quantize and dequantize with given qparams", () => {
  const counts = { agreed: 0, refused: 0, other: 0 };

  for (const { id, op, in: input, out, note } of cases("linear_q")) {
    if (op !== "linear_q_with_scale_and_zero_point") continue;
    it(`${id} ${note ?? ""}`, () => {
      const x = decodeTensor(input.x);
      const { dtype } = input;
      const scale = given(input.scale);
      const zeroPoint = given(input.zero_point);
      const work = () => quantize(x, { dtype, scale, zeroPoint });
      const rounded = numbersOf(scale).map(Math.fround);
      const { qmin, qmax } = DTYPES[dtype] ?? {};
      const isCode = (zero) => Number.isInteger(zero) && zero >= qmin && zero <= qmax;

      if (DTYPES[dtype] === undefined) {
        counts.other++;
        refuses(work, RangeError, "ZP_INVALID_DTYPE", /got "int64"$/);
      } else if (x.dtype === "int64") {
        counts.other++;
        refuses(work, TypeError, "ZP_INVALID_TENSOR", /BigInts$/);
      } else if (
        x.dtype === "float64" ||
        (isTensor(input.scale) && input.scale.t === "f64" && input.scale.shape.length > 0)
      ) {
        // PyTorch computes in float64 here; the library rounds to float32 first.
        counts.other++;
        const sameInFloat32 = { data: Float32Array.from(x.data), shape: x.shape };
        sameCodes(work().data, quantize(sameInFloat32, { dtype, scale, zeroPoint }).data);
      } else if (!rounded.every((value) => value > 0 && value < Infinity)) {
        counts.refused++;
        refuses(work, RangeError, "ZP_INVALID_SCALE", /options\.scale/);
      } else if (!numbersOf(zeroPoint).every(isCode)) {
        counts.refused++;
        refuses(work, RangeError, "ZP_INVALID_ZERO_POINT", /options\.zeroPoint/);
      } else if (out.q.shape.join() !== x.shape.join()) {
        counts.refused++;
        refuses(work, RangeError, "ZP_SHAPE_MISMATCH", /must broadcast against shape/);
      } else {
        counts.agreed++;
        const q = work();
        if (out.q.crc32 !== undefined) {
          assertTensor(q.data, q.shape, out.q, id);
          assertTensor(dequantize(q).data, q.shape, out.dq, id);
          assertScalar(quantizationError(x, dequantize(q)), out.mse, id);
          return;
        }
        const expected = decodeTensor(out.q);
        const codes =
          typeof scale === "number" && typeof zeroPoint === "number"
            ? soundCodes(expected, x, scale, zeroPoint, dtype)
            : expected.data;
        sameCodes(q.data, codes);
        assert.deepEqual(q.shape, out.q.shape);
        const dequantized = dequantize({ ...q, data: expected.data });
        assertTensor(dequantized.data, dequantized.shape, out.dq, id);
      }
    });
  }

  it("agreed in most of these cases", () => {
    assert.deepEqual(counts, { agreed: 52, refused: 18, other: 13 });
  });

  let fuzzed = 0;
  for (const { id, op, in: input, out } of cases("fuzz")) {
    if (op !== "linear_q_all_dtypes") continue;
    for (const dtype of ["int8", "uint8", "int16", "int32"]) {
      const zeroPoint = decodeScalar(input.zero_point);
      if (zeroPoint < DTYPES[dtype].qmin) continue;
      fuzzed++;
      it(`${id} ${dtype}, random bits`, () => {
        const x = decodeTensor(input.x);
        const scale = decodeScalar(input.scale);
        const codes = soundCodes(decodeTensor(out[dtype]), x, scale, zeroPoint, dtype);
        sameCodes(quantize(x, { dtype, scale, zeroPoint }).data, codes);
      });
    }
  }
  it("agreed on random bits too", () => assert.ok(fuzzed >= 30));
});

describe("quantize with qparams chosen per tensor", () => {
  const counts = { agreed: 0, refused: 0, sound: 0 };

  for (const { id, op, in: input, out, note } of cases("qparams")) {
    if (input.seed004_compat || DTYPES[input.dtype] === undefined) continue;
    it(`${id} ${op} ${note ?? ""}`, () => {
      const x = decodeTensor(input.x);
      const { dtype } = input;
      const isSymmetric = op === "linear_q_symmetric" || op === "get_q_scale_symmetric";
      const scheme = isSymmetric ? "symmetric" : "affine";
      const options = { dtype, scheme, includeZero: false };
      const work = () => quantize(x, options);
      const allFinite = x.data.every(Number.isFinite);

      if (isSymmetric && DTYPES[dtype].qmin === 0) {
        counts.refused++;
        refuses(work, RangeError, "ZP_INVALID_SCHEME", /must be "affine" for dtype uint8/);
      } else if (x.data.length === 0) {
        counts.refused++;
        refuses(work, RangeError, "ZP_EMPTY", /has no values/);
      } else if (!allFinite) {
        counts.refused++;
        refuses(work, RangeError, "ZP_NON_FINITE", /must be finite/);
      } else if (out.raises || decodeScalar(out.scale) < SMALLEST_NORMAL) {
        counts.sound++;
        const { scale, zeroPoint } = work();
        if (x.data.every((value) => value === 0)) assert.equal(scale, 1);
        else assert.ok(scale >= SMALLEST_NORMAL && Number.isFinite(scale));
        assert.ok(zeroPoint >= DTYPES[dtype].qmin && zeroPoint <= DTYPES[dtype].qmax);
        // Whatever the notebooks do there, a value in range comes back to within half a step. The
        // smallest step leaves values far below it at 0; dividing and adding round to float32.
        const values = dequantize(quantize(x, options)).data;
        values.forEach((value, i) => {
          assert.ok(Math.abs(value - x.data[i]) <= scale * 0.5001, `${value} for ${x.data[i]}`);
        });
      } else {
        counts.agreed++;
        const q = work();
        assertScalar(q.scale, out.scale, id);
        assert.equal(q.zeroPoint, out.zero_point ?? 0);
        const expected = decodeTensor(out.q);
        const codes = soundCodes(expected, x, q.scale, q.zeroPoint, dtype);
        sameCodes(q.data, codes);
        assert.deepEqual(q.shape, x.shape);
        if (codes.some((code, i) => code !== expected.data[i])) return;
        const values = dequantize(q);
        if (out.dq) assertTensor(values.data, values.shape, out.dq, id);
        if (out.mse) assertScalar(quantizationError(x, values, "mse"), out.mse, id);
        if (out.mae) assertScalar(quantizationError(x, values, "mae"), out.mae, id);
      }
    });
  }

  it("agreed in most of these cases", () => {
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
  const counts = { agreed: 0, refused: 0, sound: 0 };

  for (const { id, op, in: input, out, note } of cases("channel_group")) {
    if (DTYPES[input.dtype] === undefined || input.x === undefined) continue;
    it(`${id} ${op} ${note ?? ""}`, () => {
      const x = decodeTensor(input.x);
      const { dtype } = input;
      const slicing = op.endsWith("channel")
        ? { axis: input.dim }
        : { groupSize: input.group_size };
      const work = () => quantize(x, { dtype, ...slicing });

      if (DTYPES[dtype].qmin === 0) {
        counts.refused++;
        refuses(work, RangeError, "ZP_INVALID_SCHEME", /must be "affine"/);
      } else if (!x.data.every(Number.isFinite)) {
        counts.refused++;
        refuses(work, RangeError, "ZP_NON_FINITE", /must be finite/);
      } else if (out.raises?.type === "IndexError" && op.endsWith("channel")) {
        counts.refused++;
        refuses(work, RangeError, "ZP_INVALID_AXIS", /options\.axis/);
      } else if (note === "empty channel") {
        counts.refused++;
        refuses(work, RangeError, "ZP_EMPTY", /a channel of x has no values/);
      } else if (out.raises && input.group_size > 0) {
        // The notebook takes two axes and whole groups; the library takes any number, and short groups.
        counts.sound++;
        const row = x.shape.at(-1);
        const groups = (x.data.length / row) * Math.ceil(row / input.group_size);
        assert.deepEqual(work().scale.shape, [groups, 1]);
      } else if (out.raises) {
        counts.refused++;
        refuses(work, RangeError, "ZP_INVALID_GROUP_SIZE", /options\.groupSize/);
      } else {
        const q = work();
        const scales = decodeTensor(out.scale);
        const isSound = scales.data.every((scale) => scale >= SMALLEST_NORMAL);
        counts[isSound ? "agreed" : "sound"]++;
        assert.deepEqual(q.scale.shape, scales.shape);
        sameFloats(
          q.scale.data,
          scales.data.map((scale) => (scale === 0 ? 1 : scale)),
        );
        const expected = decodeTensor(out.q);
        const top = 2 ** 31 - 1;
        const codes = expected.data.map((code, i) => {
          if (dtype !== "int32" || code !== -(2 ** 31)) return code;
          if (x.data[i] < 0) return code;
          return x.data[i] === 0 ? 0 : top; // PyTorch cast 0 / 0, or 2^31
        });
        sameCodes(q.data, codes);
        if (codes.some((code, i) => code !== expected.data[i])) return;
        const values = dequantize(q);
        assertTensor(values.data, values.shape, out.dq, id);
        if (out.mse) assertScalar(quantizationError(x, values, "mse"), out.mse, id);
        if (out.mae) assertScalar(quantizationError(x, values, "mae"), out.mae, id);
      }
    });
  }

  it("agreed in most of these cases", () => {
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
