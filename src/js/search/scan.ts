// query -> candidates, on the core.

import { checkStatus, rangeError } from "../base/errors.js";
import type { Core } from "../core/core.js";
import { aligned } from "../core/memory.js";
import { Candidates } from "./result.js";
import type { VectorRows } from "./rows.js";

/** Count of candidates that did not fit. */
const NO_ROOM = 2 ** 32 - 1;
/** Queries that are scanned together: the core reads a tile of rows once for as many. */
const TOGETHER = 16;
/** Bytes of candidates of the queries that are scanned together. */
const MOST_BYTES = 2 ** 24;
/** Candidates of a query that there is room for at first. */
const FIRST_ROOM = { int8: 512, int4: 4096, binary: 65536 };

/** How to search. */
export interface Search {
  readonly k: number;
  /** Rows to search, a bit for each; undefined: all. */
  readonly mask: Uint8Array | undefined;
  /** The number of rows that the prefilter keeps; undefined: no prefilter. */
  readonly kept: number | undefined;
}

/** The candidates of one query. */
export interface Found {
  /** The k best first; after exact scores only those that can still be among them. */
  readonly list: Candidates;
  /** The number of rows that the codes' bounds leave. */
  readonly count: number;
}

/** Room for candidates that has been enough, by the rows that were searched. */
const rooms = /* @__PURE__ */ new WeakMap<VectorRows, number>();

/** Finds the candidates of each query. @param queries  float32[count * dimensions] */
export function scanRows(
  where: string,
  rows: VectorRows,
  queries: Float32Array,
  search: Search,
): Found[] {
  const { dimensions } = rows.layout;
  const count = queries.length / dimensions;
  const found: Found[] = [];
  while (found.length < count) {
    const first = found.length;
    const group = new Group(where, rows, first, search);
    const some = Math.min(count - first, group.most);
    const values = queries.subarray(first * dimensions, (first + some) * dimensions);
    found.push(...(group.scan(values, some) ?? []));
  }
  return found;
}

/** Some queries that are scanned together. */
class Group {
  readonly #where: string;
  readonly #core: Core;
  readonly #rows: VectorRows;
  /** The first query's number, for messages. */
  readonly #first: number;
  readonly #search: Search;
  readonly #parts: number;
  /** Room for candidates of a query and part. */
  readonly #room: number;
  /** A room that always suffices. */
  readonly #mostRoom: number;

  constructor(where: string, rows: VectorRows, first: number, search: Search) {
    const { core, layout, size } = rows;
    this.#where = where;
    this.#core = core;
    this.#rows = rows;
    this.#first = first;
    this.#search = search;
    this.#parts = core.module.scanParts(rows.formatAt, size);
    this.#mostRoom = Math.max(search.k, Math.ceil(size / this.#parts)) + 1;
    const wanted = Math.max(rooms.get(rows) ?? FIRST_ROOM[layout.dtype], 2 * search.k + 64);
    this.#room = Math.min(wanted, this.#mostRoom);
  }

