// Inputs of weights: the errors of outputs in analyze, and recorded inputs.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  analyze,
  InputMoments,
  openModel,
  plan,
  recordInputs,
  recordOnnxInputs,
  save,
} from "zeropoint/models";
import { Linear, ReLU, Sequential } from "zeropoint/torch";
import { readOnnx, writeNpy } from "../../../internal/formats.mjs";
import { Random, refuses, rejects } from "../../support/asserts.mjs";
import { collect } from "../../support/files/formats.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";
import { modelOf, rowsOf, valuesOf } from "../analyze/models.mjs";

await init();

const random = new Random(41);

describe("the activations of analyze", () => {
  const inputs = 40;
  const w = random.normal(24 * inputs);
  const samples = random.normal(50 * inputs).map((value, i) => value + 2 * (i % 3));
  const own = [24, inputs];

  /** Mean squares of the outputs' errors and of the outputs, over all samples and outputs. */
  function outputsOf(values) {
    let [noise, signal] = [0, 0];
    for (let sample = 0; sample < 50; sample++) {
      for (let row = 0; row < 24; row++) {
        let [error, output] = [0, 0];
        for (let i = 0; i < inputs; i++) {
          const x = samples[sample * inputs + i];
          error += (w[row * inputs + i] - values[row * inputs + i]) * x;
          output += w[row * inputs + i] * x;
        }
        noise += error ** 2;
        signal += output ** 2;
      }
    }
    return { mse: noise / (24 * 50), relative: noise / signal };
  }

  const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${a} ${b}`);

  const batch = (from, to) =>
    tensor(samples.slice(from * inputs, to * inputs), [to - from, inputs]);
  async function* inBatches() {
    yield batch(0, 1);
    yield batch(1, 50);
  }
  const array = {
    ...{ name: "array", shape: [50, inputs], dtype: "float32" },
    bytes: () => [new Uint8Array(samples.buffer)],
  };
  const npy = async () => new Uint8Array(await collect(writeNpy(array)));

  /** The rows of two equal weights, one with inputs. */
  async function rowsWith(given) {
    const model = await modelOf({ w: [own, w], other: [own, w] });
    const schemes = ["int4-g8", "int8-tensor", "float16", "int4-channel"];
    return await rowsOf(model, { schemes, activations: { w: given } });
  }

  it("give the error of the outputs", async () => {
    const rows = (await rowsWith(samples)).filter(({ name }) => name === "w");
    assert.equal(rows.length, 4);
    for (const row of rows) {
      const { mse, relative } = outputsOf(valuesOf(row.scheme, w, own));
      near(row.outputMse, mse);
      near(row.outputRelative, relative);
      assert.deepEqual([row.shows, row.moments], ["outputs", "full"]);
    }
  });

  it("leave the rows of other weights as they are", async () => {
    const { shows, outputMse } = (await rowsWith(samples)).find(({ name }) => name === "other");
    assert.deepEqual([shows, outputMse], ["weights", undefined]);
  });

  for (const [form, make] of Object.entries({
    "a tensor": () => tensor(samples, [5, 10, inputs]),
    batches: () => [batch(0, 20), batch(20, 50)],
    "a stream of batches": inBatches,
    "an npy file": npy,
    "a Blob": async () => new Blob([await npy()]),
    "moments of inputs": () => new InputMoments(inputs).add(batch(0, 50)),
  })) {
    it(`give the same rows from ${form} as from an array`, async () => {
      assert.deepEqual(await rowsWith(await make()), await rowsWith(samples));
    });
  }

  it("weigh errors by the mean squares of more than 512 inputs", async () => {
    const many = 600;
    const values = random.normal(8 * many);
    const x = random.normal(3 * many);
    const model = await modelOf({ w: [[8, many], values] });
    const [row] = await rowsOf(model, {
      schemes: ["int4-channel"],
      activations: { w: tensor(x, [3, many]) },
      worstRows: true,
    });
    const changed = valuesOf("int4-channel", values, [8, many]);
    let sum = 0;
    for (let i = 0; i < values.length; i++) {
      const k = i % many;
      const square = (x[k] ** 2 + x[many + k] ** 2 + x[2 * many + k] ** 2) / 3;
      sum += (values[i] - changed[i]) ** 2 * square;
    }
    near(row.outputMse, sum / 8);
    assert.equal(row.moments, "diagonal");
    assert.equal(row.worstRows.length, 8);
  });

  it("are recorded from a Sequential by the names of its weights in a file", async () => {
    const model = new Sequential({
      fc1: new Linear(tensor(w, own)),
      relu: new ReLU(),
      head: new Sequential({ fc2: new Linear(tensor(random.normal(16 * 24), [16, 24])) }),
    });
    const x = tensor(samples, [50, inputs]);
    const recorded = await recordInputs(model, [x]);
    assert.deepEqual(Object.keys(recorded), ["fc1.weight", "head.fc2.weight"]);
    assert.equal(recorded["head.fc2.weight"].length, 24);
    const file = await openModel(await collect(save(model)));
    const found = await rowsOf(file, { schemes: ["int4-channel"], activations: recorded });
    const { outputMse } = found.find(({ name }) => name === "fc1.weight");
    near(outputMse, outputsOf(valuesOf("int4-channel", w, own)).mse);
    assert.equal(plan(found, { bytes: 1e6 }).metric, "output");
  });

  const productOfRelu = () =>
    onnxModel({
      nodes: [
        { opType: "Relu", inputs: ["x"], outputs: ["r"] },
        { opType: "MatMul", inputs: ["r", "w"], outputs: ["y"] },
      ],
      initializers: [constant("w", [inputs, 24], random.normal(24 * inputs))],
      inputs: [{ name: "x", shape: ["n", inputs] }],
      outputs: [{ name: "y", shape: ["n", 24] }],
    });
  const x = { type: "float32", dims: [50, inputs], data: samples };

  it("are recorded from an ONNX model with outputs added for the engine", async () => {
    const model = await openModel(await productOfRelu());
    let names;
    await recordOnnxInputs(
      model,
      async (given) => {
        const read = (at, n) => given.subarray(at, at + n);
        const { graph } = await readOnnx({ size: given.length, read });
        names = graph.outputs.map(({ name }) => name);
        return { run: async () => ({ r: x }) };
      },
      [{ x }],
    );
    assert.deepEqual(names, ["y", "r"]);
  });

  it("are recorded from the outputs of an engine's session, which is released", async () => {
    const model = await openModel(await productOfRelu());
    let released = false;
    const session = { run: async () => ({ r: x }), release: () => (released = true) };
    const recorded = await recordOnnxInputs(model, async () => session, [{ x }]);
    assert.deepEqual([recorded.w.length, recorded.w.samples, released], [inputs, 50, true]);
    const [row] = await rowsOf(model, { schemes: ["int4-channel"], activations: recorded });
    assert.equal(row.shows, "outputs");
  });

  it("are recorded of convolutions as the patches under the kernel", async () => {
    // x [2, 4, 5, 6], w [128, 2, 3, 2] in two groups: as a plain loop over outputs multiplies them.
    const attributes = {
      ...{ group: { int: 2 }, strides: { ints: [2, 1] }, dilations: { ints: [1, 2] } },
      pads: { ints: [1, 0, 1, 1] },
    };
    const model = await openModel(
      await onnxModel({
        inputs: [{ name: "x", shape: [2, 4, 5, 6] }],
        outputs: [{ name: "y", shape: [2, 128, 3, 5] }],
        initializers: [constant("w", [128, 2, 3, 2], random.normal(1536))],
        nodes: [
          { opType: "Relu", inputs: ["x"], outputs: ["r"] },
          { opType: "Conv", inputs: ["r", "w"], outputs: ["y"], attributes },
        ],
      }),
    );
    const data = random.normal(240);
    const at = (n, c, i, j) =>
      i < 0 || i >= 5 || j < 0 || j >= 6 ? 0 : data[((n * 4 + c) * 5 + i) * 6 + j];
    const expected = new InputMoments(12);
    for (let n = 0; n < 2; n++) {
      for (let g = 0; g < 2; g++) {
        for (let i = 0; i < 3; i++) {
          for (let j = 0; j < 5; j++) {
            const patch = [];
            for (let c = 0; c < 2; c++)
              for (let k = 0; k < 3; k++)
                for (let l = 0; l < 2; l++) patch.push(at(n, 2 * g + c, 2 * i - 1 + k, j + 2 * l));
            expected.add(tensor(patch, [1, 12]));
          }
        }
      }
    }
    const r = { type: "float32", dims: [2, 4, 5, 6], data };
    const recorded = await recordOnnxInputs(model, async () => ({ run: async () => ({ r }) }), [
      {},
    ]);
    assert.deepEqual([recorded.w.length, recorded.w.samples], [12, 60]);
    for (let i = 0; i < 5; i++) {
      const direction = Float64Array.from(random.normal(12));
      near(recorded.w.meanSquare(direction), expected.meanSquare(direction));
    }
    const [row] = await rowsOf(model, { schemes: ["int4-channel"], activations: recorded });
    const [own] = await rowsOf(model, { schemes: ["int4-channel"], activations: { w: expected } });
    assert.equal(row.shows, "outputs");
    near(row.outputMse, own.outputMse);
    const wrong = { ...r, dims: [2, 3, 5, 8] };
    await assert.rejects(
      recordOnnxInputs(model, async () => ({ run: async () => ({ r: wrong }) }), [{}]),
      { code: "ZP_SHAPE_MISMATCH" },
    );
  });

  it("are not recorded by an engine that fails, whose error is the cause", async () => {
    const model = await openModel(await productOfRelu());
    const cause = new Error("no memory");
    const fail = async () => {
      throw cause;
    };
    for (const [session, problem] of [
      [fail, "load the model"],
      [async () => ({ run: fail }), "run the model on a batch"],
    ]) {
      await assert.rejects(recordOnnxInputs(model, session, [{ x }]), {
        ...{ code: "ZP_ENGINE_FAILED", cause },
        message: `recordOnnxInputs: the engine does not ${problem}: no memory`,
      });
    }
  });

  it("are refused if they belong to no tensor", async () => {
    const model = await modelOf({ w: [own, w] });
    refuses(
      () => analyze(model, { activations: { v: samples } }),
      RangeError,
      "ZP_INVALID_OPTION",
      'analyze: options.activations names "v", which is no tensor of the model',
    );
  });

  it("are refused if they are of another kind or length, or not finite", async () => {
    const model = await modelOf({ w: [own, w] });
    const refused = (given, type, code, message) =>
      rejects(rowsOf(model, { activations: { w: given } }), type, code, message);
    await refused(
      tensor([[1, 2]]),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /length 40, got shape \[1, 2\]/,
    );
    await refused(
      new InputMoments(3),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /must have 40 inputs, got 3/,
    );
    await refused([], RangeError, "ZP_INVALID_OPTION", /must have a sample, got none/);
    await refused(5, TypeError, "ZP_INVALID_OPTION", /must be a \.npy file, a tensor, or batches/);
    const bad = tensor(
      samples.map((value, i) => (i === 7 ? Number.NaN : value)),
      [50, inputs],
    );
    await refused(bad, RangeError, "ZP_NON_FINITE", /NaN at index 7/);
  });

  it("are recorded from a Sequential or an ONNX model only", async () => {
    const model = await modelOf({ w: [own, w] });
    await rejects(recordInputs({}, []), TypeError, "ZP_INVALID_MODEL", /must be a Sequential/);
    await rejects(
      recordOnnxInputs(model, () => {}, []),
      RangeError,
      "ZP_INVALID_MODEL",
      /of ONNX/,
    );
  });

  it("have at least one input", () => {
    refuses(() => new InputMoments(0), RangeError, "ZP_INVALID_OPTION", /from 1 to/);
    refuses(() => new InputMoments(), TypeError, "ZP_INVALID_OPTION", /from 1 to/);
  });
});
