// The dtypes of all formats: sizes, and decoding to float32.

import { BLOCKS } from "../base/block-types.js";
import { rangeError } from "../base/errors.js";

/** Bits of one value of the other dtypes. */
const BITS = {
  float64: 64,
  float32: 32,
  float16: 16,
  bfloat16: 16,
  float8_e4m3fn: 8,
  float8_e5m2: 8,
  float8_e4m3fnuz: 8,
  float8_e5m2fnuz: 8,
  float8_e8m0fnu: 8,
  float6_e2m3fn: 6,
  float6_e3m2fn: 6,
  float4_e2m1fn: 4,
  complex64: 64,
  complex128: 128,
  bool: 8,
  int64: 64,
  int32: 32,
  int16: 16,
  int8: 8,
  int4: 4,
  int2: 2,
  uint64: 64,
  uint32: 32,
  uint16: 16,
  uint8: 8,
  uint4: 4,
  uint2: 2,
} as const satisfies Record<string, number>;

/** A block type of ggml. */
export type FileBlockType = keyof typeof BLOCKS;

/** The dtype of a tensor in a file: an element type, or a block type of ggml. */
export type FileDType = keyof typeof BITS | FileBlockType;

/** The names of all element types. */
export const ELEMENT_DTYPES = /* @__PURE__ */ Object.keys(BITS) as (keyof typeof BITS)[];

/** The smallest run of values that is whole bytes by itself, except for sub-byte dtypes: one value. */
export interface FileDTypeInfo {
  /** Values of a block; 1 for element types. */
  readonly blockLength: number;
  /** Bits of a block. */
  readonly blockBits: number;
}

/** Sizes of a dtype. @returns undefined if there is none of this name */
export function dtypeInfo(dtype: string): FileDTypeInfo | undefined {
  if (Object.hasOwn(BITS, dtype)) {
    return { blockLength: 1, blockBits: BITS[dtype as keyof typeof BITS] };
  }
  if (!Object.hasOwn(BLOCKS, dtype)) return undefined;
  const [blockLength, blockBytes] = BLOCKS[dtype as FileBlockType];
  return { blockLength, blockBits: 8 * blockBytes };
}

/** Whether a dtype is a block type of ggml. */
export const isBlockType = (dtype: string): dtype is FileBlockType => Object.hasOwn(BLOCKS, dtype);

/**
 * Bytes of a number of values. The last byte of sub-byte dtypes may be partly used.
 * @returns undefined if the values are not whole blocks, or the bytes are 2^53 or more
 */
export function bytesOf(dtype: FileDType, count: number): number | undefined {
  const { blockLength, blockBits } = dtypeInfo(dtype) as FileDTypeInfo;
  if (count % blockLength !== 0) return undefined;
  const blocks = count / blockLength;
  const bits = blocks * blockBits;
  return Number.isSafeInteger(bits) ? Math.ceil(bits / 8) : undefined;
}

/** The element whose bytes are reversed between byte orders, in bytes; 1 where there is none. */
export function swapSize(dtype: FileDType): number {
  if (dtype === "complex64") return 4;
  if (dtype === "complex128") return 8;
  return isBlockType(dtype) ? 1 : Math.max(1, BITS[dtype] / 8);
}

/** Reverses the bytes of each element in place. @param size  a divisor of the length */
export function swapBytes(bytes: Uint8Array, size: number): Uint8Array {
  for (let start = 0; size > 1 && start < bytes.length; start += size) {
    for (let i = start, j = start + size - 1; i < j; i++, j--) {
      const byte = bytes[i];
      bytes[i] = bytes[j];
      bytes[j] = byte;
    }
  }
  return bytes;
}

/** Decodes `out.length` values from the first of a run of bytes. */
type Decode = (bytes: Uint8Array, out: Float32Array) => void;

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** A decoder that reads value i at byte i * size. */
const each =
  (size: number, read: (view: DataView, at: number) => number): Decode =>
  (bytes, out) => {
    const view = viewOf(bytes);
    for (let i = 0, at = 0; i < out.length; i++, at += size) out[i] = read(view, at);
  };

