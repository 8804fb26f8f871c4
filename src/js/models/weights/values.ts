// The values of a tensor as float32, from any position on, in runs of any length and constant memory.

import type { KeptCore } from "../../core/init.js";
import { dtypeInfo, type FileDTypeInfo } from "../../formats/dtypes.js";
import { partOf, type StoredPart } from "../../formats/layouts/unpack.js";
import { type FileTensor, fileError, readScratch } from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";
import { documentOf, type Model, weightsOf } from "../open/model.js";
import { checkDecodable, decodeTile } from "../open/values.js";
import type { StoredWeight } from "../stored/weight.js";

/** Bytes that are read at a time. */
const PIECE_BYTES = 2 ** 19;

/** Values of a quantized tensor that are read at a time. */
const WINDOW_VALUES = 2 ** 17;

/** The largest part of a quantized tensor that is kept between windows, in bytes. */
const HELD_BYTES = 2 ** 16;

/** Values in row-major order, as float32. */
export interface ValueSource {
  readonly name: string;
  readonly size: number;
  /**
   * Values from an index on, in tiles, each of which is valid until the next one is requested.
   * @param advance  called with the bytes of the file that were read
   */
  tiles(first: number, advance: (bytes: number) => void): AsyncIterable<Float32Array>;
}

/**
 * The values of a tensor of a model, dequantized if it is quantized.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for dtypes without values
 */
export function valueSourceOf(where: string, model: Model, name: string): ValueSource {
  const { files, core } = documentOf(where, "model", model);
  const weight = weightsOf(model).get(name);
  if (weight !== undefined) return valuesOfWeight(weight, files);
  return valuesOfFile(where, core, files.get(name) as FileTensor);
}

/** The values of a tensor of a file: of an element type or of ggml's block types, which a core decodes. */
export function valuesOfFile(where: string, core: KeptCore, file: FileTensor): ValueSource {
  checkDecodable(where, file);
  const { name, dtype, shape } = file;
  const { blockLength, blockBits } = dtypeInfo(dtype) as FileDTypeInfo;
  // The smallest run of values that is whole bytes by itself.
  const unit = blockLength === 1 ? 8 : blockLength;
  const unitBytes = ((unit / blockLength) * blockBits) / 8;
  const size = sizeOf(shape);
  return {
    name,
    size,
    async *tiles(first, advance) {
      const most = Math.max(1, Math.floor(PIECE_BYTES / unitBytes));
      const tile = new Float32Array(most * unit);
      let skipped = first % unit;
      let left = size - first;
      if (left <= 0) return;
      const begin = Math.floor(first / unit) * unitBytes;
      for await (const bytes of pieces(file, begin, most * unitBytes, unitBytes)) {
        advance(bytes.length);
        const length = Math.min(Math.floor((bytes.length / unitBytes) * unit), left + skipped);
        const values = decodeTile(core, dtype, bytes, tile.subarray(0, length));
        left -= length - skipped;
        yield values.subarray(skipped);
        skipped = 0;
      }
      if (left > 0) {
        throw fileError(where, 0, `${size} values in ${JSON.stringify(name)}`, size - left);
      }
    },
  };
}

