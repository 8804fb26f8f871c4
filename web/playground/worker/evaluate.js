// One setting applied to the data: qparams, codes, restored values and errors, all by zeropoint.

import * as zeropoint from "zeropoint";
import {
  HistogramObserver,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  quantizePerChannel,
  quantizePerTensor,
} from "zeropoint/torch";
import { isBlock, limitsOf } from "../state.js";

/**
 * @typedef {import("../state.js").Settings} Settings
 * @typedef {import("../data/parse.js").Values} Values
 * @typedef {Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array} CodeArray
 * @typedef {object} Slices  which values share a scale
 * @property {number} count
 * @property {number} inner  consecutive values of a slice; a row's last group may have fewer
 * @property {number} row  the length of a row of groups; 0 without groups
 * @typedef {{ mse: number, mae: number, max: number, sqnr: number, cosine: number }} Metrics
 * @typedef {object} Evaluation
 * @property {CodeArray | undefined} codes  undefined for block types
 * @property {Float32Array} restored
 * @property {ArrayLike<number>} scales
 * @property {ArrayLike<number>} zeroPoints
 * @property {boolean} isOffset  zeroPoints are real numbers, added after scaling
 * @property {Slices} slices
 * @property {number} bytes
 * @property {Metrics} metrics
 */

const METRICS = /** @type {const} */ (["mse", "mae", "max", "sqnr", "cosine"]);

/**
 * @param {Values} x
 * @param {Settings} settings
 * @returns {Evaluation}
 */
export function evaluate({ values, shape }, settings) {
  const x = { data: values, shape };
  const result = isBlock(settings) ? evaluateBlocks(x, settings) : evaluateLinear(x, settings);
  return { ...result, metrics: metricsOf(values, result.restored) };
}

/**
 * @param {Float32Array} a
 * @param {Float32Array} b
 * @returns {Metrics}
 */
export function metricsOf(a, b) {
  const shape = [a.length];
  const [x, y] = [
    { data: a, shape },
    { data: b, shape },
  ];
  return /** @type {Metrics} */ (
    Object.fromEntries(METRICS.map((metric) => [metric, zeropoint.quantizationError(x, y, metric)]))
  );
}

/** @typedef {{ data: Float32Array, shape: number[] }} Input */

/**
 * @param {Input} x
 * @param {Settings} settings
 * @returns {Omit<Evaluation, "metrics">}
 */
function evaluateBlocks(x, { scheme }) {
  const { quantizeBlocks, dequantizeBlocks } = /** @type {any} */ (zeropoint);
  const bytes = quantizeBlocks(x, scheme);
  const restored = dequantizeBlocks(bytes, scheme, x.shape).data;
  return {
    codes: undefined,
    restored,
    scales: [],
    zeroPoints: [],
    isOffset: false,
    slices: { count: 0, inner: scheme.endsWith("_k") ? 256 : 32, row: 0 },
    bytes: bytes.length,
  };
}

/**
 * @param {Input} x
 * @param {Settings} settings
 * @returns {Omit<Evaluation, "metrics">}
 */
function evaluateLinear(x, settings) {
  const q =
    settings.arithmetic === "torch" ? quantizeAsTorch(x, settings) : quantizeAsCourse(x, settings);
  const isOffset = q.offset !== undefined;
  const [scales, zeroPoints] = [q.scale, isOffset ? q.offset : q.zeroPoint].map(listOf);
  const slices = slicesOf(x.shape, settings);
  const { bits, scheme } = settings;
  const zeroPointBytes = scheme === "symmetric" ? 0 : isOffset ? 4 : 1;
  return {
    codes: q.data,
    restored: /** @type {any} */ (zeropoint.dequantize)(q).data,
    scales,
    zeroPoints,
    isOffset,
    slices,
    bytes: Math.ceil((x.data.length * bits) / 8) + slices.count * (4 + zeroPointBytes),
  };
}

/** @param {any} qparam  a number, a list or a tensor */
const listOf = (qparam) =>
  typeof qparam === "number"
    ? [qparam]
    : (qparam.data ?? /** @type {ArrayLike<number>} */ (qparam));

/**
 * The options of quantize, in the course's arithmetic.
 * @param {Settings} settings
 * @returns {any}
 */
