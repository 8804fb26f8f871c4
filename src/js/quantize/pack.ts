// quantized tensor <-> bytes, at the dtype's bits per value.

import { wrongKind } from "../base/check.js";
import { DTYPES, type DType } from "../base/dtype.js";
import { checkStatus, rangeError } from "../base/errors.js";
import {
  arrayLength,
  arrayName,
  bytesOf,
  checkNumberArray,
  codesArray,
  newArray,
  setArray,
  subarrayOf,
} from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import type { Granularity } from "../tensor/granularity.js";
import { sizeOf } from "../tensor/shape.js";
import { TILE } from "../tensor/tiles.js";
import { type CheckedQuantized, checkQuantized, checkQuantizedMeta } from "./check.js";
import {
  type AnyQuantizedTensor,
  type OffsetQuantizedTensor,
  type QuantizedTensor,
  type QuantizedTensorInput,
  type QuantizedTensorMeta,
  quantizedResult,
} from "./quantized-tensor.js";

/** The number of bytes that `size` packed codes take. */
function packedSize(size: number, dtype: DType): number {
  return Math.ceil((size * DTYPES[dtype].bits) / 8);
}

/**
 * Packs the codes of a quantized tensor into bytes, at the dtype's bits per code. The first
 * code takes the lowest bits of the first byte; 16- and 32-bit codes are little-endian:
 *
 *     4 bits   byte = code[0] | code[1] << 4
 *     2 bits   byte = code[0] | code[1] << 2 | code[2] << 4 | code[3] << 6
 *
 * Codes of 3, 5, 6 and 7 bits cross bytes: bit b of code i is bit i · bits + b of the stream, and bit s of
 * the stream is bit s % 8 of byte ⌊s / 8⌋. Rows are not padded; unused high bits of the last byte are 0. The
 * order is that of ONNX's 4- and 2-bit tensors. Shape and qparams are not in the bytes: keep them for `unpack`. Codes of PyTorch's
 * dtypes (`quantizePerTensor`) take whole bytes and need no packing: save `data` and the other fields;
 * `{ ...others, data }` restores the tensor, also from JSON if typed arrays were saved as lists. (Convert
 * scales from a Float64Array back to one.)
 *
 * @param q  a result of `quantize`, or an object with the same fields
 * @returns ceil(n · bits / 8) bytes, n being the number of codes
 * @throws {TypeError|RangeError} as `dequantize` for its `q`
 * @example
 * const q = quantize(tensor([1, 2, 3]), { dtype: "int4", scale: 1 });
 * pack(q); // Uint8Array [0x21, 0x03]
 */
export function pack(q: QuantizedTensorInput): Uint8Array {
  const where = "pack";
  const core = activeCore(where);
  const { codes, size, dtype } = checkQuantized(where, "q", q, false);
  const bytes = newArray(where, Uint8Array, packedSize(size, dtype));
  convertBits(core, where, "pack", dtype, size, bytesOf(codes), bytes);
  return bytes;
}

/**
 * Unpacks bytes of `pack`: `unpack(pack(q), q)` equals `q`.
 *
 * @param bytes  ceil(n · bits / 8) bytes, in the order documented at `pack`
 * @param meta   the other fields of the quantized tensor: shape, dtype, scale, zeroPoint or offset
 *   and, where they apply, axis or groupSize; `q` itself, or `q` from JSON that was written with typed arrays as
 *   lists: JSON.stringify(q, (_, v) => (ArrayBuffer.isView(v) ? Array.from(v) : v))
 * @returns a quantized tensor that shares nothing with `meta`
 * @throws {TypeError} `ZP_INVALID_BYTES` if `bytes` is not a Uint8Array; `ZP_INVALID_TENSOR`
 * @throws {RangeError} `ZP_INVALID_BYTES` if there are more or fewer bytes than the shape needs, else
 *   as `dequantize` for its `q`
 * @example
 * const { data, ...meta } = quantize(tensor([1, 2, 3]), { dtype: "int4", scale: 1 });
 * unpack(new Uint8Array([0x21, 0x03]), meta).data; // Int8Array [1, 2, 3]
 */
