// Exercises of notebook 2: a scale from the data, the error, and one scale for each channel.

import type { Has, Task } from "../grade.js";
import { COURSE, each, ROUNDING, random, rounded } from "./values.js";

const { noRounding: _, halfUp: __, floor: ___, ...KINDS_OF_ROUNDING } = ROUNDING;

/** The mistakes of a symmetric scale. */
export const SYMMETRIC = {
  noAbs:
    "It takes the largest value without its absolute value: a large negative value then saturates.",
  mean: "It takes the mean of the absolute values. The scale must reach the largest of them.",
  ignoresDtype: "It ignores dtype and always divides by 127.",
  halfSteps:
    "It divides by 127.5, as PyTorch's own observers do. The course divides by q_max, 127 for int8.",
  oneMore:
    "It divides by q_max + 1, 128 for int8: the largest value then gets a code that does not exist.",
  range:
    "It divides the range from smallest to largest by the number of steps: that is the affine scale. A symmetric one reaches the largest absolute value.",
  inverse:
    "It gives the steps for each unit, q_max divided by the largest value. The scale is the other way round.",
};

/** The symmetric scale of a list of numbers, with the given mistakes. */
export function symmetricScale(torch: any, values: number[], dtype: any, has: Has) {
  const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
  const magnitudes = has("noAbs") ? values : values.map(Math.abs);
  const largest = has("mean")
    ? magnitudes.reduce((sum, value) => sum + value, 0) / values.length
    : Math.max(...magnitudes);
  if (has("range")) return (Math.max(...values) - Math.min(...values)) / (max - min);
  const steps = has("halfSteps") ? (max - min) / 2 : has("oneMore") ? max + 1 : max;
  return has("inverse") ? steps / largest : largest / steps;
}

const scale: Task = {
  id: "symmetric-scale",
  name: "get_q_scale_symmetric",
  results: "a number",
  trials: [
    { label: "the tensor of the course", args: (torch) => [torch.tensor(COURSE)] },
    {
      label: "the largest value is negative",
      args: (torch) => [
        torch.tensor([
          [1, -8, 3],
          [0.5, 2, -1],
        ]),
      ],
    },
    { label: "negative values only", args: (torch) => [torch.tensor([-1, -2.5, -0.25])] },
    { label: "one outlier", args: (torch) => [torch.tensor([0.1, 0.2, -0.1, 64])] },
    { label: "int16", args: (torch) => [random(torch, 6, [4, 4]), torch.int16] },
  ],
  mistakes: SYMMETRIC,
  make:
    (torch, has) =>
    (tensor, dtype = torch.int8) =>
      symmetricScale(torch, tensor.flatten().tolist(), dtype, has),
};

const symmetric: Task = {
  id: "symmetric",
  name: "linear_q_symmetric",
  results: "[codes, scale]",
  trials: [
    { label: "the tensor of the course", args: (torch) => [torch.tensor(COURSE)] },
    {
      label: "the largest value is negative",
      args: (torch) => [
        torch.tensor([
          [1, -8, 3],
          [0.5, 2, -1],
        ]),
      ],
    },
    { label: "ties", args: (torch) => [torch.tensor([127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5])] },
    { label: "int16", args: (torch) => [random(torch, 7, [2, 6]), torch.int16] },
  ],
  mistakes: {
    ...KINDS_OF_ROUNDING,
    floor: ROUNDING.floor,
    ...SYMMETRIC,
    multiplies: "It multiplies by the scale where it must divide.",
    swapped: "It returns the scale first: the codes come first, then the scale.",
    onlyCodes: "It returns the codes alone: without the scale nobody can dequantize them.",
    zeroPoint: "It adds a zero point. In symmetric mode the zero point is 0.",
    noCast: "Its codes are right but still float: the last step is .to(dtype).",
  },
  make:
    (torch, has) =>
    (tensor, dtype = torch.int8) => {
      const scale = symmetricScale(torch, tensor.flatten().tolist(), dtype, has);
      const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
      const scaled = has("multiplies") ? tensor.mul(scale) : tensor.div(scale);
      const steps = scaled.add(has("zeroPoint") ? min : 0);
      const limited = rounded(torch, steps, has).clamp(min, max);
      const codes = has("noCast") ? limited : limited.to(dtype);
      if (has("onlyCodes")) return codes;
      return has("swapped") ? [scale, codes] : [codes, scale];
    },
};

