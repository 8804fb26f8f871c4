// codes -> the layouts of other programs.

import { rangeError } from "../base/errors.js";
import { float16Bits, halfValue } from "../base/halves.js";
import { newArray } from "../base/typed-arrays.js";
import type { RowIds } from "./ids.js";
import { signBytes, type VectorId } from "./layout.js";
import type { VectorRows } from "./rows.js";

/** The layouts of `export`. */
export const LAYOUTS = ["int8", "sqlite-vec", "usearch", "faiss", "pgvector"] as const;

/** A layout of `export`. */
export type ExportLayout = (typeof LAYOUTS)[number];

/** Exported rows. */
export interface ExportedVectors<Id extends VectorId = VectorId> {
  /** The rows, one behind the other, in the order of `ids`. */
  readonly data: Int8Array | Uint8Array;
  /** The ids in the order of insertion. */
  readonly ids: Id[];
  /** Values of each vector. */
  readonly dimensions: number;
  /** Bytes of each row in `data`. */
  readonly bytesPerRow: number;
  /** The other program's name of the type: `int8[768]`, `b1`, `halfvec(768)`. */
  readonly type: string;
  /** Of bits: whether a byte's first value is in its lowest or in its highest bit. */
  readonly bitOrder?: "lowest first" | "highest first";
  /** Of integer codes: the scale of each row, in the order of `ids`; x ≈ scale · code. */
  readonly scales?: Float32Array;
}

/** One row's codes as integers; of signs 1 and −1. */
function codesOf(where: string, rows: VectorRows, row: number): Int8Array {
  const { dimensions, dtype } = rows.layout;
  const bytes = rows.read(where, "codes", row, 1);
  if (dtype === "int8") return new Int8Array(bytes.buffer as ArrayBuffer);
  return Int8Array.from({ length: dimensions }, (_, i) =>
    dtype === "int4"
      ? ((bytes[i >> 1] << (i % 2 === 0 ? 28 : 24)) >> 28) | 0
      : (bytes[i >> 3] >> (i & 7)) & 1
        ? 1
        : -1,
  );
}

const scaleOf = (where: string, rows: VectorRows, row: number): number =>
  rows.readAs(where, "scales", row, 1, Float32Array)[0];

/** The original of a row, or the values that its codes stand for. */
export function restoredRow(where: string, rows: VectorRows, row: number): Float32Array {
  const { originals } = rows.layout;
  if (originals === "float32") return rows.readAs(where, "originals", row, 1, Float32Array);
  if (originals === "float16") {
    const halves = rows.readAs(where, "originals", row, 1, Uint16Array);
    return Float32Array.from(halves, (bits) => halfValue(bits, "float16"));
  }
  const scale = scaleOf(where, rows, row);
  return Float32Array.from(codesOf(where, rows, row), (code) => scale * code);
}

/** A row of bytes for each position, and what they are. */
interface Form {
  readonly bytesPerRow: number;
  readonly type: string;
  readonly bitOrder?: "lowest first" | "highest first";
  readonly scales?: Float32Array;
  write(row: number): Int8Array | Uint8Array;
}

/** Exports all rows. */
export function exportRows<Id extends VectorId>(
  where: string,
  rows: VectorRows,
  ids: RowIds,
  layout: ExportLayout,
): ExportedVectors<Id> {
  const order = rows.inOrder();
  const { write, ...form } = formOf(where, rows, layout, order);
  const { dimensions } = rows.layout;
  const bytes = newArray(where, Uint8Array, form.bytesPerRow * order.length);
  for (const [i, row] of order.entries()) {
    const { buffer, byteOffset, byteLength } = write(row);
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), i * form.bytesPerRow);
  }
  const isSigned = form.scales !== undefined && layout !== "faiss";
  const data = isSigned ? new Int8Array(bytes.buffer) : bytes;
  return { data, ids: order.map((row) => ids.at(row) as Id), dimensions, ...form };
}

function formOf(
  where: string,
  rows: VectorRows,
  layout: ExportLayout,
  order: readonly number[],
): Form {
  const isBinary = rows.layout.dtype === "binary" && layout !== "int8";
  if (layout === "pgvector") return isBinary ? postgresBits(where, rows) : halfvecs(where, rows);
  return isBinary ? bitForm(where, rows, layout) : integerForm(where, rows, layout, order);
}

