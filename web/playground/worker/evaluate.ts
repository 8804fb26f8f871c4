// One setting applied to the data: qparams, codes, restored values and errors, all by zeropoint.

import * as zeropoint from "zeropoint";
import {
  HistogramObserver,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  quantizePerChannel,
  quantizePerTensor,
} from "zeropoint/torch";
import type { Values } from "../data/parse.js";
import { isBlock, limitsOf, type Settings } from "../state.js";

type CodeArray = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array;

/** Which values share a scale. */
export interface Slices {
  count: number;
  /** Consecutive values of a slice; a row's last group may have fewer. */
  inner: number;
  /** The length of a row of groups; 0 without groups. */
  row: number;
}

export type Metrics = { mse: number; mae: number; max: number; sqnr: number; cosine: number };

export interface Evaluation {
  /** Undefined for block types. */
  codes: CodeArray | undefined;
  restored: Float32Array;
  scales: ArrayLike<number>;
  zeroPoints: ArrayLike<number>;
  /** zeroPoints are real numbers, added after scaling. */
  isOffset: boolean;
  slices: Slices;
  bytes: number;
  metrics: Metrics;
}

const METRICS = ["mse", "mae", "max", "sqnr", "cosine"] as const;

export function evaluate({ values, shape }: Values, settings: Settings): Evaluation {
  const x = { data: values, shape };
  const result = isBlock(settings) ? evaluateBlocks(x, settings) : evaluateLinear(x, settings);
  return { ...result, metrics: metricsOf(values, result.restored) };
}

export function metricsOf(a: Float32Array, b: Float32Array): Metrics {
  const shape = [a.length];
  const [x, y] = [
    { data: a, shape },
    { data: b, shape },
  ];
  return Object.fromEntries(
    METRICS.map((metric) => [metric, zeropoint.quantizationError(x, y, metric)]),
  ) as Metrics;
}

type Input = { data: Float32Array; shape: number[] };

function evaluateBlocks(x: Input, { scheme }: Settings): Omit<Evaluation, "metrics"> {
  const { quantizeBlocks, dequantizeBlocks } = zeropoint as any;
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

function evaluateLinear(x: Input, settings: Settings): Omit<Evaluation, "metrics"> {
  const q =
    settings.arithmetic === "torch" ? quantizeAsTorch(x, settings) : quantizeAsCourse(x, settings);
  const isOffset = q.offset !== undefined;
  const [scales, zeroPoints] = [q.scale, isOffset ? q.offset : q.zeroPoint].map(listOf);
  const slices = slicesOf(x.shape, settings);
  const { bits, scheme } = settings;
  const zeroPointBytes = scheme === "symmetric" ? 0 : isOffset ? 4 : 1;
  return {
    codes: q.data,
    restored: (zeropoint.dequantize as any)(q).data,
    scales,
    zeroPoints,
    isOffset,
    slices,
    bytes: Math.ceil((x.data.length * bits) / 8) + slices.count * (4 + zeroPointBytes),
  };
}

/** @param qparam  a number, a list or a tensor */
const listOf = (qparam: any) =>
  typeof qparam === "number" ? [qparam] : (qparam.data ?? (qparam as ArrayLike<number>));

/** The options of quantize, in the course's arithmetic. */
export function courseOptions(settings: Settings): any {
  const { scheme, bits, isUnsigned, granularity, axis, groupSize, range } = settings;
  const dtype = `${isUnsigned ? "u" : ""}int${bits}`;
  const options: any = { dtype, scheme: scheme === "symmetric" ? "symmetric" : "affine" };
  if (scheme === "float") options.zeroPoint = "float";
  if (granularity === "channel") options.axis = axis;
  if (granularity === "group") options.groupSize = groupSize;
  if (range === "mse") options.range = "mse";
  if (range === "percentile") options.range = { percentile: settings.percentile };
  return options;
}

function quantizeAsCourse(x: Input, settings: Settings): any {
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
 */
function quantizeAsTorch(x: Input, settings: Settings): any {
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

export function torchQParams(x: Input, settings: Settings): any {
  const { granularity, axis, isUnsigned, scheme, range, low, high } = settings;
  if (range === "qparams") return { scale: settings.scale, zeroPoint: settings.zeroPoint };
  const { qmin: quantMin, qmax: quantMax } = limitsOf(settings);
  const unit = granularity === "channel" ? "per_channel" : "per_tensor";
  const options: any = {
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

function slicesOf(shape: readonly number[], { granularity, axis, groupSize }: Settings): Slices {
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

/** The counts of values in equal parts of a range; the last part includes its end. */
export function histogramOf(values: Float32Array, bins: number) {
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