  /** The most queries of a group. */
  get most(): number {
    // Each query has a mask of its own.
    if (this.#search.kept !== undefined) return 1;
    const each = Candidates.BYTES * this.#parts * this.#room;
    return Math.max(1, Math.min(TOGETHER, Math.floor(MOST_BYTES / each)));
  }

  /** Scans for some queries; undefined if it is to be repeated. */
  scan(queries: Float32Array, count: number): Found[] | undefined {
    const { module, memory } = this.#core;
    const rows = this.#rows;
    const { dimensions } = rows.layout;
    const { k, mask, kept } = this.#search;
    const where = this.#where;
    const preparedBytes = module.preparedQuerySize(rows.formatAt);
    const maskBytes = Math.ceil(rows.size / 8);
    const ownBytes = Candidates.BYTES * this.#parts * this.#room;
    const sizes = [
      4 * queries.length,
      preparedBytes * count,
      mask === undefined ? 0 : maskBytes,
      ownBytes * count,
      4 * count * (1 + this.#parts),
      ...(kept === undefined ? [] : [module.querySignsSize(dimensions), 2 * rows.size, maskBytes]),
    ];
    const places = memory.layOut(where, ...sizes);
    const [queriesAt, preparedAt, maskAt, candidatesAt, countsAt] = places;
    const block = queriesAt;
    try {
      memory.write("Float32Array", queriesAt, queries);
      if (mask !== undefined) memory.write("Uint8Array", maskAt, mask);
      for (let i = 0; i < count; i++) {
        const to = preparedAt + preparedBytes * i;
        const queryAt = queriesAt + 4 * dimensions * i;
        const status = module.prepareQuery(rows.formatAt, queryAt, rows.mostSquares, to);
        if (status === "kNonFinite") throw this.#notFinite(queries, i, dimensions);
        checkStatus(where, status);
      }
      let ownMaskAt = mask === undefined ? 0 : maskAt;
      if (kept !== undefined) {
        const [signsAt, distancesAt, nearestAt] = places.slice(-3);
        this.#chooseNearest(queriesAt, signsAt, distancesAt, nearestAt, ownMaskAt, kept);
        if (!memory.holds(block)) return undefined;
        ownMaskAt = nearestAt;
      }
      const status = module.scanVectors(
        rows.formatAt,
        rows.segmentsAt,
        rows.segmentCount,
        preparedAt,
        count,
        k,
        ownMaskAt,
        this.#room,
        candidatesAt,
        countsAt,
      );
      checkStatus(where, status);
      if (!memory.holds(block)) return undefined;
      const counts = new Uint32Array(count);
      memory.read(countsAt, counts);
      if (counts.includes(NO_ROOM)) {
        rooms.set(rows, Math.min(8 * this.#room, this.#mostRoom));
        return undefined;
      }
      return Array.from(counts, (each, i) =>
        this.#result(queriesAt + 4 * dimensions * i, candidatesAt + ownBytes * i, each),
      );
    } finally {
      memory.end();
    }
  }

  /** Marks the rows whose signs are nearest. */
  #chooseNearest(
    queryAt: number,
    signsAt: number,
    distancesAt: number,
    nearestAt: number,
    maskAt: number,
    kept: number,
  ): void {
    const { module } = this.#core;
    const { dimensions } = this.#rows.layout;
    const { segmentsAt, segmentCount } = this.#rows;
    checkStatus(this.#where, module.packSigns(queryAt, dimensions, signsAt));
    const status = module.nearestSigns(
      segmentsAt,
      segmentCount,
      dimensions,
      signsAt,
      kept,
      maskAt,
      distancesAt,
      nearestAt,
    );
    checkStatus(this.#where, status);
  }

  /** Decides by the originals, or sorts; and reads the candidates. */
  #result(queryAt: number, at: number, count: number): Found {
    const { module, memory } = this.#core;
    const { formatAt, segmentsAt, segmentCount, layout } = this.#rows;
    const { k } = this.#search;
    let left = count;
    if (layout.originals === "none") module.sortCandidates(at, count, k);
    else {
      left = module.refineCandidates(formatAt, segmentsAt, segmentCount, queryAt, k, at, count);
    }
    if (layout.originals === "float32") left = Math.min(left, k);
    const bytes = new Uint8Array(aligned(Candidates.BYTES * left));
    if (left > 0) memory.read(at, bytes);
    return { list: new Candidates(bytes), count };
  }

  #notFinite(queries: Float32Array, i: number, dimensions: number): Error {
    const own = queries.subarray(i * dimensions, (i + 1) * dimensions);
    const found = own.find((value) => !Number.isFinite(value));
    const problem = `query must hold finite numbers, got ${found} in row ${this.#first + i}`;
    return rangeError("ZP_NON_FINITE", this.#where, problem);
  }
}
