// Half floats: 16-bit patterns, and which of the two types they are.

/** The types of 16-bit floats. */
export type HalfType = "float16" | "bfloat16";

/** Whether a dtype is one of half floats. */
export const isHalf = (dtype: string | undefined): dtype is HalfType =>
  dtype === "float16" || dtype === "bfloat16";

/**
 * The bit patterns of a checked tensor's half floats, a view of its memory. Functions of typed arrays take
 * it for an array of float values, whose length is the number of patterns. Never given to users.
 */
export class Halves extends Uint16Array {
  readonly #type: HalfType;

  constructor(memory: ArrayBufferLike, offset: number, length: number, type: HalfType) {
    super(memory as ArrayBuffer, offset, length);
    this.#type = type;
  }

  /** The type of half floats; undefined for any other object. */
  static typeOf(array: object): HalfType | undefined {
    return #type in array ? array.#type : undefined;
  }
}

const word = /* @__PURE__ */ new Uint32Array(1);
const float = /* @__PURE__ */ new Float32Array(word.buffer);

/** The value of a bit pattern, exact. */
export function halfValue(bits: number, type: HalfType): number {
  if (type === "bfloat16") {
    word[0] = bits << 16;
    return float[0];
  }
  // Moves the exponent by the difference of the biases; subnormal values come out exact, too.
  const magnitude = bits & 0x7fff;
  word[0] = magnitude << 13;
  const value =
    magnitude < 0x7c00 ? float[0] * 2 ** 112 : magnitude === 0x7c00 ? Infinity : Number.NaN;
  return bits < 0x8000 ? value : -value;
}

/** The bit pattern of the nearest float16, ties to even. @param value  a float32 */
export function float16Bits(value: number): number {
  float[0] = value;
  const sign = (word[0] >>> 16) & 0x8000;
  const magnitude = Math.abs(value);
  // Beyond the midpoint between the largest value and the next one.
  if (!(magnitude < 65520)) return sign | (magnitude >= 65520 ? 0x7c00 : 0x7e00);
  // The last bit of float16: 2^-24, or 2^-10 of the value's power of two.
  const exponent = Math.max((word[0] & 0x7f800000) / 2 ** 23 - 127, -14);
  const step = 2 ** (exponent - 10);
  const steps = magnitude / step;
  const floor = Math.floor(steps);
  const rest = steps - floor;
  const rounded = rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
  // Normal values have 1024 ... 2048 steps; a carry goes into the exponent.
  return sign | ((exponent + 14) * 1024 + rounded);
}
