// How often quantizeModel reads the bytes of a weight while it writes files.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { bfloat16Of, outputBytes, safetensorsOf } from "../../support/files/checkpoints.mjs";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";

before(() => init());

const shape = [512, 1024];
const values = normals(2 * 512 * 1024);
const NAMES = ["a.weight", "b.weight"];
const part = (i) => values.subarray(i * 512 * 1024, (i + 1) * 512 * 1024);

const checkpoint = () =>
  safetensorsOf(
    Object.fromEntries(NAMES.map((name, i) => [name, ["bfloat16", shape, bfloat16Of(part(i))]])),
  );

const graph = () =>
  onnxModel({
    inputs: [{ name: "x", shape: ["n", 512] }],
    outputs: NAMES.map((name) => ({ name: `y ${name}`, shape: ["n", 1024] })),
    nodes: NAMES.map((name) => ({ opType: "MatMul", inputs: ["x", name], outputs: [`y ${name}`] })),
    initializers: NAMES.map((name, i) => constant(name, shape, part(i))),
  });

/** How often the bytes of a file are read for the files of a scheme. */
async function readsOf(bytes, scheme, options) {
  let read = 0;
  const source = {
    size: bytes.length,
    async read(offset, length) {
      read += length;
      return bytes.slice(offset, offset + length);
    },
  };
  const model = await openModel(source);
  const { files, report } = await quantizeModel(model, () => scheme, options);
  read = 0;
  for (const file of files) await outputBytes(file);
  await model.close();
  const isSaid = report.notes.some((note) => /^2 weights are read twice/.test(note));
  assert.equal(
    isSaid,
    read > 1.05 * bytes.length,
    "whether a note says that weights are read twice",
  );
  return read / bytes.length;
}

/** Files whose scales are behind the codes. */
const ONCE = [
  ["int4-g64", { target: "mlx" }],
  ["int4-g128-affine", { target: "compressed-tensors" }],
  ["int4-channel-mse", { target: "compressed-tensors" }],
  ["q4_k", { format: "gguf" }],
  ["float16", {}],
];

/** Files of zeropoint have float32 in front of all codes, in the order of safetensors: scales take a pass of their own. */
const TWICE = ["int4-g32", "int4-g32-affine", "int8-channel", "int4-channel-mse", "int8-tensor"];

describe("While a file is written, the bytes of each weight are read", () => {
  for (const [scheme, options] of ONCE) {
    it(`once for ${scheme} of ${options.target ?? options.format ?? "safetensors"}`, async () => {
      const reads = await readsOf(await checkpoint(), scheme, options);
      assert.ok(reads > 0.95 && reads <= 1.05, `${reads}`);
    });
  }

  for (const scheme of TWICE) {
    it(`once for the scales and once for the codes of ${scheme}`, async () => {
      const reads = await readsOf(await checkpoint(), scheme, {});
      assert.ok(reads > 0.95 && reads <= 2.05, `${reads}`);
    });
  }

  it("twice for int8-tensor of compressed-tensors, whose scale is of more values than are held", async () => {
    const reads = await readsOf(await checkpoint(), "int8-tensor", {
      target: "compressed-tensors",
    });
    assert.ok(reads > 1.95 && reads <= 2.05, `${reads}`);
  });

  for (const scheme of ["int8-channel", "int4-g32-affine"]) {
    for (const target of ["portable", "web", "webgpu"]) {
      it(`once for ${scheme} of ONNX for ${target}`, async () => {
        const reads = await readsOf(await graph(), scheme, { target });
        assert.ok(reads > 0.95 && reads <= 1.05, `${reads}`);
      });
    }
  }

  it("once for external data of ONNX whose rows are read in parts", async () => {
    // Above 16 MiB, and more packed bytes than are held.
    const [inputs, outputs] = [4096, 1032];
    const beside = new Uint8Array(4 * inputs * outputs);
    const place = { location: "w.bin", offset: 0 };
    const bytes = await onnxModel({
      inputs: [{ name: "x", shape: ["n", inputs] }],
      outputs: [{ name: "y", shape: ["n", outputs] }],
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [
        { name: "w", shape: [inputs, outputs], dtype: "float32", bytes: () => [], place },
      ],
    });
    let read = 0;
    const source = {
      size: beside.length,
      read(offset, length) {
        read += length;
        return beside.subarray(offset, offset + length);
      },
    };
    const model = await openModel(bytes, { externalData: () => source });
    const { files } = await quantizeModel(model, "int8-g32", { target: "webgpu" });
    read = 0;
    for (const file of files) await outputBytes(file);
    await model.close();
    const reads = read / beside.length;
    assert.ok(reads > 0.95 && reads <= 1.3, `${reads}`);
  });
});
