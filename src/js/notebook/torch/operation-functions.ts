// Operations as functions of torch, whose first argument is a tensor.

import { operations } from "../operations/all.js";
import type { OperationMethods } from "../operations/methods/all.js";
import { bindFunction } from "../python/arguments.js";
import type { Scalar } from "../tensor/cast.js";
import type {
  ClampKeywords,
  CloseKeywords,
  ReduceKeywords,
  RoundKeywords,
} from "../tensor/keywords.js";
import { checkTensor, type Tensor, viewOf, wrapped } from "../tensor/tensor.js";

/** Operations that are methods alone, or whose functions also take another first argument than a tensor. */
const METHODS_ALONE = [
  ...["repeat", "expand", "expand_as", "view_as", "reshape_as", "rsub", "rdiv", "where"],
  ...["add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"],
] as const;

type FunctionName = Exclude<keyof OperationMethods<Tensor>, (typeof METHODS_ALONE)[number]>;

/** Takes a tensor. */
export type Unary<Result = Tensor> = (input: Tensor | { input: Tensor }) => Result;

/** Takes a tensor and more, by position or by name. */
export type OfTensor<Others extends readonly unknown[], Keywords, Result = Tensor> = {
  (input: Tensor, ...others: Others): Result;
  (input: Tensor, keywords: Keywords): Result;
  (keywords: { input: Tensor } & Keywords): Result;
};

/** Over all values, or along dimensions. */
type Reduction = OfTensor<[dim?: number | readonly number[], keepdim?: boolean], ReduceKeywords>;

/** The place of a value, of all or along a dimension. */
type Place = OfTensor<[dim?: number, keepdim?: boolean], { dim?: number; keepdim?: boolean }>;

/** Limits. */
type Clamp = OfTensor<[min?: Scalar | null, max?: Scalar | null], ClampKeywords>;

/** Functions of methods with overloads. */
interface OverloadedFunctions {
  softmax: OfTensor<[dim: number], { dim: number }>;
  matmul: OfTensor<[other: Tensor], { other: Tensor }>;
  round: OfTensor<[], RoundKeywords>;
  clamp: Clamp;
  clip: Clamp;
  sum: Reduction;
  mean: Reduction;
  amax: Reduction;
  amin: Reduction;
  argmax: Place;
  argmin: Place;
  all: Reduction;
  any: Reduction;
  equal: OfTensor<[other: Tensor], { other: Tensor }, boolean>;
  allclose: OfTensor<
    [other: Tensor, rtol?: number | CloseKeywords, atol?: number, equal_nan?: boolean],
    { other: Tensor } & CloseKeywords,
    boolean
  >;
  narrow: OfTensor<
    [dim: number, start: number, length: number],
    { dim: number; start: number; length: number }
  >;
  squeeze: OfTensor<[dim?: number], { dim?: number }>;
  unsqueeze: OfTensor<[dim: number], { dim: number }>;
  t: Unary;
  transpose: OfTensor<[dim0: number, dim1: number], { dim0: number; dim1: number }>;
  permute: OfTensor<[dims: readonly number[]], { dims: readonly number[] }>;
}

/** A method as a function: the tensor comes first, as `input`. */
type AsFunction<Method> = Method extends (...args: infer Others) => infer Value
  ? (
      input: Tensor | { input: Tensor; [name: string]: unknown },
      ...others: Partial<Others>
    ) => Value
  : never;

/** Functions by name. */
export type OperationFunctions = Readonly<OverloadedFunctions> & {
  readonly [name in Exclude<FunctionName, keyof OverloadedFunctions>]: AsFunction<
    OperationMethods<Tensor>[name]
  >;
};

/** Keywords that have another name in the function than in the method. */
const OTHER_NAMES: { readonly [name: string]: readonly string[] } = {
  split: ["split_size_or_sections", "dim?"],
};

/** The operations as functions. */
export const operationFunctions = Object.fromEntries(
  Object.entries(operations)
    .filter(([name]) => !(METHODS_ALONE as readonly string[]).includes(name))
    .map(([name, { parameters, run, sizes }]) => {
      const where = `torch.${name}`;
      const others = OTHER_NAMES[name] ?? (sizes === undefined ? parameters : [sizes]);
      const work = (input: unknown, ...bound: never[]): unknown => {
        const view = viewOf(checkTensor(where, "input", input));
        const list = sizes !== undefined && !Array.isArray(bound[0]) ? [[bound[0]]] : bound;
        return wrapped(run(where, view, ...(list as never[])));
      };
      return [name, bindFunction(where, ["input", ...others], work)];
    }),
) as unknown as OperationFunctions;
