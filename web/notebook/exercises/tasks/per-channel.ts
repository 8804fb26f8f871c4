// Exercises of notebook 3: the steps of quantizing per channel.

import type { Task } from "../grade.js";
import {
  CHANNELS,
  channelOf,
  channelScales,
  PER_CHANNEL,
  SYMMETRIC,
  symmetricScale,
} from "./from-data.js";
import { COURSE, codes, ROUNDING, random, rounded } from "./values.js";

const { noRounding: _, halfUp: __, floor: ___, ...KINDS_OF_ROUNDING } = ROUNDING;

const scales: Task = {
  id: "channel-scales",
  name: "get_channel_scales",
  results: "a vector of scales",
  trials: CHANNELS,
  mistakes: {
    ...PER_CHANNEL,
    ...SYMMETRIC,
    column:
      "Its scales already stand along the axis. Here they are still a vector; the next exercise reshapes it.",
    list: "It gives a list of numbers: put them into a tensor.",
  },
  make:
    (torch, has) =>
    (tensor, dim, dtype = torch.int8) => {
      const { scales, column } = channelScales(torch, tensor, dim, dtype, has);
      if (has("list")) return scales.tolist();
      return has("column") ? scales.reshape(column) : scales;
    },
};

const column: Task = {
  id: "column",
  name: "along",
  results: "a tensor of the scales along dim",
  trials: [
    { label: "a column for a matrix", args: (torch) => [torch.tensor([1.5, 2, 3]), 0, 2] },
    { label: "a row for a matrix", args: (torch) => [torch.tensor([1.5, 2, 3]), 1, 2] },
    { label: "the middle of three axes", args: (torch) => [torch.tensor([1.5, 2]), 1, 3] },
    { label: "a vector stays a vector", args: (torch) => [torch.tensor([1.5, 2]), 0, 1] },
    { label: "the first of four axes", args: (torch) => [torch.tensor([1.5, 2, 4, 8]), 0, 4] },
  ],
  mistakes: {
    always0: "It always puts the scales along the first axis: dim says which.",
    alwaysLast: "It always puts the scales along the last axis: dim says which.",
    opposite: "It counts dim from the end: dim 0 is the first axis.",
    alwaysMatrix: "It always gives two axes: the result needs as many as the tensor, ndim.",
    unchanged: "It returns the vector as it is. Broadcasting would take it for a row.",
    repeated: "It fills a whole tensor. Sizes of 1 are enough: broadcasting repeats them.",
  },
  make: (torch, has) => (scale, dim, ndim) => {
    const axes = has("alwaysMatrix") ? 2 : ndim;
    const at = has("always0")
      ? 0
      : has("alwaysLast")
        ? axes - 1
        : has("opposite")
          ? axes - 1 - dim
          : dim;
    const count = scale.numel();
    if (has("unchanged")) return scale;
    const shape = Array.from({ length: axes }, (_, axis) => (axis === at ? count : 1));
    const result = scale.reshape(shape);
    return has("repeated") ? result.add(torch.zeros(new Array(axes).fill(count))) : result;
  },
};

const quantize: Task = {
  id: "channel-codes",
  name: "quantize_per_channel",
  results: "a tensor of codes",
  trials: [
    {
      label: "by rows",
      args: (torch) => [torch.tensor(COURSE), torch.tensor([5.737, 2.327, 5.39]), 0],
    },
    {
      label: "by columns",
      args: (torch) => [torch.tensor(COURSE), torch.tensor([1.509, 5.39, 5.737]), 1],
    },
    {
      label: "not a square",
      args: (torch) => [random(torch, 15, [2, 5]), torch.tensor([0.02, 0.05]), 0],
    },
    {
      label: "a transposed tensor",
      args: (torch) => [random(torch, 16, [4, 2]).t(), torch.tensor([0.01, 0.03]), 0],
    },
    {
      label: "ties and saturation",
      args: (torch) => [
        torch.tensor([
          [0.5, 1.5, -2.5],
          [400, -400, 7],
        ]),
        torch.tensor([1, 2]),
        0,
      ],
    },
    {
      label: "three axes",
      args: (torch) => [random(torch, 17, [2, 3, 2]), torch.tensor([0.02, 0.05, 0.01]), 1],
    },
  ],
  mistakes: {
    ...KINDS_OF_ROUNDING,
    noReshape:
      "It divides by the vector of scales as it is: broadcasting puts a vector along the last axis, whatever dim is.",
    firstAxis: "It always puts the scales along the first axis: dim says which.",
    view: "It uses view on the tensor. A transposed tensor does not lie in memory in that order: reshape copies where it must.",
    noClamp: "It does not clamp: codes beyond int8 wrap around.",
    multiplies: "It multiplies by the scales where it must divide.",
    noCast: "Its codes are right but still float: the last step is .to(torch.int8).",
    narrow: "It clamps to -127: the int8 range begins at -128.",
  },
  make: (torch, has) => (tensor, scale, dim) => {
    if (has("view")) tensor.view(-1);
    const axis = has("firstAxis") ? 0 : dim;
    const shape = [...tensor.shape].map((_, i) => (i === axis ? scale.numel() : 1));
    const factor = has("noReshape") ? scale : scale.reshape(shape);
    const steps = has("multiplies") ? tensor.mul(factor) : tensor.div(factor);
    const all = rounded(torch, steps, has);
    const limited = has("noClamp") ? all : all.clamp(has("narrow") ? -127 : -128, 127);
    return has("noCast") ? limited : limited.to(torch.int8);
  },
};

