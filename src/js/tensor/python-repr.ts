// Python's repr of plain values, character for character.

import { formatExponent, formatNonFinite, sign } from "./print.js";

/**
 * Python's repr of a float: the shortest decimal that reads back as the same number, in scientific
 * notation from 1e16 and below 1e-4, as in "1.5442274161614478e-05".
 */
export function floatRepr(value: number): string {
  if (!Number.isFinite(value)) return formatNonFinite(value);
  const [digits, exponentText] = Math.abs(value).toExponential().split("e");
  const exponent = Number(exponentText);
  const minus = sign(value);
  if (exponent < -4 || exponent >= 16) return `${minus}${digits}e${formatExponent(exponent)}`;
  const plain = digits.replace(".", "");
  if (exponent < 0) return `${minus}0.${"0".repeat(-exponent - 1)}${plain}`;
  const whole = plain.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${minus}${whole}.${plain.slice(exponent + 1) || "0"}`;
}

/** A number as Python prints it; whole numbers as int. */
export function numberRepr(value: number): string {
  return Number.isInteger(value) && !Object.is(value, -0)
    ? BigInt(value).toString()
    : floatRepr(value);
}
