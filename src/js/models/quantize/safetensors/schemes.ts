// Schemes of target "compressed-tensors" and "mlx": presets, and integers of 1 to 8 bits.

import { DTYPES, type DType } from "../../../base/dtype.js";
import { parseScheme, type Scheme } from "../../scheme.js";
import { PRESETS } from "./presets.js";

/** Integers of other bits than those that `quantize` has. */
const ODD = /^u?int[1-8](?=-)/;

/**
 * Reads the name of a scheme for a target.
 * @param argument  the argument's name in messages
 * @throws {TypeError|RangeError} `ZP_INVALID_SCHEME`, as `parseScheme`
 */
export function parseForTarget(
  where: string,
  argument: string,
  given: unknown,
  target: string | undefined,
): Scheme {
  if (typeof given !== "string" || (target !== "compressed-tensors" && target !== "mlx")) {
    return parseScheme(where, argument, given);
  }
  const lower = given.toLowerCase();
  const name = target === "mlx" ? lower : (PRESETS.get(lower) ?? lower);
  const [dtype] = ODD.exec(name) ?? [];
  if (dtype === undefined || Object.hasOwn(DTYPES, dtype)) {
    return parseScheme(where, argument, name === lower ? given : name);
  }
  // Read as its neighbour of 8 bits; these targets have an arithmetic of their own for all widths.
  const scheme = parseScheme(where, argument, name.replace(/[1-8](?=-)/, "8"));
  return { ...scheme, name, dtype: dtype as DType } as Scheme;
}
