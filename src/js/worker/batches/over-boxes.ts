// Runs a function box by box.

import { arrayName, type NumberArray } from "../../base/typed-arrays.js";
import { Tensor } from "../../tensor/tensor.js";
import { boxesOf, type Fields, type Large, type Part, partsOf } from "./boxes.js";

/** Yields the part of the work that is done; returns the result, or undefined to have the whole call run. */
export type Batches<T = unknown> = AsyncGenerator<number, T | undefined>;

/** `out` of options: its array; a new one without it. */
export function outputOf(out: unknown, type: new (length: number) => NumberArray, size: number) {
  if (out === undefined) return new type(size);
  return (arrayName(out) === undefined ? (out as Fields).data : out) as NumberArray;
}

/** Runs one function box by box; each box writes its part of `data`. */
export async function* overBoxes(
  large: Large,
  align: number,
  done: number,
  run: (...part: Part) => unknown,
  values = large.values,
): Batches<Fields> {
  let first: unknown;
  for await (const [part, box] of partsOf(large, boxesOf(large.shape, align, values))) {
    const result = run(part, box);
    if (result === undefined) return undefined;
    first ??= result;
    yield done + ((1 - done) * (box.offset + box.size)) / large.data.length;
  }
  return first as Fields;
}

export const tensorOf = (out: unknown, data: NumberArray, shape: readonly number[]): unknown =>
  out instanceof Tensor ? out : new Tensor(data as Float32Array, shape);
