import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { axesIn } from "../../internal/formats.mjs";

const layer = (class_name, name, config = {}) => ({ class_name, config: { name, ...config } });

describe("axesIn", () => {
  const axesOfLayers = axesIn({
    model_config: {
      class_name: "Functional",
      config: {
        layers: [
          layer("Dense", "dense"),
          layer("Conv1D", "conv"),
          layer("SeparableConv2D", "separable"),
          layer("DepthwiseConv2D", "depthwise"),
          layer("Conv2DTranspose", "transposed"),
          layer("RNN", "rnn", { cell: layer("GRUCell", "gru_cell") }),
          layer("Embedding", "embedding"),
          layer("BatchNormalization", "norm"),
        ],
      },
    },
  });

  for (const [name, rank, axes] of [
    ["dense/kernel", 2, [0, 0]],
    ["dense/kernel_1", 2, [0, 0]],
    ["model/dense/kernel:0", 2, [0, 0]],
    ["conv/kernel", 3, [0, 1]],
    ["separable/depthwise_kernel", 4, [0, 1]],
    ["separable/pointwise_kernel", 4, [0, 2]],
    ["depthwise/kernel", 4, [0, 1]],
    ["transposed/kernel", 4, [3, 3]],
    ["rnn/gru_cell/recurrent_kernel", 2, [0, 0]],
  ]) {
    it(`takes the inputs of a kernel from the class of its layer: ${name}`, () => {
      assert.deepEqual(axesOfLayers(name, rank), axes);
    });
  }

  for (const [name, rank] of [
    ["embedding/embeddings", 2],
    ["norm/gamma", 1],
    ["dense/bias", 1],
    ["dense/kernel", 1],
    ["unknown/kernel", 2],
  ]) {
    it(`knows no inputs of ${name} with ${rank} axes`, () => {
      assert.equal(axesOfLayers(name, rank), undefined);
    });
  }

  it("looks into wrappers and nested models, and knows nothing of a name of two classes", () => {
    const wrapped = layer("TimeDistributed", "a", {
      layer: layer("Bidirectional", "b", { layer: layer("LSTM", "c") }),
    });
    const inner = layer("Sequential", "inner", { layers: [layer("Dense", "d"), layer("X", "e")] });
    const config = [wrapped, inner, layer("Dense", "e"), layer("Dense", "d")];
    const axesOf = axesIn({ class_name: "Sequential", config });
    assert.deepEqual(axesOf("a/forward_c/kernel", 2), [0, 0]);
    assert.deepEqual(axesOf("d/kernel", 2), [0, 0]);
    assert.equal(axesOf("e/kernel", 2), undefined);
  });

  it("takes the inputs of a weight from the first operator that uses it", () => {
    const flag = (name) => ({ [name]: { b: true } });
    const node = [
      { name: "w1", op: "Const" },
      { name: "copy", op: "Identity", input: ["w1"] },
      { name: "m1", op: "MatMul", input: ["x", "copy:0"], attr: { transpose_b: { b: false } } },
      { name: "m2", op: "_FusedMatMul", input: ["x", "w2", "bias"], attr: flag("transpose_b") },
      { name: "m3", op: "BatchMatMulV2", input: ["w3", "x"], attr: flag("adj_x") },
      { name: "c1", op: "_FusedConv2D", input: ["x", "w4", "bias"] },
      { name: "c2", op: "FusedDepthwiseConv2dNative", input: ["x", "w5"] },
      { name: "c3", op: "Conv2DBackpropInput", input: ["shape", "w6", "x"] },
      { name: "g", op: "GatherV2", input: ["w7", "ids", "axis"] },
    ];
    const axesOf = axesIn({ node });
    const ranks = { w1: 2, w2: 2, w3: 3, w4: 4, w5: 4, w6: 4, w7: 2, bias: 2 };
    assert.deepEqual(
      Object.entries(ranks).map(([name, rank]) => axesOf(name, rank)),
      [[0, 0], [1, 1], [1, 1], [0, 2], [0, 1], [3, 3], undefined, undefined],
    );
  });

  it("takes any JSON", () => {
    const values = [
      ...[null, 1, "text", [], { node: 1 }, { node: [null, 1, { input: [1, null] }] }],
      { class_name: 1, config: { name: 2, layer: [3] } },
      JSON.parse('{"__proto__": {"class_name": "Dense", "config": {"name": "a"}}}'),
    ];
    for (const value of values) assert.equal(axesIn(value)("b/kernel", 2), undefined);
    // Identity of itself.
    const loop = { name: "a", op: "Identity", input: ["a"] };
    assert.equal(axesIn({ node: [loop] })("a", 2), undefined);
    // Wrappers in wrappers take no more time than their number.
    let deep = layer("LSTM", "lstm");
    for (let i = 0; i < 60; i++) deep = layer("Bidirectional", `b${i}`, { layer: deep });
    assert.deepEqual(axesIn(deep)("b59/kernel", 2), [0, 0]);
  });
});
