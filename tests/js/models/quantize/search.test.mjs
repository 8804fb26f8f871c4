// -mse and -hqq of quantizeModel: codes and qparams of quantize, in every layout.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantize } from "zeropoint";
import { load, openModel, quantizeModel, schemeOptions } from "zeropoint/models";
import { bytesSource, readOnnx } from "../../../internal/formats.mjs";
import { sameDeep } from "../../support/asserts.mjs";
import {
  openOutput,
  outputBytes,
  safetensorsOf,
  someValues,
} from "../../support/files/checkpoints.mjs";
import { collect } from "../../support/files/formats.mjs";
import { openBytes } from "../../support/files/saved.mjs";
import { LAYERS, modelOf, quantized as quantizedOnnx } from "../../support/onnx/layers.mjs";

await init();

async function filesOf(shape, values, scheme, options) {
  const file = await safetensorsOf({ "m.weight": ["float32", shape, values] });
  return (await quantizeModel(await openModel(file), () => scheme, options)).files;
}

/** Quantizes a weight to one file. */
async function quantized(shape, values, scheme, options) {
  const files = await filesOf(shape, values, scheme, options);
  return await outputBytes(files.find(({ name }) => name.endsWith(".safetensors")));
}

/** Compares what load reads with what quantize makes in memory. */
async function sameAsQuantize(shape, values, scheme) {
  const { "m.weight": own } = await load(await quantized(shape, values, scheme));
  const expected = quantize({ data: values, shape }, schemeOptions(scheme));
  sameDeep(own.data, expected.data, `codes of ${scheme}`);
  if (typeof expected.scale === "number") {
    assert.equal(own.scale, Math.fround(expected.scale));
    assert.equal(own.zeroPoint, expected.zeroPoint);
    return expected;
  }
  sameDeep(own.scale.data, expected.scale.data, `scales of ${scheme}`);
  sameDeep(own.zeroPoint.data, expected.zeroPoint.data, `zero points of ${scheme}`);
  return expected;
}

describe("quantizeModel searches qparams of slices that are too long to be held", () => {
  const values = someValues(2 ** 19 + 6);
  for (let i = 0; i < values.length; i++) values[i] **= 3;
  for (const [scheme, shape] of [
    ["int8-tensor-mse", [2, 2 ** 18 + 3]],
    ["int4-tensor-affine-mse", [2 ** 19 + 6]],
    ["int4-channel-mse", [2, 2 ** 18 + 3]],
    ["uint4-channel-affine-mse", [1, 2 ** 19 + 6]],
    ["int4-g400000-mse", [1, 2 ** 19 + 6]],
    ["int4-tensor-hqq", [2, 2 ** 18 + 3]],
    ["int4-channel-affine-hqq", [2, 2 ** 18 + 3]],
  ]) {
    it(`${scheme} of [${shape}]: codes, scales and zero points of quantize`, async () => {
      const searched = await sameAsQuantize(shape, values, scheme);
      const plain = schemeOptions(scheme.replace(/-(mse|hqq)$/, ""));
      const { scale } = quantize({ data: values, shape }, plain);
      assert.notDeepEqual(searched.scale, scale, "a scale that the search changed");
    });
  }
});

/** Codes of a number of bits each, one behind the other from the lowest bit on. */
function unpacked(bytes, bits, count) {
  const bit = (at) => (bytes[at >> 3] >> (at & 7)) & 1;
  return Float32Array.from({ length: count }, (_, i) => {
    let code = 0;
    for (let j = 0; j < bits; j++) code |= bit(i * bits + j) << j;
    return code;
  });
}

