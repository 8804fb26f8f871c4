// The comparison of one tensor in two models, tile by tile.

import type { FileDType } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import type { ModelTensor } from "../open/model.js";
import { SLAB_VALUES } from "../weights/memory.js";
import { type RowError, RowErrors } from "../weights/row-errors.js";
import {
  floatsOf,
  readRuns,
  runsWithin,
  type ValueSource,
  type Values,
} from "../weights/values.js";
import type { WeightView } from "../weights/view.js";

/**
 * A tensor of two models. The errors are errors of b's values relative to a's, accumulated in float64 as those of `analyze`, whose rows of the
 * written file have the same bits. */
export interface CompareRow {
  /** The tensor's name in a; in b, if a does not have it. */
  readonly name: string;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
  /** The dtype in a; undefined if a does not have it. */
  readonly from: FileDType | undefined;
  /** The dtype in b; undefined if b does not have it. */
  readonly to: FileDType | undefined;
  /** Number of values. */
  readonly parameters: number;
  /** Whether all values have the same bits. */
  readonly equal: boolean;
  /** The largest difference; NaN if it was not compared, or only one of two values is NaN. Two NaN do not differ. */
  readonly max: number;
  /** The mean of the squared differences. */
  readonly mse: number;
  /** 10 * log10(sum(a^2) / sum((a - b)^2)) in dB: Infinity if there is no difference. */
  readonly sqnr: number;
  /** sum(a * b) / sqrt(sum(a^2) * sum(b^2)): NaN for zeros. */
  readonly cosine: number;
  /** The reason why it was not compared: missing in a or b, another shape, or a dtype without values. */
  readonly reason?: string;
}

/** A row of a tensor whose values are not compared. */
export function uncompared(
  { name, shape }: ModelTensor,
  from: FileDType | undefined,
  to: FileDType | undefined,
  reason: string,
  equal = false,
): CompareRow {
  const parameters = shape.reduce((count, length) => count * length, 1);
  const max = equal ? 0 : Number.NaN;
  const sqnr = equal ? Infinity : Number.NaN;
  const errors = { max, mse: max, sqnr, cosine: equal ? 1 : Number.NaN };
  return { name, shape: [...shape], from, to, parameters, equal, ...errors, reason };
}

/** Outputs of a weight whose values are interleaved, at most, that are added up at a time. */
const MOST_COLUMNS = 2 ** 18;

/** Sums over the values of two tensors, output by output, as the rows of `analyze` have them. */
class Totals {
  equal = true;
  max = 0;
  #signal = 0;
  #other = 0;
  #product = 0;
  #noise = 0;

  addRow(row: RowError): void {
    this.#noise += row[0];
    this.#other += row[1];
    this.#product += row[2];
    this.#signal += row[6];
    const largest = row[4];
    if (!(largest <= this.max)) this.max = Number.isNaN(this.max) ? this.max : largest;
  }

  compareBits(a: Float32Array, b: Float32Array): void {
    if (!this.equal) return;
    const bitsOfA = new Uint32Array(a.buffer, a.byteOffset, a.length);
    const bitsOfB = new Uint32Array(b.buffer, b.byteOffset, b.length);
    let i = 0;
    while (i < bitsOfA.length && bitsOfA[i] === bitsOfB[i]) i++;
    this.equal = i === bitsOfA.length;
  }

  results(count: number, decibels: Decibels) {
    const noise = this.#noise;
    return {
      equal: this.equal,
      max: this.max,
      mse: count === 0 ? Number.NaN : noise / count,
      sqnr: decibels(this.#signal, noise),
      cosine: this.#product / Math.sqrt(this.#signal * this.#other),
    };
  }
}

/** 10 * log10(signal / noise), Infinity without noise. */
export type Decibels = (signal: number, noise: number) => number;

/**
 * Compares all values.
 * @param view  the axes of the tensor in a
 * @param advance  called with bytes that were read of a
 */
export async function compareValues(
  where: string,
  tensor: ModelTensor,
  to: FileDType,
  a: ValueSource,
  b: ValueSource,
  view: WeightView,
  decibels: Decibels,
  advance: (bytes: number) => void,
): Promise<CompareRow> {
  const { name, shape, dtype: from } = tensor;
  const totals = new Totals();
  const onRow = (row: RowError): void => totals.addRow(row);
  const scratch = [0, 1].map(() => new Float32Array(Math.min(SLAB_VALUES, a.size)));
  /** Compares values from one on. */
  const add = async (
    begin: number,
    end: number,
    take: (x: Float32Array, y: Float32Array, at: number) => void,
    told: (bytes: number) => void,
  ): Promise<void> => {
    const others = readRuns(b, runsWithin(begin, end));
    try {
      for await (const { run, values } of readRuns(a, runsWithin(begin, end), told)) {
        const { value } = (await others.next()) as { value: { values: Values } };
        take(floatsOf(values, scratch[0]), floatsOf(value.values, scratch[1]), run.begin);
      }
    } finally {
      await others.return();
    }
  };
  const { rowLength, inner } = view.outputs;
  if (inner <= MOST_COLUMNS) {
    const errors = new RowErrors(where, { rowLength, inner }, undefined, onRow);
    await add(
      ...([0, a.size] as const),
      (x, y) => {
        totals.compareBits(x, y);
        errors.add(x, y);
      },
      advance,
    );
  } else {
    const size = rowLength * inner;
    for (let start = 0; start < a.size; start += size) {
      for (let left = 0; left < inner; left += MOST_COLUMNS) {
        const width = Math.min(MOST_COLUMNS, inner - left);
        const errors = new RowErrors(where, { rowLength, inner: width }, undefined, onRow);
        await add(
          ...([start, start + size] as const),
          (x, y, at) => {
            if (left === 0) totals.compareBits(x, y);
            for (const [from, to] of runsOfColumns(at - start, x.length, inner, left, width)) {
              errors.add(x.subarray(from, to), y.subarray(from, to));
            }
          },
          left === 0 ? advance : () => {},
        );
      }
    }
  }
  const results = totals.results(a.size, decibels);
  return { name, shape: [...shape], from, to, parameters: a.size, ...results };
}

/** The runs of some columns in values of a matrix, from an index of the matrix on. */
function* runsOfColumns(
  first: number,
  length: number,
  inner: number,
  left: number,
  width: number,
): Generator<[from: number, to: number]> {
  for (let row = first - (first % inner); row < first + length; row += inner) {
    const from = Math.max(0, row + left - first);
    const to = Math.min(length, row + left + width - first);
    if (from < to) yield [from, to];
  }
}

/** Whether two tensors have the same bytes. @param advance  called with bytes that were read of a */
export async function haveSameBytes(
  a: FileTensor,
  b: FileTensor,
  advance: (bytes: number) => void,
): Promise<boolean> {
  if (a.byteLength !== b.byteLength) return false;
  const chunks = b.bytes();
  let rest: Uint8Array = new Uint8Array(0);
  try {
    for await (const chunk of a.bytes()) {
      advance(chunk.length);
      for (let at = 0; at < chunk.length; ) {
        if (rest.length === 0) {
          const { done, value } = await chunks.next();
          if (done) return false;
          rest = value;
        }
        const length = Math.min(rest.length, chunk.length - at);
        for (let i = 0; i < length; i++) if (chunk[at + i] !== rest[i]) return false;
        at += length;
        rest = rest.subarray(length);
      }
    }
    return true;
  } finally {
    await chunks.return();
  }
}
