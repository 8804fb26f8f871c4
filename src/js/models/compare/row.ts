// The comparison of one tensor in two models, tile by tile.

import type { FileDType } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import type { ModelTensor } from "../open/model.js";
import { ValueReader, type ValueSource } from "../open/value-source.js";

/** Values that are compared at a time. */
const TILE = 2 ** 17;

/** A tensor of two models. The errors are errors of b's values relative to a's, accumulated in float64 in the order of the file. */
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

/** Sums over the values of two tensors. */
class Totals {
  equal = true;
  max = 0;
  #signal = 0;
  #other = 0;
  #product = 0;
  #noise = 0;

  add(a: Float32Array, b: Float32Array): void {
    const bitsOfA = new Uint32Array(a.buffer, a.byteOffset, a.length);
    const bitsOfB = new Uint32Array(b.buffer, b.byteOffset, b.length);
    let signal = this.#signal;
    let other = this.#other;
    let product = this.#product;
    let noise = this.#noise;
    let { max, equal } = this;
    for (let i = 0; i < a.length; i++) {
      const x = a[i];
      const y = b[i];
      if (Number.isNaN(x) && Number.isNaN(y)) {
        if (bitsOfA[i] !== bitsOfB[i]) equal = false;
        continue;
      }
      signal += x * x;
      other += y * y;
      product += x * y;
      if (bitsOfA[i] === bitsOfB[i]) continue;
      equal = false;
      // Equal infinities and zeros of different sign have no difference.
      const difference = x === y ? 0 : x - y;
      noise += difference * difference;
      const size = Math.abs(difference);
      if (!(size <= max)) max = Number.isNaN(max) ? max : size;
    }
    this.#signal = signal;
    this.#other = other;
    this.#product = product;
    this.#noise = noise;
    this.max = max;
    this.equal = equal;
  }

  results(count: number) {
    const noise = this.#noise;
    return {
      equal: this.equal,
      max: this.max,
      mse: count === 0 ? Number.NaN : noise / count,
      sqnr: noise === 0 ? Infinity : 10 * Math.log10(this.#signal / noise),
      cosine: this.#product / Math.sqrt(this.#signal * this.#other),
    };
  }
}

/** Compares all values. @param advance  called with bytes that were read of a */
export async function compareValues(
  tensor: ModelTensor,
  to: FileDType,
  a: ValueSource,
  b: ValueSource,
  advance: (bytes: number) => void,
): Promise<CompareRow> {
  const { name, shape, dtype: from } = tensor;
  const first = new ValueReader(a, 0, advance);
  const second = new ValueReader(b, 0, () => {});
  const totals = new Totals();
  const length = Math.min(TILE, a.size);
  const tiles = [new Float32Array(length), new Float32Array(length)];
  try {
    for (let at = 0; at < a.size; at += TILE) {
      const [x, y] = tiles.map((tile) => tile.subarray(0, Math.min(TILE, a.size - at)));
      totals.add(await first.fill(x), await second.fill(y));
    }
  } finally {
    await first.close();
    await second.close();
  }
  return { name, shape: [...shape], from, to, parameters: a.size, ...totals.results(a.size) };
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