const error: Task = {
  id: "error",
  name: "quantization_error",
  results: "a number",
  trials: [
    {
      label: "mse",
      args: (torch) => [torch.tensor([1, 2, 3, 4]), torch.tensor([1.5, 2, 2, 4.25]), "mse"],
    },
    {
      label: "mae",
      args: (torch) => [torch.tensor([1, 2, 3, 4]), torch.tensor([1.5, 2, 2, 4.25]), "mae"],
    },
    {
      label: "a matrix",
      args: (torch) => [random(torch, 8, [3, 4]), random(torch, 9, [3, 4]), "mse"],
    },
    { label: "equal tensors", args: (torch) => [torch.ones(2, 2), torch.ones(2, 2), "mae"] },
  ],
  mistakes: {
    sum: "It adds the errors up. The mean is the sum divided by the number of elements.",
    noSquare: "It does not square: errors of both signs cancel each other out.",
    noAbs:
      'For "mae" it does not take the absolute value: errors of both signs cancel each other out.',
    squaresLast:
      "It squares, or takes the absolute value of, the mean: do that with each difference first.",
    root: "It takes the square root at the end. That is the root mean squared error, not the mean squared error.",
    ignoresType:
      'It gives the mean squared error, whatever error_type says: "mae" takes absolute values.',
    maximum: "It gives the largest error, not the mean.",
    relative: "It divides by the original values. The course's errors are absolute.",
    tensor: "It returns a tensor: .item() makes it a number.",
  },
  make:
    (_, has) =>
    (original, dequantized, error_type = "mse") => {
      const isSquared = error_type === "mse" || has("ignoresType");
      let difference = original.sub(dequantized);
      if (has("relative")) difference = difference.div(original);
      const plain = isSquared ? has("noSquare") : has("noAbs");
      const terms = plain ? difference : isSquared ? difference.square() : difference.abs();
      const whole = has("sum") ? terms.sum() : has("maximum") ? terms.max() : terms.mean();
      let result = has("root") && isSquared ? whole.sqrt() : whole;
      if (has("squaresLast")) {
        const mean = difference.mean();
        result = isSquared ? mean.square() : mean.abs();
      }
      return has("tensor") ? result : result.item();
    },
};

/** Mistakes of one scale for each index of an axis. */
export const PER_CHANNEL = {
  wrongAxis:
    "It has the scales of the other axis: dim is the axis that keeps its size, and each of its indices gets a scale.",
  firstAxis: "It always takes the first axis: dim says which.",
  oneScale: "It has one scale for the whole tensor, repeated. Each index of dim gets its own.",
};

/** The indices of the axis of each element, and the axis's size. */
export function channelOf(tensor: any, dim: number) {
  const shape = [...tensor.shape];
  const inner = shape.slice(dim + 1).reduce((product, size) => product * size, 1);
  return {
    size: shape[dim],
    of: (i: number) => Math.floor(i / inner) % shape[dim],
    column: shape.map((_, axis) => (axis === dim ? shape[dim] : 1)),
  };
}

/** The scales of the channels, in float32, with the given mistakes. */
export function channelScales(torch: any, tensor: any, dim: number, dtype: any, has: Has) {
  const axis = has("wrongAxis") ? (dim + 1) % tensor.dim() : has("firstAxis") ? 0 : dim;
  const { size, of, column } = channelOf(tensor, axis);
  const all = tensor.flatten().tolist();
  const scales = Array.from({ length: size }, (_, channel) => {
    const own = has("oneScale") ? all : all.filter((_: number, i: number) => of(i) === channel);
    return symmetricScale(torch, own, dtype, has);
  });
  return { scales: torch.tensor(scales, { dtype: torch.float32 }), column };
}

