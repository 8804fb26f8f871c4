// TensorFlow.js models: model.json with a manifest of weights, or weights_manifest.json with the manifest alone, and
// shards that hold the weights one after the other.
// Source: tfjs-core 4, src/io/io_utils.ts and types.ts; weights_manifest.json: tfjs-converter before 1.0, face-api.js.

import { Budget } from "./budget.js";
import { bytesOf, type FileDType } from "./dtypes.js";
import { JsonReader, readJson } from "./json.js";
import type { InputAxes } from "./onnx/weights.js";
import { checkRelativePath } from "./paths.js";
import {
  checkSource,
  countElements,
  type FileTensor,
  fileError,
  joinBytes,
  readBytes,
  readChunks,
  type Source,
  type Span,
} from "./source.js";
import { axesIn } from "./tfjs-topology.js";

/** The largest topology that is read, in bytes: in memory empty objects take 24 times as much. */
const MAX_TOPOLOGY = 2 ** 21;

/** Bytes that are read at a time to find the lengths of strings. */
const STRINGS_BYTES = 2 ** 16;

const DTYPES: { readonly [name: string]: FileDType } = {
  float32: "float32",
  float16: "float16",
  int32: "int32",
  uint8: "uint8",
  uint16: "uint16",
  bool: "bool",
  complex64: "complex64",
};

/** How codes of a tensor become values: scale * code + min, in float64, rounded to float32. */
export interface TfjsQuantization {
  readonly scale: number;
  readonly min: number;
  /** dtype of the values: "float32", or "int32", which are rounded to integers. */
  readonly dtype: "float32" | "int32";
}

/** A tensor of a TensorFlow.js model; if it is quantized, its dtype is that of the codes. */
export interface TfjsTensor extends FileTensor {
  readonly quantization?: TfjsQuantization;
  /** The axes that its layer or operator sums over, if model.json describes one that is known. */
  readonly inputAxes?: InputAxes;
}

/** A TensorFlow.js model whose manifest was read. */
export interface Tfjs {
  readonly format: "tfjs";
  /** `format`, `generatedBy`, `convertedBy` and other texts of model.json. */
  readonly metadata: Map<string, string>;
  readonly tensors: Map<string, TfjsTensor>;
  /** Weights that are no numbers, by name: what they are. */
  readonly unreadable: Map<string, string>;
}

/** A weight of the manifest. */
interface Weight {
  readonly at: number;
  readonly name: string;
  readonly shape: readonly number[];
  /** "string": each has its length in front, as 4 bytes. */
  readonly dtype: FileDType | "string";
  /** Of text the number of strings. */
  readonly byteLength: number;
  readonly quantization: TfjsQuantization | undefined;
}

/** A weight of numbers. */
type NumericWeight = Weight & { readonly dtype: FileDType };

interface Group {
  readonly paths: string[];
  readonly weights: Weight[];
}

/**
 * Reads model.json or weights_manifest.json, and opens the shards that it names.
 * @param open   opens a shard by its path relative to that file
 * @param where  the called function, for messages
 * @param budget  bounds the memory of model.json and what is made of it
 * @throws {RangeError} `ZP_INVALID_FILE` for other files, damaged manifests, paths that leave the folder, and shards
 * that are missing or too short
 */
