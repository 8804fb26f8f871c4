// Exercises of notebook 4: what observers keep, and how PyTorch chooses a scale and a zero point.

import type { Task } from "../grade.js";
import { ROUNDING, random, rounded, roundedNumber, TIES } from "./values.js";

const { noRounding: _, ...KINDS_OF_ROUNDING } = ROUNDING;

const observe: Task = {
  id: "min-max",
  name: "observe",
  results: "[min, max]",
  trials: [
    {
      label: "a batch that widens both ends",
      args: (torch) => [[-1, 1], torch.tensor([-2, 0.5, 3])],
    },
    {
      label: "a batch inside of the range",
      args: (torch) => [
        [-5, 5],
        torch.tensor([
          [1, 2],
          [-1, 0],
        ]),
      ],
    },
    {
      label: "a batch that widens the upper end",
      args: (torch) => [
        [-5, 0.5],
        torch.tensor([
          [1, 2],
          [-1, 0],
        ]),
      ],
    },
    { label: "a batch of positive numbers", args: (torch) => [[1, 2], torch.tensor([4, 9, 5])] },
    {
      label: "the first batch: the state is empty",
      args: (torch) => [[Infinity, -Infinity], torch.tensor([4, 9, 5])],
    },
  ],
  mistakes: {
    forgets: "It forgets the earlier batches: the state is the range of all batches so far.",
    keeps: "It keeps the state and never looks at the batch.",
    swapped: "The two ends are in the wrong order: the minimum comes first.",
    narrows: "It takes the larger minimum and the smaller maximum, so the range shrinks.",
    averages:
      "It averages the old and the new range: MinMaxObserver keeps the extremes, MovingAverageMinMaxObserver averages.",
    zero: "It widens the range to contain 0. The observer stores the plain minimum and maximum; only calculate_qparams widens.",
    symmetric: "It makes the range symmetric: the observer stores the plain minimum and maximum.",
    tensor: "Its ends are tensors: .item() makes them numbers.",
  },
  make: (torch, has) => (state, x) => {
    const low = x.min().item();
    const high = x.max().item();
    if (has("keeps")) return [...state];
    if (has("tensor"))
      return [torch.tensor(Math.min(state[0], low)), torch.tensor(Math.max(state[1], high))];
    let range = [Math.min(state[0], low), Math.max(state[1], high)];
    if (has("forgets")) range = [low, high];
    if (has("narrows")) range = [Math.max(state[0], low), Math.min(state[1], high)];
    if (has("averages")) range = [(state[0] + low) / 2, (state[1] + high) / 2];
    if (has("zero")) range = [Math.min(range[0], 0), Math.max(range[1], 0)];
    if (has("symmetric")) {
      const end = Math.max(-range[0], range[1]);
      range = [-end, end];
    }
    return has("swapped") ? range.reverse() : range;
  },
};

const qparams: Task = {
  id: "qparams",
  name: "calculate_qparams",
  results: "[scale, zero_point]",
  trials: [
    { label: "a range around 0", args: () => [-1, 3] },
    { label: "only positive values", args: () => [2, 6] },
    { label: "only negative values", args: () => [-8, -2] },
    { label: "a zero point at a half", args: () => [-0.5, 254.5] },
    { label: "another zero point at a half", args: () => [-1.5, 253.5] },
    { label: "a range with 0 at its end", args: () => [0, 25.5] },
    { label: "a zero point with decimals", args: () => [-0.77, 1.23] },
  ],
  mistakes: {
    noZero:
      "It does not widen the range to contain 0: PyTorch takes min(min, 0) and max(max, 0), so that 0 has a code.",
    noZeroBeyond:
      "It does not widen the range to contain 0, so that the zero point is no code: PyTorch takes min(min, 0) and max(max, 0).",
    steps256: "It divides by 256. Between 256 codes there are 255 steps.",
    steps256Beyond: "It divides by 256. Between 256 codes there are 255 steps.",
    floatZeroPoint: "Its zero point is not a whole number: round it, or 0 would have no code.",
    sign: "Its zero point has the wrong sign: q_min minus min divided by the scale.",
    signed: "It has the codes of int8, from -128. quint8 begins at 0.",
    swapped: "It returns the zero point first: the scale comes first.",
    noMin: "It takes the maximum for the range and leaves the minimum out of the scale.",
    fromMax: "It counts the zero point from the maximum instead of the minimum.",
    truncate: ROUNDING.truncate,
    halfAway: ROUNDING.halfAway,
  },
  make: (_, has) => (min, max) => {
    const isNarrow = has("noZero") || has("noZeroBeyond");
    const low = isNarrow ? min : Math.min(min, 0);
    const high = isNarrow ? max : Math.max(max, 0);
    const isWide = has("steps256") || has("steps256Beyond");
    const first = has("signed") ? -128 : 0;
    const scale = (has("noMin") ? high : high - low) / (isWide ? 256 : 255);
    const zero = has("fromMax")
      ? first + high / scale
      : has("sign")
        ? first + low / scale
        : first - low / scale;
    const whole = has("floatZeroPoint") ? zero : roundedNumber(zero, has);
    // Where the range contains 0, the zero point is a code anyway.
    const isBeyond = has("noZeroBeyond") || has("steps256Beyond");
    const zeroPoint = (isBeyond ? whole : Math.min(first + 255, Math.max(first, whole))) + 0;
    return has("swapped") ? [zeroPoint, scale] : [scale, zeroPoint];
  },
};

