// A weight as slabs of whole slices, which share a scale, and encoded slab by slab. Scales that fit into a budget are kept, so
// that they are chosen once for all tensors of the weight.

import { type ErrorCode, rangeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { HELD_BYTES, SLAB_VALUES } from "./memory.js";
import { type Encoder, type Groups, groupCount, type Params } from "./slices.js";
import {
  floatsOf,
  type Run,
  readRuns,
  runsWithin,
  type ValueSource,
  type Values,
} from "./values.js";

/** A run of values that a stream encodes at once. */
export interface Unit {
  readonly values: Values;
  readonly groups: Groups;
  readonly params: Params;
  /** Whether its groups were begun by the unit before: their params were given there. */
  readonly isContinued: boolean;
}

/** A weight to encode. */
export interface WeightSource {
  readonly values: ValueSource;
  readonly groups: Groups;
  readonly encoder: Encoder;
  readonly held: HeldParams;
  /** Bytes of the weight in the file that is read. */
  readonly inputBytes: number;
}

/** Scales and zero points of the weights of a file: of the first weights that fit, and of the last one. */
export class HeldParams {
  readonly #first = new Map<WeightSource, Params>();
  #left = HELD_BYTES / 2;
  #last: readonly [WeightSource, Params] | undefined;

  /** Whether those of a weight may be kept. */
  static fits = (groups: Groups): boolean => 8 * groupCount(groups) <= HELD_BYTES / 2;

  get(weight: WeightSource): Params | undefined {
    return this.#first.get(weight) ?? (this.#last?.[0] === weight ? this.#last[1] : undefined);
  }

  put(weight: WeightSource, params: Params): void {
    const bytes = params.scale.byteLength + params.zero.byteLength;
    if (bytes > this.#left) {
      this.#last = [weight, params];
      return;
    }
    this.#left -= bytes;
    this.#first.set(weight, params);
  }
}

/** The params of a weight, put together from those of its units. */
class GatheredParams {
  #params: Params | undefined;
  #count = 0;

  constructor(readonly total: number) {}

  add({ scale, zero }: Params): void {
    this.#params ??= {
      scale: new Float32Array(this.total),
      zero:
        zero instanceof Float32Array ? new Float32Array(this.total) : new Int32Array(this.total),
    };
    this.#params.scale.set(scale, this.#count);
    this.#params.zero.set(zero, this.#count);
    this.#count += scale.length;
  }

  /** undefined unless all are there. */
  get all(): Params | undefined {
    return this.#count === this.total ? this.#params : undefined;
  }
}

/** Some of the params of a weight. */
const partOf = ({ scale, zero }: Params, first: number, count: number): Params => ({
  scale: scale.subarray(first, first + count),
  zero: zero.subarray(first, first + count),
});

/** Whether a weight is read once for its params and once for its codes: slices are columns, or longer than a slab. */
export const isReadTwice = (groups: Groups): boolean =>
  fieldOf(groups, "height") !== undefined || groups.groupSize > SLAB_VALUES;

/** Called with bytes of input and the name of their tensor. */
export type Advance = (bytes: number, name: string) => void;

/**
 * Units of a weight from front to back; the values are valid until the next unit is asked for.
 * @param needsValues  false: groups that are longer than a unit have their params alone, and params that are kept are one unit
 * @throws {RangeError} `ZP_NON_FINITE` for NaN and infinities
 */
export async function* unitsOf(
  weight: WeightSource,
  advance: Advance,
  needsValues = true,
): AsyncGenerator<Unit> {
  const { values, groups, held, inputBytes } = weight;
  const known = held.get(weight);
  if (known !== undefined && !needsValues) {
    advance(inputBytes, values.name);
    yield unitWithout(known);
    return;
  }
  const units = isReadTwice(groups)
    ? longUnits(weight, known, advance, needsValues)
    : rowUnits(weight, known, advance);
  if (known !== undefined || !HeldParams.fits(groups)) {
    yield* units;
    return;
  }
  const gathered = new GatheredParams(groupCount(groups));
  for await (const unit of units) {
    if (!unit.isContinued) gathered.add(unit.params);
    yield unit;
  }
  if (gathered.all !== undefined) held.put(weight, gathered.all);
}

