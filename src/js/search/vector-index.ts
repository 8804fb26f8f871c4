/// <reference lib="esnext.disposable" preserve="true" />

// An index of vectors: rows as codes, ids, and searches of the k nearest.

import { checkChoice, checkInteger, wrongNumber } from "../base/check.js";
import { refuseClones, refuseJSON } from "../base/cloning.js";
import { makeDisposable } from "../base/disposable.js";
import { notItself, rangeError, typeError } from "../base/errors.js";
import { INSPECT, OWN } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import { explainReceivers } from "../base/receivers.js";
import { type NumberArray, setArray } from "../base/typed-arrays.js";
import { activeCore } from "../core/init.js";
import type { QuantizedTensorInput } from "../quantize/quantized-tensor.js";
import type { TensorInput } from "../tensor/check.js";
import type { TorchQuantizedTensorInput } from "../torch/tensor.js";
import {
  type ExportedVectors,
  type ExportLayout,
  exportRows,
  LAYOUTS,
  restoredRow,
} from "./export.js";
import { checkFilter, type VectorFilter } from "./filter.js";
import { checkIds, RowIds } from "./ids.js";
import {
  checkLayout,
  type VectorDType,
  type VectorId,
  type VectorIndexOptions,
  type VectorLayout,
  type VectorMetric,
  type VectorOriginals,
} from "./layout.js";
import { rescored } from "./rescore.js";
import { checkPending, keepPending, type SearchResult } from "./result.js";
import { VectorRows } from "./rows.js";
import { type Found, scanRows } from "./scan.js";
import { checkVectors, type PackedSigns, type VectorsInput } from "./vectors.js";

/** Options of `search`. */
export interface SearchOptions<Id extends VectorId = VectorId> {
  /** The number of rows to find, 1 or more. Default: 10. An index of fewer rows gives all of them. */
  k?: number | undefined;
  /** The ids to search: a function that tells whether an id is one of them, or the ids. Default: all. */
  filter?: VectorFilter<Id> | undefined;
  /** With `prefilter: "binary"`: how many times k rows are scanned. Default: 40. */
  prefilterFactor?: number | undefined;
}

/** A vector to search for: an array of numbers. */
export type QueryVector = readonly number[] | NumberArray;

/** A vector, or a batch `[m, dimensions]`, as a tensor in any form. */
export type QueryTensor =
  | TensorInput
  | QuantizedTensorInput
  | TorchQuantizedTensorInput
  | PackedSigns;

/** Gives the vectors of ids, in their order: n · dimensions values, or any other form that `add` takes. */
export type ReadVectors<Id extends VectorId = VectorId> = {
  read(ids: Id[]): VectorsInput | Promise<VectorsInput>;
}["read"];

const DEFAULT_FACTOR = 40;

/** The parts of an index, private to the library. */
export interface IndexParts {
  readonly rows: VectorRows;
  readonly ids: RowIds;
}

const allParts = /* @__PURE__ */ new WeakMap<object, IndexParts>();

/** The parts of an index that is not disposed. @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_DISPOSED` */
export function partsOf(where: string, index: object): IndexParts {
  const parts = allParts.get(index);
  if (parts === undefined) throw notItself(where);
  parts.rows.checkAlive(where);
  return parts;
}

/**
 * Vectors as codes, and exact searches for the nearest ones: every search scans the codes of all rows, and knows
 * from the bound of each row's error which rows could be among the k nearest float vectors.
 *
 *     row    x ≈ s c, |x − s c| ≤ e
 *     query  |q · x − q · (s c)| ≤ |q| e         (euclidean: ||q − x| − |q − s c|| ≤ e)
 *
 * A row whose upper bound is below the k-th largest lower bound is not among the k best. Bounds include every
 * rounding, and results have the same bits in every build, in every engine and with any number of threads.
 *
 * Rows take dimensions bytes (int8; half of it for int4, an eighth for binary), 8 bytes for scale and error
 * (12 for euclidean; with groups 12 and 4 for each scale), and their originals. The memory is freed by `dispose()`, at the end of a `using` block,
 * or some time after the index becomes garbage.
 *
 * `save` and `load` of zeropoint/models keep it in a file.
 *
 * @typeParam Id      the type of ids, which is not checked: `new VectorIndex<string>(…)`
 * @typeParam Metric  the metric, which tells whether hits have `score` or `distance`
 * @example
 * const index = new VectorIndex({ dimensions: 3, originals: "float32" });
 * index.add([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]], ["x", "xy", "z"]);
 * index.search([1, 0, 0], { k: 2 }).hits;
 * // [{ id: "x", score: 1, error: 0 }, { id: "xy", score: 0.6000000095367429, error: 0 }]
 */
