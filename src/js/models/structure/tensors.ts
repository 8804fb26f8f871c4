// Tensors in files, and named collections of things.

import { rangeError } from "../../base/errors.js";
import { showShape } from "../../base/format-value.js";
import { type HalfType, Halves, isHalf } from "../../base/halves.js";
import { arrayLength, arrayName } from "../../base/typed-arrays.js";
import { bytesOf, ELEMENT_DTYPES, type FileDType } from "../../formats/dtypes.js";
import { isSafetensorsDType } from "../../formats/safetensors.js";
import { checkTensor } from "../../tensor/check.js";
import { checkShape, sizeOf } from "../../tensor/shape.js";
import { Tensor } from "../../tensor/tensor.js";
import { IntegerTensor } from "../../torch/integer-tensor.js";
import { ARRAY_DTYPES, addArray, arrayOf, bytesOfArray, type FileArray } from "./arrays.js";
import type { FileWriter, JSONNode, StructureReader } from "./structure.js";

/** A tensor of values that are not float32. */
export interface OtherTensor {
  /** The values, the last axis varying fastest. */
  readonly data: FileArray;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
  /** Of half floats, whose bit patterns are in a `Uint16Array`. */
  readonly dtype?: HalfType;
}

/** A tensor of a dtype that no typed array here holds, such as int64: its bytes in the file. */
export interface RawTensor {
  /** Little-endian, the last axis varying fastest. */
  readonly data: Uint8Array;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
  /** The dtype in the file. */
  readonly dtype: FileDType;
}

/** Whether values of a dtype are in a `RawTensor`. */
const isRaw = (dtype: unknown): dtype is FileDType =>
  isSafetensorsDType(dtype as FileDType) &&
  !(ARRAY_DTYPES as readonly unknown[]).includes(dtype) &&
  !isHalf(dtype as string);

/** Writes a tensor in any form, or a typed array. */
export function writeTensor(writer: FileWriter, path: string, value: object): JSONNode {
  const name = path === "" ? "tensor" : path;
  const argument = path === "" ? "thing" : `thing ${JSON.stringify(path)}`;
  const { data: bytes, shape: lengths, dtype } = value as Partial<RawTensor>;
  if (bytes !== undefined && arrayName(bytes) === "Uint8Array" && isRaw(dtype)) {
    return writeBytes(writer, name, argument, { data: bytes, shape: lengths, dtype });
  }
  const { data, shape } = checkTensor(writer.where, argument, value);
  const tensor = addArray(writer, name, data, shape);
  const hasHalves = Halves.typeOf(data) !== undefined;
  if (arrayName(value) !== undefined && !hasHalves) return { kind: "array", tensor };
  if (!(value instanceof IntegerTensor)) return { kind: "tensor", tensor };
  return { kind: "integers", tensor, dtype: value.dtype };
}

/** Writes a tensor as bytes. */
function writeBytes(
  writer: FileWriter,
  name: string,
  argument: string,
  { data, shape: given, dtype }: Pick<RawTensor, "data" | "dtype"> & { readonly shape: unknown },
): JSONNode {
  const { where } = writer;
  const shape = checkShape(where, `${argument}.shape`, given);
  const size = arrayLength(data);
  const expected = bytesOf(dtype, sizeOf(shape));
  if (size !== expected) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument}.data must be the ${expected} bytes of shape ${showShape(shape)} in ${dtype}, got ${size}`,
    );
  }
  const tensor = writer.add(name, dtype, shape, () => bytesOfArray(where, data, size));
  return { kind: "bytes", tensor };
}

/** Writes a float32 tensor that belongs to a layer. */
export const writeOwn = (writer: FileWriter, path: string, tensor: Tensor | undefined) =>
  tensor && addArray(writer, path, tensor.data, tensor.shape);

/** Reads a float32 tensor that belongs to a layer, if there is one. */
export function readOwn(reader: StructureReader, path: string, name: unknown): Tensor | undefined {
  if (name === undefined) return undefined;
  const tensor = reader.take(path, name, ["float32"]);
  return new Tensor(arrayOf(tensor) as Float32Array, [...tensor.shape]);
}

/** Reads a tensor. */
export function readTensorNode(
  reader: StructureReader,
  path: string,
  value: unknown,
): Tensor | OtherTensor {
  const { tensor: name } = reader.fields(path, value, ["kind", "tensor"]);
  const dtypes = [...ARRAY_DTYPES, "float16", "bfloat16"] as const;
  const tensor = reader.take(`${path}.tensor`, name, dtypes);
  const { dtype } = tensor;
  const shape = [...tensor.shape];
  if (isHalf(dtype)) {
    const data = arrayOf({ ...tensor, dtype: "uint16" });
    return { data, shape, dtype };
  }
  const data = arrayOf(tensor);
  return data instanceof Float32Array ? new Tensor(data, shape) : { data, shape };
}

/** Reads a tensor as bytes. */
export function readBytesNode(reader: StructureReader, path: string, value: unknown): RawTensor {
  const { tensor: name } = reader.fields(path, value, ["kind", "tensor"]);
  const { bytes, shape, dtype } = reader.take(`${path}.tensor`, name, ELEMENT_DTYPES);
  return { data: bytes, shape: [...shape], dtype };
}

/** Reads a typed array. */
export function readArrayNode(reader: StructureReader, path: string, value: unknown): FileArray {
  const { tensor: name } = reader.fields(path, value, ["kind", "tensor"]);
  const tensor = reader.take(`${path}.tensor`, name, ARRAY_DTYPES);
  if (tensor.shape.length === 1) return arrayOf(tensor);
  throw reader.fail(path, "a tensor of one axis", tensor.shape);
}

/** Arrays of the dtypes of integer tensors; int64 values are stored as int32. */
const INTEGERS = { int8: "int8", uint8: "uint8", int32: "int32", int64: "int32" } as const;

/** Reads a tensor of integers. */
export function readIntegersNode(
  reader: StructureReader,
  path: string,
  value: unknown,
): IntegerTensor {
  const node = reader.fields(path, value, ["kind", "tensor", "dtype"]);
  const names = Object.keys(INTEGERS) as (keyof typeof INTEGERS)[];
  const dtype = reader.choice(`${path}.dtype`, node.dtype, names);
  const tensor = reader.take(`${path}.tensor`, node.tensor, [INTEGERS[dtype]]);
  const data = arrayOf(tensor) as Int8Array | Uint8Array | Int32Array;
  return new IntegerTensor(data, [...tensor.shape], dtype);
}

/** Whether an object is intended as a tensor rather than as a collection. */
export function looksLikeTensor(value: object): boolean {
  if (arrayName(value) !== undefined) return true;
  const { data, shape, dims } = value as { data?: unknown; shape?: unknown; dims?: unknown };
  const isData = arrayName(data) !== undefined || Array.isArray(data);
  return isData && (shape ?? dims) !== undefined;
}
