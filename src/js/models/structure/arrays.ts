// Typed arrays <-> the bytes of a file's tensors.

import { DTYPES, type DType, type QDType } from "../../base/dtype.js";
import { Halves } from "../../base/halves.js";
import {
  arrayLength,
  arrayName,
  checkStillThere,
  type NumberArray,
  newArray,
  setArray,
  subarrayOf,
} from "../../base/typed-arrays.js";
import type { ByteStream } from "../../formats/source.js";
import type { FileWriter, LoadedTensor } from "./structure.js";

/** Bytes of a chunk of a saved tensor. */
const CHUNK = 2 ** 20;

/** The dtypes of files, by the arrays that hold them. */
const FILE_DTYPES = {
  Float32Array: "float32",
  Float64Array: "float64",
  Int8Array: "int8",
  Uint8Array: "uint8",
  Int16Array: "int16",
  Uint16Array: "uint16",
  Int32Array: "int32",
  Uint32Array: "uint32",
} as const;

/** The arrays that hold dtypes of files. */
export const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
} as const;

/** A dtype of a file that typed arrays hold. */
export type ArrayDType = keyof typeof ARRAYS;

/** A typed array that files hold. */
export type FileArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array;

/** All dtypes of files that typed arrays hold. */
export const ARRAY_DTYPES = /* @__PURE__ */ Object.keys(ARRAYS) as ArrayDType[];

/** The dtype of a file for the values of a typed array; undefined if there is none. */
const fileDTypeOf = (array: unknown): ArrayDType | undefined =>
  FILE_DTYPES[arrayName(array) as keyof typeof FILE_DTYPES];

/** The dtype of a file for codes; sub-byte codes are packed into bytes. */
export const codesDType = (dtype: DType | QDType): ArrayDType =>
  DTYPES[dtype].bits < 8 ? "uint8" : FILE_DTYPES[DTYPES[dtype].arrayName];

/** The dtype of a file for zero points, each of which is one of the codes. */
export const zeroPointsDType = (dtype: DType): ArrayDType => FILE_DTYPES[DTYPES[dtype].arrayName];

/** The bytes of an array, in copies of its parts. */
export function* bytesOfArray(
  where: string,
  array: NumberArray,
  size: number,
): Generator<Uint8Array, void, undefined> {
  const step = CHUNK / 8;
  for (let start = 0; start < size; start += step) {
    checkStillThere(where, array, size);
    const part = subarrayOf(array, start, Math.min(size, start + step));
    const copy = newArray(where, Uint8Array, part.byteLength);
    setArray(copy, new Uint8Array(part.buffer, part.byteOffset, part.byteLength), 0);
    yield copy;
  }
}

/** Adds the values of a typed array to a file. @returns the tensor's name */
export function addArray(
  writer: FileWriter,
  path: string,
  array: NumberArray,
  shape: readonly number[],
): string {
  const size = arrayLength(array);
  const dtype = Halves.typeOf(array) ?? fileDTypeOf(array);
  if (dtype === undefined) {
    throw writer.refuse(path, `its values are in an array of type ${arrayName(array)}`);
  }
  const bytes = (): ByteStream => bytesOfArray(writer.where, array, size);
  return writer.add(path, dtype, shape, bytes);
}

/** The values of a loaded tensor, in the memory that was loaded. */
export function arrayOf({ dtype, bytes }: LoadedTensor): FileArray {
  const type = ARRAYS[dtype as ArrayDType];
  const { buffer, byteOffset, length } =
    bytes.byteOffset % type.BYTES_PER_ELEMENT === 0 ? bytes : bytes.slice();
  return new type(buffer as ArrayBuffer, byteOffset, length / type.BYTES_PER_ELEMENT);
}
