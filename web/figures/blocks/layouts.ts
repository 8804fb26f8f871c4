// What the bytes of a block mean, for six formats of llama.cpp: its fields, and for each value the numbers that make
// it. Scales that are floats are decoded by the core.

import type { Zeropoint } from "../index.js";

/** Bytes from start to end; ink: the class of its colour. */
export type Field = { symbol: string; about: string; start: number; end: number; ink: string };

/** A number of the formula; id: the same for values that share it; part: which bits of its bytes, in words. */
export type Term = { symbol: string; id: string; number: number; bytes: number[]; part?: string };

export interface Layout {
  name: string;
  type: "q8_0" | "q4_0" | "q4_k" | "q6_k" | "mxfp4" | "nvfp4";
  /** Of a block. */
  values: number;
  /** Of a value: symbols of terms, and text between them. */
  formula: string[];
  /** All bytes, in their order. */
  fields: Field[];
  /** The terms of value i. */
  termsOf: (block: Uint8Array, i: number, zeropoint: Zeropoint) => Term[];
}

const field = (
  ink: string,
  symbol: string,
  [start, end]: [start: number, end: number],
  about: string,
): Field => ({ symbol, about, start, end, ink });
const real = "ink-real";
const code = "ink-code";
const plain = "";

/** A float16 of two bytes. */
function half(
  symbol: string,
  block: Uint8Array,
  at: number,
  { dequantizeBlocks }: Zeropoint,
): Term {
  const [number] = dequantizeBlocks(block.subarray(at, at + 2), "f16", [1]).data;
  return { symbol, id: symbol, number, bytes: [at, at + 1] };
}

/** A float of 8 or 4 bits. */
const small = (bits: number, dtype: "float8_e4m3fn" | "float4_e2m1", { dequantize }: Zeropoint) =>
  dequantize({ data: Uint8Array.of(bits), shape: [1], dtype, scale: 1 }).data[0];

/** Four of a byte's bits. */
const nibble = (byte: number, isHigh: boolean) => (isHigh ? byte >> 4 : byte & 15);
const nibbleName = (isHigh: boolean) => (isHigh ? "its high four bits" : "its low four bits");

/**
 * The byte of a 4-bit code: the first half of `count` values has the low bits of the bytes, the second half the high
 * ones.
 */
const place = (i: number, count: number): [at: number, isHigh: boolean] => [
  i % (count / 2),
  i % count >= count / 2,
];

const q80: Layout = {
  name: "Q8_0",
  type: "q8_0",
  values: 32,
  formula: ["d", " · ", "q"],
  fields: [field(real, "d", [0, 2], "scale, float16"), field(code, "q", [2, 34], "32 codes, int8")],
  termsOf: (block, i, zeropoint) => [
    half("d", block, 0, zeropoint),
    { symbol: "q", id: `q${i}`, number: (block[2 + i] << 24) >> 24, bytes: [2 + i] },
  ],
};

const q40: Layout = {
  name: "Q4_0",
  type: "q4_0",
  values: 32,
  formula: ["d", " · (", "q", " − 8)"],
  fields: [
    field(real, "d", [0, 2], "scale, float16"),
    field(code, "q", [2, 18], "32 codes of 4\u00a0bits, 0 to 15"),
  ],
  termsOf(block, i, zeropoint) {
    const [at, isHigh] = place(i, 32);
    const q = nibble(block[2 + at], isHigh);
    return [
      half("d", block, 0, zeropoint),
      { symbol: "q", id: `q${i}`, number: q, bytes: [2 + at], part: nibbleName(isHigh) },
    ];
  },
};

/**
 * A scale or minimum of Q4_K: the first four have six bits of one byte, the others four bits of one byte and the two
 * highest of another one.
 * @param j  of the eight
 */
function sixBits(symbol: "sc" | "m", block: Uint8Array, j: number): Term {
  const isMinimum = symbol === "m";
  const own = 4 + (j % 4) + (isMinimum ? 4 : 0);
  const id = `${symbol}${j}`;
  if (j < 4) {
    return { symbol, id, number: block[own] & 63, bytes: [own], part: "its low six bits" };
  }
  const shared = 8 + j;
  const number = nibble(block[shared], isMinimum) | ((block[own] >> 6) << 4);
  return { symbol, id, number, bytes: [own, shared], part: "two and four bits" };
}

