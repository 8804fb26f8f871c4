// Tiles of rows -> the errors of all schemes, while a tile is in the cache.

import { checkStatus } from "../../base/errors.js";
import { type NumberArray, newArray } from "../../base/typed-arrays.js";
import type { Core } from "../../core/core.js";
import { runOn } from "../../core/init.js";
import { fakeQuantize } from "../../quantize/fake-quantize.js";
import type { InputMoments } from "../inputs/moments.js";
import { type LinearScheme, type Scheme, schemeOptions } from "../scheme.js";
import { compareRows } from "./compare-rows.js";
import type { RowLayout } from "./layout.js";
import { floatsOf, type RowTile } from "./reader.js";
import { ROW_DOUBLES, Totals } from "./totals.js";

/** A scheme, with its parameters of the whole tensor. */
export interface RangedScheme {
  readonly scheme: Exclude<Scheme, { kind: "keep" }>;
  /** The tensor's range, for schemes with one scale. */
  readonly range: readonly [min: number, max: number];
  /** Of a half-quadratic scheme with one scale. */
  readonly qparams?: { readonly scale: number; readonly zero: number };
}

/** Heap addresses of a tile and its arrays. 0 for weights and values that are not needed. */
interface Places {
  readonly at: number;
  readonly rows: number;
  readonly weightsAt: number;
  readonly valuesAt: number;
  readonly outAt: number;
}

const isHalfQuadratic = ({ scheme }: RangedScheme): boolean =>
  scheme.kind === "linear" && scheme.search === "hqq";

const ROW_BYTES = 8 * ROW_DOUBLES;

/** Adds up the errors of a tensor. */
export class Evaluation {
  /** Squared values, and squared values times the weights of inputs. */
  readonly signal: Totals;
  /** Of each scheme. */
  readonly totals: readonly Totals[];

  /** Mean squares of the inputs, for the weighted error. */
  readonly #weights: Float64Array | undefined;
  /** All second moments, which replace the weighted error. */
  readonly #full: InputMoments | undefined;

  /** @param moments  of the inputs; undefined if nothing is known */
  constructor(
    readonly core: Core,
    readonly where: string,
    readonly layout: RowLayout,
    readonly schemes: readonly RangedScheme[],
    readonly moments: InputMoments | undefined,
    keepsWorst: boolean,
  ) {
    this.signal = new Totals(false);
    this.totals = schemes.map(() => new Totals(keepsWorst));
    this.#full = moments?.kind === "full" ? moments : undefined;
    this.#weights = moments?.squares;
  }

  /** Whether a value so far was NaN or infinite. */
  get isFinite(): boolean {
    return (
      Number.isFinite(this.signal.noise) && !this.totals.some(({ noise }) => Number.isNaN(noise))
    );
  }