export function courseOptions(settings) {
  const { scheme, bits, isUnsigned, granularity, axis, groupSize, range } = settings;
  const dtype = `${isUnsigned ? "u" : ""}int${bits}`;
  /** @type {any} */
  const options = { dtype, scheme: scheme === "symmetric" ? "symmetric" : "affine" };
  if (scheme === "float") options.zeroPoint = "float";
  if (granularity === "channel") options.axis = axis;
  if (granularity === "group") options.groupSize = groupSize;
  if (range === "mse") options.range = "mse";
  if (range === "percentile") options.range = { percentile: settings.percentile };
  return options;
}

/**
 * @param {Input} x
 * @param {Settings} settings
 * @returns {any}
 */
function quantizeAsCourse(x, settings) {
  const { range, scale, zeroPoint, low, high } = settings;
  const options = courseOptions(settings);
  if (range === "qparams") Object.assign(options, { scale, zeroPoint });
  if (range === "ends") {
    const chosen = zeropoint.chooseQParams(zeropoint.tensor([low, high]), options);
    Object.assign(options, { scale: chosen.scale, zeroPoint: chosen.zeroPoint });
  }
  return zeropoint.quantize(x, options);
}

/**
 * PyTorch's observers and quantizers. Fewer than 8 bits are a part of the codes of 8 bits, as
 * torch.fake_quantize_per_tensor_affine has it.
 * @param {Input} x
 * @param {Settings} settings
 * @returns {any}
 */
function quantizeAsTorch(x, settings) {
  const { granularity, axis, isUnsigned } = settings;
  const { qmin, qmax } = limitsOf(settings);
  const dtype = isUnsigned ? "quint8" : "qint8";
  const { scale, zeroPoint } = torchQParams(x, settings);
  const q =
    granularity === "channel"
      ? quantizePerChannel(x, scale, zeroPoint, axis, dtype)
      : quantizePerTensor(x, listOf(scale)[0], listOf(zeroPoint)[0], dtype);
  const { data } = q;
  for (let i = 0; i < data.length; i++) data[i] = Math.min(qmax, Math.max(qmin, data[i]));
  return q;
}

/**
 * @param {Input} x
 * @param {Settings} settings
 * @returns {any}
 */
export function torchQParams(x, settings) {
  const { granularity, axis, isUnsigned, scheme, range, low, high } = settings;
  if (range === "qparams") return { scale: settings.scale, zeroPoint: settings.zeroPoint };
  const { qmin: quantMin, qmax: quantMax } = limitsOf(settings);
  const unit = granularity === "channel" ? "per_channel" : "per_tensor";
  /** @type {any} */
  const options = {
    dtype: isUnsigned ? "quint8" : "qint8",
    qscheme: `${unit}_${scheme === "symmetric" ? "symmetric" : "affine"}`,
    quantMin,
    quantMax,
    ...(granularity === "channel" && { chAxis: axis }),
  };
  const Observer =
    granularity === "channel"
      ? PerChannelMinMaxObserver
      : range === "histogram"
        ? HistogramObserver
        : MinMaxObserver;
  const observer = new Observer(options);
  observer.observe(range === "ends" ? zeropoint.tensor([low, high]) : x);
  return observer.calculateQParams();
}

/**
 * @param {readonly number[]} shape
 * @param {Settings} settings
 * @returns {Slices}
 */
function slicesOf(shape, { granularity, axis, groupSize }) {
  const size = shape.reduce((product, length) => product * length, 1);
  if (granularity === "channel") {
    const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
    return { count: shape[axis], inner, row: 0 };
  }
  if (granularity === "group") {
    const row = shape.at(-1) ?? 1;
    return { count: (size / row) * Math.ceil(row / groupSize), inner: groupSize, row };
  }
  return { count: 1, inner: size, row: 0 };
}

/**
 * The counts of values in equal parts of a range; the last part includes its end.
 * @param {Float32Array} values
 * @param {number} bins
 */
export function histogramOf(values, bins) {
  let [low, high] = [values[0], values[0]];
  for (let i = 1; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    else if (values[i] > high) high = values[i];
  }
  const counts = new Uint32Array(bins);
  const factor = high > low ? bins / (high - low) : 0;
  for (let i = 0; i < values.length; i++) {
    counts[Math.min(bins - 1, Math.floor((values[i] - low) * factor))]++;
  }
  return { low, high, counts };
}
