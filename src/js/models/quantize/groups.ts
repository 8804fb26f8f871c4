// A weight as rows of groups that share a scale, read in units of whole groups, and encoded part by part.

import { type ErrorCode, rangeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import type { InputAxes } from "../../formats/onnx/weights.js";
import { sizeOf } from "../../tensor/shape.js";
import { ValueReader, type ValueSource } from "../open/value-source.js";
import type { Slice } from "../range-search.js";
import type { LinearScheme } from "../scheme.js";

/** Values of a unit, at most: 1 MiB of float32. */
const UNIT = 2 ** 18;

/** Values of columns that are in memory at a time. */
const TRANSPOSED = 2 ** 22;

/**
 * Rows of a weight, and groups of consecutive values of a row; the last group of a row may be short. With `height`
 * every column of so many rows is a group.
 */
export interface Groups {
  readonly rows: number;
  readonly columns: number;
  readonly groupSize: number;
  readonly height?: number;
}

/** Values of each group that share a scale: one row for a scale per tensor, a row or a column for each output. */
export function groupsOf(
  shape: readonly number[],
  scheme: LinearScheme,
  axes: InputAxes = axesByShape(shape),
): Groups {
  const size = sizeOf(shape);
  if (scheme.granularity === "tensor") return { rows: 1, columns: size, groupSize: size };
  if (scheme.granularity === "channel") {
    const [first, last] = axes;
    const height = sizeOf(shape.slice(first, last + 1));
    const columns = sizeOf(shape.slice(last + 1));
    if (columns > 1) return { rows: size / columns, columns, groupSize: 1, height };
    return { rows: size / height, columns: height, groupSize: height };
  }
  const columns = shape.at(-1) ?? 1;
  const groupSize = Math.min(columns, scheme.groupSize as number);
  return { rows: size / columns, columns, groupSize };
}

/** The axes of inputs of a weight that only its shape describes. */
export const axesByShape = (shape: readonly number[]): InputAxes => [1, shape.length - 1];

/** Groups of a row. */
export const groupsPerRow = ({ columns, groupSize }: Groups): number =>
  Math.ceil(columns / groupSize);

/** All groups. */
export const groupCount = (groups: Groups): number =>
  (groups.rows / (fieldOf(groups, "height") ?? 1)) * groupsPerRow(groups);

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
  /** Whether the params of a group depend on its smallest and largest value alone. */
  readonly isByEnds?: boolean;
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
  /** What was chosen for long groups and for columns, by their first value, and the bytes read for that. */
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
  const inputs = fieldOf(groups, "height");
  if (inputs !== undefined) {
    yield* columnUnits(weight, inputs, advance, needsValues);
    return;
  }
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
  weight: WeightSource,
  advance: Advance,
  needsValues: boolean,
): AsyncGenerator<Unit> {
  const { values: source, groups, encoder } = weight;
  const { rows, columns, groupSize } = groups;
  const buffer = new Float32Array(UNIT);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column += groupSize) {
      const first = row * columns + column;
      const length = Math.min(groupSize, columns - column);
      const parts = (): AsyncGenerator<Float32Array> => partsOf(source, first, length, buffer);
      const params = await paramsOnce(weight, first, advance, async (read) => {
        const ends = await rangeOf(source, first, length, buffer, read);
        return await encoder.chooseLong({ ...ends, length, parts });
      });
      if (!needsValues) {
        yield unitWithout(params);
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

/** Units of matrices whose columns are groups: whole rows, after a pass that chooses the params. */
async function* columnUnits(
  weight: WeightSource,
  height: number,
  advance: Advance,
  needsValues: boolean,
): AsyncGenerator<Unit> {
  const { values: source, groups } = weight;
  const { rows, columns } = groups;
  const size = height * columns;
  const buffer = new Float32Array(columns * Math.max(1, Math.floor(UNIT / columns)));
  for (let first = 0; first < rows * columns; first += size) {
    const params = await paramsOnce(weight, first, advance, (read) =>
      paramsOfColumns(weight, first, height, buffer, read),
    );
    if (!needsValues) {
      yield unitWithout(params);
      continue;
    }
    let isContinued = false;
    for await (const values of partsOf(source, first, size, buffer)) {
      const own = { ...groups, rows: values.length / columns };
      yield { values, groups: own, params, isContinued };
      isContinued = true;
    }
  }
}

/** A unit of params alone. */
const unitWithout = (params: Params): Unit => ({
  values: new Float32Array(0),
  groups: { rows: 1, columns: 0, groupSize: 1 },
  params,
  isContinued: false,
});

/** The params of groups that begin with a value: those of an earlier stream, or new ones. */
async function paramsOnce(
  { values: { name }, longParams }: WeightSource,
  first: number,
  advance: Advance,
  choose: (advance: Advance) => Promise<Params>,
): Promise<Params> {
  const known = longParams.get(first);
  if (known !== undefined) {
    advance(known.bytes, name);
    return known.params;
  }
  let bytes = 0;
  const params = await choose((read, of) => {
    bytes += read;
    advance(read, of);
  });
  longParams.set(first, { params, bytes });
  return params;
}

/** Params of the columns of a matrix: by their ends in one pass, or of some columns in each pass. */
async function paramsOfColumns(
  { values: source, groups: { columns }, encoder }: WeightSource,
  first: number,
  height: number,
  buffer: Float32Array,
  advance: Advance,
): Promise<Params> {
  const size = encoder.isByEnds ? 2 : height;
  const most = encoder.isByEnds ? columns : Math.max(1, Math.floor(TRANSPOSED / height));
  const scale = new Float32Array(columns);
  const zero = new Int32Array(columns);
  for (let left = 0; left < columns; left += most) {
    const count = Math.min(most, columns - left);
    const block = new Float32Array(count * size);
    const read = (bytes: number): void => {
      if (left === 0) advance(bytes, source.name);
    };
    let row = 0;
    for await (const values of partsOf(source, first, height * columns, buffer, read)) {
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

/** A run of values, as many as the buffer takes at a time. @param advance  called with the bytes that are read */
async function* partsOf(
  source: ValueSource,
  first: number,
  length: number,
  buffer: Float32Array,
  advance: (bytes: number) => void = () => {},
): AsyncGenerator<Float32Array> {
  const reader = new ValueReader(source, first, advance);
  try {
    for (let at = 0; at < length; at += buffer.length) {
      yield await reader.fill(buffer.subarray(0, Math.min(buffer.length, length - at)));
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
