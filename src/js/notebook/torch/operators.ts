// Functions of torch on two operands, each of which may be a number: arithmetic and comparisons.

import { addition, division, powerOf } from "../operations/arithmetic.js";
import { checkOperand } from "../operations/operation.js";
import { bindFunction } from "../python/arguments.js";
import { type BinaryName, binary } from "../tensor/binary.js";
import type { AddKeywords, DivideKeywords } from "../tensor/keywords.js";
import type { Operand } from "../tensor/layout.js";
import { type Tensor, type TensorOrScalar, tensorOf } from "../tensor/tensor.js";
import type { View } from "../tensor/view.js";

/** Takes two operands. */
type Binary = {
  (input: TensorOrScalar, other: TensorOrScalar | { other: TensorOrScalar }): Tensor;
  (keywords: { input: TensorOrScalar; other: TensorOrScalar }): Tensor;
};

/** Takes two operands and keywords. */
type BinaryWith<Keywords> = {
  (input: TensorOrScalar, other: TensorOrScalar, keywords?: Keywords): Tensor;
  (input: TensorOrScalar, keywords: { other: TensorOrScalar } & Keywords): Tensor;
  (keywords: { input: TensorOrScalar; other: TensorOrScalar } & Keywords): Tensor;
};

/** `torch.pow`. */
type Power = {
  (input: TensorOrScalar, exponent: TensorOrScalar | { exponent: TensorOrScalar }): Tensor;
  (keywords: { input: TensorOrScalar; exponent: TensorOrScalar }): Tensor;
};

/** A function of two operands, the second of which has the first name in `others`. */
function ofOperands<Call = Binary>(
  name: string,
  others: readonly string[],
  run: (where: string, a: Operand, b: Operand, keyword?: unknown) => View,
): Call {
  const where = `torch.${name}`;
  return bindFunction(where, ["input", ...others], (input, other, keyword) => {
    const [a, b] = [checkOperand(where, "input", input), checkOperand(where, others[0], other)];
    return tensorOf(run(where, a, b, keyword));
  }) as Call;
}

const pair = (name: BinaryName): Binary =>
  ofOperands(name, ["other"], (where, a, b) => binary(where, name, a, b));

const scaled = (name: "add" | "sub"): BinaryWith<AddKeywords> =>
  ofOperands(name, ["other", "*", "alpha?"], (where, a, b, alpha) =>
    addition(where, name, a, b, alpha),
  );

const [mul, sub, div] = [
  pair("mul"),
  scaled("sub"),
  ofOperands<BinaryWith<DivideKeywords>>("div", ["other", "*", "rounding_mode?"], division),
];

/** The functions by name. */
export const operators = {
  add: scaled("add"),
  sub,
  subtract: sub,
  mul,
  multiply: mul,
  div,
  divide: div,
  true_divide: pair("div"),
  floor_divide: ofOperands("floor_divide", ["other"], (where, a, b) =>
    division(where, a, b, "floor"),
  ),
  pow: ofOperands<Power>("pow", ["exponent"], powerOf),
  maximum: pair("maximum"),
  minimum: pair("minimum"),
  eq: pair("eq"),
  ne: pair("ne"),
  lt: pair("lt"),
  le: pair("le"),
  gt: pair("gt"),
  ge: pair("ge"),
};
