// Type promotion: the dtype in which operands of different dtypes are combined.

import { pythonError } from "../python/errors.js";
import { isScalar, type Scalar, scalarDType } from "./cast.js";
import { type Category, type DType, dtypes } from "./dtype.js";

/** The properties of an operand that determine type promotion. */
interface Typed {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

const RANK: { readonly [category in Category]: number } = { bool: 0, integer: 1, float: 2 };

/**
 * The smallest dtype that holds both: the higher category; the wider of two integers; int16 for
 * uint8 with int8.
 *
 * Source: `torch.promote_types`.
 *
 * @throws {RangeError} RuntimeError for uint16 with another integer
 */
export function promoteTypes(a: DType, b: DType): DType {
  if (a === b) return a;
  if (a.category !== b.category) return RANK[a.category] > RANK[b.category] ? a : b;
  if (a === dtypes.uint16 || b === dtypes.uint16) {
    throw pythonError(
      "RuntimeError",
      `torch.uint16 does not mix with other integer dtypes: convert one of ${a} and ${b} with to()`,
    );
  }
  if (a.itemsize !== b.itemsize) return a.itemsize > b.itemsize ? a : b;
  return dtypes.int16; // uint8 and int8
}

/**
 * The dtype in which operands are combined.
 *
 * Tensors with dimensions decide together; 0-d tensors, and after them Python numbers, only count
 * if their category (bool < integer < float) is higher than that of all before them.
 *
 * Source: `torch.result_type`.
 */
export function resultType(...operands: readonly (Typed | Scalar)[]): DType {
  let dimensioned: DType | undefined;
  let zeroDimensional: DType | undefined;
  let numbers: DType | undefined;
  const join = (a: DType | undefined, b: DType): DType => (a ? promoteTypes(a, b) : b);
  for (const operand of operands) {
    if (isScalar(operand)) numbers = join(numbers, scalarDType(operand));
    else if (operand.shape.length > 0) dimensioned = join(dimensioned, operand.dtype);
    else zeroDimensional = join(zeroDimensional, operand.dtype);
  }
  const type = outrank(dimensioned, outrank(zeroDimensional, numbers));
  return type ?? dtypes.float32;
}

function outrank(first: DType | undefined, second: DType | undefined): DType | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return RANK[second.category] > RANK[first.category] ? promoteTypes(first, second) : first;
}
