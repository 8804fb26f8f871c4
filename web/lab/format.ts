// Numbers of the lab as text.

import type { AnalysisRow } from "zeropoint/models";
import { bytesText, nounText } from "../shell/drawing/numbers.js";

/** Names of formats that are not written as the package writes them. */
const FORMATS: Record<string, string> = { gguf: "GGUF", onnx: "ONNX", tfjs: "TensorFlow.js" };

/** A format as people write it. */
export const formatText = (format: string) => FORMATS[format] ?? format;

export const shapeText = (shape: readonly number[]) =>
  shape.length === 0 ? "scalar" : shape.join(" × ");

/** The metrics of a cell: title, whether more is better, and how a value is written. */
export const METRICS = {
  sqnr: { title: "SQNR", unit: "dB", isMoreBetter: true },
  mse: { title: "MSE", unit: "", isMoreBetter: false },
  max: { title: "Largest error", unit: "", isMoreBetter: false },
  cosine: { title: "Cosine", unit: "", isMoreBetter: true },
  bytes: { title: "Bytes", unit: "", isMoreBetter: false },
};

export type Metric = keyof typeof METRICS;

/** Fields of a row of the analysis for the errors of outputs. */
const OUTPUT_FIELDS = { sqnr: "outputSqnr", mse: "outputMse" } as const;

type Field = Metric | (typeof OUTPUT_FIELDS)[keyof typeof OUTPUT_FIELDS];

/** The field of a row that a metric shows: that of outputs, if the analysis had inputs of the layer. */
export const fieldOf = (row: AnalysisRow, metric: Metric): Field =>
  (row.shows === "outputs" && OUTPUT_FIELDS[metric as "sqnr"]) || metric;

/** The figure of a row that a metric shows. */
export const figureOf = (row: AnalysisRow, metric: Metric): number =>
  row[fieldOf(row, metric)] ?? Number.NaN;

/**
 * Whether a field of a row is an estimate: of a sample of the weight, or of outputs from the mean squares of inputs,
 * which count different inputs as uncorrelated.
 */
export const isEstimated = (row: AnalysisRow, field: string) =>
  Boolean(row.isEstimate) || (field.startsWith("output") && row.moments === "diagonal");

export function metricText(metric: Metric, value: number) {
  if (Number.isNaN(value)) return "–";
  if (metric === "bytes") return bytesText(value);
  if (value === Infinity) return "exact";
  if (metric === "sqnr") return value.toFixed(1);
  if (metric === "cosine") return value.toFixed(5);
  return value === 0 ? "0" : value.toExponential(1);
}

/** The same with its unit. */
export function metricWithUnit(metric: Metric, value: number) {
  const { unit } = METRICS[metric];
  const text = metricText(metric, value);
  return unit && Number.isFinite(value) ? `${text} ${unit}` : text;
}

/** A number in three digits, with an exponent only where it is needed. */
export function plainNumber(value: number) {
  const size = Math.abs(value);
  return size === 0 || (size >= 1e-4 && size < 1e6)
    ? String(Number(value.toPrecision(3)))
    : metricText("mse", value);
}

/** Seconds as people say them. */
export function timeText(seconds: number) {
  if (seconds < 1) return "less than a second";
  if (seconds < 90) return nounText(Math.round(seconds), "second");
  if (seconds < 5400) return nounText(Math.round(seconds / 60), "minute");
  return `${(seconds / 3600).toFixed(1)} hours`;
}
