// Options of analyze, checked.

import {
  checkAbortSignal,
  checkBoolean,
  checkChoice,
  checkFunction,
  checkInteger,
  wrongKind,
} from "../../base/check.js";
import { checkObject, checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import { checkAttached } from "../../base/typed-arrays.js";
import { type Glob, parseGlob } from "../glob.js";
import type { Activations } from "../inputs/activations.js";
import type { ModelFormat } from "../open/model.js";
import { defaultFormat, OUTPUT_FORMATS } from "../quantize/formats.js";
import type { OutputFormat, QuantizeProgress } from "../quantize/types.js";
import type { Scheme } from "../scheme.js";
import type { AnalysisRow } from "./row.js";
import { checkSchemes } from "./schemes.js";

/** Options of `analyze`. */
export interface AnalyzeOptions {
  /** Names of schemes. Default: int8, int4, int3 and int2 in the common granularities, and ggml's common block types. */
  schemes?: readonly string[] | undefined;
  /**
   * The format of the file to write: groups and blocks run along the inputs of an output in ONNX, along the last axis
   * in the others. Default: that of the model; safetensors for one of tfjs.
   */
  format?: OutputFormat | undefined;
  /**
   * The layout or engine that the file is for, as of `quantizeModel`: bytes and errors are those of its file. Default: that of
   * the format.
   */
  target?: string | undefined;
  /** Patterns of names: only tensors that match one of them have rows. */
  include?: readonly string[] | undefined;
  /** Patterns of names: tensors that match one of them have no rows. */
  exclude?: readonly string[] | undefined;
  /**
   * Inputs of weights by their names: .npy files, arrays, batches, or what `recordInputs` and `recordOnnxInputs` give.
   * The rows of these weights have the error of their outputs, too.
   */
  activations?: Readonly<Record<string, Activations>> | undefined;
  /**
   * Reads about this many values of each weight, at least eight rows spread evenly. The rows of larger weights are then
   * estimates, marked by `isEstimate`. Tensors that are not read as a whole lack `sha256`. Default: all values.
   */
  sample?: number | undefined;
  /** Whether each row has the ten rows of the weight with the largest relative error. Default: false. */
  worstRows?: boolean | undefined;
  /** Bins of a histogram of the tensor's values, 1 to 4096. Default: none. */
  histogram?: number | undefined;
  /**
   * Rows of an interrupted analysis of this model with these options: they are returned again, and their tensors
   * are not read.
   */
  known?: Iterable<AnalysisRow> | undefined;
  /** Rejects with the signal's reason once it is aborted. */
  signal?: PlatformAbortSignal | undefined;
  /** Called while tensors are read, with bytes of input. The analysis waits for a promise that it returns: a pause. */
  onProgress?: ((progress: QuantizeProgress) => void | PromiseLike<void>) | undefined;
}

/** Checked options. */
export interface Settings {
  readonly schemes: readonly Scheme[];
  readonly format: OutputFormat;
  readonly target: string | undefined;
  readonly isIncluded: (name: string) => boolean;
  /** By the name of a weight. */
  readonly activations: ReadonlyMap<string, unknown>;
  /** 0 for all values. */
  readonly sample: number;
  readonly worstRows: boolean;
  /** 0 for none. */
  readonly bins: number;
  /** Rows that are known, by the name of their tensor. */
  readonly known: ReadonlyMap<string, readonly AnalysisRow[]>;
  readonly signal: PlatformAbortSignal | undefined;
  readonly onProgress: AnalyzeOptions["onProgress"];
}

const OPTIONS = [
  "schemes",
  "format",
  "target",
  "include",
  "exclude",
  "activations",
  "sample",
  "worstRows",
  "histogram",
  "known",
  "signal",
  "onProgress",
];

export function checkSettings(where: string, options: unknown, own: ModelFormat): Settings {
  const given = checkOptions(where, options, OPTIONS);
  const { onProgress, signal } = given as Pick<Settings, "onProgress" | "signal">;
  checkAbortSignal(where, signal);
  checkFunction(where, "options.onProgress", onProgress);
  const { target } = given;
  if (target !== undefined && typeof target !== "string") {
    throw wrongKind("ZP_INVALID_OPTION", where, "options.target", "a name", target);
  }
  const include = globs(where, "options.include", given.include);
  const exclude = globs(where, "options.exclude", given.exclude);
  return {
    schemes: checkSchemes(where, given.schemes),
    format: checkChoice(where, "options.format", given.format, OUTPUT_FORMATS, defaultFormat(own)),
    target,
    isIncluded: (name) =>
      (include === undefined || include.some((glob) => glob.matches(name))) &&
      !exclude?.some((glob) => glob.matches(name)),
    activations: new Map(
      Object.entries(
        given.activations === undefined
          ? {}
          : checkObject(where, "options.activations", given.activations),
      ),
    ),
    sample: checkInteger(where, "options.sample", given.sample, 0, 1, 2 ** 31),
    worstRows: checkBoolean(where, "options.worstRows", given.worstRows, false),
    bins: checkInteger(where, "options.histogram", given.histogram, 0, 1, 4096),
    known: knownRows(where, given.known),
    signal,
    onProgress,
  };
}

function knownRows(where: string, given: unknown): ReadonlyMap<string, readonly AnalysisRow[]> {
  const known = new Map<string, AnalysisRow[]>();
  if (given === undefined) return known;
  checkAttached(where, "options.known", given);
  if (typeof given !== "object" || given === null || !(Symbol.iterator in given)) {
    throw wrongKind("ZP_INVALID_OPTION", where, "options.known", "rows of analyze", given);
  }
  for (const row of given as Iterable<AnalysisRow>) {
    const { name } = Object(row) as Partial<AnalysisRow>;
    if (typeof name !== "string") {
      throw wrongKind("ZP_INVALID_ROW", where, "options.known", "rows of analyze", row);
    }
    const own = known.get(name);
    if (own === undefined) known.set(name, [row]);
    else own.push(row);
  }
  return known;
}

function globs(where: string, argument: string, given: unknown): readonly Glob[] | undefined {
  if (given === undefined) return undefined;
  if (!Array.isArray(given)) {
    throw wrongKind("ZP_INVALID_OPTION", where, argument, "a list of patterns of names", given);
  }
  return Array.from(given as readonly unknown[], (pattern, i) =>
    parseGlob(where, `${argument}[${i}]`, pattern),
  );
}