describe("quantizeModel chooses by half-quadratic splitting what quantize chooses", () => {
  const shape = [64, 128];
  const w = someValues(64 * 128);
  for (let i = 0; i < w.length; i++) w[i] **= 3;
  const x = { data: w, shape };

  for (const scheme of [
    ...["int4-g32-hqq", "uint4-g32-affine-hqq", "int4-channel-hqq", "int8-channel-affine-hqq"],
    ...["int2-g50-affine-hqq", "int4-tensor-hqq"],
  ]) {
    it(`${scheme} for target zeropoint`, async () => {
      await sameAsQuantize(shape, w, scheme);
    });
  }

  for (const scheme of [
    ...["int4-g32-hqq", "int4-g128-affine-hqq", "int8-channel-hqq", "int3-g64-affine-hqq"],
    ...["int4-tensor-hqq", "uint4-g32-affine-hqq"],
  ]) {
    it(`${scheme} for target compressed-tensors`, async () => {
      const files = await filesOf(shape, w, scheme, { target: "compressed-tensors" });
      const { dataOf } = openBytes(await outputBytes(files[0]));
      // Signed codes, whatever the scheme's are.
      const options = schemeOptions(scheme.replace("uint", "int"));
      const expected = quantize(x, options);
      const bits = Number(/\d/.exec(scheme)[0]);
      const packed = dataOf("m.weight_packed");
      const rowBytes = packed.length / 64;
      const codes = Array.from({ length: 64 }, (_, row) => [
        ...unpacked(packed.subarray(row * rowBytes, (row + 1) * rowBytes), bits, 128),
      ]).flat();
      sameDeep(
        codes,
        Array.from(expected.data, (code) => code + 2 ** (bits - 1)),
      );
      const scales = new Float32Array(dataOf("m.weight_scale").slice().buffer);
      sameDeep(scales, expected.scale.data ?? Float32Array.of(expected.scale));
      const out = await openOutput(openModel, files);
      sameDeep((await out.read("m.weight")).data, dequantize(expected).data);
    });
  }

  for (const [bits, groupSize] of [
    [4, 32],
    [4, 128],
    [8, 64],
    [3, 64],
  ]) {
    it(`int${bits}-g${groupSize}-hqq for target mlx, with real offsets`, async () => {
      const scheme = `int${bits}-g${groupSize}-hqq`;
      const { dataOf } = openBytes(await quantized(shape, w, scheme, { target: "mlx" }));
      const given = { dtype: `uint${bits}`, scheme: "affine", range: "hqq", zeroPoint: "float" };
      const { data, scale, offset } = quantize(x, { ...given, groupSize });
      const floats = (name) => new Float32Array(dataOf(name).slice().buffer);
      sameDeep(floats("m.scales"), scale.data);
      sameDeep(floats("m.biases"), offset.data);
      sameDeep(unpacked(dataOf("m.weight"), bits, w.length), Float32Array.from(data));
    });
  }

  const layer = { ...LAYERS["Gemm with transB and a bias"], shape: [20, 96] };
  const values = w.subarray(0, 20 * 96);
  for (const [target, scheme, form] of [
    ["portable", "int4-g32-hqq", "DequantizeLinear"],
    ["portable", "int8-channel-hqq", "DequantizeLinear"],
    ["portable", "uint8-tensor-affine-hqq", "DequantizeLinear"],
    ["web", "uint4-g32-affine-hqq", "Cast and Mul"],
    ["webgpu", "int4-g32-hqq", "MatMulNBits"],
    ["webgpu", "uint4-g16-affine-hqq", "MatMulNBits"],
    ["webgpu", "int8-g32-hqq", "MatMulNBits"],
  ]) {
    it(`${scheme} for ONNX by ${form}`, async () => {
      const bytes = await modelOf(layer, values, { irVersion: 10, opsets: { "": 21 } });
      const { bytes: written, report } = await quantizedOnnx(bytes, () => scheme, { target });
      assert.equal(report.rows.find(({ name }) => name === "w").form, form);
      const q = quantize({ data: values, shape: layer.shape }, schemeOptions(scheme));
      const { tensors } = await readOnnx(bytesSource(written));
      const scales = await collect(tensors.get("w_scale").bytes());
      const { scale } = q;
      const expected = typeof scale === "number" ? Float32Array.of(scale) : scale.data;
      sameDeep(new Float32Array(scales.slice().buffer), expected);
      const { data } = await (await openModel(written)).read("w");
      sameDeep(Float32Array.from(data), dequantize(q).data);
    });
  }

  for (const scheme of ["int8-tensor-mse", "int8-tensor-hqq"]) {
    it(`${scheme} for ONNX of a weight that is not held`, async () => {
      const long = { ...layer, shape: [2 ** 10, 2 ** 10 + 1] };
      const data = someValues(2 ** 10 * (2 ** 10 + 1));
      for (let i = 0; i < data.length; i++) data[i] **= 3;
      const model = await modelOf(long, data);
      const { bytes: written } = await quantizedOnnx(model, () => scheme, {});
      const q = quantize({ data, shape: long.shape }, schemeOptions(scheme));
      const { tensors } = await readOnnx(bytesSource(written));
      const scale = (await collect(tensors.get("w_scale").bytes())).slice();
      assert.equal(new Float32Array(scale.buffer)[0], Math.fround(q.scale));
      const codes = await collect(tensors.get("w_quantized").bytes());
      sameDeep(new Int8Array(codes.slice().buffer), q.data);
    });
  }
});

describe("quantizeModel to ONNX reads weights of more than 2^20 values in runs", () => {
  for (const [layer, axis, shape] of [
    ["Gemm with transB and a bias", 0, [2 ** 10, 2 ** 10 + 1]],
    // Channels that are longer than a run.
    ["Gemm with transB and a bias", 0, [4, 2 ** 18 + 3]],
    ["MatMul", 1, [2 ** 10 + 1, 2 ** 10]],
  ]) {
    it(`int8-channel of [${shape}], ${layer}: codes and scales of quantize`, async () => {
      const data = someValues(shape[0] * shape[1]);
      for (let i = 0; i < data.length; i++) data[i] **= 3;
      const model = await modelOf({ ...LAYERS[layer], shape }, data);
      const { bytes } = await quantizedOnnx(model, () => "int8-channel", {});
      const q = quantize({ data, shape }, { dtype: "int8", axis });
      const { tensors } = await readOnnx(bytesSource(bytes));
      const scale = (await collect(tensors.get("w_scale").bytes())).slice();
      sameDeep(new Float32Array(scale.buffer), q.scale.data);
      const codes = await collect(tensors.get("w_quantized").bytes());
      sameDeep(new Int8Array(codes.slice().buffer), q.data);
      data[data.length - 5] = Number.NaN;
      const damaged = await modelOf({ ...LAYERS[layer], shape }, data);
      await assert.rejects(
        quantizedOnnx(damaged, () => "int8-channel", {}),
        {
          code: "ZP_NON_FINITE",
        },
      );
    });
  }
});
