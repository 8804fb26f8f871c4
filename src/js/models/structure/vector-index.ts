// Indexes of vectors in files: a tensor for each column of their rows.

import { typeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import type { FileDType } from "../../formats/dtypes.js";
import { type ByteStream, readScratch, type Span } from "../../formats/source.js";
import { checkId, type RowIds } from "../../search/ids.js";
import { signBytes, type VectorId, type VectorMetric } from "../../search/layout.js";
import type { Column, ReadRows, VectorRows } from "../../search/rows.js";
import { partsOf, VectorIndex } from "../../search/vector-index.js";
import { arrayOf } from "./arrays.js";
import {
  type FileWriter,
  type JSONNode,
  type JSONValue,
  joined,
  type LoadedTensor,
  type StructureReader,
} from "./structure.js";

/** An index with any ids and any metric. */
export type AnyVectorIndex = VectorIndex<VectorId, VectorMetric>;

/** The kind of their nodes. */
export const INDEX_KIND = "vector-index";

/** Bytes of a chunk of a saved column. */
const CHUNK = 2 ** 20;
/** Ids that are written at a time. */
const IDS_AT_ONCE = 2 ** 12;

/** A column in a file. */
interface StoredColumn {
  readonly column: Column;
  /** The field of the node that has the tensor's name, and the end of that name. */
  readonly field: (typeof COLUMN_FIELDS)[number];
  readonly dtype: FileDType;
  readonly shape: readonly number[];
}

const COLUMN_FIELDS = [
  "codes",
  "scales",
  "errors",
  "originalValues",
  "originalErrors",
  "signs",
] as const;

/** The columns of an index in a file; squares and restored squares are computed again. */
function storedColumns({ layout, widths, groups }: VectorRows, size: number): StoredColumn[] {
  const { dimensions, dtype, originals, hasSigns } = layout;
  const columns: StoredColumn[] = [
    {
      column: "codes",
      field: "codes",
      dtype: dtype === "int8" ? "int8" : "uint8",
      shape: [size, widths.codes],
    },
    {
      column: "scales",
      field: "scales",
      dtype: "float32",
      shape: layout.groupSize === undefined ? [size] : [size, groups],
    },
    { column: "errors", field: "errors", dtype: "float32", shape: [size] },
  ];
  if (originals !== "none") {
    const shape = [size, dimensions];
    columns.push({ column: "originals", field: "originalValues", dtype: originals, shape });
  }
  if (originals === "float16") {
    const field = "originalErrors";
    columns.push({ column: "originalErrors", field, dtype: "float32", shape: [size] });
  }
  if (hasSigns) {
    const shape = [size, signBytes(dimensions)];
    columns.push({ column: "signs", field: "signs", dtype: "uint8", shape });
  }
  return columns;
}

/** Writes an index. */
export function writeIndex(writer: FileWriter, path: string, index: AnyVectorIndex): JSONNode {
  const { where } = writer;
  const { rows, ids } = partsOf(where, index);
  const { dimensions, metric, dtype, originals, groupSize, hasSigns } = rows.layout;
  const { size, version, mostSquares, nextOrder } = rows;
  const checkSame = (): void => {
    rows.checkAlive(where);
    if (rows.version === version) return;
    const problem =
      "the index was changed while its file was read: a copy of the file is incomplete";
    throw typeError("ZP_INVALID_STATE", where, problem);
  };
  const add = (
    field: string,
    type: FileDType,
    shape: readonly number[],
    bytes: () => Generator<Uint8Array>,
  ): string =>
    writer.add(joined(path, field), type, shape, function* () {
      checkSame();
      for (const chunk of bytes()) {
        yield chunk;
        checkSame();
      }
    } satisfies () => ByteStream);
  const node: Record<string, JSONValue> = {
    kind: INDEX_KIND,
    dimensions,
    metric,
    dtype,
    ...(groupSize !== undefined && { groupSize }),
    prefilter: hasSigns ? "binary" : "none",
    originals,
    rows: size,
    mostSquares,
    nextOrder,
    nextId: ids.next,
  };
  for (const { column, field, dtype: type, shape } of storedColumns(rows, size)) {
    const step = Math.max(1, Math.floor(CHUNK / rows.widths[column]));
    node[field] = add(field, type, shape, function* () {
      for (let row = 0; row < size; row += step) {
        yield rows.read(where, column, row, Math.min(step, size - row));
      }
    });
  }
  const orders = rows.orders();
  if (orders !== undefined) {
    node.orders = add("orders", "uint32", [size], function* () {
      yield new Uint8Array(orders.buffer as ArrayBuffer);
    });
  }
  if (!ids.arePositions) {
    // Twice the work, in place of a text of all ids in memory.
    let length = 0;
    for (const chunk of idChunks(ids, size)) length += chunk.length;
    node.ids = add("ids", "uint8", [length], () => idChunks(ids, size));
  }
  return node as JSONNode;
}

/** The ids of rows as a list in JSON, some at a time. */
function* idChunks(ids: RowIds, size: number): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  for (let row = 0; row < size; row += IDS_AT_ONCE) {
    const count = Math.min(IDS_AT_ONCE, size - row);
    const some = Array.from({ length: count }, (_, i) => JSON.stringify(ids.at(row + i)));
    yield encoder.encode((row === 0 ? "[" : ",") + some.join(","));
  }
  yield encoder.encode(size === 0 ? "[]" : "]");
}

const FIELDS = [
  "kind",
  "dimensions",
  "metric",
  "dtype",
  "groupSize",
  "prefilter",
  "originals",
  "rows",
  "mostSquares",
  "nextOrder",
  "nextId",
  ...COLUMN_FIELDS,
  "orders",
  "ids",
] as const;

