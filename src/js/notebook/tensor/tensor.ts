// torch.Tensor: an n-dimensional array of one dtype, with PyTorch's methods.
//
// The class has what needs the object or reads its arguments by hand: attributes, values out, indices, conversions that may
// give the tensor itself, extremes. Tables of operations, which take and give views, have all other methods.

import { define } from "../../base/fields.js";
import { explainReceivers } from "../../base/receivers.js";
import { formatTensor } from "../../tensor/print.js";
import { operations } from "../operations/all.js";
import { assignByTensor, checkAlone, partByTensor } from "../operations/index-by-tensor.js";
import type { OperationMethods } from "../operations/methods/all.js";
import type { Pair } from "../operations/methods/calls.js";
import { IN_PLACE, type InPlaceMethods } from "../operations/methods/in-place.js";
import {
  checkOperand,
  checkView,
  type NamedViews,
  type Result,
  recognizeTensors,
  runOperation,
} from "../operations/operation.js";
import {
  bindArguments,
  bindMethods,
  bindSizes,
  checkFlag,
  checkScalar,
  hasKeyword,
} from "../python/arguments.js";
import { namedTuple, type Size, size, tuple } from "../python/builtins.js";
import { pythonError } from "../python/errors.js";
import { defineItems } from "../python/items.js";
import { assignResult, assignTo, copyInto } from "./assign.js";
import { binary } from "./binary.js";
import type { Scalar } from "./cast.js";
import { checkDType, type DType, dtypes, type Storage } from "./dtype.js";
import { signatures } from "./keywords.js";
import { type ExtremeName, extreme, extremeAlong, scalarOf } from "./reduce.js";
import { flatShape, reshape, selectEach } from "./shapes.js";
import { clone, convert } from "./unary.js";
import {
  checkAxis,
  countOf,
  elements,
  isContiguous,
  permute,
  rowMajorView,
  select,
  type View,
} from "./view.js";

/** The second operand of operators and comparisons. */
export type TensorOrScalar = Tensor | Scalar;

/** Numbers as deep as a tensor has dimensions. */
export type NestedScalars = Scalar | NestedScalars[];

/** The values along a dimension and where they are: also `values` and `indices`. */
export type ValuesAndIndices = Pair<Tensor>;

/** Sizes, one by one or as an array or a keyword; one of them may be -1. */
type Sizes<Name extends string> =
  | readonly number[]
  | readonly [readonly number[] | { [name in Name]: readonly number[] }];

/**
 * An index of a dimension, or a slice of it as Python writes it: "1:3", ":", "::2". Alone, also a mask of bools, or a tensor
 * of indices of the first dimension.
 */
export type Index = number | string | Tensor;

/** The view behind a tensor. */
export let viewOf: (tensor: Tensor) => View;

/** Whether an object was made as a tensor. */
let isTensor: (object: object) => boolean;

/** A tensor of a view. */
export let tensorOf: (view: View) => Tensor;

/** Methods that tables of operations give. */
export interface Tensor extends OperationMethods<Tensor>, InPlaceMethods<Tensor> {}

