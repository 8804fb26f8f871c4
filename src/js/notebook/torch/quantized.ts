// torch's quantized tensors: quantize_per_tensor, quantize_per_channel and their results.

import type { QDType as QDTypeName } from "../../base/dtype.js";
import type { ErrorCode } from "../../base/errors.js";
import { INSPECT, show } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import { dequantize as dequantizeCodes } from "../../quantize/dequantize.js";
import { quantizePerChannel, quantizePerTensor } from "../../torch/quantize.js";
import type { TorchQuantizedTensor } from "../../torch/tensor.js";
import { bindArguments, bindMethods } from "../python/arguments.js";
import { refuseUnknownOf } from "../python/attributes.js";
import { type Size, size } from "../python/builtins.js";
import { type PythonExceptionName, pythonError } from "../python/errors.js";
import { PythonFloat, plain } from "../tensor/cast.js";
import { DType, dtypes, type Storage } from "../tensor/dtype.js";
import { checkTensor, Tensor, tensorOf } from "../tensor/tensor.js";
import { checkAxis, rowMajorView } from "../tensor/view.js";

/** A named constant of torch. Compare with `===`. */
class Constant<Name extends string> {
  /** The name without "torch.". */
  declare readonly name: Name;

  static {
    explainReceivers(Constant, "dtype", Object.isFrozen);
  }

  /** @internal */
  constructor(name: Name) {
    this.name = name;
    Object.freeze(this);
  }

  /** As Python prints it. */
  toString(): string {
    return `torch.${this.name}`;
  }

  [INSPECT](): string {
    return this.toString();
  }
}

/** A quantized dtype: torch.qint8, torch.quint8, torch.qint32 or, for observers, torch.quint4x2. */
export class QDType<
  Name extends QDTypeName | "quint4x2" = QDTypeName | "quint4x2",
> extends Constant<Name> {}

/** All quantized dtypes, by name. */
export const qdtypes = {
  qint8: new QDType("qint8"),
  quint8: new QDType("quint8"),
  qint32: new QDType("qint32"),
  quint4x2: new QDType("quint4x2"),
} as const;

/** The names of the quantization schemes, without "torch.". */
export type QSchemeName =
  | "per_tensor_affine"
  | "per_tensor_symmetric"
  | "per_channel_affine"
  | "per_channel_symmetric"
  | "per_channel_affine_float_qparams";

/** A quantization scheme: `torch.per_tensor_affine`, ... */
export class QScheme<Name extends QSchemeName = QSchemeName> extends Constant<Name> {}

/** All quantization schemes, by name. */
export const qschemes = {
  per_tensor_affine: new QScheme("per_tensor_affine"),
  per_tensor_symmetric: new QScheme("per_tensor_symmetric"),
  per_channel_affine: new QScheme("per_channel_affine"),
  per_channel_symmetric: new QScheme("per_channel_symmetric"),
  per_channel_affine_float_qparams: new QScheme("per_channel_affine_float_qparams"),
} as const;

function checkQDType(where: string, value: unknown): QDType<QDTypeName> {
  if (value instanceof QDType && value.name !== "quint4x2") return value as QDType<QDTypeName>;
  const isDType = value instanceof DType || value instanceof QDType;
  throw pythonError(
    isDType ? "RuntimeError" : "TypeError",
    `${where}: dtype must be torch.qint8, torch.quint8 or torch.qint32, got ` +
      (isDType ? value : show(value)),
  );
}

