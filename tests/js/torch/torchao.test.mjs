import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import {
  chooseQParamsAffine,
  chooseScaleFloat8,
  dequantizeAffine,
  dequantizeFloat8,
  float8Row,
  int4Tinygemm,
  int8DynamicActivation,
  int8Weight,
  intx,
  perAxis,
  perBlock,
  perGroup,
  perRow,
  perTensor,
  quantizeAffine,
  quantizeFloat8,
  quantizeHqq,
} from "zeropoint/torch";
import { Random, refuses } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";

await init();

const { cases } = JSON.parse(
  readFileSync(new URL("../../vectors/torchao.json", import.meta.url), "utf8"),
);

const DTYPES = {
  f32: "float32",
  f16: "float16",
  bf16: "bfloat16",
  i8: "int8",
  i32: "int32",
  i64: "int64",
};
const ARRAYS = {
  f32: Float32Array,
  f16: Uint16Array,
  bf16: Uint16Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  i32: Int32Array,
};
const MAPPINGS = {
  SYMMETRIC: "symmetric",
  SYMMETRIC_NO_CLIPPING_ERR: "symmetricNoClippingErr",
  ASYMMETRIC: "asymmetric",
};

/** A tensor of the vectors as an argument: its numbers, or the patterns of half floats. */
function tensorOf({ t, shape, b64 }) {
  const bytes = Uint8Array.from(Buffer.from(b64, "base64"));
  if (t === "i64") {
    // NaN becomes the smallest int64 there, and here the smallest int32: arrays of int64 hold int32.
    const numbers = Array.from(new BigInt64Array(bytes.buffer), Number);
    const data = Int32Array.from(numbers, (value) => Math.max(value, -(2 ** 31)));
    return { data, shape, dtype: "int64" };
  }
  const data = new (ARRAYS[t] ?? Uint8Array)(bytes.buffer);
  return { data, shape, ...(t in DTYPES && { dtype: DTYPES[t] }) };
}

const NAN_PATTERNS = {
  f32: (bits) => (bits & 0x7fffffff) > 0x7f800000,
  f16: (bits) => (bits & 0x7fff) > 0x7c00,
  bf16: (bits) => (bits & 0x7fff) > 0x7f80,
  e4m3fn: (bits) => (bits & 0x7f) === 0x7f,
  e5m2: (bits) => (bits & 0x7f) > 0x7c,
  e4m3fnuz: (bits) => bits === 0x80,
  e5m2fnuz: (bits) => bits === 0x80,
};

/** Asserts equal bits; any NaN equals any NaN. */
function same(id, actual, expected) {
  const wanted = tensorOf(expected);
  assert.deepEqual([...actual.shape], expected.shape, `${id}: shape`);
  if (expected.t in DTYPES && actual.dtype !== undefined && !/^u?int[1-7]$/.test(actual.dtype)) {
    assert.equal(actual.dtype, DTYPES[expected.t], `${id}: dtype`);
  }
  const bits = (data) => (data instanceof Float32Array ? new Uint32Array(data.buffer) : data);
  const [a, b] = [bits(actual.data), bits(wanted.data)];
  assert.equal(a.length, b.length, `${id}: length`);
  const isNotANumber = NAN_PATTERNS[expected.t] ?? (() => false);
  for (let i = 0; i < a.length; i++) {
    if (isNotANumber(a[i]) && isNotANumber(b[i])) continue;
    assert.equal(a[i], b[i], `${id}: value ${i}`);
  }
}

const compat = "torch";
const given = (value) => (value === null ? undefined : value);
const limits = ({ qmin, qmax }) => ({ quantMin: given(qmin), quantMax: given(qmax) });
const types = ({ scaleDtype, zeroPointDtype }) => ({
  scaleDtype: DTYPES[scaleDtype],
  zeroPointDtype: DTYPES[zeroPointDtype],
});

/** With given qparams. */
const givenQParams = ({ args, in: inputs }) => ({
  blockSize: args.block ?? [1, -1],
  dtype: args.dtype,
  ...limits(args),
  compat,
  scale: tensorOf(inputs.scale),
  ...(inputs.zeroPoint ? { zeroPoint: tensorOf(inputs.zeroPoint) } : { zeroPointDomain: "none" }),
});