/** Runs of whole rows, or of whole groups of a long row. */
function* runsOfGroups({ rows, columns, groupSize }: Groups): Generator<Run & { groups: Groups }> {
  const height = Math.max(1, Math.floor(SLAB_VALUES / columns));
  const width = columns <= SLAB_VALUES ? columns : Math.floor(SLAB_VALUES / groupSize) * groupSize;
  for (let row = 0; row < rows; row += height) {
    for (let column = 0; column < columns; column += width) {
      const begin = row * columns + column;
      const own = [Math.min(height, rows - row), Math.min(width, columns - column)];
      const groups = { rows: own[0], columns: own[1], groupSize };
      yield { begin, end: begin + own[0] * own[1], groups };
    }
  }
}

/** Units of whole groups. @param known  params of the weight */
async function* rowUnits(
  { values: source, groups, encoder }: WeightSource,
  known: Params | undefined,
  advance: Advance,
): AsyncGenerator<Unit> {
  const onRead = (bytes: number): void => advance(bytes, source.name);
  let group = 0;
  for await (const { run, values } of readRuns(source, runsOfGroups(groups), onRead)) {
    const params =
      known === undefined
        ? naming(source.name, values, run.begin, () => encoder.choose(values, run.groups))
        : partOf(known, group, groupCount(run.groups));
    group += params.scale.length;
    yield { values, groups: run.groups, params, isContinued: false };
  }
}

/** Units of groups that are longer than a unit, or of columns: a pass that chooses the params, then one for the values. */
async function* longUnits(
  weight: WeightSource,
  known: Params | undefined,
  advance: Advance,
  needsValues: boolean,
): AsyncGenerator<Unit> {
  const { values: source, groups } = weight;
  const { rows, columns, groupSize } = groups;
  const height = fieldOf(groups, "height");
  const length = height === undefined ? groupSize : height * columns;
  // Columns in whole rows.
  const most = height === undefined ? SLAB_VALUES : rowsWithin(columns);
  const end = height === undefined ? columns : rows * columns;
  let group = 0;
  for (let row = 0; row < (height === undefined ? rows : 1); row++) {
    for (let start = 0; start < end; start += length) {
      const first = row * columns + start;
      const size = Math.min(length, end - start);
      const choose = (): Promise<Params> =>
        height === undefined
          ? paramsOfLong(weight, first, size, advance)
          : paramsOfColumns(weight, first, height, advance);
      const count = height === undefined ? 1 : columns;
      const params = known === undefined ? await choose() : partOf(known, group, count);
      group += count;
      if (!needsValues) {
        yield unitWithout(params);
        continue;
      }
      const read = (bytes: number): void => {
        if (known !== undefined) advance(bytes, source.name);
      };
      let isContinued = false;
      const runs = runsWithin(first, first + size, most);
      for await (const { values } of readRuns(source, runs, read)) {
        const own =
          height === undefined
            ? { rows: 1, columns: values.length, groupSize: values.length }
            : { ...groups, rows: values.length / columns };
        yield { values, groups: own, params, isContinued };
        isContinued = true;
      }
    }
  }
}

/** Values of as many whole rows as a slab has, at least one. */
const rowsWithin = (columns: number): number =>
  columns * Math.max(1, Math.floor(SLAB_VALUES / columns));

/** The params of a group that is read once for each pass. */
async function paramsOfLong(
  { values: source, encoder }: WeightSource,
  first: number,
  length: number,
  advance: Advance,
): Promise<Params> {
  async function* parts(onRead?: (bytes: number) => void): AsyncGenerator<Values> {
    const runs = runsWithin(first, first + length);
    for await (const { values } of readRuns(source, runs, onRead)) yield values;
  }
  let min = Infinity;
  let max = -Infinity;
  let at = first;
  const scratch = new Float32Array(Math.min(length, SLAB_VALUES));
  for await (const part of parts((bytes) => advance(bytes, source.name))) {
    const values = floatsOf(part, scratch);
    let nothing = 0;
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (value < min) min = value;
      if (value > max) max = value;
      nothing += value * 0;
    }
    if (nothing !== 0) checkFinite(source.name, values, at);
    at += values.length;
  }
  return await encoder.chooseLong({ min, max, length, parts });
}