export function unpack<D extends DType, G extends Granularity>(
  bytes: Uint8Array,
  meta: QuantizedTensor<D, G>,
): QuantizedTensor<D, G>;

export function unpack<D extends DType, G extends Granularity>(
  bytes: Uint8Array,
  meta: OffsetQuantizedTensor<D, G>,
): OffsetQuantizedTensor<D, G>;

export function unpack<D extends DType>(
  bytes: Uint8Array,
  meta: QuantizedTensorMeta<D> & { readonly offset?: undefined },
): QuantizedTensor<D>;

export function unpack<D extends DType>(
  bytes: Uint8Array,
  meta: QuantizedTensorMeta<D>,
): AnyQuantizedTensor<D>;

export function unpack(bytes: Uint8Array, meta: QuantizedTensorMeta): AnyQuantizedTensor {
  const where = "unpack";
  const core = activeCore(where);
  const checked = checkPacked(where, bytes, meta);
  const { size, dtype, shape, qparams } = checked;
  const data = newArray(where, codesArray(dtype), size);
  convertBits(core, where, "unpack", dtype, size, checked.bytes, bytesOf(data));
  return quantizedResult(data, shape, qparams, checked);
}

/** Packed bytes with shape and qparams, after their checks. */
interface CheckedPacked extends Omit<CheckedQuantized, "codes"> {
  readonly bytes: Uint8Array;
}

/** Checks the arguments of `unpack`. */
function checkPacked(where: string, bytes: unknown, meta: unknown): CheckedPacked {
  const wanted = "what bytes do not hold: {";
  const checked = checkQuantizedMeta(where, "meta", meta, true, wanted, (shape, dtype) => {
    checkBytes(where, bytes, sizeOf(shape), dtype);
  });
  // Again: reading scales may run a user's code, which may resize the array.
  return { ...checked, bytes: checkBytes(where, bytes, checked.size, checked.dtype) };
}

function checkBytes(where: string, value: unknown, size: number, dtype: DType): Uint8Array {
  const name = arrayName(value);
  if (name !== "Uint8Array") {
    throw wrongKind("ZP_INVALID_BYTES", where, "bytes", "of type Uint8Array", value);
  }
  const bytes = checkNumberArray(where, "bytes", name, value, "ZP_INVALID_BYTES") as Uint8Array;
  const wanted = packedSize(size, dtype);
  if (arrayLength(bytes) !== wanted) {
    throw rangeError(
      "ZP_INVALID_BYTES",
      where,
      `bytes must have length ${wanted} for ${size} codes of dtype ${dtype}, ` +
        `got ${arrayLength(bytes)}`,
    );
  }
  return bytes;
}

/** Converts codes, as bytes, to their packed form or back. */
function convertBits(
  { module, memory }: Core,
  where: string,
  operation: "pack" | "unpack",
  dtype: DType,
  size: number,
  source: Uint8Array,
  out: Uint8Array,
): void {
  if (DTYPES[dtype].bits >= 8) {
    setArray(out, source, 0);
    return;
  }
  const sourceSize = operation === "pack" ? size : packedSize(size, dtype);
  // A tile of TILE codes packs into whole bytes at any width.
  const tile = Math.min(size, TILE);
  const tileBytes = packedSize(tile, dtype);
  const [sourceStep, outStep] = operation === "pack" ? [tile, tileBytes] : [tileBytes, tile];
  const [sourceAt, outAt] = memory.layOut(where, sourceStep, outStep);
  try {
    for (let i = 0; i * tile < size; i++) {
      const start = i * sourceStep;
      const end = Math.min(sourceSize, start + sourceStep);
      memory.copyIn(where, "Uint8Array", sourceAt, subarrayOf(source, start, end), end - start);
      const count = Math.min(tile, size - i * tile);
      const status = module[operation](sourceAt, count, dtype, outAt);
      checkStatus(where, status);
      const outEnd = Math.min(arrayLength(out), (i + 1) * outStep);
      memory.read(outAt, subarrayOf(out, i * outStep, outEnd));
    }
  } finally {
    memory.end();
  }
}
