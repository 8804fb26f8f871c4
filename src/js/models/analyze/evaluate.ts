// Tiles of rows -> the errors of all schemes, while a tile is in the cache.

import { checkStatus } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { newArray, subarrayOf } from "../../base/typed-arrays.js";
import type { Core } from "../../core/core.js";
import { runOn } from "../../core/init.js";
import { dequantizeBlocks, quantizeBlocks } from "../../quantize/blocks.js";
import { fakeQuantize } from "../../quantize/fake-quantize.js";
import { TILE } from "../../tensor/tiles.js";
import type { InputMoments } from "../inputs/moments.js";
import { type Scheme, schemeOptions } from "../scheme.js";
import { RowErrors } from "../weights/row-errors.js";
import type { RowSlab } from "../weights/rows.js";
import type { FileEncoder, Params } from "../weights/slices.js";
import { floatsOf, type Values } from "../weights/values.js";
import { isAcross, type RowLayout, rowsOfGroups } from "./layout.js";
import { ROW_DOUBLES, Totals } from "./totals.js";

/** A scheme, with its parameters of the whole tensor. */
export interface RangedScheme {
  readonly scheme: Exclude<Scheme, { kind: "keep" }>;
  /** The tensor's range, for schemes with one scale. */
  readonly range: readonly [min: number, max: number];
  /** Of a half-quadratic scheme with one scale. */
  readonly qparams?: { readonly scale: number; readonly zero: number };
  /** Of a scheme whose channels are several rows each. */
  readonly shared?: SharedQParams;
  /** Of a file whose arithmetic is not that of `quantize`. */
  readonly written?: WrittenArithmetic;
}

/** How a file has the values of a weight. */
export interface WrittenArithmetic {
  readonly encoder: FileEncoder;
  /** Of the whole weight, for schemes with one scale. */
  readonly params: Params | undefined;
}

/** Scales and zero points that several rows share. */
export interface SharedQParams {
  /** The scale of a row. */
  readonly sliceOf: (row: number) => number;
  readonly scales: Float32Array;
  readonly zeroPoints: Int32Array;
}

/** Heap addresses of a tile and its arrays. 0 for weights and values that are not needed. */
interface Places {
  readonly at: number;
  readonly rows: number;
  readonly weightsAt: number;
  readonly valuesAt: number;
  /** The group's size and the run's length, then the range, of a scheme. */
  readonly schemeAt: number;
  readonly outAt: number;
}

const isHalfQuadratic = ({ scheme }: RangedScheme): boolean =>
  scheme.kind === "linear" && scheme.search === "hqq";

const ROW_BYTES = 8 * ROW_DOUBLES;

