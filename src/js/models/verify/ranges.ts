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
  { format, schemes, stacks }: Recorded,
): Map<string, readonly string[]> {
  const parts = new Map<string, readonly string[]>();
  const matrices = new Set([...stacks.values()].flat());
  for (const [name, scheme] of schemes) {
    if (format !== "safetensors" || matrices.has(name) || !/^u?int/.test(scheme)) continue;
    const own = (stacks.get(name) ?? [name]).flatMap((each) =>
      Object.values(weightsOf(quantized).get(each)?.parts ?? {}),
    );
    if (own.length > 0) parts.set(name, own);
  }
  return parts;
}
