// Arithmetic and comparisons: Python's operators, rounding and limits.

import { show } from "../../base/format-value.js";
import { checkScalar } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { addScaled, type BinaryName, binary, combination, divideWhole } from "../tensor/binary.js";
import { isScalar, type Scalar } from "../tensor/cast.js";
import { dtypes } from "../tensor/dtype.js";
import type { Operand } from "../tensor/layout.js";
import { floatPower, power } from "../tensor/power.js";
import { resultType } from "../tensor/promotion.js";
import { clamp, roundDecimals, unary } from "../tensor/unary.js";
import { checkInteger, type View } from "../tensor/view.js";
import { checkOperand, type Operation, operation } from "./operation.js";

/** `torch.add` and `sub`. */
export function addition(
  where: string,
  name: "add" | "sub",
  a: Operand,
  b: Operand,
  alpha: unknown = 1,
): View {
  return addScaled(where, name, a, b, checkScalar(where, "alpha", alpha));
}

/** `torch.div`. */
export function division(where: string, a: Operand, b: Operand, mode?: unknown): View {
  if (mode === undefined) return binary(where, "div", a, b);
  if (mode === "trunc" || mode === "floor") return divideWhole(where, mode, a, b);
  throw pythonError(
    typeof mode === "string" ? "RuntimeError" : "TypeError",
    `${where}: rounding_mode must be "trunc", "floor" or None, got ${show(mode)}`,
  );
}

/** A power whose exponent, or base, is a tensor. Source: `torch.pow`. */
export function powerOf(where: string, base: Operand, exponent: Operand): View {
  if (isScalar(exponent) && !isScalar(base)) return power(where, base, exponent);
  const type = resultType(base, exponent);
  if (type === dtypes.bool) {
    throw pythonError(
      "RuntimeError",
      `${where}: powers of bools are not defined; convert with to()`,
    );
  }
  // Integers to a negative power are 0, but those of 1 and -1, where both are tensors.
  const whole = (a: bigint, b: bigint): bigint => {
    if (b >= 0n)
      return BigInt.asIntN(64, a ** (b > 64n && a !== 1n && a !== -1n && a !== 0n ? 64n : b));
    return a === 1n || a === -1n ? a ** (-b & 1n) : 0n;
  };
  const numbers =
    type.category === "float"
      ? floatPower
      : (a: number, b: number) => Number(BigInt.asIntN(32, whole(BigInt(a), BigInt(b))));
  return combination(where, [base, exponent], type, { numbers, int64: whole });
}

/** Rounds twice where the other operand is a number, as PyTorch's `number / t`. */
function reverseDivision(where: string, view: View, other: Operand): View {
  if (!isScalar(other)) return binary(where, "div", other, view);
  return binary(where, "mul", unary(where, "reciprocal", view), other);
}

function round(where: string, view: View, decimals: unknown): View {
  if (decimals === undefined) return unary(where, "round", view);
  return roundDecimals(where, view, checkInteger(where, "decimals", decimals));
}

function limited(where: string, view: View, least: unknown, most: unknown): View {
  const bound = (name: string, value: unknown): Scalar | undefined =>
    value === undefined ? undefined : checkScalar(where, name, value);
  return clamp(where, view, bound("min", least), bound("max", most));
}

/** An operation on a tensor and another operand. */
const withOther = (
  parameters: string,
  run: (where: string, view: View, other: Operand, ...rest: unknown[]) => View,
): Operation =>
  operation(parameters, (where, view, other, ...rest: unknown[]) =>
    run(where, view, checkOperand(where, "other", other), ...rest),
  );

/** An operator or a comparison. */
const pair = (name: BinaryName): Operation =>
  withOther("other", (where, view, other) => binary(where, name, view, other));

/** Operators, rounding and limits. */
export const arithmetic = {
  add: withOther("other * alpha?", (where, view, other, alpha) =>
    addition(where, "add", view, other, alpha),
  ),
  sub: withOther("other * alpha?", (where, view, other, alpha) =>
    addition(where, "sub", view, other, alpha),
  ),
  rsub: withOther("other * alpha?", (where, view, other, alpha) =>
    addition(where, "sub", other, view, alpha),
  ),
  mul: pair("mul"),
  div: withOther("other * rounding_mode?", division),
  rdiv: withOther("other", reverseDivision),
  pow: operation("exponent", (where, view, exponent) =>
    powerOf(where, view, checkOperand(where, "exponent", exponent)),
  ),
  maximum: pair("maximum"),
  minimum: pair("minimum"),
  eq: pair("eq"),
  ne: pair("ne"),
  lt: pair("lt"),
  le: pair("le"),
  gt: pair("gt"),
  ge: pair("ge"),
  round: operation("* decimals?", round),
  clamp: operation("min? max?", limited),
  clip: operation("min? max?", limited),
};