export const CHANNELS: Task["trials"] = [
  { label: "the tensor of the course, by rows", args: (torch) => [torch.tensor(COURSE), 0] },
  { label: "the tensor of the course, by columns", args: (torch) => [torch.tensor(COURSE), 1] },
  {
    label: "a matrix that is not square, by columns",
    args: (torch) => [random(torch, 10, [2, 5]), 1],
  },
  {
    label: "rows of very different sizes",
    args: (torch) => [
      torch.tensor([
        [0.01, -0.02],
        [100, 50],
        [-3, 2],
      ]),
      0,
    ],
  },
  { label: "int16", args: (torch) => [random(torch, 11, [3, 2]), 0, torch.int16] },
  { label: "three axes", args: (torch) => [random(torch, 12, [2, 3, 4]), 1] },
];

const perChannel: Task = {
  id: "per-channel",
  name: "linear_q_symmetric_per_channel",
  results: "[codes, scale]",
  trials: [
    ...CHANNELS.slice(0, 5),
    {
      label: "ties",
      args: (torch) => [
        torch.tensor([
          [127, 0.5, 2.5],
          [-1.5, 254, 3],
        ]),
        0,
      ],
    },
  ],
  mistakes: {
    ...PER_CHANNEL,
    ...SYMMETRIC,
    ...KINDS_OF_ROUNDING,
    flatScale:
      "Its scale is a vector: reshape it so that it has one number for each channel along dim and 1 elsewhere, or it cannot be broadcast later.",
    swapped: "It returns the scale first: the codes come first, then the scale.",
  },
  make:
    (torch, has) =>
    (tensor, dim, dtype = torch.int8) => {
      const { scales, column } = channelScales(torch, tensor, dim, dtype, has);
      const scale = scales.reshape(column);
      const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
      const codes = rounded(torch, tensor.div(scale), has).clamp(min, max).to(dtype);
      const second = has("flatScale") ? scales : scale;
      return has("swapped") ? [second, codes] : [codes, second];
    },
};

const channelErrors: Task = {
  id: "channel-errors",
  name: "error_per_channel",
  results: "a tensor of one error for each channel",
  trials: [
    {
      label: "by rows",
      args: (torch) => [random(torch, 13, [3, 4]), random(torch, 14, [3, 4]), 0],
    },
    {
      label: "by columns",
      args: (torch) => [random(torch, 13, [3, 4]), random(torch, 14, [3, 4]), 1],
    },
    {
      label: "a square matrix, by columns",
      args: (torch) => [torch.tensor(COURSE), each(torch, torch.tensor(COURSE), Math.round), 1],
    },
  ],
  mistakes: {
    wrongAxis:
      "It has one error for each index of the other axis. mean(dim) removes the axis dim; here dim is the one that stays.",
    firstAxis: "It always keeps the first axis: dim says which one stays.",
    sum: "It adds the squared errors up. Divide by the number of elements of the channel, or take the mean.",
    noSquare: "It does not square: errors of both signs cancel each other out.",
    absolute: "It takes absolute errors: the mean squared error has squares.",
    whole: "It gives one error for the whole tensor.",
    root: "It takes the square root at the end, which the mean squared error does not.",
  },
  make: (_, has) => (original, dequantized, dim) => {
    const difference = original.sub(dequantized);
    const terms = has("noSquare")
      ? difference
      : has("absolute")
        ? difference.abs()
        : difference.square();
    const kept = has("wrongAxis") ? 1 - dim : has("firstAxis") ? 0 : dim;
    if (has("whole")) return has("sum") ? terms.sum() : terms.mean();
    const result = has("sum") ? terms.sum(1 - kept) : terms.mean(1 - kept);
    return has("root") ? result.sqrt() : result;
  },
};

export default [scale, symmetric, error, perChannel, channelErrors];
