// Boxes of tensors: contiguous values, and the qparams that belong to them.

import { arrayName, type NumberArray, subarrayOf } from "../../base/typed-arrays.js";
import { Incoming } from "../library/incoming.js";

/** Bits of a box. */
const BITS = 2 ** 23;
/** Values of a box of float32. */
export const VALUES = BITS / 32;

export type Fields = Readonly<Record<string, unknown>>;

/** A tensor of many values. */
export interface Large {
  readonly fields: Fields;
  readonly data: NumberArray | Incoming;
  readonly shape: readonly number[];
  /** Values of a box. */
  readonly values: number;
}

export const product = (lengths: readonly number[]): number => lengths.reduce((a, b) => a * b, 1);

export const isShape = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((length) => Number.isInteger(length) && length > 0);

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null;

/** A well-formed tensor of more values than `least`, by default those of a box; else undefined. */
export function largeTensor(x: unknown, least?: number): Large | undefined {
  const isArray = x instanceof Incoming || arrayName(x) !== undefined;
  const fields = (isArray ? { data: x } : isObject(x) ? { ...x } : {}) as Fields;
  const data = fields.data as NumberArray | Incoming;
  const name = data instanceof Incoming ? data.type : arrayName(data);
  if (name === undefined || name.startsWith("Big")) return undefined;
  const values = BITS / Number(/\d+/.exec(name)?.[0]);
  if (data.length <= (least ?? values)) return undefined;
  const shape = isArray ? [data.length] : (fields.shape ?? fields.dims);
  if (!isShape(shape) || product(shape) !== data.length) return undefined;
  return { fields: { ...fields, dims: undefined }, data, shape, values };
}

/** Contiguous values: one index of each axis before the cut axis, a range of the cut axis, all indices of later axes. */
export interface Box {
  readonly offset: number;
  readonly size: number;
  readonly start: readonly number[];
  readonly shape: readonly number[];
}

/** Cuts a shape into boxes. @param align  the cut of the last axis is at multiples of this */
export function* boxesOf(shape: readonly number[], align: number, values: number): Generator<Box> {
  let axis = 0;
  let inner = product(shape.slice(1));
  while (axis < shape.length - 1 && inner > values) inner /= shape[++axis];
  const isLast = axis === shape.length - 1;
  const count = Math.max(1, Math.floor(values / inner));
  const step = isLast ? Math.ceil(count / align) * align : count;
  const rest = shape.slice(axis + 1);
  const outer = product(shape.slice(0, axis));
  for (let index = 0; index < outer; index++) {
    const before: number[] = [];
    for (let at = axis - 1, left = index; at >= 0; left = Math.floor(left / shape[at--])) {
      before.unshift(left % shape[at]);
    }
    for (let at = 0; at < shape[axis]; at += step) {
      const length = Math.min(step, shape[axis] - at);
      yield {
        offset: (index * shape[axis] + at) * inner,
        size: length * inner,
        start: [...before, at, ...rest.map(() => 0)],
        shape: [...before.map(() => 1), length, ...rest],
      };
    }
  }
}

export const partOf = <A>(array: A, { offset, size }: Box): A =>
  subarrayOf(array as NumberArray, offset, offset + size) as A;

/** The part of a tensor in a box, with that box. */
export type Part = readonly [part: Fields, box: Box];

/** Parts that are requested from the calling thread ahead of the one in use. */
const AHEAD = 3;

/** The parts of a tensor in boxes. Memory of a part that was read is used again for a later one. */
export async function* partsOf(
  { fields, data }: Large,
  boxes: Iterable<Box>,
): AsyncGenerator<Part> {
  const ahead: { box: Box; part: NumberArray | Promise<NumberArray> }[] = [];
  const iterator = boxes[Symbol.iterator]();
  for (;;) {
    while (ahead.length <= AHEAD) {
      const { done, value: box } = iterator.next();
      if (done) break;
      const { offset, size } = box;
      const part =
        data instanceof Incoming
          ? data.read(offset, size)
          : subarrayOf(data, offset, offset + size);
      // The await below handles a rejection; this handler keeps a part that is never awaited from counting as unhandled.
      if (part instanceof Promise) part.catch(() => undefined);
      ahead.push({ box, part });
    }
    const next = ahead.shift();
    if (next === undefined) return;
    const part = await next.part;
    yield [{ ...fields, data: part, shape: next.box.shape }, next.box];
    if (data instanceof Incoming) data.release(part);
  }
}

