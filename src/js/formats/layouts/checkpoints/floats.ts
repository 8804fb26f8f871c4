// Weights of 8- and 4-bit floats with scales: float8 per tensor, channel, group or block, MXFP8, NVFP4 and MXFP4.
// Source: compressed-tensors 0.18 (float-quantized, naive-quantized, mxfp8-quantized, nvfp4-pack-quantized,
// mxfp4-pack-quantized), DeepSeek's weight_dequant, ModelOpt's NVFP4.

import { fieldOf } from "../../../base/fields.js";
import { decodeValues, type FileDType } from "../../dtypes.js";
import {
  misfit,
  type QuantizedValues,
  type StoredPart,
  type StoredParts,
  type TensorInfo,
  type ValueDType,
} from "../unpack.js";
import { NO_CONFIG, type QuantizationConfig, type ScaleBlock } from "./config.js";

/** float8: codes of one byte. float4: two codes of e2m1 in a byte, the first one in the low bits. */
export type FloatLayout = "float8" | "float4";

export const isFloatLayout = (layout: string): layout is FloatLayout =>
  layout === "float8" || layout === "float4";

/** The shape of a weight by that of its codes. */
export function floatShape(layout: FloatLayout, shape: readonly number[]): readonly number[] {
  if (layout === "float8") return shape;
  const [, width] = matrixOf(shape);
  return [...shape.slice(0, shape.length > 2 ? 2 : 1), 2 * width];
}

/** A stack of matrices as one matrix, below each other, also of rows in blocks; other shapes as they are. */
export function matrixOf(shape: readonly number[]): readonly number[] {
  if (shape.length < 3) return shape;
  const [count, rows, ...columns] = shape;
  return [count * rows, columns.reduce((product, length) => product * length)];
}

/** The shape of scales as that of their matrix, or of a stack of these: ModelOpt's of blocks are [rows, 1, columns, 1]. */
export function scaleShapeOf(shape: readonly number[]): readonly number[] {
  const [height, one, width, last] = shape;
  return shape.length === 4 && one === 1 && last === 1 ? [height, width] : shape;
}

/** The usual block, of DeepSeek's and other checkpoints. */
const USUAL: ScaleBlock = { rows: 128, columns: 128 };

/** The row of scales of a row of a weight. */
function scaleRowOf(block: ScaleBlock, row: number): number {
  const { rows } = block;
  const matrix = fieldOf(block, "matrix");
  if (matrix === undefined) return Math.floor(row / rows);
  const each = Math.ceil(matrix / rows);
  return Math.floor(row / matrix) * each + Math.floor((row % matrix) / rows);
}

/** The rows [begin, end) of scales of rows [first, last) of a weight. */
export const scaleRowsOf = (block: ScaleBlock, first: number, last: number): [number, number] => [
  scaleRowOf(block, first),
  last > first ? scaleRowOf(block, last - 1) + 1 : scaleRowOf(block, first),
];

/**
 * The block of a scale: of the configuration if it fits; one for all, for each row or for groups of it by the shapes; or
 * 128 × 128. Other blocks are taken from shapes alone only if they are alike in both directions: the shapes of other
 * ones are those of transposed scales, too. Each matrix of a stack has whole blocks, or all have one scale.
 * @returns undefined if no block fits
 */
export function scaleBlockOf(
  shape: readonly number[],
  given: readonly number[],
  config: QuantizationConfig | undefined,
): ScaleBlock | undefined {
  const scaleShape = scaleShapeOf(given);
  if (shape.length === 3 && scaleShape.length === 3) {
    if (shape[0] !== scaleShape[0]) return undefined;
    const [, rows, columns] = shape;
    const [, height, width] = scaleShape;
    // Experts of Llama 4 are [in, out], and have the scales of outputs as [out, 1] or [1, out].
    const isLast = height === columns && width === 1 && rows !== columns;
    if (isLast || (height === 1 && width === columns && width > 1)) return { rows, columns: 1 };
    const block = matrixBlockOf([rows, columns], [height, width], config);
    return block && { ...block, matrix: rows };
  }
  const [height = 1, width = 1] = scaleShape;
  if (scaleShape.length > 2 || (shape.length === 3 && height * width > 1)) return undefined;
  return matrixBlockOf(matrixOf(shape), scaleShape, config);
}

