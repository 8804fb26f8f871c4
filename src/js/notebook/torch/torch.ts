// The part of torch that the notebooks use, with related helpers.

import { checkOperand } from "../operations/operation.js";
import { einsum } from "../operations/products.js";
import { isin, nonzeroColumns } from "../operations/selection.js";
import {
  bindArguments,
  bindFunction,
  flattenSizes,
  hasKeyword,
  splitKeywords,
} from "../python/arguments.js";
import { moduleOf } from "../python/attributes.js";
import { type Size, size, tuple } from "../python/builtins.js";
import { pythonError } from "../python/errors.js";
import { checkDType, DType, dtypes, finfo, iinfo } from "../tensor/dtype.js";
import { signatures } from "../tensor/keywords.js";
import { linear } from "../tensor/linear.js";
import { promoteTypes, resultType } from "../tensor/promotion.js";
import {
  checkTensor,
  methods,
  Tensor,
  type TensorOrScalar,
  tensorOf,
  type ValuesAndIndices,
  viewOf,
} from "../tensor/tensor.js";
import { choose } from "../tensor/where.js";
import {
  arange,
  checkSizes,
  empty,
  empty_like,
  eye,
  full,
  full_like,
  linspace,
  logspace,
  ones,
  ones_like,
  tensor,
  zeros,
  zeros_like,
} from "./creation.js";
import {
  fake_quantize_per_channel_affine,
  fake_quantize_per_tensor_affine,
} from "./fake-quantize.js";
import { cross_entropy, l1_loss, mse_loss, one_hot, pad } from "./functional.js";
import { cat, hstack, stack, vstack } from "./joins.js";
import { quantization } from "./observers.js";
import { type OfTensor, operationFunctions, type Unary } from "./operation-functions.js";
import { operators } from "./operators.js";
import {
  QuantizedTensor,
  qdtypes,
  qschemes,
  quantize_per_channel,
  quantize_per_tensor,
} from "./quantized.js";
import {
  initial_seed,
  manual_seed,
  Normal,
  rand,
  rand_like,
  randint,
  randn,
  randn_like,
  randperm,
} from "./random.js";

/** A method as a function: the tensor comes first, as `input`. */
function asFunction<Call>(name: keyof typeof signatures): Call {
  const where = `torch.${name}`;
  const method: (...bound: never[]) => unknown = methods[name];
  const work = (input: unknown, ...others: never[]): unknown =>
    method.apply(checkTensor(where, "input", input), others);
  return bindFunction(where, ["input", ...signatures[name]], work) as Call;
}

/** A function of this module with its arguments matched first. */
function takes<Call extends (...args: never[]) => unknown>(
  name: string,
  parameters: readonly string[],
  work: (...bound: never[]) => ReturnType<Call>,
): Call {
  return bindFunction(`torch.${name}`, parameters, work) as unknown as Call;
}

/** `torch.max` and `torch.min`: of all values, of two tensors, or along a dimension. */
type Extreme = {
  (input: Tensor): Tensor;
  (input: Tensor, other: Tensor): Tensor;
  (input: Tensor, dim: number, keepdim?: boolean): ValuesAndIndices;
  (input: Tensor, keywords: { dim: number; keepdim?: boolean }): ValuesAndIndices;
  (keywords: { input: Tensor; dim: number; keepdim?: boolean }): ValuesAndIndices;
  (keywords: { input: Tensor; other?: Tensor }): Tensor;
};

function extremeFunction(name: "max" | "min"): Extreme {
  const where = `torch.${name}`;
  const method = Tensor.prototype[name] as (...args: unknown[]) => unknown;
  return ((...args: unknown[]) => {
    const isPair = splitKeywords(args).positional[1] instanceof Tensor || hasKeyword(args, "other");
    const parameters = ["input", ...(isPair ? ["other"] : ["dim?", "keepdim?"])];
    const [input, ...others] = bindArguments(where, parameters, args);
    return method.apply(checkTensor(where, "input", input), others);
  }) as Extreme;
}

/**
 * input . weight^T + bias
 *
 * Source: `torch.nn.functional.linear`.
 *
 * @param input   [..., K]. @param weight  [N, K] or [K]. @param bias  [N]
 * @returns [..., N]; float32 is accumulated in double precision
 * @throws {RangeError} RuntimeError for shapes or dtypes that do not fit
 */