const last = ({ shape }) => shape.map((length, axis) => (axis === shape.length - 1 ? length : 1));

/** Runs of the vectors by function, in a build. */
function runsOf({
  chooseQParamsAffine,
  chooseScaleFloat8,
  dequantizeAffine,
  dequantizeFloat8,
  fakeQuantizeAffine,
  quantizeAffine,
  quantizeFloat8,
  quantizeHqq,
}) {
  /** Choose, quantize, dequantize and fake-quantize, as far as the vector has outputs. */
  function roundTrip({ id, args, in: { x: input }, out }, extra = {}, outputDtype = input.t) {
    const x = tensorOf(input);
    const { block, dtype } = args;
    const own = { blockSize: block, dtype, ...limits(args), compat, ...extra.quantize };
    const [scale, zeroPoint] = chooseQParamsAffine(x, {
      ...own,
      ...types(args),
      mapping: MAPPINGS[args.mapping],
      eps: given(args.eps),
      keepdim: args.keepdim ?? false,
      ...extra.choose,
    });
    if (out.scale) same(id, scale, out.scale);
    if (out.zeroPoint) same(id, zeroPoint, out.zeroPoint);
    if (!out.q && !out.dq && !out.fq) return;
    const q = quantizeAffine(x, { ...own, scale, zeroPoint });
    if (out.q) same(id, { data: q.data, shape: q.shape }, out.q);
    if (out.dq) same(id, dequantizeAffine(q, { outputDtype: DTYPES[outputDtype] }), out.dq);
    if (out.fq) same(id, fakeQuantizeAffine(x, { ...own, scale, zeroPoint }), out.fq);
  }

  return {
    affine: (each) => roundTrip(each),
    choose: (each) => roundTrip(each),
    minMax({ id, args, in: { min, max }, out }) {
      const [scale, zeroPoint] = chooseQParamsAffine(undefined, {
        min: tensorOf(min),
        max: tensorOf(max),
        mapping: MAPPINGS[args.mapping],
        dtype: args.dtype,
        eps: given(args.eps),
        ...limits(args),
        ...types(args),
        compat,
      });
      same(id, scale, out.scale);
      same(id, zeroPoint, out.zeroPoint);
    },
    quantize(each) {
      const { data, shape } = quantizeAffine(tensorOf(each.in.x), givenQParams(each));
      same(each.id, { data, shape }, each.out.q);
    },
    dequantize(each) {
      const { data, shape } = tensorOf(each.in.q);
      const outputDtype = DTYPES[each.args.outputDtype];
      same(
        each.id,
        dequantizeAffine({ data, shape, ...givenQParams(each) }, { outputDtype }),
        each.out.dq,
      );
    },
    fakeQuantize(each) {
      const x = tensorOf(each.in.x);
      const zeroPointDomain = each.args.domain.toLowerCase();
      const own = { ...givenQParams(each), zeroPointDomain };
      if (zeroPointDomain === "none") delete own.zeroPoint;
      same(each.id, fakeQuantizeAffine(x, own), each.out.fq);
    },
    noZeroPoint(each) {
      const q = quantizeAffine(tensorOf(each.in.x), givenQParams(each));
      same(each.id, { data: q.data, shape: q.shape }, each.out.q);
      same(each.id, dequantizeAffine(q, { outputDtype: DTYPES[each.in.x.t] }), each.out.dq);
    },
    tinygemm: (each) => roundTrip(each, { quantize: { zeroPointDomain: "float" } }),
    dontPreserveZero: (each) => roundTrip(each, { choose: { preserveZero: false } }),
    float8({ id, args, in: { x: input }, out }) {
      const x = tensorOf(input);
      const own = { dtype: `float8_${args.float8Dtype}`, blockSize: args.block };
      const scale = chooseScaleFloat8(x, {
        ...own,
        lowerBound: given(args.lowerBound),
        upperBound: given(args.upperBound),
        ...(args.scaleDtype === "e8m0" && { scaleDtype: "float8_e8m0" }),
        compat,
      });
      same(id, scale, out.scale);
      const q = quantizeFloat8(x, { ...own, scale });
      same(id, { data: q.data, shape: q.shape }, out.q);
      same(id, dequantizeFloat8(q, { outputDtype: DTYPES[input.t] }), out.dq);
    },
    hqq({ id, args, in: { x }, out }) {
      const { nbits: bits, groupSize, axis, optimize, computeDtype, rawOutput: raw } = args;
      const own = { bits, groupSize, axis, optimize, computeDtype: DTYPES[computeDtype], raw };
      const { data, scale, zeroPoint } = quantizeHqq(tensorOf(x), own);
      same(id, { data, shape: out.q.shape }, out.q);
      same(id, { ...scale, shape: out.scale.shape }, out.scale);
      same(id, { ...zeroPoint, shape: out.zeroPoint.shape }, out.zeroPoint);
    },
    hqqScaleOnly({ id, args, in: { x }, out }) {
      const bits = Math.log2(args.qmax - args.qmin + 1);
      const q = quantizeHqq(tensorOf(x), { bits, groupSize: args.block[1], scaleOnly: true });
      same(id, { data: Int32Array.from(q.data), shape: q.shape }, out.q);
      same(id, q.scale, out.scale);
    },
    // Helpers of quantization/utils.py: calls of the primitives with these arguments.
    perTokenAbsmax(each) {
      const scaleDtype = each.in.x.t === "f16" ? "f32" : null;
      const args = {
        mapping: "SYMMETRIC",
        block: last(each.in.x),
        dtype: "int8",
        qmin: -127,
        qmax: 127,
        eps: 1e-5,
        scaleDtype,
        zeroPointDtype: "i32",
      };
      roundTrip({ ...each, args });
    },
    perTokenDynamicQuant(each) {
      const args = {
        mapping: "ASYMMETRIC",
        block: last(each.in.x),
        dtype: "int8",
        qmin: -128,
        qmax: 127,
        eps: each.args.eps,
        scaleDtype: "f32",
        zeroPointDtype: "f32",
      };
      roundTrip({ ...each, args });
    },
    dynamicPerChannel(each) {
      const args = {
        mapping: "SYMMETRIC",
        block: last(each.in.x),
        dtype: "int8",
        qmin: -128,
        qmax: 127,
        eps: 2 ** -126,
        scaleDtype: null,
        zeroPointDtype: "i64",
      };
      roundTrip({ ...each, args });
    },
    groupQParamsSymmetric(each) {
      const { nbits, groupSize, precision, mapping } = each.args;
      const args = {
        mapping,
        block: [1, groupSize],
        dtype: `int${nbits}`,
        qmin: null,
        qmax: null,
        eps: null,
        scaleDtype: precision,
        zeroPointDtype: precision,
      };
      roundTrip({ ...each, args });
    },
    groupwiseAffine(each) {
      const { nbits, groupSize, dtype: scaleDtype, domain, preserveZero } = each.args;
      const isFloat = domain === "FLOAT";
      const zeroPointDtype = isFloat ? scaleDtype : "i32";
      const args = {
        mapping: "ASYMMETRIC",
        block: [1, groupSize],
        dtype: "int32",
        qmin: 0,
        qmax: 2 ** nbits - 1,
        eps: 1e-6,
        scaleDtype,
        zeroPointDtype,
      };
      const extra = isFloat
        ? { quantize: { zeroPointDomain: "float" } }
        : { choose: { preserveZero } };
      roundTrip({ ...each, args }, extra, scaleDtype);
    },
    dequantizePerChannel(each) {
      const { data, shape } = tensorOf(each.in.q);
      const own = { ...givenQParams(each), dtype: "int8" };
      const outputDtype = DTYPES[each.args.outputDtype];
      same(each.id, dequantizeAffine({ data, shape, ...own }, { outputDtype }), each.out.dq);
    },
  };
}

