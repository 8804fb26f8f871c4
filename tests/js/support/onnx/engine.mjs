// Tests of quantized ONNX models that run in ONNX Runtime.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { LAYERS, modelOf, quantized } from "./layers.mjs";
import { constant, normals, onnxModel } from "./models.mjs";
import { runOnnx } from "./run.mjs";

/** Inputs as ONNX Runtime takes them. */
const feedsOf = (inputs) =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, { shape, data }]) => {
      const isFloat = data instanceof Float32Array;
      const type = isFloat ? "float32" : "int64";
      const own = isFloat ? data : BigInt64Array.from(data, BigInt);
      return [name, { type, dims: shape, data: own, size: own.length, location: "cpu" }];
    }),
  );

async function run(ort, bytes, inputs, optimize) {
  const graphOptimizationLevel = optimize ? "all" : "disabled";
  const options = { graphOptimizationLevel, logSeverityLevel: 4 };
  const session = await ort.InferenceSession.create(bytes, options);
  try {
    return await session.run(feedsOf(inputs));
  } finally {
    await session.release();
  }
}

/** Largest difference, as a share of the largest value. */
export function difference(actual, expected) {
  assert.equal(actual.length, expected.length);
  const most = Math.max(...expected.map(Math.abs));
  return Math.max(...expected.map((value, i) => Math.abs(value - actual[i]))) / most;
}

/** A table of embeddings that also is, transposed, the last layer's weight. */
const TIED = {
  shape: [40, 64],
  inputs: { x: { shape: [3], data: [0, 39, 7] } },
  graph: {
    inputs: [{ name: "x", shape: [3], dtype: "int64" }],
    outputs: [{ name: "y", shape: [3, 40] }],
    nodes: [
      { opType: "Gather", inputs: ["w", "x"], outputs: ["rows"] },
      {
        opType: "Transpose",
        inputs: ["w"],
        outputs: ["t"],
        attributes: { perm: { ints: [1, 0] } },
      },
      { opType: "MatMul", inputs: ["rows", "t"], outputs: ["y"] },
    ],
  },
};

/** A weight that multiplies from both of its axes. */
const BOTH_WAYS = {
  shape: [40, 64],
  inputs: { x: { shape: [3, 40], data: normals(120, 5) } },
  graph: {
    inputs: [{ name: "x", shape: [3, 40] }],
    outputs: [{ name: "y", shape: [3, 40] }],
    nodes: [
      { opType: "MatMul", inputs: ["x", "w"], outputs: ["up"] },
      {
        opType: "Gemm",
        inputs: ["up", "w"],
        outputs: ["y"],
        attributes: { transB: { int: 1 } },
      },
    ],
  },
};

/** Layers, and models whose weight has two uses. */
const MODELS = { ...LAYERS, "tied embeddings": TIED, "a weight in both directions": BOTH_WAYS };
/** All targets, with schemes of all kinds. */
export const ALL_WISHES = [
  ...["portable", "web", "node", "webgpu"].flatMap((target) =>
    ["int8-tensor", "int8-channel", "uint8-channel-affine", "int4-channel", "int4-g32"]
      .concat(...["uint4-g32-affine", "int8-g32", "int4-g20", "int2-g16"])
      .map((scheme) => ({ target, scheme })),
  ),
  { target: "web", scheme: "int8-channel", activations: "dynamic" },
];

/**
 * Tests of the forms in an engine.
 * @param load  gives the engine
 * @param wishes  targets and schemes
 */