/** Signs as they are, or with the bits of each byte reversed. */
function bitsOf(where: string, rows: VectorRows, row: number, isReversed: boolean): Uint8Array {
  const bytes = rows.read(where, "codes", row, 1);
  return isReversed ? bytes.map(reversed) : bytes;
}

/** A byte with its bits in the other order. */
function reversed(byte: number): number {
  let bits = 0;
  for (let i = 0; i < 8; i++) bits |= ((byte >> i) & 1) << (7 - i);
  return bits;
}

function bitForm(where: string, rows: VectorRows, layout: ExportLayout): Form {
  const { dimensions } = rows.layout;
  if (dimensions % 8 !== 0) {
    const problem = `layout "${layout}" takes signs in whole bytes, got ${dimensions} dimensions`;
    throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
  }
  const isLowest = layout === "sqlite-vec";
  const types = { "sqlite-vec": `bit[${dimensions}]`, usearch: "b1", faiss: "IndexBinaryFlat" };
  return {
    bytesPerRow: signBytes(dimensions),
    type: types[layout as keyof typeof types],
    bitOrder: isLowest ? "lowest first" : "highest first",
    write: (row) => bitsOf(where, rows, row, !isLowest),
  };
}

function integerForm(
  where: string,
  rows: VectorRows,
  layout: ExportLayout,
  order: readonly number[],
): Form {
  const { dimensions, metric } = rows.layout;
  const all = rows.readAs(where, "scales", 0, rows.size, Float32Array);
  const isShared = layout !== "int8" && metric !== "cosine";
  const largest = isShared ? largestValue(where, rows, order, all) : 0;
  const shared = largest === 0 ? 1 : Math.fround(largest / 127);
  const scales = Float32Array.from(order, (row) => (isShared ? shared : all[row]));
  const types = {
    int8: "int8",
    "sqlite-vec": `int8[${dimensions}]`,
    usearch: "i8",
    faiss: "QT_8bit_direct_signed",
  };
  const type = types[layout as keyof typeof types];
  const write = (row: number): Int8Array | Uint8Array => {
    const codes = codesOf(where, rows, row);
    const factor = all[row] / shared;
    const own = isShared
      ? codes.map((code) => Math.max(-127, Math.min(127, Math.round(code * factor))))
      : codes;
    return layout === "faiss" ? Uint8Array.from(own, (code) => code + 128) : own;
  };
  return { bytesPerRow: dimensions, type, scales, write };
}

/** The largest size of a restored value. */
function largestValue(
  where: string,
  rows: VectorRows,
  order: readonly number[],
  scales: Float32Array,
): number {
  let largest = 0;
  for (const row of order) {
    let code = 0;
    for (const each of codesOf(where, rows, row)) code = Math.max(code, Math.abs(each));
    largest = Math.max(largest, code * scales[row]);
  }
  return largest;
}

/** `bit` in PostgreSQL's binary format: the number of bits as int32, then the bits. */
function postgresBits(where: string, rows: VectorRows): Form {
  const { dimensions } = rows.layout;
  const bytesPerRow = 4 + signBytes(dimensions);
  return {
    bytesPerRow,
    type: `bit(${dimensions})`,
    bitOrder: "highest first",
    write(row) {
      const bytes = new Uint8Array(bytesPerRow);
      new DataView(bytes.buffer).setInt32(0, dimensions);
      bytes.set(bitsOf(where, rows, row, true), 4);
      return bytes;
    },
  };
}

/** `halfvec` in PostgreSQL's binary format: the number of values and 0 as int16, then float16 values. */
function halfvecs(where: string, rows: VectorRows): Form {
  const { dimensions, originals } = rows.layout;
  const bytesPerRow = 4 + 2 * dimensions;
  return {
    bytesPerRow,
    type: `halfvec(${dimensions})`,
    write(row) {
      const bytes = new Uint8Array(bytesPerRow);
      const view = new DataView(bytes.buffer);
      view.setUint16(0, dimensions);
      const halves =
        originals === "float16"
          ? rows.readAs(where, "originals", row, 1, Uint16Array)
          : Uint16Array.from(restoredRow(where, rows, row), float16Bits);
      for (let i = 0; i < dimensions; i++) view.setUint16(4 + 2 * i, halves[i]);
      return bytes;
    },
  };
}
