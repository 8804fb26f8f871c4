// safetensors: a JSON header of tensors, then their bytes, which tile the rest of the file.
// Source: the reference library 0.8.0 (safetensors/src/tensor.rs), which this reader is at least as strict as.

import { rangeError } from "../base/errors.js";
import { show } from "../base/format-value.js";
import { Budget } from "./budget.js";
import { bytesOf, dtypeInfo, type FileDType } from "./dtypes.js";
import { asciiJson, asciiText, JsonReader } from "./json.js";
import { checkRelativePath } from "./paths.js";
import {
  checkSource,
  compareText,
  countElements,
  exactBytes,
  fileError,
  HeaderReader,
  readBytes,
  type Source,
  SpanTensor,
  type WritableTensor,
} from "./source.js";

/** The longest header, or index of shards, in bytes. */
export const MAX_HEADER = 100_000_000;

/** dtypes in the order of the reference's enumeration, by which its writer sorts: last first. */
const DTYPES: readonly (readonly [code: string, dtype: FileDType])[] = [
  ["BOOL", "bool"],
  ["F4", "float4_e2m1fn"],
  ["F6_E2M3", "float6_e2m3fn"],
  ["F6_E3M2", "float6_e3m2fn"],
  ["U8", "uint8"],
  ["I8", "int8"],
  ["F8_E5M2", "float8_e5m2"],
  ["F8_E4M3", "float8_e4m3fn"],
  ["F8_E8M0", "float8_e8m0fnu"],
  ["F8_E4M3FNUZ", "float8_e4m3fnuz"],
  ["F8_E5M2FNUZ", "float8_e5m2fnuz"],
  ["I16", "int16"],
  ["U16", "uint16"],
  ["F16", "float16"],
  ["BF16", "bfloat16"],
  ["I32", "int32"],
  ["U32", "uint32"],
  ["F32", "float32"],
  ["C64", "complex64"],
  ["F64", "float64"],
  ["I64", "int64"],
  ["U64", "uint64"],
];

const BY_CODE = /* @__PURE__ */ new Map(DTYPES);
const RANKS = /* @__PURE__ */ new Map(DTYPES.map(([, dtype], rank) => [dtype, rank]));

/** Whether safetensors has a dtype. */
export const isSafetensorsDType = (dtype: FileDType): boolean => RANKS.has(dtype);

/** A safetensors file whose header was read. */
export interface Safetensors {
  readonly format: "safetensors";
  /** Texts by key, in the order of the file. */
  readonly metadata: Map<string, string>;
  /** Tensors by name, in the order of the header. */
  readonly tensors: Map<string, SpanTensor>;
}

/**
 * Reads the header of a safetensors file.
 * @param where  the called function, for messages
 * @param budget  bounds the memory of the header and what is made of it
 * @throws {RangeError} `ZP_INVALID_FILE` for every file that the reference library refuses, for a tensor listed twice
 * and for lengths of 2^53 and more
 * For example `(await readSafetensors(bytesSource(bytes))).tensors.get("weight")?.shape`.
 */
export async function readSafetensors(
  given: Source,
  where = "readSafetensors",
  budget = new Budget(),
): Promise<Safetensors> {
  const source = checkSource(where, given);
  const header = new HeaderReader(where, source);
  const length = await header.run(() => header.u64("the header's length"));
  const limit = Math.min(MAX_HEADER, header.remaining);
  if (length > limit || length === 0) {
    throw fileError(where, 0, `a header of 1 to ${limit} bytes`, length);
  }
  budget.spend(where, 0, length);
  const bytes = await readBytes(where, source, 8, length);
  return parseHeader(where, bytes, source, budget);
}

/** Byte ranges of tensors in the data section, and where the header says so. */
interface Range {
  readonly begin: number;
  readonly end: number;
  readonly offset: number;
}

function parseHeader(
  where: string,
  bytes: Uint8Array,
  source: Source,
  budget: Budget,
): Safetensors {
  const json = new JsonReader(where, bytes, 8);
  const dataStart = 8 + bytes.length;
  const metadata = new Map<string, string>();
  const tensors = new Map<string, SpanTensor>();
  const ranges: Range[] = [];
  let hasMetadata = false;
  json.object((name, offset) => {
    if (name === "__metadata__") {
      if (hasMetadata) throw fileError(where, offset, "__metadata__ once", "twice");
      hasMetadata = true;
      if (json.peek() === "n") json.literal();
      else {
        json.object((key, at) => {
          const text = json.string();
          budget.spend(where, at, 150 + 2 * (key.length + text.length));
          metadata.set(key, text);
        });
      }
      return;
    }
    if (tensors.has(name)) {
      throw fileError(where, offset, "every tensor once", `${JSON.stringify(name)} again`);
    }
    const { dtype, shape, begin, end } = parseEntry(where, name, json);
    budget.spend(where, offset, 350 + name.length + 8 * shape.length);
    const count = countElements(where, offset, shape);
    const byteLength = bytesOf(dtype, count);
    if (byteLength === undefined || end - begin !== byteLength || !isWhole(dtype, count)) {
      const expected = `${byteLength} whole bytes for ${dtype} of shape [${shape.join(", ")}]`;
      throw fileError(where, offset, expected, `data_offsets [${begin}, ${end}]`);
    }
    ranges.push({ begin, end, offset });
    tensors.set(
      name,
      new SpanTensor(name, shape, dtype, byteLength, { source, offset: dataStart + begin }),
    );
  });
  json.end();
  checkTiling(where, ranges, source.size - dataStart, dataStart);
  return { format: "safetensors", metadata, tensors };
}

