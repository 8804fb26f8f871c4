import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  dequantize,
  init,
  linear,
  QuantizedLinear,
  quantize,
  tensor,
  unpackLinear,
} from "zeropoint";
import {
  convert,
  Embedding,
  Linear,
  predefinedQConfigs,
  prepare,
  QConfigMapping,
  quantizeDynamic,
  quantizePerChannel,
  quantizePerTensor,
  ReLU,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { refuses, sameCodes, sameDeep, sameTensor } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { batches, floats, makeModel, weights, x } from "../support/models.mjs";

await init();

const OPTIONS = [
  { dtype: "int8" },
  { dtype: "int4", groupSize: 4 },
  { dtype: "int2", axis: 0 },
  { dtype: "uint8", scheme: "affine", axis: 1 },
  { dtype: "uint4", scheme: "affine", groupSize: 2 },
  { dtype: "uint2", scheme: "affine" },
];

describe("Linear of a quantized weight", () => {
  it("computes what linear does with that weight, and keeps a copy of it", () => {
    for (const options of OPTIONS) {
      const q = quantize(weights.fc1, options);
      const layer = new Linear(q, { bias: weights.bias1 });
      const expected = linear(x, q, weights.bias1);
      const values = dequantize(q);
      const kept = quantize(weights.fc1, options);
      q.data.fill(0);
      sameTensor(layer.forward(x), expected);
      sameTensor(layer.weight, values);
      sameDeep(layer.quantizedWeight, kept);
    }
    const torch = quantizePerTensor(weights.fc1, 0.02, 3, "qint8");
    sameTensor(new Linear(torch).forward(x), linear(x, torch));
    assert.equal(new Linear(torch).quantizedWeight.qscheme, "per_tensor_affine");
  });

  it("reports its bytes and its dtype", () => {
    const layer = new Linear(quantize(weights.fc1, { dtype: "int4", groupSize: 4 }));
    assert.equal(layer.sizeInBytes, (16 * 8) / 2 + 4 * 32);
    assert.equal(
      String(layer),
      "Linear(in_features=8, out_features=16, bias=False, dtype=int4, group_size=4)",
    );
  });

  it("refuses weights that linear refuses", () => {
    const deep = quantize(weights.fc1, { dtype: "int16" });
    refuses(() => new Linear(deep), RangeError, "ZP_UNSUPPORTED_DTYPE", /^Linear: weight\.dtype/);
    const flat = quantize(tensor([1, 2]));
    refuses(() => new Linear(flat), RangeError, "ZP_SHAPE_MISMATCH", /^Linear: weight must have/);
    const quint8 = quantizePerTensor(weights.fc1, 0.1, 0, "quint8");
    refuses(() => new Linear(quint8), RangeError, "ZP_UNSUPPORTED_DTYPE", /"qint8"/);
  });
});

describe("Embedding of a quantized table", () => {
  it("gives the dequantized rows", () => {
    const table = floats([6, 4]);
    const scales = Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6);
    const all = [
      ...OPTIONS.map((options) => quantize(table, options)),
      quantizePerTensor(table, 0.1, 5, "quint8"),
      quantizePerChannel(table, scales, Float32Array.from(scales), 0, "quint8"),
    ];
    for (const q of all) {
      const layer = new Embedding(q);
      const rows = new Embedding(dequantize(q)).forward(Int32Array.of(5, 0, 5));
      sameTensor(layer.forward(Int32Array.of(5, 0, 5)), rows, `${q.dtype}`);
      sameTensor(layer.weight, dequantize(q));
    }
    const one = quantize(floats([1, 4]), { axis: 0 });
    assert.deepEqual([...new Embedding(one).forward(Int32Array.of(0, 0)).shape], [2, 4]);
  });

  it("refuses scales without a field that tells their granularity", () => {
    const q = quantize(floats([3, 4]), { axis: 0 });
    const { axis, ...rest } = q;
    assert.equal(axis, 0);
    refuses(
      () => new Embedding(rest),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /weight\.axis or weight\.gr/,
    );
  });
});

describe("A Sequential of quantized layers", () => {
  const layer = new QuantizedLinear(weights.fc1, {
    dtype: "int4",
    groupSize: 4,
    bias: weights.bias1,
  });
  const dynamic = new QuantizedLinear(weights.fc2, { activations: "dynamic" });
  const model = new Sequential({ fc1: layer, relu: new ReLU(), fc2: dynamic });

  it("runs a QuantizedLinear as any other layer", () => {
    sameTensor(model.forward(x), dynamic.forward(new ReLU().forward(layer.forward(x))));
    assert.equal(model.layers[0].layer, layer);
    assert.equal(model.sizeInBytes, layer.sizeInBytes + dynamic.sizeInBytes);
    assert.equal(layer.sizeInBytes, (16 * 8) / 2 + 4 * 32 + 4 * 16);
  });

  it("keeps quantized layers when it is prepared, converted or quantized", () => {
    const prepared = prepare(model, predefinedQConfigs.default_qconfig);
    assert.deepEqual(prepared.observers, {});
    for (const each of [convert(prepared), quantizeDynamic(model)]) {
      sameTensor(each.forward(x), model.forward(x));
      assert.deepEqual(
        each.layers.map(({ method }) => method),
        ["weight-only", "float32", "dynamic"],
      );
    }
    const named = new QConfigMapping().setModuleName("fc1", predefinedQConfigs.default_qconfig);
    const message = /quantized already \(in layer "fc1", QuantizedLinear\)$/;
    refuses(() => prepare(model, named), RangeError, "ZP_UNSUPPORTED_QCONFIG", message);
    const report = convert(prepared).report(x);
    assert.equal(report.layers[0].floatSizeInBytes, 4 * (16 * 8 + 16));
    assert.equal(report.outputSqnr, Infinity);
  });
});

