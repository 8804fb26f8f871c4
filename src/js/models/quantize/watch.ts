// ValueWatch compares the values of a weight with those in its written file, while that file is streamed. It finds
// weights that become all zero or not finite, and measures the error of weights that are rounded twice.

import { fieldOf } from "../../base/fields.js";
import {
  type Encoder,
  type FileEncoder,
  type Groups,
  groupsPerRow,
  type Params,
} from "../weights/slices.js";
import { firstOf, floatsOf, type Values } from "../weights/values.js";

type Codes = Uint8Array | Int8Array;

/** Values that are looked at before all others. */
const FIRST = 4096;

/** Scales above may give values that float16 does not hold, with codes of 8 bits. */
const LARGE_SCALE = 2 ** 7;

/** Watches the values of one weight, and those that the file has in their place. */
export class ValueWatch {
  #hasValue = false;
  #hasWritten = false;
  #isNonFinite = false;
  #signal = 0;
  #noise = 0;
  readonly #parts: ValueWatch[] = [];

  /** @param isMeasured  whether the error is measured, too, for which all values are restored */
  constructor(readonly isMeasured: boolean) {}

  /** Forgets what was seen: the weight is streamed again. */
  restart(): void {
    this.#hasValue = false;
    this.#hasWritten = false;
    this.#isNonFinite = false;
    this.#signal = 0;
    this.#noise = 0;
  }

  /** Watches a matrix of the weight, which is streamed by itself. */
  part(): ValueWatch {
    const part = new ValueWatch(this.isMeasured);
    this.#parts.push(part);
    return part;
  }

  /** What the file has in place of values that are neither all zero nor infinite; undefined if that is nothing of these. */
  get loss(): "zero" | "not finite" | undefined {
    if (this.#isNonFinite) return "not finite";
    if (this.#hasValue && !this.#hasWritten) return "zero";
    return this.#parts.find(({ loss }) => loss !== undefined)?.loss;
  }

  /** SQNR in dB of the written values; undefined if it was not measured. */
  get sqnr(): number | undefined {
    const own = [this, ...this.#parts];
    if (!this.isMeasured || !own.some((each) => each.#hasValue)) return undefined;
    const noise = own.reduce((sum, each) => sum + each.#noise, 0);
    const signal = own.reduce((sum, each) => sum + each.#signal, 0);
    return noise === 0 ? Infinity : 10 * Math.log10(signal / noise);
  }

  /** Whether values that are written with these scales and offsets have to be seen. */
  needs(...numbers: readonly ArrayLike<number>[]): boolean {
    return this.isMeasured || !this.#hasWritten || isAnyLarge(numbers);
  }

  /**
   * Takes values, and those that the file has in their place: as few as tell whether all are zero, all if the error is
   * measured.
   * @param restore  gives the written values: all, or the first ones
   * @param numbers  scales and offsets of the values
   */
  take(
    values: Values,
    restore: (most: number) => Float32Array,
    ...numbers: readonly ArrayLike<number>[]
  ): void {
    if (!this.needs(...numbers)) return;
    if (!this.isMeasured && !isAnyLarge(numbers)) {
      const first = restore(FIRST);
      this.see(firstOf(values, first.length), first);
      if (this.#hasWritten) return;
    }
    this.see(values, restore(Infinity));
  }

  /** Takes values, and those that the file has in their place. */
  see(given: Values, written: Float32Array): void {
    const values = this.isMeasured || !this.#hasValue ? floatsOf(given) : undefined;
    this.#hasValue ||= values?.some((value) => value !== 0) === true;
    let sum = 0;
    for (let i = 0; i < written.length; i++) {
      const value = written[i];
      if (value !== 0) this.#hasWritten = true;
      sum += value * 0;
    }
    if (sum !== 0) {
      const before = floatsOf(given);
      this.#isNonFinite ||= written.some(
        (value, i) => !Number.isFinite(value) && Number.isFinite(before[i]),
      );
    }
    if (!this.isMeasured || values === undefined) return;
    for (let i = 0; i < written.length; i++) {
      this.#signal += values[i] ** 2;
      this.#noise += (values[i] - written[i]) ** 2;
    }
  }
}

/** Whether a number is large, infinite or NaN. */
function isAnyLarge(numbers: readonly ArrayLike<number>[]): boolean {
  for (const own of numbers) {
    for (let i = 0; i < own.length; i++) if (!(Math.abs(own[i]) < LARGE_SCALE)) return true;
  }
  return false;
}

/** An encoder whose values are watched. */
export function watchedEncoder<E extends Encoder | FileEncoder>(encoder: E, watch: ValueWatch): E {
  const restore = fieldOf(encoder as FileEncoder, "restore") ?? restoreLinear;
  return {
    ...encoder,
    encode(values: Values, groups: Groups, params: Params): Codes {
      const codes = encoder.encode(values, groups, params);
      const offsets = params.zero instanceof Float32Array ? [params.zero] : [];
      const restored = (most: number): Float32Array => {
        if (most >= codes.length) return restore(codes, groups, params);
        const some = firstGroup(groups, most);
        return restore(codes.subarray(0, some.columns), some, params);
      };
      watch.take(values, restored, params.scale, ...offsets);
      return codes;
    },
  };
}

/** Values of the first row with one scale, or of the first row if columns have one each. */
function firstGroup(groups: Groups, most: number): Groups {
  const { columns, groupSize } = groups;
  if (fieldOf(groups, "height") !== undefined) return { rows: 1, columns, groupSize, height: 1 };
  const count = Math.min(columns, groupSize, most);
  return { rows: 1, columns: count, groupSize: count };
}

/** (code - zero point) * scale of each value, as `dequantize` has it. */
function restoreLinear(codes: Codes, groups: Groups, { scale, zero }: Params): Float32Array {
  const { columns, groupSize } = groups;
  const height = fieldOf(groups, "height");
  const perRow = groupsPerRow(groups);
  const values = new Float32Array(codes.length);
  for (let i = 0; i < values.length; i++) {
    const column = i % columns;
    const row = (i - column) / columns;
    const group = height === undefined ? row * perRow + Math.floor(column / groupSize) : column;
    values[i] = (codes[i] - zero[group]) * scale[group];
  }
  return values;
}
