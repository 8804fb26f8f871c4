// The schemes of an analysis: defaults, tensors that they fit, and bytes.

import { BLOCKS } from "../../base/block-types.js";
import { wrongKind } from "../../base/check.js";
import { DTYPES } from "../../base/dtype.js";
import { parseScheme, type Scheme } from "../scheme.js";
import type { WeightView } from "../weights/view.js";
import type { RowLayout } from "./layout.js";

/** The schemes of `analyze` by default. */
export const DEFAULT_SCHEMES: readonly string[] = /* @__PURE__ */ Object.freeze([
  ...["int8-tensor", "int8-channel", "int8-g128", "int8-g32"],
  ...["int4-channel", "int4-g128", "int4-g32", "int4-g32-affine", "int4-g32-mse"],
  ...["int3-g16", "int2-g16", "q8_0", "q4_0", "q4_k", "q6_k"],
]);

/** Reads the option. */
export function checkSchemes(where: string, given: unknown): readonly Scheme[] {
  const names = given ?? DEFAULT_SCHEMES;
  if (!Array.isArray(names)) {
    const wanted = "a list of names of schemes";
    throw wrongKind("ZP_INVALID_OPTION", where, "options.schemes", wanted, given);
  }
  const schemes = new Map<string, Scheme>();
  for (const [i, name] of Array.from(names as readonly unknown[]).entries()) {
    const scheme = parseScheme(where, `options.schemes[${i}]`, name);
    schemes.set(scheme.name, scheme);
  }
  return [...schemes.values()];
}

/** Whether a scheme's blocks fit into the rows of a tensor. */
export const fits = (scheme: Scheme, { runLength }: RowLayout): boolean =>
  scheme.kind !== "block" || runLength % BLOCKS[scheme.name][0] === 0;

/**
 * Bytes of a tensor with a scheme that its file does not have, as zeropoint's own layout stores it: codes without padding,
 * float32 scales, a byte for each zero point of an affine scheme; whole blocks.
 */
export function bytesOfScheme(
  scheme: Scheme,
  { rows, rowLength }: RowLayout,
  view: WeightView,
  format: string,
  byteLength: number,
): number {
  const size = rows * rowLength;
  if (scheme.kind === "keep") return byteLength;
  if (scheme.kind === "half") return 2 * size;
  if (scheme.kind === "block") {
    const [values, bytes] = BLOCKS[scheme.name];
    return (size / values) * bytes;
  }
  const { bits } = DTYPES[scheme.dtype];
  const paramBytes = scheme.isAffine ? 5 : 4;
  return Math.ceil((size * bits) / 8) + view.slices(scheme, format).count * paramBytes;
}
