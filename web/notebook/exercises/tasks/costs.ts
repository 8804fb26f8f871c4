// Exercises of notebook 6: bytes, noise, accuracy, and what fits.

import type { Task } from "../grade.js";
import { random } from "./values.js";

const bytes: Task = {
  id: "bytes",
  name: "bytes_of_layer",
  results: "a number",
  trials: [
    { label: "8 bits, one group a row", args: () => [[10, 32], 8, 32] },
    { label: "4 bits, groups of 32", args: () => [[10, 64], 4, 32] },
    { label: "4 bits, an odd number of weights", args: () => [[3, 5], 4, 5] },
    { label: "3 bits", args: () => [[7, 24], 3, 8] },
    { label: "a last group that is shorter", args: () => [[4, 40], 8, 32] },
  ],
  mistakes: {
    noScales: "It leaves the scales out: each group stores a float32.",
    bits: "It counts the codes in bits: eight bits are a byte.",
    wholeBytes: "It gives every code a whole byte: codes of 4 bits share one.",
    scaleBits: "It counts a scale as 32 bytes: float32 takes 4.",
    oneScale: "It counts one scale: each group has its own.",
    rowScale: "It counts one scale for each row: each group has its own.",
    floor: "It rounds the bytes of the codes down: the last, half-filled byte is stored as well.",
    fraction: "It counts fractions of a byte: the last, half-filled byte is stored whole.",
    fullGroups: "It leaves out the last, shorter group of a row: it has a scale, too.",
    halfScale: "It counts scales of 2 bytes: here they are float32, which takes 4.",
    floatGroups:
      "It counts a fraction of a scale where the last group is shorter: that group has a whole one.",
  },
  make:
    (_, has) =>
    ([rows, columns], bits, group_size) => {
      const count = rows * columns;
      const exact = has("bits") ? count * bits : has("wholeBytes") ? count : (count * bits) / 8;
      const codes = has("floor") ? Math.floor(exact) : has("fraction") ? exact : Math.ceil(exact);
      const inRow = columns / group_size;
      const groups = has("fullGroups")
        ? Math.floor(inRow)
        : has("floatGroups")
          ? inRow
          : Math.ceil(inRow);
      const scales = has("oneScale") ? 1 : has("rowScale") ? rows : rows * groups;
      const size = has("scaleBits") ? 32 : has("halfScale") ? 2 : 4;
      return codes + (has("noScales") ? 0 : scales * size);
    },
};

const noise: Task = {
  id: "sqnr",
  name: "sqnr",
  results: "a number of decibels",
  trials: [
    {
      label: "a small error",
      args: (torch) => [torch.tensor([1.5, 2, -3]), torch.tensor([1.1, 2, -3.2])],
    },
    {
      label: "a large error",
      args: (torch) => [torch.tensor([1.5, 2, -3]), torch.tensor([0, 0.5, 0])],
    },
    {
      label: "random numbers",
      args: (torch) => [random(torch, 33, [4, 4]), random(torch, 34, [4, 4])],
    },
  ],
  mistakes: {
    inverse:
      "It divides the noise by the signal, so a better file has a smaller number: signal divided by noise.",
    twenty: "It multiplies by 20. The sums are of squares, powers already, so it is 10.",
    noLog: "It is the plain quotient: decibels are 10 times its logarithm to base 10.",
    ln: "It takes the natural logarithm: decibels use base 10.",
    log2: "It takes the logarithm to base 2: decibels use base 10.",
    noTen: "It leaves out the factor 10: that is in bels.",
    restored:
      "It takes the power of the dequantized values for the signal: the original is the signal.",
    noise:
      "It takes the dequantized values for the noise: the noise is their difference from the original.",
    absolute: "It sums absolute values: powers are sums of squares.",
    sumFirst: "It sums before it squares: errors of both signs cancel each other out.",
  },
  make: (_, has) => (original, dequantized) => {
    const power = (tensor: any) =>
      has("absolute")
        ? tensor.abs().sum().item()
        : has("sumFirst")
          ? tensor.sum().item() ** 2
          : tensor.square().sum().item();
    const signal = power(has("restored") ? dequantized : original);
    const error = power(has("noise") ? dequantized : original.sub(dequantized));
    const quotient = has("inverse") ? error / signal : signal / error;
    if (has("noLog")) return quotient;
    const logarithm = has("ln")
      ? Math.log(quotient)
      : has("log2")
        ? Math.log2(quotient)
        : Math.log10(quotient);
    return (has("twenty") ? 20 : has("noTen") ? 1 : 10) * logarithm;
  },
};

const accuracy: Task = {
  id: "accuracy",
  name: "accuracy",
  results: "a number from 0 to 1",
  trials: [
    {
      label: "three pictures, two right",
      args: (torch) => [
        torch.tensor([
          [1, 5, 2],
          [9, 0, 3],
          [0, 1, 8],
        ]),
        [1, 0, 1],
      ],
    },
    {
      label: "equal scores: the first counts",
      args: (torch) => [
        torch.tensor([
          [2, 2],
          [1, 3],
          [4, 4],
          [0, 1],
        ]),
        [0, 1, 0, 0],
      ],
    },
    {
      label: "negative scores",
      args: (torch) => [
        torch.tensor([
          [-5, -1, -3],
          [-2, -9, -1],
        ]),
        [1, 0],
      ],
    },
  ],
  mistakes: {
    wrongAxis: "It looks for the largest score of each column. Each row is one picture.",
    count: "It gives how many are right: divide by the number of pictures.",
    percent: "It is in percent: give the share, from 0 to 1.",
    errors: "It gives the share that is wrong.",
    smallest: "It takes the smallest score: the largest one is the answer.",
    last: "Where two scores are equal it takes the last: argmax takes the first.",
    magnitude:
      "It takes the largest score without its sign: -9 is the smallest here, not the largest.",
    byClasses: "It divides by the number of classes: divide by the number of pictures.",
  },
  make: (_, has) => (scores, labels) => {
    const rows = (has("wrongAxis") ? scores.t() : scores).tolist();
    const best = rows.map((row: number[]) => {
      const values = has("magnitude") ? row.map(Math.abs) : row;
      const target = has("smallest") ? Math.min(...values) : Math.max(...values);
      return has("last") ? values.lastIndexOf(target) : values.indexOf(target);
    });
    const right = labels.filter((label: number, i: number) => best[i] === label).length;
    const found = has("errors") ? labels.length - right : right;
    if (has("count")) return found;
    const share = found / (has("byClasses") ? [...scores.shape][1] : labels.length);
    return has("percent") ? 100 * share : share;
  },
};