/** The values of a quantized tensor: window by window where its layout allows it, else whole. */
function valuesOfWeight(weight: StoredWeight, files: ReadonlyMap<string, FileTensor>): ValueSource {
  const { name, shape, window } = weight;
  const size = sizeOf(shape);
  const bytesOfPart = async (
    part: string,
    begin: number,
    end: number,
    advance: (bytes: number) => void,
  ): Promise<Uint8Array> => {
    const file = files.get(part) as FileTensor;
    const bytes = new Uint8Array(end - begin);
    advance(bytes.length);
    if (file.span !== undefined && bytes.length > 0) {
      const { source, offset } = file.span;
      return await readScratch(`values of ${name}`, source, offset + begin, bytes.length, bytes);
    }
    let at = 0;
    for await (const chunk of file.bytes(begin, end)) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  };
  return {
    name,
    size,
    async *tiles(first, advance) {
      if (window === undefined) {
        const values = await weight.read(async (names) => {
          const parts: Record<string, StoredPart> = {};
          for (const [role, part] of Object.entries(names)) {
            const file = files.get(part) as FileTensor;
            parts[role] = partOf(file, await bytesOfPart(part, 0, file.byteLength, advance));
          }
          return parts;
        });
        yield values.subarray(first);
        return;
      }
      const { unit } = window;
      // Parts that every window needs as a whole, such as a single scale.
      const held = new Map<string, Uint8Array>();
      const load = async (part: string, from: number, to: number): Promise<Uint8Array> => {
        const known = held.get(part);
        if (known !== undefined) return known;
        const bytes = await bytesOfPart(part, from, to, advance);
        if (to - from === files.get(part)?.byteLength && to - from <= HELD_BYTES) {
          held.set(part, bytes);
        }
        return bytes;
      };
      const step = unit * Math.max(1, Math.floor(WINDOW_VALUES / unit));
      const tile = new Float32Array(Math.min(step, size));
      for (let begin = Math.floor(first / unit) * unit; begin < size; begin += step) {
        const values = tile.subarray(0, size - begin);
        await window.read(load, begin, values);
        yield begin < first ? values.subarray(first - begin) : values;
      }
    },
  };
}

/** The bytes of a tensor in pieces of `most` bytes, and multiples of a width, except for the last one. */
async function* pieces(
  file: FileTensor,
  begin: number,
  most: number,
  width: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { span, byteLength } = file;
  if (span !== undefined) {
    const { source, offset } = span;
    const length = Math.min(most, byteLength - begin);
    const scratch = [new Uint8Array(length), new Uint8Array(length)];
    let turn = 0;
    const read = async (at: number): Promise<Uint8Array> => {
      const count = Math.max(0, Math.min(most, byteLength - at));
      turn = 1 - turn;
      return await readScratch(`values of ${file.name}`, source, offset + at, count, scratch[turn]);
    };
    // The next piece is read while this one is worked on.
    let next = read(begin);
    for (let at = begin; at < byteLength; at += most) {
      const piece = await next;
      next = read(at + most);
      // After an early end, the pending piece is not awaited.
      next.catch(() => {});
      yield piece;
    }
    return;
  }
  let rest = new Uint8Array(0);
  for await (const chunk of file.bytes(begin)) {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + most - rest.length);
      at += part.length;
      let piece = part;
      if (rest.length > 0) {
        piece = new Uint8Array(rest.length + part.length);
        piece.set(rest);
        piece.set(part, rest.length);
      }
      const whole = piece.length - (piece.length % width);
      if (whole > 0) yield piece.subarray(0, whole);
      rest = piece.slice(whole);
    }
  }
  if (rest.length > 0) yield rest;
}

/** Reads values in runs of given lengths. */
export class ValueReader {
  readonly #tiles: AsyncIterator<Float32Array>;
  #tile: Float32Array = new Float32Array(0);

  constructor(source: ValueSource, first: number, advance: (bytes: number) => void) {
    this.#tiles = source.tiles(first, advance)[Symbol.asyncIterator]();
  }

  /** Fills an array with the next values. */
  async fill(out: Float32Array): Promise<Float32Array> {
    for (let filled = 0; filled < out.length; ) {
      if (this.#tile.length === 0) {
        const { done, value } = await this.#tiles.next();
        if (done) throw fileError("values", 0, "more values of a tensor", "its end");
        this.#tile = value;
      }
      const part = this.#tile.subarray(0, out.length - filled);
      out.set(part, filled);
      filled += part.length;
      this.#tile = this.#tile.subarray(part.length);
    }
    return out;
  }

  async close(): Promise<void> {
    await this.#tiles.return?.();
  }
}