export async function readTfjs(
  given: Source,
  open: (path: string) => Promise<Source | undefined> | Source | undefined,
  where = "readTfjs",
  budget = new Budget(),
): Promise<Tfjs> {
  const source = checkSource(where, given);
  budget.spend(where, 0, source.size);
  const json = new JsonReader(where, await readBytes(where, source, 0, source.size), 0, true);
  const metadata = new Map<string, string>();
  const groups: Group[] = [];
  let axesOf: ReturnType<typeof axesIn> | undefined;
  const readManifest = (): void => json.array(() => groups.push(parseGroup(where, json, budget)));
  let hasManifest = json.peek() === "[";
  if (hasManifest) readManifest();
  else {
    json.object((key, at) => {
      if (key === "weightsManifest") {
        hasManifest = true;
        readManifest();
      } else if (key === "modelTopology") {
        const { offset } = json;
        json.skip();
        const text = json.bytes.subarray(offset, json.offset);
        if (text.length <= MAX_TOPOLOGY) axesOf = axesIn(readJson(where, text, budget));
      } else if (json.peek() === '"') {
        const text = json.string();
        budget.spend(where, at, 150 + 2 * (key.length + text.length));
        metadata.set(key, text);
      } else json.skip();
    });
  }
  json.end();
  if (!hasManifest) {
    const expected = "a model.json of TensorFlow.js, an object with weightsManifest";
    throw fileError(where, 0, expected, "JSON without it");
  }
  const tensors = new Map<string, TfjsTensor>();
  const unreadable = new Map<string, string>();
  for (const { paths, weights } of groups) {
    const shards = new Shards(where);
    for (const path of paths) {
      const shard = await open(path);
      if (shard === undefined) throw fileError(where, 0, `a shard ${JSON.stringify(path)}`, "none");
      shards.add(checkSource(where, shard));
    }
    let offset = 0;
    for (const weight of weights) {
      if (tensors.has(weight.name) || unreadable.has(weight.name)) {
        throw fileError(where, weight.at, "every weight once", JSON.stringify(weight.name));
      }
      if (!isNumeric(weight)) {
        unreadable.set(weight.name, "text");
        offset = await shards.endOfStrings(weight, offset);
        continue;
      }
      if (offset + weight.byteLength > shards.size) {
        const expected = `shards of at least ${offset + weight.byteLength} bytes`;
        throw fileError(where, weight.at, expected, shards.size);
      }
      const inputAxes = axesOf?.(weight.name, weight.shape.length);
      tensors.set(weight.name, {
        ...tensorOf(weight, shards, offset),
        ...(inputAxes === undefined ? {} : { inputAxes }),
      });
      offset += weight.byteLength;
    }
  }
  return { format: "tfjs", metadata, tensors, unreadable };
}

const isNumeric = (weight: Weight): weight is NumericWeight => weight.dtype !== "string";

function parseGroup(where: string, json: JsonReader, budget: Budget): Group {
  const paths: string[] = [];
  const known = new Set<string>();
  const weights: Weight[] = [];
  json.object((key) => {
    if (key === "paths") {
      json.array(() => {
        const { offset } = json;
        const text = json.string();
        budget.spend(where, offset, 300 + 2 * text.length);
        const path = checkRelativePath(where, offset, text);
        if (known.has(path))
          throw fileError(where, offset, "every shard once", JSON.stringify(path));
        known.add(path);
        paths.push(path);
      });
    } else if (key === "weights") {
      json.array(() => {
        budget.spend(where, json.offset, 900);
        weights.push(parseWeight(where, json));
      });
    } else json.skip();
  });
  return { paths, weights };
}

function parseWeight(where: string, json: JsonReader): Weight {
  const at = json.offset;
  let name: string | undefined;
  let dtype: string | undefined;
  let shape: number[] | undefined;
  let codes: { dtype: string; scale: number | undefined; min: number | undefined } | undefined;
  json.object((key) => {
    if (key === "name") name = json.string();
    else if (key === "dtype") dtype = json.string();
    else if (key === "shape") {
      const lengths: number[] = [];
      json.array(() => lengths.push(json.count()));
      shape = lengths;
    } else if (key === "quantization") codes = parseQuantization(json);
    else json.skip();
  });
  if (name === undefined || dtype === undefined || shape === undefined) {
    throw fileError(where, at, "a weight with name, dtype and shape", "fewer fields");
  }
  if (dtype === "string" && codes === undefined) {
    return {
      at,
      name,
      shape,
      dtype,
      byteLength: countElements(where, at, shape),
      quantization: undefined,
    };
  }
  const stored = codes === undefined ? dtype : codes.dtype;
  if (!Object.hasOwn(DTYPES, stored) || !Object.hasOwn(DTYPES, dtype)) {
    throw fileError(where, at, "a known dtype", JSON.stringify(stored));
  }
  const quantization = quantizationOf(where, at, dtype, codes);
  const count = countElements(where, at, shape);
  const byteLength = bytesOf(DTYPES[stored], count);
  if (byteLength === undefined) throw fileError(where, at, "a size below 2^53", `${shape}`);
  return { at, name, shape, dtype: DTYPES[stored], byteLength, quantization };
}

