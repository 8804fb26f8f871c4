// Quantized weights of safetensors checkpoints, recognized by the names and dtypes of tensors.
// Source: compressed-tensors 0.18, DeepSeek's and ModelOpt's float8 and NVFP4, ComfyUI, Quark, gpt-oss, MLX, AutoGPTQ and
// GPTQModel, AutoAWQ.

import { fieldOf, recordOf } from "../../../base/fields.js";
import type { FileDType } from "../../dtypes.js";
import type { TensorInfo } from "../unpack.js";
import type { QuantizationConfig } from "./config.js";
import type { FloatLayout } from "./floats.js";

/** A layout of quantized weights. */
export type LayoutName =
  | ("compressed-tensors" | "int8" | "rows-int8" | "mlx" | "mlx-float" | "gptq" | "awq")
  | FloatLayout;

/** A quantized weight of a checkpoint: which tensors hold it. */
export interface QuantizedWeight {
  readonly layout: LayoutName;
  /** Its logical name: that of the module with ".weight", or of a float8 tensor its own. */
  readonly name: string;
  /** Name of the module, without "weight". */
  readonly module: string;
  /** Names of its tensors, by their role. */
  readonly parts: Readonly<Record<string, string>>;
}

export const FLOATS8: readonly FileDType[] = [
  "float8_e4m3fn",
  "float8_e5m2",
  "float8_e4m3fnuz",
  "float8_e5m2fnuz",
];

/** Names of tensors that make a quantized weight, by layout; the first must be there, with one of these dtypes. */
const PATTERNS: readonly {
  readonly layout: LayoutName;
  readonly dtype: FileDType | readonly FileDType[];
  readonly needed: Readonly<Record<string, string>>;
  readonly optional: Readonly<Record<string, string>>;
  /** Whether a scale for each row, or for groups of it, makes it another layout. */
  readonly hasRowsInBlocks?: boolean;
  /** The name of a tensor that makes it another layout. */
  readonly without?: string;
  /** Numbers of axes that the first may have. Default: 2. */
  readonly ranks?: readonly number[];
}[] = [
  {
    layout: "compressed-tensors",
    dtype: "int32",
    needed: { packed: "weight_packed", scale: "weight_scale", shape: "weight_shape" },
    optional: { zeroPoint: "weight_zero_point", groupIndex: "weight_g_idx" },
  },
  {
    layout: "int8",
    dtype: "int8",
    needed: { codes: "weight", scale: "weight_scale" },
    optional: { zeroPoint: "weight_zero_point", groupIndex: "weight_g_idx" },
  },
  {
    layout: "int8",
    dtype: "int8",
    // Groups of rows of this name are those of SGLang's w4afp8, with two codes of 4 bits in a byte.
    hasRowsInBlocks: true,
    needed: { codes: "weight", scale: "weight_scale_inv" },
    optional: {},
  },
  {
    // bitsandbytes' LLM.int8().
    layout: "rows-int8",
    dtype: "int8",
    needed: { codes: "weight", scale: "SCB" },
    optional: { order: "weight_format" },
  },
  {
    layout: "mlx",
    dtype: "uint32",
    needed: { packed: "weight", scale: "scales", offset: "biases" },
    optional: {},
    ranks: [2, 3],
  },
  {
    // MLX's modes mxfp4, mxfp8 and nvfp4.
    layout: "mlx-float",
    dtype: "uint32",
    needed: { packed: "weight", scale: "scales" },
    optional: {},
    without: "biases",
    ranks: [2, 3],
  },
  {
    layout: "gptq",
    dtype: "int32",
    needed: { packed: "qweight", zeroPoint: "qzeros", scale: "scales" },
    optional: { groupIndex: "g_idx" },
  },
  {
    layout: "float8",
    dtype: FLOATS8,
    needed: { codes: "weight", scale: "weight_scale" },
    optional: {},
    ranks: [2, 3],
  },
  {
    // DeepSeek's name; the scale is multiplied nevertheless.
    layout: "float8",
    dtype: FLOATS8,
    needed: { codes: "weight", scale: "weight_scale_inv" },
    optional: {},
    ranks: [2, 3],
  },
  {
    // DeepSeek-V4.
    layout: "float8",
    dtype: FLOATS8,
    needed: { codes: "weight", scale: "scale" },
    optional: {},
  },
  {
    // DeepSeek-V4's experts: two codes of e2m1 in a byte.
    layout: "float4",
    dtype: "int8",
    needed: { codes: "weight", scale: "scale" },
    optional: {},
  },
  {
    // Image models of ComfyUI.
    layout: "float8",
    dtype: FLOATS8,
    needed: { codes: "weight", scale: "scale_weight" },
    optional: {},
  },
  {
    // Mistral's own files.
    layout: "float8",
    dtype: FLOATS8,
    needed: { codes: "weight", scale: "qscale_weight" },
    optional: {},
  },
  {
    layout: "float4",
    dtype: "uint8",
    needed: { codes: "weight_packed", scale: "weight_scale" },
    optional: { divisor: "weight_global_scale" },
  },
  {
    // Experts of a layer, stacked: gate_up_proj and gate_up_proj_scale.
    layout: "float8",
    dtype: FLOATS8,
    needed: { codes: "", scale: "_scale" },
    optional: {},
    ranks: [2, 3],
  },
  {
    layout: "float8",
    dtype: FLOATS8,
    needed: { codes: "", scale: "_scale_inv" },
    optional: {},
    ranks: [2, 3],
  },
  {
    // Experts of gpt-oss in MXFP4: [experts, rows, blocks, 16 bytes].
    layout: "float4",
    dtype: "uint8",
    needed: { codes: "_blocks", scale: "_scales" },
    optional: {},
    ranks: [4],
  },
  {
    // The same of its original files.
    layout: "float4",
    dtype: "uint8",
    needed: { codes: ".blocks", scale: ".scales" },
    optional: {},
    ranks: [4],
  },
  {
    // ModelOpt's NVFP4.
    layout: "float4",
    dtype: "uint8",
    needed: { codes: "weight", scale: "weight_scale", factor: "weight_scale_2" },
    optional: {},
  },
  {
    // Quark's MXFP4.
    layout: "float4",
    dtype: "uint8",
    needed: { codes: "weight", scale: "weight_scale" },
    optional: {},
    without: "weight_scale_2",
  },
];

