// A weight as rows of groups that share a scale, read in units of whole groups, and encoded part by part.

import { type ErrorCode, rangeError } from "../../base/errors.js";
import { sizeOf } from "../../tensor/shape.js";
import { ValueReader, type ValueSource } from "../open/value-source.js";
import type { Slice } from "../range-search.js";
import type { LinearScheme } from "../scheme.js";

/** Values of a unit, at most: 1 MiB of float32. */
const UNIT = 2 ** 18;

/** Rows of a weight, and groups of consecutive values of a row; the last group of a row may be short. */
export interface Groups {
  readonly rows: number;
  readonly columns: number;
  readonly groupSize: number;
}

/** Values of each group that share a scale: one row for a scale per tensor, axis 0 for channels. */
export function groupsOf(shape: readonly number[], scheme: LinearScheme): Groups {
  const size = sizeOf(shape);
  if (scheme.granularity === "tensor") return { rows: 1, columns: size, groupSize: size };
  if (scheme.granularity === "channel") {
    const rows = shape.length > 0 ? shape[0] : 1;
    return { rows, columns: size / rows, groupSize: size / rows };
  }
  const columns = shape.at(-1) ?? 1;
  const groupSize = Math.min(columns, scheme.groupSize as number);
  return { rows: size / columns, columns, groupSize };
}

/** Groups of a row. */
export const groupsPerRow = ({ columns, groupSize }: Groups): number =>
  Math.ceil(columns / groupSize);

/** Scales and zero points (or offsets) of some groups, in row-major order. */
export interface Params {
  readonly scale: Float32Array;
  readonly zero: Float32Array | Int32Array;
}

/** A group that is longer than a unit: its finite ends, and its values in units. */
export interface LongGroup extends Slice {
  readonly min: number;
  readonly max: number;
}

/** How values become codes. */
export interface Encoder {
  /** Params of whole groups. @param groups  rows and columns of `values` */
  choose(values: Float32Array, groups: Groups): Params;
  /** Params of one group that is too long to be held. */
  chooseLong(group: LongGroup): Params | Promise<Params>;
  /** Codes of values with these params, valid until the next call. */
  encode(values: Float32Array, groups: Groups, params: Params): Uint8Array | Int8Array;
}

/** A run of values that a stream encodes at once. */
export interface Unit {
  readonly values: Float32Array;
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
  /** What was chosen for long groups, by their first value, and the bytes read for their ends. */
  readonly longParams: Map<number, { readonly params: Params; readonly bytes: number }>;
}

/** Called with bytes of input and the name of their tensor. */
export type Advance = (bytes: number, name: string) => void;

/**
 * Units of a weight from front to back; the values are valid until the next unit is asked for.
 * @param needsValues  false: groups that are longer than a unit have their params alone
 * @throws {RangeError} `ZP_NON_FINITE` for NaN and infinities
 */
export async function* unitsOf(
  weight: WeightSource,
  advance: Advance,
  needsValues = true,
): AsyncGenerator<Unit> {
  const { values: source, groups, encoder } = weight;
  const { rows, columns, groupSize } = groups;
  if (groupSize > UNIT) {
    yield* longUnits(weight, advance, needsValues);
    return;
  }
  const reader = new ValueReader(source, 0, (bytes) => advance(bytes, source.name));
  // Whole rows, or whole groups of a long row.
  const height = Math.max(1, Math.floor(UNIT / columns));
  const width = columns <= UNIT ? columns : Math.floor(UNIT / groupSize) * groupSize;
  const buffer = new Float32Array(Math.min(height, rows) * width);
  try {
    for (let row = 0; row < rows; row += height) {
      for (let column = 0; column < columns; column += width) {
        const own = {
          rows: Math.min(height, rows - row),
          columns: Math.min(width, columns - column),
          groupSize,
        };
        const values = await reader.fill(buffer.subarray(0, own.rows * own.columns));
        const first = row * columns + column;
        const params = naming(source.name, values, first, () => encoder.choose(values, own));
        yield { values, groups: own, params, isContinued: false };
      }
    }
  } finally {
    await reader.close();
  }
}

/** Units of groups that are longer than a unit, which are read once for each pass. */
async function* longUnits(
  { values: source, groups, encoder, longParams }: WeightSource,
  advance: Advance,
  needsValues: boolean,
): AsyncGenerator<Unit> {
  const { rows, columns, groupSize } = groups;
  const buffer = new Float32Array(UNIT);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column += groupSize) {
      const first = row * columns + column;
      const length = Math.min(groupSize, columns - column);
      const parts = (): AsyncGenerator<Float32Array> => partsOf(source, first, length, buffer);
      let known = longParams.get(first);
      if (known === undefined) {
        let bytes = 0;
        const ends = await rangeOf(source, first, length, buffer, (read, name) => {
          bytes += read;
          advance(read, name);
        });
        known = { params: await encoder.chooseLong({ ...ends, length, parts }), bytes };
        longParams.set(first, known);
      } else advance(known.bytes, source.name);
      const { params } = known;
      if (!needsValues) {
        const own = { rows: 1, columns: 0, groupSize: 1 };
        yield { values: buffer.subarray(0, 0), groups: own, params, isContinued: false };
        continue;
      }
      let isContinued = false;
      for await (const values of parts()) {
        const { length: count } = values;
        const own = { rows: 1, columns: count, groupSize: count };
        yield { values, groups: own, params, isContinued };
        isContinued = true;
      }
    }
  }
}

/** A run of values, unit by unit. @param advance  called with the bytes that are read */
async function* partsOf(
  source: ValueSource,
  first: number,
  length: number,
  buffer: Float32Array,
  advance: (bytes: number) => void = () => {},
): AsyncGenerator<Float32Array> {
  const reader = new ValueReader(source, first, advance);
  try {
    for (let at = 0; at < length; at += UNIT) {
      yield await reader.fill(buffer.subarray(0, Math.min(UNIT, length - at)));
    }
  } finally {
    await reader.close();
  }
}

/** The smallest and the largest of a run of values. */
async function rangeOf(
  source: ValueSource,
  first: number,
  length: number,
  buffer: Float32Array,
  advance: Advance,
): Promise<{ min: number; max: number }> {
  let min = Infinity;
  let max = -Infinity;
  let at = first;
  const read = (bytes: number): void => advance(bytes, source.name);
  for await (const values of partsOf(source, first, length, buffer, read)) {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (value < min) min = value;
      if (value > max) max = value;
    }
    checkFinite(source.name, values, at);
    at += values.length;
  }
  return { min, max };
}

/** Checks a run of values. @throws {RangeError} `ZP_NON_FINITE` with the tensor and the index */
export function checkFinite(name: string, values: Float32Array, first: number): void {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] * 0;
  if (sum === 0) return;
  const i = values.findIndex((value) => !Number.isFinite(value));
  const problem = `tensor ${JSON.stringify(name)} has ${values[i]} at index ${first + i}`;
  throw rangeError("ZP_NON_FINITE", "quantizeModel", problem);
}

/** Chooses params; an error for NaN names the tensor and the index. */
function naming(name: string, values: Float32Array, first: number, choose: () => Params): Params {
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
