import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, dequantize, init, quantizationError, tensor } from "zeropoint";
import * as torch from "zeropoint/torch";
import {
  convert,
  Embedding,
  Linear,
  PerChannelMinMaxObserver,
  predefinedQConfigs,
  prepare,
  QConfigMapping,
  quantizeDynamic,
  quantizePerChannel,
  ReLU,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { refuses, sameTensor } from "../support/asserts.mjs";
import { batches, makeModel, weights, x } from "../support/models.mjs";

await init();

describe("report", () => {
  const model = makeModel();
  const quantized = convert(
    prepare(model, predefinedQConfigs.default_per_channel_qconfig).calibrate(batches),
  );
  const report = quantized.report(x);

  it("counts bytes: codes, scales, int32 biases, qparams of activations", () => {
    const [fc1, relu, fc2, tanh, fc3] = report.layers;
    assert.equal(fc1.sizeInBytes, 128 + 4 * 16 + 4 * 16 + 24);
    assert.equal(fc2.sizeInBytes, 192 + 4 * 12 + 12);
    assert.equal(fc3.sizeInBytes, 48 + 4 * 4 + 4 * 4 + 24);
    assert.equal(relu.sizeInBytes + tanh.sizeInBytes, 0);
    assert.equal(report.sizeInBytes, fc1.sizeInBytes + fc2.sizeInBytes + fc3.sizeInBytes);
    assert.equal(report.sizeInBytes, quantized.sizeInBytes);
    assert.equal(report.floatSizeInBytes, 4 * (128 + 16 + 192 + 48 + 4));
    assert.equal(report.floatSizeInBytes, model.sizeInBytes);
  });

  it("measures weights against the float weights", () => {
    const observer = new PerChannelMinMaxObserver({
      dtype: "qint8",
      qscheme: "per_channel_symmetric",
    });
    observer.observe(weights.fc2);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerChannel(weights.fc2, scale, zeroPoint, 0, "qint8");
    const expected = quantizationError(weights.fc2, dequantize(q), "sqnr");
    assert.ok(Math.abs(report.layers[2].weightSqnr - expected) < 1e-9);
    assert.equal(report.layers[1].weightSqnr, undefined);
  });

  it("measures outputs against the float model's, those of fused layers after the ReLU", () => {
    const [fc1, relu, , , fc3] = report.layers;
    assert.equal(fc1.outputSqnr, relu.outputSqnr);
    const expected = quantizationError(model.forward(x), quantized.forward(x), "sqnr");
    assert.ok(Math.abs(fc3.outputSqnr - expected) < 1e-9);
    assert.equal(report.outputSqnr, fc3.outputSqnr);
    assert.ok(fc1.outputSqnr > 25 && fc3.outputSqnr > 25, String(report));
  });

  it("joins any number of inputs", () => {
    const halves = [x.data.subarray(0, 40), x.data.subarray(40)].map((data) =>
      tensor(data, [5, 8]),
    );
    const joined = quantized.report(halves);
    assert.ok(Math.abs(joined.outputSqnr - report.outputSqnr) < 1e-9);
    assert.equal(quantized.report().outputSqnr, undefined);
  });

  it("is exact where nothing is quantized", () => {
    const untouched = convert(prepare(model, new QConfigMapping()));
    assert.equal(untouched.report(x).outputSqnr, Infinity);
    assert.equal(untouched.sizeInBytes, model.sizeInBytes);
  });

  it("prints NaN and -Infinity as they are, and an SQNR of Infinity as exact", () => {
    const printed = (weight, x) => {
      const layers = new Sequential([new Linear(tensor([weight]))]);
      const report = quantizeDynamic(layers, new WeightOnlyQConfig()).report(tensor([x]));
      return String(report).split("\n").at(-1).split(/ {2,}/).at(-1);
    };
    assert.equal(printed([1, 1], [1, -1]), "exact");
    // 63.5 steps become 64: an output of 0 becomes noise alone.
    assert.equal(printed([1, 0.5], [1, -2]), "-Infinity dB");
    assert.equal(printed([1, 0.5], [1, NaN]), "NaN dB");
  });

  it("prints as a table", () => {
    const small = new Sequential({ fc: new Linear(tensor([[1, 0.5]])), relu: new ReLU() });
    const table = String(quantizeDynamic(small).report(tensor([[1, 1]])));
    assert.equal(
      table,
      `layer  type    method   bytes  of  weights  outputs
fc     Linear  dynamic      6   8  ${report0(small)}
relu   ReLU    float32      0   0        -  ${report1(small)}
all                         6   8        -  ${report1(small)}`,
    );
  });

  const decibels = (value) => `${value.toFixed(1)} dB`.padStart(7);
  const report0 = (small) => {
    const { layers } = quantizeDynamic(small).report(tensor([[1, 1]]));
    return `${decibels(layers[0].weightSqnr)}  ${decibels(layers[0].outputSqnr)}`;
  };
  const report1 = (small) => decibels(quantizeDynamic(small).report(tensor([[1, 1]])).outputSqnr);
});

describe("QuantizedModel", () => {
  it("prints how weights are quantized, of a single output too", () => {
    const model = new Sequential(new Linear(tensor([[1, 2]])));
    const text = (qconfig) => String(quantizeDynamic(model, qconfig));
    assert.match(
      text(predefinedQConfigs.per_channel_dynamic_qconfig),
      /qscheme=torch\.per_channel_affine\)/,
    );
    assert.match(
      text(predefinedQConfigs.default_dynamic_qconfig),
      /qscheme=torch\.per_tensor_affine\)/,
    );
  });

  it("prints its layers in the manner of PyTorch", () => {
    const model = new Sequential({ a: new Linear(tensor([[1]])), r: new ReLU() });
    const quantized = convert(
      prepare(model, predefinedQConfigs.default_qconfig).calibrate([tensor([[0], [1.27]])]),
    );
    assert.equal(
      String(quantized),
      `QuantizedModel(
  (a): QuantizedLinearReLU(in_features=1, out_features=1, scale=0.009999999776482582, ` +
        `zero_point=0, qscheme=torch.per_tensor_affine)
  (r): ReLU()
)`,
    );
    assert.match(
      String(quantizeDynamic(model)),
      /\(a\): DynamicQuantizedLinear\(in_features=1, out_features=1, dtype=torch\.qint8, qscheme=/,
    );
  });

  it("leaves the float model as it was", () => {
    const model = makeModel();
    const before = model.forward(x);
    const quantized = convert(
      prepare(model, predefinedQConfigs.default_qconfig).calibrate(batches),
    );
    quantized.forward(x);
    sameTensor(model.forward(x), before);
    assert.equal(quantized.model, model);
    quantized.dispose();
    sameTensor(model.forward(x), before);
  });

  it("runs after its instance was disposed of, in every kind of layer", async () => {
    const table = tensor([
      [1, 2],
      [3, 4],
    ]);
    const qconfigs = {
      static: predefinedQConfigs.default_qconfig,
      dynamic: predefinedQConfigs.per_channel_dynamic_qconfig,
      "weight-only": new WeightOnlyQConfig({ axis: 0 }),
    };
    for (const [method, qconfig] of Object.entries(qconfigs)) {
      const zp = await create({}, torch);
      const float = new zp.Sequential({ fc: new zp.Linear(weights.fc1), relu: new zp.ReLU() });
      const prepared = zp.prepare(float, qconfig).calibrate([x]);
      const quantized = zp.convert(prepared);
      const [expected, report] = [quantized.forward(x), String(quantized.report(x))];
      const embedding = zp.quantizeDynamic(
        new zp.Sequential(new zp.Embedding(table)),
        new QConfigMapping().setObjectType(Embedding, new WeightOnlyQConfig()),
      );
      zp.dispose();
      sameTensor(quantized.forward(x), expected, method);
      assert.equal(String(quantized.report(x)), report);
      assert.equal(embedding.forward(Int32Array.of(1)).data.length, 2);
      sameTensor(convert(prepared).forward(x), expected, method);
    }
  });

  it("cannot be used after dispose(), which may be called again", () => {
    for (const quantized of [
      quantizeDynamic(makeModel()),
      quantizeDynamic(makeModel(), new WeightOnlyQConfig()),
      convert(prepare(makeModel(), predefinedQConfigs.default_qconfig).calibrate(batches)),
    ]) {
      quantized.dispose();
      quantized.dispose();
      const message = "QuantizedModel.forward: the model is disposed and cannot be used any more";
      refuses(() => quantized.forward(x), TypeError, "ZP_DISPOSED", message);
    }
  });

  it("cannot be used after dispose() without a layer that has memory to free, either", () => {
    const table = new Sequential(new Embedding(tensor([[1, 2]])), new ReLU());
    const quantized = quantizeDynamic(table, new QConfigMapping());
    const one = Int32Array.of(0);
    assert.deepEqual([...quantized.forward(one).data], [1, 2]);
    quantized.dispose();
    refuses(() => quantized.forward(one), TypeError, "ZP_DISPOSED", /^QuantizedModel.forward: /);
  });

  it("frees its memory at the end of a using block", () => {
    if (typeof Symbol.dispose !== "symbol") return;
    const quantized = quantizeDynamic(makeModel());
    quantized[Symbol.dispose]();
    refuses(() => quantized.forward(x), TypeError, "ZP_DISPOSED", /disposed/);
  });

  it("is made by convert from a prepared model only", () => {
    refuses(
      () => convert(makeModel()),
      TypeError,
      "ZP_INVALID_MODEL",
      /convert: prepared must be what prepare returned/,
    );
  });

  it("gives the same codes in every instance", async () => {
    const instance = await create({}, torch);
    const model = new instance.Sequential({
      fc1: new instance.Linear(weights.fc1, { bias: weights.bias1 }),
      relu: new instance.ReLU(),
      fc2: new instance.Linear(weights.fc2),
      tanh: new instance.Tanh(),
      fc3: new instance.Linear(weights.fc3, { bias: weights.bias3 }),
    });
    const prepared = instance.prepare(
      model,
      instance.predefinedQConfigs.default_per_channel_qconfig,
    );
    const quantized = instance.convert(prepared.calibrate(batches));
    const own = convert(
      prepare(makeModel(), predefinedQConfigs.default_per_channel_qconfig).calibrate(batches),
    );
    sameTensor(quantized.forward(x), own.forward(x));
    assert.equal(String(quantized.report(x)), String(own.report(x)));
    quantized.dispose();
    own.dispose();
  });
});
