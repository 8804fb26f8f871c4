// ONNX's node tests of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, in every build.

import assert from "node:assert/strict";
import { it } from "node:test";
import { builds } from "../support/builds.mjs";
import { cases, decodeTensor } from "../support/vectors.mjs";

const HALF = /^b?float16$/;
const isFloatCode = (dtype) => /^float[48]_/.test(dtype);

/** An encoded tensor as `{ data, shape, dtype }`; codes of 2 and 4 bits and of floats, one an element. */
function valuesOf(encoded) {
  if (encoded.t in { f32: 0, uint8: 0, int8: 0, uint16: 0, int16: 0 }) return decodeTensor(encoded);
  const { t: dtype, shape, data } = encoded;
  const Codes = HALF.test(dtype) ? Uint16Array : dtype.startsWith("int") ? Int8Array : Uint8Array;
  return { dtype, shape, data: Codes.from(data) };
}

/** The bit pattern of a float32 value as float16, for values that float16 holds exactly. */
function float16Pattern(value) {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
  if (value === 0) return (bits >>> 16) & 0x8000;
  assert.equal(bits & 0x1fff, 0, `${value} is no float16`);
  return ((bits >>> 16) & 0x8000) | ((((bits >>> 23) & 255) - 112) << 10) | ((bits >>> 13) & 0x3ff);
}

/** The granularity and qparams of a node, as options. */
function optionsOf({ attributes, in: [x, scale, zeroPoint] }, dtype) {
  const { axis = 1, block_size: blockSize } = attributes;
  const one = scale.shape.length === 0;
  const granularity = one
    ? {}
    : blockSize === undefined
      ? { axis }
      : { blockShape: x.shape.map((_, i) => (i === axis ? blockSize : 1)) };
  const given = valuesOf(scale);
  const zeros = zeroPoint && valuesOf(zeroPoint);
  const qparams = one ? { scale: given.data[0] } : { scale: given };
  if (HALF.test(given.dtype)) qparams.scale = given;
  if (zeros && !isFloatCode(dtype)) {
    qparams.scheme = "affine";
    qparams.zeroPoint = one
      ? zeros.data[0]
      : { data: Int32Array.from(zeros.data), shape: zeros.shape };
  }
  return { dtype, ...granularity, ...qparams, rule: "onnx" };
}

const RUN = {
  QuantizeLinear(zp, node) {
    const [expected] = node.out.map(valuesOf);
    const q = zp.quantize(valuesOf(node.in[0]), optionsOf(node, expected.dtype));
    assert.deepEqual([q.dtype, q.shape, q.data], [expected.dtype, expected.shape, expected.data]);
  },
  DequantizeLinear(zp, node) {
    const codes = valuesOf(node.in[0]);
    const { rule, ...qparams } = optionsOf(node, codes.dtype);
    const values = zp.dequantize({ ...codes, ...qparams }, { rule });
    const [expected] = node.out.map(valuesOf);
    assert.deepEqual(values.shape, expected.shape);
    if (HALF.test(expected.dtype)) {
      assert.deepEqual(Uint16Array.from(values.data, float16Pattern), expected.data);
    } else {
      assert.deepEqual(values.data, expected.data);
    }
  },
  DynamicQuantizeLinear(zp, node) {
    const [codes, scale, zeroPoint] = node.out.map(valuesOf);
    const options = { dtype: codes.dtype, scheme: "affine", rule: "onnx" };
    const x = valuesOf(node.in[0]);
    const chosen = zp.chooseQParams(x, options);
    assert.deepEqual([chosen.scale, chosen.zeroPoint], [scale.data[0], zeroPoint.data[0]]);
    const q = zp.quantize(x, options);
    assert.deepEqual([q.shape, q.data], [codes.shape, codes.data]);
  },
};

for (const zp of builds) {
  for (const node of cases("onnx_nodes")) {
    it(`${node.id}: ${zp.name}`, () => RUN[node.op](zp, node));
  }
}
