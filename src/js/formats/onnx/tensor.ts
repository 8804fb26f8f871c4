// Tensors of ONNX models: TensorProto in all its ways to store values.
// Source: onnx 1.20, onnx.proto.

import { bytesOf, type FileDType, swapSize } from "../dtypes.js";
import { checkRelativePath } from "../paths.js";
import {
  CHUNK_BYTES,
  countElements,
  type FileTensor,
  fileError,
  readChunks,
  type Source,
  type Span,
} from "../source.js";
import { BYTES, FIXED32, FIXED64, type Field, VARINT, WireReader } from "./wire.js";

/** dtypes by their number in TensorProto.DataType; text (8) has none here. */
const DATA_TYPES: readonly (FileDType | undefined)[] = [
  undefined,
  "float32",
  "uint8",
  "int8",
  "uint16",
  "int16",
  "int32",
  "int64",
  undefined,
  "bool",
  "float16",
  "float64",
  "uint32",
  "uint64",
  "complex64",
  "complex128",
  "bfloat16",
  "float8_e4m3fn",
  "float8_e4m3fnuz",
  "float8_e5m2",
  "float8_e5m2fnuz",
  "uint4",
  "int4",
  "float4_e2m1fn",
  "float8_e8m0fnu",
  "uint2",
  "int2",
];

/** The most dimensions of a tensor; ONNX Runtime takes far fewer. */
const MAX_RANK = 256;

/** TensorProto.DataType of text. */
export const STRING_TYPE = 8;

/** TensorProto.DataType of a dtype. @returns -1 if it has none */
export const dataTypeOf = (dtype: FileDType): number => DATA_TYPES.indexOf(dtype);

/** The dtype of a TensorProto.DataType. @returns undefined if it has none */
export const dtypeOf = (dataType = 0): FileDType | undefined => DATA_TYPES[dataType];

/** Fields of TensorProto that hold values, by number. */
const STORES: {
  readonly [number: number]: { readonly wire: number; readonly dtypes: readonly FileDType[] };
} = {
  4: { wire: FIXED32, dtypes: ["float32", "complex64"] },
  5: {
    wire: VARINT,
    dtypes: DATA_TYPES.filter(
      (dtype) => dtype !== undefined && !/^(float(32|64)|u?int64|uint32|complex)/.test(dtype),
    ) as FileDType[],
  },
  7: { wire: VARINT, dtypes: ["int64"] },
  10: { wire: FIXED64, dtypes: ["float64", "complex128"] },
  11: { wire: VARINT, dtypes: ["uint32", "uint64"] },
};
const STRING_DATA = 6;
const RAW_DATA = 9;

/** Opens a file of external data. @param location  path relative to the model; undefined if there is none */
export type OpenExternal = (location: string) => Promise<Source | undefined> | Source | undefined;

/** Consecutive bytes of values. */
interface Run {
  readonly field: number;
  readonly begin: number;
  end: number;
  /** Whether every value has its own tag; how many fields they are. */
  readonly isTagged: boolean;
  fields: number;
}

/** What was read of a TensorProto. */
export class TensorParts {
  name = "";
  dataType = 0;
  dims: number[] = [];
  isExternal = false;
  readonly runs: Run[] = [];
  readonly external = new Map<string, string>();

  constructor(readonly field: Field) {}

  /** Takes one field. @returns false if it is none with values or dims */
  take(reader: WireReader, field: Field): boolean {
    const { number, wire, start, content, end } = field;
    const store = STORES[number];
    if (number === 1) {
      if (wire !== VARINT && wire !== BYTES) throw wrongWire(reader, field);
      const dims = [...this.dims];
      while (reader.at < end) {
        reader.spend(start, 16);
        dims.push(reader.count(end, "a dimension"));
        if (dims.length > MAX_RANK)
          throw fileError(reader.where, start, `at most ${MAX_RANK} dims`, "more");
      }
      this.dims = dims;
    } else if (store !== undefined || number === RAW_DATA || number === STRING_DATA) {
      const isTagged = wire !== BYTES;
      if (isTagged && wire !== store?.wire) throw wrongWire(reader, field);
      const last = this.runs.at(-1);
      if (isTagged && last?.isTagged && last.field === number && last.end === start) {
        last.end = end;
        last.fields++;
      } else {
        reader.spend(start, 100);
        this.runs.push({
          field: number,
          begin: isTagged ? start : content,
          end,
          isTagged,
          fields: 1,
        });
      }
    } else return false;
    reader.at = end;
    return true;
  }
}

/** A known field of another wire type than its own. */
export const wrongWire = (reader: WireReader, { number, start, wire }: Field): Error =>
  fileError(reader.where, start, `another wire type for field ${number}`, wire);

