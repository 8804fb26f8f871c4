// Exercises of notebook 5: the zero point from the data, groups, and a layer with quantized weights.

import type { Task } from "../grade.js";
import { SYMMETRIC, symmetricScale } from "./from-data.js";
import { COURSE, codes, ROUNDING, random, rounded, roundedNumber } from "./values.js";

const { noRounding: _, halfUp: __, ...KINDS_OF_ROUNDING } = ROUNDING;
const { floor: ___, ...COMMON_ROUNDING } = KINDS_OF_ROUNDING;

const qparams: Task = {
  id: "zero-point",
  name: "get_q_scale_and_zero_point",
  results: "[scale, zero_point]",
  trials: [
    { label: "the tensor of the course", args: (torch) => [torch.tensor(COURSE)] },
    { label: "uint8", args: (torch) => [torch.tensor([-1, 0, 3]), torch.uint8] },
    {
      label: "a zero point at a half",
      args: (torch) => [torch.tensor([-0.5, 254.5]), torch.uint8],
    },
    { label: "positive values, far from 0", args: (torch) => [torch.tensor([100, 101, 105])] },
    { label: "negative values, far from 0", args: (torch) => [torch.tensor([-100, -101, -105])] },
    { label: "int16", args: (torch) => [random(torch, 24, [3, 3]), torch.int16] },
  ],
  mistakes: {
    ignoresDtype:
      "It ignores dtype and always uses the limits of int8, as the course's own function does once.",
    sign: "Its zero point has the wrong sign: q_min minus r_min divided by the scale.",
    floatZeroPoint: "Its zero point is not a whole number: round it.",
    noClamp:
      "It does not keep the zero point within the dtype: where the data is far from 0, the zero point is beyond it.",
    steps256:
      "It divides by the number of codes. Between n codes there are n - 1 steps: q_max - q_min.",
    fromZero: "It leaves q_min out of the zero point: r_min gets the code q_min, not 0.",
    onlyMax: "It divides the maximum alone: the scale spans r_min to r_max.",
    magnitude: "It uses the largest absolute value: the affine scale spans r_min to r_max.",
    swapped: "It returns the zero point first: the scale comes first.",
    ...KINDS_OF_ROUNDING,
  },
  make:
    (torch, has) =>
    (tensor, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
      const low = tensor.min().item();
      const high = tensor.max().item();
      const span = has("onlyMax")
        ? high
        : has("magnitude")
          ? 2 * Math.max(Math.abs(low), Math.abs(high))
          : high - low;
      const scale = span / (max - min + (has("steps256") ? 1 : 0));
      const start = has("fromZero") ? 0 : min;
      const zero = has("sign") ? start + low / scale : start - low / scale;
      const whole = has("floatZeroPoint") ? zero : roundedNumber(zero, has);
      const zeroPoint = (has("noClamp") ? whole : Math.min(max, Math.max(min, whole))) + 0;
      return has("swapped") ? [zeroPoint, scale] : [scale, zeroPoint];
    },
};

const GROUPS = {
  columns: "Its groups run down the columns. A group is consecutive values of a row.",
  rows: "It has one scale for each row, whatever group_size says.",
  oneScale: "It has one scale for the whole tensor.",
};

const perGroup: Task = {
  id: "per-group",
  name: "linear_q_symmetric_per_group",
  results: "[codes, scale]",
  trials: [
    { label: "two groups in each row", args: (torch) => [random(torch, 25, [3, 8]), 4] },
    { label: "one group a row", args: (torch) => [random(torch, 26, [2, 4]), 4] },
    {
      label: "groups of very different sizes",
      args: (torch) => [
        torch.tensor([
          [0.01, -0.02, 100, 50],
          [3, -7, 0.5, 0.1],
        ]),
        2,
      ],
    },
    { label: "int16", args: (torch) => [random(torch, 27, [2, 6]), 3, torch.int16] },
    { label: "ties", args: (torch) => [torch.tensor([[127, 0.5, 254, -5]]), 2] },
  ],
  mistakes: {
    ...GROUPS,
    ...SYMMETRIC,
    ...COMMON_ROUNDING,
    transposed:
      "It makes group_size rows. A group is group_size consecutive values: reshape(-1, group_size).",
    noRestore:
      "It leaves the codes in the shape of the groups: give them the tensor's shape again.",
    flatScale: "Its scale is a vector: one row for each group, so its shape is [groups, 1].",
    swapped: "It returns the scale first: the codes come first, then the scale.",
  },
  make:
    (torch, has) =>
    (tensor, group_size, dtype = torch.int8) => {
      const [rows, columns] = [...tensor.shape];
      const size = has("rows") ? columns : group_size;
      const source = has("columns") ? tensor.t().contiguous() : tensor;
      const groups = has("transposed") ? source.reshape(size, -1) : source.reshape(-1, size);
      const all = tensor.flatten().tolist();
      const list = groups
        .tolist()
        .map((group: number[]) => symmetricScale(torch, has("oneScale") ? all : group, dtype, has));
      const scale = torch.tensor(list, { dtype: torch.float32 }).reshape(-1, 1);
      const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
      let codes = rounded(torch, groups.div(scale), has).clamp(min, max).to(dtype);
      if (!has("noRestore")) {
        codes = has("columns")
          ? codes.reshape(columns, rows).t().contiguous()
          : codes.reshape(rows, columns);
      }
      const second = has("flatScale") ? scale.flatten() : scale;
      return has("swapped") ? [second, codes] : [codes, second];
    },
};