/** A message of the toolkit with Python's names of functions and arguments. */
function inPython(where: string, message: string): string {
  const text = message
    .replace(/^[\w.]+: /, "")
    .replaceAll("options.", "")
    .replaceAll(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g, (name) =>
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
  return `${where}: ${text}`;
}

/** Python's exception for each error code of the library. */
type Exceptions = { readonly [code in ErrorCode]?: PythonExceptionName };

/**
 * Runs a function of the toolkit and converts its errors to Python's: by the given table, and all others
 * to TypeError (from a TypeError) or RuntimeError (from a RangeError).
 */
export function runToolkit<T>(where: string, work: () => T, exceptions: Exceptions = {}): T {
  try {
    return work();
  } catch (error) {
    const code = String((error as { code?: unknown } | null)?.code);
    if (!code.startsWith("ZP_") || code.startsWith("ZP_PYTHON_")) throw error;
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    const usual = error instanceof TypeError ? "TypeError" : "RuntimeError";
    throw pythonError(exceptions[code as ErrorCode] ?? usual, inPython(where, error.message));
  }
}

/** A tensor that owns its values. */
export function tensorFrom(storage: Storage, dtype: DType, shape: readonly number[]): Tensor {
  return tensorOf(rowMajorView(storage, dtype, [...shape]));
}

/** int64, which PyTorch has for zero points. */
export function toInt64(values: ArrayLike<number>): BigInt64Array {
  return BigInt64Array.from(Array.from(values, BigInt));
}

/**
 * A tensor of a quantized dtype: codes, with the scale and zero point that map them to values. It
 * prints the values, then size, dtype and qparams, as PyTorch does.
 */
export class QuantizedTensor {
  readonly #quantized: TorchQuantizedTensor;
  /** torch.qint8, torch.quint8 or torch.qint32. */
  declare readonly dtype: QDType;
  /** The size of every dimension. */
  declare readonly shape: Size;

  static {
    explainReceivers(QuantizedTensor, "Tensor", (object) => #quantized in object);
  }

  /** @internal Use `torch.quantize_per_tensor` or `torch.quantize_per_channel`. */
  constructor(quantized: TorchQuantizedTensor) {
    this.#quantized = quantized;
    this.dtype = qdtypes[quantized.dtype];
    this.shape = size(quantized.shape);
  }

  /** Always true. */
  get is_quantized(): boolean {
    return true;
  }

  /** The number of dimensions. */
  get ndim(): number {
    return this.shape.length;
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
    return this.shape[checkAxis("Tensor.size", dim, this.ndim)];
  }

  /** The number of elements. */
  numel(): number {
    return this.shape.numel();
  }

  /** The codes: an int8, uint8 or int32 tensor. A copy. */
  int_repr(): Tensor {
    const { data, shape, dtype } = this.#quantized;
    const name = dtype.slice(1) as "int8" | "uint8" | "int32";
    return tensorFrom(data.slice(), dtypes[name], shape);
  }

  /** The values that the codes stand for: a float32 tensor. */
  dequantize(): Tensor {
    const { data, shape } = runToolkit("Tensor.dequantize", () => dequantizeCodes(this.#quantized));
    return tensorFrom(data, dtypes.float32, shape);
  }

  /** `torch.per_tensor_affine`, ... */
  qscheme(): QScheme {
    return qschemes[this.#quantized.qscheme];
  }

  /** The one scale, in double precision. @throws {RangeError} RuntimeError per channel */
  q_scale(): number {
    const { scale } = this.#quantized;
    if (typeof scale === "number") return scale;
    throw this.#wrongScheme("q_scale", "q_per_channel_scales");
  }

  /** The one zero point. @throws {RangeError} RuntimeError per channel */
  q_zero_point(): number {
    const { zeroPoint } = this.#quantized;
    if (typeof zeroPoint === "number") return zeroPoint;
    throw this.#wrongScheme("q_zero_point", "q_per_channel_zero_points");
  }

  /** The scale of every channel: float64, or float32 with floating zero points. */
  q_per_channel_scales(): Tensor {
    const { scale, qscheme } = this.#quantized;
    if (typeof scale === "number") throw this.#wrongScheme("q_per_channel_scales", "q_scale");
    const { data } = scale;
    return qscheme === "per_channel_affine_float_qparams"
      ? tensorFrom(Float32Array.from(data), dtypes.float32, [data.length])
      : tensorFrom(Float64Array.from(data), dtypes.float64, [data.length]);
  }

  /** The zero point of every channel: int64, or float32. */
  q_per_channel_zero_points(): Tensor {
    const { zeroPoint } = this.#quantized;
    if (typeof zeroPoint === "number") {
      throw this.#wrongScheme("q_per_channel_zero_points", "q_zero_point");
    }
    const { data } = zeroPoint;
    return data instanceof Float32Array
      ? tensorFrom(data.slice(), dtypes.float32, [data.length])
      : tensorFrom(toInt64(data), dtypes.int64, [data.length]);
  }

  /** The dimension of the channels. */
  q_per_channel_axis(): number {
    const { axis } = this.#quantized;
    if (axis !== undefined) return axis;
    throw pythonError(
      "RuntimeError",
      `Tensor.q_per_channel_axis: a tensor of ${this.qscheme()} has no channels`,
    );
  }

  #wrongScheme(method: string, other: string): Error {
    return pythonError(
      "RuntimeError",
      `Tensor.${method}: not for a tensor of ${this.qscheme()}; it has ${other}()`,
    );
  }

  /** As PyTorch prints it. */
  toString(): string {
    return String(this.#quantized);
  }

  get [Symbol.toStringTag](): string {
    return "Tensor";
  }

  [INSPECT](): string {
    return this.toString();
  }
}

refuseUnknownOf(QuantizedTensor, () => "Tensor");

const NOTHING: readonly string[] = [];

bindMethods("Tensor", QuantizedTensor.prototype, {
  dim: NOTHING,
  size: ["dim?"],
  numel: NOTHING,
  int_repr: NOTHING,
  dequantize: NOTHING,
  qscheme: NOTHING,
  q_scale: NOTHING,
  q_zero_point: NOTHING,
  q_per_channel_scales: NOTHING,
  q_per_channel_zero_points: NOTHING,
  q_per_channel_axis: NOTHING,
});

/** @throws {RangeError} RuntimeError for another dtype than float32 */
export function checkFloat32(where: string, input: unknown): Tensor & { data: Float32Array } {
  const x = checkTensor(where, "input", input);
  if (x.dtype === dtypes.float32) return x as Tensor & { data: Float32Array };
  throw pythonError(
    "RuntimeError",
    `${where}: input must be torch.float32, got ${x.dtype}; convert with float() first`,
  );
}

/**
 * Quantizes with one scale and zero point for the whole tensor.
 *
 * Source: `torch.quantize_per_tensor`.
 *
 * @param input       float32
 * @param scale       a number, or a tensor of one value
 * @param zero_point  an integer that the dtype holds, or a tensor of one value
 * @param dtype       torch.qint8, torch.quint8 or torch.qint32
 * @throws {TypeError} TypeError
 * @throws {RangeError} RuntimeError for an input that is not float32, and for a zero point that the
 *   dtype does not hold
 * @example torch.quantize_per_tensor(x, 0.01, 0, torch.qint8)
 */
export function quantize_per_tensor(
  input: Tensor,
  scale: Tensor | number,
  zero_point: Tensor | number,
  dtype: QDType | { dtype: QDType },
): QuantizedTensor;

export function quantize_per_tensor(...args: unknown[]): QuantizedTensor {
  const where = "torch.quantize_per_tensor";
  const parameters = ["input", "scale", "zero_point", "dtype"];
  const [input, scale, zeroPoint, type] = bindArguments(where, parameters, args);
  const x = checkFloat32(where, input);
  const { name } = checkQDType(where, type);
  if (zeroPoint instanceof PythonFloat) {
    throw pythonError("TypeError", `${where}: zero_point must be an int, got ${zeroPoint}`);
  }
  return runToolkit(
    where,
    () =>
      new QuantizedTensor(
        quantizePerTensor(x, plain(scale) as number, zeroPoint as number, name, {
          compat: "torch",
        }),
      ),
    // Of tensors only the sizes can be wrong, which PyTorch reports as a RuntimeError.
    scale instanceof Tensor && zeroPoint instanceof Tensor
      ? { ZP_INVALID_SCALE: "RuntimeError", ZP_INVALID_ZERO_POINT: "RuntimeError" }
      : {},
  );
}

/**
 * Quantizes with a scale and a zero point for every index of a dimension. Floating zero points, such
 * as `torch.zeros` makes, select the scheme `torch.per_channel_affine_float_qparams`.
 *
 * Source: `torch.quantize_per_channel`.
 *
 * @param input        float32
 * @param scales       a floating tensor of one dimension, as long as input's dimension `axis`
 * @param zero_points  a tensor of the same length
 * @param axis         the dimension of the channels, counted from 0 only
 * @param dtype        torch.qint8, torch.quint8 or, with integer zero points, torch.qint32
 * @throws {TypeError} TypeError
 * @throws {RangeError} RuntimeError for an input that is not float32, and for lengths, zero points or
 *   an axis that do not fit
 * @example torch.quantize_per_channel(x, scales, zero_points, { axis: 0, dtype: torch.qint8 })
 */
export function quantize_per_channel(
  input: Tensor,
  scales: Tensor,
  zero_points: Tensor,
  axis: number | { axis: number; dtype: QDType },
  dtype?: QDType | { dtype: QDType },
): QuantizedTensor;

export function quantize_per_channel(...args: unknown[]): QuantizedTensor {
  const where = "torch.quantize_per_channel";
  const parameters = ["input", "scales", "zero_points", "axis", "dtype"];
  const [input, scales, zeroPoints, axis, type] = bindArguments(where, parameters, args);
  const x = checkFloat32(where, input);
  const steps = checkTensor(where, "scales", scales) as Tensor & { data: Float32Array };
  const zeros = checkTensor(where, "zero_points", zeroPoints) as Tensor & { data: Int32Array };
  const { name } = checkQDType(where, type);
  return runToolkit(
    where,
    () =>
      new QuantizedTensor(
        quantizePerChannel(x, steps, zeros, axis as number, name, { compat: "torch" }),
      ),
    { ZP_INVALID_SCALE: "RuntimeError" },
  );
}
