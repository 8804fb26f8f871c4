// Operations as functions of torch, whose first argument is a tensor.

import { operations } from "../operations/all.js";
import type { OperationMethods } from "../operations/methods.js";
import { bindFunction } from "../python/arguments.js";
import { checkTensor, type Tensor, viewOf, wrapped } from "../tensor/tensor.js";

/** Operations that are methods alone, or whose functions also take a number first. */
const METHODS_ALONE = [
  ...["repeat", "expand_as", "view_as", "reshape_as"],
  ...["mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"],
] as const;

type FunctionName = Exclude<keyof OperationMethods<Tensor>, (typeof METHODS_ALONE)[number]>;

/** A method as a function: the tensor comes first, as `input`. */
type AsFunction<Method> = Method extends (...args: infer Others) => infer Value
  ? (
      input: Tensor | { input: Tensor; [name: string]: unknown },
      ...others: Partial<Others>
    ) => Value
  : never;

/** Functions by name. */
export type OperationFunctions = {
  readonly [name in FunctionName]: AsFunction<OperationMethods<Tensor>[name]>;
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
