// input · weightᵀ + bias, with float32 input and float or quantized weights.

import type { NumberArray } from "./arrays.js";
import {
  type CheckedTensor,
  checkChoice,
  checkOptions,
  checkTensor,
  looksQuantized,
  sizeOf,
  type TensorInput,
} from "./check.js";
import type { Core } from "./core.js";
import type { OutOption } from "./dequantize.js";
import { DTYPES, type DType } from "./dtype.js";
import { checkStatus, rangeError } from "./errors.js";
import { checkEmpty } from "./granularity.js";
import { activeCore } from "./init.js";
import { aligned } from "./memory.js";
import { PackedWeight, type WeightCodes } from "./packed-weight.js";
import {
  type CheckedQuantized,
  checkQuantized,
  listed,
  type QuantizedTensorInput,
} from "./qparams.js";
import { checkQTensor, looksTorchQuantized, type TorchQuantizedTensorInput } from "./qtensor.js";
import { showShape } from "./show.js";
import { checkTensorOut, type Tensor } from "./tensor.js";

/**
 * How exactly to compute: `"exact"`, the default, to about one rounding of float32 and with the same
 * bits in every build, engine and batch; or `"float32"`, which may be faster, depending on the build.
 */
export type Accumulate = "exact" | "float32";

/** What `linear` takes beside its tensors: how exactly to compute, and where to write the result. */
export interface LinearOptions extends OutOption {
  /** Default: `"exact"`. */
  accumulate?: Accumulate | undefined;
}

export function checkAccumulate(where: string, value: unknown): Accumulate {
  return checkChoice(where, "options.accumulate", value, ["exact", "float32"], "exact");
}

// ---------------------------------------------------------------------------------------------
// Weights.

/** A float weight after its checks, of shape [outFeatures, inFeatures]. */
export interface FloatWeight {
  readonly outFeatures: number;
  readonly inFeatures: number;
  readonly values: NumberArray;
}

/** The lengths of a weight's two axes. */
export function checkMatrix(
  where: string,
  shape: readonly number[],
  axes = "outFeatures, inFeatures",
): [number, number] {
  const [rows, columns] = shape;
  if (shape.length !== 2) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `weight must have shape [${axes}], got ${showShape(shape)}`,
    );
  }
  checkEmpty(where, shape, Math.max(rows, columns));
  return [rows, columns];
}

function checkFloatWeight(where: string, value: unknown): FloatWeight {
  const { data, shape } = checkTensor(where, "weight", value);
  const [outFeatures, inFeatures] = checkMatrix(where, shape);
  return { outFeatures, inFeatures, values: data };
}

/**
 * A weight of dtype qint8 as the same weight of dtype int8: w = (code − zeroPoint) · scale in both.
 * Anything else as it is.
 */
export function fromTorch(where: string, weight: unknown): unknown {
  if (!looksTorchQuantized(weight)) return weight;
  const { codes, shape, dtype, qparams } = checkQTensor(where, "weight", weight);
  if (dtype !== "qint8") {
    throw rangeError(
      "ZP_UNSUPPORTED_DTYPE",
      where,
      `weight.dtype must be "qint8" for the weight of a linear layer, got "${dtype}"`,
    );
  }
  if (!("axis" in qparams)) return { data: codes, shape, dtype: "int8", ...qparams };
  const { axis, scales, zeroPoints } = qparams;
  if (zeroPoints instanceof Float32Array) {
    throw rangeError(
      "ZP_INVALID_ZERO_POINT",
      where,
      "weight.zeroPoint must be integers, as an Int32Array, got floats: scheme " +
        `per_channel_affine_float_qparams`,
    );
  }
  return { data: codes, shape, dtype: "int8", scale: scales, zeroPoint: zeroPoints, axis };
}

export function checkWeightDType(where: string, argument: string, dtype: DType): void {
  if (DTYPES[dtype].bits <= 8) return;
  throw rangeError(
    "ZP_UNSUPPORTED_DTYPE",
    where,
    `${argument} must be a dtype of 2 to 8 bits for the weight of a linear layer, got "${dtype}"`,
  );
}

export function weightCodes(where: string, checked: CheckedQuantized): WeightCodes {
  const { shape, codes, dtype, qparams, slices } = checked;
  const { scale, zeroPoint } = qparams;
  const [outFeatures, inFeatures] = checkMatrix(where, shape);
  checkWeightDType(where, "weight.dtype", dtype);
  return {
    outFeatures,
    inFeatures,
    dtype,
    codes,
    granularity: weightGranularity(where, checked, outFeatures, inFeatures),
    groupSize: slices.groupSize ?? 0,
    scales: listed(scale),
    zeroPoints: listed(zeroPoint),
  };
}

