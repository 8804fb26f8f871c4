// ONNX models as others make them: constants of nodes, graphs in graphs, fused operators, float8 with scales.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize as dequantizeTensor, init } from "zeropoint";
import { compare, openModel, quantizeModel, verifyOutput } from "zeropoint/models";
import { Random, rejects } from "../../support/asserts.mjs";
import { outputBytes } from "../../support/files/checkpoints.mjs";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";

await init();

const value = (name, shape) => ({ name, shape });

/** x times a Constant node without a name, and in the branches of If times one more. */
const nested = () => {
  const constantNode = (output, seed) => ({
    opType: "Constant",
    inputs: [],
    outputs: [output],
    attributes: { value: { tensor: constant("", [32, 32], normals(1024, seed)) } },
  });
  const product = (output, weight) => ({
    ...{ opType: "MatMul", inputs: ["x", weight], outputs: [output] },
  });
  const branch = (seed) => ({
    nodes: [constantNode("inner", seed), product("z", "inner")],
    outputs: [value("z", [2, 32])],
  });
  return onnxModel(
    {
      nodes: [
        constantNode("outer", 1),
        product("y0", "outer"),
        {
          ...{ name: "if", opType: "If", inputs: ["c"], outputs: ["y1"] },
          graphs: { then_branch: branch(2), else_branch: branch(3) },
        },
      ],
      initializers: [constant("c", [], Uint8Array.of(1), "bool")],
      inputs: [value("x", [2, 32])],
      outputs: [value("y0", [2, 32]), value("y1", [2, 32])],
    },
    { irVersion: 10, opsets: { "": 21 } },
  );
};

describe("the names of an ONNX model", () => {
  for (const format of ["safetensors", "npz", "gguf"]) {
    it(`are the same in a file of ${format}: constants of nodes, graphs in graphs`, async () => {
      const model = await openModel(await nested());
      const wanted = ["c", "if.else_branch/inner", "if.then_branch/inner", "outer"];
      assert.deepEqual(
        [...model.tensors.keys()].map((name) => name.replace(/^.*?\/?(if\.)/, "$1")).sort(),
        wanted,
      );
      const { files } = await quantizeModel(model, "keep", { format });
      const written = await openModel(await outputBytes(files[0]));
      assert.deepEqual([...written.tensors.keys()].sort(), [...model.tensors.keys()].sort());
      for await (const { name, equal } of compare(model, written)) assert.ok(equal, name);
    });
  }

  it("stay where weights are stored as half floats", async () => {
    const model = await openModel(await nested());
    const result = await quantizeModel(model, "float16");
    const { problems, read } = await verifyOutput(model, result);
    assert.deepEqual([problems, read], [[], 4]);
    const written = await openModel(await outputBytes(result.files[0]));
    assert.equal(written.tensors.get("outer").dtype, "float16");
  });
});

describe("operators that ONNX Runtime's optimizer fuses", () => {
  const uses = {
    FusedMatMul: {
      shape: [32, 64],
      attributes: { transB: { int: 1 }, alpha: { float: 0.5 } },
      channel: 0,
    },
    TransposeMatMul: { shape: [64, 32], attributes: {}, channel: 1 },
    FusedGemm: { shape: [64, 32], attributes: {}, channel: 1 },
  };
  for (const [opType, { shape, attributes, channel }] of Object.entries(uses)) {
    it(`have weights, with a scale for each output: ${opType}`, async () => {
      const bytes = await onnxModel(
        {
          nodes: [
            { opType, domain: "com.microsoft", inputs: ["x", "w"], outputs: ["y"], attributes },
          ],
          initializers: [constant("w", shape, normals(2048))],
          inputs: [value("x", [4, 64])],
          outputs: [value("y", [4, 32])],
        },
        { irVersion: 10, opsets: { "": 21, "com.microsoft": 1 } },
      );
      const { files, report } = await quantizeModel(await openModel(bytes), "int8-channel");
      assert.equal(report.rows[0].scheme, "int8-channel", report.rows[0].reason);
      const { scale } = await (await openModel(await outputBytes(files[0]))).readQuantized("w");
      assert.equal(scale.shape[channel], 32);
      assert.equal(scale.data.length, 32);
    });
  }

  it("with batches that move keep their weights, and say why", async () => {
    const bytes = await onnxModel({
      nodes: [
        {
          ...{ opType: "FusedMatMul", domain: "com.microsoft" },
          ...{ inputs: ["x", "w"], outputs: ["y"], attributes: { transBatchB: { int: 1 } } },
        },
      ],
      initializers: [constant("w", [64, 4, 32], normals(8192))],
      inputs: [value("x", [4, 4, 64])],
      outputs: [value("y", [4, 4, 32])],
    });
    const { report } = await quantizeModel(await openModel(bytes), "int8-channel");
    assert.equal(report.rows[0].reason, "used by com.microsoft.FusedMatMul");
  });
});