for (const library of builds) {
  const run = runsOf(library);
  describe(`torchao's vectors: ${library.name}`, () => {
    for (const fn of new Set(cases.map((each) => each.fn))) {
      const own = cases.filter((each) => each.fn === fn);
      it(`gives the bits of ${own.length} cases of ${fn}`, () => {
        const wrong = [];
        for (const each of own) {
          try {
            run[fn](each);
          } catch (error) {
            wrong.push(`${JSON.stringify(each.args)} ${each.in.x?.t ?? ""} ${error.message}`);
          }
        }
        assert.deepEqual(wrong, [], `${wrong.length} of ${own.length}`);
      });
    }
  });
}

const random = new Random(5);
const x = {
  data: Float32Array.from({ length: 256 }, () => random.between(-2, 3)),
  shape: [4, 64],
};

describe("torchao's granularities", () => {
  it("are block sizes", () => {
    assert.deepEqual(perTensor(x), [4, 64]);
    assert.deepEqual(perRow(x), [1, 64]);
    assert.deepEqual(perAxis(x, 0), [1, 64]);
    assert.deepEqual(perAxis(x, -1), [4, 1]);
    assert.deepEqual(perGroup(x, 32), [1, 32]);
    assert.deepEqual(perBlock(x, [2, 16]), [2, 16]);
    assert.deepEqual(perBlock({ data: new Float32Array(8), shape: [2, 2, 2] }, [2]), [1, 1, 2]);
  });

  it("cut n axes, whatever their order", () => {
    // One scale for each of 2 × 2 × 1 blocks of [1, 2, 3] values.
    const data = Float32Array.from({ length: 24 }, (_, i) => i + 1);
    const cube = { data, shape: [2, 4, 3] };
    const blockSize = [1, 2, 3];
    const [scale] = chooseQParamsAffine(cube, { blockSize, dtype: "int8", keepdim: true });
    assert.deepEqual(scale.shape, [2, 2, 1]);
    assert.deepEqual(
      [...scale.data],
      [6, 12, 18, 24].map((most) => Math.fround(most / 127.5)),
    );
  });
});

