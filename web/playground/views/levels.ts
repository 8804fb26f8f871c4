// The range of codes and restored values, and the real number of each code.

import type { Evaluation } from "../worker/evaluate.js";
import { sliceOf } from "./geometry.js";

/**
 * The least and the greatest of some numbers.
 * @param numbers  at least one
 */
export function extremesOf(numbers: ArrayLike<number>) {
  let [least, greatest] = [numbers[0], numbers[0]];
  for (let i = 1; i < numbers.length; i++) {
    if (numbers[i] < least) least = numbers[i];
    if (numbers[i] > greatest) greatest = numbers[i];
  }
  return { least, greatest };
}

/** The real number of each code, for the slice of an element. */
export function levelsOf(
  { scales, zeroPoints, isOffset, slices }: Evaluation,
  { qmin, qmax }: { qmin: number; qmax: number },
  element: number,
) {
  const slice = sliceOf(slices, element);
  const scale = scales[slice] ?? scales[0];
  const zero = zeroPoints[slice] ?? zeroPoints[0] ?? 0;
  return Array.from({ length: qmax - qmin + 1 }, (_, i) =>
    isOffset ? scale * (qmin + i) + zero : scale * (qmin + i - zero),
  );
}