/** The names of all layouts that are told by the names of tensors. */
export const LAYOUT_NAMES: readonly LayoutName[] = [
  ...new Set([...PATTERNS.map(({ layout }) => layout), "awq" as const]),
];

const MATRICES = [2];

/** The names of codes, in their module, that no tensor of numbers has. */
export const CODE_NAMES =
  /^(weight_(packed|q|int|codes)|packed_weight|dense_weights|qweight|qzeros|qvalues?|W_q|trellis|Qidxs(_\d+)?)$|_(blocks|packed)$|(^|[_:])qdata$/;

/** The same, of names that tensors of floats have, too. */
export const INNER_CODE_NAMES = /^(_data|_packed_params|int_data|float8_data)$/;

/**
 * Finds quantized weights among the tensors of a checkpoint.
 * @param config  tells GPTQ from AWQ, whose tensors have the same names
 */
export function findQuantizedWeights(
  tensors: ReadonlyMap<string, TensorInfo>,
  config?: QuantizationConfig,
): QuantizedWeight[] {
  const found: QuantizedWeight[] = [];
  for (const [name, { dtype, shape }] of tensors) {
    const own: QuantizedWeight[] = [];
    for (const pattern of PATTERNS) {
      const { layout, dtype: each, needed, optional } = pattern;
      const without = fieldOf(pattern, "without");
      const ranks = fieldOf(pattern, "ranks") ?? MATRICES;
      const wanted = typeof each === "string" ? [each] : each;
      const [first] = Object.values(needed);
      if (!ranks.includes(shape.length) || !wanted.includes(dtype)) continue;
      const module = prefixOf(name, first);
      if (module === undefined) continue;
      const has = ([, part]: [string, string]): boolean => tensors.has(module + part);
      if (!Object.entries(needed).every(has)) continue;
      if (without !== undefined && tensors.has(module + without)) continue;
      const scaleRows = tensors.get(module + needed.scale)?.shape[0];
      if (fieldOf(pattern, "hasRowsInBlocks") && scaleRows === shape[0]) continue;
      const marked = first === "weight" ? { ...optional, marker: "comfy_quant" } : optional;
      const present = [...Object.entries(needed), ...Object.entries(marked).filter(has)];
      const named = present.map(([role, part]) => [role, module + part] as const);
      const parts = recordOf(named);
      const isAwq = layout === "gptq" && isAwqWeight(config, shape, tensors.get(parts.scale));
      own.push({
        layout: isAwq ? "awq" : layout,
        name: isEnding(first) ? module : `${module}weight`,
        module: module.replace(/\.$/, ""),
        parts,
      });
    }
    // A weight that is of two layouts by its names is of none.
    if (own.length === 1) found.push(own[0]);
  }
  return found;
}

/** Whether a name in a pattern is an ending of the weight's own name, not a name within its module. */
const isEnding = (name: string): boolean => /^([._]|$)/.test(name);

/**
 * The beginning of a tensor's name, which those of the weight's other parts have, too.
 * @param last  the name in its module, or an ending; "" for the whole name of a tensor that is not called "weight"
 * @returns undefined if the name is another one
 */
function prefixOf(name: string, last: string): string | undefined {
  if (last === "") return /(^|\.)weight$/.test(name) ? undefined : name;
  const isLast = isEnding(last) ? name.endsWith(last) : `.${name}`.endsWith(`.${last}`);
  return isLast ? name.slice(0, -last.length) : undefined;
}

/** Tells AWQ from GPTQ: by the configuration, or by columns of words of eight outputs. */
function isAwqWeight(
  config: QuantizationConfig | undefined,
  [, width]: readonly number[],
  scale: TensorInfo | undefined,
): boolean {
  if (config?.method === "awq" || config?.method === "gptq") return config.method === "awq";
  return scale?.shape.length === 2 && scale.shape[1] === 8 * width;
}