/** A tensor of an ONNX model. */
export class OnnxTensor implements FileTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: FileDType;
  readonly byteLength: number;
  /** The TensorProto in the model's file. */
  readonly field: Field;
  /** Which field holds the values: "raw_data", "float_data" …, "external"; "none" without values. */
  readonly stored: string;
  /** Path of external data, relative to the model. */
  readonly location: string | undefined;
  readonly span?: Span;
  readonly #where: string;
  readonly #source: Source;
  readonly #runs: readonly Run[];
  readonly #external: (() => Promise<Span>) | undefined;

  constructor(where: string, source: Source, parts: TensorParts, open: OpenExternal | undefined) {
    const { field, runs, dataType, dims } = parts;
    const dtype = dtypeOf(dataType);
    if (dtype === undefined) {
      throw fileError(where, field.start, "a known data_type", dataType);
    }
    const count = countElements(where, field.start, dims);
    this.#where = where;
    this.#source = source;
    this.#runs = runs;
    this.field = field;
    this.name = parts.name;
    this.shape = dims;
    this.dtype = dtype;
    this.byteLength = bytesOf(dtype, count) ?? Number.MAX_SAFE_INTEGER;
    this.#checkStores(parts);
    this.stored = parts.isExternal
      ? "external"
      : runs.length === 0
        ? "none"
        : STORE_NAMES[runs[0].field];
    if (parts.isExternal) {
      const place = externalPlace(where, parts, this.byteLength);
      this.location = place.location;
      this.#external = () => openPlace(where, field.start, open, place, this.byteLength);
    } else if (runs.length === 1 && !runs[0].isTagged && STORES[runs[0].field]?.wire !== VARINT) {
      this.span = { source, offset: runs[0].begin };
    } else if (this.byteLength === 0) this.span = { source, offset: field.content };
  }

  /** One store, of the right kind, and of the right length where that can be told without reading. */
  #checkStores({ isExternal, runs, field }: TensorParts): void {
    const kinds = new Set(runs.map((run) => run.field));
    if (kinds.size + Number(isExternal) > 1) {
      const found = [...kinds].map((kind) => STORE_NAMES[kind]).join(", ");
      throw fileError(this.#where, field.start, "values in one place", found);
    }
    const [kind] = kinds;
    if (kind === undefined) {
      if (this.byteLength > 0 && !isExternal) {
        throw fileError(this.#where, field.start, `${this.byteLength} bytes of values`, "none");
      }
      return;
    }
    if (kind !== RAW_DATA && !STORES[kind]?.dtypes.includes(this.dtype)) {
      const expected = `another field for values of ${this.dtype}`;
      throw fileError(this.#where, field.start, expected, STORE_NAMES[kind]);
    }
    if (STORES[kind]?.wire === VARINT) return;
    const each = STORES[kind]?.wire === FIXED32 ? 4 : 8;
    let length = 0;
    for (const { begin, end, isTagged, fields } of runs) {
      length += isTagged ? fields * each : end - begin;
    }
    if (length !== this.byteLength) {
      const expected = `${this.byteLength} bytes of values for shape [${this.shape.join(", ")}]`;
      throw fileError(this.#where, field.start, expected, length);
    }
  }

  async *bytes(begin = 0, end = this.byteLength): AsyncGenerator<Uint8Array, void, undefined> {
    const span = this.span ?? (await this.#external?.());
    if (span !== undefined) {
      yield* readChunks(this.#where, span.source, span.offset + begin, span.offset + end);
      return;
    }
    let at = 0;
    for await (const chunk of this.#decoded()) {
      const part = chunk.subarray(Math.max(0, begin - at), Math.max(0, end - at));
      at += chunk.length;
      if (part.length > 0) yield part;
    }
    if (at !== this.byteLength) {
      throw fileError(this.#where, this.field.start, `${this.byteLength} bytes of values`, at);
    }
  }

  /** Values of varints, of several runs, or with tags of their own. */
  async *#decoded(): AsyncGenerator<Uint8Array, void, undefined> {
    for (const { field, begin, end, isTagged } of this.#runs) {
      const wire = STORES[field]?.wire;
      if (!isTagged && wire !== VARINT) {
        yield* readChunks(this.#where, this.#source, begin, end);
        continue;
      }
      const reader = new WireReader(this.#where, this.#source);
      reader.at = begin;
      // 4- and 2-bit values: a byte of several values for each varint.
      const size = wire === VARINT ? swapSize(this.dtype) : wire === FIXED32 ? 4 : 8;
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES / 64, 2 * (end - begin) * 8));
      const view = new DataView(chunk.buffer);
      while (reader.at < end) {
        let filled = 0;
        await reader.run(() => {
          while (reader.at < end && filled + 8 <= chunk.length) {
            const limit = isTagged ? reader.field(undefined, end).end : end;
            if (wire === VARINT) {
              const [low, high] = reader.words(limit);
              view.setUint32(filled, low, true);
              view.setUint32(filled + 4, high, true);
            } else {
              for (let i = 0; i < size; i += 4)
                view.setUint32(filled + i, reader.fixed32(limit), true);
            }
            filled += size;
            reader.complete();
          }
        });
        yield chunk.slice(0, filled);
      }
    }
  }
}

const STORE_NAMES: { readonly [field: number]: string } = {
  4: "float_data",
  5: "int32_data",
  6: "string_data",
  7: "int64_data",
  9: "raw_data",
  10: "double_data",
  11: "uint64_data",
};

/** Where external data is. */
interface Place {
  readonly location: string;
  readonly offset: number;
}

function externalPlace(where: string, { external, field }: TensorParts, byteLength: number): Place {
  const location = checkRelativePath(where, field.start, external.get("location") ?? "");
  const number = (key: string, otherwise: number): number => {
    const text = external.get(key);
    if (text === undefined || text === "") return otherwise;
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(value)) {
      throw fileError(
        where,
        field.start,
        `${key} of external data below 2^53`,
        JSON.stringify(text),
      );
    }
    return value;
  };
  const length = number("length", byteLength);
  if (length !== byteLength) {
    throw fileError(where, field.start, `${byteLength} bytes of external data`, length);
  }
  return { location, offset: number("offset", 0) };
}

async function openPlace(
  where: string,
  at: number,
  open: OpenExternal | undefined,
  { location, offset }: Place,
  byteLength: number,
): Promise<Span> {
  const source = await open?.(location);
  if (source === undefined) {
    throw fileError(where, at, `external data in ${JSON.stringify(location)}`, "no such file");
  }
  if (offset + byteLength > source.size) {
    const expected = `bytes up to ${offset + byteLength} of ${JSON.stringify(location)}`;
    throw fileError(where, at, expected, `${source.size} bytes; the file may be cut off`);
  }
  return { source, offset };
}