/** The part of a parameter that belongs to a box, for a parameter that is broadcast against the shape. */
function cutBroadcast(parameter: Fields, shape: readonly number[], box: Box): Fields | undefined {
  const { data, shape: own } = parameter as { data: NumberArray; shape: readonly number[] };
  const skipped = shape.length - own?.length;
  if (!isShape(own) || skipped < 0 || product(own) !== data.length) return undefined;
  if (own.some((length, axis) => length !== 1 && length !== shape[axis + skipped]))
    return undefined;
  const start = own.map((length, axis) => (length === 1 ? 0 : box.start[axis + skipped]));
  const count = own.map((length, axis) => (length === 1 ? 1 : box.shape[axis + skipped]));
  const part = new (data.constructor as new (length: number) => Float32Array)(product(count));
  const index = own.map(() => 0);
  for (let i = 0; i < part.length; i++) {
    part[i] = data[own.reduce((at, length, axis) => at * length + start[axis] + index[axis], 0)];
    for (let axis = own.length - 1; axis >= 0 && ++index[axis] === count[axis]; axis--) {
      index[axis] = 0;
    }
  }
  return { data: part, shape: count };
}

/** The part of a per-group parameter that belongs to a box; its shape is [rows x groups, 1]. */
function cutGroups(parameter: Fields, shape: readonly number[], groupSize: number, box: Box) {
  const { data } = parameter as { data: NumberArray };
  const width = shape[shape.length - 1];
  const groups = Math.ceil(width / groupSize);
  const at = (offset: number) =>
    Math.floor(offset / width) * groups + Math.ceil((offset % width) / groupSize);
  if (data.length !== (product(shape) / width) * groups) return undefined;
  const part = subarrayOf(data, at(box.offset), at(box.offset + box.size));
  return { data: part, shape: [part.length, 1] };
}

/** The part of PyTorch's per-channel parameter that belongs to a box; it has one axis. */
export function cutChannels(parameter: unknown, axis: unknown, box: Box): unknown {
  const [start, end] = [
    box.start[axis as number],
    box.start[axis as number] + box.shape[axis as number],
  ];
  if (Array.isArray(parameter)) return parameter.slice(start, end);
  const data = (
    arrayName(parameter) === undefined ? (parameter as Fields).data : parameter
  ) as Float32Array;
  const part = data.subarray(start, end);
  return data === parameter ? part : { data: part, shape: [part.length] };
}

/** Fields of qparams for a box; undefined if they do not fit the shape. */
export function cutQParams(
  qparams: Fields,
  shape: readonly number[],
  box: Box,
): Fields | undefined {
  if (qparams.blockShape !== undefined) return undefined;
  const parts: Record<string, unknown> = {};
  const isTorch = /^q/.test(String(qparams.dtype));
  for (const name of ["scale", "zeroPoint", "offset"]) {
    const value = qparams[name];
    if (value === undefined || typeof value === "number") continue;
    if (!isObject(value) || arrayName(value.data) === undefined) return undefined;
    if (isTorch && (value.shape as unknown[] | undefined)?.length === 1)
      parts[name] = cutChannels(value, qparams.axis, box);
    else if (typeof qparams.groupSize === "number") {
      parts[name] = cutGroups(value, shape, qparams.groupSize, box);
    } else parts[name] = cutBroadcast(value, shape, box);
    if (parts[name] === undefined) return undefined;
  }
  return parts;
}

export const alignmentOf = ({ groupSize }: Fields): number =>
  Number.isInteger(groupSize) && (groupSize as number) > 0 ? (groupSize as number) : 1;