function matrixBlockOf(
  [rows, columns]: readonly number[],
  scaleShape: readonly number[],
  config: QuantizationConfig | undefined,
): ScaleBlock | undefined {
  const [height = 1, width = 1] = scaleShape;
  if (height * width === 0) return undefined;
  const fits = (block: ScaleBlock): boolean => {
    const first = fieldOf(block, "first") ?? 0;
    const [begin, end] = scaleRowsOf(block, first, first + rows);
    return end - begin === height && Math.ceil(columns / block.columns) === width;
  };
  const known = config?.blocks.find(fits);
  if (known !== undefined) return known;
  if (height === 1 && width === 1) {
    // A matrix of one scale where the configuration has blocks lacks the others.
    const isPart = scaleShape.length === 2 && config !== undefined && config.blocks.length > 0;
    return isPart ? undefined : { rows: Math.max(rows, 1), columns: Math.max(columns, 1) };
  }
  if (height === rows) {
    return columns % width === 0 ? { rows: 1, columns: columns / width } : undefined;
  }
  if (scaleShape.length !== 2) return undefined;
  if (fits(USUAL)) return USUAL;
  const even = { rows: rows / height, columns: columns / width };
  const isAlike = height === width || (even.rows === even.columns && even.rows % 32 === 0);
  return Number.isInteger(even.rows) && Number.isInteger(even.columns) && isAlike
    ? even
    : undefined;
}

/** The configuration of a part of a weight, whose block is known. */
export const withBlock = (
  config: QuantizationConfig | undefined,
  block: ScaleBlock,
): QuantizationConfig => ({ ...(config ?? NO_CONFIG), blocks: [block] });

/** The dtypes of scales that are floats of their own. */
const FLOAT_SCALES: readonly FileDType[] = ["float32", "float16", "bfloat16"];

/**
 * The block of the scales of floats, whose dtype fits it: powers of two are of 32 inputs (or, as float8_e8m0fnu, of
 * blocks of rows), float8_e4m3fn of 16 inputs of float4 that have a scale for all.
 * @returns undefined if no block fits
 */
export function floatBlockOf(
  layout: FloatLayout,
  { codes, scale, divisor, factor }: Readonly<Record<string, TensorInfo>>,
  config: QuantizationConfig | undefined,
): ScaleBlock | undefined {
  const shape = floatShape(layout, codes.shape);
  const [rows, columns] = matrixOf(shape);
  const isWhole = divisor !== undefined || factor !== undefined;
  const tiles = config?.tiles;
  let block: ScaleBlock | undefined;
  if (tiles !== undefined && scale.dtype !== "float32") {
    const inputs = scale.dtype === "float8_e4m3fn" ? 16 : 32;
    const padded = tiledSize(tiles.rows, Math.ceil(columns / inputs));
    // In two axes, or flat.
    const isPadded = [String(padded), String(shapeSize(padded))].includes(String(scale.shape));
    block = isPadded && columns % inputs === 0 ? { rows: 1, columns: inputs } : undefined;
  } else block = scaleBlockOf(shape, scale.shape, config);
  if (block === undefined) return undefined;
  const isGroup = (inputs: number): boolean =>
    block.rows === 1 || rows === 1 ? block.columns === inputs : false;
  if (FLOAT_SCALES.includes(scale.dtype))
    return layout === "float8" && !isWhole ? block : undefined;
  if (scale.dtype === "float8_e4m3fn") {
    return layout === "float4" && isWhole && isGroup(16) ? block : undefined;
  }
  if (isWhole || (scale.dtype !== "uint8" && scale.dtype !== "float8_e8m0fnu")) return undefined;
  const isBlocks = layout === "float8" && scale.dtype === "float8_e8m0fnu" && block.rows > 1;
  return isGroup(32) || isBlocks ? block : undefined;
}

/** Inputs of a group whose scales kernels for tensor cores take in tiles; undefined for other scales. */
export function tileInputs({
  codes,
  scale,
}: Readonly<Record<string, TensorInfo>>): number | undefined {
  if (codes.shape.length < 2 || scale.shape.length === 0) return undefined;
  if (scale.dtype === "float8_e4m3fn") return 16;
  return scale.dtype === "uint8" || scale.dtype === "float8_e8m0fnu" ? 32 : undefined;
}

/** Whether the lengths of scales are those of whole tiles, in two axes or flat, and not those of rows and groups. */
export function hasTiles(layout: FloatLayout, info: Readonly<Record<string, TensorInfo>>): boolean {
  const inputs = tileInputs(info);
  if (inputs === undefined) return false;
  const shape = floatShape(layout, info.codes.shape);
  const [rows, columns] = shape.slice(-2);
  const groups = Math.ceil(columns / inputs);
  const padded = tiledSize(rows, groups);
  const count = shapeSize(shape.slice(0, -2));
  const own = info.scale.shape;
  return own.length === 1
    ? own[0] === count * shapeSize(padded)
    : String(own.slice(-2)) === String(padded) && String(padded) !== String([rows, groups]);
}

const shapeSize = (shape: readonly number[]): number =>
  shape.reduce((size, length) => size * length, 1);

/** The shape of scales in tiles of 128 rows and 4 groups. */
const tiledSize = (rows: number, groups: number): [number, number] => [
  128 * Math.ceil(rows / 128),
  4 * Math.ceil(groups / 4),
];

/**
 * Scales of rows and groups that lie in tiles of 128 rows and 4 groups, as cuBLAS takes them.
 * Source: the block-scaled matrix multiplications of cuBLAS, "1D block scaling factors layout".
 */
