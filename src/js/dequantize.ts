// integer values + qparams -> tensor.

import { checkOptions, checkTensor, type TensorInput } from "./check.js";
import { DTYPES } from "./dtype.js";
import { applyGivenOrChosen, applyQParams } from "./elementwise.js";
import { activeCore } from "./init.js";
import {
  type AnyQuantizeOptions,
  arraysOf,
  checkQuantized,
  checkQuantizeOptions,
  type QuantizedTensorInput,
  type ScaleAndZeroPoint,
} from "./qparams.js";
import { checkQTensor, looksTorchQuantized, type TorchQuantizedTensorInput } from "./qtensor.js";
import { quantizeOptions } from "./quantize.js";
import { checkTensorOut, type Tensor } from "./tensor.js";
import { runTorch } from "./torch-elementwise.js";

/** Where a float32 result is written: an array of its length, or a tensor of its shape. */
export interface OutOption {
  /** Apart from every input. The result uses its memory; a `Tensor` is itself the result. */
  out?: Float32Array | Tensor | undefined;
}

/**
 * Turns codes back into values:
 *
 *     data[i] = scale * (q.data[i] - q.zeroPoint)
 *
 * in separately rounded float32 operations (int32 codes are rounded to float32 first).
 *
 * A tensor of dtype qint8, quint8 or qint32 is dequantized as PyTorch does it:
 *
 *     per tensor       scale * float(q.data[i] - q.zeroPoint), the difference in wrapping int32
 *     per channel      float(double(float(q.data[i]) - float(zeroPoint)) * scale)
 *     float zero point (float(q.data[i]) - zeroPoint) * scale, all in float32
 *
 * Source: linear_dequantization of the course notebooks; Tensor.dequantize() of PyTorch.
 *
 * @param q  what `quantize`, `quantizePerTensor` or `quantizePerChannel` returns, or an object with
 *   the same fields
 * @param options.out  where to write the values, apart from `q`
 * @returns float32, of the shape of `q`
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_CODES` if `q.data` is not of the dtype's type
 * @throws {RangeError} `ZP_INVALID_CODES` if a code of less than 8 bits is out of range,
 *   `ZP_SHAPE_MISMATCH`, `ZP_INVALID_SCALE`, `ZP_INVALID_ZERO_POINT`, `ZP_INVALID_OUT`,
 *   `ZP_INVALID_SCHEME` if it is symmetric with an unsigned dtype, `ZP_OUT_OF_MEMORY`
 * @example dequantize(quantize(tensor([0, 2.5]), { scale: 0.5, zeroPoint: 3 })).data // Float32Array [0, 2.5]
 */
export function dequantize(
  q: QuantizedTensorInput | TorchQuantizedTensorInput,
  options?: OutOption,
): Tensor {
  const where = "dequantize";
  const core = activeCore(where);
  const checked = looksTorchQuantized(q)
    ? checkQTensor(where, "q", q)
    : checkQuantized(where, "q", q, false);
  const { codes, shape, size } = checked;
  const { out } = checkOptions(where, options, ["out"]);
  // Those of PyTorch's channels are copies.
  const inputs = [codes, ...arraysOf(checked.qparams as Partial<ScaleAndZeroPoint>)];
  const result = checkTensorOut(where, "options.out", out, shape, size, inputs);
  if ("scheme" in checked) {
    const { dtype, qparams } = checked;
    const { arrayName } = DTYPES[dtype];
    applyQParams(core, where, "dequantize", arrayName, codes, size, qparams, dtype, result.data);
  } else {
    const x = { data: codes, shape, size };
    const operation = { kind: "dequantize", dtype: checked.dtype } as const;
    runTorch(core, where, x, checked.qparams, operation, result.data);
  }
  return result;
}

/**
 * Quantizes and dequantizes in one pass: the values that the codes would stand for. Bit for bit
 * `dequantize(quantize(x, options))`, without the codes.
 *
 * Source: linear_q_with_scale_and_zero_point, then linear_dequantization, of the course notebooks.
 * torch.fake_quantize_* rounds before adding the zero point and multiplies by the reciprocal.
 *
 * @param x  float32, any shape; other numbers are rounded to float32
 * @param options  those of `quantize`, but `out` is a Float32Array or a Tensor
 * @returns float32, of the shape of `x`
 * @throws {TypeError|RangeError} what `quantize` throws
 * @example fakeQuantize(tensor([0.3, 0.9]), { scale: 0.5 }).data // Float32Array [0.5, 1]
 */
export function fakeQuantize(x: TensorInput, options?: AnyQuantizeOptions & OutOption): Tensor {
  const where = "fakeQuantize";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const { data, shape, size } = checkedX;
  const given = quantizeOptions(where, options);
  const { out } = given;
  const checked = checkQuantizeOptions(where, given, shape, false);
  const inputs = [data, ...arraysOf(checked.given)];
  const result = checkTensorOut(where, "options.out", out, shape, size, inputs);
  applyGivenOrChosen(core, where, "x", checkedX, checked, "fakeQuantize", result.data);
  return result;
}