function functionalLinear(
  input: Tensor,
  weight: Tensor,
  bias?: Tensor | null | { bias?: Tensor },
): Tensor;

function functionalLinear(...args: unknown[]): Tensor {
  const where = "torch.nn.functional.linear";
  const [x, w, b] = bindArguments(where, ["input", "weight", "bias?"], args);
  const input = checkTensor(where, "input", x);
  const weight = checkTensor(where, "weight", w);
  const bias = b === undefined || b === null ? undefined : checkTensor(where, "bias", b);
  return linear(where, input, weight, bias);
}

/**
 * Sums of products over dimensions that letters name: "ij,jk->ik" is a product of matrices. Accumulated in double precision
 * and rounded once.
 *
 * Source: `torch.einsum`.
 *
 * @throws {RangeError} RuntimeError for an equation or shapes that do not fit
 */
function einsumFunction(equation: string, ...operands: Tensor[] | [readonly Tensor[]]): Tensor {
  const list = (flattenSizes(operands) as readonly unknown[]).map((one, i) =>
    viewOf(checkTensor("torch.einsum", `operands[${i}]`, one)),
  );
  return tensorOf(einsum("torch.einsum", equation, list));
}

/** `torch.where` with three arguments, or with a condition alone: the indices where it is not 0. */
function whereFunction(
  condition: unknown,
  input?: unknown,
  other?: unknown,
): Tensor | readonly Tensor[] {
  const where = "torch.where";
  const mask = viewOf(checkTensor(where, "condition", condition));
  if (input !== undefined && other !== undefined) {
    const [a, b] = [checkOperand(where, "input", input), checkOperand(where, "other", other)];
    return tensorOf(choose(where, mask, a, b));
  }
  if (input !== undefined || other !== undefined) {
    throw pythonError("TypeError", `${where}: takes a condition alone, or with input and other`);
  }
  const columns = nonzeroColumns(mask);
  return tuple(...columns.map((column) => tensorOf(column)));
}

/**
 * A coordinate of each point of a grid, for each of some vectors. Source: `torch.meshgrid`, with indexing "ij" or
 * "xy".
 */
function meshgrid(
  ...tensors: Tensor[] | [readonly Tensor[]] | [...Tensor[], { indexing: "ij" | "xy" }]
): readonly Tensor[];

function meshgrid(...args: unknown[]): readonly Tensor[] {
  const where = "torch.meshgrid";
  const { positional, keywords } = splitKeywords(args);
  const [indexing = "ij"] = bindArguments(where, ["*", "indexing?"], [keywords]);
  const list = flattenSizes(positional).map((one, i) => checkTensor(where, `tensors[${i}]`, one));
  if ((indexing !== "ij" && indexing !== "xy") || list.some((one) => one.dim() > 1)) {
    throw pythonError("RuntimeError", `${where}: takes vectors, and indexing "ij" or "xy"`);
  }
  const swaps = indexing === "xy" && list.length > 1;
  const order = swaps ? [list[1], list[0], ...list.slice(2)] : list;
  const shape = order.map((one) => one.numel());
  const grids = order.map((one, axis) => {
    const sizes = shape.map((size, other) => (other === axis ? size : 1));
    return one.reshape(sizes).expand(shape);
  });
  return tuple(...(swaps ? [grids[1], grids[0], ...grids.slice(2)] : grids));
}

/** Makes a shape, as torch.Size([3, 1]). */
function makeSize(sequence: readonly number[] = []): Size {
  return size(checkSizes("torch.Size", flattenSizes([sequence])));
}

/**
 * The part of PyTorch's `torch` that the notebooks use. Names, arguments, results and printing are
 * PyTorch 2.6's.
 * @throws {TypeError} AttributeError where an unknown name is read, with the nearest that there is
 */
