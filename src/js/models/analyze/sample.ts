// Some rows of a weight as a small tensor of their own, for estimates.

import { newArray } from "../../base/typed-arrays.js";
import { bytesOf } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import type { RowLayout } from "./layout.js";

/** The fewest rows of a sample: a few rows alone may be unlike the others. */
const LEAST_ROWS = 8;

/** Rows of a weight, in memory. */
export interface Sample {
  readonly file: FileTensor;
  readonly layout: RowLayout;
}

/**
 * Reads evenly spread rows of a weight. If the values of a row are contiguous, only their bytes are read;
 * otherwise all bytes are read once.
 * @param step  number of neighbouring rows that are read together
 * @param values  about how many to read: whole rows, at least eight
 * @returns undefined if that would be all rows
 */
export async function sampleOf(
  where: string,
  file: FileTensor,
  layout: RowLayout,
  step: number,
  values: number,
): Promise<Sample | undefined> {
  const { rows, rowLength, inner } = layout;
  const wanted = step * Math.ceil(Math.max(LEAST_ROWS, values / rowLength) / step);
  if (wanted >= rows) return undefined;
  // Rows of [rows / inner, rowLength, inner]: the same places of the last axis at each index of the first one.
  const isContiguous = inner === 1;
  const from = isContiguous ? rows : inner;
  const share = step * Math.ceil((wanted * inner) / rows / step);
  const count = isContiguous ? wanted : Math.min(inner, share);
  const lines = isContiguous ? 1 : (rows / inner) * rowLength;
  const width = bytesOf(file.dtype, isContiguous ? rowLength : 1) as number;
  const bytes = newArray(where, Uint8Array, lines * count * width);
  const places = Array.from({ length: lines * count }, (_, i) => {
    const index = i % count;
    const run = Math.floor(index / step);
    const start = step * Math.floor(((run + 0.5) * Math.floor(from / step)) / (count / step));
    const place = count === from ? index : start + (index % step);
    return (Math.floor(i / count) * from + place) * width;
  });
  if (isContiguous && file.span !== undefined) await readEach(file, places, width, bytes);
  else await pickOut(file, places, width, bytes);
  const sampledRows = isContiguous ? count : (rows / inner) * count;
  return {
    file: inMemory(file, [sampledRows, rowLength], bytes),
    layout: { ...layout, rows: sampledRows, inner: isContiguous ? 1 : count },
  };
}

/** Reads pieces of a width by their places. */
async function readEach(
  file: FileTensor,
  places: readonly number[],
  width: number,
  out: Uint8Array,
): Promise<void> {
  let at = 0;
  for (const place of places) {
    for await (const chunk of file.bytes(place, place + width)) {
      out.set(chunk, at);
      at += chunk.length;
    }
  }
}

/** The same in one pass over the file. @param places  ascending */
async function pickOut(
  file: FileTensor,
  places: readonly number[],
  width: number,
  out: Uint8Array,
): Promise<void> {
  let start = 0;
  let next = 0;
  for await (const chunk of file.bytes()) {
    const end = start + chunk.length;
    for (; next < places.length && places[next] < end; next++) {
      const place = places[next];
      const piece = chunk.subarray(Math.max(0, place - start), place + width - start);
      out.set(piece, next * width + Math.max(0, start - place));
      // The rest of the piece is in the next chunk.
      if (place + width > end) break;
    }
    start = end;
  }
}

function inMemory(
  { name, dtype }: FileTensor,
  shape: readonly number[],
  bytes: Uint8Array,
): FileTensor {
  return {
    ...{ name, dtype, shape, byteLength: bytes.length },
    async *bytes(begin = 0, end = bytes.length) {
      yield bytes.subarray(begin, end);
    },
  };
}