const dequantize: Task = {
  id: "channel-values",
  name: "dequantize_per_channel",
  results: "a float tensor",
  trials: [
    {
      label: "by rows",
      args: (torch) => [codes(torch, 18, [3, 3]), torch.tensor([0.5, 2, 0.1]), 0],
    },
    {
      label: "by columns",
      args: (torch) => [codes(torch, 19, [3, 3]), torch.tensor([0.5, 2, 0.1]), 1],
    },
    {
      label: "not a square",
      args: (torch) => [codes(torch, 20, [2, 4]), torch.tensor([3, 0.25]), 0],
    },
    {
      label: "three axes",
      args: (torch) => [codes(torch, 21, [2, 3, 2]), torch.tensor([3, 0.25, 1]), 1],
    },
  ],
  mistakes: {
    noReshape:
      "It multiplies by the vector of scales as it is: broadcasting puts a vector along the last axis, whatever dim is.",
    firstAxis: "It always puts the scales along the first axis: dim says which.",
    divides: "It divides by the scales: codes are counts of steps, so they are multiplied.",
    oneScale: "It multiplies everything by the first scale: each channel has its own.",
    meanScale: "It multiplies everything by the mean of the scales: each channel has its own.",
    rounds:
      "It rounds the values: dequantized values are multiples of their scale, not whole numbers.",
  },
  make: (torch, has) => (q_tensor, scale, dim) => {
    const axis = has("firstAxis") ? 0 : dim;
    const shape = [...q_tensor.shape].map((_, i) => (i === axis ? scale.numel() : 1));
    const factor = has("oneScale")
      ? scale.select(0, 0)
      : has("meanScale")
        ? scale.mean()
        : has("noReshape")
          ? scale
          : scale.reshape(shape);
    const values = has("divides") ? q_tensor.float().div(factor) : q_tensor.float().mul(factor);
    return has("rounds") ? torch.round(values) : values;
  },
};

/** The error of symmetric int8 codes with one scale, or one for each row. */
function errorOf(torch: any, tensor: any, dim: number | undefined, isAbsolute: boolean) {
  const none = () => false;
  const all = tensor.flatten().tolist();
  const { of, size } = channelOf(tensor, dim ?? 0);
  const scaleOf = (values: number[]) =>
    Math.fround(symmetricScale(torch, values, torch.int8, none));
  const scales = Array.from({ length: size }, (_, channel) =>
    scaleOf(dim === undefined ? all : all.filter((_: any, i: number) => of(i) === channel)),
  );
  const scale = torch.tensor(all.map((_: any, i: number) => scales[of(i)]));
  const flat = tensor.flatten();
  const difference = torch.round(flat.div(scale)).mul(scale).sub(flat);
  return (isAbsolute ? difference.abs() : difference.square()).mean().item();
}

const gain: Task = {
  id: "gain",
  name: "gain_of_channels",
  results: "a number",
  trials: [
    { label: "the tensor of the course", args: (torch) => [torch.tensor(COURSE)] },
    {
      label: "rows of very different sizes",
      args: (torch) => [
        torch.tensor([
          [0.01, -0.024, 0.017],
          [100, 50, 3],
          [-3, 2, 0.4],
        ]),
      ],
    },
    { label: "random numbers", args: (torch) => [random(torch, 22, [4, 6])] },
  ],
  mistakes: {
    inverse:
      "It is the inverse: divide the error of one scale by the error of the channels, so that a gain is above 1.",
    absolute: "It compares mean absolute errors: the gain is of mean squared errors.",
    columns: "It has one scale for each column: here each row, dim 0, gets its own.",
    difference: "It subtracts the errors: the gain is their quotient.",
    decibels: "It is in decibels: the gain is the plain quotient.",
    onlyTensor: "It gives the error of one scale alone: divide it by the error of the channels.",
    onlyChannels: "It gives the error of the channels alone: divide the error of one scale by it.",
  },
  make: (torch, has) => (tensor) => {
    const whole = errorOf(torch, tensor, undefined, has("absolute"));
    const parts = errorOf(torch, tensor, has("columns") ? 1 : 0, has("absolute"));
    if (has("onlyTensor")) return whole;
    if (has("onlyChannels")) return parts;
    if (has("difference")) return whole - parts;
    const quotient = has("inverse") ? parts / whole : whole / parts;
    return has("decibels") ? 10 * Math.log10(quotient) : quotient;
  },
};

export default [scales, column, quantize, dequantize, gain];
