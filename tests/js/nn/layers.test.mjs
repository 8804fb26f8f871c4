import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, linear, QuantizedLinear, tensor } from "zeropoint";
import {
  convert,
  Embedding,
  LayerNorm,
  Linear,
  predefinedQConfigs,
  prepare,
  QConfigMapping,
  quantizeDynamic,
  ReLU,
  Sequential,
  Sigmoid,
  Softmax,
  Tanh,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { refuses, sameFloats, sameTensor } from "../support/asserts.mjs";
import { weights, x } from "../support/models.mjs";

await init();

describe("layers compute", () => {
  it("Linear: what linear computes", () => {
    const layer = new Linear(weights.fc1, { bias: weights.bias1 });
    sameTensor(layer.forward(x), linear(x, weights.fc1, weights.bias1));
    assert.deepEqual([layer.inFeatures, layer.outFeatures, layer.sizeInBytes], [8, 16, 4 * 144]);
  });

  it("ReLU: the positive part, NaN and -0 as they are", () => {
    const y = new ReLU().forward(Float32Array.of(-1, -0, 0, 2, NaN, Infinity, -Infinity));
    sameFloats(y.data, [0, -0, 0, 2, NaN, Infinity, 0]);
  });

  it("Sigmoid and Tanh: the functions to float32 precision", () => {
    const values = Float32Array.of(-100, -1, 0, 1, 100);
    const sigmoid = new Sigmoid().forward(values).data;
    assert.deepEqual([sigmoid[0] < 1e-40, sigmoid[2], sigmoid[4]], [true, 0.5, 1]);
    assert.ok(Math.abs(sigmoid[3] - 0.7310585786300049) < 2 ** -24);
    const tanh = new Tanh().forward(values).data;
    assert.deepEqual([tanh[0], tanh[2], tanh[4]], [-1, 0, 1]);
    assert.ok(Math.abs(tanh[3] - 0.7615941559557649) < 2 ** -24);
  });

  it("Softmax: shares along an axis, of large values too", () => {
    const last = new Softmax().forward(
      tensor([
        [1000, 1000],
        [0, Math.log(3)],
      ]),
    );
    for (const [i, share] of [0.5, 0.5, 0.25, 0.75].entries()) {
      assert.ok(Math.abs(last.data[i] - share) < 2 ** -23);
    }
    const first = new Softmax({ axis: 0 }).forward(tensor([[1], [1]]));
    assert.deepEqual([...first.data], [0.5, 0.5]);
  });

  it("LayerNorm: mean 0 and variance 1 over the last axes", () => {
    const plain = new LayerNorm(2, { eps: 0 }).forward(tensor([[1, 3]]));
    assert.deepEqual([...plain.data], [-1, 1]);
    const affine = new LayerNorm([2, 1], {
      eps: 0,
      weight: tensor([[2], [3]]),
      bias: tensor([[10], [20]]),
    }).forward(tensor([[[1], [3]]]));
    assert.deepEqual([...affine.data], [8, 23]);
  });

  it("Embedding: rows by index", () => {
    const table = new Embedding(
      tensor([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
    );
    const y = table.forward({ data: Int32Array.of(2, 0), shape: [2, 1] });
    assert.deepEqual([...y.shape], [2, 1, 2]);
    assert.deepEqual([...y.data], [5, 6, 1, 2]);
  });

  it("Embedding: rows beyond what float32 counts, from a plain list", () => {
    const rows = 2 ** 24 + 2;
    const data = new Float32Array(rows);
    data[rows - 1] = 7;
    const table = new Embedding({ data, shape: [rows, 1] });
    assert.deepEqual([...table.forward({ data: [rows - 1], shape: [1] }).data], [7]);
  });

  it("an empty output for every shape without values", () => {
    const none = { data: new Float32Array(0), shape: [2 ** 32 - 1, 0] };
    for (const layer of [new Softmax(), new LayerNorm(0), new ReLU()]) {
      assert.deepEqual(layer.forward(none).shape, none.shape);
    }
    assert.deepEqual(new Softmax({ axis: 0 }).forward(none).shape, none.shape);
  });

  it("no weight with more rows than scales have room for, and no values", () => {
    for (const shape of [
      [2 ** 32 - 1, 0],
      [0, 2 ** 32 - 1],
    ]) {
      const none = { data: new Float32Array(0), shape };
      for (const make of [
        () => new Linear(none),
        () => new Embedding(none),
        () => new QuantizedLinear(none, { activations: "dynamic", axis: 0 }),
      ]) {
        refuses(make, RangeError, "ZP_SIZE_OVERFLOW", /has 4294967295 channels and no values$/);
      }
    }
  });

  it("nothing once the memory of their parameters was transferred", () => {
    const table = new Embedding(tensor([1, 2, 3, 4], [2, 2]));
    const norm = new LayerNorm([2], { weight: tensor([1, 2]), bias: tensor([3, 4]) });
    const transfer = ({ buffer }) => structuredClone(buffer, { transfer: [buffer] });
    transfer(table.weight.data);
    refuses(
      () => table.forward(Int32Array.of(1)),
      TypeError,
      "ZP_DETACHED",
      /it had 4 values, now it has 0/,
    );
    transfer(norm.bias.data);
    refuses(
      () => norm.forward(tensor([1, 2])),
      TypeError,
      "ZP_DETACHED",
      /had 2 values, now it has 0/,
    );
  });

  it("copies of their parameters", () => {
    const weight = tensor([[1]]);
    const layer = new Linear(weight);
    weight.data[0] = 5;
    assert.equal(layer.forward(tensor([2])).data[0], 2);
  });

  const refused = {
    "a weight of one axis": [
      () => new Linear(tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "Linear: weight must have shape [outFeatures, inFeatures], got [2]",
    ],
    "a bias of another length": [
      () => new Linear(tensor([[1, 2]]), { bias: tensor([1, 2]) }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "Linear: options.bias must have shape [1], got [2]",
    ],
    "an index beyond the table": [
      () => new Embedding(tensor([[1]])).forward(Int32Array.of(0, 1)),
      RangeError,
      "ZP_INVALID_TENSOR",
      "Embedding.forward: indices must be integers from 0 to 0, but value 1 is 1",
    ],
    "an index into no rows": [
      () => new Embedding(tensor([], [0, 1])).forward(Int32Array.of(0)),
      RangeError,
      "ZP_INVALID_TENSOR",
      "Embedding.forward: indices must be none, for there are no rows, but value 0 is 0",
    ],
    "half an index": [
      () => new Embedding(tensor([[1], [2]])).forward(tensor([0.5])),
      RangeError,
      "ZP_INVALID_TENSOR",
      /value 0 is 0\.5/,
    ],
    "an axis that is not there": [
      () => new Softmax({ axis: 2 }).forward(tensor([[1]])),
      RangeError,
      "ZP_INVALID_AXIS",
      "Softmax.forward: x must have axis 2, options.axis, got shape [1, 1]",
    ],
    "no axis to normalize": [
      () => new LayerNorm([]),
      RangeError,
      "ZP_INVALID_SHAPE",
      "LayerNorm: normalizedShape must have lengths, got []",
    ],
    "another shape to normalize": [
      () => new LayerNorm(3).forward(tensor([[1, 2]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "LayerNorm.forward: x must have [3] for its last axes, got shape [1, 2]",
    ],
    "unknown options": [
      () => new Linear(tensor([[1]]), { biass: tensor([1]) }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /did you mean bias/,
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`and refuse ${what}`, () => refuses(work, ...expected));
  }
});

describe("a subclass with a forward of its own", () => {
  const twice = (y) =>
    tensor(
      y.data.map((value) => 2 * value),
      y.shape,
    );
  class Twice extends Linear {
    forward(x) {
      return twice(super.forward(x));
    }
  }
  class TwiceEmbedding extends Embedding {
    forward(x) {
      return twice(super.forward(x));
    }
  }
  class Residual extends Sequential {
    forward(x) {
      const y = super.forward(x);
      return tensor(
        y.data.map((value, i) => x.data[i] + value),
        y.shape,
      );
    }
  }
  class Negative extends ReLU {
    forward(x) {
      return tensor(
        super.forward(x).data.map((value) => -value),
        x.shape,
      );
    }
  }
  const one = tensor([[1, 2]]);
  const identity = tensor([
    [1, 0],
    [0, 1],
  ]);
  const makeEach = {
    Linear: () => new Twice(identity),
    Sequential: () => new Residual({ same: new Linear(identity) }),
    "Sequential in one": () => new Sequential({ in: new Residual([(x) => x]) }),
  };

  it("is given the input itself", () => {
    const seen = [];
    class Looking extends ReLU {
      forward(x) {
        seen.push(x);
        return super.forward(x);
      }
    }
    new Looking().forward(one);
    new Sequential([new Looking()]).forward(one);
    assert.deepEqual(
      seen.map((x) => x === one),
      [true, true],
    );
  });

  for (const [what, make] of Object.entries(makeEach)) {
    it(`runs in ${what}`, () => {
      const layer = make();
      const model = new Sequential({ layer });
      const mapping = new QConfigMapping()
        .setGlobal(predefinedQConfigs.default_qconfig)
        .setObjectType("Linear", null);
      for (const run of [
        layer,
        model,
        prepare(model, predefinedQConfigs.default_qconfig),
        quantizeDynamic(model),
        convert(prepare(model, mapping)),
      ]) {
        assert.deepEqual([...run.forward(one).data], [2, 4]);
      }
    });
  }

  it("runs in place of Embedding's own", () => {
    const model = new Sequential([new TwiceEmbedding(identity)]);
    const quantized = quantizeDynamic(
      model,
      new QConfigMapping().setGlobal(predefinedQConfigs.float_qparams_weight_only_qconfig),
    );
    assert.deepEqual([...quantized.forward(Int32Array.of(1)).data], [0, 2]);
  });

  it("prevents fusing and running on codes, for a ReLU", () => {
    const model = new Sequential({ fc: new Linear(identity), negative: new Negative() });
    for (const fuse of [true, false]) {
      const quantized = convert(
        prepare(model, predefinedQConfigs.default_qconfig, { fuse }).calibrate([one]),
      );
      const { data } = quantized.forward(one);
      assert.ok(data[0] < -0.9 && data[1] < -1.9, String(data));
      quantized.dispose();
    }
  });

  it("is needed to change an elementwise layer's result: a method map() is ignored", () => {
    class Six extends ReLU {
      map(value) {
        return Math.min(6, Math.max(0, value));
      }
    }
    assert.deepEqual([...new Six().forward(tensor([-1, 9])).data], [0, 9]);
  });

  it("is refused where it would be quantized, alone and in a model", () => {
    const residual = makeEach.Sequential();
    for (const layer of [makeEach.Linear(), residual, new TwiceEmbedding(identity)]) {
      const named = new QConfigMapping().setModuleName("it", new WeightOnlyQConfig());
      refuses(
        () => quantizeDynamic(new Sequential({ it: layer }), named),
        RangeError,
        "ZP_UNSUPPORTED_QCONFIG",
        /^quantizeDynamic: .* forward of its own .* \(in layer "it", /,
      );
    }
    refuses(
      () => prepare(residual, predefinedQConfigs.default_qconfig),
      TypeError,
      "ZP_INVALID_MODEL",
      "prepare: model must be a Sequential, got one with a forward of its own",
    );
  });
});