describe("codes of an ONNX model", () => {
  const modelOf = (nodes, initializers) =>
    onnxModel(
      {
        nodes: [nodes].flat(),
        initializers,
        inputs: [value("x", [4, 2])],
        outputs: [value("y", [4, 4])],
      },
      { irVersion: 10, opsets: { "": 23, "com.microsoft": 1 } },
    );
  const dequantize = { opType: "DequantizeLinear", outputs: ["y"] };

  it("of float8 and float4 have values with their scales", async () => {
    const scale = constant("s", [2], Float32Array.of(0.5, 3));
    for (const [dtype, codes, data] of [
      ["float8_e4m3fn", Uint8Array.of(0x38, 0x40, 0xb8, 0x30), [0.5, 1, -3, 1.5]],
      ["float8_e5m2", Uint8Array.of(0x3c, 0x40, 0xbc, 0x38), [0.5, 1, -3, 1.5]],
      ["float4_e2m1fn", Uint8Array.of(0x42, 0x1a), [0.5, 1, -3, 1.5]],
    ]) {
      const own = constant("w", [2, 2], codes, dtype);
      const node = { ...dequantize, inputs: ["w", "s"], attributes: { axis: { int: 0 } } };
      const model = await openModel(await modelOf(node, [own, scale]));
      assert.equal(model.tensors.get("w").isQuantized, true, dtype);
      assert.deepEqual([...(await model.read("w")).data], data, dtype);
      await rejects(model.readQuantized("w"), RangeError, "ZP_INVALID_MODEL", /codes of float/);
    }
  });

  it("with scales that are powers of two, in blocks, are read in the type that the node names", async () => {
    const codes = constant("w", [1, 4], Uint8Array.of(0x22, 0x22), "float4_e2m1fn");
    const scale = constant("s", [1, 2], Uint8Array.of(128, 126), "float8_e8m0fnu");
    const attributes = { axis: { int: 1 }, block_size: { int: 2 }, output_dtype: { int: 10 } };
    const node = { ...dequantize, inputs: ["w", "s"], attributes };
    const model = await openModel(await modelOf(node, [codes, scale]));
    assert.deepEqual([...(await model.read("w")).data], [2, 2, 0.5, 0.5]);
  });

  it("in blocks along an inner axis are quantized tensors with a block shape", async () => {
    const random = new Random(38);
    const integers = (Type, count, low, high) =>
      Type.from({ length: count }, () => Math.floor(random.between(low, high)));
    const codes = integers(Int8Array, 24, -128, 128);
    const scales = Float32Array.from({ length: 12 }, () => random.between(0.1, 2));
    const zeros = integers(Int8Array, 12, -9, 9);
    const initializers = [
      constant("w", [2, 4, 3], codes),
      constant("s", [2, 2, 3], scales),
      constant("z", [2, 2, 3], zeros),
    ];
    const attributes = { axis: { int: 1 }, block_size: { int: 2 } };
    const node = { ...dequantize, inputs: ["w", "s", "z"], attributes };
    const model = await openModel(await modelOf(node, initializers));
    const q = await model.readQuantized("w");
    assert.deepEqual(
      [q.blockShape, q.scale.shape],
      [
        [1, 2, 1],
        [2, 2, 3],
      ],
    );
    assert.deepEqual([q.data, q.scale.data], [codes, scales]);
    const expected = Float32Array.from(codes, (code, i) => {
      const block = 6 * Math.floor(i / 12) + 3 * Math.floor((i % 12) / 6) + (i % 3);
      return scales[block] * (code - zeros[block]);
    });
    assert.deepEqual(dequantizeTensor(q).data, expected);
    assert.deepEqual((await model.read("w")).data, expected);
  });

  it("of operators that are not understood are refused, and their bytes are there", async () => {
    const codes = constant("w", [4, 16], new Uint8Array(64).fill(3));
    const scale = constant("s", [16], new Float32Array(16).fill(1));
    const computed = { ...dequantize, inputs: ["w", "x"], attributes: {} };
    const index = constant("g", [8], new Int32Array(8));
    const nbits = {
      ...{ opType: "MatMulNBits", domain: "com.microsoft", outputs: ["y"] },
      inputs: ["x", "w", "s", "", "g"],
      attributes: { K: { int: 8 }, N: { int: 4 }, bits: { int: 4 }, block_size: { int: 16 } },
    };
    const bnb = { ...nbits, opType: "MatMulBnb4", inputs: ["x", "w", "s"] };
    const flat = constant("w", [64], new Uint8Array(64).fill(3));
    const quark = { ...bnb, opType: "ExtendedDequantizeLinear", domain: "com.amd.quark" };
    const cast = { opType: "Cast", inputs: ["w"], outputs: ["f"], attributes: { to: { int: 1 } } };
    const byHand = [cast, { opType: "Mul", inputs: ["f", "s"], outputs: ["y"] }];
    for (const [operator, nodes, others, own = codes] of [
      ["DequantizeLinear", computed, []],
      ["MatMulNBits", nbits, [scale, index]],
      ["MatMulBnb4", bnb, [scale]],
      ["MatMulBnb4", bnb, [scale], flat],
      ["ExtendedDequantizeLinear", quark, [scale]],
      ["Cast", byHand, [scale]],
    ]) {
      const model = await openModel(await modelOf(nodes, [own, ...others]));
      assert.equal(model.tensors.get("w").layout, "unknown quantization", operator);
      await rejects(model.read("w"), RangeError, "ZP_UNSUPPORTED_FILE", new RegExp(operator));
      assert.equal((await model.readBytes("w")).length, 64);
    }
  });
});
