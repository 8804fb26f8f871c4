// The exercises of notebook 8: what the bits of codes and blocks mean.

import type { Task } from "../grade.js";
import { numbers } from "./values.js";

const fp4: Task = {
  id: "fp4",
  name: "value_of_fp4",
  results: "a number",
  trials: Array.from({ length: 16 }, (_, code) => ({
    label: `code ${code}`,
    args: () => [code],
  })),
  mistakes: {
    noSubnormals:
      "It takes codes with e = 0 as 2^(−1) · (1 + m / 2): those are m / 2, and the code 0 is zero.",
    noSign: "It leaves out the sign: codes from 8 on are negative.",
    complement:
      "It takes the code as a two's complement: the highest bit is only a sign, and code − 8 is the magnitude.",
    noBias: "It takes 2^e: the exponent has a bias of 1, so it is 2^(e − 1).",
    fixedMantissa:
      "It adds m / 2 to the power of two: the mantissa is a part of the power, 2^(e − 1) · (1 + m / 2).",
    wholeMantissa: "It takes 1 + m: the mantissa's bit is a half, 1 + m / 2.",
    integer:
      "It gives the code without its sign as the magnitude: the bits are exponent and mantissa.",
  },
  make: (_, has) => (code) => {
    const bits = has("complement") && code >= 8 ? 16 - code : code & 7;
    const e = (bits >> 1) & 3;
    const m = bits & 1;
    const sign = code >= 8 && !has("noSign") ? -1 : 1;
    if (has("integer")) return sign * (code & 7);
    const power = 2 ** (has("noBias") ? e : e - 1);
    const part = has("wholeMantissa") ? m : m / 2;
    if (e === 0 && !has("noSubnormals")) return sign * part;
    return sign * (has("fixedMantissa") ? power + part : power * (1 + part));
  },
};

const q4Scale: Task = {
  id: "q4-scale",
  name: "scale_of_q4_0",
  results: "a number",
  trials: [
    { label: "a negative extreme", args: () => [[0.5, -4, 2, 3]] },
    { label: "a positive extreme", args: () => [[0.5, -2, 6, 3]] },
    { label: "two of the same magnitude, the first negative", args: () => [[1, -5, 5, 2]] },
    { label: "two of the same magnitude, the first positive", args: () => [[1, 5, -5, 2]] },
    { label: "negative values alone", args: () => [[-1, -3, -2.5, -0.5]] },
    { label: "zeros", args: () => [[0, 0, 0, 0]] },
    { label: "32 values", args: () => [numbers(81, 32, 3)] },
  ],
  mistakes: {
    magnitude:
      "It divides the largest magnitude: the value's sign is lost, and with it the side that has eight steps.",
    positive:
      "It divides by 8 instead of −8: the extreme would be the code 16, which does not exist.",
    seven:
      "It divides by 7: that is the step of codes from −7 to 7. The extreme has the code −8 here.",
    minusSeven: "It divides by −7: the extreme has the code −8.",
    fifteen: "It divides the range by 15: that is an affine scale, for a format with a minimum.",
    maximum: "It takes the largest value: a negative one may have a larger magnitude.",
    minimum: "It takes the smallest value: a positive one may have a larger magnitude.",
    last: "Of two with the same magnitude it takes the last one: take the first.",
    oneForZeros: "It gives 1 for zeros: their scale is 0 here.",
  },
  make: (_, has) => (values) => {
    const reach = Math.max(...values.map(Math.abs));
    if (has("oneForZeros") && reach === 0) return 1;
    const largest = Math.max(...values);
    const smallest = Math.min(...values);
    const order = has("last") ? values.toReversed() : values;
    const extreme = has("magnitude")
      ? reach
      : has("maximum")
        ? largest
        : has("minimum")
          ? smallest
          : order.find((value: number) => Math.abs(value) === reach);
    if (has("fifteen")) return (largest - smallest) / 15;
    return extreme / (has("positive") ? 8 : has("seven") ? 7 : has("minusSeven") ? -7 : -8);
  },
};

/** Sixteen bytes. */
const bytes = (seed: number) =>
  numbers(seed, 16, 1).map((value) => Math.round(((value + 1) / 2) * 255));

const q4Values: Task = {
  id: "q4-values",
  name: "values_of_q4_0",
  results: "a list of 32 numbers",
  trials: [
    { label: "the bytes 0 to 15", args: () => [1, Array.from({ length: 16 }, (_, i) => i)] },
    { label: "multiples of 16", args: () => [0.5, Array.from({ length: 16 }, (_, i) => 16 * i)] },
    { label: "all zero", args: () => [0.25, new Array(16).fill(0x88)] },
    { label: "a negative scale", args: () => [-0.125, bytes(82)] },
    { label: "other bytes", args: () => [0.0625, bytes(83)] },
  ],
  mistakes: {
    neighbours:
      "It takes the two codes of a byte as neighbours: byte i holds value i and value i + 16.",
    highFirst: "It takes the high four bits first: the first 16 values are in the low four bits.",
    swappedNeighbours:
      "It takes the two codes of a byte as neighbours, the high four bits first: byte i holds value i in its low four bits, and value i + 16 in its high ones.",
    noOffset: "It does not subtract 8: the code 8 stands for zero.",
    seven: "It subtracts 7: the code 8 stands for zero.",
    complement:
      "It takes codes from 8 on as negative, as a two's complement: the codes are 0 to 15, less 8.",
    outside: "It computes d · q − 8: the 8 is a code, so d · (q − 8).",
    noMask: "It takes the whole byte for the low code: & 15 keeps the low four bits.",
    noShift: "It keeps the high bits where they are, & 240: >> 4 makes them a code from 0 to 15.",
    noScale: "It does not multiply by the scale.",
    lowOnly: "It gives the low four bits alone: there are 16 more values in the high ones.",
  },
  make: (_, has) => (d, block) => {
    const low = block.map((byte: number) => (has("noMask") ? byte : byte & 15));
    const high = block.map((byte: number) => (has("noShift") ? byte & 240 : byte >> 4));
    const both = (a: number[], b: number[]) => a.flatMap((code: number, i: number) => [code, b[i]]);
    const codes = has("neighbours")
      ? both(low, high)
      : has("swappedNeighbours")
        ? both(high, low)
        : has("lowOnly")
          ? low
          : has("highFirst")
            ? [...high, ...low]
            : [...low, ...high];
    const scale = has("noScale") ? 1 : d;
    return codes.map((q: number) => {
      if (has("complement")) return scale * (q >= 8 ? q - 16 : q);
      if (has("outside")) return scale * q - 8;
      return scale * (q - (has("noOffset") ? 0 : has("seven") ? 7 : 8));
    });
  },
};

export default [fp4, q4Scale, q4Values];
