// Checks of codes, zero points and output arrays.

import { isIntegerWithin, wrongKind, wrongNumber } from "../base/check.js";
import { type CodesOf, DTYPES, type DType, type Limits, type QDType } from "../base/dtype.js";
import { rangeError } from "../base/errors.js";
import {
  arrayLength,
  arrayName,
  checkNumberArray,
  codesArray,
  copyOf,
  findMisfit,
  isShared,
  type NumberArray,
  overlap,
} from "../base/typed-arrays.js";

/** The smallest or the largest code of a range. */
export function checkQuantLimit(where: string, argument: string, value: unknown): number {
  const { qmin, qmax } = DTYPES.int32;
  if (isIntegerWithin(value, qmin, qmax)) return value;
  const wanted = "an integer that int32 holds";
  throw wrongNumber("ZP_INVALID_QUANT_RANGE", where, argument, wanted, value);
}

/**
 * One zero point.
 * @param kind  its purpose for messages, such as "dtype int8"
 * @throws {TypeError|RangeError} `ZP_INVALID_ZERO_POINT`
 */
export function checkZeroPoint(
  where: string,
  argument: string,
  value: unknown,
  { qmin, qmax }: Limits,
  kind: string,
): number {
  if (isIntegerWithin(value, qmin, qmax)) return value + 0; // -0 becomes 0
  const wanted = `an integer from ${qmin} to ${qmax} for ${kind}`;
  throw wrongNumber("ZP_INVALID_ZERO_POINT", where, argument, wanted, value);
}

/** Checks codes of a dtype: array type, existing memory, sub-byte codes in range. */
export function checkCodes<D extends DType | QDType>(
  where: string,
  argument: string,
  value: unknown,
  dtype: D,
): CodesOf<D> {
  const { arrayName: wanted, bits, qmin, qmax } = DTYPES[dtype];
  const name = arrayName(value);
  if (name !== wanted) {
    throw wrongKind(
      "ZP_INVALID_CODES",
      where,
      argument,
      `of type ${wanted} for dtype ${dtype}`,
      value,
    );
  }
  let codes = checkNumberArray(where, argument, name, value, "ZP_INVALID_CODES") as CodesOf<D>;
  // A copy of shared memory: another thread may change it after the check.
  if (bits < 8 && isShared(codes)) codes = copyOf(where, codes, codesArray(dtype));
  const misfit = bits < 8 ? findMisfit(codes as Int8Array | Uint8Array, dtype) : -1;
  if (misfit !== -1) {
    throw rangeError(
      "ZP_INVALID_CODES",
      where,
      `${argument}[${misfit}] must be from ${qmin} to ${qmax} for dtype ${dtype}, ` +
        `got ${codes[misfit]}`,
    );
  }
  return codes;
}

/**
 * Checks an output array: the result's type and length, and no overlap with any input.
 * @param inputs  the input arrays of the result
 */
export function checkOut(
  where: string,
  argument: string,
  value: unknown,
  wanted: string,
  size: number,
  inputs: readonly (NumberArray | undefined)[],
): NumberArray {
  const name = arrayName(value);
  if (name !== wanted) {
    throw wrongKind("ZP_INVALID_OUT", where, argument, `of type ${wanted}`, value);
  }
  const out = checkNumberArray(where, argument, name, value, "ZP_INVALID_OUT");
  if (arrayLength(out) !== size) {
    throw rangeError(
      "ZP_INVALID_OUT",
      where,
      `${argument} must have length ${size}, got ${arrayLength(out)}`,
    );
  }
  for (const input of inputs) {
    if (input !== undefined && overlap(out, input)) {
      throw rangeError("ZP_INVALID_OUT", where, `${argument} must not share memory with an input`);
    }
  }
  return value as NumberArray;
}