/** What is wrong with a file's rows, by the core's status. */
const FAULTS: Readonly<Record<string, readonly [field: string, expected: string]>> = {
  kInvalidScale: ["scales", "scales and errors that are finite and >= 0"],
  kNonFinite: ["originalValues", "finite originals"],
  kSizeOverflow: ["codes", "codes within their range"],
};

/** The names of the tensors that the indexes of a structure read later. */
export function columnNames(structure: unknown, names = new Set<unknown>()): Set<unknown> {
  if (typeof structure !== "object" || structure === null) return names;
  const node = structure as Readonly<Record<string, unknown>>;
  if (node.kind === INDEX_KIND) for (const field of COLUMN_FIELDS) names.add(node[field]);
  else for (const value of Object.values(node)) columnNames(value, names);
  return names;
}

/** Reads an index, whose rows are read later. */
export function readIndex(reader: StructureReader, path: string, value: unknown): AnyVectorIndex {
  const { where } = reader;
  const node = reader.fields(path, value, FIELDS);
  const most = 2 ** 32 - 1;
  const integer = (name: (typeof FIELDS)[number], low: number, high: number): number =>
    reader.integer(`${path}.${name}`, node[name], low, high);
  const choice = <const T extends readonly string[]>(name: (typeof FIELDS)[number], choices: T) =>
    reader.choice<T[number]>(`${path}.${name}`, node[name], choices);
  const size = integer("rows", 0, most);
  const dtype = choice("dtype", ["int8", "int4", "binary"]);
  if (dtype === "binary" && node.groupSize !== undefined) {
    throw reader.fail(`${path}.groupSize`, "nothing", node.groupSize);
  }
  const index = new VectorIndex<VectorId, VectorMetric>({
    dimensions: integer("dimensions", 1, 65535),
    metric: choice("metric", ["cosine", "dot", "euclidean"]),
    dtype,
    groupSize: node.groupSize === undefined ? undefined : integer("groupSize", 1, 2 ** 31 - 1),
    prefilter: choice("prefilter", ["none", "binary"]),
    originals: choice("originals", ["none", "float32", "float16"]),
  });
  try {
    const { rows, ids } = partsOf(where, index);
    const spans = new Map<Column, Span>();
    const stored = storedColumns(rows, size);
    for (const { column, field, dtype, shape } of stored) {
      spans.set(column, reader.takePlaced(`${path}.${field}`, node[field], dtype, shape));
    }
    const other = COLUMN_FIELDS.find(
      (field) => node[field] !== undefined && !stored.some((own) => own.field === field),
    );
    if (other !== undefined) throw reader.fail(`${path}.${other}`, "nothing", node[other]);
    const nextOrder = integer("nextOrder", size, most);
    const orders =
      node.orders === undefined
        ? undefined
        : readOrders(reader, path, node.orders, size, nextOrder);
    const counts = { mostSquares: integer("mostSquares", 0, 2 ** 31 - 1), nextOrder };
    const list = node.ids === undefined ? undefined : readIds(reader, path, node.ids, size);
    const nextId = integer("nextId", list === undefined ? size : 0, 2 ** 53);
    if (!ids.restore(list, size, nextId)) throw reader.fail(`${path}.ids`, "each id once", "two");
    reader.later(async () => {
      try {
        const status = await rows.restore(
          where,
          size,
          rowReader(where, rows, spans),
          orders,
          counts,
        );
        const fault = fieldOf(FAULTS, status);
        if (fault !== undefined) throw reader.fail(`${path}.${fault[0]}`, fault[1], "others");
      } catch (error) {
        index.dispose();
        throw error;
      }
    });
    return index;
  } catch (error) {
    index.dispose();
    throw error;
  }
}

/** Reads columns of a file for `VectorRows.restore`, each into two arrays in turn. */
function rowReader(
  where: string,
  { widths }: VectorRows,
  spans: ReadonlyMap<Column, Span>,
): ReadRows {
  const scratches = new Map<Column, Uint8Array[]>();
  return async (column, first, count) => {
    const { source, offset } = spans.get(column) as Span;
    const width = widths[column];
    const [next = new Uint8Array(0), other = next] = scratches.get(column) ?? [];
    const scratch = next.length < width * count ? new Uint8Array(width * count) : next;
    scratches.set(column, [other, scratch]);
    return await readScratch(where, source, offset + width * first, width * count, scratch);
  };
}

/** The places in the order of insertion: different ones, below the next one. */
function readOrders(
  reader: StructureReader,
  path: string,
  value: unknown,
  size: number,
  nextOrder: number,
): Uint32Array {
  const tensor = reader.takeShaped(`${path}.orders`, value, ["uint32"], [size]);
  const orders = arrayOf(tensor) as Uint32Array;
  const sorted = orders.slice().sort();
  const isValid = sorted.every((order, i) => i === 0 || order > sorted[i - 1]);
  if (isValid && (size === 0 || sorted[size - 1] < nextOrder)) return orders;
  throw reader.fail(`${path}.orders`, `different numbers below ${nextOrder}`, "others");
}

function readIds(reader: StructureReader, path: string, value: unknown, size: number): VectorId[] {
  const at = `${path}.ids`;
  const { bytes }: LoadedTensor = reader.take(at, value, ["uint8"]);
  let list: unknown;
  try {
    list = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw reader.fail(at, "a list of ids as JSON", "another text");
  }
  if (!Array.isArray(list) || list.length !== size) {
    throw reader.fail(at, `a list of ${size} ids as JSON`, list);
  }
  return list.map((id, i) => {
    if (typeof id === "string" || typeof id === "number") return checkId(reader.where, "id", id);
    throw reader.fail(`${at}[${i}]`, "a text or a number", id);
  });
}
