// Products of vectors and matrices by name, and einsum.

import { show, showShape } from "../../base/format-value.js";
import { pythonError } from "../python/errors.js";
import { binary } from "../tensor/binary.js";
import { dtypes } from "../tensor/dtype.js";
import { matmul } from "../tensor/product.js";
import { sum } from "../tensor/reduce.js";
import { permuteDims, unsqueeze } from "../tensor/shapes.js";
import { convert } from "../tensor/unary.js";
import { allocate, countOf, elements, stretch, type View } from "../tensor/view.js";
import { checkView, operation } from "./operation.js";

/** A product of tensors with so many dimensions. @throws {RangeError} RuntimeError */
function ranked(
  where: string,
  argument: string,
  view: View,
  given: unknown,
  ranks: readonly [number, number],
): View {
  const other = checkView(where, argument, given);
  if (view.shape.length === ranks[0] && other.shape.length === ranks[1]) {
    return matmul(where, view, other);
  }
  throw pythonError(
    "RuntimeError",
    `${where}: takes tensors of ${ranks[0]} and ${ranks[1]} dimensions, got ` +
      `${view.shape.length} and ${other.shape.length}`,
  );
}

function bmm(where: string, view: View, given: unknown): View {
  const other = checkView(where, "mat2", given);
  if (view.shape[0] !== other.shape[0]) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes as many matrices on both sides, got shapes ${showShape(view.shape)} and ${showShape(other.shape)}`,
    );
  }
  return ranked(where, "mat2", view, given, [3, 3]);
}

function outer(where: string, view: View, given: unknown): View {
  const other = checkView(where, "vec2", given);
  if (view.shape.length !== 1 || other.shape.length !== 1) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes two vectors, got ${view.shape.length} and ${other.shape.length} dimensions`,
    );
  }
  return binary(where, "mul", unsqueeze(where, view, 1), other);
}

