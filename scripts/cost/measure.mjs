// Measures the cost of each way to quantize the network: accuracy on the held-out digits, size in bytes, and
// the error of its outputs against the float network.

import { quantizationError } from "zeropoint";
import {
  convert,
  HistogramObserver,
  Linear,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  predefinedObservers,
  prepare,
  QConfig,
  quantizeDynamic,
  ReLU,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";

/**
 * @typedef {object} Row
 * @property {string} network      bits and granularity of the weights; or, with quantized activations, the
 *   observer of the activations: the weights then have 8 bits, per tensor
 * @property {number} accuracy     share of the held-out digits classified correctly, 0 to 1
 * @property {number} bytes        size of the network: packed weights, scales, zero points if any, and biases
 *   in float32
 * @property {number} sqnr         of the ten outputs against the float network's, in dB
 */

export const BITS = [8, 6, 4, 3, 2];

export const GRANULARITIES = {
  "per tensor": {},
  "per channel": { axis: 0 },
  "per group of 16": { groupSize: 16 },
};

/** PyTorch's observers that choose one scale for the activations. */
export const OBSERVERS = {
  MinMax: MinMaxObserver,
  MovingAverage: MovingAverageMinMaxObserver,
  Histogram: HistogramObserver,
};

const CALIBRATION_BATCH = 20;

/**
 * Quantizes the network in every way and measures each.
 * @param {import("./file.mjs").Digits} digits
 * @returns {Row[]}
 */
export function measure({ layers, heldOut, calibration }) {
  const [first, second] = layers.map(({ weight, bias }) => new Linear(weight, { bias }));
  const model = new Sequential({ first, relu: new ReLU(), second });
  const exact = model.forward(heldOut.images);
  const batches = batchesOf(calibration.images);

  /** @returns {Row} */
  const row = (name, quantized) => {
    const given = quantized.forward(heldOut.images);
    return {
      network: name,
      accuracy: accuracyOf(given, heldOut.labels),
      bytes: quantized.sizeInBytes,
      sqnr: quantizationError(exact, given, "sqnr"),
    };
  };

  const rows = [row("float32", model)];
  for (const [granularity, options] of Object.entries(GRANULARITIES)) {
    for (const bits of BITS) {
      const network = quantizeDynamic(model, new WeightOnlyQConfig({ bits, ...options }));
      rows.push(row(`${bits} bits, ${granularity}`, network));
      network.dispose();
    }
  }
  const dynamic = quantizeDynamic(model);
  rows.push(row("dynamic", dynamic));
  dynamic.dispose();
  for (const [name, activation] of Object.entries(OBSERVERS)) {
    const qconfig = new QConfig({
      activation,
      weight: predefinedObservers.default_weight_observer,
    });
    const network = convert(prepare(model, qconfig).calibrate(batches));
    rows.push(row(`static, ${name}`, network));
    network.dispose();
  }
  return rows;
}

/** The share of rows whose largest value is at the label; of equal values, the first counts. */
function accuracyOf({ data, shape: [rows, columns] }, labels) {
  let correct = 0;
  for (let row = 0; row < rows; row++) {
    const values = data.subarray(row * columns, (row + 1) * columns);
    if (values.indexOf(Math.max(...values)) === labels[row]) correct++;
  }
  return correct / rows;
}

function batchesOf({ data, shape: [rows, columns] }) {
  return Array.from({ length: rows / CALIBRATION_BATCH }, (_, i) => ({
    data: data.subarray(i * CALIBRATION_BATCH * columns, (i + 1) * CALIBRATION_BATCH * columns),
    shape: [CALIBRATION_BATCH, columns],
  }));
}

// Column widths for a phone screen, as in notebook 6.
const COLUMNS = { network: 23, right: -8, bytes: -7, SQNR: -6 };

/**
 * The rows as text below a heading.
 * @param {Row[]} rows
 */
export function formatTable(rows) {
  const heading = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, name]));
  return [heading, ...rows.map(texts)]
    .map((row) => {
      const cells = Object.entries(COLUMNS).map(([name, width]) =>
        width > 0 ? row[name].padEnd(width) : row[name].padStart(-width),
      );
      return cells.join("");
    })
    .join("\n");
}

function texts({ network, accuracy, bytes, sqnr }) {
  return {
    network,
    right: `${(100 * accuracy).toFixed(2)} %`,
    bytes: String(bytes),
    SQNR: sqnr === Number.POSITIVE_INFINITY ? "exact" : sqnr.toFixed(1),
  };
}
