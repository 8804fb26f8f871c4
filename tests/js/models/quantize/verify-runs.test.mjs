// options.verifyWith: runs of both models on given, listed and random inputs, and whose fault a failure is.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";

let model;

before(async () => {
  await init();
  model = await openModel(
    await onnxModel(
      {
        inputs: [
          { name: "x", shape: ["n", 32] },
          { name: "more", shape: ["n", "m"] },
        ],
        outputs: [{ name: "y", shape: ["n", 8] }],
        initializers: [constant("w", [32, 8], normals(256))],
        nodes: [
          { opType: "MatMul", inputs: ["x", "w"], outputs: ["p"] },
          { opType: "Add", inputs: ["p", "more"], outputs: ["y"] },
        ],
      },
      { irVersion: 10, opsets: { "": 21 } },
    ),
  );
});

/**
 * An engine that notes what it is given. Its outputs are of the float model first.
 * @param run  (whether the model is the quantized one, inputs, number of the run) => output
 */
function engine(run = () => [1, 2]) {
  const seen = [];
  let sessions = 0;
  const verifyWith = async () => {
    const isQuantized = sessions++ > 0;
    let runs = 0;
    return {
      async run(feeds) {
        seen.push(feeds);
        const data = Float32Array.from(run(isQuantized, feeds, runs++));
        return { y: { type: "float32", dims: [data.length], data } };
      },
    };
  };
  return { seen, verifyWith };
}

const tensor = (dims) => ({
  type: "float32",
  dims,
  data: new Float32Array(dims.reduce((a, b) => a * b, 1)),
});

const quantize = (options) => quantizeModel(model, "int8-channel", options);