/** A decoder that looks codes of up to 8 bits up, low bits first; codes of 6 bits cross bytes. */
const lookUp =
  (bits: number, makeTable: () => Float32Array): Decode =>
  (bytes, out) => {
    const table = makeTable();
    if (bits === 6) {
      for (let i = 0, bit = 0; i < out.length; i++, bit += 6) {
        const at = bit >> 3;
        out[i] = table[((bytes[at] | (bytes[at + 1] << 8)) >> (bit & 7)) & 63];
      }
      return;
    }
    const shift = Math.log2(8 / bits);
    const within = 8 / bits - 1;
    const mask = 2 ** bits - 1;
    for (let i = 0; i < out.length; i++) {
      out[i] = table[(bytes[i >> shift] >> (bits * (i & within))) & mask];
    }
  };

const TABLES = /* @__PURE__ */ new Map<string, Float32Array>();

function once(key: string, make: () => Float32Array): Float32Array {
  let table = TABLES.get(key);
  if (table === undefined) {
    table = make();
    TABLES.set(key, table);
  }
  return table;
}

/** How the top codes of a small float are used. */
type Special = "ieee" | "fn" | "fnuz" | "finite";

/**
 * The values of all codes of a float of at most 8 bits: sign, exponent, mantissa.
 * @param special  ieee: infinities and NaN as IEEE 754; fn: NaN is all ones, no infinity; fnuz: NaN is the code of
 * -0; finite: every code is a number
 */
function smallFloats(
  exponentBits: number,
  mantissaBits: number,
  bias: number,
  special: Special,
): Float32Array {
  const codes = 2 ** (exponentBits + mantissaBits);
  const table = new Float32Array(2 * codes);
  for (let code = 0; code < codes; code++) {
    const exponent = code >> mantissaBits;
    const mantissa = (code & (2 ** mantissaBits - 1)) / 2 ** mantissaBits;
    let value =
      exponent === 0 ? mantissa * 2 ** (1 - bias) : (1 + mantissa) * 2 ** (exponent - bias);
    if (special === "ieee" && exponent === 2 ** exponentBits - 1) {
      value = mantissa === 0 ? Infinity : Number.NaN;
    }
    if (special === "fn" && code === codes - 1) value = Number.NaN;
    table[code] = value;
    table[code + codes] = -value;
  }
  if (special === "fnuz") table[codes] = Number.NaN;
  return table;
}

const small = (
  exponentBits: number,
  mantissaBits: number,
  bias: number,
  special: Special,
): Decode =>
  lookUp(1 + exponentBits + mantissaBits, () =>
    once(`${exponentBits} ${mantissaBits} ${bias} ${special}`, () =>
      smallFloats(exponentBits, mantissaBits, bias, special),
    ),
  );

const integers = (bits: number, signed: boolean): Decode =>
  lookUp(bits, () =>
    once(`${signed} ${bits}`, () => {
      const half = 2 ** (bits - 1);
      return Float32Array.from({ length: 2 * half }, (_, code) =>
        signed && code >= half ? code - 2 * half : code,
      );
    }),
  );

/** Patterns of 16 bits, from the first byte on; not by a DataView, which takes several times as long. */
function halvesIn(bytes: Uint8Array, count: number): Uint16Array {
  const own = bytes.byteOffset % 2 === 0 ? bytes : bytes.slice(0, 2 * count);
  return new Uint16Array(own.buffer, own.byteOffset, count);
}

const float16: Decode = (bytes, out) => {
  const halves = halvesIn(bytes, out.length);
  const words = new Uint32Array(out.buffer, out.byteOffset, out.length);
  for (let i = 0; i < out.length; i++) {
    const half = halves[i];
    const sign = (half & 0x8000) << 16;
    if ((half & 0x7c00) === 0x7c00) {
      words[i] = sign | 0x7f800000 | ((half & 0x3ff) << 13);
    } else {
      // Moves the exponent by the difference of the biases; subnormal values come out exact, too.
      words[i] = sign | ((half & 0x7fff) << 13);
      out[i] *= 2 ** 112;
    }
  }
};

const bfloat16: Decode = (bytes, out) => {
  const halves = halvesIn(bytes, out.length);
  const words = new Uint32Array(out.buffer, out.byteOffset, out.length);
  for (let i = 0; i < out.length; i++) words[i] = halves[i] << 16;
};

