// Tensors that the exercises are tested on, the same in every run, and roundings that PyTorch's methods do not have.

import type { Has } from "../grade.js";

/** The tensor of the course. */
export const COURSE = [
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
];

/** Quotients by a step of 0.5 that end in a half, with both signs and both neighbours even. */
export const TIES = [0.25, 0.75, 1.25, 1.75, -0.25, -0.75, -1.25, -1.75, 2.25, -2.25];

/** Numbers between -limit and limit in steps of 1/256, by a linear congruential generator (Numerical Recipes). */
export function numbers(seed: number, count: number, limit: number) {
  let state = seed >>> 0;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.round((state / 2 ** 31 - 1) * limit * 256) / 256;
  });
}

export function random(torch: any, seed: number, shape: number[], limit = 3) {
  const count = shape.reduce((product, size) => product * size, 1);
  return torch.tensor(numbers(seed, count, limit)).reshape(shape);
}

/** Integers from low to high, both included, as codes of a dtype. */
export function codes(
  torch: any,
  seed: number,
  shape: number[],
  dtype: any = torch.int8,
  [low, high]: [number, number] = [-128, 127],
) {
  const count = shape.reduce((product, size) => product * size, 1);
  const drawn = numbers(seed, count, 1).map(
    (value) => low + Math.round(((value + 1) / 2) * (high - low)),
  );
  return torch.tensor(drawn).reshape(shape).to(dtype);
}

/** Applies a function to each number of a tensor. */
export const each = (torch: any, tensor: any, f: (value: number) => number) =>
  torch
    .tensor(tensor.flatten().tolist().map(f), { dtype: torch.float32 })
    .reshape([...tensor.shape]);

/** Rounds halves away from zero. */
export const halfAway = (value: number) => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);

/** Rounds as JavaScript does: halves up. */
export const halfUp = (value: number) => Math.floor(value + 0.5);

/** The mistakes of rounding, for the mistakes of a task. */
export const ROUNDING = {
  truncate:
    "It cuts the decimals off instead of rounding, as the conversion to an integer dtype does: 2.9 becomes 2. Call torch.round before.",
  halfAway:
    "It rounds halves away from zero: 2.5 must become 2, not 3. torch.round takes the even neighbour.",
  halfUp:
    "It rounds halves up, as Math.round does: 2.5 must become 2. torch.round takes the even neighbour.",
  floor: "It rounds down: 2.9 becomes 2, and -0.1 becomes -1. Take the nearest whole number.",
  ceil: "It rounds up: 2.1 becomes 3. Take the nearest whole number.",
  noRounding:
    "It does not round: the conversion to the integer dtype then cuts the decimals off, or none is made.",
};

/** torch.round, or one of the mistakes of ROUNDING. */
export function rounded(torch: any, tensor: any, has: Has) {
  if (has("truncate")) return torch.trunc(tensor);
  if (has("halfAway")) return each(torch, tensor, halfAway);
  if (has("halfUp")) return each(torch, tensor, halfUp);
  if (has("floor")) return torch.floor(tensor);
  if (has("ceil")) return torch.ceil(tensor);
  if (has("noRounding")) return tensor;
  return torch.round(tensor);
}

/** Rounds a number half to even, as Python's round. */
export function halfEven(value: number) {
  const down = Math.floor(value);
  if (value - down !== 0.5) return Math.round(value);
  return down % 2 === 0 ? down : down + 1;
}

/** halfEven, or one of the mistakes of ROUNDING, for one number. */
export function roundedNumber(value: number, has: Has) {
  if (has("truncate")) return Math.trunc(value);
  if (has("halfAway")) return halfAway(value);
  if (has("halfUp")) return halfUp(value);
  if (has("floor")) return Math.floor(value);
  if (has("ceil")) return Math.ceil(value);
  return halfEven(value);
}
