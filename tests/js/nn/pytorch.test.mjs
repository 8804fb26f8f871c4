// Models against what PyTorch's eager mode answered: observers, weights' codes and outputs, to the bit.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import {
  convert,
  Embedding,
  Linear,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  PerChannelMinMaxObserver,
  PlaceholderObserver,
  predefinedQConfigs,
  prepare,
  QConfig,
  QConfigMapping,
  quantizeDynamic,
  ReLU,
  Sequential,
} from "zeropoint/torch";
import { sameFloats } from "../support/asserts.mjs";
import { cases, decodeTensor } from "../support/vectors.mjs";

await init();

const OBSERVERS = { MinMaxObserver, MovingAverageMinMaxObserver, PerChannelMinMaxObserver };

const camelCase = (name) => name.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase());

function factory({ observer, options }) {
  const entries = Object.entries(options).map(([name, value]) => [camelCase(name), value]);
  return OBSERVERS[observer].withArgs(Object.fromEntries(entries));
}

const modelOf = (layers) =>
  new Sequential(
    layers.map(([weight, bias]) =>
      weight === undefined
        ? new ReLU()
        : new Linear(decodeTensor(weight), { bias: bias && decodeTensor(bias) }),
    ),
  );

function sameState(observer, [min, max, scale, zeroPoint]) {
  const qparams = observer.calculateQParams();
  sameFloats(observer.minVal.data, decodeTensor(min).data);
  sameFloats(observer.maxVal.data, decodeTensor(max).data);
  sameFloats(qparams.scale.data, decodeTensor(scale).data);
  assert.deepEqual([...qparams.zeroPoint.data], [zeroPoint]);
}

/** The codes that a converted layer computes with: its outputs for rows of the identity matrix. */
function codesOf(layer, { weight }) {
  const model = new Sequential(new Linear(layer.weight));
  const weightOnly = new QConfig({ activation: PlaceholderObserver, weight });
  const quantized = convert(prepare(model, weightOnly));
  const [outputs, inputs] = layer.weight.shape;
  const identity = new Float32Array(inputs * inputs);
  for (let i = 0; i < inputs; i++) identity[i * inputs + i] = 1;
  const { data } = quantized.forward({ data: identity, shape: [inputs, inputs] });
  quantized.dispose();
  const observer = weight();
  observer.observe(layer.weight);
  const { scale } = observer.calculateQParams();
  return Array.from({ length: outputs * inputs }, (_each, i) => {
    const row = Math.floor(i / inputs);
    const value = data[(i % inputs) * outputs + row];
    return Math.round(value / scale.data[scale.data.length > 1 ? row : 0]) + 0;
  });
}

describe("models as PyTorch quantizes them in eager mode", () => {
  const all = cases("model");
  const of = (op) => all.filter((each) => each.op === op);

  for (const { id, in: input, out } of of("static")) {
    it(`static ${id}`, () => {
      const qconfig = new QConfig({
        activation: factory(input.qconfig.activation),
        weight: factory(input.qconfig.weight),
      });
      const model = modelOf(input.layers);
      const prepared = prepare(model, qconfig, { fuse: input.fuse });
      prepared.calibrate(input.batches.map(decodeTensor));
      for (const [name, { input: before, output }] of Object.entries(prepared.observers)) {
        if (before !== undefined) sameState(before, out.observers.input);
        sameState(output, out.observers[name]);
      }
      for (const [name, codes] of Object.entries(out.weights)) {
        assert.deepEqual(codesOf(model.layers[name].layer, qconfig), codes.data, name);
      }
      const quantized = convert(prepared);
      const y = quantized.forward(decodeTensor(input.x));
      sameFloats(y.data, decodeTensor(out.y).data);
      quantized.dispose();
    });
  }

  for (const { id, in: input, out } of of("dynamic")) {
    it(`dynamic ${id}`, () => {
      const qconfig = predefinedQConfigs[input.qconfig];
      const quantized = quantizeDynamic(modelOf(input.layers), qconfig, { reduceRange: false });
      const y = quantized.forward(decodeTensor(input.x));
      sameFloats(y.data, decodeTensor(out.y).data);
      assert.equal(String(quantized).replace("QuantizedModel", "Sequential"), out.repr);
      quantized.dispose();
    });
  }

  for (const { id, in: input, out } of of("embedding")) {
    it(`embedding ${id}`, () => {
      const model = new Sequential(new Embedding(decodeTensor(input.weight)));
      const mapping = new QConfigMapping().setGlobal(predefinedQConfigs[input.qconfig]);
      const { data } = quantizeDynamic(model, mapping).forward({
        data: Float64Array.from(input.indices.data),
        shape: input.indices.shape,
      });
      sameFloats(data, decodeTensor(out.y).data);
    });
  }
});
