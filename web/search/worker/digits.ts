// The 10,000 digits: as float32 rows, and in an index for each kind of codes.

import { dequantize, init, unpack } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import imagesUrl from "../../../build/cost/images.bin?url";
import { GREY } from "../../../scripts/cost/file.mjs";
import { pageCore } from "../../shell/core/worker-core.js";

const [DIGITS, PIXELS, NEAREST] = [10_000, 784, 10];

/** A search is timed by the median of so many runs. */
const RUNS = 3;

type Codes = "int8" | "int4" | "binary";

export interface Shown {
  /** Of the digit. */
  id: number;
  /** 0 to 9. */
  label: number;
  /** The cosine, of differences from the mean digit. */
  score: number;
  /** Of its 784 pixels, 0 (paper) to 15 (ink). */
  codes: Uint8Array;
}

export interface Search {
  hits: Shown[];
  /** Milliseconds. */
  time: number;
  proven: "order" | "members" | false;
  /** Digits that could be among the nearest. */
  candidates: number;
}

interface Digits {
  /** 784 for each digit. */
  codes: Uint8Array;
  labels: Uint8Array;
  /** Of all digits. */
  mean: Float32Array;
  /** Differences from the mean, of length 1. */
  rows: Float32Array;
  indexes: Record<Codes, VectorIndex<number>>;
}

let digits: Digits | undefined;

/**
 * Loads the digits.
 * @returns what rows and codes take
 */
export async function loadDigits(): Promise<{ bytes: Record<"float32" | Codes, number> }> {
  const [bytes] = await Promise.all([loadImages(), init({ wasm: pageCore })]);
  const packed = bytes.subarray(0, (DIGITS * PIXELS) / 2);
  const labels = bytes.slice(packed.length);
  const grey = unpack(packed, { ...GREY, shape: [DIGITS, PIXELS] });
  const { data } = dequantize(grey);
  const mean = meanOf(data);
  for (let start = 0; start < data.length; start += PIXELS) {
    normalize(data.subarray(start, start + PIXELS), mean);
  }
  const indexOf = (dtype: Codes) => {
    const index: VectorIndex<number> = new VectorIndex({ dimensions: PIXELS, dtype });
    index.add(data);
    return index;
  };
  const indexes = { int8: indexOf("int8"), int4: indexOf("int4"), binary: indexOf("binary") };
  digits = { codes: grey.data, labels, mean, rows: data, indexes };
  // Codes, and 8 bytes for the scale and the error of each row.
  const sized = (bits: number) => DIGITS * ((PIXELS * bits) / 8 + 8);
  return {
    bytes: { float32: data.byteLength, int8: sized(8), int4: sized(4), binary: sized(1) },
  };
}

async function loadImages(): Promise<Uint8Array> {
  const response = await fetch(imagesUrl);
  if (!response.ok || !response.body) throw new Error(`${response.url} answers ${response.status}`);
  const stream = response.body.pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length !== DIGITS * (PIXELS / 2 + 1)) throw new Error("the file of digits is damaged");
  return bytes;
}

function meanOf(data: Float32Array) {
  const sums = new Float64Array(PIXELS);
  for (let i = 0; i < data.length; i++) sums[i % PIXELS] += data[i];
  return Float32Array.from(sums, (sum) => sum / DIGITS);
}

/**
 * Makes a digit its difference from the mean, of length 1: the signs of its values say then where it has more ink
 * than most, and the cosine is a sum of products.
 */
function normalize(row: Float32Array, mean: Float32Array) {
  let square = 0;
  for (let i = 0; i < PIXELS; i++) {
    row[i] -= mean[i];
    square += row[i] * row[i];
  }
  const factor = square > 0 ? 1 / Math.sqrt(square) : 0;
  for (let i = 0; i < PIXELS; i++) row[i] *= factor;
}

function loaded(): Digits {
  if (!digits) throw new Error("the digits are not loaded");
  return digits;
}

/**
 * Any digit of a label.
 * @param argument  number: any, which of them
 */
export function takeDigit({ label, number }: { label: number; number: number }) {
  const { codes, labels } = loaded();
  const first = labels.indexOf(label);
  const count = labels.lastIndexOf(label) - first + 1;
  const id = first + (number % count);
  return codes.slice(id * PIXELS, (id + 1) * PIXELS);
}

/**
 * Finds the digits nearest to an image: by float32 values, by each kind of codes, and by the values of the candidates
 * that int8 leaves.
 * @param argument  784 from 0 to 1
 */
export async function nearest({ pixels }: { pixels: Float32Array }) {
  const { mean, rows, indexes } = loaded();
  const query = pixels.slice();
  normalize(query, mean);
  const float32 = await timed(() => ({
    ...{ hits: nearestRows(rows, query), proven: "order" as const },
    candidates: NEAREST,
  }));
  const find = (codes: Codes) => indexes[codes].search(query, { k: NEAREST });
  // One after another: each is timed.
  const int8 = await timed(() => find("int8"));
  const int4 = await timed(() => find("int4"));
  const binary = await timed(() => find("binary"));
  const decided = await timed(() => indexes.int8.rescore(find("int8"), rowsOf));
  return { float32, int8, int4, binary, decided };
}

/** The float32 rows of digits. */
function rowsOf(ids: number[]) {
  const { rows } = loaded();
  const result = new Float32Array(ids.length * PIXELS);
  for (const [i, id] of ids.entries()) {
    result.set(rows.subarray(id * PIXELS, (id + 1) * PIXELS), i * PIXELS);
  }
  return result;
}

/** @param search  gives a result of a search, or a promise of it */
async function timed(search: () => any): Promise<Search> {
  const times = [];
  let result: any;
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now();
    result = await search();
    times.push(performance.now() - start);
  }
  const { codes, labels } = loaded();
  const { hits, proven, candidates } = result;
  const shown = hits.map(({ id, score }: { id: number; score: number }) => ({
    ...{ id, score, label: labels[id] },
    codes: codes.slice(id * PIXELS, (id + 1) * PIXELS),
  }));
  const [, time] = times.sort((a, b) => a - b);
  return { hits: shown, proven, candidates, time };
}

/**
 * The nearest rows as an application without an index finds them: all products in plain JavaScript, then the largest.
 */
function nearestRows(rows: Float32Array, query: Float32Array) {
  const best: { id: number; score: number }[] = [];
  for (let id = 0, start = 0; id < DIGITS; id++, start += PIXELS) {
    let score = 0;
    for (let i = 0; i < PIXELS; i++) score += rows[start + i] * query[i];
    if (best.length === NEAREST && score <= best[NEAREST - 1].score) continue;
    const place = best.findIndex((other) => other.score < score);
    best.splice(place < 0 ? best.length : place, 0, { id, score });
    best.length = Math.min(best.length, NEAREST);
  }
  return best;
}
