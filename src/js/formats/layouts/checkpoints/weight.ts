// A quantized weight of a checkpoint: its bits and shape by the shapes of its tensors, and its codes and scales.

import { bytesOf, type FileDType } from "../../dtypes.js";
import { misfit, type QuantizedValues, type StoredParts, type TensorInfo } from "../unpack.js";
import { packingOf, unpackRows } from "./compressed.js";
import type { QuantizationConfig } from "./config.js";
import { floatBlockOf, floatShape, isFloatLayout, scaleBlockOf, unpackFloats } from "./floats.js";
import { outputsOf, unpackTransposed } from "./gptq.js";
import { mlxFloatMode, mlxForm, unpackMlx, unpackMlxFloats } from "./mlx.js";
import { sizeOf } from "./parts.js";
import { FLOATS8, type LayoutName } from "./patterns.js";

/** Bits and logical shape of a quantized weight. */
export interface WeightForm {
  readonly bits: number;
  /** Of the module's weight: [out, in], or a stack of these. */
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
  if (isFloatLayout(layout)) {
    const shape = floatShape(layout, codes.shape);
    const isFit = floatBlockOf(layout, info, config) !== undefined;
    return isFit ? { bits: layout === "float4" ? 4 : 8, shape } : undefined;
  }
  if (config?.hasGroupIndex === true && info.groupIndex === undefined && layout !== "awq") {
    const isIndexed = layout === "gptq" || layout === "compressed-tensors";
    if (isIndexed && (scale.shape[layout === "gptq" ? 0 : 1] ?? 1) > 1) return undefined;
  }
  const hasZeros = layout === "int8" || layout === "compressed-tensors";
  if (hasZeros && config?.hasZeroPoints === true && zeroPoint === undefined) return undefined;
  if (layout === "int8") {
    if (config?.hasNarrowCodes === true) return undefined;
    const isFit = scaleBlockOf(codes.shape, scale.shape, config) !== undefined;
    return isFit ? { bits: 8, shape: codes.shape } : undefined;
  }
  const [height, width] = packed.shape;
  if (layout === "compressed-tensors") {
    if (given?.length !== 2 || given[0] !== height) return undefined;
    const packing = packingOf(width, given[1], config);
    return packing && { bits: packing.bits, shape: given };
  }
  if (layout === "mlx" || layout === "mlx-float") {
    const isFloat = layout === "mlx-float";
    const found = isFloat ? mlxFloatMode(info) : mlxForm(info, config, module);
    const groups = scale.shape.at(-1);
    if (found === undefined || groups === undefined) return undefined;
    return { bits: found.bits, shape: [...packed.shape.slice(0, -1), groups * found.groupSize] };
  }
  if (scale.shape.length !== 2) return undefined;
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
  checkParts(layout, parts);
  if (isFloatLayout(layout)) return unpackFloats(layout, parts, config);
  if (layout === "mlx") return unpackMlx(parts, config, module);
  if (layout === "mlx-float") return unpackMlxFloats(parts);
  if (layout === "gptq" || layout === "awq") {
    return unpackTransposed(layout, parts, config, module);
  }
  return unpackRows(parts, config);
}

/**
 * The weights of some outputs each that make up a weight of [in, out], in the order of its module's weight; undefined for
 * another layout.
 * @throws {RangeError} `ZP_INVALID_FILE` as `unpackWeight`
 */
export function outputsOfWeight(
  layout: LayoutName,
  parts: StoredParts,
): ReturnType<typeof outputsOf> | undefined {
  if (layout !== "gptq" && layout !== "awq") return undefined;
  checkParts(layout, parts);
  return outputsOf(layout, parts);
}

function checkParts(layout: LayoutName, parts: StoredParts): void {
  for (const part of Object.values(parts)) {
    const { dtype, shape, bytes } = part;
    if (!PART_DTYPES.includes(dtype)) {
      throw misfit(part, `a part of a weight of the layout ${layout}`, dtype);
    }
    // All of them are whole bytes.
    const size = bytesOf(dtype, sizeOf(shape));
    if (bytes.length !== size) throw misfit(part, `${size} bytes`, bytes.length);
  }
}