export class VectorIndex<Id extends VectorId = VectorId, Metric extends VectorMetric = "cosine"> {
  static {
    explainReceivers(VectorIndex, "VectorIndex", (object) => allParts.has(object));
  }

  /**
   * @param options.dimensions  the number of values of each vector
   * @param options.metric      `"cosine"` (default), `"dot"` or `"euclidean"`
   * @param options.dtype       `"int8"` (default), `"int4"` or `"binary"`
   * @param options.groupSize   values of a group with a scale of its own; default: one scale a row
   * @param options.prefilter   `"none"` (default) or `"binary"`
   * @param options.originals   `"none"` (default), `"float32"` or `"float16"`
   * @throws {TypeError} `ZP_UNKNOWN_OPTION`, `ZP_INVALID_OPTION`, `ZP_CONFLICTING_OPTIONS`
   * @throws {RangeError} `ZP_INVALID_OPTION`, `ZP_OUT_OF_MEMORY`
   * @throws {Error} `ZP_NOT_INITIALIZED`
   */
  constructor(options: VectorIndexOptions<Metric>) {
    const where = "VectorIndex";
    const core = activeCore(where);
    const rows = new VectorRows(core, where, checkLayout(where, options));
    allParts.set(this, { rows, ids: new RowIds() });
    refuseClones(this);
  }

  /** @internal */
  get [OWN](): true {
    return true;
  }

  /** The name of the class in messages. @internal */
  get typeName(): string {
    return "VectorIndex";
  }

  /** The number of rows. */
  get size(): number {
    return partsOf("VectorIndex.size", this).rows.size;
  }

  /** The number of values of each vector. */
  get dimensions(): number {
    return partsOf("VectorIndex.dimensions", this).rows.layout.dimensions;
  }

  /** The metric. */
  get metric(): Metric {
    return partsOf("VectorIndex.metric", this).rows.layout.metric as Metric;
  }

  /** The codes' dtype. */
  get dtype(): VectorDType {
    return partsOf("VectorIndex.dtype", this).rows.layout.dtype;
  }

  /** Values of a group that has a scale of its own; undefined: one scale a row. */
  get groupSize(): number | undefined {
    return partsOf("VectorIndex.groupSize", this).rows.layout.groupSize;
  }

  /** The prefilter. */
  get prefilter(): "none" | "binary" {
    return partsOf("VectorIndex.prefilter", this).rows.layout.hasSigns ? "binary" : "none";
  }

  /** Which originals it keeps. */
  get originals(): VectorOriginals {
    return partsOf("VectorIndex.originals", this).rows.layout.originals;
  }

  /** Bytes of the core's memory that it takes: codes, scales, errors, originals, and room for further rows. */
  get sizeInBytes(): number {
    return partsOf("VectorIndex.sizeInBytes", this).rows.sizeInBytes;
  }

  /**
   * Appends vectors, or replaces those of ids that exist; a replaced row keeps its place in the order of insertion.
   * Of an id that is given twice the last vector stays. It takes as long as quantizing what is added.
   *
   * @param vectors  a tensor `[n, dimensions]` in any form (also of ONNX Runtime and transformers.js), n lists of
   *   numbers, or n · dimensions values in one array; values are rounded to float32. Or a quantized tensor
   *   `[n, dimensions]`, or packed signs, which are restored first.
   * @param ids  n strings or finite numbers; one id for one vector. Default: the next whole numbers, from 0 on
   * @returns the ids
   * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_ID`, `ZP_DISPOSED`, and as `dequantize`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`; `ZP_NON_FINITE` for NaN, an infinity or a value that float16
   *   originals cannot hold; `ZP_INVALID_ID`, `ZP_OUT_OF_MEMORY`. The index is then as before
   * @example
   * const index = new VectorIndex({ dimensions: 2 });
   * index.add([[1, 0], [0, 1]]); // [0, 1]
   * index.add([3, 4], "a"); // ["a"]
   */
  add(vectors: VectorsInput, ids?: Id | ArrayLike<Id> | undefined): Id[] {
    const where = "VectorIndex.add";
    const { rows, ids: own } = partsOf(where, this);
    const source = checkVectors(where, "vectors", vectors, rows.layout.dimensions);
    const given = ids === undefined ? undefined : checkIds(where, "ids", ids);
    if (given !== undefined && given.length !== source.rows) {
      const problem = `ids must be as many as vectors, ${source.rows}, got ${given.length}`;
      throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
    }
    // After all reads of the arguments: a getter among them may have disposed of the index.
    rows.checkAlive(where);
    if (source.rows === 0) return [];
    const added = given ?? own.nextIds(where, source.rows);
    const targets = given === undefined ? undefined : own.targetsOf(given);
    if (targets === undefined) {
      rows.append(where, "vectors", source);
      own.append(given, source.rows);
    } else {
      const before = rows.size;
      rows.replace(where, "vectors", source, targets);
      const fresh: VectorId[] = [];
      for (const [i, target] of targets.entries()) {
        if (target === before + fresh.length) fresh.push(added[i]);
      }
      own.append(fresh, fresh.length);
    }
    return added as Id[];
  }

