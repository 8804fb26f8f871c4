// Quantized tensors in files: codes, packed below 8 bits; scales and zero points as tensors beside them.

import { type Codes, DTYPES, type DType, type QDType } from "../../base/dtype.js";
import {
  arrayLength,
  checkStillThere,
  newArrayLike,
  setArray,
  subarrayOf,
} from "../../base/typed-arrays.js";
import type { FileDType } from "../../formats/dtypes.js";
import type { ByteStream } from "../../formats/source.js";
import { type CheckedQuantized, checkQuantized } from "../../quantize/check.js";
import { unpack } from "../../quantize/pack.js";
import { type AnyQuantizedTensor, quantizedResult } from "../../quantize/quantized-tensor.js";
import { readQuantized } from "../../tensor/check.js";
import { sizeOf } from "../../tensor/shape.js";
import { TILE } from "../../tensor/tiles.js";
import { areOfChannels } from "../../torch/scales.js";
import {
  checkQTensor,
  looksTorchQuantized,
  perChannelTensor,
  perTensorTensor,
  type TorchQuantizedTensor,
} from "../../torch/tensor.js";
import { ARRAYS, addArray, arrayOf, codesDType, zeroPointsDType } from "./arrays.js";
import { BitPacker } from "./bits.js";
import {
  type FileWriter,
  fromJSONNumber,
  type JSONNode,
  type JSONValue,
  type StructureReader,
  toJSONNumber,
} from "./structure.js";

/** A quantized tensor of either family. */
export type AnyQuantized = AnyQuantizedTensor | TorchQuantizedTensor;

/** Codes that come tile by tile: of outputs `first` to `end`. */
export interface CodeTiles {
  /** Codes of a tile; the last one is shorter. */
  readonly step: number;
  readonly read: (first: number, end: number) => Codes;
}

/** Adds codes to a file. They are packed without the core: things of any instance can be saved. */
function addCodes(
  writer: FileWriter,
  path: string,
  dtype: DType | QDType,
  shape: readonly number[],
  { step, read }: CodeTiles,
): string {
  const size = sizeOf(shape);
  const { bits } = DTYPES[dtype];
  const isPacked = bits < 8;
  const stored = isPacked ? [Math.ceil((size * bits) / 8)] : shape;
  return writer.add(path, codesDType(dtype), stored, function* (): Generator<Uint8Array> {
    const packer = isPacked ? new BitPacker(bits) : undefined;
    for (let first = 0; first < size; first += step) {
      const codes = read(first, Math.min(size, first + step));
      packer?.put(codes as Int8Array | Uint8Array, 0, codes.length);
      yield packer?.take(first + step >= size) ??
        new Uint8Array(codes.buffer as ArrayBuffer, codes.byteOffset, codes.byteLength);
    }
  } satisfies () => ByteStream);
}

/** Tiles of codes in an array, as copies. */
export function tilesOf(where: string, codes: Codes): CodeTiles {
  const size = arrayLength(codes);
  return {
    step: TILE,
    read: (first, end) => {
      checkStillThere(where, codes, size);
      const copy = newArrayLike(where, codes, end - first);
      setArray(copy, subarrayOf(codes, first, end), 0);
      return copy;
    },
  };
}

/** The shape of scales in a file: groups get an axis of their own. */
function scaleShape(
  shape: readonly number[],
  groupSize: number | undefined,
  own: readonly number[],
): readonly number[] {
  if (groupSize === undefined || shape.length === 0) return own;
  return [...shape.slice(0, -1), Math.ceil((shape.at(-1) as number) / groupSize)];
}

/**
 * Writes a quantized tensor: the codes under `path`, scales under `path` + "_scale", zero points under
 * `path` + "_zero_point" unless all are 0, offsets under `path` + "_offset".
 * @param tiles  the codes; default: the tensor's codes
 */
export function writeQuantized(writer: FileWriter, path: string, value: unknown): JSONNode {
  const { where } = writer;
  const given = readQuantized(value);
  const argument = path === "" ? "thing" : `thing ${JSON.stringify(path)}`;
  if (looksTorchQuantized(given)) return writeTorch(writer, path, argument, given);
  const checked = checkQuantized(where, argument, given, true);
  return writeChecked(writer, path, checked, tilesOf(where, checked.codes));
}