function parseQuantization(json: JsonReader) {
  let dtype = "";
  let scale: number | undefined;
  let min: number | undefined;
  json.object((key) => {
    if (key === "dtype") dtype = json.string();
    else if (key === "scale") scale = json.number();
    else if (key === "min") min = json.number();
    else json.skip();
  });
  return { dtype, scale, min };
}

function quantizationOf(
  where: string,
  at: number,
  dtype: string,
  codes: { dtype: string; scale: number | undefined; min: number | undefined } | undefined,
): TfjsQuantization | undefined {
  if (codes === undefined) return undefined;
  if (codes.dtype === "float16" && dtype === "float32") return undefined;
  const { scale, min } = codes;
  const isInteger = codes.dtype === "uint8" || codes.dtype === "uint16";
  const isKnown = isInteger && (dtype === "float32" || dtype === "int32");
  // A constant of -Infinity, such as the mask of an attention, has it as its min.
  if (!isKnown || !Number.isFinite(scale) || min === undefined) {
    const expected = "quantization to float16, or to uint8 or uint16 with scale and min";
    throw fileError(where, at, expected, `${codes.dtype} of ${dtype}, scale ${scale}, min ${min}`);
  }
  return { scale: scale as number, min, dtype };
}

/** Shards as one run of bytes. */
class Shards {
  readonly #shards: { readonly source: Source; readonly start: number }[] = [];
  size = 0;

  constructor(readonly where: string) {}

  add(source: Source): void {
    this.#shards.push({ source, start: this.size });
    this.size += source.size;
  }

  /** Index of the last shard that starts at or before an offset. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.#shards.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#shards[middle].start <= offset) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The place of bytes [begin, end), if one shard holds them all. */
  spanOf(begin: number, end: number): Span | undefined {
    const shard = this.#shards[this.#indexOf(begin)];
    if (shard === undefined || end > shard.start + shard.source.size) return undefined;
    return { source: shard.source, offset: begin - shard.start };
  }

  /** Bytes [begin, end), or those before the end of the shards. */
  async #read(begin: number, end: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of this.bytes(begin, Math.min(end, this.size))) parts.push(part);
    return joinBytes(parts);
  }

  /**
   * The end of a weight of strings that begins at an offset.
   * @throws {RangeError} `ZP_INVALID_FILE` if the shards end before
   */
  async endOfStrings({ at, byteLength: count }: Weight, offset: number): Promise<number> {
    let end = offset;
    let window = new Uint8Array(0);
    let start = offset;
    for (let i = 0; i < count; i++) {
      if (end + 4 > start + window.length) {
        start = end;
        window = new Uint8Array(await this.#read(start, start + STRINGS_BYTES));
      }
      const view = new DataView(window.buffer, Math.min(end - start, window.length));
      const length = view.byteLength < 4 ? Infinity : view.getUint32(0, true);
      end += 4 + length;
      if (end > this.size) {
        const expected = `${count} strings with their lengths, in shards of ${this.size} bytes`;
        throw fileError(this.where, at, expected, `the end of the shards in string ${i}`);
      }
    }
    return end;
  }

  async *bytes(begin: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let i = this.#indexOf(begin); i < this.#shards.length; i++) {
      const { source, start } = this.#shards[i];
      if (start >= end) return;
      const from = Math.max(begin, start) - start;
      const to = Math.min(end, start + source.size) - start;
      if (from < to) yield* readChunks(this.where, source, from, to);
    }
  }
}

function tensorOf(weight: NumericWeight, shards: Shards, offset: number): TfjsTensor {
  const { name, shape, dtype, byteLength, quantization } = weight;
  const span = shards.spanOf(offset, offset + byteLength);
  return {
    name,
    shape,
    dtype,
    byteLength,
    ...(span === undefined ? {} : { span }),
    ...(quantization === undefined ? {} : { quantization }),
    bytes: (begin = 0, end = byteLength) => shards.bytes(offset + begin, offset + end),
  };
}
