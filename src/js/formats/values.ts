// The values of a file's tensor, decoded tile by tile.

import { bytesOf, decodeValues, type FileDType } from "./dtypes.js";
import { type FileTensor, fileError } from "./source.js";

/**
 * The values of a tensor in row-major order, as float32, in tiles.
 * @param tileLength  values of a tile, a multiple of 256; the last tile is shorter
 * @param decode  decodes the bytes of a tile; the default decodes element types
 */
export async function* readValues(
  tensor: FileTensor,
  tileLength = 2 ** 18,
  decode: typeof decodeValues = decodeValues,
): AsyncGenerator<Float32Array, void, undefined> {
  const { dtype, shape } = tensor;
  let left = shape.reduce((count, length) => count * length, 1);
  const tile = new Tile(dtype, tileLength, decode);
  for await (const chunk of tensor.bytes()) {
    for (let at = 0; at < chunk.length && left > 0; ) {
      at += tile.fill(chunk.subarray(at));
      if (!tile.isFull) continue;
      const length = Math.min(tileLength, left);
      left -= length;
      yield tile.take(length);
    }
  }
  if (left > 0) yield tile.take(left);
}

/** Bytes of one tile, gathered from chunks. */
class Tile {
  readonly #bytes: Uint8Array;
  #filled = 0;

  constructor(
    readonly dtype: FileDType,
    length: number,
    readonly decode: typeof decodeValues,
  ) {
    this.#bytes = new Uint8Array(bytesOf(dtype, length) as number);
  }

  get isFull(): boolean {
    return this.#filled === this.#bytes.length;
  }

  /** @returns how many bytes of the chunk were taken */
  fill(chunk: Uint8Array): number {
    const taken = Math.min(chunk.length, this.#bytes.length - this.#filled);
    this.#bytes.set(chunk.subarray(0, taken), this.#filled);
    this.#filled += taken;
    return taken;
  }

  take(length: number): Float32Array {
    const needed = bytesOf(this.dtype, length) as number;
    if (this.#filled !== needed) {
      throw fileError("readValues", this.#filled, `${needed} bytes of values`, this.#filled);
    }
    this.#filled = 0;
    return this.decode(this.dtype, this.#bytes.subarray(0, needed), new Float32Array(length));
  }
}
