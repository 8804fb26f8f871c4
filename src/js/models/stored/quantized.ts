// Codes with scales as quantized tensors of this library.

import { DTYPES, type DType } from "../../base/dtype.js";
import { fieldOf } from "../../base/fields.js";
import { codesArray } from "../../base/typed-arrays.js";
import {
  type CodeArray,
  eachCode,
  type ScaledCodes,
  scaleCount,
} from "../../formats/layouts/scaled.js";
import type { QuantizedTensor } from "../../quantize/quantized-tensor.js";
import { notExpressible } from "./weight.js";

/** The transpose of a row-major matrix. */
export function transposed<A extends CodeArray | Float32Array>(
  matrix: A,
  [rows, columns]: readonly number[],
): A {
  const result = new (matrix.constructor as new (length: number) => A)(matrix.length);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) result[column * rows + row] = matrix[at++];
  }
  return result;
}

/** The transpose of a matrix of codes whose blocks run along its first axis. */
function alongLastAxis(name: string, q: ScaledCodes): ScaledCodes {
  const { shape, axis, blockSize, codes, scale } = q;
  const [zeroPoint, offset] = [fieldOf(q, "zeroPoint"), fieldOf(q, "offset")];
  if (shape.length !== 2 || axis !== 0) {
    throw notExpressible(name, `has groups along axis ${axis} of [${shape.join(", ")}]`);
  }
  const blocks = [Math.ceil(shape[0] / (blockSize ?? 1)), shape[1]];
  return {
    ...q,
    shape: [shape[1], shape[0]],
    axis: 1,
    codes: transposed(codes, shape),
    scale: transposed(scale, blocks),
    zeroPoint: zeroPoint && transposed(zeroPoint, blocks),
    offset: offset && transposed(offset, blocks),
  };
}

/** The smallest dtype that holds all codes, of the sign of the array. */
function dtypeOf(codes: CodeArray, isSigned: boolean, zeros: ArrayLike<number>): DType {
  let low = 0;
  let high = 0;
  for (const list of [codes, zeros]) {
    for (let i = 0; i < list.length; i++) {
      if (list[i] < low) low = list[i];
      else if (list[i] > high) high = list[i];
    }
  }
  const names = isSigned
    ? ["int2", "int4", "int8", "int16", "int32"]
    : ["uint2", "uint4", "uint8", "uint16"];
  const fits = (name: string): boolean =>
    low >= DTYPES[name as DType].qmin && high <= DTYPES[name as DType].qmax;
  return (names.find(fits) ?? "int32") as DType;
}

/** Scales that are positive: blocks of scale 0 get scale 1 and codes of 0, blocks of negative scale mirrored codes. */
function withPositiveScales(name: string, q: ScaledCodes, bits: number): ScaledCodes {
  const { scale } = q;
  const [zeroPoint, offset] = [fieldOf(q, "zeroPoint"), fieldOf(q, "offset")];
  if (!scale.every(Number.isFinite)) throw notExpressible(name, "has scales that are not finite");
  if (scale.every((each) => each > 0)) return q;
  const positive = scale.map((each) => (each === 0 ? 1 : Math.abs(each)));
  if (offset !== undefined) {
    // s * q + o = -s * (top - q) + (o + s * top)
    const top = 2 ** bits - 1;
    const codes = q.codes.slice();
    eachCode(q, (at, s) => {
      if (scale[s] <= 0) codes[at] = scale[s] === 0 ? 0 : top - codes[at];
    });
    const moved = offset.map((each, s) => (scale[s] < 0 ? each + scale[s] * top : each));
    return { ...q, codes, scale: positive, offset: moved };
  }
  // Differences to the zero point, with the sign of the scale: as exact as the codes.
  const codes = new Int32Array(q.codes.length);
  eachCode(q, (at, s) => {
    codes[at] = Math.sign(scale[s]) * (q.codes[at] - (zeroPoint?.[s] ?? 0));
  });
  return { ...q, codes, scale: positive, zeroPoint: undefined };
}

/** Whole zero points, or offsets in their place. */
function withWholeZeros(q: ScaledCodes): ScaledCodes {
  const { scale } = q;
  const zeroPoint = fieldOf(q, "zeroPoint");
  if (!(zeroPoint instanceof Float32Array)) return q;
  if (zeroPoint.every(Number.isInteger)) return { ...q, zeroPoint: Int32Array.from(zeroPoint) };
  return { ...q, zeroPoint: undefined, offset: zeroPoint.map((zero, s) => -zero * scale[s]) };
}

/**
 * A quantized tensor of codes with scales. A matrix whose groups run along its first axis comes out transposed; groups
 * along another axis than the last one of more axes are blocks.
 * @param dtype  of the codes, if this library has it; else the smallest that holds them
 * @param bits  of the codes
 */
export function quantizedTensorOf(
  name: string,
  given: ScaledCodes,
  dtype: string,
  bits: number,
): QuantizedTensor {
  if (fieldOf(given, "blockIndex") !== undefined) {
    throw notExpressible(name, "has groups that are not runs of neighbours");
  }
  const isGroup = given.blockSize !== undefined;
  const lastAxis = given.shape.length - 1;
  const isAcross = isGroup && given.axis !== lastAxis;
  const isTurned = isAcross && given.shape.length === 2;
  const along = isTurned ? alongLastAxis(name, given) : given;
  const q = withPositiveScales(name, withWholeZeros(along), bits);
  const { shape, axis, blockSize, scale } = q;
  const offset = fieldOf(q, "offset");
  const count = scaleCount(q);
  const zeros = (fieldOf(q, "zeroPoint") ?? new Int32Array(count)) as Int32Array;
  // Mirrored codes are int32, and signed.
  const isMirrored = q.codes instanceof Int32Array && !(given.codes instanceof Int32Array);
  const isOwn = !isMirrored && Object.hasOwn(DTYPES, dtype);
  const isSigned = isMirrored || dtype.startsWith("int");
  const own = isOwn ? (dtype as DType) : dtypeOf(q.codes, isSigned, zeros);
  const data = new (codesArray(own))(q.codes.length);
  data.set(q.codes as Int8Array);
  const isSymmetric = own.startsWith("int") && zeros.every((zero) => zero === 0);
  const scheme = isSymmetric && offset === undefined ? "symmetric" : "affine";
  const result = { data, shape: [...shape], dtype: own, scheme };
  if (axis === undefined) {
    const zero = offset === undefined ? { zeroPoint: zeros[0] } : { offset: offset[0] };
    return { ...result, scale: scale[0], ...zero } as unknown as QuantizedTensor;
  }
  const blockShape = shape.map((_, i) => (i === axis ? (blockSize ?? 1) : 1));
  const isBlock = isAcross && !isTurned;
  const slices = isBlock ? { blockShape } : isGroup ? { groupSize: blockSize } : { axis };
  const form = isBlock
    ? shape.map((length, i) => Math.ceil(length / blockShape[i]))
    : isGroup
      ? [count, 1]
      : shape.map((length, i) => (i === axis ? length : 1));
  const parameter = (values: Float32Array | Int32Array) => ({ data: values, shape: [...form] });
  const zero =
    offset === undefined ? { zeroPoint: parameter(zeros) } : { offset: parameter(offset) };
  return { ...result, scale: parameter(scale), ...zero, ...slices } as unknown as QuantizedTensor;
}
