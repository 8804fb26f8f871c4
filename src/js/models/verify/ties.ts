// Ties of rounding in ggml's blocks: ggml built with fused multiply-add rounds some values that lie halfway between two
// codes to the other one of them.

import { BLOCKS, type BlockName } from "../../base/block-types.js";
import type { KeptCore } from "../../core/init.js";
import { decodeTile } from "../open/values.js";

/** Bytes [begin, end) of a block that are scales; all others are codes. Source: ggml-common.h. */
const SCALES: { readonly [T in BlockName]: readonly (readonly [begin: number, end: number])[] } = {
  q8_0: [[0, 2]],
  q4_0: [[0, 2]],
  q4_1: [[0, 4]],
  q5_0: [[0, 2]],
  q5_1: [[0, 4]],
  q2_k: [
    [0, 16],
    [80, 84],
  ],
  q3_k: [[96, 110]],
  q4_k: [[0, 16]],
  q5_k: [[0, 16]],
  q6_k: [[192, 210]],
  iq4_nl: [[0, 2]],
  iq4_xs: [[0, 8]],
  tq1_0: [[52, 54]],
  tq2_0: [[64, 66]],
  mxfp4: [[0, 1]],
  nvfp4: [[0, 4]],
  q1_0: [[0, 2]],
  q2_0: [[0, 2]],
};

/**
 * Types whose codes are chosen by a scale in float32, which the block has in float16: the middle of two codes moves by up to
 * 2^-11 of the value, and where there is an offset by as much of that, at most twice the largest value of the block.
 */
const BY_FLOAT_SCALE: { readonly [T in BlockName]?: "scale" | "offset" } = {
  ...{ q8_0: "scale", q4_0: "scale", q5_0: "scale", q4_1: "offset", q5_1: "offset" },
  ...{ iq4_nl: "scale", tq1_0: "scale", tq2_0: "scale", q1_0: "scale", q2_0: "scale" },
};

/** Roundings of float32 on the way from a value to its code, relative to the largest value of the block. */
const ROUNDINGS = 2 ** -20;

/**
 * The number of values whose codes differ by one step at a tie: the scales are equal, and each of these values lies in the
 * middle of what the two codes stand for.
 * @param values  of the source
 * @returns undefined if the blocks differ in anything else
 */
export function tiesOf(
  core: KeptCore,
  type: BlockName,
  expected: Uint8Array,
  found: Uint8Array,
  values: Float32Array,
): number | undefined {
  const [length, bytes] = BLOCKS[type];
  if (expected.length !== bytes || found.length !== bytes || values.length !== length) {
    return undefined;
  }
  for (const [begin, end] of SCALES[type]) {
    for (let i = begin; i < end; i++) if (expected[i] !== found[i]) return undefined;
  }
  const decode = (block: Uint8Array) => decodeTile(core, type, block, new Float32Array(length));
  const [a, b] = [decode(expected), decode(found)];
  const most = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  const scaled = BY_FLOAT_SCALE[type];
  let count = 0;
  for (let i = 0; i < length; i++) {
    if (a[i] === b[i]) continue;
    const moved = Math.abs(values[i]) + (scaled === "offset" ? 2 * most : 0);
    const limit = ROUNDINGS * most + (scaled === undefined ? 0 : 2 ** -11 * moved);
    if (!(Math.abs(values[i] - (a[i] + b[i]) / 2) <= limit)) return undefined;
    count++;
  }
  // Codes that differ and stand for equal values are no ties.
  return count > 0 ? count : undefined;
}