describe("verifyWith", () => {
  it("runs a list of inputs, and takes their differences together", async () => {
    const { seen, verifyWith } = engine((isQuantized, _, run) =>
      isQuantized ? [3 + run, 4] : [3, 4],
    );
    const verifyInputs = [{ x: tensor([2, 32]) }, { x: tensor([3, 32]) }, {}];
    const { report } = await quantize({ verifyWith, verifyInputs });
    // Squares of the signal 25 in each of three runs, of the noise 0, 1 and 4.
    const expected = 10 * Math.log10(75 / 5);
    assert.deepEqual(report.outputs, [{ name: "y", shape: [2], max: 2, sqnr: expected }]);
    const dims = seen.slice(0, 3).map(({ x, more }) => [x.dims, more.dims]);
    assert.deepEqual(dims, [
      [
        [2, 32],
        [2, 8],
      ],
      [
        [3, 32],
        [3, 8],
      ],
      [
        [1, 32],
        [1, 8],
      ],
    ]);
    assert.deepEqual(
      seen.slice(3).map(({ x }) => x.dims),
      [
        [2, 32],
        [3, 32],
        [1, 32],
      ],
    );
  });

  it("takes lengths of free axes by their names, or by input and axis", async () => {
    const { seen, verifyWith } = engine();
    await quantize({ verifyWith, verifySizes: { n: 4, "more[1]": 5 } });
    assert.deepEqual(seen[0].x.dims, [4, 32]);
    assert.deepEqual(seen[0].more.dims, [4, 5]);
    for (const [verifySizes, message] of [
      [{ z: 4 }, /options\.verifySizes names "z", which is none of the free axes "n", "x\[0\]"/],
      [{ n: -1 }, /options\.verifySizes\["n"\] must be an integer/],
      [{ n: "4" }, /options\.verifySizes\["n"\] must be an integer/],
    ]) {
      await assert.rejects(quantize({ verifyWith, verifySizes }), {
        ...{ code: "ZP_INVALID_OPTION", message },
      });
    }
    await assert.rejects(quantize({ verifyWith, verifySizes: [4] }), {
      code: "ZP_INVALID_OPTIONS",
    });
    await assert.rejects(quantize({ verifyWith, verifyInputs: [4] }), {
      code: "ZP_INVALID_OPTIONS",
    });
  });

  /** An engine that gives these outputs of the float and the quantized model. */
  const giving = (...outputs) => {
    let sessions = 0;
    return async () => {
      const y = outputs[sessions++];
      return { run: async () => ({ y: { dims: [y.data.length], ...y } }) };
    };
  };
  for (const [title, float, quantized, max, sqnr] of [
    ["infinities and NaN of both models", [-Infinity, NaN, 3, 4], [-Infinity, NaN, 3, 3], 1, 25],
    ["NaN of one model", [1, 2], [1, NaN], Infinity, 0],
    ["an infinity of one model", [1, 2], [1, Infinity], Infinity, 0],
    ["half floats as bits", Uint16Array.of(0x4200, 0x4400), Uint16Array.of(0x4200, 0x4200), 1, 25],
    ["texts", ["a", "b"], ["a", "b"], 0, Infinity],
    ["other texts", ["a", "b"], ["a", "c"], Infinity, 0],
    ["integers", BigInt64Array.of(3n, 4n), BigInt64Array.of(3n, 3n), 1, 25],
    ["outputs of another length", [1, 2], [1], Infinity, 0],
  ]) {
    it(`compares ${title}`, async () => {
      const type = float instanceof Uint16Array ? "float16" : "float32";
      const verifyWith = giving({ type, data: float }, { type, data: quantized });
      const { report } = await quantize({ verifyWith });
      const [found] = report.outputs;
      assert.equal(found.max, max);
      assert.equal(found.sqnr, 10 * Math.log10(sqnr));
    });
  }

  it("refuses a list without runs, and values that are no tensors", async () => {
    const { verifyWith } = engine();
    for (const verifyInputs of [[], { x: null }, { x: undefined }, [{}, { x: 4 }]]) {
      await assert.rejects(quantize({ verifyWith, verifyInputs }), {
        ...{ code: "ZP_INVALID_OPTION", message: /options\.verifyInputs/ },
      });
    }
  });

  const refuse = () => {
    throw new Error("Non-zero status code\nmore of it");
  };
  for (const [title, options, problem] of [
    [
      "random inputs that the float model refuses, with the options that mend it",
      engine((isQuantized) => (isQuantized ? [1] : refuse())),
      'the float model itself fails on random inputs "x", "more": options.verifyInputs gives values, options.verifySizes lengths of free axes: Non-zero status code',
    ],
    [
      "given inputs that the float model refuses",
      {
        ...engine((isQuantized) => (isQuantized ? [1] : refuse())),
        verifyInputs: { x: tensor([1, 32]), more: tensor([1, 8]) },
      },
      "the float model itself fails on options.verifyInputs: Non-zero status code",
    ],
    [
      "a fault of the quantized model",
      engine((isQuantized) => (isQuantized ? refuse() : [1])),
      "the quantized model fails on inputs that the float model takes: Non-zero status code",
    ],
    [
      "an engine that does not load the float model",
      { verifyWith: refuse },
      "the engine does not load the float model: Non-zero status code",
    ],
    [
      "an engine that gives nothing",
      { verifyWith: async () => ({ run: async () => undefined }) },
      "the float model has no outputs that are tensors: run gave undefined",
    ],
    [
      "an engine that does not give tensors",
      { verifyWith: async () => ({ run: async () => ({ y: null }) }) },
      "the float model has no outputs that are tensors: run gave an object with y",
    ],
    [
      "an engine that does not release a model",
      { verifyWith: async () => ({ ...(await engine().verifyWith()), release: refuse }) },
      "the engine does not release the float model: Non-zero status code",
    ],
    [
      "an engine that throws no error",
      { verifyWith: () => Promise.reject(42) },
      "the engine does not load the float model: 42",
    ],
  ]) {
    it(`tells ${title}`, async () => {
      const { verifyWith, verifyInputs } = options;
      await assert.rejects(quantize({ verifyWith, verifyInputs }), (error) => {
        assert.equal(error.code, "ZP_ENGINE_FAILED");
        assert.equal(error.message, `quantizeModel: ${problem}`);
        assert.ok(error.cause !== undefined);
        return true;
      });
    });
  }
});