  /**
   * Removes rows. It takes as long as copying them: the last rows take their places.
   * @param ids  ids, or one id; those that the index has not are ignored
   * @returns the number of rows that were there
   * @throws {TypeError} `ZP_INVALID_ID`, `ZP_DISPOSED`
   * @example
   * const index = new VectorIndex({ dimensions: 2 });
   * index.add([[1, 0], [0, 1]], ["a", "b"]);
   * index.remove(["a", "c"]); // 1
   */
  remove(ids: Id | ArrayLike<Id>): number {
    const where = "VectorIndex.remove";
    const { rows, ids: own } = partsOf(where, this);
    const given = checkIds(where, "ids", ids);
    rows.checkAlive(where);
    let place = 0;
    let removed = 0;
    const next = (): number => {
      while (place < given.length) {
        const row = own.rowOf(given[place++]);
        if (row !== -1) return row;
      }
      return -1;
    };
    rows.remove(where, next, (row) => {
      own.remove(row);
      removed++;
    });
    return removed;
  }

  /** Removes all rows; default ids begin at 0 again. */
  clear(): void {
    const { rows, ids } = partsOf("VectorIndex.clear", this);
    rows.clear();
    ids.clear();
  }

  /** Whether there is a row of an id. */
  has(id: Id): boolean {
    return partsOf("VectorIndex.has", this).ids.rowOf(id) !== -1;
  }

  /** All ids, in the order of insertion. */
  ids(): Id[] {
    const { rows, ids } = partsOf("VectorIndex.ids", this);
    return rows.inOrder().map((row) => ids.at(row) as Id);
  }

  /**
   * The vector of an id: its original if the index keeps originals, or else the values that its codes stand for,
   * s · c rounded to float32, which for `"cosine"` are those of the normalized vector.
   * @returns float32[dimensions]; undefined if there is no row of the id
   * @throws {TypeError} `ZP_DISPOSED`
   */
  vector(id: Id): Float32Array | undefined {
    const where = "VectorIndex.vector";
    const { rows, ids } = partsOf(where, this);
    const row = ids.rowOf(id);
    return row === -1 ? undefined : restoredRow(where, rows, row);
  }

