// torchao's affine quantization of n-dimensional blocks: codes and values, in the dtype of the input.

import { checkChoice, wrongKind } from "../../base/check.js";
import { typeError } from "../../base/errors.js";
import { ownFields } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import { roundHalfEven } from "../../base/round.js";
import { ARRAYS, newArray } from "../../base/typed-arrays.js";
import { type Blocks, forRuns } from "../../tensor/blocks.js";
import { checkTensor, type TensorInput } from "../../tensor/check.js";
import { sizeOf } from "../../tensor/shape.js";
import {
  type AffineQuantized,
  type BlockTensor,
  boundIn,
  CODE_OPTIONS,
  type CodeOptions,
  type Codes,
  checkBlockNumbers,
  checkCodeOptions,
  clamp,
  limitsOf,
  resultOf,
  type Values,
  valuesOf,
  type ZeroPointDomain,
} from "./arguments.js";
import { checkBlocks } from "./blocks.js";
import { FLOAT_DTYPES, type FloatDType, promoted, roundingOf, toInt32 } from "./floats.js";

/** Options of `quantizeAffine` and `fakeQuantizeAffine`. */
export interface QuantizeAffineOptions extends CodeOptions {
  /** The values of a block on each axis, which divide it; -1: all of it. */
  blockSize: readonly number[];
  /** Units per step: one number for each block, or one for all. */
  scale: TensorInput | BlockTensor | number;
  /** Not with the domain `"none"`. */
  zeroPoint?: TensorInput | BlockTensor | number | undefined;
}

/** Options of `dequantizeAffine`. */
export interface DequantizeAffineOptions {
  /** Default: `"float32"`. */
  outputDtype?: FloatDType | undefined;
}

/** Qparams of blocks after their checks. */
interface BlockQParams {
  readonly scale: Float32Array;
  readonly scaleDtype: FloatDType;
  /** undefined in the domain `"none"`. */
  readonly zeroPoint: Float32Array | undefined;
  readonly zeroDtype: string;
}

function checkBlockQParams(
  where: string,
  prefix: string,
  scale: unknown,
  zeroPoint: unknown,
  domain: ZeroPointDomain,
  blocks: Blocks,
): BlockQParams & { readonly stored: { scale: BlockTensor; zeroPoint?: BlockTensor } } {
  const scales = checkBlockNumbers(where, `${prefix}.scale`, scale, blocks);
  const isFloat = (FLOAT_DTYPES as readonly string[]).includes(scales.dtype);
  const scaleDtype = (isFloat ? scales.dtype : "float32") as FloatDType;
  if (domain === "none") {
    if (zeroPoint !== undefined) {
      const problem = `${prefix}.zeroPoint must be undefined with zeroPointDomain: "none"`;
      throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
    }
    const stored = { scale: scales.given };
    return { scale: scales.values, scaleDtype, zeroPoint: undefined, zeroDtype: "int32", stored };
  }
  if (zeroPoint === undefined) {
    const problem = `${prefix}.zeroPoint is needed; zeroPointDomain: "none" has none`;
    throw typeError("ZP_INVALID_ZERO_POINT", where, problem);
  }
  const zeros = checkBlockNumbers(where, `${prefix}.zeroPoint`, zeroPoint, blocks);
  const stored = { scale: scales.given, zeroPoint: zeros.given };
  return {
    scale: scales.values,
    scaleDtype,
    zeroPoint: zeros.values,
    zeroDtype: zeros.dtype,
    stored,
  };
}

/**
 * Calls write(index, code, block) with the code of every value as a float: rounded and clamped, NaN and -0 kept.
 */
function forCodes(
  where: string,
  { values, dtype }: Values,
  blocks: Blocks,
  q: BlockQParams,
  { low, high, domain, isTorch }: Codes,
  write: (index: number, code: number, block: number) => void,
): void {
  const { scale, scaleDtype, zeroPoint, zeroDtype } = q;
  const inScale = roundingOf(scaleDtype);
  const product = promoted(dtype, scaleDtype);
  const inProduct = roundingOf(product);
  if (domain === "float") {
    const zero = zeroPoint as Float32Array;
    const zeroType = promoted(scaleDtype, zeroDtype);
    const [inZero, inLow] = [roundingOf(zeroType), roundingOf(promoted(dtype, zeroType))];
    const inQuotient = roundingOf(promoted(promoted(dtype, zeroType), scaleDtype));
    const middle = (high + low + 1) / 2;
    forRuns(blocks, (start, count, block) => {
      const lowest = inZero(zero[block] - inScale(scale[block] * middle));
      for (let i = start; i < start + count; i++) {
        const steps = roundHalfEven(inQuotient(inLow(values[i] - lowest) / scale[block]));
        write(i, clamp(steps, low, high), block);
      }
    });
    return;
  }
  const sum = zeroPoint === undefined ? product : promoted(product, zeroDtype);
  const inSum = roundingOf(sum);
  const [lowest, highest] = [boundIn(where, low, sum), boundIn(where, high, sum)];
  forRuns(blocks, (start, count, block) => {
    const reciprocal = inScale(1 / scale[block]);
    const zero = zeroPoint === undefined ? undefined : zeroPoint[block];
    for (let i = start; i < start + count; i++) {
      let code = roundHalfEven(inProduct(values[i] * reciprocal));
      if (zero !== undefined) code = inSum(code + zero);
      if (!isTorch && Number.isNaN(code)) code = zero ?? 0;
      write(i, clamp(code, lowest, highest), block);
    }
  });
}