export function testRuntime(name, load, wishes) {
  describe(name, () => {
    let ort;
    before(async () => {
      await init();
      ort = await load();
    });
    for (const [title, layer] of Object.entries(MODELS)) {
      for (const opset of [17, 21]) {
        it(`runs ${title} of opset ${opset} in all forms`, async () => {
          const size = layer.shape.reduce((a, b) => a * b, 1);
          const options = { irVersion: 10, opsets: { "": opset } };
          const bytes = await modelOf(layer, normals(size, 3), options);
          for (const { scheme, ...wish } of wishes) {
            const { bytes: written, report } = await quantized(bytes, () => scheme, wish);
            const { form } = report.rows.find((row) => row.name === "w");
            const message = `${scheme} for ${wish.target}, ${form}`;
            const { y: expected } = await runOnnx(written, layer.inputs);
            const plain = await run(ort, written, layer.inputs, false);
            // Sums in another order: 2^-24 for each of at most 96 products, of values 4 times the result's.
            const error = difference(plain.y.data, expected.data);
            assert.ok(error < 96 * 4 * 2 ** -24, `${message}: ${error}`);
            // Optimized, activations may be quantized to 8 bits: 1/254 of the largest one each.
            const best = await run(ort, written, layer.inputs, true);
            const change = difference(best.y.data, expected.data);
            assert.ok(change < 0.03, `${message}, optimized: ${change}`);
          }
        });
      }
    }

    it("runs models of float16 and bfloat16", async () => {
      for (const dtype of ["float16", "bfloat16"]) {
        const weight = constant("w", [32, 8], halves(dtype, normals(256)), dtype);
        const bytes = await onnxModel({
          inputs: [{ name: "x", shape: [2, 32] }],
          outputs: [{ name: "y", shape: [2, 8] }],
          initializers: [weight],
          nodes: [
            { opType: "Cast", inputs: ["w"], outputs: ["f"], attributes: { to: { int: 1 } } },
            { opType: "MatMul", inputs: ["x", "f"], outputs: ["y"] },
          ],
        });
        for (const target of ["portable", "web", "node"]) {
          const { bytes: written } = await quantized(bytes, () => "int8-channel", { target });
          const inputs = { x: { shape: [2, 32], data: normals(64, 9) } };
          const [{ y }, expected] = [
            await run(ort, written, inputs, true),
            await run(ort, bytes, inputs, true),
          ];
          assert.ok(difference(y.data, [...expected.y.data]) < 0.03, `${dtype} for ${target}`);
        }
      }
    });

    it("adds products of the largest codes without saturation", async () => {
      const bytes = await modelOf(LAYERS.MatMul, new Float32Array(96 * 20).fill(1));
      const { bytes: written } = await quantized(bytes, () => "int8-channel", {
        activations: "dynamic",
      });
      const x = { shape: [2, 96], data: new Float32Array(2 * 96).fill(1) };
      for (const optimize of [false, true]) {
        const { y } = await run(ort, written, { x }, optimize);
        assert.ok(difference(y.data, Array(40).fill(96)) < 1e-6);
      }
    });

    it("tells the outputs apart by verifyWith", async () => {
      const bytes = await modelOf(LAYERS.MatMul, normals(96 * 20, 3));
      const verifyWith = (model, options) => ort.InferenceSession.create(model, options);
      const { report } = await quantized(bytes, "int8-channel", { target: "web", verifyWith });
      const [{ name: output, shape, max, sqnr }] = report.outputs;
      assert.deepEqual([output, shape], ["y", [1, 20]]);
      assert.ok(max > 0 && max < 0.5 && sqnr > 30 && sqnr < 60, `${max} ${sqnr}`);
    });

    /** Quantizes the weight of y = x · w + more, and verifies it on given inputs. */
    async function verifiedOn(verifyInputs) {
      const bytes = await onnxModel({
        inputs: [
          { name: "x", shape: ["n", 32] },
          { name: "more", shape: ["n", 8] },
        ],
        outputs: [{ name: "y", shape: ["n", 8] }],
        initializers: [constant("w", [32, 8], normals(256))],
        nodes: [
          { opType: "MatMul", inputs: ["x", "w"], outputs: ["p"] },
          { opType: "Add", inputs: ["p", "more"], outputs: ["y"] },
        ],
      });
      const verifyWith = (model, options) => ort.InferenceSession.create(model, options);
      return quantized(bytes, "int8-channel", { target: "web", verifyWith, verifyInputs });
    }
    const zeros = () => new ort.Tensor("float32", new Float32Array(5 * 32), [5, 32]);

    it("runs on inputs of verifyInputs, and makes up the others of matching lengths", async () => {
      const { report } = await verifiedOn({ x: zeros() });
      // Nothing times weights: all that is left is the other input.
      const [{ shape, max }] = report.outputs;
      assert.deepEqual([shape, max], [[5, 8], 0]);
    });

    it("refuses an input of verifyInputs that the model does not have", async () => {
      await assert.rejects(
        verifiedOn({ z: zeros() }),
        /names "z", which is none of the model's inputs "x", "more"/,
      );
    });
  });
}

/** Bit patterns of values: the upper half of float32, or float16 by its table of powers. */
function halves(dtype, values) {
  const words = new Uint32Array(values.buffer);
  if (dtype === "bfloat16") return Uint16Array.from(words, (word) => word >>> 16);
  // Normal numbers, cut off: any values do.
  return Uint16Array.from(words, (word) => {
    const exponent = Math.max(1, ((word >>> 23) & 255) - 112);
    return ((word >>> 16) & 0x8000) | (exponent << 10) | ((word >>> 13) & 0x3ff);
  });
}