  /**
   * Finds the k nearest rows of a query, or of each query of a batch; best first, ties by order of insertion.
   *
   * With `originals: "float32"` the hits are exactly those of the float vectors, in their order, with exact scores
   * rounded once to double (`proven: "order"`). Without, scores are estimates with a bound of their error;
   * `proven: "members"` says that no other row belongs among the hits, and `false` that some of the
   * `candidates` rows might: `rescore` decides.
   *
   * @param query  float32[dimensions] in any form: one result. `[m, dimensions]`, also m lists of numbers: a list of
   *   results
   * @param options.k       how many rows; default: 10
   * @param options.filter  `(id) => boolean`, or ids: the rows to search. The function is called once for each row
   * @param options.prefilterFactor  with `prefilter: "binary"`: k times this many rows are scanned; default: 40
   * @typeParam Result  `SearchResult[]` for a batch in a tensor
   * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_OPTION`, `ZP_CONFLICTING_OPTIONS`, `ZP_DISPOSED`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_NON_FINITE`, `ZP_INVALID_OPTION`, `ZP_OUT_OF_MEMORY`
   * @example
   * const index = new VectorIndex({ dimensions: 2, metric: "euclidean", originals: "float32" });
   * index.add([[0, 0], [3, 4], [6, 8]]);
   * index.search([0, 0], { k: 2, filter: (id) => id !== 0 }).hits;
   * // [{ id: 1, distance: 5, error: 0 }, { id: 2, distance: 10, error: 0 }]
   */
  search(query: QueryVector, options?: SearchOptions<Id>): SearchResult<Id, Metric>;
  search(query: readonly QueryVector[], options?: SearchOptions<Id>): SearchResult<Id, Metric>[];
  search<
    Result extends SearchResult<Id, Metric> | SearchResult<Id, Metric>[] = SearchResult<Id, Metric>,
  >(query: QueryTensor, options?: SearchOptions<Id>): Result;
  search(query: unknown, options?: SearchOptions<Id>): unknown {
    const where = "VectorIndex.search";
    const { rows, ids } = partsOf(where, this);
    const { layout } = rows;
    const given = checkOptions(where, options, ["k", "filter", "prefilterFactor"]);
    const k = checkInteger(where, "options.k", given.k, 10, 1, 2 ** 31 - 1);
    const factor = checkFactor(where, given.prefilterFactor, layout);
    const source = checkVectors(where, "query", query, layout.dimensions);
    if (source.isFlat && source.rows !== 1) {
      const got = source.rows * layout.dimensions;
      const problem = `query must have ${layout.dimensions} values, as the index has, got ${got}; a batch has two axes`;
      throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
    }
    const mask = checkFilter(where, given.filter, rows, ids);
    const queries = new Float32Array(source.rows * layout.dimensions);
    setArray(queries, source.tile(where, 0, source.rows), 0);
    rows.checkAlive(where);
    const wanted = Math.min(k, rows.size);
    const kept = factor === undefined ? undefined : Math.min(rows.size, Math.ceil(factor * wanted));
    const found = scanRows(where, rows, queries, { k: wanted, mask, kept });
    const results = found.map((each, i) => {
      const own = queries.subarray(i * layout.dimensions, (i + 1) * layout.dimensions);
      return makeResult<Id, Metric>({ rows, ids }, each, own, wanted, factor !== undefined);
    });
    return source.isFlat ? results[0] : results;
  }

  /**
   * Decides a result by originals from elsewhere: a database, a file, a server. Only the vectors of its candidates
   * are read.
   *
   * @param result  of `search`; what was added or removed since then does not matter
   * @param read    gives the vectors of ids, in their order; called once
   * @returns the hits of the float vectors, with exact scores; `proven` is `"order"`, or `false` with a prefilter.
   *   A result that originals of the index have decided is returned as it is
   * @throws {TypeError} `ZP_INVALID_OPTION` for anything but a result; `ZP_INVALID_FUNCTION`, `ZP_INVALID_TENSOR`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_NON_FINITE`
   * @example
   * const index = new VectorIndex({ dimensions: 2 });
   * index.add([[1, 0.1], [1, 0.2]]);
   * const { hits } = await index.rescore(index.search([1, 0.1], { k: 1 }), (ids) =>
   *   ids.map((id) => (id === 0 ? [1, 0.1] : [1, 0.2])));
   * hits; // [{ id: 0, score: 1, error: 0 }]
   */
  async rescore(
    result: SearchResult<Id, Metric>,
    read: ReadVectors<Id>,
  ): Promise<SearchResult<Id, Metric>> {
    const where = "VectorIndex.rescore";
    const { rows } = partsOf(where, this);
    const pending = checkPending(where, result, read);
    if (pending === "decided") return result;
    const vectors = await read([...pending.ids] as Id[]);
    const { dimensions } = rows.layout;
    const source = checkVectors(where, "the vectors of read", vectors, dimensions);
    rows.checkAlive(where);
    return rescored<Id, Metric>(rows.core, where, rows.layout, pending, source);
  }

