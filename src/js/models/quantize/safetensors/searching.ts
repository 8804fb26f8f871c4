// Qparams of the suffixes -mse and -hqq in the layouts of other engines.

import type { Core } from "../../../core/core.js";
import type { LinearScheme } from "../../scheme.js";
import { type Encoder, type FileEncoder, ownEncoder } from "../../weights/slices.js";
import { roundInPlace, type ScaleDType } from "../halves.js";

/**
 * The encoder of a layout, with scales and zero points as our own search chooses them, rounded to the float type of
 * the file.
 * @param own  the layout's encoder, which makes the codes
 */
export function searchingEncoder(
  core: Core,
  scheme: LinearScheme,
  own: FileEncoder,
  layout: "compressed" | "mlx",
  dtype: ScaleDType,
): FileEncoder {
  // Codes of compressed-tensors are signed, those of MLX are not.
  const bits = /\d+/.exec(scheme.dtype)?.[0];
  const isOffset = layout === "mlx";
  const searched = {
    ...scheme,
    dtype: `${isOffset ? "u" : ""}int${bits}`,
    isAffine: isOffset || scheme.isAffine,
  } as LinearScheme;
  // MLX keeps a real offset, which half-quadratic splitting optimizes.
  const float = isOffset && scheme.search === "hqq" ? "float" : undefined;
  const finder = ownEncoder(core, searched, float);
  const converted = ({ scale, zero }: ReturnType<Encoder["choose"]>) => {
    const rounded = roundInPlace(scale.slice(), dtype);
    const zeros = Float32Array.from(zero, (each, i) =>
      isOffset && !float ? -each * rounded[i] : each,
    );
    return { scale: rounded, zero: isOffset ? roundInPlace(zeros, dtype) : zeros };
  };
  return {
    choose: (values, groups) => converted(finder.choose(values, groups)),
    chooseLong: async (group) => converted(await finder.chooseLong(group)),
    encode: own.encode,
    restore: own.restore,
  };
}