/** Ranges of at most so many indices, at least one. */
function* parts(count: number, most: number): Generator<{ begin: number; end: number }> {
  const step = Math.max(1, most);
  for (let begin = 0; begin < count; begin += step) {
    yield { begin, end: Math.min(count, begin + step) };
  }
}

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
  readonly #arrays: Float32Array[] = [];

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

  add({ first, rows, values }: RowSlab): void {
    const signals = newArray(this.where, Float64Array, rows * ROW_DOUBLES);
    const results = this.schemes.map(() => newArray(this.where, Float64Array, rows * ROW_DOUBLES));
    const { rowLength } = this.layout;
    for (const { begin, end } of parts(rows, Math.floor(TILE / rowLength))) {
      const own = (errors: Float64Array) => errors.subarray(begin * ROW_DOUBLES, end * ROW_DOUBLES);
      const part = subarrayOf(values, begin * rowLength, end * rowLength);
      // Again from the start if a worker was lost: it may still write to the block.
      while (!this.#run(end - begin, part, own(signals), results.map(own)));
    }
    this.#measureOutside(first, rows, values, results);
    const isWeighted = this.moments !== undefined;
    this.signal.add(signals, signals, false);
    for (const [i, errors] of results.entries()) this.totals[i].add(errors, signals, isWeighted);
  }

  /** @returns false if the results are not to be used */
  #run(
    rows: number,
    values: Values,
    signals: Float64Array,
    results: readonly Float64Array[],
  ): boolean {
    const { module, memory } = this.core;
    const { where } = this;
    const weights = this.#weights;
    const { rowLength } = this.layout;
    const size = 4 * values.length;
    const [at, outAt, given, valuesAt, schemeAt] = memory.layOut(
      where,
      size,
      ROW_BYTES * rows,
      8 * (weights?.length ?? 0),
      this.#full === undefined ? 0 : size,
      16,
    );
    try {
      memory.write("Float32Array", at, values);
      if (weights !== undefined) memory.write("Float64Array", given, weights);
      const places: Places = {
        ...{ at, rows, schemeAt, outAt },
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
        if (this.#isOutside(scheme)) continue;
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

  /** Whether the core's row errors do not have a scheme. */
  #isOutside(ranged: RangedScheme): boolean {
    const { scheme } = ranged;
    const isGiven = ["shared", "written"].some((field) => Object.hasOwn(ranged, field));
    return isGiven || isHalfQuadratic(ranged) || isAcross(scheme, this.layout);
  }

  /**
   * Half-quadratic schemes, whose twenty iterations take far longer than the sums, those with groups or blocks of
   * outputs, those with scales that several rows share, and those of files with an arithmetic of their own.
   */
  #measureOutside(
    first: number,
    rows: number,
    values: Values,
    results: readonly Float64Array[],
  ): void {
    const outside = this.schemes.filter((each) => this.#isOutside(each));
    if (outside.length === 0 || !Number.isFinite(this.signal.noise)) return;
    const all = floatsOf(values);
    const areFinite = all.every(Number.isFinite);
    const { layout } = this;
    const { rowLength, runLength } = layout;
    for (const [i, ranged] of this.schemes.entries()) {
      if (!outside.includes(ranged)) continue;
      // Quantizing would throw, unless another scheme has thrown before.
      if (!areFinite) {
        results[i].fill(Number.NaN);
        continue;
      }
      const { scheme } = ranged;
      const shared = fieldOf(ranged, "shared");
      const written = fieldOf(ranged, "written");
      const isGroup = scheme.kind === "linear" && scheme.granularity === "group";
      const most = Math.floor(TILE / rowLength);
      const step = rowsOfGroups(scheme, layout);
      for (const { begin, end } of parts(rows, Math.max(step, most - (most % step)))) {
        const original = all.subarray(begin * rowLength, end * rowLength);
        const length = isGroup ? runLength : rowLength;
        const changed =
          written !== undefined
            ? changedAsWritten(scheme, written, original, length)
            : isAcross(scheme, layout)
              ? this.#changedAcross(ranged, end - begin, original)
              : shared !== undefined
                ? this.#changedBy(scheme, shared, first + begin, original)
                : this.#changed(ranged, original, length);
        const errors = results[i].subarray(begin * ROW_DOUBLES, end * ROW_DOUBLES);
        this.#compare(original, changed, errors);
        if (this.#full !== undefined) this.#weighFully(original, changed, errors);
      }
    }
  }

  #compare(original: Float32Array, changed: Float32Array, errors: Float64Array): void {
    const { rowLength } = this.layout;
    let at = 0;
    const sums = new RowErrors(this.where, { rowLength, inner: 1 }, this.#weights, (row) => {
      errors.set(row.subarray(0, ROW_DOUBLES), at);
      at += ROW_DOUBLES;
    });
    sums.add(original, changed);
  }

  /** Values quantized and dequantized. @param length  of a row */
  #changed(
    { scheme, qparams }: RangedScheme,
    data: Float32Array,
    length: number,
    out?: Float32Array,
  ): Float32Array {
    const x = { data, shape: [data.length / length, length] };
    const { name } = scheme;
    return runOn(this.core, () => {
      if (scheme.kind === "block") {
        const bytes = quantizeBlocks(x, scheme.name);
        return dequantizeBlocks(bytes, scheme.name, x.shape, { out }).data;
      }
      // Qparams of the tensor are known, those of rows and groups are chosen.
      const given = qparams && { range: undefined, scale: qparams.scale, zeroPoint: qparams.zero };
      return fakeQuantize(x, { ...schemeOptions(name), ...given, out }).data;
    });
  }

  /** Rows quantized and dequantized by scales that they share with others. */
  #changedBy(
    scheme: RangedScheme["scheme"],
    { sliceOf, scales, zeroPoints }: SharedQParams,
    first: number,
    data: Float32Array,
  ): Float32Array {
    const { rowLength } = this.layout;
    const rows = data.length / rowLength;
    const scale = { data: new Float32Array(rows), shape: [rows, 1] };
    const zeroPoint = { data: new Int32Array(rows), shape: [rows, 1] };
    for (let row = 0; row < rows; row++) {
      const slice = sliceOf(first + row);
      scale.data[row] = scales[slice];
      zeroPoint.data[row] = zeroPoints[slice];
    }
    const options = { ...schemeOptions(scheme.name), range: undefined, axis: 0, scale, zeroPoint };
    const x = { data, shape: [rows, rowLength] };
    return runOn(this.core, () => fakeQuantize(x, options as never)).data;
  }

  /** Rows quantized and dequantized as columns: in groups or blocks of the same input of neighbouring rows. */
  #changedAcross(ranged: RangedScheme, rows: number, original: Float32Array): Float32Array {
    const { rowLength, runLength } = this.layout;
    const run = rows % runLength === 0 ? runLength : rows;
    const changed = this.#scratch(0, rows * rowLength);
    for (const { begin, end } of parts(rowLength, Math.floor(TILE / rows))) {
      const columns = this.#scratch(1, (end - begin) * rows);
      for (let i = begin, at = 0; i < end; i++) {
        for (let row = 0; row < rows; row++) columns[at++] = original[row * rowLength + i];
      }
      const out = this.#changed(ranged, columns, run, this.#scratch(2, columns.length));
      for (let i = begin, at = 0; i < end; i++) {
        for (let row = 0; row < rows; row++) changed[row * rowLength + i] = out[at++];
      }
    }
    return changed;
  }

  /** Memory that is used again. */
  #scratch(index: number, length: number): Float32Array {
    if (!(this.#arrays[index]?.length >= length)) {
      this.#arrays[index] = newArray(this.where, Float32Array, length);
    }
    return this.#arrays[index].subarray(0, length);
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
    { at, rows, weightsAt, valuesAt, schemeAt, outAt }: Places,
  ): string {
    const { module, memory } = this.core;
    const { rowLength, runLength } = this.layout;
    if (scheme.kind !== "linear") {
      const halves = { float16: "f16", bfloat16: "bf16" };
      const type = fieldOf(halves, scheme.name as "float16") ?? scheme.name;
      type Type = Parameters<typeof module.blockRowErrors>[3];
      return module.blockRowErrors(at, rows, rowLength, type as Type, weightsAt, valuesAt, outAt);
    }
    const { granularity, groupSize, dtype, isAffine, search } = scheme;
    const isGroup = granularity === "group";
    const size = { tensor: 0, channel: rowLength, group: groupSize as number }[granularity];
    memory.write("Uint32Array", schemeAt, [size, isGroup ? runLength : rowLength]);
    memory.write("Float32Array", schemeAt + 8, range);
    return module.rowErrors(
      at,
      rows,
      rowLength,
      dtype as Parameters<typeof module.rowErrors>[3],
      isAffine ? "affine" : "symmetric",
      schemeAt,
      search === "mse",
      schemeAt + 8,
      weightsAt,
      valuesAt,
      outAt,
    );
  }
}

/** Rows quantized and dequantized as a file has them. @param length  of a row, in which groups are */
function changedAsWritten(
  scheme: RangedScheme["scheme"],
  { encoder, params }: WrittenArithmetic,
  values: Float32Array,
  length: number,
): Float32Array {
  const size = (scheme.kind === "linear" && scheme.groupSize) || length;
  const groups =
    params === undefined
      ? { rows: values.length / length, columns: length, groupSize: Math.min(size, length) }
      : { rows: 1, columns: values.length, groupSize: values.length };
  const own = params ?? encoder.choose(values, groups);
  return encoder.restore(encoder.encode(values, groups, own), groups, own);
}
