// float32 -> half floats, rounded to nearest, ties to even.

import type { HalfType } from "../../base/halves.js";

/** Float types that weights and scales have in checkpoints. */
export type ScaleDType = "float32" | HalfType;

/** Rounds float32 values in place to those of another float type. */
export function roundInPlace(values: Float32Array, dtype: ScaleDType): Float32Array {
  if (dtype === "float32") return values;
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  if (dtype === "bfloat16") {
    for (let i = 0; i < words.length; i++) {
      const word = words[i];
      // NaN stays as it is: its lowest bits could carry over into the sign.
      if ((word & 0x7fffffff) <= 0x7f800000) {
        words[i] = (word + 0x7fff + ((word >>> 16) & 1)) & 0xffff0000;
      }
    }
    return values;
  }
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    const magnitude = word & 0x7fffffff;
    if (magnitude >= 0x38800000) {
      if (magnitude < 0x477ff000) words[i] = (word + 0xfff + ((word >>> 13) & 1)) & 0xffffe000;
      else if (magnitude < 0x7f800000) words[i] = (word & 0x80000000) | 0x7f800000;
    } else {
      // Subnormal: multiples of 2^-24. Adding 1.5 * 2^52 rounds a double to an integer, ties to even.
      const value = values[i];
      const steps = value * 2 ** 24 + 1.5 * 2 ** 52 - 1.5 * 2 ** 52;
      values[i] = steps === 0 ? value * 0 : steps * 2 ** -24;
    }
  }
  return values;
}

/** The bytes of values in a float type, little-endian. The values are rounded in place. */
export function encodeFloats(values: Float32Array, dtype: ScaleDType): Uint8Array<ArrayBuffer> {
  roundInPlace(values, dtype);
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  if (dtype === "float32") {
    return new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice();
  }
  const halves = new Uint16Array(values.length);
  if (dtype === "bfloat16") {
    for (let i = 0; i < halves.length; i++) {
      const word = words[i];
      // A NaN whose payload is in the lower half must stay one.
      halves[i] = (word & 0x7fffffff) > 0x7f800000 ? (word >>> 16) | 0x40 : word >>> 16;
    }
    return new Uint8Array(halves.buffer);
  }
  for (let i = 0; i < halves.length; i++) {
    const word = words[i];
    const sign = (word >>> 16) & 0x8000;
    const magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) halves[i] = sign | 0x7e00 | ((magnitude >>> 13) & 0x3ff);
    else if (magnitude === 0x7f800000) halves[i] = sign | 0x7c00;
    else if (magnitude >= 0x38800000) halves[i] = sign | ((magnitude >>> 13) - (112 << 10));
    else halves[i] = sign | Math.abs(values[i] * 2 ** 24);
  }
  return new Uint8Array(halves.buffer);
}
