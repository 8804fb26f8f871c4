// GGUF's types of tensors and of values, and the entries of its metadata.
// Source: ggml 0.27 (gguf.cpp).

import type { FileDType } from "../dtypes.js";
import { fileError } from "../source.js";

/** Tensor types by their number. */
export const TENSOR_TYPES: readonly (FileDType | undefined)[] = /* @__PURE__ */ (() => {
  const types: (FileDType | undefined)[] = [];
  const ids: { readonly [first: number]: readonly FileDType[] } = {
    0: ["float32", "float16", "q4_0", "q4_1"],
    6: ["q5_0", "q5_1", "q8_0", "q8_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k"],
    16: ["iq2_xxs", "iq2_xs", "iq3_xxs", "iq1_s", "iq4_nl", "iq3_s", "iq2_s", "iq4_xs"],
    24: ["int8", "int16", "int32", "int64", "float64", "iq1_m", "bfloat16"],
    34: ["tq1_0", "tq2_0"],
    39: ["mxfp4", "nvfp4", "q1_0", "q2_0"],
  };
  for (const [first, names] of Object.entries(ids)) {
    names.forEach((name, i) => {
      types[Number(first) + i] = name;
    });
  }
  return types;
})();

/** The names of types that were removed from ggml, by their number. */
export const REMOVED_TYPES: ReadonlyMap<number, string> = /* @__PURE__ */ new Map([
  ...([
    [4, "Q4_2"],
    [5, "Q4_3"],
    [31, "Q4_0_4_4"],
    [32, "Q4_0_4_8"],
    [33, "Q4_0_8_8"],
  ] as const),
  ...([
    [36, "IQ4_NL_4_4"],
    [37, "IQ4_NL_4_8"],
    [38, "IQ4_NL_8_8"],
  ] as const),
]);

/** Types of values by their number, with the bytes of one; 0 where it varies. */
export const VALUE_TYPES = [
  ["uint8", 1],
  ["int8", 1],
  ["uint16", 2],
  ["int16", 2],
  ["uint32", 4],
  ["int32", 4],
  ["float32", 4],
  ["bool", 1],
  ["string", 0],
  ["array", 0],
  ["uint64", 8],
  ["int64", 8],
  ["float64", 8],
] as const;

/** The type of a value of GGUF's metadata. */
export type GGUFType = (typeof VALUE_TYPES)[number][0];

/** A value of GGUF's metadata: 64-bit integers are bigints; arrays of numbers are typed arrays. */
export type GGUFValue =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array
  | readonly GGUFValue[];

export const ARRAYS = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} as const;

/** Number of a dtype among ggml's tensor types. @returns -1 if it has none */
export const ggmlTypeNumber = (dtype: FileDType): number => TENSOR_TYPES.indexOf(dtype);

export const typeSize = (type: GGUFType): number => VALUE_TYPES[typeNumber(type)][1];
export const typeNumber = (type: GGUFType): number =>
  VALUE_TYPES.findIndex(([name]) => name === type);

/** A value as a file holds it, decoded when it is asked for. */
export class GGUFEntry {
  /**
   * @param type  of the value
   * @param bytes  the value as in a little-endian file, without its type
   */
  constructor(
    readonly type: GGUFType,
    readonly bytes: Uint8Array,
  ) {}

  /** Type of the elements of an array. */
  get elementType(): GGUFType | undefined {
    return this.type === "array" ? VALUE_TYPES[new Decoder(this.bytes).u32()][0] : undefined;
  }

  /** The value. Text that is not UTF-8 is decoded with replacement characters. */
  get value(): GGUFValue {
    return new Decoder(this.bytes).value(this.type);
  }
}

/** Decodes values whose lengths were checked. */
class Decoder {
  readonly #view: DataView;
  #at = 0;

  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  u32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  #u64(): bigint {
    this.#at += 8;
    return this.#view.getBigUint64(this.#at - 8, true);
  }

  #take(length: number): Uint8Array {
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  value(type: GGUFType): GGUFValue {
    if (type === "string") return LOSSY.decode(this.#take(Number(this.#u64())));
    if (type === "array") return this.#array();
    const values = this.#numbers(type, 1);
    return values[0];
  }

  #array(): GGUFValue {
    const [type] = VALUE_TYPES[this.u32()];
    const count = Number(this.#u64());
    if (type !== "string" && type !== "array") return this.#numbers(type, count);
    return Array.from({ length: count }, () => this.value(type));
  }

  #numbers(type: Exclude<GGUFType, "string" | "array">, count: number) {
    const bytes = this.#take(count * typeSize(type));
    if (type === "bool") return Array.from(bytes, (byte) => byte !== 0);
    return new ARRAYS[type](bytes.slice().buffer);
  }
}

const LOSSY = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });

const DEFAULT_ALIGNMENT = 32;

/** `general.alignment`. @throws {RangeError} `ZP_INVALID_FILE` unless it is a power of two of type uint32 */
export function alignmentOf(where: string, metadata: Map<string, GGUFEntry>): number {
  const entry = metadata.get("general.alignment");
  if (entry === undefined) return DEFAULT_ALIGNMENT;
  const { type, value } = entry;
  if (type !== "uint32" || !isPowerOfTwo(value as number)) {
    const expected = "general.alignment to be a power of two of type uint32";
    throw fileError(where, 24, expected, `${type} ${String(value).slice(0, 40)}`);
  }
  return value as number;
}

const isPowerOfTwo = (value: number): boolean => Number.isInteger(Math.log2(value));
