// From GGUF to GGUF: which dtype each tensor gets, the keys and the order of the new file.

import { rangeError } from "../../../base/errors.js";
import { fieldOf } from "../../../base/fields.js";
import type { KeptCore } from "../../../core/init.js";
import type { FileDType } from "../../../formats/dtypes.js";
import type { GGUFEntry } from "../../../formats/gguf/types.js";
import { type GGUFLayout, layoutGGUF } from "../../../formats/gguf/write.js";
import { compareText, type FileTensor, type WritableTensor } from "../../../formats/source.js";
import type { ValueWatch } from "../watch.js";
import { convertTensor, isConvertible } from "./convert.js";
import { type FileType, guessFileType } from "./file-types.js";
import { type Importance, importanceOf } from "./importance.js";
import { factsOf, type Keys, quantizedKeys } from "./metadata.js";
import {
  chooseTensorTypes,
  ggmlRank,
  layerOf,
  needsImportance,
  type TensorChoice,
  type TypeOverride,
} from "./tensor-types.js";

/** The parts of a GGUF file that a new one is made of. */
export interface GGUFParts {
  readonly metadata: Keys;
  readonly tensors: ReadonlyMap<string, FileTensor>;
}

/** A tensor of the new file, and its source. */
export interface ConvertedTensor {
  readonly source: FileTensor;
  readonly tensor: WritableTensor;
  readonly reason?: string;
  /** Columns whose importance is 0, of all that have one; undefined if there is none of these. */
  readonly unimportant?: string;
}

/** A GGUF file to be written, and how its tensors came about. */
export interface GGUFConversion {
  readonly layout: GGUFLayout;
  readonly tensors: readonly ConvertedTensor[];
}

/** Options of llama-quantize. */
export interface LlamaQuantizeOptions {
  /** Give all weights the same dtype. */
  readonly pure?: boolean;
  /** dtypes of the token embeddings and of output.weight. Default: by the mix. */
  readonly tokenEmbedding?: FileDType | undefined;
  readonly output?: FileDType | undefined;
  /** dtypes of weights by expressions that match their names, as llama-quantize --tensor-type. */
  readonly overrides?: readonly TypeOverride[];
  readonly importance?: Importance | undefined;
  /** Convert weights that are quantized already, as llama-quantize --allow-requantize. */
  readonly requantize?: boolean;
  /** Watches the values of a weight. */
  readonly watch?: WatchOf;
}

type WatchOf = (name: string) => ValueWatch;

/**
 * The file that llama-quantize writes, byte for byte.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for weights that are quantized already; as `chooseTensorTypes`,
 *   `importanceOf` and `layoutGGUF`
 */
export function llamaQuantize(
  where: string,
  core: KeptCore,
  { metadata, tensors }: GGUFParts,
  fileType: FileType,
  options: LlamaQuantizeOptions = {},
): GGUFConversion {
  const { pure = false, tokenEmbedding, output, importance, requantize = false } = options;
  const { overrides = [] } = options;
  const watch = fieldOf(options, "watch");
  const sources = [...tensors.values()].sort(byLayer);
  const hasImportance = importance !== undefined;
  const own = { fileType, pure, tokenEmbedding, output, overrides, hasImportance };
  const facts = factsOf(metadata, sources);
  const choices = chooseTensorTypes(where, sources, facts, own);
  const converted = sources.map((source, i) => {
    const { dtype } = choices[i];
    const weights = importanceFor(where, importance, source, dtype, fileType);
    return trimmed(convertOne(where, core, source, choices[i], weights, requantize, watch));
  });
  const number = fileType.number ?? numberOf(metadata, sources);
  const keys = quantizedKeys(metadata, number, importance);
  return conversionOf(where, converted, keys);
}

/** Layers by number after the tensors outside of layers; then by name. */
function byLayer(a: FileTensor, b: FileTensor): number {
  return layerOf(a.name) - layerOf(b.name) || compareText(a.name, b.name);
}