const groupValues: Task = {
  id: "group-values",
  name: "linear_dequantization_per_group",
  results: "a float tensor",
  trials: [
    {
      label: "two groups in each row",
      args: (torch) => [codes(torch, 28, [2, 4]), torch.tensor([[0.5], [2], [0.25], [3]]), 2],
    },
    {
      label: "one group a row",
      args: (torch) => [codes(torch, 29, [2, 3]), torch.tensor([[0.5], [2]]), 3],
    },
    {
      label: "large codes",
      args: (torch) => [
        torch.tensor([[127, -128, 100, 90]]).to(torch.int8),
        torch.tensor([[3], [5]]),
        2,
      ],
    },
  ],
  mistakes: {
    noRestore:
      "It leaves the values in the shape of the groups: give them the tensor's shape again.",
    divides: "It divides by the scale: codes are counts of steps, so they are multiplied.",
    columns: "Its groups run down the columns. A group is consecutive values of a row.",
    oneScale: "It multiplies everything by the first scale: each group has its own.",
    rounds: "It rounds the values: dequantized values are multiples of their scale.",
    meanScale: "It multiplies everything by the mean of the scales: each group has its own.",
  },
  make: (torch, has) => (q, scale, group_size) => {
    const [rows, columns] = [...q.shape];
    const source = (has("columns") ? q.t().contiguous() : q).float();
    const groups = source.reshape(-1, group_size);
    const factor = has("oneScale") ? scale.select(0, 0) : has("meanScale") ? scale.mean() : scale;
    const scaled = has("divides") ? groups.div(factor) : groups.mul(factor);
    const values = has("rounds") ? torch.round(scaled) : scaled;
    if (has("noRestore")) return values;
    return has("columns")
      ? values.reshape(columns, rows).t().contiguous()
      : values.reshape(rows, columns);
  },
};

const layer: Task = {
  id: "layer",
  name: "quantized_linear",
  results: "a float tensor",
  trials: [
    {
      label: "symmetric weights",
      args: (torch) => [torch.tensor([[1, -2, 0.5]]), codes(torch, 30, [2, 3]), 0.5, 0],
    },
    {
      label: "a zero point",
      args: (torch) => [
        torch.tensor([
          [1, 2, 3.5],
          [0, -1, 4],
        ]),
        codes(torch, 31, [2, 3]),
        0.25,
        7,
      ],
    },
    {
      label: "codes far from the zero point",
      args: (torch) => [
        torch.tensor([[1, 1.5]]),
        torch
          .tensor([
            [127, -100],
            [100, 3],
          ])
          .to(torch.int8),
        0.5,
        -100,
      ],
    },
    {
      label: "as many inputs as outputs",
      args: (torch) => [
        torch.tensor([
          [1, 2],
          [3, 0.5],
        ]),
        torch
          .tensor([
            [1, 2],
            [30, 4],
          ])
          .to(torch.int8),
        0.5,
        0,
      ],
    },
  ],
  mistakes: {
    addsZeroPoint:
      "It adds the zero point, in units of the weights, as the course does. Right is (q - zero point) times the scale.",
    noTranspose:
      "It multiplies by the weight as it is: a linear layer multiplies by its transpose, one row for each output.",
    noZeroPoint: "It leaves the zero point out.",
    sign: "It adds the zero point to the codes where it must be subtracted.",
    wraps:
      "It subtracts within int8, where 127 - (-100) does not fit: the difference wraps around. Call .float() first.",
    noScale: "It leaves the scale out: the result is in steps, not in units of the weights.",
    scalesInput: "It divides by the scale where it must multiply.",
  },
  make: (torch, has) => (input, q_w, s_w, z_w) => {
    const q = has("wraps") ? q_w : q_w.float();
    const steps =
      has("noZeroPoint") || has("addsZeroPoint") ? q : has("sign") ? q.add(z_w) : q.sub(z_w);
    const scaled = has("noScale")
      ? steps.float()
      : has("scalesInput")
        ? steps.div(s_w)
        : steps.mul(s_w);
    const weight = (has("addsZeroPoint") ? scaled.add(z_w) : scaled).float();
    return torch.nn.functional.linear(input, has("noTranspose") ? weight.t().contiguous() : weight);
  },
};

const bits: Task = {
  id: "bits-per-weight",
  name: "bits_per_weight",
  results: "a number",
  trials: [
    { label: "4 bits, groups of 32, scales of 16 bits", args: () => [4, 32, 16] },
    { label: "8 bits, groups of 64, scales of 32 bits", args: () => [8, 64, 32] },
    { label: "2 bits, groups of 16, scales of 8 bits", args: () => [2, 16, 8] },
    { label: "3 bits, groups of 100, scales of 32 bits", args: () => [3, 100, 32] },
  ],
  mistakes: {
    noScales: "It leaves the scales out: each group stores one.",
    wholeScale: "It adds a whole scale to each weight: the weights of a group share one.",
    perGroup: "It gives the bits of a group: divide by group_size.",
    bytes: "It is in bytes: the bits are eight times as many.",
    inverse: "It divides the group size by the bits of the scale: the other way round.",
    fixedScale: "It takes scales of 32 bits: scale_bits is an argument.",
    whole: "It rounds: 4.5 bits a weight are possible.",
  },
  make: (_, has) => (bits, group_size, scale_bits) => {
    const size = has("fixedScale") ? 32 : scale_bits;
    const share = has("noScales")
      ? 0
      : has("wholeScale")
        ? size
        : has("inverse")
          ? group_size / size
          : size / group_size;
    const result = has("perGroup") ? bits * group_size + size : bits + share;
    return has("whole") ? Math.round(result) : has("bytes") ? result / 8 : result;
  },
};

export default [qparams, perGroup, groupValues, layer, bits];
