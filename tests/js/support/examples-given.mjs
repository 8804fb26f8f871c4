// Variables that the examples in the documentation use without declaring them; their names describe them.

import { init, pack, QuantizedLinear, quantize, tensor } from "zeropoint";
import { openModel, save } from "zeropoint/models";
import { torch } from "zeropoint/notebook";
import * as torchEntry from "zeropoint/torch";
import { connect } from "zeropoint/worker";

const {
  convert,
  getDefaultQConfig,
  HistogramObserver,
  Linear,
  prepare,
  QConfigMapping,
  ReLU,
  Sequential,
} = torchEntry;

await init();

/** @param {number[]} shape */
const wave = (...shape) =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i)),
    shape,
  );

const x = wave(2, 64);
const weight = wave(3, 64);
const bias = wave(3);
const weight1 = weight;
const bias1 = bias;
const weight2 = wave(1, 3);
const q = quantize(weight, { dtype: "int4" });
const { data: _, ...meta } = q;
const bytes = pack(q);
const { shape, scale } = q;
const model = new Sequential({ fc1: new Linear(weight1, { bias: bias1 }), relu: new ReLU() });
const qconfig = getDefaultQConfig("x86");
const batch = x;
const nextBatch = wave(5, 64);
const batches = [batch, nextBatch];
const heldOut = wave(7, 64);
const prepared = prepare(model, qconfig).calibrate(batches);
const observer = new HistogramObserver();
observer.observe(batch);
const { signal } = new AbortController();

export const main = {
  connect,
  torch: torchEntry,
  x,
  weight,
  weights: weight,
  bias,
  weight1,
  bias1,
  weight2,
  scales: [0.1, 0.2, 0.3],
  zeroPoints: [0, 1, 2],
  q,
  meta,
  bytes,
  shape,
  scale,
  layer: new QuantizedLinear(weight, { bias }),
  model,
  qconfig,
  mapping: new QConfigMapping(),
  batch,
  nextBatch,
  batches,
  heldOut,
  prepared,
  quantized: convert(prepared),
  observer,
  signal,
};

export const notebook = {
  x: torch.tensor([
    [0.1, 0.2],
    [0.3, 0.4],
  ]),
  scales: torch.tensor([0.1, 0.2]),
  zero_points: torch.tensor([0, 1]),
  quantized: torch.tensor([1, 2]),
};

/** Rows of an analysis. */
const rows = [
  ["a", "int8-g32", 9216, 1e-5],
  ["a", "int4-g32", 5120, 4e-3],
  ["b", "int8-g32", 9216, 1e-5],
  ["b", "int4-g32", 5120, 9e-3],
].map(([name, scheme, bytes, relative]) => ({
  name: String(name),
  scheme: String(scheme),
  bytes: Number(bytes),
  relative: Number(relative),
  parameters: 8192,
}));

/** A file with a weight and its bias. */
const opened = await openModel(
  new Uint8Array(
    await new Response(save({ "fc1.weight": wave(64, 128), "fc1.bias": wave(64) })).arrayBuffer(),
  ),
);

export const search = {};

export const models = { model, tensor, x, rows, opened };