describe("torchao's presets", () => {
  for (const [name, preset] of Object.entries({
    int8Weight,
    int8DynamicActivation,
    "intx(4, 32)": intx(4, 32),
    "int4Tinygemm(32)": int4Tinygemm(32),
  })) {
    it(`${name} is taken as it is, and loses at most one step`, () => {
      const [scale, zeroPoint] = chooseQParamsAffine(x, preset);
      const { blockSize, dtype, quantMin, quantMax, zeroPointDomain } = preset;
      const own = { blockSize, dtype, quantMin, quantMax, zeroPointDomain };
      const q = quantizeAffine(x, { ...own, scale, zeroPoint });
      const { data } = dequantizeAffine(q);
      const steps = Math.max(...data.map((value, i) => Math.abs(value - x.data[i])));
      // The largest value clips: 127.5 steps are 127.
      const widest =
        name === "int4Tinygemm(32)" ? 5.2 / 15 : name === "intx(4, 32)" ? 3 / 7.5 : 3 / 127.5;
      assert.ok(steps > 0 && steps < widest, `${steps}`);
      if (name === "int4Tinygemm(32)") assert.equal(scale.dtype, "bfloat16");
    });
  }

  it("float8Row has one scale for each row", () => {
    const scale = chooseScaleFloat8(x, float8Row);
    assert.deepEqual(scale.shape, [4, 1]);
    const { data } = dequantizeFloat8(quantizeFloat8(x, { ...float8Row, scale }));
    const worst = Math.max(...data.map((value, i) => Math.abs(value / x.data[i] - 1)));
    assert.ok(worst > 0 && worst <= 2 ** -4 + 2 ** -20, `${worst}`);
  });
});

describe("quantizeHqq gives what dequantizeAffine takes", () => {
  const worst = (q) =>
    Math.max(...dequantizeAffine(q).data.map((value, i) => Math.abs(value - x.data[i])));
  const own = { bits: 8, groupSize: 32 };
  for (const options of [own, { ...own, raw: true }, { ...own, scaleOnly: true }]) {
    it(JSON.stringify(options), () => {
      const q = quantizeHqq(x, options);
      assert.deepEqual([q.shape, q.blockSize], [x.shape, [1, 32]]);
      assert.ok(worst(q) > 0 && worst(q) < 0.05, `${worst(q)}`);
    });
  }

  it("with axis 0 as groupSize rows", () => {
    const q = quantizeHqq(x, { ...own, axis: 0 });
    assert.deepEqual(
      [q.shape, q.blockSize, q.scale.shape],
      [
        [32, 8],
        [32, 1],
        [1, 8],
      ],
    );
    assert.ok(worst(q) > 0 && worst(q) < 0.05, `${worst(q)}`);
  });
});

