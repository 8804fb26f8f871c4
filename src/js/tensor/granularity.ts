// Granularity of qparams: one pair for the tensor, one per channel, per group or per block.

import { isIntegerWithin, wrongNumber } from "../base/check.js";
import { rangeError, typeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import { type ArrayConstructor, newArray, setArray } from "../base/typed-arrays.js";
import { type Blocks, checkBlocks, forRuns } from "./blocks.js";
import { aroundAxis, sizeOf } from "./shape.js";

/**
 * One scale for the tensor, one per channel (index of an axis), per group of values, or per n-dimensional block.
 * `"broadcast"`: scales given as a tensor without an axis.
 */
export type Granularity = "perTensor" | "perChannel" | "perGroup" | "perBlock" | "broadcast";

/**
 * Division of a tensor into slices with one scale and zero point each, as three nested loops: element
 * (o, s, i) of [outer][slices][inner] belongs to slice s. Where a group size does not divide the last
 * axis, each row of `row` values ends with a short slice of row % inner values.
 */
export interface Slices {
  readonly granularity: Exclude<Granularity, "broadcast">;
  readonly axis: number | undefined;
  readonly groupSize: number | undefined;
  /** Per block: the blocks. If these are no such loops, \`inner\` is the number of values of the first one. */
  readonly blocks: Blocks | undefined;
  /** Whether values have to be reordered, so that those of each block lie side by side. */
  readonly isScattered: boolean;
  readonly outer: number;
  readonly slices: number;
  readonly inner: number;
  /** 0 if all slices have the same number of values. */
  readonly row: number;
}

/** The counts of the three loops over slices. */
export type SliceCounts = Pick<Slices, "outer" | "slices" | "inner">;

/** The same, with the length of rows that end with a short slice. */
export type SlicesWithRows = SliceCounts & Pick<Slices, "row">;

const NO_BLOCKS = { blocks: undefined, isScattered: false } as const;

/** Resolves `axis`, `groupSize` and `blockShape` against a shape. */
export function checkSlices(
  where: string,
  prefix: string,
  shape: readonly number[],
  axis: unknown,
  groupSize: unknown,
  blockShape?: unknown,
): Slices {
  if (blockShape !== undefined) {
    const other = axis !== undefined ? "axis" : groupSize !== undefined ? "groupSize" : undefined;
    if (other === undefined) {
      return blockSlices(checkBlocks(where, `${prefix}.blockShape`, blockShape, shape, false));
    }
    const problem = `${prefix}.blockShape and ${prefix}.${other} exclude each other, got both`;
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  if (axis !== undefined && groupSize !== undefined) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      `${prefix}.axis and ${prefix}.groupSize exclude each other, got both`,
    );
  }
  if (axis !== undefined) return channelSlices(where, `${prefix}.axis`, shape, axis);
  if (groupSize !== undefined) {
    return groupSlices(where, `${prefix}.groupSize`, shape, groupSize);
  }
  const inner = sizeOf(shape);
  return {
    granularity: "perTensor",
    axis: undefined,
    groupSize: undefined,
    ...NO_BLOCKS,
    outer: 1,
    slices: 1,
    inner,
    row: 0,
  };
}

/**
 * An axis of a shape, counted from 0.
 * @param lowest  0, or minus the rank where negative ones count from the end
 * @throws {TypeError|RangeError} `ZP_INVALID_AXIS`
 */
export function checkAxis(
  where: string,
  argument: string,
  given: unknown,
  shape: readonly number[],
  lowest: number,
): number {
  const rank = shape.length;
  if (isIntegerWithin(given, lowest, rank - 1)) return given < 0 ? given + rank : given + 0;
  const axes =
    rank === 0
      ? "given for a tensor with axes, not"
      : rank === 1
        ? "0"
        : rank === 2
          ? "0 or 1"
          : `from 0 to ${rank - 1}`;
  const wanted = `${axes} for shape ${showShape(shape)}`;
  throw wrongNumber("ZP_INVALID_AXIS", where, argument, wanted, given);
}

/**
 * The axis of a batch that a layer's or an observer's option names; negative counts from the end.
 * @throws {RangeError} `ZP_INVALID_AXIS` if the batch does not have it
 */
export function axisOf(
  where: string,
  option: string,
  given: number,
  shape: readonly number[],
): number {
  const axis = given < 0 ? given + shape.length : given;
  if (axis >= 0 && axis < shape.length) return axis;
  throw rangeError(
    "ZP_INVALID_AXIS",
    where,
    `x must have axis ${given}, options.${option}, got shape ${showShape(shape)}`,
  );
}

