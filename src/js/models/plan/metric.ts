// The objective of a plan: the mean over all weights of a row's error, for most metrics weighted by share of the
// parameters.

import { checkChoice, wrongNumber } from "../../base/check.js";

/**
 * The error of a row: `"layers"`, squared error by squared signal, each weight alike; `"relative"`, the same weighted by
 * the tensor's share of the parameters, as all that follow; `"output"`, the same of the outputs, from an
 * analysis with activations; `"mse"`; `"max"`; `"cosine"`, 1 less the similarity.
 */
export type MetricName = "layers" | "relative" | "output" | "mse" | "max" | "cosine";

const NAMES = [
  "layers",
  "relative",
  "output",
  "mse",
  "max",
  "cosine",
] as const satisfies readonly MetricName[];

/** The error of a row. @param index  of the row, for messages */
export type Metric = (row: object, index: number) => number;

/** The field of rows that a metric reads. */
const FIELDS = {
  layers: "relative",
  relative: "relative",
  output: "outputRelative",
  mse: "mse",
  max: "max",
  cosine: "cosine",
} as const;

/** A metric, and its name in the plan. */
export interface ChosenMetric {
  readonly name: MetricName | "custom";
  readonly read: Metric;
  /** Whether the error of a tensor is weighted by its share of the parameters. */
  readonly isByShare: boolean;
}

/**
 * Reads the option.
 * @param given  a name, a function of a row, or undefined: "output" if all rows have it, else "relative"
 */
export function checkMetric(where: string, given: unknown, rows: readonly unknown[]): ChosenMetric {
  if (typeof given === "function") {
    const read = given as (row: object) => unknown;
    return {
      name: "custom",
      isByShare: true,
      read: (row, index) => {
        const value = read(row);
        return isError(value, 0)
          ? value
          : refuse(where, `options.metric(rows[${index}])`, value, 0);
      },
    };
  }
  const fallback = given === undefined && haveOutputErrors(rows) ? "output" : "relative";
  const name = checkChoice(where, "options.metric", given, NAMES, fallback);
  const field = FIELDS[name];
  return {
    name,
    isByShare: name !== "layers",
    read: (row, index) => {
      const value = Object.hasOwn(row, field) ? (row as Record<string, unknown>)[field] : undefined;
      if (field === "relative" && value === undefined) return relativeOf(where, row, index);
      const least = name === "cosine" ? -1 : 0;
      if (!isError(value, least)) return refuse(where, `rows[${index}].${field}`, value, least);
      return name === "cosine" ? Math.max(0, 1 - value) : value;
    },
  };
}

/** Squared error by squared signal, of decibels. */
function relativeOf(where: string, row: object, index: number): number {
  const sqnr = Object.hasOwn(row, "sqnr") ? (row as { readonly sqnr?: unknown }).sqnr : undefined;
  if (sqnr === Number.POSITIVE_INFINITY) return 0;
  const error = 10 ** (-(sqnr as number) / 10);
  if (typeof sqnr === "number" && Number.isFinite(error)) return error;
  const argument = `rows[${index}].relative`;
  return refuse(where, argument, sqnr, 0);
}

const isError = (value: unknown, least: number): value is number =>
  Number.isFinite(value) && (value as number) >= least;

function refuse(where: string, argument: string, value: unknown, least: number): never {
  const wanted = `a finite number of at least ${least}`;
  throw wrongNumber("ZP_INVALID_ROW", where, argument, wanted, value);
}

/** Whether all quantizing rows have the error of their outputs. */
function haveOutputErrors(rows: readonly unknown[]): boolean {
  let some = false;
  for (const row of rows) {
    if (typeof row !== "object" || row === null) return false;
    const { scheme } = row as Record<string, unknown>;
    if (typeof scheme === "string" && scheme.toLowerCase() === "keep") continue;
    const isKnown = Object.hasOwn(row, "outputRelative");
    if (!isKnown || typeof (row as Record<string, unknown>).outputRelative !== "number")
      return false;
    some = true;
  }
  return some;
}
