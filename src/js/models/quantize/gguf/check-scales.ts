// Blocks whose scales do not fit in float16: their values would be infinite or NaN.
// Source: ggml_validate_row_data, by which llama-quantize checks what it writes.

import { rangeError } from "../../../base/errors.js";
import { fieldOf } from "../../../base/fields.js";
import { dtypeInfo, type FileDType } from "../../../formats/dtypes.js";

/** Places of the float16 numbers in a block, in bytes. */
const SCALES: { readonly [dtype: string]: readonly number[] } = {
  float16: [0],
  q8_0: [0],
  q4_0: [0],
  q4_1: [0, 2],
  q5_0: [0],
  q5_1: [0, 2],
  q2_k: [80, 82],
  q3_k: [108],
  q4_k: [0, 2],
  q5_k: [0, 2],
  q6_k: [208],
  iq4_nl: [0],
  iq4_xs: [0],
  tq1_0: [52],
  tq2_0: [64],
  q1_0: [0],
  q2_0: [0],
};

/**
 * Checks the scales of blocks.
 * @throws {RangeError} `ZP_NON_FINITE` if one is infinite or NaN
 */
export function checkScales(bytes: Uint8Array, dtype: FileDType): void {
  const size = (dtypeInfo(dtype) as { blockBits: number }).blockBits / 8;
  for (const place of fieldOf(SCALES, dtype) ?? []) {
    // The high byte holds the exponent: all ones are infinities and NaN.
    for (let at = place + 1; at < bytes.length; at += size) {
      if ((bytes[at] & 0x7c) !== 0x7c) continue;
      const problem = `values are too large for ${dtype}: the scale of block ${Math.floor(at / size)} is not finite`;
      throw rangeError("ZP_NON_FINITE", "checkScales", problem);
    }
  }
}