describe("QuantizedLinear", () => {
  for (const zp of builds) {
    it(`gives out the codes that it packed, ${zp.name}`, () => {
      for (const [rows, columns] of [
        [1, 8],
        [8, 4],
        [17, 2100],
        [130, 1028],
      ]) {
        const weight = floats([rows, columns]);
        for (const options of OPTIONS) {
          const q = zp.quantize(weight, options);
          sameDeep(zp.unpackLinear(new zp.QuantizedLinear(q)).weight, q);
        }
      }
    });
  }

  it("gives out its bias and its options", () => {
    const layer = new QuantizedLinear(weights.fc1, { bias: weights.bias1, accumulate: "float32" });
    for (let i = 0; i < 2; i++) {
      const { bias } = unpackLinear(layer);
      sameTensor(bias, weights.bias1);
      bias.data.fill(0);
    }
    assert.equal(layer.accumulate, "float32");
    assert.equal(layer.activations, "float32");
    assert.equal(layer.reduceRange, undefined);
    const other = new QuantizedLinear(weights.fc1, { activations: "dynamic", reduceRange: false });
    assert.deepEqual([other.activations, other.reduceRange], ["dynamic", false]);
    assert.equal(unpackLinear(other).bias, undefined);
    other.dispose();
    refuses(() => unpackLinear(other), TypeError, "ZP_DISPOSED", /^unpackLinear: the layer is/);
    const message = /^unpackLinear: layer must be a QuantizedLinear, got a ReLU/;
    refuses(() => unpackLinear(new ReLU()), TypeError, "ZP_INVALID_MODEL", message);
  });
});

describe("The layers of a QuantizedModel", () => {
  it("have codes and qparams that dequantize to the weights that it computes with", () => {
    const quantized = convert(
      prepare(makeModel(), predefinedQConfigs.default_per_channel_qconfig).calibrate(batches),
    );
    const [fc1, relu, fc2] = quantized.layers;
    assert.equal(fc1.weight.dtype, "qint8");
    assert.equal(fc1.weight.axis, 0);
    sameTensor(fc1.bias, weights.bias1);
    assert.equal(fc1.fused, true);
    assert.ok(fc1.input.scale > 0 && fc1.output.scale > 0);
    assert.deepEqual(relu, { name: "relu", type: "ReLU", method: "float32" });
    assert.equal(fc2.input, undefined);
    assert.equal(fc2.bias, undefined);
    const weightOnly = quantizeDynamic(makeModel(), new WeightOnlyQConfig({ bits: 3, axis: 0 }));
    const [first] = weightOnly.layers;
    const floatLayers = new Sequential({
      fc1: new Linear(dequantize(first.weight), { bias: first.bias }),
    });
    const difference = floatLayers.forward(x).data[0] - linear(x, first.weight, first.bias).data[0];
    assert.ok(Math.abs(difference) < 1e-5);
    const dynamic = quantizeDynamic(makeModel(), predefinedQConfigs.per_channel_dynamic_qconfig);
    assert.equal(dynamic.layers[0].reduceRange, true);
  });

  it("are records: writing to their fields does not change the model", () => {
    const quantized = quantizeDynamic(makeModel());
    const before = quantized.forward(x);
    const [{ weight, bias }] = quantized.layers;
    weight.data = new Int8Array(3);
    weight.scale = 7;
    bias.data.fill(9);
    sameTensor(quantized.forward(x), before);
    sameCodes(quantized.layers[0].weight.data, quantizeDynamic(makeModel()).layers[0].weight.data);
  });
});

describe("JSON and structuredClone", () => {
  const model = makeModel();
  const objects = {
    Linear: model.layers[0].layer,
    Embedding: new Embedding(floats([2, 2])),
    ReLU: new ReLU(),
    QuantizedLinear: new QuantizedLinear(weights.fc1),
    Sequential: model,
    PreparedModel: prepare(model, predefinedQConfigs.default_qconfig),
    QuantizedModel: quantizeDynamic(model),
    QConfigMapping: new QConfigMapping(),
  };
  for (const [name, object] of Object.entries(objects)) {
    it(`refuse a ${name}, and name save`, () => {
      const message = /layers, models and indexes are copied by save\(…\) of zeropoint\/models/;
      const copies = [
        () => JSON.stringify(object),
        () => JSON.stringify({ model: object }),
        () => structuredClone(object),
        () => structuredClone({ list: [object] }),
      ];
      for (const copy of copies) refuses(copy, TypeError, "ZP_NOT_CLONEABLE", message);
      assert.deepEqual(object, object);
    });
  }
});