  /**
   * The codes in the layout of another program, in the order of insertion. Programs compare codes without scales,
   * so for `"dot"` and `"euclidean"` integer codes are made anew, with one scale for all; and for `"cosine"` those of
   * an index with groups, with one scale a row.
   *
   * @param layout
   * - `"int8"`: int8 codes with a scale for each row, x ≈ scale · code; int4 and binary codes are spread to bytes. With
   *   groups a scale for each of them, and `groupSize`.
   * - `"sqlite-vec"`: `vec_int8` blobs; of a binary index `vec_bit` blobs, the first value in the lowest bit.
   * - `"usearch"`: `i8`; of a binary index `b1`, the first value in the highest bit.
   * - `"faiss"`: codes + 128 of a scalar quantizer `QT_8bit_direct_signed`; of a binary index those of
   *   `IndexBinaryFlat`, the first value in the highest bit.
   * - `"pgvector"`: parameters in PostgreSQL's binary format: `halfvec`, the float16 values (originals if the index keeps
   *   them); of a binary index `bit`, the first value in the highest bit. Numbers are big-endian.
   * @returns `data` with `bytesPerRow` bytes for each of `ids`; `type` is the other program's name of the type
   * @throws {TypeError} `ZP_DISPOSED`
   * @throws {RangeError} `ZP_INVALID_OPTION`; `ZP_SHAPE_MISMATCH` for signs whose number is not a multiple of 8 in
   *   programs that take whole bytes; `ZP_OUT_OF_MEMORY`
   * @example
   * const index = new VectorIndex({ dimensions: 8, dtype: "binary" });
   * index.add([1, -1, -1, -1, -1, -1, -1, -1], "a");
   * index.export("sqlite-vec").data; // Uint8Array [1]
   * index.export("usearch").data; // Uint8Array [128]
   */
  export(layout: ExportLayout): ExportedVectors<Id> {
    const where = "VectorIndex.export";
    const { rows, ids } = partsOf(where, this);
    const choice = checkChoice(where, "layout", layout, LAYOUTS, undefined);
    return exportRows<Id>(where, rows, ids, choice);
  }

  /** Frees the memory. A second call does nothing; everything else throws `ZP_DISPOSED` then. */
  dispose(): void {
    const parts = allParts.get(this) as IndexParts;
    parts.rows.dispose();
    parts.ids.clear();
  }

  /** `dispose()`, for `using`. Present in engines with `Symbol.dispose`. */
  declare [Symbol.dispose]: () => void;

  /** The index as text. @example String(new VectorIndex({ dimensions: 2 })) // "VectorIndex(dimensions=2, metric=cosine, dtype=int8, size=0)" */
  toString(): string {
    const parts = allParts.get(this) as IndexParts;
    const { dimensions, metric, dtype } = parts.rows.layout;
    return `VectorIndex(dimensions=${dimensions}, metric=${metric}, dtype=${dtype}, size=${parts.rows.size})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** Throws: `save` of zeropoint/models keeps an index. @internal */
  toJSON(): never {
    return refuseJSON();
  }
}

makeDisposable(VectorIndex);

function checkFactor(where: string, value: unknown, layout: VectorLayout): number | undefined {
  if (!layout.hasSigns) {
    if (value === undefined) return undefined;
    const problem = 'options.prefilterFactor needs an index with prefilter "binary"';
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  if (value === undefined) return DEFAULT_FACTOR;
  if (Number.isFinite(value) && (value as number) >= 1) return value as number;
  const wanted = "a finite number >= 1";
  throw wrongNumber("ZP_INVALID_OPTION", where, "options.prefilterFactor", wanted, value);
}

/** The result of one query. @param k  at most the number of rows */
function makeResult<Id extends VectorId, Metric extends VectorMetric>(
  { rows, ids }: IndexParts,
  { list, count }: Found,
  query: Float32Array,
  k: number,
  isFiltered: boolean,
): SearchResult<Id, Metric> {
  const { metric, originals } = rows.layout;
  const idOf = (row: number): VectorId => ids.at(row);
  const hits = list.hits<Id, Metric>(k, metric as Metric, idOf);
  const isDecided = originals === "float32" || list.length === 0 || hasExact(list, originals);
  const proof = isDecided ? "order" : list.length <= k ? "members" : false;
  const candidates = originals === "float16" ? list.length : count;
  const result = { hits, proven: isFiltered ? false : proof, candidates } as const;
  if (isDecided) return keepPending(result, "decided");
  const all = Array.from({ length: list.length }, (_, i) => idOf(list.row(i)));
  const orders = Uint32Array.from({ length: list.length }, (_, i) => list.order(i));
  return keepPending(result, { query: query.slice(), k, ids: all, orders, isFiltered });
}

/** Whether float16 originals have the values of the float vectors, in all candidates. */
const hasExact = (list: Found["list"], originals: VectorOriginals): boolean =>
  originals === "float16" && list.areExact;