export const torch = moduleOf(
  {
    Tensor,
    Size: takes<typeof makeSize>("Size", ["sequence?"], makeSize),
    dtype: DType,

    bool: dtypes.bool,
    uint8: dtypes.uint8,
    int8: dtypes.int8,
    int16: dtypes.int16,
    short: dtypes.int16,
    uint16: dtypes.uint16,
    int32: dtypes.int32,
    int: dtypes.int32,
    int64: dtypes.int64,
    long: dtypes.int64,
    float32: dtypes.float32,
    float: dtypes.float32,
    float64: dtypes.float64,
    double: dtypes.float64,
    ...qdtypes,
    ...qschemes,

    e: Math.E,
    inf: Number.POSITIVE_INFINITY,
    nan: Number.NaN,
    pi: Math.PI,

    iinfo: takes<typeof iinfo>("iinfo", ["type"], iinfo),
    finfo: takes<typeof finfo>("finfo", ["type?"], finfo),
    promote_types: takes<typeof promoteTypes>("promote_types", ["type1", "type2"], (a, b) =>
      promoteTypes(checkDType("torch.promote_types", a), checkDType("torch.promote_types", b)),
    ),
    /** The dtype in which two operands are combined. */
    result_type: takes<(tensor: TensorOrScalar, other: TensorOrScalar) => DType>(
      "result_type",
      ["tensor", "other"],
      (a, b) =>
        resultType(
          checkOperand("torch.result_type", "tensor", a),
          checkOperand("torch.result_type", "other", b),
        ),
    ),
    is_tensor: (value: unknown): value is Tensor | QuantizedTensor =>
      value instanceof Tensor || value instanceof QuantizedTensor,
    is_floating_point: asFunction<Unary<boolean>>("is_floating_point"),

    tensor,
    as_tensor: tensor,
    zeros,
    ones,
    empty,
    full,
    zeros_like,
    ones_like,
    empty_like,
    full_like,
    arange,
    linspace,
    logspace,
    eye,
    manual_seed,
    initial_seed,
    rand,
    randn,
    rand_like,
    randn_like,
    randint,
    randperm,
    stack,
    cat,
    concat: cat,
    hstack,
    vstack,
    meshgrid,

    ...operationFunctions,
    ...operators,
    einsum: einsumFunction,
    isin: takes<(elements: Tensor, test_elements: Tensor | number) => Tensor>(
      "isin",
      ["elements", "test_elements"],
      (elements, test) => {
        const view = viewOf(checkTensor("torch.isin", "elements", elements));
        return tensorOf(isin("torch.isin", view, test));
      },
    ),
    searchsorted: takes<Searchsorted>(
      "searchsorted",
      ["sorted_sequence", "input", "*", "right?"],
      (sorted, input, right) => operationFunctions.bucketize(input, sorted, { right }),
    ),

    where: bindFunction("torch.where", ["condition", "input?", "other?"], whereFunction) as Where,
    max: extremeFunction("max"),
    min: extremeFunction("min"),
    reshape: takes<OfTensor<[shape: readonly number[]], { shape: readonly number[] }>>(
      "reshape",
      ["input", "shape"],
      (input, shape) => checkTensor("torch.reshape", "input", input).reshape(shape),
    ),
    flatten:
      asFunction<OfTensor<[start_dim?: number, end_dim?: number], FlattenKeywords>>("flatten"),
    select:
      asFunction<OfTensor<[dim: number, index: number], { dim: number; index: number }>>("select"),
    numel: asFunction<Unary<number>>("numel"),
    clone: asFunction<Unary>("clone"),

    nn: {
      functional: {
        linear: functionalLinear,
        relu: operationFunctions.relu,
        sigmoid: operationFunctions.sigmoid,
        tanh: operationFunctions.tanh,
        softmax: operationFunctions.softmax,
        log_softmax: operationFunctions.log_softmax,
        mse_loss,
        l1_loss,
        cross_entropy,
        one_hot,
        pad,
      },
    },
    distributions: { normal: { Normal } },

    quantize_per_tensor,
    quantize_per_channel,
    fake_quantize_per_tensor_affine,
    fake_quantize_per_channel_affine,
    quantization,
    ao: { quantization },
  } as const,
  "torch",
);

/** `torch.searchsorted`, of one dimension. */
type Searchsorted = (
  sorted_sequence: Tensor,
  input: Tensor,
  keywords?: { right?: boolean },
) => Tensor;

/** `torch.where`. */
type Where = {
  (condition: Tensor): readonly Tensor[];
  (condition: Tensor, input: TensorOrScalar, other: TensorOrScalar): Tensor;
  (keywords: { condition: Tensor; input: TensorOrScalar; other: TensorOrScalar }): Tensor;
};

/** Keywords of `torch.flatten`. */
export interface FlattenKeywords {
  /** The first dimension that is merged. Default: 0. */
  start_dim?: number;
  /** The last one. Default: -1. */
  end_dim?: number;
}
