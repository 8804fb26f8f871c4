// Weights whose values become all zero, infinite or NaN by the numbers of a form: the report says so once the file is
// streamed, and only then.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { openOutput, outputBytes, safetensorsOf } from "../../support/files/checkpoints.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";

await init();

const SHAPE = [64, 256];
const NAME = "m.up_proj.weight";

/** Values from -1 to 1 times a factor. */
const scaled = (factor) =>
  Float32Array.from({ length: 64 * 256 }, (_, i) => factor * Math.sin(1 + i * 0.37));

const words = new Uint32Array(1);
const floats = new Float32Array(words.buffer);

/** The nearest bfloat16 below in magnitude, as bits. */
const bfloat16 = (values) =>
  Uint16Array.from(values, (value) => {
    floats[0] = value;
    return words[0] >>> 16;
  });

/** The float16 of a small or large value, cut off. */
const float16 = (values) =>
  Uint16Array.from(values, (value) => {
    const sign = value < 0 ? 0x8000 : 0;
    const size = Math.min(Math.abs(value), 65504);
    if (size < 2 ** -14) return sign | Math.floor(size * 2 ** 24);
    const exponent = Math.floor(Math.log2(size));
    return sign | ((exponent + 15) << 10) | Math.floor((size / 2 ** exponent - 1) * 1024);
  });

const DTYPES = { float32: (values) => values, bfloat16, float16 };

const FACTORS = [0, 1e-44, 1e-39, 1e-12, 1e-8, 3e-7, 1, 6e4, 1e6, 1e38, 3.4e38];

const TARGETS = [
  ["int8-channel", {}],
  ["int4-g32", {}],
  ["uint8-tensor-affine", {}],
  ["float16", {}],
  ["bfloat16", {}],
  ["int4-g64", { target: "mlx" }],
  ["W4A16", { target: "compressed-tensors" }],
  ["W4A16_ASYM", { target: "compressed-tensors" }],
  ["W8A8", { target: "compressed-tensors" }],
  ["float16", { format: "npz" }],
  ["q8_0", { format: "gguf" }],
  ["q4_k", { format: "gguf" }],
  ["float16", { format: "gguf" }],
];

const ONNX = [
  ["int8-channel", {}],
  ["uint4-g32-affine", { target: "node" }],
  ["int4-g32", { target: "webgpu" }],
  ["int4-g32", { target: "web" }],
  ["int8-tensor", { target: "web", activations: "dynamic" }],
  ["float16", {}],
];

/** What a file has in place of values that are neither: told by reading it. */
function lossOf(before, after) {
  if (!before.every(Number.isFinite)) return undefined;
  if (!after.every(Number.isFinite)) return "not finite";
  return before.some((value) => value !== 0) && after.every((value) => value === 0)
    ? "zero"
    : undefined;
}

const NOTES = {
  zero: /1 weight is all zero in the file/,
  "not finite": /1 weight is not finite in/,
};
const REASONS = {
  zero: /all values are 0 in the file/,
  "not finite": /infinite or NaN in the file/,
};

/** Quantizes a model, and compares what its report says with what its file has. @returns what was lost */
async function check(model, name, scheme, options) {
  const { data: before } = await model.read(name);
  let result;
  try {
    result = await quantizeModel(model, scheme, options);
    assert.doesNotMatch(result.report.notes.join("\n"), /in the file, but not in the model/);
    for (const file of result.files) await outputBytes(file);
  } catch (error) {
    assert.equal(error.code, "ZP_NON_FINITE");
    return "refused";
  }
  const { rows, notes } = result.report;
  const found = await openOutput(openModel, result.files);
  const own = found.tensors.get(name) ?? [...found.tensors.values()][0];
  const loss = lossOf(before, (await found.read(own.name)).data);
  const said = notes.filter((note) => /in the file, but not in the model/.test(note));
  const { reason = "" } = rows.find((row) => row.name === name);
  if (loss === undefined) {
    assert.deepEqual(said, []);
    assert.doesNotMatch(reason, /in the file/);
    return undefined;
  }
  assert.equal(said.length, 1);
  assert.match(said[0], NOTES[loss]);
  assert.ok(said[0].includes(JSON.stringify(name)));
  assert.match(reason, REASONS[loss]);
  // Once more changes nothing.
  for (const file of result.files) await outputBytes(file);
  assert.equal(result.report.notes, notes);
  assert.equal(notes.filter((note) => note === said[0]).length, 1);
  return loss;
}

describe("values that are lost by the numbers of a form", () => {
  const lost = new Set();
  for (const [scheme, options] of TARGETS) {
    const title = `${scheme} ${Object.values(options).join("")}`.trim();
    it(`are told of exactly where a file has them: ${title}`, async () => {
      for (const [dtype, encode] of Object.entries(DTYPES)) {
        if (options.format === "npz" && dtype === "bfloat16") continue;
        for (const factor of FACTORS) {
          const tensors = { [NAME]: [dtype, SHAPE, encode(scaled(factor))] };
          const model = await openModel(await safetensorsOf(tensors));
          lost.add(`${title}: ${await check(model, NAME, scheme, options)}`);
        }
      }
    });
  }

  for (const [scheme, options] of ONNX) {
    const title = `${scheme} ${Object.values(options).join(" ")}`.trim();
    it(`are told of exactly where an ONNX file has them: ${title}`, async () => {
      for (const dtype of ["float32", "float16"]) {
        for (const factor of FACTORS) {
          const values = DTYPES[dtype](scaled(factor));
          const graph = {
            nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
            initializers: [constant("w", [256, 64], values, dtype)],
            inputs: [{ name: "x", dtype, shape: ["n", 256] }],
            outputs: [{ name: "y", dtype, shape: ["n", 64] }],
          };
          const bytes = await onnxModel(graph, { opsets: { "": 21 } });
          const model = await openModel(bytes);
          lost.add(`onnx ${title}: ${await check(model, "w", scheme, options)}`);
        }
      }
    });
  }

  it("are lost by floors, half floats and scales of half floats", () => {
    for (const each of [
      "float16: zero",
      "float16: not finite",
      "int4-g64 mlx: zero",
      "W8A8 compressed-tensors: zero",
      "q8_0 gguf: zero",
      "q4_k gguf: zero",
      "q8_0 gguf: refused",
      "onnx float16: not finite",
    ]) {
      assert.ok(lost.has(each), `${each} among ${[...lost].join("; ")}`);
    }
  });
});