/** Whether a number of values takes whole bytes. */
const isWhole = (dtype: FileDType, count: number): boolean =>
  (count * (dtypeInfo(dtype)?.blockBits ?? 8)) % 8 === 0;

function parseEntry(where: string, name: string, json: JsonReader) {
  let dtype: FileDType | undefined;
  let shape: number[] | undefined;
  let range: number[] | undefined;
  const { offset } = json;
  json.object((field, at) => {
    if (field === "dtype") {
      if (dtype !== undefined) throw fileError(where, at, "dtype once", "twice");
      const code = json.string();
      dtype = BY_CODE.get(code);
      if (dtype === undefined)
        throw fileError(where, at, `a known dtype of ${show(name)}`, show(code));
    } else if (field === "shape") {
      if (shape !== undefined) throw fileError(where, at, "shape once", "twice");
      const lengths: number[] = [];
      json.array(() => lengths.push(json.count()));
      shape = lengths;
    } else if (field === "data_offsets") {
      if (range !== undefined) throw fileError(where, at, "data_offsets once", "twice");
      const ends: number[] = [];
      json.array(() => ends.push(json.count()));
      if (ends.length !== 2 || ends[0] > ends[1]) {
        throw fileError(where, at, "data_offsets [begin, end]", `[${ends.slice(0, 9).join(", ")}]`);
      }
      range = ends;
    } else json.skip();
  });
  if (dtype === undefined || shape === undefined || range === undefined) {
    const missing = dtype === undefined ? "dtype" : shape === undefined ? "shape" : "data_offsets";
    throw fileError(where, offset, `an entry with ${missing}`, "none");
  }
  return { dtype, shape, begin: range[0], end: range[1] };
}

/** The ranges, sorted, must cover the data section without holes and overlaps. */
function checkTiling(where: string, ranges: Range[], size: number, dataStart: number): void {
  ranges.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let covered = 0;
  for (const { begin, end, offset } of ranges) {
    if (begin !== covered || end > size) {
      const expected = `data_offsets from ${covered} to at most ${size}`;
      const rest = end > size ? "; the file may be cut off" : "";
      throw fileError(where, offset, expected, `[${begin}, ${end}]${rest}`);
    }
    covered = end;
  }
  if (covered !== size) {
    const expected = "the end of the file after the last tensor";
    throw fileError(where, dataStart + covered, expected, `${size - covered} more bytes`);
  }
}

/** A safetensors file before it is written. */
export interface SafetensorsLayout {
  /** Length of the header and the header, as in the file. */
  readonly header: Uint8Array;
  /** Tensors in the order of the file, with their sizes. */
  readonly tensors: readonly { readonly tensor: WritableTensor; readonly byteLength: number }[];
  /** Bytes of the file. */
  readonly byteLength: number;
}

/**
 * Lays a safetensors file out as the reference library writes it: tensors by dtype, then by name; the header padded
 * to 8 bytes with spaces.
 * @param metadata  texts by key; without any, the file has no `__metadata__`
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for dtypes that safetensors has not; `ZP_INVALID_SHAPE` for 4- and
 * 6-bit values that are not whole bytes; `ZP_INVALID_FILE` for a name that is there twice and for a header above
 * 100,000,000 bytes
 */
export function layoutSafetensors(
  tensors: Iterable<WritableTensor>,
  metadata: Iterable<readonly [string, string]> = [],
): SafetensorsLayout {
  const where = "writeSafetensors";
  const sized = Array.from(tensors, (tensor) => ({
    tensor,
    byteLength: checkTensor(where, tensor),
  }));
  const rank = (tensor: WritableTensor): number => RANKS.get(tensor.dtype) as number;
  sized.sort(({ tensor: a }, { tensor: b }) => rank(b) - rank(a) || compareText(a.name, b.name));
  const parts: string[] = [];
  const texts = [...metadata].map(
    ([key, text]) => `${JSON.stringify(key)}:${JSON.stringify(text)}`,
  );
  if (texts.length > 0) parts.push(`"__metadata__":{${texts.join(",")}}`);
  const names = new Set<string>();
  let end = 0;
  for (const { tensor, byteLength } of sized) {
    const { name } = tensor;
    if (names.has(name) || name === "__metadata__") {
      throw fileError(where, end, "other names than __metadata__, each once", JSON.stringify(name));
    }
    names.add(name);
    parts.push(entryOf(tensor, end, end + byteLength));
    end += byteLength;
  }
  const text = new TextEncoder().encode(`{${parts.join(",")}}`);
  const length = Math.ceil(text.length / 8) * 8;
  if (length > MAX_HEADER) {
    throw fileError(where, 0, `a header of at most ${MAX_HEADER} bytes`, length);
  }
  const header = new Uint8Array(8 + length).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(text, 8);
  return { header, tensors: sized, byteLength: header.length + end };
}

