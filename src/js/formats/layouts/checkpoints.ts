// Layouts of quantized weights in safetensors checkpoints, recognized by the names and types of tensors.
// Source: compressed-tensors 0.18 and the packing before 0.17, DeepSeek's and ModelOpt's float8 and NVFP4, MLX, AutoGPTQ
// and GPTQModel, AutoAWQ.

import { bytesOf, decodeValues, type FileDType } from "../dtypes.js";
import type { QuantizationConfig } from "./config.js";
import {
  type FloatLayout,
  floatShape,
  isFloatLayout,
  rowsOf,
  scaleBlockOf,
  unpackFloats,
} from "./floats.js";
import {
  misfit,
  type QuantizedValues,
  type StoredPart,
  type StoredParts,
  type TensorInfo,
  transpose,
  unpackDense,
  unpackWithinWords,
  type ValueDType,
} from "./unpack.js";

/** A layout of quantized weights. */
export type LayoutName = "compressed-tensors" | "int8" | "mlx" | "gptq" | "awq" | FloatLayout;

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

const FLOATS8: readonly FileDType[] = [
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
    needed: { codes: "weight", scale: "weight_scale_inv" },
    optional: {},
  },
  {
    layout: "mlx",
    dtype: "uint32",
    needed: { packed: "weight", scale: "scales", offset: "biases" },
    optional: {},
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
    // ModelOpt's NVFP4.
    layout: "float4",
    dtype: "uint8",
    needed: { codes: "weight", scale: "weight_scale", factor: "weight_scale_2" },
    optional: {},
  },
];

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
    for (const { layout, dtype: each, needed, optional, ranks = [2] } of PATTERNS) {
      const wanted = typeof each === "string" ? [each] : each;
      const [first] = Object.values(needed);
      if (!ranks.includes(shape.length) || !wanted.includes(dtype)) continue;
      const module = prefixOf(name, first);
      if (module === undefined) continue;
      const has = ([, part]: [string, string]): boolean => tensors.has(module + part);
      if (!Object.entries(needed).every(has)) continue;
      const present = [...Object.entries(needed), ...Object.entries(optional).filter(has)];
      const parts = Object.fromEntries(present.map(([role, part]) => [role, module + part]));
      const isAwq = layout === "gptq" && isAwqWeight(config, shape, tensors.get(parts.scale));
      found.push({
        layout: isAwq ? "awq" : layout,
        name: isEnding(first) ? module : `${module}weight`,
        module: module.replace(/\.$/, ""),
        parts,
      });
    }
  }
  return found;
}

/** Whether a name in a pattern is an ending of the weight's own name, not a name within its module. */
const isEnding = (name: string): boolean => name === "" || name.startsWith("_");

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

/** Bits and logical shape of a quantized weight. */
export interface WeightForm {
  readonly bits: number;
  /** Of the module's weight: [out, in]. */
  readonly shape: readonly number[];
}

/**
 * Bits and shape of a weight, from shapes alone where these tell them.
 * @param info  shape and dtype of each part, by its role
 * @param given  the shape in compressed-tensors' weight_shape
 * @returns undefined if the parts do not fit each other
 */
export function formOf(
  layout: LayoutName,
  info: Readonly<Record<string, TensorInfo>>,
  config?: QuantizationConfig,
  module = "",
  given?: readonly number[],
): WeightForm | undefined {
  const { packed, codes, scale, zeroPoint } = info;
  if (isFloatLayout(layout) || layout === "int8") {
    const shape = layout === "float4" ? floatShape(layout, codes.shape) : codes.shape;
    const isFit = scaleBlockOf(shape, scale.shape, config) !== undefined;
    return isFit ? { bits: layout === "float4" ? 4 : 8, shape } : undefined;
  }
  const [height, width] = packed.shape;
  if (layout === "compressed-tensors") {
    if (given?.length !== 2 || given[0] !== height) return undefined;
    const packing = packingOf(width, given[1], config);
    return packing && { bits: packing.bits, shape: given };
  }
  if (scale.shape.length !== 2) return undefined;
  if (layout === "mlx") {
    const { bits, groupSize } = mlxForm(info, config, module);
    return { bits, shape: [height, scale.shape[1] * groupSize] };
  }
  if (zeroPoint.shape.length !== 2) return undefined;
  const bits = (32 * zeroPoint.shape[1]) / scale.shape[1];
  const inputs = layout === "awq" ? height : (32 * height) / bits;
  const outputs = layout === "awq" ? 8 * width : width;
  return Number.isInteger(bits) && Number.isInteger(inputs)
    ? { bits, shape: [outputs, inputs] }
    : undefined;
}