const symmetric: Task = {
  id: "symmetric-qint8",
  name: "symmetric_scale",
  results: "a number",
  trials: [
    { label: "a range around 0", args: () => [-1, 3] },
    { label: "the lower end is larger", args: () => [-5.1, 2] },
    { label: "only positive values", args: () => [2, 6] },
    { label: "only negative values", args: () => [-8, -2] },
  ],
  mistakes: {
    by127:
      "It divides by 127, as the course does. PyTorch divides by half of the steps, (127 - -128) / 2 = 127.5.",
    by128: "It divides by 128: half of the 255 steps is 127.5.",
    by255: "It divides by all 255 steps. On either side of 0 there is half of them.",
    onlyMax: "It looks at the maximum alone: a large negative value then saturates.",
    range:
      "It divides the width of the range: that is the affine scale. A symmetric range reaches as far on both sides.",
    plainRange:
      "It divides the width from min to max: that is an affine scale. A symmetric range reaches as far on both sides of 0.",
    mean: "It takes the mean of the two ends: the scale must reach the one that is further away.",
    noAbs: "It compares the ends with their signs: take -min.",
  },
  make: (_, has) => (min, max) => {
    const end = has("onlyMax")
      ? Math.max(max, 0)
      : has("mean")
        ? (Math.abs(min) + Math.abs(max)) / 2
        : has("noAbs")
          ? Math.max(min, max)
          : Math.max(-min, max);
    if (has("plainRange")) return (max - min) / 255;
    if (has("range")) return (Math.max(max, 0) - Math.min(min, 0)) / 255;
    return end / (has("by127") ? 127 : has("by128") ? 128 : has("by255") ? 255 : 127.5);
  },
};

const average: Task = {
  id: "moving-average",
  name: "moving_average",
  results: "[min, max]",
  trials: [
    { label: "a wider batch", args: (torch) => [[-1, 1], torch.tensor([-3, 0, 5]), 0.01] },
    { label: "a narrower batch", args: (torch) => [[-4, 4], torch.tensor([-1, 0.5]), 0.25] },
    {
      label: "the first batch: the state is empty",
      args: (torch) => [null, torch.tensor([-1, 0.5]), 0.25],
    },
  ],
  mistakes: {
    reversed:
      "It gives the old range the weight of the new one: the new batch has the weight c, the old range 1 - c.",
    fixed: "It always uses 0.01: c is an argument.",
    extremes: "It keeps the extremes of both: that is MinMaxObserver.",
    plainMean: "It takes the plain mean of old and new: the new batch has the weight c.",
    adds: "It adds c times the new range to the old one without taking anything away: add c times the difference.",
    firstAveraged: "It averages the first batch with 0: the first batch sets the range as it is.",
    noFirst:
      "It does not look after the first batch, where state is null: that batch sets the range.",
    forgets: "It forgets the earlier batches.",
    swapped: "The two ends are in the wrong order: the minimum comes first.",
    onlyMax: "It averages the maximum alone: the minimum moves in the same way.",
  },
  make: (_, has) => (state, x, c) => {
    const fresh = [x.min().item(), x.max().item()];
    const weight = has("fixed") ? 0.01 : has("plainMean") ? 0.5 : has("reversed") ? 1 - c : c;
    if (has("noFirst") && state === null) throw new TypeError("state is null");
    const old = state ?? (has("firstAveraged") ? [0, 0] : undefined);
    if (!old || has("forgets")) return has("swapped") ? fresh.reverse() : fresh;
    let range = old.map((value: number, i: number) =>
      has("adds") ? value + weight * fresh[i] : value + weight * (fresh[i] - value),
    );
    if (has("extremes")) range = [Math.min(old[0], fresh[0]), Math.max(old[1], fresh[1])];
    if (has("onlyMax")) range[0] = old[0];
    return has("swapped") ? range.reverse() : range;
  },
};

const quantize: Task = {
  id: "torch-codes",
  name: "quantize_per_tensor",
  results: "a tensor of codes",
  trials: [
    { label: "ties, an odd zero point", args: (torch) => [torch.tensor(TIES), 0.5, 3] },
    { label: "ties, an even zero point", args: (torch) => [torch.tensor(TIES), 0.5, 128] },
    {
      label: "outliers on both sides",
      args: (torch) => [torch.tensor([-1e4, -3, 0.3, 250, 1e4]), 1, 10],
    },
    { label: "random numbers", args: (torch) => [random(torch, 23, [3, 4]), 0.03, 100] },
  ],
  mistakes: {
    addsFirst:
      "It adds the zero point before rounding, as the course does. PyTorch rounds first; ties then go to another neighbour.",
    ...KINDS_OF_ROUNDING,
    noClamp: "It does not clamp: codes beyond uint8 wrap around.",
    clampsFirst:
      "It clamps before the zero point is added: the zero point shifts codes out of the range again.",
    sign: "It subtracts the zero point where it must be added.",
    noZeroPoint: "It leaves the zero point out.",
    signed: "It clamps to the range of int8: quint8 has the codes 0 to 255.",
    noCast: "Its codes are right but still float: the last step is .to(torch.uint8).",
    multiplies: "It multiplies by the scale where it must divide.",
  },
  make: (torch, has) => (x, scale, zero_point) => {
    const zero = has("noZeroPoint") ? 0 : has("sign") ? -zero_point : zero_point;
    const [min, max] = has("signed") ? [-128, 127] : [0, 255];
    const limit = (codes: any) => (has("noClamp") ? codes : codes.clamp(min, max));
    let steps = has("multiplies") ? x.mul(scale) : x.div(scale);
    if (has("clampsFirst")) steps = limit(steps);
    const shifted = has("addsFirst")
      ? rounded(torch, steps.add(zero), has)
      : rounded(torch, steps, has).add(zero);
    const codes = has("clampsFirst") ? shifted : limit(shifted);
    return has("noCast") ? codes : codes.to(torch.uint8);
  },
};

export default [observe, qparams, symmetric, average, quantize];
