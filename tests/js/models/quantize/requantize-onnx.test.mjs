// Quantized ONNX models, quantized again into ONNX: every form from every form, with the values that reading gives, and
// without what served the old form alone.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { compare, openModel, quantizeModel, verify, verifyOutput } from "zeropoint/models";
import { bytesSource, readOnnx } from "../../../internal/formats.mjs";
import { outputBytes } from "../../support/files/checkpoints.mjs";
import { LAYERS, modelOf } from "../../support/onnx/layers.mjs";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";
import { runOnnx } from "../../support/onnx/run.mjs";

await init();

const OPSETS = { opsets: { "": 21, "com.microsoft": 1 } };

/** Forms of this library's own. */
const OWN = [
  ["int8-channel", {}],
  ["int4-g32", { target: "node" }],
  ["uint4-g32-affine", { target: "web" }],
  ["int4-g32", { target: "webgpu" }],
  ["int8-tensor", { target: "web" }],
  ["int8-channel", { target: "web", activations: "dynamic" }],
];

const NEW = [
  ["int8-tensor", {}],
  ["uint4-g16-affine", { target: "web" }],
  ["int4-g16", { target: "webgpu" }],
  ["int8-channel", { activations: "dynamic" }],
  ["float16", {}],
];

const again = (model, scheme, options) =>
  quantizeModel(model, scheme, { ...options, requantize: true });

/**
 * Quantizes the weight of a model again, and checks values, graph and report.
 * @returns why it was kept
 */
async function check(bytes, inputs, scheme, { before: old, ...options }) {
  const model = await openModel(bytes);
  const [weight] = [...model.tensors.values()].filter(({ isQuantized }) => isQuantized);
  const { data: before } = await model.read(weight.name);
  const result = await again(model, () => scheme, options);
  const row = result.report.rows.find(({ name }) => name === weight.name);
  if (row.scheme === "keep") {
    assert.notEqual(row.reason, undefined);
    return row.reason;
  }
  const written = await outputBytes(result.files[0]);
  const small = await openModel(written);
  const own = small.tensors.get(weight.name);
  assert.ok(own, `${weight.name} among ${[...small.tensors.keys()]}`);
  const { data: after } = await small.read(weight.name);
  let [signal, noise] = [0, 0];
  for (const [i, value] of before.entries()) {
    signal += value ** 2;
    noise += (value - after[i]) ** 2;
  }
  const sqnr = noise === 0 ? Infinity : 10 * Math.log10(signal / noise);
  assert.ok(sqnr > (scheme.includes("4") && scheme !== "float16" ? 15 : 30), `${sqnr} dB`);
  assert.equal(row.requantized.from, weight.dtype);
  assert.ok(Math.abs(row.requantized.sqnr - sqnr) < 0.01 || row.requantized.sqnr === sqnr);
  assert.match(
    result.report.notes.join("\n"),
    /rounded twice: first rounding not known .*, second/,
  );
  assert.deepEqual((await verifyOutput(model, result)).problems, []);
  // No node and no constant is left that nothing uses, and no entry twice.
  const { graph, tensors, metadata } = await readOnnx(bytesSource(written));
  const used = new Set(graph.nodes.flatMap((node) => node.inputs));
  for (const { name } of graph.outputs) used.add(name);
  for (const { outputs } of graph.nodes)
    assert.ok(
      outputs.some((name) => used.has(name)),
      outputs,
    );
  for (const key of tensors.keys()) assert.ok(used.has(key), key);
  for (const key of metadata.keys()) {
    assert.ok(!key.startsWith("zeropoint.weight.") || tensors.has(key.slice(17)), key);
  }
  // With the scheme that it had, a weight is taken for one that was kept.
  if (old !== scheme) assert.deepEqual((await verify(small, model)).different, []);
  // The graph computes with the values of the file.
  const float = await runOnnx(bytes, inputs);
  const found = await runOnnx(written, inputs);
  for (const [name, { data }] of Object.entries(found)) {
    const scale = Math.hypot(...float[name].data);
    const error = Math.hypot(...data.map((value, i) => value - float[name].data[i]));
    const limit = scheme.includes("4") && scheme !== "float16" ? 0.35 : 0.05;
    assert.ok(error <= limit * scale, `${name}: ${error} of ${scale}`);
  }
  return undefined;
}