/** dtypes that parts may have. */
const PART_DTYPES: readonly FileDType[] = [
  ...FLOATS8,
  ...(["float32", "float16", "bfloat16", "float8_e8m0fnu"] as const),
  ...(["int64", "int32", "uint32", "int8", "uint8"] as const),
];

const textOf = (shape: readonly number[]): string => `[${shape.join(", ")}]`;

const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((size, length) => size * length, 1);

function floats(part: StoredPart): Float32Array {
  return decodeValues(part.dtype, part.bytes, new Float32Array(sizeOf(part.shape)));
}

function words(part: StoredPart): Uint32Array {
  const { dtype, bytes } = part;
  if (dtype === "int32" || dtype === "uint32") return new Uint32Array(bytes.slice().buffer);
  throw misfit(part, "words of 32 bits", dtype);
}

const valueDtype = (scale: StoredPart): ValueDType => {
  const { dtype } = scale;
  if (dtype === "float32" || dtype === "float16" || dtype === "bfloat16") return dtype;
  throw misfit(scale, "scales of float32, float16 or bfloat16", dtype);
};

/**
 * Unpacks a quantized weight.
 * @param parts  the tensors that `findQuantizedWeights` names, whole
 * @param module  name of the module, which MLX's configuration may name
 * @throws {RangeError} `ZP_INVALID_FILE` if shapes and dtypes of the parts do not fit each other
 */
export function unpackWeight(
  layout: LayoutName,
  parts: StoredParts,
  config?: QuantizationConfig,
  module = "",
): QuantizedValues {
  for (const part of Object.values(parts)) {
    const { dtype, shape, bytes } = part;
    if (!PART_DTYPES.includes(dtype)) {
      throw misfit(part, `a part of a weight of the layout ${layout}`, dtype);
    }
    // All of them are whole bytes.
    const size = bytesOf(dtype, sizeOf(shape));
    if (bytes.length !== size) throw misfit(part, `${size} bytes`, bytes.length);
  }
  if (isFloatLayout(layout)) return unpackFloats(layout, parts, config);
  if (layout === "mlx") return unpackMlx(parts, config, module);
  if (layout === "gptq" || layout === "awq") return unpackTransposed(layout, parts, config);
  return unpackRows(parts, config);
}

/**
 * Bits of compressed-tensors' packed codes, and whether they are packed as before 0.17.
 * @returns undefined if the columns do not fit in this width
 */
export function packingOf(
  width: number,
  columns: number,
  config: QuantizationConfig | undefined,
): { readonly bits: number; readonly isOld: boolean } | undefined {
  const fits = (each: number) => width === Math.ceil((columns * each) / 32);
  const fitsOld = (each: number) => width === Math.ceil(columns / Math.floor(32 / each));
  const known = (config?.bits ?? []).filter((each) => each >= 1 && each <= 8);
  const candidates = known.length > 0 ? known : [4, 8, 2, 1, 3, 5, 6, 7];
  const dense = candidates.find(fits);
  const old = candidates.find(fitsOld);
  if (columns < 0 || (dense === undefined && old === undefined)) return undefined;
  // Where both packings have this width, the version of the writer decides.
  const isOld = old !== undefined && (dense === undefined || config?.isOldPacking === true);
  return { bits: (isOld ? old : dense) as number, isOld };
}

