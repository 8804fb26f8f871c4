// Weights of 8- and 4-bit floats with scales: float8 per tensor, channel, group or block, MXFP8, NVFP4 and MXFP4.
// Source: compressed-tensors 0.18 (float-quantized, naive-quantized, mxfp8-quantized, nvfp4-pack-quantized,
// mxfp4-pack-quantized), DeepSeek's weight_dequant, ModelOpt's NVFP4.

import { decodeValues, type FileDType } from "../../dtypes.js";
import {
  misfit,
  type QuantizedValues,
  type StoredPart,
  type StoredParts,
  type ValueDType,
} from "../unpack.js";
import type { QuantizationConfig, ScaleBlock } from "./config.js";

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

/** The usual block, of DeepSeek's and other checkpoints. */
const USUAL: ScaleBlock = { rows: 128, columns: 128 };

/**
 * The block of a scale: of the configuration if it fits; by the shapes where they divide each other, as for channels and
 * groups; or 128 × 128. Each matrix of a stack has whole blocks, or all have one scale.
 * @returns undefined if no block fits
 */
export function scaleBlockOf(
  shape: readonly number[],
  scaleShape: readonly number[],
  config: QuantizationConfig | undefined,
): ScaleBlock | undefined {
  if (shape.length === 3 && scaleShape.length === 3) {
    if (shape[0] !== scaleShape[0]) return undefined;
    const [, rows, columns] = shape;
    const [, height, width] = scaleShape;
    // Experts of Llama 4 are [in, out], and have the scales of outputs as [out, 1].
    if (height === columns && width === 1 && rows !== columns) return { rows, columns: 1 };
    const block = scaleBlockOf([rows, columns], [height, width], config);
    return block !== undefined && rows % block.rows === 0 ? block : undefined;
  }
  const [rows, columns] = matrixOf(shape);
  const [height = 1, width = 1] = scaleShape;
  if (scaleShape.length > 2 || height * width === 0) return undefined;
  if (shape.length === 3 && height * width > 1) return undefined;
  const fits = (block: ScaleBlock): boolean =>
    Math.ceil((rows + (block.skipped ?? 0)) / block.rows) === height &&
    Math.ceil(columns / block.columns) === width;
  if (height === 1 && width === 1)
    return { rows: Math.max(rows, 1), columns: Math.max(columns, 1) };
  const given = config?.blocks.find(fits);
  if (given !== undefined) return given;
  const even = { rows: rows / height, columns: columns / width };
  const isEven = Number.isInteger(even.rows) && Number.isInteger(even.columns) && fits(even);
  if (isEven && height === rows) return even;
  return fits(USUAL) ? USUAL : isEven ? even : undefined;
}

/** The configuration of a part of a weight, whose block is known. */
export const withBlock = (
  config: QuantizationConfig | undefined,
  block: ScaleBlock,
): QuantizationConfig => ({ ...(config ?? NO_CONFIG), blocks: [block] });

const NO_CONFIG: QuantizationConfig = {
  bits: [],
  groupSize: undefined,
  modules: new Map(),
  checkpointFormat: undefined,
  method: undefined,
  isOldPacking: false,
  blocks: [],
};

/** Scales, and the type that their products with codes are rounded to. */
interface Scales {
  readonly values: Float32Array;
  readonly valueDtype: ValueDType;
}

const decode = ({ dtype, shape, bytes }: StoredPart, as: FileDType = dtype): Float32Array =>
  decodeValues(as, bytes, new Float32Array(shape.reduce((size, length) => size * length, 1)));

/** The scales, with the scale of the whole tensor in them. */
function scalesOf({ scale, divisor, factor }: StoredParts): Scales {
  const { dtype } = scale;
  if (factor !== undefined || divisor !== undefined) {
    const whole = (factor ?? divisor) as StoredPart;
    const [value, ...others] = decode(whole);
    if (whole.dtype !== "float32" || value === undefined || others.length > 0) {
      throw misfit(whole, "one float32", `${whole.dtype} [${whole.shape.join(", ")}]`);
    }
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

/** Unpacks a weight of floats with scales, as groups of each row. */
export function unpackFloats(
  layout: FloatLayout,
  parts: StoredParts,
  config: QuantizationConfig | undefined,
): QuantizedValues {
  const { codes, scale } = parts;
  const shape = floatShape(layout, codes.shape);
  const block = scaleBlockOf(shape, scale.shape, config);
  if (block === undefined) {
    throw misfit(scale, `scales of [${shape.join(", ")}]`, `[${scale.shape.join(", ")}]`);
  }
  const { values, valueDtype } = scalesOf(parts);
  const [rows, columns] = matrixOf(shape);
  const dtype = layout === "float4" ? "float4_e2m1fn" : codes.dtype;
  const form = {
    codes: decodeValues(dtype, codes.bytes, new Float32Array(rows * columns)),
    shape: [rows, columns] as const,
    isTransposed: false,
    valueDtype,
  };
  if (values.length === 1) {
    const own = { granularity: "tensor", groupSize: columns, scaleShape: [1] } as const;
    return { ...form, ...own, scale: values };
  }
  const groups = Math.ceil(columns / block.columns);
  return {
    ...form,
    granularity: groups === 1 ? "channel" : "group",
    groupSize: block.columns,
    scale: rowsOf(values, rows, groups, block),
    scaleShape: [rows, groups],
  };
}

/** The scales of each row, of those of rows of blocks. */
export function rowsOf(
  values: Float32Array,
  rows: number,
  groups: number,
  block: ScaleBlock,
): Float32Array {
  if (block.rows === 1) return values;
  const all = new Float32Array(rows * groups);
  for (let row = 0; row < rows; row++) {
    const at = Math.floor((row + (block.skipped ?? 0)) / block.rows) * groups;
    all.set(values.subarray(at, at + groups), row * groups);
  }
  return all;
}