/**
 * A tensor: numbers of one dtype in n dimensions.
 *
 * `torch.tensor`, `zeros`, `rand` and so on make tensors. Python's operators are methods:
 * `a.add(b)`, `sub`, `mul`, `div`, `neg`, `pow`, `eq`, `lt`, ...; broadcasting, type promotion,
 * rounding and wrap-around are PyTorch's. `t[i]` is the i-th slice along the first dimension, and
 * `t[i] = value` fills it; `t.get(i, j)` and `t.set([i, j], value)` do the same for several
 * indices. `t.view(...)`, `select`, `t[i]`, `t()` and the like share the tensor's memory.
 *
 * A JavaScript number counts as a Python int if it is a safe integer and as a Python float
 * otherwise; a BigInt always counts as an int, and `float(3)` as a float. Arguments go by position
 * or, in a plain object at the end, by the names that PyTorch gives them.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: tables of operations give the methods
export class Tensor {
  /** The i-th slice along the first dimension; negative indices count from the end. */
  [index: number]: Tensor;

  readonly #view: View;
  #shape: Size | undefined;

  static {
    viewOf = (tensor) => tensor.#view;
    tensorOf = (view) => new Tensor(view);
    isTensor = (object) => #view in object;
  }

  /** @internal Use `torch.tensor`. */
  constructor(view: View) {
    if (!ArrayBuffer.isView((view as Partial<View> | undefined)?.storage)) {
      throw pythonError("TypeError", "Tensor: use torch.tensor(values) to make a tensor");
    }
    this.#view = view;
  }

  // -------------------------------------------------------------------------------------------
  // What it is.

  /** torch.float32, torch.int8, ... */
  get dtype(): DType {
    return this.#view.dtype;
  }

  /** The size of every dimension. */
  get shape(): Size {
    this.#shape ??= size(this.#view.shape);
    return this.#shape;
  }

  /** The number of dimensions. */
  get ndim(): number {
    return this.#view.shape.length;
  }

  /** Always "cpu". */
  get device(): string {
    return "cpu";
  }

  /**
   * The values in row-major order: the tensor's own memory if it is contiguous, else a copy. With
   * `shape`, this lets a tensor be given to all functions of "zeropoint". bool is a Uint8Array.
   */
  get data(): Storage {
    return elements(this.#view);
  }

  /** Bytes of one element. */
  get itemsize(): number {
    return this.dtype.itemsize;
  }

  /** Bytes of all elements. */
  get nbytes(): number {
    return this.numel() * this.itemsize;
  }

  /** Always false: there are no gradients here. */
  get requires_grad(): boolean {
    return false;
  }

  /** Always false: `torch.quantize_per_tensor` makes quantized tensors, which have a class of their own. */
  get is_quantized(): boolean {
    return false;
  }

  /** The same tensor with its last two dimensions exchanged, sharing memory. */
  get mT(): Tensor {
    return this.transpose(-2, -1);
  }

  /** The same tensor with its dimensions in reverse order, sharing memory. */
  get T(): Tensor {
    return tensorOf(permute(this.#view, [...this.#view.shape.keys()].reverse()));
  }

  /** The number of dimensions. */
  dim(): number {
    return this.ndim;
  }

  /** All sizes, or that of one dimension. @throws {RangeError} IndexError */
  size(): Size;
  size(dim: number | { dim: number }): number;
  size(dim?: unknown): Size | number {
    if (dim === undefined) return this.shape;
    this.#checkNotScalar("Tensor.size");
    return this.#view.shape[checkAxis("Tensor.size", dim, this.ndim)];
  }

  /** The number of elements. */
  numel(): number {
    return countOf(this.#view.shape);
  }

  /** The number of elements. */
  nelement(): number {
    return this.numel();
  }

  /** The distance in memory between neighbours, along all dimensions or one. */
  stride(): readonly number[];
  stride(dim: number | { dim: number }): number;
  stride(dim?: unknown): readonly number[] | number {
    if (dim === undefined) return [...this.#view.strides];
    this.#checkNotScalar("Tensor.stride");
    return this.#view.strides[checkAxis("Tensor.stride", dim, this.ndim)];
  }

  /** Where in its memory the first element is. */
  storage_offset(): number {
    return this.#view.offset;
  }

  /** Bytes of one element. */
  element_size(): number {
    return this.dtype.itemsize;
  }

  /** Whether the dtype is float32 or float64. */
  is_floating_point(): boolean {
    return this.dtype.is_floating_point;
  }

  /** Whether the elements lie in memory in row-major order. */
  is_contiguous(): boolean {
    return isContiguous(this.#view);
  }

  // -------------------------------------------------------------------------------------------
  // Values out.

  /**
   * The number in a tensor of one element. An integer beyond 2^53 is a BigInt, bool a boolean.
   * @throws {RangeError} RuntimeError if there is not exactly one element
   */
  item(): number;
  item(): number | bigint | boolean {
    if (this.numel() !== 1) {
      throw pythonError(
        "RuntimeError",
        `Tensor.item: takes a tensor of one element, got ${this.numel()} elements`,
      );
    }
    const { storage, offset, dtype } = this.#view;
    return scalarOf(storage[offset], dtype);
  }

  /** The numbers as nested arrays; just the number for a 0-d tensor. */
  tolist(): NestedScalars {
    if (this.ndim === 0) return this.item();
    return [...this].map((slice) => slice.tolist());
  }

  /** The values in row-major order, as `data`. */
  numpy(): Storage {
    return this.data;
  }

  /** The slices along the first dimension. @throws {TypeError} for a 0-d tensor */
  [Symbol.iterator](): Generator<Tensor, void, undefined> {
    return this.#slices();
  }

  *#slices(): Generator<Tensor, void, undefined> {
    if (this.ndim === 0) throw pythonError("TypeError", "a 0-d tensor cannot be iterated over");
    for (let i = 0; i < this.#view.shape[0]; i++) {
      yield tensorOf(select("Tensor", this.#view, 0, i));
    }
  }

  /** As PyTorch prints it. */
  toString(): string {
    const { storage, shape, strides, offset, dtype } = this.#view;
    return formatTensor({ data: storage, shape, strides, offset, dtype: dtype.name });
  }

  get [Symbol.toStringTag](): string {
    return "Tensor";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }

  /**
   * Lets a tensor of one element be compared and used as a number. JavaScript's operators cannot
   * work on others.
   */
  [Symbol.toPrimitive](hint: "string" | "number" | "default"): string | number | bigint | boolean {
    if (hint === "string") return this.toString();
    if (this.numel() === 1) return this.item();
    throw pythonError(
      "TypeError",
      "JavaScript's operators do not work on tensors: " +
        "write a.add(b), a.sub(b), a.mul(b), a.div(b), a.eq(b), ...; String(a) is its text",
    );
  }

  // -------------------------------------------------------------------------------------------
  // Parts and other shapes, sharing memory.

  /**
   * One slice along a dimension, without that dimension.
   * @throws {RangeError} IndexError
   */
  select(dim: number, index: number): Tensor;
  select(keywords: { dim: number; index: number }): Tensor;
  select(dim: unknown, index?: unknown): Tensor {
    this.#checkNotScalar("Tensor.select");
    const axis = checkAxis("Tensor.select", dim, this.ndim);
    return tensorOf(select("Tensor.select", this.#view, axis, index));
  }

  /**
   * Python's t[i, j], and with slices as text t[i, a:b]: `t.get(i, "a:b")`. Slices share the tensor's memory. Python's
   * t[mask] is `t.get(mask)`, and t[index] `t.get(index)`: copies.
   * @throws {RangeError} IndexError; ValueError for a step below 1
   * @example torch.arange(6).view(2, 3).get(":", "1:") // tensor([[1, 2], [4, 5]])
   */
  get(...index: Index[]): Tensor {
    const [first] = index;
    if (!(first instanceof Tensor)) return tensorOf(selectEach("Tensor.get", this.#view, index));
    checkAlone("Tensor.get", index);
    return tensorOf(partByTensor("Tensor.get", this.#view, first.#view));
  }

  /**
   * What Python writes as t[i, j] = value: the value, converted to this tensor's dtype, fills what
   * the indices select. `[]` selects everything.
   * @throws {RangeError} IndexError; RuntimeError if the value does not fit
   */
  set(index: Index | readonly Index[], value: TensorOrScalar): void {
    const where = "Tensor.set";
    const indices = (Array.isArray(index) ? index : [index]) as readonly Index[];
    const [first] = indices;
    if (first instanceof Tensor) {
      checkAlone(where, indices);
      assignByTensor(where, this.#view, first.#view, checkOperand(where, "value", value));
    } else {
      const part = selectEach(where, this.#view, indices);
      assignTo(where, part, checkOperand(where, "value", value));
    }
  }

  /**
   * The same elements in another shape. One size may be -1: whatever is left.
   * @throws {RangeError} RuntimeError if the number of elements differs, or the elements do not lie
   *   in memory as the shape needs it (`reshape` copies them then)
   * @example torch.tensor([1, 2, 3]).view(-1, 1).shape // torch.Size([3, 1])
   */
  view(...size: Sizes<"size">): Tensor {
    const [sizes] = bindSizes("Tensor.view", "size", [], size);
    const view = reshape("Tensor.view", this.#view, sizes);
    if (view !== undefined) return tensorOf(view);
    throw pythonError(
      "RuntimeError",
      "Tensor.view: the elements do not lie in memory in the order that the new shape needs; " +
        "use reshape(...) or contiguous().view(...)",
    );
  }

  /** As `view`, but copies the elements where they must move. */
  reshape(...shape: Sizes<"shape">): Tensor {
    const [sizes] = bindSizes("Tensor.reshape", "shape", [], shape);
    const view = reshape("Tensor.reshape", this.#view, sizes);
    return view !== undefined ? tensorOf(view) : this.contiguous().reshape(...shape);
  }

  /** The dimensions from `start_dim` to `end_dim` as one. */
  flatten(start_dim?: number, end_dim?: number): Tensor;
  flatten(keywords: { start_dim?: number; end_dim?: number }): Tensor;
  flatten(start?: unknown, end?: unknown): Tensor {
    const shape = flatShape("Tensor.flatten", this.#view.shape, start, end);
    return shape === this.#view.shape ? this : this.reshape(shape);
  }

  /** The tensor itself if it is contiguous, else a row-major copy. */
  contiguous(): Tensor {
    if (this.is_contiguous()) return this;
    return tensorOf(rowMajorView(elements(this.#view), this.dtype, this.#view.shape));
  }

  /** A copy. */
  clone(): Tensor {
    return tensorOf(clone(this.#view));
  }

  /** The tensor itself: there are no gradients here. */
  detach(): Tensor {
    return this;
  }

  // -------------------------------------------------------------------------------------------
  // Other dtypes.

  /**
   * Converts to a dtype; the tensor itself if it has it already. Floats are cut off towards zero;
   * what an integer dtype cannot hold wraps as on x86-64 (NaN and infinities become 0, or the most
   * negative int32 or int64).
   * @example torch.tensor([-1.5, 300]).to(torch.uint8) // tensor([255,  44], dtype=torch.uint8)
   */
  to(dtype: DType | Tensor): Tensor;
  to(keywords: { dtype: DType }): Tensor;
  to(target: unknown): Tensor {
    return this.#to(target instanceof Tensor ? target.dtype : checkDType("Tensor.to", target));
  }

  #to(dtype: DType): Tensor {
    return dtype === this.dtype ? this : tensorOf(convert(this.#view, dtype));
  }

  /** Converts to the dtype of another tensor. */
  type_as(other: Tensor | { other: Tensor }): Tensor {
    return this.#to(checkTensor("Tensor.type_as", "other", other).dtype);
  }

  /** Converts to float32. */
  float(): Tensor {
    return this.#to(dtypes.float32);
  }

  /** Converts to float64. */
  double(): Tensor {
    return this.#to(dtypes.float64);
  }

  /** Converts to int8. */
  char(): Tensor {
    return this.#to(dtypes.int8);
  }

  /** Converts to uint8. */
  byte(): Tensor {
    return this.#to(dtypes.uint8);
  }

  /** Converts to int16. */
  short(): Tensor {
    return this.#to(dtypes.int16);
  }

  /** Converts to int32. */
  int(): Tensor {
    return this.#to(dtypes.int32);
  }

  /** Converts to int64. */
  long(): Tensor {
    return this.#to(dtypes.int64);
  }

  /** Converts to bool. */
  bool(): Tensor {
    return this.#to(dtypes.bool);
  }

  // -------------------------------------------------------------------------------------------
  // The extremes, whose arguments depend on what is asked for.

  /**
   * The largest element, NaN if there is any; along a dimension, the largest ones and where they
   * are; with another tensor, `maximum`.
   * @throws {RangeError} RuntimeError for no elements, IndexError
   */
  max(): Tensor;
  max(other: Tensor | { other: Tensor }): Tensor;
  max(dim: number, keepdim?: boolean): ValuesAndIndices;
  max(keywords: { dim: number; keepdim?: boolean }): ValuesAndIndices;
  max(...args: unknown[]): Tensor | ValuesAndIndices {
    return this.#extreme("max", args);
  }

  /** The smallest element; otherwise as `max`. */
  min(): Tensor;
  min(other: Tensor | { other: Tensor }): Tensor;
  min(dim: number, keepdim?: boolean): ValuesAndIndices;
  min(keywords: { dim: number; keepdim?: boolean }): ValuesAndIndices;
  min(...args: unknown[]): Tensor | ValuesAndIndices {
    return this.#extreme("min", args);
  }

  #extreme(name: ExtremeName, args: readonly unknown[]): Tensor | ValuesAndIndices {
    const where = `Tensor.${name}`;
    if (args[0] instanceof Tensor || hasKeyword(args, "other")) {
      const [other] = bindArguments(where, ["other"], args);
      const pair = name === "max" ? "maximum" : "minimum";
      return tensorOf(binary(where, pair, this.#view, checkOperand(where, "other", other)));
    }
    if (args.every((one) => one === undefined)) return tensorOf(extreme(where, name, this.#view));
    const [dim, keep] = bindArguments(where, ["dim", "keepdim?"], args);
    const axis = checkAxis(where, dim, this.ndim);
    const keepdim = checkFlag(where, "keepdim", keep);
    const items = extremeAlong(where, name, this.#view, axis, keepdim);
    return wrapped({ typeName: `torch.return_types.${name}`, items }) as ValuesAndIndices;
  }

  // -------------------------------------------------------------------------------------------
  // In place. Views of the same memory change too.

  /** Copies another tensor's values into this one, converted and broadcast. */
  copy_(other: Tensor | { other: Tensor }): this {
    copyInto("Tensor.copy_", this.#view, checkTensor("Tensor.copy_", "other", other).#view);
    return this;
  }

  /** Sets every element. @throws {RangeError} RuntimeError if the dtype cannot hold the value */
  fill_(value: Scalar | { value: Scalar }): this {
    assignTo("Tensor.fill_", this.#view, checkScalar("Tensor.fill_", "value", value));
    return this;
  }

  /** Sets every element to 0. */
  zero_(): this {
    return this.fill_(0);
  }

  #checkNotScalar(where: string): void {
    if (this.ndim === 0) {
      throw pythonError("IndexError", `${where}: a 0-d tensor has no dimensions to choose from`);
    }
  }
}

/** An argument that must be a tensor. @throws {TypeError} */
export function checkTensor(where: string, argument: string, value: unknown): Tensor {
  checkView(where, argument, value);
  return value as Tensor;
}

/** What an operation gives, as Python's value. */
export function wrapped(result: Result): unknown {
  if (typeof result !== "object") return result;
  if (Array.isArray(result)) return tuple(...(result as View[]).map((view) => tensorOf(view)));
  if (!Object.hasOwn(result, "typeName")) return tensorOf(result as View);
  const { typeName, items } = result as NamedViews;
  const tensors = Object.entries(items).map(([name, view]) => [name, tensorOf(view)] as const);
  return namedTuple(typeName, Object.fromEntries(tensors));
}

recognizeTensors((value) => (value instanceof Tensor ? viewOf(value) : undefined));

for (const [name, operation] of Object.entries(operations)) {
  const where = `Tensor.${name}`;
  // In the shorthand of methods, which are no constructors.
  const { [name]: value } = {
    [name](this: Tensor, ...args: unknown[]): unknown {
      return wrapped(runOperation(where, operation, viewOf(this), args));
    },
  };
  define(Tensor.prototype, name, { value, configurable: true, writable: true });
}

for (const name of IN_PLACE) {
  const own = `${name}_`;
  const where = `Tensor.${own}`;
  const { [own]: value } = {
    [own](this: Tensor, ...args: unknown[]): Tensor {
      const view = viewOf(this);
      assignResult(where, view, runOperation(where, operations[name], view, args) as View);
      return this;
    },
  };
  define(Tensor.prototype, own, { value, configurable: true, writable: true });
}

explainReceivers(Tensor, "Tensor", (object) => isTensor(object));

/** The methods behind them: arguments in that order, undefined where one was left out. */
export const methods = bindMethods(
  "Tensor",
  Tensor.prototype,
  signatures satisfies {
    readonly [method in Exclude<keyof Tensor, "toString">]?: readonly string[];
  },
);

defineItems(Tensor.prototype, "Tensor", {
  isOwn: (receiver) => receiver instanceof Tensor,
  get: (tensor: Tensor, index) => tensorOf(select("Tensor", viewOf(tensor), 0, index)),
  set(tensor: Tensor, index, value) {
    const part = select("Tensor", viewOf(tensor), 0, index);
    assignTo("Tensor", part, checkOperand("Tensor", "value", value));
  },
});
