// quantizeModel: a model, and how to quantize it -> files as streams, and a report.

import {
  checkAbortSignal,
  checkBoolean,
  checkChoice,
  checkFunction,
  wrongKind,
} from "../../base/check.js";
import { typeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { checkObject, checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import { keepCore } from "../../core/init.js";
import type { OnnxTensor } from "../../formats/onnx/tensor.js";
import { loadModule } from "../load-module.js";
import type { ModelDocument } from "../open/document.js";
import { documentOf, type Model, type ModelTensor } from "../open/model.js";
import type { FileSource } from "../open/sources.js";
import type { Scheme } from "../scheme.js";
import { keptReason, refusedReason } from "../selection.js";
import { UNKNOWN } from "../stored/weight.js";
import type { FileEncoder } from "../weights/slices.js";
import { defaultFormat, OUTPUT_FORMATS } from "./formats.js";
import { isDynamicDType, schemeOfDType, TRANSFORMERS_JS } from "./onnx/dtypes.js";
import { outputFile, Progress } from "./output.js";
import { asFloat, floatTypeOf, isReadableQuantized, LEFT_OUT } from "./requantize.js";
import type { RuntimeTensor, SessionFactory } from "./runtime.js";
import { isDynamicPreset } from "./safetensors/presets.js";
import { parseForTarget } from "./safetensors/schemes.js";
import {
  readSchemeChoice,
  type SchemeFunction,
  type SchemeParser,
  type SchemePlan,
} from "./scheme-choice.js";
import { errorBefore, formBefore, Seen } from "./seen.js";
import type {
  Assignment,
  Job,
  OutputFormat,
  QuantizedRow,
  QuantizeModelResult,
  QuantizeProgress,
  QuantizeReport,
  SchemeChoice,
  Writer,
} from "./types.js";

/** Options of `quantizeModel`. */
export interface QuantizeModelOptions {
  /** The format of the files to write. Default: that of the model; safetensors for one of tfjs. */
  format?: OutputFormat | undefined;
  /** The layout or engine that the files are for, by format. */
  target?: string | undefined;
  /**
   * Target "compressed-tensors": "dynamic" quantizes inputs of layers per token while the model runs: with int8 weights
   * per channel or tensor (W8A8) or, if there are none of these, with all weights (W4A8). ONNX: the same, per input of a
   * matrix product. Default: "float32", or as the preset says that the scheme names.
   */
  activations?: "float32" | "dynamic" | undefined;
  /**
   * Quantizes weights again that are quantized already: float8, GPTQ, GGUF's block types and others, from the values that
   * `read` gives. Each value is then rounded twice. Default: they are kept, and a note of the report says so.
   */
  requantize?: boolean | undefined;
  /**
   * The model that a quantized one was made of, for `requantize`: the report then has the error of the first rounding of
   * each weight of the same name and shape, too. Its values are read at once.
   */
  original?: Model | undefined;
  /** GGUF: one type for all matrices, as `llama-quantize --pure`. */
  pure?: boolean | undefined;
  /**
   * GGUF: the type of the token embeddings ("q8_0", "f16"), whatever the mix says, as `llama-quantize
   * --token-embedding-type`.
   */
  tokenEmbeddingType?: string | undefined;
  /**
   * GGUF: the type of output.weight, or of token embeddings that it shares, as `llama-quantize --output-tensor-type`.
   */
  outputTensorType?: string | undefined;
  /**
   * GGUF: types of weights by regular expressions that match their names anywhere ({ "attn_v|ffn_down": "q6_k" }), as
   * `llama-quantize --tensor-type`: the first match decides, before the mix and `pure`, after the two options above. Rows that
   * are no whole blocks of the type get the one that replaces it.
   */
  tensorTypes?: Readonly<Record<string, string>> | undefined;
  /**
   * GGUF: importance of inputs, as `llama-quantize --imatrix`: a GGUF file of llama-imatrix, or a model opened from
   * one. The name of the file without its folder is recorded; of bytes, "imatrix.gguf".
   */
  imatrix?: FileSource | Model | undefined;
  /**
   * ONNX: makes sessions that run the float and the quantized model on the same inputs, whose differences are in the
   * report. `(bytes, options) => InferenceSession.create(bytes, options)` of onnxruntime-web or onnxruntime-node.
   */
  verifyWith?: SessionFactory | undefined;
  /**
   * Inputs for `verifyWith` by name, of `model.inputs`: the engine's tensors, or a list of these for several runs, whose
   * differences are taken together. Inputs that are not given are random, of their declared shapes.
   */
  verifyInputs?:
    | Readonly<Record<string, RuntimeTensor>>
    | readonly Readonly<Record<string, RuntimeTensor>>[]
    | undefined;
  /**
   * Lengths of free axes of random inputs, by the names that the model gives them, or by input and axis: `{ batch: 2,
   * "input_ids[1]": 16 }`. Default: 1 for the first axis, 8 for others, and those of given inputs.
   */
  verifySizes?: Readonly<Record<string, number>> | undefined;
  /** Rejects with the signal's reason once it is aborted; streams fail with it. */
  signal?: PlatformAbortSignal | undefined;
  /** Called while files are streamed, with bytes of input. */
  onProgress?: ((progress: QuantizeProgress) => void) | undefined;
}

const OPTIONS = [
  ...["format", "target", "activations", "pure", "imatrix", "signal", "onProgress"],
  ...[
    "verifyWith",
    "verifyInputs",
    "verifySizes",
    "tokenEmbeddingType",
    "outputTensorType",
    "tensorTypes",
    "requantize",
    "original",
  ],
] as const;

/** The writers of all formats: folders beside this file, downloaded when their format is written. */
const WRITERS: { readonly [F in OutputFormat]: () => Promise<Writer> } = {
  safetensors: () => import("./safetensors/write.js").then((own) => own.writeSafetensorsModel),
  gguf: () => import("./gguf/writer.js").then((own) => own.writeGguf),
  onnx: () => import("./onnx/index.js").then((own) => own.writeOnnxModel),
  npz: () => import("./npy/write.js").then((own) => own.writeNpzModel),
  npy: () => import("./npy/write.js").then((own) => own.writeNpyModel),
};

/**
 * Quantizes a model file: each tensor by its scheme, everything else kept byte for byte. Values are read while the
 * files are streamed, tile by tile, in constant memory.
 *
 * @param model  of `openModel`; leave it open until the files are written
 * @param scheme  a scheme's name for all weights (norms, biases and small tensors are kept), a plan, or a function
 *   that names the scheme of each tensor. From GGUF to GGUF a name is a type of `llama-quantize`
 * @param options.format  of the files; default: that of the model
 * @returns files with their sizes, and a report of what was done and why
 * @throws {TypeError} `ZP_INVALID_SCHEME`, `ZP_INVALID_OPTION`, `ZP_DISPOSED`
 * @throws {RangeError} `ZP_INVALID_SCHEME` for an unknown scheme, or one that the target does not have;
 *   `ZP_INVALID_MODEL` for a plan of another model; `ZP_UNSUPPORTED_FILE` for a pair of formats that is not written.
 *   Streams fail as reading does, with `ZP_INVALID_FILE`, `ZP_LOAD_FAILED` or `ZP_NON_FINITE`
 * @example
 * const w = tensor(new Float32Array(1024).fill(0.5), [32, 32]);
 * const model = await openModel(save({ "fc.weight": w, "fc.bias": tensor([1, 2]) }));
 * const { files, report } = await quantizeModel(model, "int4-g32"); // also writeFile(name, files[0].stream())
 * const small = await openModel(files[0].stream());
 * (await small.read("fc.weight")).data[0]; // 0.5
 * report.rows.map(({ name, scheme }) => `${name} ${scheme}`); // ["fc.bias keep", "fc.weight int4-g32"]
 */
export async function quantizeModel(
  model: Model,
  scheme: string | SchemePlan | SchemeFunction,
  options?: QuantizeModelOptions,
): Promise<QuantizeModelResult> {
  const where = "quantizeModel";
  const document = documentOf(where, "model", model);
  const core = keepCore(document.core);
  const given = checkOptions(where, options, OPTIONS) as QuantizeModelOptions;
  const { signal, onProgress, target, imatrix } = given;
  checkAbortSignal(where, signal);
  const fallback = defaultFormat(model.format);
  const format = checkChoice(where, "options.format", given.format, OUTPUT_FORMATS, fallback);
  if (target !== undefined && typeof target !== "string") {
    throw wrongKind("ZP_INVALID_OPTION", where, "options.target", "a name", target);
  }
  checkFunction(where, "options.onProgress", onProgress);
  const { verifyWith, verifyInputs, verifySizes } = given;
  checkFunction(where, "options.verifyWith", verifyWith);
  for (const [i, each] of Array.isArray(verifyInputs) ? verifyInputs.entries() : []) {
    checkObject(where, `options.verifyInputs[${i}]`, each);
  }
  if (verifyInputs !== undefined && !Array.isArray(verifyInputs)) {
    checkObject(where, "options.verifyInputs", verifyInputs);
  }
  if (verifySizes !== undefined) checkObject(where, "options.verifySizes", verifySizes);
  if (verifyWith !== undefined && format !== "onnx") {
    const problem = `options.verifyWith runs ONNX models, got format ${show(format)}`;
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  const pure = checkBoolean(where, "options.pure", given.pure, false);
  const { tokenEmbeddingType, outputTensorType, tensorTypes } = given;
  const ofTensors = { tokenEmbeddingType, outputTensorType, tensorTypes };
  const ofGguf = { pure: pure || undefined, imatrix, ...ofTensors };
  for (const [name, value] of Object.entries(ofGguf)) {
    if (format === "gguf" || value === undefined) continue;
    const problem = `options.${name} is for GGUF files, got format ${show(format)}`;
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  signal?.throwIfAborted();
  const parse = (argument: string, name: unknown): Scheme =>
    parseForTarget(
      where,
      argument,
      target === TRANSFORMERS_JS ? schemeOfDType(where, argument, name) : name,
      target,
    );
  const requantize = checkBoolean(where, "options.requantize", given.requantize, false);
  const { original } = given;
  if (original !== undefined) documentOf(where, "options.original", original);
  if (original !== undefined && !requantize) {
    const problem = "options.original is for weights that are quantized again, by requantize: true";
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  const floatType = floatTypeOf(model);
  /** A tensor as the choice of its scheme sees it. */
  const chosen = (tensor: ModelTensor): ModelTensor =>
    requantize && isReadableQuantized(tensor) ? asFloat(tensor, floatType) : tensor;
  const choice = await readSchemeChoice(where, model, scheme, parse, chosen);
  const isDynamic =
    (target === "compressed-tensors" && isDynamicPreset(scheme)) ||
    (target === TRANSFORMERS_JS && isDynamicDType(scheme));
  const activations = checkChoice(
    where,
    "options.activations",
    given.activations,
    ["float32", "dynamic"] as const,
    isDynamic ? "dynamic" : "float32",
  );
  const progress = new Progress(onProgress);
  const assign = assigner(choice, parse);
  /** Names of tensors that get a scheme, before the writer has its say. */
  const wanted = new Set<string>();
  const seen = new Seen(model, requantize);
  const job: Job = {
    ...{ where, core, model, document, choice, target, activations, pure, imatrix, signal },
    ...{ verifyWith, verifyInputs, verifySizes, ...ofTensors, requantize },
    watch: (name) => seen.watch(name),
    assign: (tensor) => {
      const assignment = assign(chosen(model.tensors.get(tensor.name) ?? tensor));
      if (assignment.scheme.kind !== "keep") wanted.add(tensor.name);
      return assignment;
    },
    file: (parts) =>
      outputFile(
        ...([where, parts, progress, signal] as const),
        (caller) => document.opened.checkUnchanged(caller),
        () => seen.complete(),
      ),
  };
  const write = await loadModule(where, WRITERS[format]());
  const written = await write(job);
  const { files } = written;
  const rows = await rowsWithOrigin(where, model, original, requantize, written.rows);
  const bytesBefore = bytesOfFiles(document);
  const bytesAfter = files.reduce((sum, { size }) => sum + size, 0);
  const notes = [
    ...[...written.notes, ...keptNotes(rows, wanted, bytesBefore)],
    ...[...quantizedNotes(model, rows, choice, requantize), ...notesOf(choice, model)],
    ...unreadableNotes(document),
  ];
  const outputs = fieldOf(written, "outputs");
  const verified = outputs === undefined ? {} : { outputs };
  const sizes = { bytesBefore, bytesAfter };
  const report = { format, target: written.target, rows, ...sizes, ...verified, notes };
  seen.report = report;
  ENCODERS.set(report, fieldOf(written, "encoders") ?? new Map());
  return { files, report };
}

/** Rows that say what weights were before they are quantized again. */
async function rowsWithOrigin(
  where: string,
  model: Model,
  original: Model | undefined,
  requantize: boolean,
  rows: readonly QuantizedRow[],
): Promise<QuantizedRow[]> {
  const own: QuantizedRow[] = [];
  for (const row of rows) {
    const tensor = model.tensors.get(row.name);
    const isAgain = requantize && row.scheme !== "keep" && row.scheme !== LEFT_OUT;
    if (!isAgain || tensor === undefined || !isReadableQuantized(tensor)) {
      own.push({ ...row });
      continue;
    }
    const sqnrBefore = original && (await errorBefore(where, original, model, tensor));
    const requantized = {
      from: formBefore(tensor),
      ...(sqnrBefore !== undefined && { sqnrBefore }),
    };
    own.push({ ...row, requantized });
  }
  return own;
}

/** The arithmetic of weights that are not quantized as `quantize` does, by name. */
const ENCODERS = /* @__PURE__ */ new WeakMap<QuantizeReport, ReadonlyMap<string, FileEncoder>>();

/** How the files of a report have the values of a weight; undefined if by `quantize` and `dequantize`. */
export const encoderOf = (report: QuantizeReport, name: string): FileEncoder | undefined =>
  ENCODERS.get(report)?.get(name);

/** Bytes of the model's files: of the main one, and of the tensors in others. */
function bytesOfFiles(document: ModelDocument): number {
  const { format, source, files } = document;
  if (format === "gguf") return document.gguf.size;
  const isIndex = format === "tfjs" || (format === "safetensors" && document.index !== undefined);
  let bytes = source.size;
  for (const tensor of files.values()) {
    const isOutside = isIndex || (tensor as Partial<OnnxTensor>).stored === "external";
    if (isOutside) bytes += tensor.byteLength;
  }
  return bytes;
}

/** How much of the model stays as it was although it has a scheme, and why. */
function keptNotes(
  rows: readonly QuantizedRow[],
  wanted: ReadonlySet<string>,
  bytesBefore: number,
): string[] {
  const own = rows.filter(({ name }) => wanted.has(name));
  const kept = own.filter(({ from, scheme, reason }) => {
    return scheme === "keep" && reason !== undefined && reason !== `${from} already`;
  });
  if (kept.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { reason = "" } of kept) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const bytes = kept.reduce((sum, row) => sum + row.bytesBefore, 0);
  const share = ((100 * bytes) / bytesBefore).toPrecision(2).replace(/^1\.0e\+2$/, "100");
  const reasons = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
  const why = reasons.map(([reason, count]) => `${reason} (${count})`).join("; ");
  return [
    `${kept.length} of ${own.length} weights, ${share} % of the model's bytes, stay as they were: ${why}`,
  ];
}

/** Weights that were quantized before: how many were quantized again, and how many are kept. */
function quantizedNotes(
  model: Model,
  rows: readonly QuantizedRow[],
  choice: SchemeChoice,
  requantize: boolean,
): string[] {
  const isKeep = choice.kind === "uniform" && choice.name.toLowerCase() === "keep";
  const own = rows.filter(({ name }) => {
    const tensor = model.tensors.get(name);
    return tensor !== undefined && isReadableQuantized(tensor);
  });
  if (isKeep) return [];
  const staying = own.filter(({ scheme }) => scheme === "keep");
  const kept = staying.length;
  const count = (weights: number): string => (weights === 1 ? "1 weight" : `${weights} weights`);
  const notes: string[] = [];
  const unknown = rows.filter(({ name }) => model.tensors.get(name)?.layout === UNKNOWN);
  if (unknown.length > 0) {
    const some = unknown.slice(0, 3).map(({ name }) => show(name));
    const more = unknown.length > some.length ? " …" : "";
    notes.push(
      `${count(unknown.length)} of unknown quantization, kept as in the model: ${some.join(", ")}${more}`,
    );
  }
  if (kept > 0 && choice.kind === "uniform") {
    const [reason] = staying.flatMap((row) => fieldOf(row, "reason") ?? []);
    const why = requantize ? reason && `: ${reason}` : "; requantize: true does that";
    notes.push(
      `${count(kept)} of the model ${kept === 1 ? "is" : "are"} quantized already and not quantized again${why ?? ""}`,
    );
  }
  if (kept < own.length) {
    notes.push(
      `${count(own.length - kept)} of the model ${own.length - kept === 1 ? "was" : "were"} quantized before: the values are rounded twice, and errors are those of the second rounding alone`,
    );
  }
  return notes;
}

/** Members of the file that are left out. */
function unreadableNotes({ unreadable }: ModelDocument): string[] {
  if (unreadable.size === 0) return [];
  const some = [...unreadable].slice(0, 3).map(([name, kind]) => `${show(name)} (${kind})`);
  const more = unreadable.size > some.length ? " …" : "";
  return [`left out, as they are not read: ${some.join(", ")}${more}`];
}

/** Names of a plan that the model does not have. */
function notesOf(choice: SchemeChoice, model: Model): string[] {
  if (choice.kind === "uniform") return [];
  const unknown = [...choice.schemes.keys()].filter((name) => !model.tensors.has(name));
  if (unknown.length === 0) return [];
  const some = unknown.slice(0, 3).map(show).join(", ");
  return [`${unknown.length} names of the plan are not in the model: ${some}`];
}

/** The scheme of each tensor. */
function assigner(choice: SchemeChoice, parse: SchemeParser): (tensor: ModelTensor) => Assignment {
  const keep = (reason: string, isExplicit = false): Assignment => ({
    scheme: { kind: "keep", name: "keep" },
    isExplicit,
    reason,
  });
  let uniform: Scheme | undefined;
  return (tensor) => {
    if (choice.kind === "uniform") {
      uniform ??= parse("scheme", choice.name);
      const reason = uniform.kind === "keep" ? "scheme keep" : keptReason(tensor);
      return reason === undefined ? { scheme: uniform, isExplicit: false } : keep(reason);
    }
    const scheme = choice.schemes.get(tensor.name);
    const refused = refusedReason(tensor);
    if (refused !== undefined) return keep(refused);
    if (scheme === undefined) {
      return keep(choice.kind === "plan" ? "not in the plan" : "the function names no scheme");
    }
    const reason = choice.reasons.get(tensor.name);
    if (scheme.kind === "keep") return keep(reason ?? `kept by the ${choice.kind}`, true);
    return { scheme, isExplicit: true, ...(reason === undefined ? {} : { reason }) };
  };
}