/** Limit of channels of a tensor without values, since their scales take memory. */
const MOST_EMPTY = 2 ** 24;

/** Refuses a tensor without values with more channels. @throws {RangeError} `ZP_SIZE_OVERFLOW` */
export function checkEmpty(where: string, shape: readonly number[], channels: number): void {
  if (channels <= MOST_EMPTY || sizeOf(shape) > 0) return;
  throw rangeError(
    "ZP_SIZE_OVERFLOW",
    where,
    `shape ${showShape(shape)} has ${channels} channels and no values`,
  );
}

function channelSlices(
  where: string,
  argument: string,
  shape: readonly number[],
  given: unknown,
): Slices {
  const axis = checkAxis(where, argument, given, shape, -shape.length);
  const [outer, slices, inner] = aroundAxis(shape, axis);
  checkEmpty(where, shape, slices);
  const loops = { outer, slices, inner, row: 0 };
  return { granularity: "perChannel", axis, groupSize: undefined, ...NO_BLOCKS, ...loops };
}

function groupSlices(
  where: string,
  argument: string,
  shape: readonly number[],
  groupSize: unknown,
): Slices {
  const { length: rank, [rank - 1]: row } = shape;
  if (rank === 0 || !isIntegerWithin(groupSize, 1, Infinity)) {
    const wanted =
      rank === 0 ? "given for a tensor with axes, not for shape []" : "a positive integer";
    throw wrongNumber("ZP_INVALID_GROUP_SIZE", where, argument, wanted, groupSize);
  }
  const isEven = row % groupSize === 0;
  const inner = isEven ? groupSize : Math.min(groupSize, row);
  return {
    granularity: "perGroup",
    axis: undefined,
    groupSize,
    ...NO_BLOCKS,
    outer: 1,
    slices: sizeOf(shape, 0, rank - 1) * Math.ceil(row / groupSize),
    inner,
    row: isEven || inner === row ? 0 : row,
  };
}

/** Blocks as slices: as loops, where values of a block lie as loops have them. */
function blockSlices(blocks: Blocks): Slices {
  const { shape, size, counts, count } = blocks;
  const own = { granularity: "perBlock", axis: undefined, groupSize: undefined, blocks } as const;
  const rank = shape.length;
  // Leading axes that are one block, then axes of blocks of one index, then a cut axis, then axes that are one block.
  let lead = 0;
  while (lead < rank && counts[lead] === 1) lead++;
  let cut = lead;
  while (cut < rank && size[cut] === 1) cut++;
  const hasCut = cut < rank && counts[cut] > 1;
  const isWhole = counts.slice(hasCut ? cut + 1 : cut).every((own) => own === 1);
  const isEven = !hasCut || shape[cut] % size[cut] === 0;
  const outer = sizeOf(shape, 0, lead);
  const inner = (hasCut ? size[cut] : 1) * sizeOf(shape, hasCut ? cut + 1 : cut);
  if (count > 0 && isWhole && (isEven || outer === 1)) {
    return {
      ...own,
      isScattered: false,
      outer,
      slices: count,
      inner,
      row: isEven ? 0 : sizeOf(shape, cut),
    };
  }
  return { ...own, isScattered: true, outer: 1, slices: count, inner: sizeOf(size), row: 0 };
}

/** Calls visit(start, count, slice) for runs of values of one slice that lie side by side. */
export function forSlices(
  { outer, slices, inner, row, blocks, isScattered }: Slices,
  visit: (start: number, count: number, slice: number) => void,
): void {
  if (isScattered) {
    forRuns(blocks as Blocks, visit);
    return;
  }
  if (row === 0) {
    for (let o = 0; o < outer; o++) {
      for (let s = 0; s < slices; s++) visit((o * slices + s) * inner, inner, s);
    }
    return;
  }
  for (const part of evenParts(slices / Math.ceil(row / inner), row, inner)) {
    for (let s = 0; s < part.slices; s++) {
      visit(part.start + s * part.inner, part.inner, part.qStart + s);
    }
  }
}

/** A whole tensor as a single slice. */
export const oneSlice = (size: number): SliceCounts => ({ outer: 1, slices: 1, inner: size });