  add({ rows, values }: RowTile): void {
    const signals = newArray(this.where, Float64Array, rows * ROW_DOUBLES);
    const results = this.schemes.map(() => newArray(this.where, Float64Array, rows * ROW_DOUBLES));
    // Again from the start if a worker was lost: it may still write to the block.
    while (!this.#run(rows, values, signals, results));
    this.#searchHalfQuadratic(values, results);
    const isWeighted = this.moments !== undefined;
    this.signal.add(signals, signals, false);
    for (const [i, errors] of results.entries()) this.totals[i].add(errors, signals, isWeighted);
  }

  /** @returns false if the results are not to be used */
  #run(
    rows: number,
    values: NumberArray,
    signals: Float64Array,
    results: readonly Float64Array[],
  ): boolean {
    const { module, memory } = this.core;
    const { where } = this;
    const weights = this.#weights;
    const { rowLength } = this.layout;
    const size = 4 * values.length;
    const [at, outAt, given, valuesAt] = memory.layOut(
      where,
      size,
      ROW_BYTES * rows,
      8 * (weights?.length ?? 0),
      this.#full === undefined ? 0 : size,
    );
    try {
      memory.write("Float32Array", at, values);
      if (weights !== undefined) memory.write("Float64Array", given, weights);
      const places: Places = {
        ...{ at, rows, outAt },
        weightsAt: weights === undefined ? 0 : given,
        valuesAt: this.#full === undefined ? 0 : valuesAt,
      };
      const original = this.#full && newArray(where, Float32Array, values.length);
      if (original !== undefined) memory.read(at, original);
      checkStatus(where, module.rowEnergies(at, rows, rowLength, places.weightsAt, outAt));
      memory.read(outAt, signals);
      if (original !== undefined) this.#weighFully(original, undefined, signals);
      const changed = this.#full && newArray(where, Float32Array, values.length);
      for (const [i, scheme] of this.schemes.entries()) {
        if (isHalfQuadratic(scheme)) continue;
        checkStatus(where, this.#measure(scheme, places));
        memory.read(outAt, results[i]);
        if (original !== undefined && changed !== undefined) {
          memory.read(valuesAt, changed);
          this.#weighFully(original, changed, results[i]);
        }
        if (!memory.holds(at)) return false;
      }
      return true;
    } finally {
      memory.end();
    }
  }

  /**
   * Qparams of rows and groups are chosen by `fakeQuantize`, whose twenty iterations take far longer than the sums; those
   * of the tensor are known.
   */
  #searchHalfQuadratic(values: NumberArray, results: readonly Float64Array[]): void {
    if (!this.schemes.some(isHalfQuadratic) || !Number.isFinite(this.signal.noise)) return;
    const original = floatsOf(values);
    // Throws for NaN and infinities, unless another scheme has thrown before.
    if (!original.every(Number.isFinite)) {
      for (const [i, scheme] of this.schemes.entries()) {
        if (isHalfQuadratic(scheme)) results[i].fill(Number.NaN);
      }
      return;
    }
    const { rowLength, runLength } = this.layout;
    for (const [i, ranged] of this.schemes.entries()) {
      if (!isHalfQuadratic(ranged)) continue;
      const { name, granularity } = ranged.scheme as LinearScheme;
      const length = granularity === "group" ? runLength : rowLength;
      const x = { data: original, shape: [original.length / length, length] };
      const { qparams } = ranged;
      const options = {
        ...schemeOptions(name),
        ...(qparams && { range: undefined, scale: qparams.scale, zeroPoint: qparams.zero }),
      };
      const { data } = runOn(this.core, () => fakeQuantize(x, options));
      compareRows(original, data, rowLength, this.#weights, results[i]);
      if (this.#full !== undefined) this.#weighFully(original, data, results[i]);
    }
  }

  /** Replaces the weighted errors of rows by those with all second moments. */
  #weighFully(
    original: Float32Array,
    changed: Float32Array | undefined,
    errors: Float64Array,
  ): void {
    const { rowLength } = this.layout;
    const difference = new Float64Array(rowLength);
    for (let row = 0; row * ROW_DOUBLES < errors.length; row++) {
      const start = row * rowLength;
      for (let i = 0; i < rowLength; i++) {
        difference[i] = original[start + i] - (changed === undefined ? 0 : changed[start + i]);
      }
      errors[row * ROW_DOUBLES + 5] = (this.#full as InputMoments).meanSquare(difference);
    }
  }

  #measure(
    { scheme, range }: RangedScheme,
    { at, rows, weightsAt, valuesAt, outAt }: Places,
  ): string {
    const { module } = this.core;
    const { rowLength, runLength } = this.layout;
    if (scheme.kind !== "linear") {
      const type = { float16: "f16", bfloat16: "bf16" }[scheme.name as "float16"] ?? scheme.name;
      type Type = Parameters<typeof module.blockRowErrors>[3];
      return module.blockRowErrors(at, rows, rowLength, type as Type, weightsAt, valuesAt, outAt);
    }
    const { granularity, groupSize, dtype, isAffine, search } = scheme;
    const isGroup = granularity === "group";
    const size = { tensor: 0, channel: rowLength, group: groupSize as number }[granularity];
    return module.rowErrors(
      at,
      rows,
      rowLength,
      dtype as Parameters<typeof module.rowErrors>[3],
      isAffine ? "affine" : "symmetric",
      size,
      isGroup ? runLength : rowLength,
      search === "mse",
      range[0],
      range[1],
      weightsAt,
      valuesAt,
      outAt,
    );
  }
}