/** Copies bits, so that NaN payloads survive. */
const float32: Decode = (bytes, out) => {
  new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(bytes.subarray(0, out.byteLength));
};

/** An integer high * 2^32 + low, high >= 0, rounded to odd at 53 bits: one rounding to float32 is left. */
function wide(high: number, low: number): number {
  if (high < 2 ** 21) return high * 2 ** 32 + low;
  return high * 2 ** 32 + ((low & ~0x7ff) >>> 0) + ((low & 0x7ff) === 0 || low & 0x800 ? 0 : 0x800);
}

const uint64 = (view: DataView, at: number): number =>
  wide(view.getUint32(at + 4, true), view.getUint32(at, true));

const int64 = (view: DataView, at: number): number => {
  const high = view.getInt32(at + 4, true);
  const low = view.getUint32(at, true);
  if (high >= 0) return wide(high, low);
  // Two's complement: the magnitude is ~value + 1.
  return low === 0 ? -wide((~high >>> 0) + 1, 0) : -wide(~high >>> 0, -low >>> 0);
};

const DECODERS: { readonly [dtype: string]: Decode } = {
  float64: /* @__PURE__ */ each(8, (view, at) => view.getFloat64(at, true)),
  float32,
  float16,
  bfloat16,
  float8_e4m3fn: /* @__PURE__ */ small(4, 3, 7, "fn"),
  float8_e5m2: /* @__PURE__ */ small(5, 2, 15, "ieee"),
  float8_e4m3fnuz: /* @__PURE__ */ small(4, 3, 8, "fnuz"),
  float8_e5m2fnuz: /* @__PURE__ */ small(5, 2, 16, "fnuz"),
  float8_e8m0fnu: /* @__PURE__ */ each(1, (view, at) => {
    const exponent = view.getUint8(at);
    return exponent === 255 ? Number.NaN : 2 ** (exponent - 127);
  }),
  float6_e2m3fn: /* @__PURE__ */ small(2, 3, 1, "finite"),
  float6_e3m2fn: /* @__PURE__ */ small(3, 2, 3, "finite"),
  float4_e2m1fn: /* @__PURE__ */ small(2, 1, 1, "finite"),
  bool: /* @__PURE__ */ each(1, (view, at) => (view.getUint8(at) === 0 ? 0 : 1)),
  int64: /* @__PURE__ */ each(8, int64),
  int32: /* @__PURE__ */ each(4, (view, at) => view.getInt32(at, true)),
  int16: /* @__PURE__ */ each(2, (view, at) => view.getInt16(at, true)),
  int8: /* @__PURE__ */ each(1, (view, at) => view.getInt8(at)),
  int4: /* @__PURE__ */ integers(4, true),
  int2: /* @__PURE__ */ integers(2, true),
  uint64: /* @__PURE__ */ each(8, uint64),
  uint32: /* @__PURE__ */ each(4, (view, at) => view.getUint32(at, true)),
  uint16: /* @__PURE__ */ each(2, (view, at) => view.getUint16(at, true)),
  uint8: /* @__PURE__ */ each(1, (view, at) => view.getUint8(at)),
  uint4: /* @__PURE__ */ integers(4, false),
  uint2: /* @__PURE__ */ integers(2, false),
};

/** Whether `decodeValues` decodes a dtype: every element type but complex numbers. */
export const isDecodable = (dtype: FileDType): boolean => Object.hasOwn(DECODERS, dtype);

/**
 * Decodes values to float32, each rounded once, to nearest even.
 * @param bytes  little-endian; sub-byte values low bits first
 * @param out  as many values as to decode; `bytes` holds them from its start
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for ggml's block types (`dequantizeBlocks` decodes these) and
 * complex numbers
 * For example `decodeValues("float16", new Uint8Array([0, 0x3c]), new Float32Array(1)) // [1]`.
 */
export function decodeValues(dtype: FileDType, bytes: Uint8Array, out: Float32Array): Float32Array {
  if (!isDecodable(dtype)) {
    throw rangeError("ZP_UNSUPPORTED_DTYPE", "decodeValues", `${dtype} has no float32 values here`);
  }
  DECODERS[dtype](bytes, out);
  return out;
}
