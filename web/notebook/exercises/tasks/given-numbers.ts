// Exercises of notebook 1: quantize with a scale and a zero point that are given.

import type { Task } from "../grade.js";
import { COURSE, codes, ROUNDING, random, rounded, TIES } from "./values.js";

const { noRounding: _, ...KINDS_OF_ROUNDING } = ROUNDING;

const SCALED: Task["trials"] = [
  { label: "the tensor of the course", args: (torch) => [torch.tensor(COURSE), 3.5, -70] },
  { label: "zeros", args: (torch) => [torch.zeros(2, 2), 0.5, 3] },
  { label: "random numbers", args: (torch) => [random(torch, 1, [3, 4]), 0.25, 12] },
];

const shift: Task = {
  id: "steps",
  name: "scale_and_shift",
  results: "a float tensor",
  trials: SCALED,
  mistakes: {
    multiplies:
      "It multiplies by the scale. The scale is the size of a step, so dividing by it counts the steps.",
    sign: "It subtracts the zero point. The zero point is the code of 0, so it is added to the count of steps.",
    noZeroPoint:
      "It leaves the zero point out: then 0 gets the code 0, whatever the zero point says.",
    addsFirst:
      "It adds the zero point before dividing. The zero point is a code, so it is added to the quotient.",
    noScale: "It does not divide by the scale.",
    rounds: "It rounds already: this step only scales and shifts.",
  },
  make: (torch, has) => (tensor, scale, zero_point) => {
    const zero = has("noZeroPoint") ? 0 : has("sign") ? -zero_point : zero_point;
    const start = has("addsFirst") ? tensor.add(zero) : tensor;
    const steps = has("noScale") ? start : has("multiplies") ? start.mul(scale) : start.div(scale);
    const shifted = has("addsFirst") ? steps : steps.add(zero);
    return has("rounds") ? torch.round(shifted) : shifted;
  },
};

const quantize: Task = {
  id: "codes",
  name: "linear_q_with_scale_and_zero_point",
  results: "a tensor of codes",
  trials: [
    { label: "the tensor of the course", args: (torch) => [torch.tensor(COURSE), 3.5, -70] },
    { label: "ties, zero point 0", args: (torch) => [torch.tensor(TIES), 0.5, 0] },
    { label: "ties, an odd zero point", args: (torch) => [torch.tensor(TIES), 0.5, 3] },
    { label: "zeros", args: (torch) => [torch.zeros(4), 0.1, 5] },
    {
      label: "outliers on both sides",
      args: (torch) => [torch.tensor([-1e4, -300, 0.3, 250, 1e4]), 1, 0],
    },
    {
      label: "values that the zero point brings into range",
      args: (torch) => [torch.tensor([150, -150, 20, 128.4]), 1, -60],
    },
    {
      label: "random numbers in uint8",
      args: (torch) => [random(torch, 2, [3, 5]), 0.02, 130, torch.uint8],
    },
    {
      label: "random numbers in int16",
      args: (torch) => [random(torch, 3, [2, 3], 90), 0.01, -9, torch.int16],
    },
  ],
  mistakes: {
    ...KINDS_OF_ROUNDING,
    roundsFirst:
      "It rounds before it adds the zero point. The course adds first; ties then go to another neighbour.",
    noClamp:
      "It does not clamp: codes beyond the dtype wrap around, so the largest values become small or negative.",
    clampsFirst:
      "It clamps before the zero point is added. The zero point shifts codes out of the range again.",
    ignoresDtype: "It ignores dtype and always uses the limits of int8.",
    narrow:
      "Its smallest code is one too high, -127 for int8. q_min of the dtype is a code as well.",
    sign: "It subtracts the zero point where it must be added.",
    noZeroPoint: "It leaves the zero point out.",
    multiplies: "It multiplies by the scale where it must divide.",
    addsFirst: "It adds the zero point before dividing: divide first, then add.",
    swappedBounds: "The bounds of clamp are swapped: the smallest code comes first.",
    noCast: "Its codes are right but still float: the last step is .to(dtype).",
  },
  make:
    (torch, has) =>
    (tensor, scale, zero_point, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
      const zero = has("noZeroPoint") ? 0 : has("sign") ? -zero_point : zero_point;
      const limit = (codes: any) => {
        if (has("noClamp")) return codes;
        if (has("swappedBounds")) return codes.clamp(max, min);
        return codes.clamp(has("narrow") ? min + 1 : min, max);
      };
      const scaled = (values: any) => (has("multiplies") ? values.mul(scale) : values.div(scale));
      if (has("addsFirst")) {
        const codes = limit(rounded(torch, scaled(tensor.add(zero)), has));
        return has("noCast") ? codes : codes.to(dtype);
      }
      let steps = scaled(tensor);
      if (has("clampsFirst")) steps = limit(steps);
      const shifted = has("roundsFirst")
        ? rounded(torch, steps, has).add(zero)
        : rounded(torch, steps.add(zero), has);
      const codes = has("clampsFirst") ? shifted : limit(shifted);
      return has("noCast") ? codes : codes.to(dtype);
    },
};