const q4k: Layout = {
  name: "Q4_K",
  type: "q4_k",
  values: 256,
  formula: ["d", " · ", "sc", " · ", "q", " − ", "dmin", " · ", "m"],
  fields: [
    field(real, "d", [0, 2], "scale of the scales, float16"),
    field(real, "dmin", [2, 4], "scale of the minimums, float16"),
    field(plain, "sc, m", [4, 16], "8 scales and 8 minimums of 6\u00a0bits"),
    field(code, "q", [16, 144], "256 codes of 4\u00a0bits, 0 to 15"),
  ],
  termsOf(block, i, zeropoint) {
    const j = Math.floor(i / 32);
    const [at, isHigh] = place(i, 64);
    const byte = 16 + 32 * Math.floor(i / 64) + at;
    const q = nibble(block[byte], isHigh);
    return [
      half("d", block, 0, zeropoint),
      sixBits("sc", block, j),
      { symbol: "q", id: `q${i}`, number: q, bytes: [byte], part: nibbleName(isHigh) },
      half("dmin", block, 2, zeropoint),
      sixBits("m", block, j),
    ];
  },
};

const q6k: Layout = {
  name: "Q6_K",
  type: "q6_k",
  values: 256,
  formula: ["d", " · ", "sc", " · (", "q", " − 32)"],
  fields: [
    field(code, "q", [0, 128], "low 4 bits of 256 codes"),
    field(code, "q", [128, 192], "high 2 bits of the codes"),
    field(plain, "sc", [192, 208], "16 scales, int8"),
    field(real, "d", [208, 210], "scale of the scales, float16"),
  ],
  termsOf(block, i, zeropoint) {
    const [part, within] = [Math.floor(i / 128), i % 128];
    const quarter = Math.floor(within / 32);
    const low = 64 * part + (within % 64);
    const high = 128 + 32 * part + (within % 32);
    const at = 192 + Math.floor(i / 16);
    const q = nibble(block[low], quarter >= 2) | (((block[high] >> (2 * quarter)) & 3) << 4);
    return [
      half("d", block, 208, zeropoint),
      {
        symbol: "sc",
        id: `sc${at}`,
        number: (block[at] << 24) >> 24,
        bytes: [at],
      },
      { symbol: "q", id: `q${i}`, number: q, bytes: [low, high], part: "four and two bits" },
    ];
  },
};

const mxfp4: Layout = {
  name: "MXFP4",
  type: "mxfp4",
  values: 32,
  formula: ["2^(", "e", " − 127) · ", "q"],
  fields: [
    field(real, "e", [0, 1], "scale, a power of two"),
    field(code, "q", [1, 17], "32 floats of 4\u00a0bits"),
  ],
  termsOf(block, i, zeropoint) {
    const [at, isHigh] = place(i, 32);
    const q = small(nibble(block[1 + at], isHigh), "float4_e2m1", zeropoint);
    return [
      { symbol: "e", id: "e", number: block[0], bytes: [0] },
      { symbol: "q", id: `q${i}`, number: q, bytes: [1 + at], part: nibbleName(isHigh) },
    ];
  },
};

const nvfp4: Layout = {
  name: "NVFP4",
  type: "nvfp4",
  values: 64,
  formula: ["d", " · ", "q"],
  fields: [
    field(real, "d", [0, 4], "4 scales, float8 (E4M3)"),
    field(code, "q", [4, 36], "64 floats of 4\u00a0bits"),
  ],
  termsOf(block, i, zeropoint) {
    const j = Math.floor(i / 16);
    const [at, isHigh] = place(i, 16);
    const byte = 4 + 8 * j + at;
    const q = small(nibble(block[byte], isHigh), "float4_e2m1", zeropoint);
    return [
      { symbol: "d", id: `d${j}`, number: small(block[j], "float8_e4m3fn", zeropoint), bytes: [j] },
      { symbol: "q", id: `q${i}`, number: q, bytes: [byte], part: nibbleName(isHigh) },
    ];
  },
};

/** From simple to involved. */
export const LAYOUTS: Layout[] = [q80, q40, q4k, q6k, mxfp4, nvfp4];