/** The function from a code, and its block, to its value in a dtype. */
function dequantizerOf(
  { scale, scaleDtype, zeroPoint }: BlockQParams,
  { low, high, domain }: Pick<Codes, "low" | "high" | "domain">,
  output: FloatDType,
): (code: number, block: number) => number {
  const round = roundingOf(output);
  if (domain === "float") {
    const zero = zeroPoint as Float32Array;
    const middle = (high + low + 1) / 2;
    return (code, block) => round(round(round(code - middle) * scale[block]) + zero[block]);
  }
  const inProduct = roundingOf(promoted(output, scaleDtype));
  return (code, block) => {
    let steps = round(Math.fround(code));
    if (zeroPoint !== undefined) steps = round(steps - round(zeroPoint[block]));
    return round(inProduct(steps * scale[block]));
  };
}

const QUANTIZE_OPTIONS = [...CODE_OPTIONS, "blockSize", "scale", "zeroPoint"];

function checkQuantize(where: string, x: TensorInput, options: unknown) {
  const given = checkOptions(where, options, QUANTIZE_OPTIONS);
  const codes = checkCodeOptions(where, given);
  const input = valuesOf(where, "x", x);
  const blocks = checkBlocks(where, given.blockSize, input.shape);
  const { scale, zeroPoint } = given;
  const q = checkBlockQParams(where, "options", scale, zeroPoint, codes.domain, blocks);
  return { codes, input, blocks, q };
}

/**
 * Quantizes the blocks of a tensor, each operation rounded to a dtype of its own (that of the values, of the scale, or
 * float32 if these differ):
 *
 *     data = clamp(round_half_even(x * (1 / scale)) + zeroPoint, quantMin, quantMax)
 *
 * and with `zeroPointDomain: "float"`, where middle = (quantMax + quantMin + 1) / 2:
 *
 *     data = clamp(round_half_even((x - (zeroPoint - scale * middle)) / scale), quantMin, quantMax)
 *
 * Source: quantize_affine, _quantize_affine_tinygemm and _quantize_affine_no_zero_point of torchao 0.19.
 *
 * @param x  float32, float16 or bfloat16, any shape
 * @returns the codes as plain data
 * @throws {RangeError} `ZP_INVALID_GROUP_SIZE`, `ZP_SHAPE_MISMATCH`
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_ZERO_POINT`, `ZP_CONFLICTING_OPTIONS`
 */
export function quantizeAffine(x: TensorInput, options: QuantizeAffineOptions): AffineQuantized {
  const where = "quantizeAffine";
  const { codes, input, blocks, q } = checkQuantize(where, x, options);
  const { arrayName } = limitsOf(codes.dtype);
  const data = newArray(where, ARRAYS[arrayName] as Int32ArrayConstructor, input.values.length);
  forCodes(where, input, blocks, q, codes, (i, code) => {
    data[i] = toInt32(code);
  });
  return {
    data,
    shape: input.shape,
    dtype: codes.dtype,
    blockSize: [...blocks.size],
    ...q.stored,
    compute: input.dtype,
    ...(codes.isNarrow ? { quantMin: codes.low, quantMax: codes.high } : {}),
    ...(codes.domain === "int" ? {} : { zeroPointDomain: codes.domain }),
  };
}

/**
 * Turns codes of blocks back into values, each operation rounded to the output's dtype:
 *
 *     (data - zeroPoint) * scale
 *     (data - middle) * scale + zeroPoint     with zeroPointDomain: "float"
 *
 * Source: dequantize_affine, _dequantize_affine_tinygemm and _dequantize_affine_no_zero_point of torchao 0.19.
 *
 * @param q  a result of `quantizeAffine`, or an object with the same fields
 * @returns values of the output's dtype: a `Float32Array`, or bit patterns of half floats
 */
export function dequantizeAffine(
  q: Omit<AffineQuantized, "compute">,
  options?: DequantizeAffineOptions,
): { data: Float32Array | Uint16Array; shape: number[]; dtype: FloatDType } {
  const where = "dequantizeAffine";
  const { outputDtype } = checkOptions(where, options, ["outputDtype"]);
  const output = checkChoice(where, "options.outputDtype", outputDtype, FLOAT_DTYPES, "float32");
  if (typeof q !== "object" || q === null) {
    throw wrongKind("ZP_INVALID_TENSOR", where, "q", "a result of quantizeAffine", q);
  }
  const fields = ownFields(q);
  const codes = checkCodeOptions(where, fields);
  const { data, shape } = checkTensor(where, "q", { data: fields.data, shape: fields.shape });
  const blocks = checkBlocks(where, fields.blockSize, shape);
  const { scale, zeroPoint } = fields;
  const own = checkBlockQParams(where, "q", scale, zeroPoint, codes.domain, blocks);
  const value = dequantizerOf(own, codes, output);
  const values = newArray(where, Float32Array, sizeOf(shape));
  const given = data as unknown as ArrayLike<number>;
  forRuns(blocks, (start, count, block) => {
    for (let i = start; i < start + count; i++) values[i] = value(given[i], block);
  });
  return resultOf(where, values, shape, output);
}

/**
 * Quantizes and dequantizes without integers in between, so that NaN and -0 survive with `compat: "torch"`. Values have
 * the dtype of `x`.
 *
 * Source: _fake_quantize_affine of torchao 0.19.
 */
export function fakeQuantizeAffine(
  x: TensorInput,
  options: QuantizeAffineOptions,
): { data: Float32Array | Uint16Array; shape: number[]; dtype: FloatDType } {
  const where = "fakeQuantizeAffine";
  const { codes, input, blocks, q } = checkQuantize(where, x, options);
  const value = dequantizerOf(q, codes, input.dtype);
  const values = newArray(where, Float32Array, input.values.length);
  forCodes(where, input, blocks, q, codes, (i, code, block) => {
    values[i] = value(code, block);
  });
  return resultOf(where, values, input.shape, input.dtype);
}