function untiled(
  values: Float32Array,
  rows: number,
  groups: number,
  { first }: { readonly first: number },
): Float32Array {
  const plain = new Float32Array(rows * groups);
  const across = Math.ceil(groups / 4);
  for (let i = 0, at = 0; i < rows; i++) {
    const row = first + i;
    const tile = Math.floor(row / 128) * across;
    const within = (row % 32) * 16 + Math.floor((row % 128) / 32) * 4;
    for (let group = 0; group < groups; group++, at++) {
      plain[at] = values[(tile + (group >> 2)) * 512 + within + (group & 3)];
    }
  }
  return plain;
}

/** Scales, and the type that their products with codes are rounded to. */
interface Scales {
  readonly values: Float32Array;
  readonly valueDtype: ValueDType;
}

const decode = ({ dtype, shape, bytes }: StoredPart, as: FileDType = dtype): Float32Array =>
  decodeValues(as, bytes, new Float32Array(shape.reduce((size, length) => size * length, 1)));

/** Checks the scale of the whole tensor, if there is one. */
function checkWhole({ divisor, factor }: StoredParts): void {
  const whole = factor ?? divisor;
  if (whole === undefined || (whole.dtype === "float32" && shapeSize(whole.shape) === 1)) return;
  throw misfit(whole, "one float32", `${whole.dtype} [${whole.shape.join(", ")}]`);
}

/** The scales, with the scale of the whole tensor in them. */
function scalesOf({ scale, divisor, factor }: StoredParts): Scales {
  const { dtype } = scale;
  if (factor !== undefined || divisor !== undefined) {
    const [value] = decode((factor ?? divisor) as StoredPart);
    // ModelOpt multiplies in float32; compressed-tensors divides, and rounds the values to bfloat16.
    const values = decode(scale).map((each) =>
      factor === undefined ? each / value : each * value,
    );
    return { values, valueDtype: factor === undefined ? "bfloat16" : "float32" };
  }
  // Powers of two as compressed-tensors stores them; 255 is infinity there, not NaN.
  if (dtype === "uint8") {
    return {
      values: Float32Array.from(scale.bytes, (e) => 2 ** (e - 127)),
      valueDtype: "bfloat16",
    };
  }
  if (dtype === "float8_e8m0fnu" || dtype === "float8_e4m3fn") {
    return { values: decode(scale), valueDtype: "float32" };
  }
  if (dtype !== "float32" && dtype !== "float16" && dtype !== "bfloat16") {
    throw misfit(scale, "scales of float32, float16 or bfloat16", dtype);
  }
  return { values: decode(scale), valueDtype: dtype };
}

/**
 * Unpacks a weight of floats with scales, as groups of each row.
 * @param known  the block, where it is known
 */
export function unpackFloats(
  layout: FloatLayout,
  parts: StoredParts,
  config: QuantizationConfig | undefined,
  known?: ScaleBlock,
): QuantizedValues {
  const { codes, scale } = parts;
  const shape = floatShape(layout, codes.shape);
  checkWhole(parts);
  const block = known ?? floatBlockOf(layout, parts, config);
  if (block === undefined) {
    const found = `${scale.dtype} [${scale.shape.join(", ")}]`;
    throw misfit(scale, `scales of ${layout} [${shape.join(", ")}]`, found);
  }
  const { values, valueDtype } = scalesOf(parts);
  const [rows, columns] = matrixOf(shape);
  const dtype = layout === "float4" ? "float4_e2m1fn" : codes.dtype;
  const bytes = layout === "float4" && config?.tiles ? swapped(codes.bytes) : codes.bytes;
  const form = {
    codes: decodeValues(dtype, bytes, new Float32Array(rows * columns)),
    shape: [rows, columns] as const,
    isTransposed: false,
    valueDtype,
  };
  if (values.length === 1) {
    const own = { granularity: "tensor", groupSize: columns, scaleShape: [1] } as const;
    return { ...form, ...own, scale: values };
  }
  const groups = Math.ceil(columns / block.columns);
  const isTiled = config?.tiles !== undefined && scale.dtype !== "float32";
  return {
    ...form,
    granularity: groups === 1 ? "channel" : "group",
    groupSize: block.columns,
    scale: isTiled
      ? untiled(values, rows, groups, config.tiles as { readonly first: number })
      : rowsOf(values, rows, groups, block),
    scaleShape: [rows, groups],
  };
}

/** Codes of 4 bits with the halves of each byte exchanged. */
const swapped = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => (byte >> 4) | (byte << 4));

/** The scales of each row, of those of rows of blocks. */
export function rowsOf(
  values: Float32Array,
  rows: number,
  groups: number,
  block: ScaleBlock,
): Float32Array {
  if (block.rows === 1) return values;
  const all = new Float32Array(rows * groups);
  const first = fieldOf(block, "first") ?? 0;
  const begin = scaleRowOf(block, first);
  for (let row = 0; row < rows; row++) {
    const at = (scaleRowOf(block, first + row) - begin) * groups;
    all.set(values.subarray(at, at + groups), row * groups);
  }
  return all;
}