function trace(where: string, view: View): View {
  if (view.shape.length !== 2) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a matrix, got ${view.shape.length} dimensions`,
    );
  }
  const [rows, columns] = view.strides;
  const shape = [Math.min(...view.shape)];
  return sum(where, { ...view, shape, strides: [rows + columns] });
}

/** An operand of einsum, and the letter of each of its dimensions. */
interface Labelled {
  readonly view: View;
  readonly letters: readonly string[];
}

/** A dimension for each different letter: repeated letters give the diagonal. */
function withoutRepeats({ view, letters }: Labelled): Labelled {
  const own = [...new Set(letters)];
  return {
    letters: own,
    view: {
      ...view,
      shape: own.map((letter) => view.shape[letters.indexOf(letter)]),
      strides: own.map((letter) =>
        view.strides.reduce((total, stride, i) => total + (letters[i] === letter ? stride : 0), 0),
      ),
    },
  };
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Products over named dimensions. Float results are accumulated in double precision and rounded once.
 *
 * Source: `torch.einsum`.
 *
 * @throws {RangeError} RuntimeError for an equation or shapes that do not fit
 */
export function einsum(where: string, equation: unknown, views: readonly View[]): View {
  const problem = (text: string): Error => pythonError("RuntimeError", `${where}: ${text}`);
  if (typeof equation !== "string") {
    throw pythonError("TypeError", `${where}: equation must be a text, got ${show(equation)}`);
  }
  const [left, right, ...more] = equation.replaceAll(" ", "").split("->");
  const terms = left.split(",");
  if (more.length > 0 || /[^A-Za-z,.]/.test(left) || /[^A-Za-z.]/.test(right ?? "")) {
    throw problem(`the equation must be such as "ij,jk->ik", got ${show(equation)}`);
  }
  if (terms.length !== views.length) {
    throw problem(`the equation has ${terms.length} operands, and ${views.length} are given`);
  }
  // The dimensions of "...", counted from the last, are named "1", "2", ...
  const spread = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => String(count - i));
  let most = 0;
  const operands = terms.map((term, i) => {
    const [before, after, ...others] = term.split("...");
    const rank = views[i].shape.length;
    const named = before.length + (after ?? "").length;
    const extra = rank - named;
    if (
      others.length > 0 ||
      term.replace("...", "").includes(".") ||
      extra < 0 ||
      (after === undefined && extra > 0)
    ) {
      throw problem(`${show(term)} does not name the ${rank} dimensions of operand ${i}`);
    }
    if (after !== undefined) most = Math.max(most, extra);
    const letters = [...before, ...(after === undefined ? [] : spread(extra)), ...(after ?? "")];
    return { view: views[i], letters };
  });
  const all = operands.flatMap(({ letters }) => letters);
  // Without "->": the letters that occur once, in alphabetical order, after the dimensions of "...".
  const once = [...LETTERS].filter((letter) => all.filter((each) => each === letter).length === 1);
  const output =
    right === undefined
      ? [...spread(most), ...once]
      : right.split("...").flatMap((part, i) => [...(i > 0 ? spread(most) : []), ...part]);
  const unknown = output.find((letter) => !all.includes(letter));
  if (unknown !== undefined || new Set(output).size !== output.length) {
    throw problem(`the result's letters must be those of operands, each once, got ${show(right)}`);
  }
  const sizes = new Map<string, number>();
  for (const { view, letters } of operands) {
    letters.forEach((letter, axis) => {
      const [size, before] = [view.shape[axis], sizes.get(letter) ?? 1];
      if (size !== before && size !== 1 && before !== 1) {
        throw problem(`${show(letter)} is ${before} in one operand and ${size} in another`);
      }
      if (size !== 1 || !sizes.has(letter)) sizes.set(letter, size);
    });
  }
  const [{ dtype }] = views;
  if (views.some((view) => view.dtype !== dtype)) throw problem("all operands must have one dtype");
  const summed = [...sizes.keys()].filter((letter) => !output.includes(letter));
  const order = [...output, ...summed];
  const shape = order.map((letter) => sizes.get(letter) as number);
  const aligned = operands.map((operand) => {
    const { view, letters } = withoutRepeats(operand);
    const present = order.filter((letter) => letters.includes(letter));
    const placed = permuteDims(
      where,
      view,
      present.map((letter) => letters.indexOf(letter)),
    );
    const whole = order.reduce<View>(
      (part, letter, axis) => (letters.includes(letter) ? part : unsqueeze(where, part, axis)),
      placed,
    );
    // Products of float32 are exact in double precision.
    const wide = dtype.category === "float" ? dtypes.float64 : dtypes.int64;
    return stretch(convert(whole, wide), shape);
  });
  const inner = countOf(shape.slice(output.length));
  const out = allocate(aligned[0].dtype, shape.slice(0, output.length));
  const factors = aligned.map((view) => elements(view));
  for (let i = 0; i < out.storage.length; i++) out.storage[i] = total(factors, i * inner, inner);
  return convert(out, dtype);
}

/** The sum of products of values at the same places. */
function total(factors: readonly View["storage"][], start: number, count: number): number | bigint {
  if (factors[0] instanceof BigInt64Array) {
    let sum = 0n;
    for (let i = start; i < start + count; i++) {
      sum += factors.reduce((product, values) => product * (values[i] as bigint), 1n);
    }
    return BigInt.asIntN(64, sum);
  }
  let sum = 0;
  for (let i = start; i < start + count; i++) {
    let product = 1;
    for (const values of factors) product *= values[i] as number;
    sum += product;
  }
  return sum;
}

/** Products by name. */
export const products = {
  matmul: operation("other", (where, view, other) =>
    matmul(where, view, checkView(where, "other", other)),
  ),
  mm: operation("mat2", (where, view, other) => ranked(where, "mat2", view, other, [2, 2])),
  mv: operation("vec", (where, view, other) => ranked(where, "vec", view, other, [2, 1])),
  dot: operation("tensor", (where, view, other) => ranked(where, "tensor", view, other, [1, 1])),
  bmm: operation("mat2", bmm),
  outer: operation("vec2", outer),
  trace: operation("", trace),
};
