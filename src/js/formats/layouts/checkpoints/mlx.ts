// MLX: codes with a scale and an offset for each group.

import {
  misfit,
  type QuantizedValues,
  type StoredParts,
  type TensorInfo,
  unpackDense,
} from "../unpack.js";
import type { QuantizationConfig } from "./config.js";
import { floats, sizeOf, textOf, valueDtype, words } from "./parts.js";

/** Bits and group size of MLX: of the module, of the checkpoint, or the usual ones of those that fit. */
export function mlxForm(
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

export function unpackMlx(
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
