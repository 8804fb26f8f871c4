// A corner of a weight and its scheme as a link to the playground.

import { writeLink } from "../../playground/link.js";
import { DEFAULTS, type Settings } from "../../playground/state.js";

/**
 * @param corner  options: those of quantize, or undefined
 *   for a block type
 * @returns the part of the link after the address of the page
 */
export async function playLink(
  { shape, values, options }: { shape: number[]; values: Float32Array[]; options: any },
  scheme: string,
): Promise<string> {
  const flat = new Float32Array(shape[0] * shape[1]);
  for (const [i, row] of values.entries()) flat.set(row, i * shape[1]);
  const source = { kind: "given", name: "a layer", shape, values: flat } as const;
  const { hash } = await writeLink({ settings: settingsOf(scheme, options), source });
  return hash;
}

function settingsOf(scheme: string, options: any): Settings {
  if (!options) return { ...DEFAULTS, scheme };
  const { dtype, scheme: kind, axis, groupSize, range } = options;
  return {
    ...DEFAULTS,
    scheme: kind,
    bits: Number(dtype.replace(/\D/g, "")),
    isUnsigned: dtype.startsWith("u"),
    ...(axis !== undefined && { granularity: "channel", axis }),
    ...(groupSize !== undefined && { granularity: "group", groupSize }),
    ...(range === "mse" && { range }),
  };
}
