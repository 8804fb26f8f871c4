// Functions of torch that are methods of a tensor, too: parameters, and a computation on views. One table for each
// topic gives both forms.

import { show } from "../../base/format-value.js";
import { bindArguments, bindSizes } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { isScalar } from "../tensor/cast.js";
import type { DType, NumberStorage, Storage } from "../tensor/dtype.js";
import type { Operand } from "../tensor/layout.js";
import { checkAxis, elements, permute, rowMajorView, type View } from "../tensor/view.js";

/** Views that Python returns as a named tuple. */
export interface NamedViews {
  /** The type's name as Python prints it. */
  readonly typeName: string;
  readonly items: { readonly [name: string]: View };
}

/** What a computation gives: a tensor, several, or a Python value. */
export type Result = View | NamedViews | readonly View[] | number | boolean;

/** A function of torch whose first argument is a tensor. */
export interface Operation {
  /** Names of the other arguments, as `bindArguments` takes them. */
  readonly parameters: readonly string[];
  /** The computation; arguments that were left out are undefined. */
  readonly run: (where: string, view: View, ...args: never[]) => Result;
  /** The keyword of sizes that may also be given one by one, if the operation takes any. */
  readonly sizes: string | undefined;
}

/** Operations by name. */
export type Operations = { readonly [name: string]: Operation };

/**
 * An operation.
 * @param parameters  names in Python's order, separated by spaces: "dim? descending? * stable?"
 */
export function operation<Run extends Operation["run"]>(
  parameters: string,
  run: Run,
): Operation & { readonly run: Run } {
  return { parameters: parameters === "" ? [] : parameters.split(" "), run, sizes: undefined };
}

/** An operation on sizes, given one by one or as an array: its computation takes a list. */
export function sizesOperation(
  name: string,
  run: (where: string, view: View, sizes: readonly unknown[]) => View,
): Operation {
  return { parameters: [], run, sizes: name };
}

/** The view behind a tensor; undefined for any other value. */
let viewIn: (value: unknown) => View | undefined = () => undefined;

/** Tells this module how to find a tensor's view. */
export function recognizeTensors(find: (value: unknown) => View | undefined): void {
  viewIn = find;
}

/** An argument that must be a tensor. @throws {TypeError} */
export function checkView(where: string, argument: string, value: unknown): View {
  const view = viewIn(value);
  if (view !== undefined) return view;
  throw pythonError(
    "TypeError",
    `${where}: ${argument} must be a tensor (torch.tensor(...) makes one), got ${show(value)}`,
  );
}

/** An argument that must be a tensor or a number. @throws {TypeError} */
export function checkOperand(where: string, argument: string, value: unknown): Operand {
  const view = viewIn(value);
  if (view !== undefined) return view;
  if (isScalar(value)) return value;
  throw pythonError(
    "TypeError",
    `${where}: ${argument} must be a tensor or a number, got ${show(value)}`,
  );
}

/** Runs an operation on a view and arguments that have not been matched with its parameters yet. */
export function runOperation(
  where: string,
  { parameters, run, sizes }: Operation,
  view: View,
  args: readonly unknown[],
): Result {
  const bound =
    sizes === undefined
      ? bindArguments(where, parameters, args)
      : bindSizes(where, sizes, [], args).slice(0, 1);
  return run(where, view, ...(bound as never[]));
}

/** The values of a view in double precision, row-major. */
export function doubles(view: View): NumberStorage {
  const values = elements(view);
  return values instanceof BigInt64Array ? Float64Array.from(values, Number) : values;
}

/** A float tensor is needed. @throws {Error} RuntimeError, or NotImplementedError where PyTorch has no kernel */
export function checkFloat(
  where: string,
  { dtype }: View,
  error: "RuntimeError" | "NotImplementedError" = "RuntimeError",
): void {
  if (dtype.category === "float") return;
  throw pythonError(
    error,
    `${where}: takes a float tensor, got ${dtype}; convert with float() first`,
  );
}

/** A view's values as runs along one of its axes. */
export interface Runs {
  readonly axis: number;
  /** Values of a run. */
  readonly length: number;
  /** Number of runs. */
  readonly count: number;
  /** The runs, one after the other. */
  readonly values: Storage;
  /** A tensor of results: so many in the place of each run, or one without that axis. */
  result(storage: Storage, dtype: DType, length?: number): View;
}

/** @throws {RangeError} IndexError */
export function runsAlong(where: string, view: View, dim: unknown): Runs {
  const { shape } = view;
  const axis = checkAxis(where, dim, shape.length);
  const others = [...shape.keys()].filter((each) => each !== axis);
  const values = shape.length === 0 ? elements(view) : elements(permute(view, [...others, axis]));
  const length = shape[axis] ?? 1;
  const sizes = others.map((each) => shape[each]);
  return {
    axis,
    length,
    count: sizes.reduce((count, size) => count * size, 1),
    values,
    result(storage, dtype, kept) {
      if (shape.length === 0) return rowMajorView(storage, dtype, []);
      if (kept === undefined) return rowMajorView(storage, dtype, sizes);
      const order = shape.map((_, each) =>
        each === axis ? others.length : each - Number(each > axis),
      );
      const moved = permute(rowMajorView(storage, dtype, [...sizes, kept]), order);
      return rowMajorView(elements(moved), dtype, moved.shape);
    },
  };
}