/** compressed-tensors: packed, and plain int8 with a scale. */
function unpackRows(
  { packed, codes: plain, scale, shape: given, zeroPoint, groupIndex }: StoredParts,
  config: QuantizationConfig | undefined,
): QuantizedValues {
  let shape: readonly number[];
  let codes: Int8Array;
  let unpack = unpackDense;
  let bits = 8;
  if (packed === undefined) {
    shape = plain.shape;
    codes = new Int8Array(plain.bytes.slice().buffer);
  } else {
    if (given.dtype !== "int64") throw misfit(given, "int64", given.dtype);
    shape = Array.from(new BigInt64Array(given.bytes.slice().buffer), Number);
    const [rows, columns] = shape;
    if (shape.length !== 2 || !shape.every(Number.isSafeInteger) || rows !== packed.shape[0]) {
      throw misfit(given, `the shape of codes in words ${textOf(packed.shape)}`, textOf(shape));
    }
    const packing = packingOf(packed.shape[1], columns, config);
    if (packing === undefined) {
      throw misfit(packed, `words of ${columns} codes a row`, textOf(packed.shape));
    }
    bits = packing.bits;
    if (packing.isOld) unpack = unpackWithinWords;
    const half = 2 ** (bits - 1);
    const unsigned = unpack(words(packed), rows, columns, bits);
    codes = new Int8Array(unsigned.buffer);
    for (let i = 0; i < codes.length; i++) codes[i] = unsigned[i] - half;
  }
  const [rows, columns] = shape;
  const size = sizeOf(scale.shape);
  const groups = scale.shape[1] ?? 1;
  const block = packed === undefined ? scaleBlockOf(shape, scale.shape, config) : undefined;
  const isBlock = block !== undefined && block.rows > 1 && size !== 1;
  const granularity = size === 1 && rows !== 1 ? "tensor" : groups === 1 ? "channel" : "group";
  const isFit = block !== undefined || (size === rows * groups && columns % groups === 0);
  if (granularity !== "tensor" && !isFit) {
    throw misfit(scale, `scales of ${textOf(shape)}`, textOf(scale.shape));
  }
  const groupSize = block?.columns ?? columns / groups;
  const result = {
    codes,
    shape: [rows, columns] as const,
    isTransposed: false,
    granularity,
    groupSize: granularity === "group" ? groupSize : columns,
    scale: isBlock ? rowsOf(floats(scale), rows, groups, block) : floats(scale),
    scaleShape: isBlock ? [rows, groups] : scale.shape,
    valueDtype: valueDtype(scale),
  } as const;
  if (isBlock && zeroPoint !== undefined) {
    throw misfit(zeroPoint, "missing beside scales of blocks", textOf(zeroPoint.shape));
  }
  return {
    ...result,
    ...zeroPointOf(zeroPoint, rows, groups, bits, unpack, size),
    ...groupIndexOf(groupIndex, columns, groups),
  };
}

function zeroPointOf(
  part: StoredPart | undefined,
  rows: number,
  groups: number,
  bits: number,
  unpack: typeof unpackDense,
  size: number,
): { zeroPoint?: Int32Array } {
  if (part === undefined) return {};
  if (part.dtype === "int8") {
    if (part.bytes.length !== size) {
      throw misfit(part, `zero points of ${size} scales`, part.bytes.length);
    }
    return { zeroPoint: Int32Array.from(new Int8Array(part.bytes.slice().buffer)) };
  }
  // Packed along rows: each column of words is a stream of its own.
  const [height, width] = part.shape;
  const least = unpack === unpackDense ? (rows * bits) / 32 : rows / Math.floor(32 / bits);
  if (part.dtype !== "int32" || width !== groups || height !== Math.ceil(least)) {
    const expected = `int32 words of zero points of ${rows} rows of ${groups} groups`;
    throw misfit(part, expected, `${part.dtype} ${textOf(part.shape)}`);
  }
  const columns = transpose(words(part), height, width);
  const codes = transpose(unpack(columns, groups, rows, bits), groups, rows);
  return { zeroPoint: Int32Array.from(codes, (code) => code - 2 ** (bits - 1)) };
}

/** The group of each input; none if there is a negative one among them. */
function groupIndexOf(
  part: StoredPart | undefined,
  inputs: number,
  groups: number,
): { groupIndex?: Int32Array } {
  if (part === undefined) return {};
  if (part.dtype !== "int32" || sizeOf(part.shape) !== inputs) {
    throw misfit(part, `int32 [${inputs}]`, `${part.dtype} ${textOf(part.shape)}`);
  }
  const groupIndex = new Int32Array(part.bytes.slice().buffer);
  const tooLarge = groupIndex.find((group) => group >= groups);
  if (tooLarge !== undefined) throw misfit(part, `groups below ${groups}`, tooLarge);
  return groupIndex.some((group) => group < 0) ? {} : { groupIndex };
}

/** Bits and group size of MLX: of the module, of the checkpoint, or the usual ones of those that fit. */
function mlxForm(
  { packed, scale }: Readonly<Record<string, TensorInfo>>,
  config: QuantizationConfig | undefined,
  module: string,
): { readonly bits: number; readonly groupSize: number } {
  const own = config?.modules.get(module);
  if (own !== undefined) return own;
  const usual = { bits: config?.bits[0] ?? 4, groupSize: config?.groupSize ?? 64 };
  const fits = ({ bits, groupSize }: typeof usual): boolean =>
    32 * packed.shape[1] === scale.shape[1] * groupSize * bits;
  if (config !== undefined || fits(usual)) return usual;
  // 4 bits in groups of 64 and 8 bits in groups of 32 have the same shapes.
  const forms = [64, 32, 128].flatMap((groupSize) => MLX_BITS.map((bits) => ({ bits, groupSize })));
  return forms.find(fits) ?? usual;
}