/** Group sizes that files have. */
const SIZES = [16, 32, 64, 128, 256];

const groupSize: Task = {
  id: "group-size",
  name: "smallest_group_size",
  results: "a group size, or undefined",
  trials: [
    { label: "4 bits, scales of 16 bits, within 4.5", args: () => [4, 16, 4.5] },
    { label: "4 bits, scales of 32 bits, within 4.5", args: () => [4, 32, 4.5] },
    { label: "3 bits, scales of 16 bits, within 3.3", args: () => [3, 16, 3.3] },
    { label: "8 bits, scales of 16 bits, within 9", args: () => [8, 16, 9] },
    { label: "none is within the limit", args: () => [4, 32, 4.01] },
  ],
  mistakes: {
    largest: "It gives the largest group size. The smallest that fits has the finest scales.",
    strict: "It leaves out a group size that meets the limit exactly: within 4.5 includes 4.5.",
    noScales: "It leaves the scales out: each group stores one.",
    fixedScale: "It takes scales of 32 bits: scale_bits is an argument.",
    wholeScale: "It adds a whole scale to each weight: the weights of a group share one.",
    index: "It gives the place in the list, not the group size.",
    fallback: "Where no group size fits, it gives the largest one all the same: give undefined.",
    bitsPerWeight: "It gives the bits for each weight, not the group size.",
    powerOnly: "It looks only at group sizes from 32 on: 16 is in the list as well.",
  },
  make: (_, has) => (bits, scale_bits, limit) => {
    const size = has("fixedScale") ? 32 : scale_bits;
    const costOf = (group: number) =>
      bits + (has("noScales") ? 0 : has("wholeScale") ? size : size / group);
    const fits = (group: number) =>
      has("strict") ? costOf(group) < limit : costOf(group) <= limit;
    const sizes = SIZES.filter((group) => !has("powerOnly") || group > 16);
    const found = (has("largest") ? [...sizes].reverse() : sizes).find(fits);
    if (found === undefined) return has("fallback") ? 256 : has("index") ? -1 : undefined;
    return has("index") ? SIZES.indexOf(found) : has("bitsPerWeight") ? costOf(found) : found;
  },
};

const widest: Task = {
  id: "budget",
  name: "widest_bits",
  results: "a number of bits, or undefined",
  trials: [
    {
      label: "8 bits fit",
      args: () => [
        [
          [10, 100],
          [20, 10],
        ],
        2000,
      ],
    },
    {
      label: "4 bits fit",
      args: () => [
        [
          [10, 100],
          [20, 10],
        ],
        800,
      ],
    },
    {
      label: "exactly the budget of 3 bits",
      args: () => [
        [
          [8, 8],
          [8, 16],
        ],
        72,
      ],
    },
    {
      label: "2 bits fit",
      args: () => [
        [
          [8, 8],
          [8, 16],
        ],
        50,
      ],
    },
    { label: "exactly the budget of 8 bits", args: () => [[[4, 4]], 16] },
    { label: "nothing fits", args: () => [[[100, 100]], 100] },
  ],
  mistakes: {
    fewest: "It gives the fewest bits that fit: the most bits have the least error.",
    strict: "It leaves out a size that meets the budget exactly.",
    bits: "It compares bits with bytes: eight bits are a byte.",
    firstLayer: "It counts the first layer alone: all layers have to fit together.",
    eachLayer: "It compares each layer with the whole budget: all layers have to fit together.",
    rowsOnly: "It counts rows, not weights: a layer has rows times columns of them.",
    addsSides: "It adds rows and columns: a layer has rows times columns of weights.",
    fallback: "Where nothing fits, it gives 2 bits all the same: give undefined.",
    bytes: "It gives the bytes, not the bits.",
    noThree: "It leaves 3 bits out: the list is 8, 4, 3, 2.",
  },
  make: (_, has) => (layers, budget) => {
    const counts = layers.map(([rows, columns]: [number, number]) =>
      has("rowsOnly") ? rows : has("addsSides") ? rows + columns : rows * columns,
    );
    const count = has("firstLayer")
      ? counts[0]
      : has("eachLayer")
        ? Math.max(...counts)
        : counts.reduce((a: number, b: number) => a + b, 0);
    const bytesOf = (bits: number) => (has("bits") ? count * bits : (count * bits) / 8);
    const widths = [8, 4, 3, 2].filter((bits) => bits !== 3 || !has("noThree"));
    const found = (has("fewest") ? widths.reverse() : widths).find((bits) =>
      has("strict") ? bytesOf(bits) < budget : bytesOf(bits) <= budget,
    );
    if (found === undefined) return has("fallback") ? 2 : undefined;
    return has("bytes") ? bytesOf(found) : found;
  },
};

export default [bytes, noise, accuracy, groupSize, widest];
