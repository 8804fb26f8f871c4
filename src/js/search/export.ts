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
  /**
   * Of integer codes: the scale of each row, in the order of `ids`; x ≈ scale · code. With `groupSize`: those of each
   * row's groups, one behind the other.
   */
  readonly scales?: Float32Array;
  /** Values of a group that has a scale of its own, of an index with several groups a row in the layout `"int8"`. */
  readonly groupSize?: number;
}

/** One row's codes as integers; of signs 1 and −1. */
function codesOf(where: string, rows: VectorRows, row: number): Int8Array {
  const { dimensions, dtype, groupSize = dimensions } = rows.layout;
  const bytes = rows.read(where, "codes", row, 1);
  if (dtype === "int8") return new Int8Array(bytes.buffer as ArrayBuffer);
  if (dtype === "binary") {
    return Int8Array.from({ length: dimensions }, (_, i) =>
      (bytes[i >> 3] >> (i & 7)) & 1 ? 1 : -1,
    );
  }
  // Each group begins at a byte.
  const groupBytes = Math.ceil(groupSize / 2);
  return Int8Array.from({ length: dimensions }, (_, i) => {
    const place = i % groupSize;
    const byte = bytes[Math.floor(i / groupSize) * groupBytes + (place >> 1)];
    return (byte << (place % 2 === 0 ? 28 : 24)) >> 28;
  });
}

const scalesOf = (where: string, rows: VectorRows, row: number): Float32Array =>
  rows.readAs(where, "scales", row, 1, Float32Array);

/** The values that a row's codes stand for, in double. */
function decodedRow(where: string, rows: VectorRows, row: number): Float64Array {
  const { dimensions, groupSize = dimensions } = rows.layout;
  const scales = scalesOf(where, rows, row);
  return Float64Array.from(
    codesOf(where, rows, row),
    (code, i) => scales[Math.floor(i / groupSize)] * code,
  );
}

/** The original of a row, or the values that its codes stand for. */
export function restoredRow(where: string, rows: VectorRows, row: number): Float32Array {
  const { originals } = rows.layout;
  if (originals === "float32") return rows.readAs(where, "originals", row, 1, Float32Array);
  if (originals === "float16") {
    const halves = rows.readAs(where, "originals", row, 1, Uint16Array);
    return Float32Array.from(halves, (bits) => halfValue(bits, "float16"));
  }
  return Float32Array.from(decodedRow(where, rows, row));
}

/** A row of bytes for each position, and what they are. */
interface Form {
  readonly bytesPerRow: number;
  readonly type: string;
  readonly bitOrder?: "lowest first" | "highest first";
  readonly scales?: Float32Array;
  readonly groupSize?: number;
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
  const { dimensions, metric, groupSize } = rows.layout;
  const types = {
    int8: "int8",
    "sqlite-vec": `int8[${dimensions}]`,
    usearch: "i8",
    faiss: "QT_8bit_direct_signed",
  };
  const type = types[layout as keyof typeof types];
  const hasGroups = rows.groups > 1;
  if (layout === "int8" || (metric === "cosine" && !hasGroups)) {
    const scales = new Float32Array(order.length * rows.groups);
    for (const [i, row] of order.entries()) scales.set(scalesOf(where, rows, row), i * rows.groups);
    const write = (row: number): Int8Array | Uint8Array =>
      layout === "faiss"
        ? Uint8Array.from(codesOf(where, rows, row), (code) => code + 128)
        : codesOf(where, rows, row);
    const form = { bytesPerRow: dimensions, type, scales, write };
    return hasGroups ? { ...form, groupSize: groupSize as number } : form;
  }
  // New codes of the restored values: with one scale a row for cosines, otherwise with one for all.
  const largest = Float64Array.from(order, (row) => {
    let most = 0;
    for (const value of decodedRow(where, rows, row)) most = Math.max(most, Math.abs(value));
    return most;
  });
  const shared = metric === "cosine" ? undefined : largest.reduce((a, b) => Math.max(a, b), 0);
  const scales = Float32Array.from(largest, (own) => Math.fround((shared ?? own) / 127) || 1);
  const scaleOf = new Map(order.map((row, i) => [row, scales[i]]));
  const write = (row: number): Int8Array | Uint8Array => {
    const scale = scaleOf.get(row) as number;
    const codes = Int8Array.from(decodedRow(where, rows, row), (value) =>
      Math.max(-127, Math.min(127, Math.round(value / scale))),
    );
    return layout === "faiss" ? Uint8Array.from(codes, (code) => code + 128) : codes;
  };
  return { bytesPerRow: dimensions, type, scales, write };
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