/** The importance for a tensor that is quantized. */
function importanceFor(
  where: string,
  importance: Importance | undefined,
  { name, shape, dtype: from }: FileTensor,
  dtype: FileDType,
  fileType: FileType,
): Float32Array | undefined {
  if (importance === undefined || from === dtype) return undefined;
  const weights = importanceOf(where, importance, name, shape);
  if (weights === undefined && needsImportance(name, dtype, fileType)) {
    const problem = `options.imatrix has no values for tensor ${JSON.stringify(name)}, which ${fileType.name} needs`;
    throw rangeError("ZP_INVALID_OPTION", where, problem);
  }
  return weights;
}

/**
 * A file whose tensors have the dtypes that a function chooses; all else stays, the order too.
 * @throws {RangeError} as `llamaQuantize`
 */
export function convertGGUF(
  where: string,
  core: KeptCore,
  { metadata, tensors }: GGUFParts,
  choose: (tensor: FileTensor) => TensorChoice,
  importance?: Importance,
  requantize = false,
  watch?: WatchOf,
): GGUFConversion {
  const converted = Array.from(tensors.values(), (source) => {
    const choice = choose(source);
    const weights =
      choice.dtype === source.dtype
        ? undefined
        : importanceOf(where, importance, source.name, source.shape);
    return convertOne(where, core, source, choice, weights, requantize, watch);
  });
  const number = guessFileType(weightTypes(converted));
  const keys = quantizedKeys(metadata, number, importance);
  return conversionOf(where, converted, keys);
}

/** The dtypes of tensors of at least two axes. */
const weightTypes = (converted: readonly ConvertedTensor[]): FileDType[] =>
  converted.filter(({ tensor }) => ggmlRank(tensor.shape) > 1).map(({ tensor }) => tensor.dtype);

function convertOne(
  where: string,
  core: KeptCore,
  source: FileTensor,
  choice: TensorChoice,
  importance: Float32Array | undefined,
  requantize: boolean,
  watch: WatchOf | undefined,
): ConvertedTensor {
  const { dtype } = choice;
  const reason = fieldOf(choice, "reason");
  if (!isConvertible(source.dtype, dtype, requantize)) {
    const isBlock = isConvertible(source.dtype, dtype, true);
    const hint = isBlock ? ": requantize: true converts its values, which are rounded twice" : "";
    const problem = `tensor ${JSON.stringify(source.name)} has dtype ${source.dtype}, which is not converted to ${dtype}${hint}`;
    throw rangeError("ZP_UNSUPPORTED_DTYPE", where, problem);
  }
  const tensor = convertTensor(where, core, source, dtype, importance, watch?.(source.name));
  const zeros = importance?.reduce((count, weight) => count + Number(weight === 0), 0) ?? 0;
  return {
    ...{ source, tensor, ...(reason !== undefined && { reason }) },
    ...(zeros > 0 && { unimportant: `importance 0 for ${zeros} of ${importance?.length} inputs` }),
  };
}

/** A tensor as ggml writes it: without outer axes of length 1, but with at least one axis. */
function trimmed({ source, tensor, ...rest }: ConvertedTensor): ConvertedTensor {
  const { name, dtype } = tensor;
  const shape = tensor.shape.length === 0 ? [1] : tensor.shape.slice(-ggmlRank(tensor.shape));
  return { source, tensor: { name, shape, dtype, bytes: () => tensor.bytes() }, ...rest };
}

/** Lays the file out. */
function conversionOf(
  where: string,
  tensors: readonly ConvertedTensor[],
  keys: readonly (readonly [string, GGUFEntry])[],
): GGUFConversion {
  const writable = tensors.map(({ tensor }) => tensor);
  return { layout: layoutGGUF(writable, keys, where), tensors };
}

/** `general.file_type` of a copy: the source's, or marked as a guess. */
function numberOf(metadata: Keys, sources: readonly FileTensor[]): number {
  const value = metadata.get("general.file_type")?.value;
  return typeof value === "number"
    ? value
    : 1024 + guessFileType(sources.map(({ dtype }) => dtype));
}