describe("torchao's functions refuse by name", () => {
  const good = { blockSize: [1, 64], scale: 0.1, zeroPoint: 0 };
  const refusals = [
    [
      () => chooseQParamsAffine(x, { blockSize: [1, 48] }),
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      /must divide every axis of shape \[4, 64\], got \[1, 48\]/,
    ],
    [
      () => chooseQParamsAffine(x, { blockSize: 32 }),
      TypeError,
      "ZP_INVALID_GROUP_SIZE",
      /options\.blockSize must be a list of one number for each axis/,
    ],
    [
      () => chooseQParamsAffine(x, { dtype: "float8" }),
      RangeError,
      "ZP_INVALID_DTYPE",
      /options\.dtype/,
    ],
    [
      () => chooseQParamsAffine({ data: Float32Array.of(1, Number.NaN), shape: [2] }),
      RangeError,
      "ZP_NON_FINITE",
      /compat: "torch"/,
    ],
    [
      () => chooseQParamsAffine(x, { preserveZero: false }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /must be "asymmetric"/,
    ],
    [
      () => chooseQParamsAffine(x, { min: x, max: x }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /take the place of x/,
    ],
    [
      () => quantizeAffine(x, { ...good, zeroPoint: undefined }),
      TypeError,
      "ZP_INVALID_ZERO_POINT",
      /is needed/,
    ],
    [
      () => quantizeAffine(x, { ...good, zeroPointDomain: "none" }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /must be undefined/,
    ],
    [
      () => quantizeAffine(x, { ...good, scale: new Float32Array(3) }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /one value for each of 4 blocks/,
    ],
    [
      () => quantizeHqq(x, { groupSize: 48 }),
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      /must divide the last axis of shape \[4, 64\], got 48/,
    ],
    [
      () => quantizeHqq(x, { scaleOnly: true, optimize: false }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.optimize must be undefined/,
    ],
    [
      () => quantizeHqq({ data: Float32Array.of(1, Infinity), shape: [2] }, { groupSize: 2 }),
      RangeError,
      "ZP_NON_FINITE",
      /must be finite/,
    ],
    [() => dequantizeAffine(5), TypeError, "ZP_INVALID_TENSOR", /a result of quantizeAffine/],
    [
      () => chooseScaleFloat8(x, { dtype: "float8" }),
      RangeError,
      "ZP_INVALID_OPTION",
      /float8_e4m3fn/,
    ],
    [
      () => dequantizeFloat8({ ...quantizeFloat8(x, { scale: 1 }), data: [1] }),
      TypeError,
      "ZP_INVALID_CODES",
      /a Uint8Array of patterns/,
    ],
    [
      () =>
        quantizeAffine(
          { data: new Uint16Array(2), shape: [2], dtype: "float16" },
          {
            blockSize: [2],
            scale: { data: Uint16Array.of(0x3c00), shape: [1], dtype: "float16" },
            zeroPoint: { data: Uint16Array.of(0), shape: [1], dtype: "float16" },
            dtype: "int32",
          },
        ),
      RangeError,
      "ZP_INVALID_OPTION",
      /is no float16/,
    ],
  ];
  for (const [work, type, code, message] of refusals) {
    it(`${code}: ${message.source}`, () => refuses(work, type, code, message));
  }

  it("the code of NaN is the zero point, and torchao's with compat", () => {
    const nan = { data: Float32Array.of(Number.NaN, 1), shape: [2] };
    const own = { blockSize: [2], scale: 1, zeroPoint: 3 };
    assert.deepEqual([...quantizeAffine(nan, own).data], [3, 4]);
    assert.deepEqual([...quantizeAffine(nan, { ...own, compat: "torch" }).data], [0, 4]);
  });
});
