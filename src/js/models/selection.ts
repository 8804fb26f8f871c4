// The tensors of a model that are weights to quantize, and the reasons why others are kept.

import { type FileDType, isBlockType } from "../formats/dtypes.js";
import { sizeOf } from "../tensor/shape.js";
import { BESIDE_UNKNOWN, UNKNOWN } from "./stored/weight.js";

/** The fewest values of a weight; a smaller one would save less than 1 kB. */
const LEAST_PARAMETERS = 256;

/** dtypes of weights that are quantized. */
const FLOATS: readonly FileDType[] = ["float32", "float16", "bfloat16", "float64"];

/** Tensors that are kept for their names: pattern and reason. Names are compared in lower case. */
const BY_NAME: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/norm\w*[./](weight|gamma|beta|scale)$|norm$|(^|[./])ln_?\w*[./](weight|bias)$/, "a norm"],
  [/(^|[./_])(bias|b_[a-z]+)$/, "a bias"],
  [
    /(^|[./])(wpe|\w*pos(ition)?(al)?_?(emb\w*|enc\w*|table)|\w*rel\w*_bias|token_type\w*|token_types)([./]|$)/,
    "a table of positions or token types",
  ],
  [/inv_freq$|rope_(freqs|factors)|rotary/, "a table of frequencies"],
  [
    /ffn_gate_inp|(block_sparse_moe|mlp|moe|feed_forward)[./](gate|router)([./]weight)?$/,
    "a router",
  ],
  [/running_(mean|var)$|num_batches_tracked$/, "statistics of a norm"],
];

/** The fields of a tensor that the choice depends on; `ModelTensor` has them. */
export interface SelectableTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: FileDType;
  readonly isQuantized: boolean;
  readonly layout?: string | undefined;
}

/**
 * The reason why a tensor can never be quantized, by any selection.
 * @returns undefined if it can
 */
export function refusedReason({
  shape,
  dtype,
  isQuantized,
  layout,
}: SelectableTensor): string | undefined {
  if (layout === UNKNOWN || layout === BESIDE_UNKNOWN) return layout;
  if (isBlockType(dtype) || isQuantized) return `already quantized (${dtype})`;
  if (!FLOATS.includes(dtype)) return `${dtype}, not float32, float16, bfloat16 or float64`;
  if (shape.length === 0) return "a single number";
  if (sizeOf(shape) === 0) return "no values";
  return undefined;
}

/**
 * The reason why a tensor keeps its values unless a plan or a function says otherwise.
 * @returns undefined for a weight to quantize: 2 axes or more, floating point, at least 256 values, no norm, bias,
 * router or table of positions by its name
 */
export function keptReason(tensor: SelectableTensor): string | undefined {
  const refused = refusedReason(tensor);
  if (refused !== undefined) return refused;
  const name = tensor.name.toLowerCase();
  const named = BY_NAME.find(([pattern]) => pattern.test(name));
  if (named !== undefined) return named[1];
  if (tensor.shape.length < 2) return "one axis: a bias or a norm";
  if (sizeOf(tensor.shape) < LEAST_PARAMETERS) return `fewer than ${LEAST_PARAMETERS} values`;
  return undefined;
}