const MLX_BITS = [4, 8, 2, 3, 5, 6];

function unpackMlx(
  { packed, scale, offset }: StoredParts,
  config: QuantizationConfig | undefined,
  module: string,
): QuantizedValues {
  const [rows, width] = packed.shape;
  const [scaleRows, groups] = scale.shape;
  const { bits, groupSize } = mlxForm({ packed, scale }, config, module);
  const columns = groups * groupSize;
  const isKnown = MLX_BITS.includes(bits) && groupSize > 0 && 32 * width === columns * bits;
  if (!isKnown || scaleRows !== rows) {
    const form = `${bits} bits in groups of ${groupSize}`;
    throw misfit(
      packed,
      `codes of ${form} with scales ${textOf(scale.shape)}`,
      textOf(packed.shape),
    );
  }
  if (sizeOf(offset.shape) !== rows * groups) {
    throw misfit(offset, `offsets beside scales ${textOf(scale.shape)}`, textOf(offset.shape));
  }
  return {
    codes: unpackDense(words(packed), rows, columns, bits),
    shape: [rows, columns],
    isTransposed: false,
    groupSize,
    granularity: "group",
    scale: floats(scale),
    scaleShape: scale.shape,
    offset: floats(offset),
    valueDtype: valueDtype(scale),
  };
}

/** Place of nibble i of a word among its eight columns, in AutoAWQ's order. */
const AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7];

function unpackAwq(source: Uint32Array): Uint8Array {
  const codes = new Uint8Array(8 * source.length);
  source.forEach((word, k) => {
    AWQ_ORDER.forEach((column, nibble) => {
      codes[8 * k + column] = (word >>> (4 * nibble)) & 15;
    });
  });
  return codes;
}

/** GPTQ and AWQ: [in, out], groups along in. */
function unpackTransposed(
  layout: "gptq" | "awq",
  { packed, zeroPoint, scale, groupIndex }: StoredParts,
  config: QuantizationConfig | undefined,
): QuantizedValues {
  const [groups, outputs] = scale.shape;
  const [height, width] = packed.shape;
  const bits = (32 * zeroPoint.shape[1]) / outputs;
  const inputs = layout === "awq" ? height : (32 * height) / bits;
  const isKnown =
    layout === "awq"
      ? bits === 4 && width * 8 === outputs
      : [2, 3, 4, 8].includes(bits) && width === outputs;
  if (!isKnown || !Number.isInteger(inputs) || zeroPoint.shape[0] !== groups) {
    const beside = `scales ${textOf(scale.shape)} and zero points ${textOf(zeroPoint.shape)}`;
    throw misfit(packed, `${layout} codes beside ${beside}`, textOf(packed.shape));
  }
  const given = config?.groupSize ?? 0;
  const groupSize = given > 0 ? given : Math.ceil(inputs / groups);
  if (groupIndex === undefined && Math.ceil(inputs / groupSize) !== groups) {
    throw misfit(
      scale,
      `scales of ${inputs} inputs in groups of ${groupSize}`,
      textOf(scale.shape),
    );
  }
  const mask = 2 ** bits - 1;
  const step = layout === "gptq" && config?.checkpointFormat !== "gptq_v2" ? 1 : 0;
  const codes =
    layout === "awq"
      ? unpackAwq(words(packed))
      : transpose(
          unpackDense(transpose(words(packed), height, width), outputs, inputs, bits),
          outputs,
          inputs,
        );
  const zeros =
    layout === "awq"
      ? unpackAwq(words(zeroPoint))
      : unpackDense(words(zeroPoint), groups, outputs, bits);
  return {
    codes,
    shape: [inputs, outputs],
    isTransposed: true,
    groupSize,
    granularity: "group",
    scale: floats(scale),
    scaleShape: scale.shape,
    zeroPoint: Int32Array.from(zeros, (zero) => (zero + step) & mask),
    ...groupIndexOf(groupIndex, inputs, groups),
    valueDtype: valueDtype(scale),
  };
}