/** Writes a quantized tensor after its checks. */
export function writeChecked(
  writer: FileWriter,
  path: string,
  { shape, dtype, scheme, slices, qparams }: Omit<CheckedQuantized, "codes">,
  tiles: CodeTiles,
): JSONNode {
  const name = path === "" ? "tensor" : path;
  const codes = addCodes(writer, name, dtype, shape, tiles);
  const { scale, zeroPoint } = qparams;
  const { axis, groupSize, blocks } = slices;
  const node: Record<string, JSONValue> = { kind: "quantized", dtype, scheme, codes, shape };
  if (axis !== undefined) node.axis = axis;
  if (groupSize !== undefined) node.groupSize = groupSize;
  if (blocks !== undefined) node.blockShape = [...blocks.size];
  if (typeof scale === "number") {
    node.scale = addArray(writer, `${name}_scale`, Float32Array.of(scale), [1]);
    if (!Object.is(Math.fround(scale), scale)) node.exactScale = scale;
  } else {
    const own = scaleShape(shape, groupSize, scale.shape);
    node.scale = addArray(writer, `${name}_scale`, scale.data, own);
    node.scaleShape = [...scale.shape];
  }
  const own = typeof zeroPoint === "number" ? [1] : scaleShape(shape, groupSize, zeroPoint.shape);
  const Type = qparams.hasOffsets ? Float32Array : Int32Array;
  const zeros = typeof zeroPoint === "number" ? Type.of(zeroPoint) : zeroPoint.data;
  if (qparams.hasOffsets) {
    node.offset = addArray(writer, `${name}_offset`, zeros, own);
  } else if (zeros.some((zero) => zero !== 0)) {
    const stored = ARRAYS[zeroPointsDType(dtype)].from(zeros);
    node.zeroPoint = addArray(writer, `${name}_zero_point`, stored, own);
  }
  return node as JSONNode;
}

/** Writes a tensor of PyTorch's quantized dtypes. */
function writeTorch(writer: FileWriter, path: string, argument: string, value: unknown): JSONNode {
  const { where } = writer;
  const { codes, shape, dtype, qparams } = checkQTensor(where, argument, value);
  const name = path === "" ? "tensor" : path;
  const node: Record<string, JSONValue> = { kind: "torch", dtype };
  node.codes = addCodes(writer, name, dtype, shape, tilesOf(where, codes));
  if (areOfChannels(qparams)) {
    const { axis, scales, zeroPoints } = qparams;
    const own = shape.map((length, i) => (i === axis ? length : 1));
    node.axis = axis;
    node.scale = addArray(writer, `${name}_scale`, scales.slice(), own);
    const isZero = zeroPoints instanceof Int32Array && zeroPoints.every((zero) => zero === 0);
    if (!isZero) node.zeroPoint = addArray(writer, `${name}_zero_point`, zeroPoints.slice(), own);
    return node as JSONNode;
  }
  const { scale, zeroPoint } = qparams;
  node.scale = addArray(writer, `${name}_scale`, Float32Array.of(scale), [1]);
  if (!Object.is(Math.fround(scale), scale)) node.exactScale = toJSONNumber(scale);
  if (zeroPoint !== 0) {
    node.zeroPoint = addArray(writer, `${name}_zero_point`, Int32Array.of(zeroPoint), [1]);
  }
  return node as JSONNode;
}

const QUANTIZED_FIELDS = [
  "kind",
  "dtype",
  "scheme",
  "codes",
  "shape",
  "axis",
  "groupSize",
  "blockShape",
  "scale",
  "exactScale",
  "scaleShape",
  "zeroPoint",
  "offset",
] as const;

const DTYPE_NAMES = Object.keys(DTYPES).filter((name) => !name.startsWith("q"));

/** Reads a quantized tensor. */
export function readQuantizedNode(
  reader: StructureReader,
  path: string,
  value: unknown,
): AnyQuantizedTensor {
  const node = reader.fields(path, value, QUANTIZED_FIELDS);
  const dtype = reader.choice(`${path}.dtype`, node.dtype, DTYPE_NAMES) as DType;
  const shape = reader.shape(`${path}.shape`, node.shape);
  const data = readCodes(reader, `${path}.codes`, node.codes, dtype, shape);
  const isNumber = node.scaleShape === undefined;
  const lengths = isNumber ? [] : reader.shape(`${path}.scaleShape`, node.scaleShape);
  const groupSize =
    node.groupSize === undefined
      ? undefined
      : reader.integer(`${path}.groupSize`, node.groupSize, 1, Infinity);
  const own = isNumber ? [1] : scaleShape(shape, groupSize, lengths);
  const take = (name: "scale" | "zeroPoint" | "offset", types: readonly FileDType[]) =>
    arrayOf(reader.takeShaped(`${path}.${name}`, node[name], types, own));
  const scales = take("scale", ["float32"]);
  const hasOffsets = node.offset !== undefined;
  if (hasOffsets && node.zeroPoint !== undefined) {
    throw reader.fail(`${path}.zeroPoint`, "missing beside offset", node.zeroPoint);
  }
  const zeros = hasOffsets
    ? take("offset", ["float32"])
    : node.zeroPoint === undefined
      ? new Int32Array(scales.length)
      : Int32Array.from(take("zeroPoint", ["int32", zeroPointsDType(dtype)]));
  const scale = readExact(reader, path, node.exactScale, scales[0]);
  const checked = checkQuantized(
    reader.where,
    `${path || "the tensor"}`,
    {
      data,
      shape,
      dtype,
      scheme: node.scheme,
      scale: isNumber ? scale : { data: scales, shape: lengths },
      [hasOffsets ? "offset" : "zeroPoint"]: isNumber ? zeros[0] : { data: zeros, shape: lengths },
      axis: node.axis,
      groupSize,
      blockShape: node.blockShape,
    },
    false,
  );
  return quantizedResult(data, shape, checked.qparams, checked);
}

