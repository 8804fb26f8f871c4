// torch.Tensor: an n-dimensional array of one dtype, with PyTorch's methods.
//
// The class has the methods that need more than their arguments: attributes, conversions, views, indexing, overloads. Each
// binds its arguments and calls the function that computes it in another file. Tables of operations give the other methods.

import { define } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import { formatTensor } from "../../tensor/print.js";
import { sameShape } from "../../tensor/shape.js";
import { operations } from "../operations/all.js";
import { isclose, powerOf } from "../operations/elementwise.js";
import { assignByTensor, checkAlone, partByTensor } from "../operations/index-by-tensor.js";
import { IN_PLACE, type InPlaceMethods, type OperationMethods } from "../operations/methods.js";
import {
  checkOperand,
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
import { refuseUnknown } from "../python/attributes.js";
import { namedTuple, type Size, size, tuple } from "../python/builtins.js";
import { pythonError } from "../python/errors.js";
import { assignResult, assignTo, copyInto } from "./assign.js";
import { addScaled, type BinaryName, binary, divideWhole } from "./binary.js";
import { isScalar, type Scalar } from "./cast.js";
import { checkDType, type DType, dtypes, type Storage } from "./dtype.js";
import {
  type AddKeywords,
  type CloseKeywords,
  type DivideKeywords,
  type ReduceKeywords,
  type RoundKeywords,
  type SumKeywords,
  signatures,
} from "./keywords.js";
import { matmul } from "./product.js";
import {
  type ExtremeName,
  everyElement,
  extreme,
  extremeAlong,
  extremeIndex,
  mean,
  reduction,
  scalarOf,
  sum,
  truth,
} from "./reduce.js";
import {
  expand,
  flatShape,
  narrow,
  permuteDims,
  reshape,
  selectEach,
  squeeze,
  transpose,
  unsqueeze,
} from "./shapes.js";
import { softmax } from "./softmax.js";
import { clamp, clone, convert, roundDecimals, type UnaryName, unary } from "./unary.js";
import {
  checkAxis,
  checkInteger,
  countOf,
  elements,
  isContiguous,
  permute,
  rowMajorView,
  select,
  type View,
} from "./view.js";
import { choose } from "./where.js";

/** The second operand of operators and comparisons. */
export type TensorOrScalar = Tensor | Scalar;

/** Numbers as deep as a tensor has dimensions. */
export type NestedScalars = Scalar | NestedScalars[];

/** The values along a dimension and where they are: also `values` and `indices`. */
export type ValuesAndIndices = readonly [values: Tensor, indices: Tensor] & {
  readonly values: Tensor;
  readonly indices: Tensor;
};

/** Sizes, one by one or as an array or a keyword; one of them may be -1. */
type Sizes<Name extends string> =
  | readonly number[]
  | readonly [readonly number[] | { [name in Name]: readonly number[] }];

/**
 * An index of a dimension, or a slice of it as Python writes it: "1:3", ":", "::2". Alone, also a mask of bools, or a tensor
 * of indices of the first dimension.
 */
export type Index = number | string | Tensor;

/** The second operand, as a keyword. */
interface Other<Operand = TensorOrScalar> {
  /** The right operand. */
  other: Operand;
}

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

  /** A range of indices of a dimension. @throws {RangeError} IndexError, RuntimeError */
  narrow(dim: number, start: number, length: number): Tensor;
  narrow(keywords: { dim: number; start: number; length: number }): Tensor;
  narrow(dim: unknown, start?: unknown, length?: unknown): Tensor {
    return tensorOf(narrow("Tensor.narrow", this.#view, dim, start, length));
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
      assign(where, selectEach(where, this.#view, indices), value);
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

  /** Without the dimensions of size 1, or without one of them. */
  squeeze(dim?: number): Tensor;
  squeeze(keywords: { dim?: number }): Tensor;
  squeeze(dim?: unknown): Tensor {
    return tensorOf(squeeze("Tensor.squeeze", this.#view, dim));
  }

  /** With one more dimension, of size 1. */
  unsqueeze(dim: number): Tensor;
  unsqueeze(keywords: { dim: number }): Tensor;
  unsqueeze(dim: unknown): Tensor {
    return tensorOf(unsqueeze("Tensor.unsqueeze", this.#view, dim));
  }

  /** A matrix with rows and columns exchanged; vectors stay. @throws {RangeError} RuntimeError */
  t(): Tensor {
    if (this.ndim > 2) {
      throw pythonError(
        "RuntimeError",
        `Tensor.t: takes a tensor of at most 2 dimensions, got ${this.ndim}; use transpose(...)`,
      );
    }
    return this.T;
  }

  /** With two dimensions exchanged. */
  transpose(dim0: number, dim1: number): Tensor;
  transpose(keywords: { dim0: number; dim1: number }): Tensor;
  transpose(first: unknown, second?: unknown): Tensor {
    return tensorOf(transpose("Tensor.transpose", this.#view, first, second));
  }

  /** With its dimensions in another order. @throws {RangeError} RuntimeError, IndexError */
  permute(...dims: Sizes<"dims">): Tensor {
    const [given] = bindSizes("Tensor.permute", "dims", [], dims);
    return tensorOf(permuteDims("Tensor.permute", this.#view, given));
  }

  /** Stretched: dimensions of size 1 repeat. -1 keeps a size. @throws {RangeError} RuntimeError */
  expand(...size: Sizes<"size">): Tensor {
    const [sizes] = bindSizes("Tensor.expand", "size", [], size);
    return tensorOf(expand("Tensor.expand", this.#view, sizes));
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
  type_as(other: Tensor | Other<Tensor>): Tensor {
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
  // Element by element.

  #unary(name: UnaryName): Tensor {
    return tensorOf(unary(`Tensor.${name}`, name, this.#view));
  }

  #binary(name: BinaryName, other: unknown): Tensor {
    const where = `Tensor.${name}`;
    return tensorOf(binary(where, name, this.#view, checkOperand(where, "other", other)));
  }

  /**
   * exp(t - max) over its sum, along a dimension: the nearest float32, a few ulps from PyTorch's.
   * @throws {RangeError} RuntimeError for integers, IndexError
   */
  softmax(dim: number | { dim: number }): Tensor {
    return tensorOf(softmax("Tensor.softmax", this.#view, dim));
  }

  /**
   * Python's t @ other: the product of matrices or vectors; dimensions before the last two broadcast. float32 is
   * accumulated in double precision and rounded once.
   * @throws {RangeError} RuntimeError for dtypes or shapes that do not fit
   */
  matmul(other: Tensor | Other<Tensor>): Tensor {
    const right = checkTensor("Tensor.matmul", "other", other);
    return tensorOf(matmul("Tensor.matmul", this.#view, right.#view));
  }

  /**
   * The elements where a bool tensor is true, and those of `other` elsewhere.
   * @throws {RangeError} RuntimeError for a condition that is not bool
   */
  where(condition: Tensor, other: TensorOrScalar): Tensor;
  where(keywords: { condition: Tensor; other: TensorOrScalar }): Tensor;
  where(condition: unknown, other?: unknown): Tensor {
    return chosen("Tensor.where", condition, this, other);
  }

  /**
   * The nearest whole numbers, ties to the even ones. Integers stay.
   * @throws {RangeError} RuntimeError for `decimals` of integers
   */
  round(keywords?: RoundKeywords): Tensor;
  round(decimals?: unknown): Tensor {
    if (decimals === undefined) return this.#unary("round");
    const places = checkInteger("Tensor.round", "decimals", decimals);
    return tensorOf(roundDecimals("Tensor.round", this.#view, places));
  }

  /**
   * Python's t + other; with `alpha`, t + alpha * other.
   * @throws {RangeError} RuntimeError for a float `alpha` with integers
   */
  add(other: TensorOrScalar, keywords?: AddKeywords): Tensor;
  add(keywords: Other & AddKeywords): Tensor;
  add(other: unknown, alpha?: unknown): Tensor {
    return addition("Tensor.add", "add", this, other, alpha);
  }

  /**
   * Python's t - other; with `alpha`, t - alpha * other. An integer tensor minus a Python int stays
   * in its dtype and wraps.
   */
  sub(other: TensorOrScalar, keywords?: AddKeywords): Tensor;
  sub(keywords: Other & AddKeywords): Tensor;
  sub(other: unknown, alpha?: unknown): Tensor {
    return addition("Tensor.sub", "sub", this, other, alpha);
  }

  /** Python's other - t; with `alpha`, other - alpha * t. */
  rsub(other: TensorOrScalar, keywords?: AddKeywords): Tensor;
  rsub(keywords: Other & AddKeywords): Tensor;
  rsub(other: unknown, alpha?: unknown): Tensor {
    return addition("Tensor.rsub", "sub", other, this, alpha);
  }

  /**
   * Python's t / other: true division; integers are divided in float32. With `rounding_mode`, the
   * quotients are cut off: "trunc" towards zero, "floor" downwards, as Python's t // other.
   * @throws {RangeError} RuntimeError with `rounding_mode` for integers divided by 0
   */
  div(other: TensorOrScalar, keywords?: DivideKeywords): Tensor;
  div(keywords: Other & DivideKeywords): Tensor;
  div(other: unknown, mode?: unknown): Tensor {
    return division("Tensor.div", this, other, mode);
  }

  /**
   * Python's number / t, which PyTorch computes as t.reciprocal() * number, rounding twice.
   * `torch.div(number, t)` rounds once.
   */
  rdiv(other: TensorOrScalar | Other): Tensor {
    if (other instanceof Tensor) return other.div(this);
    return this.reciprocal().mul(checkScalar("Tensor.rdiv", "other", other));
  }

  /** Python's t ** exponent. */
  pow(exponent: TensorOrScalar | { exponent: TensorOrScalar }): Tensor {
    const by = checkOperand("Tensor.pow", "exponent", exponent);
    return tensorOf(powerOf("Tensor.pow", this.#view, by));
  }

  /**
   * Limits every element to [min, max]; NaN stays NaN. Either bound may be left out.
   * @throws {RangeError} RuntimeError without bounds, or if one does not fit in the dtype
   */
  clamp(min?: Scalar | null, max?: Scalar | null): Tensor;
  clamp(keywords: { min?: Scalar | null; max?: Scalar | null }): Tensor;
  clamp(least?: unknown, most?: unknown): Tensor {
    const where = "Tensor.clamp";
    const min = least === undefined ? undefined : checkScalar(where, "min", least);
    const max = most === undefined ? undefined : checkScalar(where, "max", most);
    return tensorOf(clamp(where, this.#view, min, max));
  }

  /** The same as `clamp`. */
  clip(min?: Scalar | null, max?: Scalar | null): Tensor;
  clip(keywords: { min?: Scalar | null; max?: Scalar | null }): Tensor;
  clip(min?: unknown, max?: unknown): Tensor {
    return this.clamp(min as Scalar, max as Scalar);
  }

  // -------------------------------------------------------------------------------------------
  // Many elements to one.

  /** The sum of all elements, or along dimensions. Integers give int64. */
  sum(dim?: number | readonly number[], keepdim?: boolean | SumKeywords): Tensor;
  sum(keywords: SumKeywords): Tensor;
  sum(...args: unknown[]): Tensor {
    const view = viewOf(this.#typed("Tensor.sum", args[2]));
    const total = sum("Tensor.sum", view, ...reduction("Tensor.sum", this.ndim, args));
    // A sum of integers is int64, and then what was asked for.
    return tensorOf(args[2] === undefined ? total : convert(total, view.dtype));
  }

  /** Converted to a dtype that was given. */
  #typed(where: string, dtype: unknown): Tensor {
    return dtype === undefined ? this : this.#to(checkDType(where, dtype));
  }

  /**
   * The mean of all elements, or along dimensions.
   * @throws {RangeError} RuntimeError for integers
   */
  mean(dim?: number | readonly number[], keepdim?: boolean | SumKeywords): Tensor;
  mean(keywords: SumKeywords): Tensor;
  mean(...args: unknown[]): Tensor {
    const view = viewOf(this.#typed("Tensor.mean", args[2]));
    return tensorOf(mean("Tensor.mean", view, ...reduction("Tensor.mean", this.ndim, args)));
  }

  /**
   * The largest element, NaN if there is any; along a dimension, the largest ones and where they
   * are; with another tensor, `maximum`.
   * @throws {RangeError} RuntimeError for no elements, IndexError
   */
  max(): Tensor;
  max(other: Tensor | Other<Tensor>): Tensor;
  max(dim: number, keepdim?: boolean): ValuesAndIndices;
  max(keywords: { dim: number; keepdim?: boolean }): ValuesAndIndices;
  max(...args: unknown[]): Tensor | ValuesAndIndices {
    return this.#extreme("max", args);
  }

  /** The smallest element; otherwise as `max`. */
  min(): Tensor;
  min(other: Tensor | Other<Tensor>): Tensor;
  min(dim: number, keepdim?: boolean): ValuesAndIndices;
  min(keywords: { dim: number; keepdim?: boolean }): ValuesAndIndices;
  min(...args: unknown[]): Tensor | ValuesAndIndices {
    return this.#extreme("min", args);
  }

  #extreme(name: ExtremeName, args: readonly unknown[]): Tensor | ValuesAndIndices {
    const where = `Tensor.${name}`;
    if (args[0] instanceof Tensor || hasKeyword(args, "other")) {
      const [other] = bindArguments(where, ["other"], args);
      return this.#binary(name === "max" ? "maximum" : "minimum", other);
    }
    if (args.every((one) => one === undefined)) return tensorOf(extreme(where, name, this.#view));
    const [dim, keep] = bindArguments(where, ["dim", "keepdim?"], args);
    const axis = checkAxis(where, dim, this.ndim);
    const keepdim = checkFlag(where, "keepdim", keep);
    const { values, indices } = extremeAlong(where, name, this.#view, axis, keepdim);
    const items = { values: tensorOf(values), indices: tensorOf(indices) };
    return namedTuple(`torch.return_types.${name}`, items) as unknown as ValuesAndIndices;
  }

  /** The largest elements along a dimension, or of all. */
  amax(dim?: number | readonly number[], keepdim?: boolean): Tensor;
  amax(keywords: ReduceKeywords): Tensor;
  amax(...args: unknown[]): Tensor {
    return this.#extremeOver("Tensor.amax", "max", args);
  }

  /** The smallest elements along a dimension, or of all. */
  amin(dim?: number | readonly number[], keepdim?: boolean): Tensor;
  amin(keywords: ReduceKeywords): Tensor;
  amin(...args: unknown[]): Tensor {
    return this.#extremeOver("Tensor.amin", "min", args);
  }

  #extremeOver(where: string, name: ExtremeName, args: readonly unknown[]): Tensor {
    const [axes, keepdim] = reduction(where, this.ndim, args);
    if (axes === undefined) return this.#kept(where, this[name](), keepdim);
    // From the last axis to the first, so that those before keep their numbers.
    const view = [...axes]
      .sort((a, b) => b - a)
      .reduce((part, axis) => extremeAlong(where, name, part, axis, keepdim).values, this.#view);
    return tensorOf(view);
  }

  /** Where the largest element is: its place in row-major order, or along a dimension. */
  argmax(dim?: number, keepdim?: boolean): Tensor;
  argmax(keywords: { dim?: number; keepdim?: boolean }): Tensor;
  argmax(...args: unknown[]): Tensor {
    return this.#argument("argmax", "max", args);
  }

  /** Where the smallest element is: its place in row-major order, or along a dimension. */
  argmin(dim?: number, keepdim?: boolean): Tensor;
  argmin(keywords: { dim?: number; keepdim?: boolean }): Tensor;
  argmin(...args: unknown[]): Tensor {
    return this.#argument("argmin", "min", args);
  }

  /** What all elements came to: with `keepdim`, in a dimension of size 1 for each there was. */
  #kept(where: string, whole: Tensor, keepdim: unknown): Tensor {
    return checkFlag(where, "keepdim", keepdim) ? whole.view(this.shape.map(() => 1)) : whole;
  }

  #argument(method: string, name: ExtremeName, args: readonly unknown[]): Tensor {
    const where = `Tensor.${method}`;
    const along =
      args[0] === undefined ? undefined : (this.#extreme(name, args) as ValuesAndIndices)[1];
    if (along === undefined && this.numel() === 0) {
      throw pythonError("IndexError", `${where}: a tensor without elements has no ${name}`);
    }
    // PyTorch compares no bools, but does not notice along a dimension that leaves nothing to compare.
    const isCompared = this.ndim === 0 || along?.numel() !== this.numel();
    if (this.dtype === dtypes.bool && isCompared) {
      throw pythonError("RuntimeError", `${where}: does not take a bool tensor; convert with to()`);
    }
    if (along !== undefined) return along;
    const index = BigInt(extremeIndex(name, elements(this.#view)));
    const whole = tensorOf(rowMajorView(BigInt64Array.of(index), dtypes.int64, []));
    return this.#kept(where, whole, args[1]);
  }

  /** Whether all elements, or all along dimensions, are other than 0: bool, or uint8 of uint8. */
  all(dim?: number | readonly number[], keepdim?: boolean): Tensor;
  all(keywords: ReduceKeywords): Tensor;
  all(...args: unknown[]): Tensor {
    return tensorOf(truth("all", this.#view, ...reduction("Tensor.all", this.ndim, args)));
  }

  /** Whether any element is other than 0, likewise. */
  any(dim?: number | readonly number[], keepdim?: boolean): Tensor;
  any(keywords: ReduceKeywords): Tensor;
  any(...args: unknown[]): Tensor {
    return tensorOf(truth("any", this.#view, ...reduction("Tensor.any", this.ndim, args)));
  }

  /**
   * Whether another tensor has the same shape and the same values, of whatever dtype.
   *
   * Source: `torch.equal`.
   */
  equal(other: Tensor | Other<Tensor>): boolean;
  equal(given: unknown): boolean {
    const other = checkTensor("Tensor.equal", "other", given);
    if (!sameShape(this.shape, other.shape)) return false;
    return everyElement(binary("Tensor.equal", "eq", this.#view, viewOf(other)));
  }

  /**
   * Whether |t - other| <= atol + rtol * |other| everywhere, of bools as float32.
   * @throws {RangeError} RuntimeError if the dtypes differ
   */
  allclose(other: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): boolean;
  allclose(other: Tensor, keywords: CloseKeywords): boolean;
  allclose(keywords: Other<Tensor> & CloseKeywords): boolean;
  allclose(given: unknown, rtol?: unknown, atol?: unknown, nan?: unknown): boolean {
    const where = "Tensor.allclose";
    const other = checkTensor(where, "other", given);
    return everyElement(isclose(where, this.#view, viewOf(other), rtol, atol, nan));
  }

  // -------------------------------------------------------------------------------------------
  // In place. Views of the same memory change too.

  #assignResult(where: string, result: Tensor): this {
    assignResult(where, this.#view, result.#view);
    return this;
  }

  /** Python's t += other. */
  add_(other: TensorOrScalar, keywords?: AddKeywords): this;
  add_(keywords: Other & AddKeywords): this;
  add_(other: unknown, alpha?: unknown): this {
    const where = "Tensor.add_";
    return this.#assignResult(where, addition(where, "add", this, other, alpha));
  }

  /** Python's t -= other. */
  sub_(other: TensorOrScalar, keywords?: AddKeywords): this;
  sub_(keywords: Other & AddKeywords): this;
  sub_(other: unknown, alpha?: unknown): this {
    const where = "Tensor.sub_";
    return this.#assignResult(where, addition(where, "sub", this, other, alpha));
  }

  /** Python's t *= other. */
  mul_(other: TensorOrScalar | Other): this {
    return this.#assignResult("Tensor.mul_", this.#binary("mul", other));
  }

  /** Python's t /= other. */
  div_(other: TensorOrScalar, keywords?: DivideKeywords): this;
  div_(keywords: Other & DivideKeywords): this;
  div_(other: unknown, mode?: unknown): this {
    const where = "Tensor.div_";
    return this.#assignResult(where, division(where, this, other, mode));
  }

  /** `abs` in place. */
  abs_(): this {
    return this.#assignResult("Tensor.abs_", this.abs());
  }

  /** `neg` in place. */
  neg_(): this {
    return this.#assignResult("Tensor.neg_", this.neg());
  }

  /** `round` in place. */
  round_(keywords?: RoundKeywords): this;
  round_(decimals?: unknown): this {
    const keywords = { decimals } as RoundKeywords;
    return this.#assignResult("Tensor.round_", this.round(keywords));
  }

  /** `clamp` in place. */
  clamp_(min?: Scalar | null, max?: Scalar | null): this;
  clamp_(keywords: { min?: Scalar | null; max?: Scalar | null }): this;
  clamp_(min?: unknown, max?: unknown): this {
    return this.#assignResult("Tensor.clamp_", this.clamp(min as Scalar, max as Scalar));
  }

  /** Copies another tensor's values into this one, converted and broadcast. */
  copy_(other: Tensor | Other<Tensor>): this {
    copyInto("Tensor.copy_", this.#view, checkTensor("Tensor.copy_", "other", other).#view);
    return this;
  }

  /** Sets every element. @throws {RangeError} RuntimeError if the dtype cannot hold the value */
  fill_(value: Scalar | { value: Scalar }): this {
    assign("Tensor.fill_", this.#view, checkScalar("Tensor.fill_", "value", value));
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
  if (value instanceof Tensor) return value;
  throw pythonError(
    "TypeError",
    `${where}: ${argument} must be a tensor (torch.tensor(...) makes one), got ${show(value)}`,
  );
}

/** `torch.add` and `sub`, of tensors or numbers. */
export function addition(
  where: string,
  name: "add" | "sub",
  input: unknown,
  other: unknown,
  alpha: unknown = 1,
): Tensor {
  const [a, b] = [checkOperand(where, "input", input), checkOperand(where, "other", other)];
  return tensorOf(addScaled(where, name, a, b, checkScalar(where, "alpha", alpha)));
}

/** `torch.div`, likewise. */
export function division(where: string, input: unknown, other: unknown, mode?: unknown): Tensor {
  const [a, b] = [checkOperand(where, "input", input), checkOperand(where, "other", other)];
  if (mode === undefined) return tensorOf(binary(where, "div", a, b));
  if (mode === "trunc" || mode === "floor") return tensorOf(divideWhole(where, mode, a, b));
  throw pythonError(
    typeof mode === "string" ? "RuntimeError" : "TypeError",
    `${where}: rounding_mode must be "trunc", "floor" or None, got ${show(mode)}`,
  );
}

/** `torch.where` with three arguments. */
export function chosen(where: string, condition: unknown, input: unknown, other: unknown): Tensor {
  const mask = viewOf(checkTensor(where, "condition", condition));
  const [a, b] = [checkOperand(where, "input", input), checkOperand(where, "other", other)];
  return tensorOf(choose(where, mask, a, b));
}

/** Item assignment of a tensor or a number. @throws {TypeError}; {RangeError} RuntimeError */
function assign(where: string, target: View, value: unknown): void {
  assignTo(where, target, isScalar(value) ? value : viewOf(checkTensor(where, "value", value)));
}

/** What an operation gives, as Python's value. */
export function wrapped(result: Result): unknown {
  if (typeof result !== "object") return result;
  if ("storage" in result) return tensorOf(result);
  if (!("typeName" in result)) return tuple(...result.map((view) => tensorOf(view)));
  const items = Object.entries(result.items).map(([name, view]) => [name, tensorOf(view)] as const);
  return namedTuple(result.typeName, Object.fromEntries(items));
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
  const { [own]: value } = {
    [own](this: Tensor, ...args: never[]): Tensor {
      const result = (this[name] as (...args: never[]) => Tensor)(...args);
      assignResult(`Tensor.${own}`, viewOf(this), viewOf(result));
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

// t[i] and t[i] = value. Only what is not found on a tensor or its class is looked up here, so that
// everything else is as fast as on any object.
const namesOfTensors = (): string[] => Object.getOwnPropertyNames(Tensor.prototype);

const INDEX = /^-?\d+$/;

function indexOf(key: string | symbol, receiver: unknown): number | undefined {
  return typeof key === "string" && INDEX.test(key) && receiver instanceof Tensor
    ? Number(key)
    : undefined;
}

Object.setPrototypeOf(
  Tensor.prototype,
  new Proxy(
    {},
    // Without a prototype that could add traps.
    Object.assign(Object.create(null), {
      get(target: object, key: string | symbol, receiver: unknown): unknown {
        const index = indexOf(key, receiver);
        if (index === undefined) {
          const isObject = receiver instanceof Tensor;
          if (isObject && !(key in target)) refuseUnknown("'Tensor' object", key, namesOfTensors);
          return Reflect.get(target, key, receiver);
        }
        return tensorOf(select("Tensor", viewOf(receiver as Tensor), 0, index));
      },
      set(target: object, key: string | symbol, value: unknown, receiver: unknown): boolean {
        const index = indexOf(key, receiver);
        if (index === undefined) return Reflect.set(target, key, value, receiver);
        assign("Tensor", select("Tensor", viewOf(receiver as Tensor), 0, index), value);
        return true;
      },
    }),
  ),
);
