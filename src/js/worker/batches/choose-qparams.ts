// chooseQParams in batches, and the choice before quantizing.

import type { Zeropoint } from "../library/zeropoint.js";
import { alignmentOf, type Fields, isObject, largeTensor, product, VALUES } from "./boxes.js";
import { type Batches, overBoxes } from "./over-boxes.js";

/** Values of a batch that holds all channels. */
const CHANNEL_VALUES = 2 ** 20;

export async function* chooseQParams(
  zp: Zeropoint,
  [x, options = {}]: readonly unknown[],
): Batches<Fields> {
  const large = largeTensor(x);
  if (large === undefined || !isObject(options)) return undefined;
  const { axis, groupSize, blockShape, range } = options;
  const { shape } = large;
  if (range !== undefined && range !== "minmax") return undefined;
  if (blockShape !== undefined || (axis !== undefined && groupSize !== undefined)) return undefined;
  const choose = (part: unknown, own: object) =>
    zp.chooseQParams(part as Float32Array, own) as unknown as Fields &
      Record<Parameter, Parametric>;

  if (groupSize !== undefined) {
    const parts: (Fields & Record<Parameter, Parametric>)[] = [];
    const align = alignmentOf(options);
    const first = yield* overBoxes(large, align, 0, (part) => {
      parts.push(choose(part, options));
      return parts[0];
    });
    return { ...first, ...joined(parts, (length) => [length, 1]) };
  }
  if (axis === undefined) {
    const observer = new zp.MinMaxObserver();
    yield* overBoxes(large, 1, 0, (part) => observer.observe(part as never));
    const [min, max] = [observer.minVal.data[0], observer.maxVal.data[0]];
    return Number.isFinite(max - min) ? choose(Float32Array.of(min, max), options) : undefined;
  }
  const rank = shape.length;
  if (!Number.isInteger(axis) || (axis as number) < -rank || (axis as number) >= rank)
    return undefined;
  const channel = ((axis as number) + rank) % rank;
  const count = shape[channel];
  const inner = product(shape.slice(channel + 1));
  const outer = product(shape.slice(0, channel));
  const shapeOf = () => shape.map((length, i) => (i === channel ? length : 1));
  if (count * inner > CHANNEL_VALUES && outer > 1) return undefined;
  const flat = { ...large, shape: outer === 1 ? [count, inner] : [outer, count, inner] };
  if (outer === 1) {
    if (inner > CHANNEL_VALUES) return undefined;
    const parts: (Fields & Record<Parameter, Parametric>)[] = [];
    const first = yield* overBoxes(
      flat,
      1,
      0,
      (part) => {
        parts.push(choose(part, { ...options, axis: 0 }));
        return parts[0];
      },
      Math.max(VALUES, inner),
    );
    return { ...first, axis: channel, ...joined(parts, shapeOf) };
  }
  const observer = new zp.PerChannelMinMaxObserver({ chAxis: 1 });
  yield* overBoxes(
    flat,
    1,
    0,
    (part) => observer.observe(part as never),
    Math.max(VALUES, count * inner),
  );
  const [min, max] = [observer.minVal.data, observer.maxVal.data];
  const ranges = new Float32Array(2 * count);
  for (let i = 0; i < count; i++) {
    if (!Number.isFinite(max[i] - min[i])) return undefined;
    ranges.set([min[i], max[i]], 2 * i);
  }
  const chosen = choose({ data: ranges, shape: [count, 2] }, { ...options, axis: 0 });
  return { ...chosen, axis: channel, ...joined([chosen], shapeOf) };
}

type Parameter = "scale" | "zeroPoint" | "offset";

interface Parametric {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** Joins the parameters of consecutive slices, in order, into those of all slices. */
function joined(
  parts: readonly Record<Parameter, Parametric | undefined>[],
  shapeOf: (length: number) => readonly number[],
): Fields {
  const all: Record<string, unknown> = {};
  for (const name of ["scale", "zeroPoint", "offset"] as const) {
    const arrays = parts.flatMap((part) => part[name]?.data ?? []);
    if (arrays.length === 0) continue;
    const length = arrays.reduce((sum, array) => sum + array.length, 0);
    const data = new (arrays[0].constructor as Float32ArrayConstructor)(length);
    let at = 0;
    for (const array of arrays) {
      data.set(array, at);
      at += array.length;
    }
    all[name] = { data, shape: shapeOf(length) };
  }
  return all;
}

/** Share of choosing qparams in the whole work, if quantizing follows. */
export const CHOOSING = 0.4;

/** Options with explicit qparams: the given ones, else chosen ones. */
export async function* withQParams(zp: Zeropoint, x: unknown, options: Fields): Batches<Fields> {
  const { scale, zeroPoint, offset, blockShape, dtype } = options;
  if (blockShape !== undefined || String(dtype).startsWith("float")) return undefined;
  if (scale !== undefined) {
    const isPlain = [scale, zeroPoint ?? 0, offset ?? 0].every((each) => typeof each === "number");
    return isPlain ? options : undefined;
  }
  if (offset !== undefined || (zeroPoint !== undefined && zeroPoint !== "float")) return undefined;
  const choosing = Object.fromEntries(Object.entries(options).filter(([name]) => name !== "out"));
  const batches = chooseQParams(zp, [x, choosing]);
  let step = await batches.next();
  while (step.done !== true) {
    yield CHOOSING * step.value;
    step = await batches.next();
  }
  const chosen = step.value;
  return chosen && { ...options, ...qparamsOf(chosen) };
}

/** Scale and zero point, or offset, of qparams; the other one undefined. */
export const qparamsOf = ({ scale, zeroPoint, offset }: Fields): Fields => ({
  scale,
  zeroPoint,
  offset,
});