/** A scale in double precision, which must be the stored one once it is rounded. */
function readExact(reader: StructureReader, path: string, value: unknown, rounded: number): number {
  if (value === undefined) return rounded;
  const scale = fromJSONNumber(reader, `${path}.exactScale`, value);
  if (Object.is(Math.fround(scale), rounded)) return scale;
  throw reader.fail(`${path}.exactScale`, `a number that float32 rounds to ${rounded}`, scale);
}

/** Reads codes; below 8 bits, unpacks them. */
function readCodes(
  reader: StructureReader,
  path: string,
  name: unknown,
  dtype: DType | QDType,
  shape: readonly number[],
): Codes {
  const { bits } = DTYPES[dtype];
  const size = sizeOf(shape);
  const stored = bits < 8 ? [Math.ceil((size * bits) / 8)] : shape;
  const tensor = reader.takeShaped(path, name, [codesDType(dtype)], stored);
  // A shape without values costs nothing in the file, but rows of it cost memory.
  if (size === 0 && shape.length > 0) reader.spend(32 * Math.max(...shape));
  if (bits >= 8) return arrayOf(tensor) as Codes;
  const meta = { shape: [size], dtype: dtype as DType, scale: 1, zeroPoint: 0 };
  return unpack(arrayOf(tensor) as Uint8Array, meta).data;
}

const TORCH_DTYPES = ["qint8", "quint8", "qint32"] as const;

/** Reads a tensor of PyTorch's quantized dtypes. */
export function readTorchNode(
  reader: StructureReader,
  path: string,
  value: unknown,
): TorchQuantizedTensor {
  const names = ["kind", "dtype", "codes", "axis", "scale", "exactScale", "zeroPoint"] as const;
  const node = reader.fields(path, value, names);
  const dtype = reader.choice(`${path}.dtype`, node.dtype, TORCH_DTYPES);
  const tensor = reader.take(`${path}.codes`, node.codes, [codesDType(dtype)]);
  const { shape } = tensor;
  const codes = arrayOf(tensor) as Int8Array | Uint8Array | Int32Array;
  const { where } = reader;
  const argument = path || "the tensor";
  if (node.axis === undefined) {
    const [rounded] = arrayOf(reader.takeShaped(`${path}.scale`, node.scale, ["float32"], [1]));
    const scale = readExact(reader, path, node.exactScale, rounded);
    const [zeroPoint] =
      node.zeroPoint === undefined
        ? [0]
        : arrayOf(reader.takeShaped(`${path}.zeroPoint`, node.zeroPoint, ["int32"], [1]));
    checkQTensor(where, argument, { data: codes, shape, dtype, scale, zeroPoint });
    return perTensorTensor(codes as never, shape, dtype, { scale, zeroPoint });
  }
  const axis = reader.integer(`${path}.axis`, node.axis, 0, shape.length - 1);
  const own = shape.map((length, i) => (i === axis ? length : 1));
  const scales = arrayOf(
    reader.takeShaped(`${path}.scale`, node.scale, ["float32", "float64"], own),
  ) as Float32Array | Float64Array;
  const zeroPoints =
    node.zeroPoint === undefined
      ? new Int32Array(scales.length)
      : (arrayOf(
          reader.takeShaped(`${path}.zeroPoint`, node.zeroPoint, ["int32", "float32"], own),
        ) as Int32Array | Float32Array);
  const q = perChannelTensor(codes as never, shape, dtype, { axis, scales, zeroPoints });
  checkQTensor(where, argument, q);
  return q as TorchQuantizedTensor;
}