/** The entry of a tensor in the header. */
function entryOf({ name, shape, dtype }: WritableTensor, begin: number, end: number): string {
  const [code] = DTYPES[RANKS.get(dtype) as number];
  const entry = `{"dtype":"${code}","shape":[${shape.join(",")}],"data_offsets":[${begin},${end}]}`;
  return `${JSON.stringify(name)}:${entry}`;
}

/** Bytes of the entries of tensors in the header of a file of at most `size` bytes, at most. */
export const bytesOfEntries = (tensors: readonly WritableTensor[], size: number): number =>
  tensors.reduce((sum, each) => sum + bytesOfText(`${entryOf(each, size, size)},`), 0);

/** Bytes of a text in UTF-8. */
export const bytesOfText = (text: string): number => new TextEncoder().encode(text).length;

function checkTensor(where: string, { name, shape, dtype }: WritableTensor): number {
  const label = `tensor ${JSON.stringify(name)}`;
  if (!RANKS.has(dtype)) {
    const problem = `${label} has dtype ${dtype}, which safetensors does not have`;
    throw rangeError("ZP_UNSUPPORTED_DTYPE", where, problem);
  }
  const count = countElements(where, 0, shape);
  const byteLength = bytesOf(dtype, count);
  if (byteLength === undefined || !isWhole(dtype, count)) {
    const problem = `${label} of shape [${shape.join(", ")}] is not whole bytes of ${dtype}`;
    throw rangeError("ZP_INVALID_SHAPE", where, problem);
  }
  return byteLength;
}

/**
 * Writes a safetensors file front to back.
 * @throws {RangeError} as `layoutSafetensors`; `ZP_INVALID_BYTES` if a tensor gives another number of bytes
 * For example `for await (const chunk of writeSafetensors(layoutSafetensors(file.tensors.values()))) …`.
 */
export async function* writeSafetensors(
  layout: SafetensorsLayout,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield layout.header;
  for (const { tensor, byteLength } of layout.tensors) {
    yield* exactBytes("writeSafetensors", tensor, byteLength);
  }
}

/** An index of shards: which file holds which tensor. */
export interface ShardIndex {
  /** File names, relative to the index, by tensor. */
  readonly weightMap: Map<string, string>;
  /** The entries of the metadata: their values as they are written, in JSON. */
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Reads `model.safetensors.index.json`.
 * @param where  the called function, for messages
 * @param budget  bounds the memory of the index
 * @throws {RangeError} `ZP_INVALID_FILE` if it is no index, or names a file outside of its own folder
 */
export async function readShardIndex(
  given: Source,
  where = "readShardIndex",
  budget = new Budget(),
): Promise<ShardIndex> {
  const source = checkSource(where, given);
  if (source.size > MAX_HEADER) {
    throw fileError(where, 0, `an index of at most ${MAX_HEADER} bytes`, source.size);
  }
  budget.spend(where, 0, source.size);
  const json = new JsonReader(where, await readBytes(where, source, 0, source.size), 0, true);
  const weightMap = new Map<string, string>();
  const files = new Map<string, string>();
  const metadata = new Map<string, string>();
  let hasMap = false;
  json.object((key) => {
    if (key === "metadata" && json.peek() === "{") {
      json.object((field, offset) => {
        budget.spend(where, offset, 150 + field.length);
        metadata.set(field, json.text());
      });
    } else if (key === "weight_map") {
      hasMap = true;
      json.object((name, offset) => {
        budget.spend(where, offset, 150 + name.length);
        const file = checkRelativePath(where, offset, json.string());
        if (!files.has(file)) files.set(file, file);
        weightMap.set(name, files.get(file) as string);
      });
    } else json.skip();
  });
  json.end();
  if (!hasMap) throw fileError(where, 0, "an object with weight_map", "none");
  return { weightMap, metadata };
}

/**
 * The text of `model.safetensors.index.json`, as Python's `json.dumps(…, sort_keys=True)` writes it.
 * @param metadata  `total_size` in bytes, and others as they are written in JSON
 */
export function shardIndexText(
  metadata: ReadonlyMap<string, string | number>,
  weightMap: Iterable<readonly [string, string]>,
  indent = 2,
): string {
  // Objects would move keys that are integers to the front: each map is written member by member.
  const space = " ".repeat(indent);
  const write = (texts: Iterable<readonly [string, string]>): string => {
    const sorted = [...texts].sort(([a], [b]) => compareText(a, b));
    const members = sorted.map(([key, text]) => `${space}${space}${asciiJson(key, 0)}: ${text}`);
    return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${space}}`;
  };
  const head = write(Array.from(metadata, ([key, value]) => [key, asciiText(String(value))]));
  const map = write(Array.from(weightMap, ([name, file]) => [name, asciiJson(file, 0)]));
  return `{\n${space}"metadata": ${head},\n${space}"weight_map": ${map}\n}`;
}