function weightGranularity(
  where: string,
  { qparams: { scale }, slices }: CheckedQuantized,
  outFeatures: number,
  inFeatures: number,
): WeightCodes["granularity"] {
  if (slices.granularity === "perGroup") return "perGroup";
  if (slices.granularity === "perChannel") return slices.axis === 0 ? "perOutput" : "perInput";
  if (typeof scale === "number" || scale.data.length === 1) return "perTensor";
  const columns = scale.shape.at(-1);
  const rows = scale.shape.at(-2) ?? 1;
  if (rows === outFeatures && columns === 1) return "perOutput";
  if (rows === 1 && columns === inFeatures) return "perInput";
  throw rangeError(
    "ZP_SHAPE_MISMATCH",
    where,
    "weight.scale must be one number, one per row, one per column or one per group, " +
      `got shape ${showShape(scale.shape)} for a weight of shape ` +
      showShape([outFeatures, inFeatures]),
  );
}

export function checkBias(
  where: string,
  argument: string,
  value: unknown,
  outFeatures: number,
): NumberArray | undefined {
  if (value === undefined || value === null) return undefined;
  const { data, shape, size } = checkTensor(where, argument, value);
  if (shape.length !== 1 || size !== outFeatures) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must have shape [${outFeatures}], one value per row of weight, ` +
        `got ${showShape(shape)}`,
    );
  }
  return data;
}

/** Rows of input. */
export type Rows = Pick<CheckedTensor, "data" | "size"> & { readonly rows: number };

/** Rows of input after their checks, and the shape of what they give. */
export interface Batch extends CheckedTensor, Rows {
  readonly outShape: number[];
  readonly outSize: number;
}

/** The input as rows of inFeatures values, and the shape of what they give. */
export function checkInput(
  where: string,
  value: unknown,
  { outFeatures, inFeatures }: Pick<FloatWeight, "outFeatures" | "inFeatures">,
): Batch {
  const { data, shape, size } = checkTensor(where, "input", value);
  if (shape.at(-1) !== inFeatures) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `input must have ${inFeatures} values on its last axis, as weight of shape ` +
        `${showShape([outFeatures, inFeatures])} has, got shape ${showShape(shape)}`,
    );
  }
  const leading = shape.slice(0, -1);
  const outShape = [...leading, outFeatures];
  const outSize = sizeOf(outShape);
  if (outSize >= 2 ** 32) {
    throw rangeError(
      "ZP_SIZE_OVERFLOW",
      where,
      `the result must have fewer than 2^32 values, got shape ${showShape(outShape)}`,
    );
  }
  return { data, shape, size, rows: sizeOf(leading), outShape, outSize };
}

/** input · weightᵀ + bias with float weights, all of them copied for the call. */
function multiplyFloats(
  { module, memory }: Core,
  where: string,
  { outFeatures, inFeatures, values }: FloatWeight,
  bias: NumberArray | undefined,
  accumulate: Accumulate,
  { data, size, rows }: Rows,
  out: Float32Array,
): void {
  const [xAt, valuesAt, biasAt, outAt] = memory.layOut(
    where,
    4 * size,
    4 * outFeatures * inFeatures,
    bias === undefined ? 0 : 4 * outFeatures,
    4 * rows * outFeatures,
  );
  try {
    memory.copyIn(where, "Float32Array", xAt, data, size);
    memory.copyIn(where, "Float32Array", valuesAt, values, outFeatures * inFeatures);
    if (bias !== undefined) {
      memory.copyIn(where, "Float32Array", biasAt, bias, outFeatures);
    }
    const status = module.linear(
      xAt,
      rows,
      inFeatures,
      valuesAt,
      outFeatures,
      bias === undefined ? 0 : biasAt,
      accumulate,
      outAt,
    );
    checkStatus(where, status);
    memory.read(outAt, out, rows * outFeatures);
  } finally {
    memory.end();
  }
}

/** input · weightᵀ + bias with a packed weight, whose bias it is. */
export function multiplyPacked(
  { module, memory }: Pick<Core, "module" | "memory">,
  where: string,
  weight: PackedWeight,
  accumulate: Accumulate,
  data: NumberArray,
  rows: number,
  out: Float32Array,
): void {
  const size = rows * weight.inFeatures;
  // Reserved as one, for a list of three places would be garbage in every call.
  const xBytes = aligned(4 * size);
  const scratchBytes = aligned(weight.scratchBytes(rows));
  const xAt = memory.reserve(where, xBytes + scratchBytes + 4 * rows * weight.outFeatures);
  const scratchAt = xAt + xBytes;
  const outAt = scratchAt + scratchBytes;
  try {
    memory.copyIn(where, "Float32Array", xAt, data, size);
    const status = module.linearPacked(
      xAt,
      rows,
      weight.at,
      weight.biasAt,
      accumulate,
      scratchAt,
      outAt,
    );
    checkStatus(where, status);
    if (memory.holds(xAt)) {
      memory.read(outAt, out, rows * weight.outFeatures);
      return;
    }
  } finally {
    memory.end();
  }
  multiplyPacked({ module, memory }, where, weight, accumulate, data, rows, out);
}

// ---------------------------------------------------------------------------------------------
// The function.

/**
 * Multiplies rows by a weight matrix: input · weightᵀ + bias. A quantized weight is used as it is,
 * w = scale · (q − zeroPoint), and never expanded to floats in memory. It is packed for every call;
 * `QuantizedLinear` packs it once.
 *
 * Results are exact to about one rounding to float32 and have the same bits everywhere, unless
 * `accumulate: "float32"` asks for a path that may be faster:
 *
 *     "exact"     |y − exact| ≤ (K + 1) · 2⁻²⁴ · Σ|x·w| + 2⁻²⁴ · |bias|
 *     "float32"   float weights: |y − exact| ≤ (K + 2) · 2⁻²³ · (Σ|x·w| + |bias|), as long as float32
 *                 can hold all products and their sums as normal numbers; quantized weights: the
 *                 bound of "exact"
 *
 * NaN and infinities propagate as in torch.nn.functional.linear.
 *
 * Source: torch.nn.functional.linear, and quantized_linear_W8A32_without_bias of the course
 * notebooks, which adds the zero point instead of subtracting it.
 *
 * @param input   float32 of shape [..., K]
 * @param weight  float32 of shape [N, K], or a quantized tensor of that shape and 2 to 8 bits: per
 *   tensor, per channel on either axis or per group, symmetric or affine; qint8 with integer zero
 *   points too. N and K may be 0
 * @param bias    float32 of shape [N]; default: none
 * @param options.accumulate  `"exact"` (default) or `"float32"`
 * @param options.out         where to write the result, apart from everything else
 * @returns float32 of shape [..., N]
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_CODES`, `ZP_INVALID_OPTIONS`, `ZP_INVALID_OUT`
 * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OUT`, `ZP_UNSUPPORTED_DTYPE` for more than 8 bits,
 *   `ZP_SIZE_OVERFLOW`, `ZP_OUT_OF_MEMORY`, and what `dequantize` throws for a quantized weight
 * @example
 * linear(tensor([1, 2]), tensor([[3, 4], [5, 6]]), tensor([0.5, 0])).data
 * // Float32Array [11.5, 17]
 */
export function linear(
  input: TensorInput,
  weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
  bias?: TensorInput | null | undefined,
  options?: LinearOptions,
): Tensor {
  const where = "linear";
  return runLinear(activeCore(where), where, input, weight, bias, options);
}

/** What `linear` takes, after its checks. */
export interface CheckedLinear {
  readonly weight: FloatWeight | WeightCodes;
  readonly batch: Batch;
  readonly bias: NumberArray | undefined;
  readonly accumulate: Accumulate;
}

/** What a product is computed from. */
export interface Product extends Omit<CheckedLinear, "batch"> {
  readonly batch: Rows;
}

/** Checks what `linear` takes. */
export function checkLinear(
  where: string,
  input: unknown,
  weight: unknown,
  bias: unknown,
  accumulate: unknown,
): CheckedLinear {
  const checked = looksQuantized(weight)
    ? weightCodes(where, checkQuantized(where, "weight", fromTorch(where, weight), true))
    : checkFloatWeight(where, weight);
  return {
    weight: checked,
    batch: checkInput(where, input, checked),
    bias: checkBias(where, "bias", bias, checked.outFeatures),
    accumulate: checkAccumulate(where, accumulate),
  };
}

/** The arrays that a product is computed from. */
export const arraysOfCall = ({
  batch,
  weight,
  bias,
}: CheckedLinear): (NumberArray | undefined)[] => [
  batch.data,
  "values" in weight ? weight.values : weight.codes,
  bias,
];

/** `linear`, on a core and in the name of another function. */
export function runLinear(
  core: Core,
  where: string,
  input: TensorInput,
  weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
  bias?: TensorInput | null | undefined,
  options?: LinearOptions,
): Tensor {
  const given = checkOptions(where, options, ["accumulate", "out"]);
  const call = checkLinear(where, input, weight, bias, given.accumulate);
  const { outShape, outSize } = call.batch;
  const result = checkTensorOut(
    where,
    "options.out",
    given.out,
    outShape,
    outSize,
    arraysOfCall(call),
  );
  if (outSize > 0) multiply(core, where, call, result.data);
  return result;
}

/** A product that has values, computed. A quantized weight is packed for it. */
export function multiply(core: Core, where: string, product: Product, out: Float32Array): void {
  const { weight, batch, bias, accumulate } = product;
  if ("values" in weight) {
    multiplyFloats(core, where, weight, bias, accumulate, batch, out);
    return;
  }
  const packed = new PackedWeight(core, where, weight, bias);
  try {
    multiplyPacked(core, where, packed, accumulate, batch.data, batch.rows, out);
  } finally {
    packed.dispose();
  }
}