/** A unit of params alone. */
const unitWithout = (params: Params): Unit => ({
  values: new Float32Array(0),
  groups: { rows: 1, columns: 0, groupSize: 1 },
  params,
  isContinued: false,
});

/** Params of the columns of a matrix: by their ends in one pass, or of some columns in each pass. */
async function paramsOfColumns(
  { values: source, groups: { columns }, encoder }: WeightSource,
  first: number,
  height: number,
  advance: Advance,
): Promise<Params> {
  const size = encoder.isByEnds ? 2 : height;
  const most = encoder.isByEnds ? columns : Math.max(1, Math.floor(HELD_BYTES / 4 / height));
  const scale = new Float32Array(columns);
  const zero = new Int32Array(columns);
  for (let left = 0; left < columns; left += most) {
    const count = Math.min(most, columns - left);
    const block = new Float32Array(count * size);
    const read = (bytes: number): void => {
      if (left === 0) advance(bytes, source.name);
    };
    let row = 0;
    const runs = runsWithin(first, first + height * columns, rowsWithin(columns));
    const scratch = new Float32Array(Math.min(height * columns, rowsWithin(columns)));
    for await (const part of readRuns(source, runs, read)) {
      const values = floatsOf(part.values, scratch);
      checkFinite(source.name, values, first + row * columns);
      for (let at = left; at < values.length; at += columns, row++) {
        for (let i = 0; i < count; i++) {
          const value = values[at + i];
          const place = i * size;
          if (!encoder.isByEnds) block[place + row] = value;
          else if (row === 0) block.fill(value, place, place + 2);
          else if (value < block[place]) block[place] = value;
          else if (value > block[place + 1]) block[place + 1] = value;
        }
      }
    }
    const params = encoder.choose(block, { rows: count, columns: size, groupSize: size });
    scale.set(params.scale, left);
    zero.set(params.zero, left);
  }
  return { scale, zero };
}

/** Checks a run of values. @throws {RangeError} `ZP_NON_FINITE` with the tensor and the index */
export function checkFinite(name: string, given: Values, first: number): void {
  const values = floatsOf(given);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] * 0;
  if (sum === 0) return;
  const i = values.findIndex((value) => !Number.isFinite(value));
  const problem = `tensor ${JSON.stringify(name)} has ${values[i]} at index ${first + i}`;
  throw rangeError("ZP_NON_FINITE", "quantizeModel", problem);
}

/** Chooses params; an error for NaN names the tensor and the index. */
function naming(name: string, values: Values, first: number, choose: () => Params): Params {
  try {
    return choose();
  } catch (error) {
    const { code } = error as { code?: ErrorCode };
    if (code === "ZP_NON_FINITE") checkFinite(name, values, first);
    throw error;
  }
}

/** Codes of a weight, unit by unit. @param write  takes the codes of a unit and gives bytes to put out */
export async function* encodeCodes(
  weight: WeightSource,
  advance: Advance,
  write: (codes: Uint8Array | Int8Array, unit: Unit) => Uint8Array,
): AsyncGenerator<Uint8Array> {
  for await (const unit of unitsOf(weight, advance)) {
    const { values, groups, params } = unit;
    yield write(weight.encoder.encode(values, groups, params), unit);
  }
}

/** Params of a weight, unit by unit. @param write  gives bytes to put out */
export async function* encodeParams(
  weight: WeightSource,
  advance: Advance,
  write: (params: Params) => Uint8Array,
): AsyncGenerator<Uint8Array> {
  for await (const { params, isContinued } of unitsOf(weight, advance, false)) {
    if (!isContinued) yield write(params);
  }
}