describe("quantized ONNX models", () => {
  for (const [layer, { graph, shape, inputs }] of Object.entries(LAYERS)) {
    it(`are quantized again from every form into every form: ${layer}`, async () => {
      const data = normals(
        shape.reduce((a, b) => a * b, 1),
        3,
      );
      const bytes = await modelOf({ graph, shape }, data, OPSETS);
      let count = 0;
      for (const [scheme, options] of OWN) {
        const { files, report } = await quantizeModel(
          await openModel(bytes),
          () => scheme,
          options,
        );
        if (report.rows.every((row) => row.scheme === "keep")) continue;
        const quantized = await outputBytes(files[0]);
        for (const [next, own] of NEW) {
          const reason = await check(quantized, inputs, next, { ...own, before: scheme });
          if (reason === undefined) count++;
          else
            assert.match(
              reason,
              /quantized|values|codes|MatMul|Cast|int8|opset|already|Transpose|weight/,
            );
        }
      }
      assert.ok(count >= 5, `${count} pairs of forms`);
    });
  }

  const codes = Int8Array.from({ length: 96 * 20 }, (_, i) => ((i * 37) % 255) - 127);
  const unsigned = Uint8Array.from(codes, (code) => code + 128);
  const scale = constant("s", [], Float32Array.of(0.01));
  const scales = constant(
    "ss",
    [20],
    Float32Array.from({ length: 20 }, (_, i) => 0.01 + i / 1e4),
  );
  const zero = constant("z", [], Uint8Array.of(128));
  const one = { x: { shape: [3, 96], data: normals(3 * 96, 5) } };
  const x = { name: "x", shape: ["m", 96] };
  const y = { name: "y", shape: ["m", 20] };
  const dynamic = { opType: "DynamicQuantizeLinear", inputs: ["x"], outputs: ["xq", "xs", "xz"] };
  const cast = (from, to) => ({
    ...{ opType: "Cast", inputs: [from], outputs: [to] },
    attributes: { to: { int: 1 } },
  });
  const mul = (a, b, to) => ({ opType: "Mul", inputs: [a, b], outputs: [to] });

  /** Graphs of other tools. */
  const OTHERS = {
    "DequantizeLinear per channel": {
      nodes: [
        {
          ...{ opType: "DequantizeLinear", inputs: ["w_quantized", "ss"], outputs: ["w_float"] },
          attributes: { axis: { int: 1 } },
        },
        { opType: "MatMul", inputs: ["x", "w_float"], outputs: ["y"] },
      ],
      initializers: [constant("w_quantized", [96, 20], codes), scales],
    },
    "MatMulInteger, scales multiplied first": {
      nodes: [
        dynamic,
        { opType: "MatMulInteger", inputs: ["xq", "w_quantized", "xz", "z"], outputs: ["sums"] },
        cast("sums", "floats"),
        mul("xs", "s", "scale"),
        mul("floats", "scale", "y"),
      ],
      initializers: [constant("w_quantized", [96, 20], unsigned), scale, zero],
    },
    "MatMulInteger, scales one after the other": {
      nodes: [
        dynamic,
        { opType: "MatMulInteger", inputs: ["xq", "w_quantized", "xz", "z"], outputs: ["sums"] },
        cast("sums", "floats"),
        mul("floats", "ss", "half"),
        mul("xs", "half", "y"),
      ],
      initializers: [constant("w_quantized", [96, 20], unsigned), scales, zero],
    },
  };
  for (const [title, graph] of Object.entries(OTHERS)) {
    it(`of other tools are quantized again: ${title}`, async () => {
      const bytes = await onnxModel({ ...graph, inputs: [x], outputs: [y] }, OPSETS);
      for (const [scheme, options] of NEW) {
        assert.equal(await check(bytes, one, scheme, options), undefined);
      }
    });
  }

  it("keep integer activations around weights of QLinearMatMul, as QuantizeLinear has them", async () => {
    const graph = {
      nodes: [
        { opType: "QuantizeLinear", inputs: ["x", "as", "az"], outputs: ["xq"] },
        {
          opType: "QLinearMatMul",
          inputs: ["xq", "as", "az", "w", "ss", "wz", "as", "az"],
          outputs: ["yq"],
        },
        { opType: "DequantizeLinear", inputs: ["yq", "as", "az"], outputs: ["y"] },
      ],
      initializers: [
        ...[constant("w", [96, 20], unsigned), scales],
        constant("as", [], Float32Array.of(0.1)),
        constant("az", [], Uint8Array.of(128)),
        constant("wz", [20], new Uint8Array(20).fill(128)),
      ],
    };
    const bytes = await onnxModel({ ...graph, inputs: [x], outputs: [y] }, OPSETS);
    const result = await again(await openModel(bytes), () => "int4-g32", { target: "node" });
    const { graph: made } = await readOnnx(bytesSource(await outputBytes(result.files[0])));
    assert.deepEqual(
      made.nodes.map(({ opType }) => opType),
      [
        "DequantizeLinear",
        "QuantizeLinear",
        "DequantizeLinear",
        "MatMul",
        "QuantizeLinear",
        "DequantizeLinear",
      ],
    );
    const [row] = result.report.rows.filter(({ name }) => name === "w");
    assert.equal(row.scheme, "int4-g32");
  });

  it("keep, with the reason, weights whose values the graph shows or whose operators are others", async () => {
    const dequantize = {
      ...{ opType: "DequantizeLinear", inputs: ["w", "ss"], outputs: ["wf"] },
      attributes: { axis: { int: 1 } },
    };
    const shown = {
      nodes: [dequantize, { opType: "MatMul", inputs: ["x", "wf"], outputs: ["y"] }],
      initializers: [constant("w", [96, 20], codes), scales],
      ...{ inputs: [x], outputs: [y, { name: "wf", shape: [96, 20] }] },
    };
    const added = {
      nodes: [dequantize, { opType: "Add", inputs: ["wf", "wf"], outputs: ["y"] }],
      initializers: [constant("w", [96, 20], codes), scales],
      ...{ inputs: [x], outputs: [{ name: "y", shape: [96, 20] }] },
    };
    for (const [graph, reason] of [
      [shown, "an output of its graph"],
      [added, "used by Add"],
    ]) {
      const bytes = await onnxModel(graph, OPSETS);
      const { files, report } = await again(await openModel(bytes), "int8-channel", {});
      const row = report.rows.find(({ name }) => name === "w");
      assert.deepEqual([row.scheme, row.reason], ["keep", reason]);
      assert.deepEqual(Buffer.from(await outputBytes(files[0])), Buffer.from(bytes));
    }
  });

  it("say both errors where the original is given", async () => {
    const { graph, shape } = LAYERS.MatMul;
    const original = await openModel(await modelOf({ graph, shape }, normals(96 * 20, 3), OPSETS));
    const { files } = await quantizeModel(original, "int4-g32", { target: "node" });
    const model = await openModel(files[0].stream());
    const result = await again(model, "int8-channel", { original });
    await outputBytes(result.files[0]);
    const { requantized } = result.report.rows.find(({ name }) => name === "w");
    let first;
    for await (const row of compare(original, model)) if (row.name === "w") first = row.sqnr;
    assert.ok(Math.abs(requantized.sqnrBefore - first) < 1e-9);
    assert.ok(requantized.sqnr > 35);
    assert.match(
      result.report.notes.join("\n"),
      /least SQNR of a weight that is rounded twice: first rounding \d+\.\d dB, second \d+\.\d dB/,
    );
    await assert.rejects(quantizeModel(model, "int8-channel", { original }), {
      code: "ZP_CONFLICTING_OPTIONS",
    });
  });
});