const dequantize: Task = {
  id: "values",
  name: "linear_dequantization",
  results: "a float tensor",
  trials: [
    {
      label: "codes far from the zero point",
      args: (torch) => [torch.tensor([127, 126, -128, -70, 0]).to(torch.int8), 3.5, -70],
    },
    { label: "a positive zero point", args: (torch) => [codes(torch, 4, [3, 3]), 0.25, 100] },
    { label: "uint8", args: (torch) => [codes(torch, 5, [2, 4], torch.uint8, [0, 255]), 0.5, 128] },
    {
      label: "one code, the zero point",
      args: (torch) => [torch.tensor([7]).to(torch.int8), 0.1, 7],
    },
  ],
  mistakes: {
    wraps:
      "It subtracts within the codes' dtype, where 127 - (-70) does not fit: the difference wraps around. Call .float() first.",
    sign: "It adds the zero point where it must be subtracted.",
    noZeroPoint: "It leaves the zero point out.",
    zeroPointLast:
      "It subtracts the zero point from the product. The zero point is a code: subtract it before multiplying.",
    reversed: "It subtracts the code from the zero point: the values have the wrong sign.",
    divides:
      "It divides by the scale. A code is a count of steps, so it is multiplied by the size of a step.",
    rounds:
      "It rounds the values: dequantized values are multiples of the scale, not whole numbers.",
  },
  make: (torch, has) => (quantized_tensor, scale, zero_point) => {
    const q = has("wraps") ? quantized_tensor : quantized_tensor.float();
    const zero = has("noZeroPoint") ? 0 : has("sign") ? -zero_point : zero_point;
    const steps = has("zeroPointLast") ? q : has("reversed") ? q.rsub(zero) : q.sub(zero);
    const scaled = has("divides") ? steps.div(scale) : steps.mul(scale);
    const values = has("zeroPointLast") ? scaled.sub(zero) : scaled;
    return has("rounds") ? torch.round(values) : values;
  },
};

const range: Task = {
  id: "range",
  name: "representable_range",
  results: "[lowest, highest]",
  trials: [
    { label: "scale 3.5, zero point -70", args: (torch) => [3.5, -70, torch.int8] },
    { label: "uint8, zero point 128", args: (torch) => [0.5, 128, torch.uint8] },
    { label: "int8, zero point 0", args: (torch) => [0.25, 0, torch.int8] },
    { label: "int16", args: (torch) => [0.001, 17, torch.int16] },
  ],
  mistakes: {
    sign: "It adds the zero point to the codes. A value is scale times (code minus zero point).",
    noZeroPoint: "It leaves the zero point out.",
    ignoresDtype: "It ignores dtype and always uses the limits of int8.",
    swapped: "The two ends are in the wrong order: the lowest value comes first.",
    divides:
      "It divides by the scale. A code is a count of steps, so it is multiplied by the size of a step.",
    narrow: "It leaves the lowest code out: q_min of the dtype is a code as well.",
    zeroPointLast:
      "It subtracts the zero point after multiplying. The zero point is a code: subtract it first.",
    width:
      "It gives a range of the right width that begins at the wrong place: both ends count from the zero point.",
  },
  make: (torch, has) => (scale, zero_point, dtype) => {
    const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
    const zero = has("noZeroPoint") ? 0 : has("sign") ? -zero_point : zero_point;
    const value = (code: number) => {
      if (has("divides")) return (code - zero) / scale;
      return has("zeroPointLast") ? scale * code - zero : scale * (code - zero);
    };
    if (has("width")) return [0, scale * (max - min)];
    const ends = [value(has("narrow") ? min + 1 : min), value(max)];
    return has("swapped") ? ends.reverse() : ends;
  },
};

const saturated: Task = {
  id: "saturated",
  name: "count_saturated",
  results: "a number",
  trials: [
    { label: "the tensor of the course", args: (torch) => [torch.tensor(COURSE), 3.5, -70] },
    {
      label: "outliers on both sides",
      args: (torch) => [torch.tensor([-1e4, -300, 0.3, 250, 1e4]), 1, 0],
    },
    {
      label: "values at the ends",
      args: (torch) => [torch.tensor([127, -128, 127.4, -128.4, 127.7, 128, 0]), 1, 0],
    },
    { label: "nothing saturates", args: (torch) => [torch.zeros(3), 0.1, 0] },
    { label: "uint8", args: (torch) => [torch.tensor([-5, 3, 300, 200, 255]), 1, 0, torch.uint8] },
  ],
  mistakes: {
    countsEnds:
      "It counts codes that are exactly the ends of the range. Those are represented: count what lies beyond.",
    beforeRounding: "It compares before rounding: 127.4 still becomes 127, which is in range.",
    truncate: "It cuts the decimals off: 127.7 rounds to 128, which is beyond.",
    wraps: "It converts to the dtype before it compares: nothing is beyond the dtype then.",
    tensor: "It returns a tensor: .item() makes it a number.",
    onlyUpper: "It counts only values above the range: values below saturate, too.",
    onlyLower: "It counts only values below the range: values above saturate, too.",
    ignoresDtype: "It ignores dtype and always uses the limits of int8.",
    noZeroPoint: "It leaves the zero point out.",
    sign: "It subtracts the zero point where it must be added.",
    share: "It gives the share of the values, not their number.",
    inside: "It counts the values inside of the range.",
  },
  make:
    (torch, has) =>
    (tensor, scale, zero_point, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(has("ignoresDtype") ? torch.int8 : dtype);
      const zero = has("noZeroPoint") ? 0 : has("sign") ? -zero_point : zero_point;
      const shifted = tensor.div(scale).add(zero);
      let codes = has("beforeRounding") ? shifted : rounded(torch, shifted, has);
      if (has("wraps")) codes = codes.to(dtype);
      const all = codes.flatten().tolist();
      const above = (code: number) => (has("countsEnds") ? code >= max : code > max);
      const below = (code: number) => (has("countsEnds") ? code <= min : code < min);
      const found = all.filter((code: number) => {
        const beyond = (!has("onlyLower") && above(code)) || (!has("onlyUpper") && below(code));
        return has("inside") ? !beyond : beyond;
      }).length;
      if (has("tensor")) return torch.tensor(found);
      return has("share") ? found / all.length : found;
    },
};

export default [shift, quantize, dequantize, range, saturated];
