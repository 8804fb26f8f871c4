// Ways to choose ranges that safetensors files do not record: they are found by trial.

import { type Model, weightsOf } from "../open/model.js";
import type { Recorded } from "./recorded.js";

/** How ranges were chosen: the default, or the suffix of a scheme's name. */
export type Range = "minmax" | "mse" | "hqq";

/** The ways other than the default, in the order in which they are tried. */
export const RANGES = ["mse", "hqq"] as const;

/** The weights of a file whose ranges it does not record, by name, and the names of their tensors. */
export function unrecordedRanges(
  quantized: Model,
  { format, schemes }: Recorded,
): Map<string, readonly string[]> {
  const parts = new Map<string, readonly string[]>();
  for (const [name, scheme] of schemes) {
    const weight = weightsOf(quantized).get(name);
    if (format !== "safetensors" || weight === undefined || !/^u?int/.test(scheme)) continue;
    parts.set(name, Object.values(weight.parts));
  }
  return parts;
}
