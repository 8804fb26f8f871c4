// integer values + qparams -> tensor.

import { DTYPES } from "../base/dtype.js";
import { typeError } from "../base/errors.js";
import { checkOptions } from "../base/options.js";
import { activeCore } from "../core/init.js";
import { QuantizedFields, readQuantized } from "../tensor/check.js";
import { checkTensorOut, type OutOption, type Tensor } from "../tensor/tensor.js";
import { runTorch } from "../torch/elementwise.js";
import {
  checkQTensor,
  looksTorchQuantized,
  type TorchQuantizedTensorInput,
} from "../torch/tensor.js";
import { applyQParams } from "./apply-qparams.js";
import { checkQuantized } from "./check.js";
import { dequantizeFloats, type FloatQuantizedTensor, isFloatDType } from "./float-codes.js";
import { checkRule, type RuleOption } from "./options.js";
import { arraysOf, type QuantizedTensorInput } from "./quantized-tensor.js";

/**
 * Turns codes back into values:
 *
 *     data[i] = scale * (q.data[i] - q.zeroPoint)
 *
 * in separately rounded float32 operations (int32 codes are rounded to float32 first), or
 *
 *     data[i] = scale * q.data[i] + q.offset
 *
 * for a quantized tensor with an offset.
 *
 * Codes that are floats (`"float8_e4m3fn"`, `"float8_e5m2"`, `"float4_e2m1"`) are multiplied by their scale.
 *
 * A tensor of dtype qint8, quint8 or qint32 is dequantized as PyTorch does it:
 *
 *     per tensor       scale * float(q.data[i] - q.zeroPoint), the difference in wrapping int32
 *     per channel      float(double(float(q.data[i]) - float(zeroPoint)) * scale)
 *     float zero point (float(q.data[i]) - zeroPoint) * scale, all in float32
 *
 * Source: linear_dequantization of the course notebooks; Tensor.dequantize() of PyTorch.
 *
 * @param q  a result of `quantize`, `quantizePerTensor` or `quantizePerChannel`, or an object with
 *   the same fields
 * @param options.out  where to write the values, apart from `q`
 * @param options.rule  `"onnx"` and `"torch"` take any scale, negative ones and 0 too; the values are by the
 *   same formula, but for int32, whose differences of codes and zero points are exact integers. Default:
 *   `"course"`, which rounds both to float32 first, and whose scales are finite and > 0
 * @returns float32, of the shape of `q`
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_CODES` if `q.data` is not of the dtype's type
 * @throws {RangeError} `ZP_INVALID_CODES` if a code of less than 8 bits is out of range,
 *   `ZP_SHAPE_MISMATCH`, `ZP_INVALID_SCALE`, `ZP_INVALID_ZERO_POINT`, `ZP_INVALID_OUT`,
 *   `ZP_INVALID_SCHEME` if it is symmetric with an unsigned dtype, `ZP_OUT_OF_MEMORY`
 * @example dequantize(quantize(tensor([0, 2.5]), { scale: 0.5, zeroPoint: 3 })).data // Float32Array [0, 2.5]
 */
export function dequantize(
  q: QuantizedTensorInput | TorchQuantizedTensorInput | FloatQuantizedTensor,
  options?: OutOption & RuleOption,
): Tensor {
  const where = "dequantize";
  const core = activeCore(where);
  const given = readQuantized(q);
  const known = checkOptions(where, options, ["out", "rule"]);
  const rule = checkRule(where, known);
  const { out } = known;
  if (given instanceof QuantizedFields && isFloatDType(given.dtype)) {
    return dequantizeFloats(where, given, rule, out);
  }
  if (looksTorchQuantized(given)) {
    const { codes, shape, size, dtype, qparams } = checkQTensor(where, "q", given);
    if (known.rule !== undefined && rule !== "torch") {
      const problem = `options.rule of a tensor of dtype ${dtype} is "torch", got "${rule}"`;
      throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
    }
    const { result, data } = checkTensorOut(where, "options.out", out, shape, size, [codes]);
    const x = { data: codes, shape, size };
    runTorch(core, where, x, qparams, { kind: "dequantize", dtype }, data);
    return result;
  }
  const { codes, shape, size, dtype, qparams } = checkQuantized(where, "q", given, false, rule);
  const inputs = [codes, ...arraysOf(qparams)];
  const { result, data } = checkTensorOut(where, "options.out", out, shape, size, inputs);
  const { arrayName } = DTYPES[dtype];
  applyQParams(core, where, "dequantize", arrayName, codes, size, qparams, dtype, data);
  return result;
}
