// MLX: codes with a scale and an offset for each group, or 8- and 4-bit floats with a scale for each group.
// Source: MLX, mlx/backend/cpu/quantized.cpp.

import { ownFields } from "../../../base/fields.js";
import {
  misfit,
  type QuantizedValues,
  type StoredParts,
  type TensorInfo,
  unpackDense,
} from "../unpack.js";
import { moduleForm, type QuantizationConfig } from "./config.js";
import { matrixOf, unpackFloats } from "./floats.js";
import { floats, textOf, valueDtype, words } from "./parts.js";

/**
 * Bits and group size of MLX. Their product is known from the shapes, so either of them gives the other one: those of the
 * module's own entry, the group size or the bits of the checkpoint, or the usual ones.
 * @returns undefined if nothing fits the shapes
 */
export function mlxForm(
  { packed, scale }: Readonly<Record<string, TensorInfo>>,
  config: QuantizationConfig | undefined,
  module: string,
): { readonly bits: number; readonly groupSize: number } | undefined {
  const [width, groups] = [packed, scale].map(({ shape }) => shape.at(-1) as number);
  const product = (32 * width) / groups;
  const isKnown = ({ bits, groupSize }: { bits: number; groupSize: number }): boolean =>
    MLX_BITS.includes(bits) && groupSize > 0 && groupSize % 8 === 0 && product === bits * groupSize;
  const { bits, groupSize } = moduleForm(config, module) ?? {};
  const candidates: { bits: number; groupSize: number }[] = [];
  const byBits = (known: number | undefined): void => {
    if (known !== undefined) candidates.push({ bits: known, groupSize: product / known });
  };
  const byGroup = (known: number | undefined): void => {
    if (known !== undefined) candidates.push({ bits: product / known, groupSize: known });
  };
  if (bits !== undefined && groupSize !== undefined) candidates.push({ bits, groupSize });
  byBits(bits);
  byGroup(groupSize);
  byGroup(config?.groupSize);
  byBits(config?.bits[0]);
  const found = candidates.find(isKnown);
  if (found !== undefined) return found;
  // Without a word on either, only where one pair has this product: not 4 bits in groups of 64, or 8 bits in groups of 32.
  const usual = [64, 32, 128].map((size) => ({ bits: product / size, groupSize: size }));
  const fits = usual.filter(isKnown);
  return fits.length === 1 ? fits[0] : undefined;
}

/** Whether words of codes and scales of groups are of equally many values. */
function fitWords(packed: TensorInfo, scale: TensorInfo, bits: number, groupSize: number): boolean {
  const [width, groups] = [packed, scale].map(({ shape }) => shape.at(-1) as number);
  return 32 * width === groups * groupSize * bits;
}

const MLX_BITS = [4, 8, 2, 3, 5, 6];

export function unpackMlx(
  { packed, scale, offset }: StoredParts,
  config: QuantizationConfig | undefined,
  module: string,
): QuantizedValues {
  const [rows] = matrixOf(packed.shape);
  const [scaleRows, groups] = matrixOf(scale.shape);
  const form = mlxForm({ packed, scale }, config, module);
  if (form === undefined || scaleRows !== rows) {
    throw misfit(packed, `codes with scales ${textOf(scale.shape)}`, textOf(packed.shape));
  }
  const { bits, groupSize } = form;
  const columns = groups * groupSize;
  if (offset.dtype !== scale.dtype) throw misfit(offset, scale.dtype, offset.dtype);
  if (textOf(offset.shape) !== textOf(scale.shape)) {
    throw misfit(offset, `offsets beside scales ${textOf(scale.shape)}`, textOf(offset.shape));
  }
  return {
    codes: unpackDense(words(packed), rows, columns, bits),
    shape: [rows, columns],
    isTransposed: false,
    groupSize,
    granularity: "group",
    scale: floats(scale),
    scaleShape: [rows, groups],
    offset: floats(offset),
    valueDtype: valueDtype(scale),
  };
}

/** Modes of floats. Shapes alone tell them apart. */
const FLOAT_MODES = [
  { mode: "mxfp8", bits: 8, groupSize: 32 },
  { mode: "mxfp4", bits: 4, groupSize: 32 },
  { mode: "nvfp4", bits: 4, groupSize: 16 },
];

/** The mode of a weight of floats. @returns undefined if codes and scales do not fit each other */
export function mlxFloatMode({ packed, scale }: Readonly<Record<string, TensorInfo>>) {
  const rowsOf = ({ shape }: TensorInfo): string => textOf(shape.slice(0, -1));
  if (scale.dtype !== "uint8" || rowsOf(packed) !== rowsOf(scale)) return undefined;
  return FLOAT_MODES.find(({ bits, groupSize }) => fitWords(packed, scale, bits, groupSize));
}

/** Unpacks words of floats: their bytes are those of float4 and float8 weights of other checkpoints. */
export function unpackMlxFloats({ packed, scale }: StoredParts): QuantizedValues {
  const found = mlxFloatMode({ packed, scale });
  if (found === undefined) {
    throw misfit(packed, `floats beside scales ${textOf(scale.shape)}`, textOf(packed.shape));
  }
  const { mode, bits, groupSize } = found;
  const shape = [...packed.shape.slice(0, -1), 4 * (packed.shape.at(-1) as number)];
  const codes = { ...packed, shape, dtype: bits === 4 ? "uint8" : "float8_e4m3fn" } as const;
  const scales = { ...scale, dtype: mode === "nvfp4" ? "float8_e4m3fn" : "uint8" } as const;
  const layout = bits === 4 ? "float4" : "float8";
  const parts = ownFields({ codes, scale: scales }) as StoredParts;
  return unpackFloats(layout, parts, undefined, { rows: 1, columns: groupSize });
}