/** The shape of scales and zero points in results. */
export function qparamsShape(shape: readonly number[], slices: Slices): number[] {
  if (slices.granularity === "perTensor") return [];
  if (slices.granularity === "perGroup") return [slices.slices, 1];
  if (slices.blocks !== undefined) return [...slices.blocks.counts];
  return shape.map((length, axis) => (axis === slices.axis ? length : 1));
}

/** Shapes of a tensor and its qparams for the core. */
export interface Layout {
  /** The tensor's shape. */
  readonly viewShape: readonly number[];
  /** The qparams' shape, which broadcasts against `viewShape`, or has one of them per group. */
  readonly viewQShape: readonly number[];
  /** The number of values of the last axis that share qparams; 0 if the qparams broadcast. */
  readonly viewGroup: number;
  /** The blocks that have to be reordered, which the other fields say nothing of. */
  readonly blocks: Blocks | undefined;
}

/**
 * For the core a sliced tensor has shape [outer, slices, inner], and its qparams [slices, 1]. With short
 * slices they have shapes [rows, row] and [rows, groups of a row].
 */
export function laidOut(slices: Slices): Layout {
  if (slices.isScattered) return { ...layoutOf(slices), blocks: slices.blocks };
  return slices.granularity === "perTensor"
    ? { viewShape: [slices.inner], viewQShape: [], viewGroup: 0, blocks: undefined }
    : layoutOf(slices);
}

/** The same for channels and groups. */
export function layoutOf({ outer, slices, inner, row }: SlicesWithRows): Layout {
  if (row === 0) {
    return {
      viewShape: [outer, slices, inner],
      viewQShape: [slices, 1],
      viewGroup: 0,
      blocks: undefined,
    };
  }
  const groups = Math.ceil(row / inner);
  const rows = slices / groups;
  return {
    viewShape: [rows, row],
    viewQShape: [rows, groups],
    viewGroup: inner,
    blocks: undefined,
  };
}

/** A part of a tensor whose slices all have the same number of values. */
interface EvenPart {
  /** The position of its first value. */
  readonly start: number;
  /** The position of its first qparams. */
  readonly qStart: number;
  /** The number of its slices. */
  readonly slices: number;
  /** The number of values of a slice. */
  readonly inner: number;
}

/** Divides rows that end with a short slice: the whole slices of each row, then the short one. */
export function* evenParts(
  rows: number,
  row: number,
  inner: number,
): Generator<EvenPart, void, void> {
  const whole = Math.floor(row / inner);
  for (let i = 0; i < rows; i++) {
    const [start, qStart] = [i * row, i * (whole + 1)];
    yield { start, qStart, slices: whole, inner };
    yield { start: start + whole * inner, qStart: qStart + whole, slices: 1, inner: row % inner };
  }
}

/** Numbers of any shape: qparams as arguments. */
export interface ShapedNumbers {
  readonly data: Float64Array | Float32Array | Int32Array;
  readonly shape: readonly number[];
}

/** Whether a shape can be repeated along axes of length 1 to give `target`. */
export function broadcasts(shape: readonly number[], target: readonly number[]): boolean {
  const lead = target.length - shape.length;
  return lead >= 0 && shape.every((length, axis) => length === 1 || length === target[lead + axis]);
}

/**
 * Repeats numbers to fill `target`; a list of one number per slice is used unchanged.
 * @returns `data` itself if nothing has to be repeated or converted
 */
export function spread<T extends Float32Array | Int32Array>(
  where: string,
  argument: string,
  { data, shape }: ShapedNumbers,
  target: readonly number[],
  { granularity, slices }: Slices,
  Type: ArrayConstructor<T>,
): T {
  const isList = granularity !== "perTensor" && shape.length === 1 && data.length === slices;
  if (data.length !== 1 && !isList && !broadcasts(shape, target)) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must be one number, ${slices} numbers or a tensor of shape ` +
        `${showShape(target)}, got shape ${showShape(shape)}`,
    );
  }
  const size = sizeOf(target);
  if (data.length === size && data instanceof Type) return data;
  const out = newArray(where, Type, size);
  if (data.length === 1) {
    out.fill(data[0]);
    return out;
  }
  if (data.length === size) {
    setArray(out, data, 0);
    return out;
  }
  const lead = target.length - shape.length;
  let i = 0;
  const fill = (axis: number, at: number): void => {
    if (axis === target.length) {
      out[i++] = data[at];
      return;
    }
    const length = shape[axis - lead] ?? 1;
    for (let index = 0; index < target[axis]; index++) {
      fill(axis + 1, length === 1 ? at : at * length + index);
    }
  };
  fill(0, 0);
  return out;
}
