// The rows of an index in the core's memory: codes, scales, error bounds and originals.
//
// Rows lie in segments, each a block of memory with one column for each array of `VectorSegment` of the C++
// header search.h. A row's position is its place in all segments together. A new segment has the rows that are
// added, or a 32nd of the index if that is more: what is there is never copied, and little memory is unused.

import { checkStatus, rangeError, typeError } from "../base/errors.js";
import { type NumberArray, newArray, valueAt } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { aligned, type Memory } from "../core/memory.js";
import { TILE } from "../tensor/tiles.js";
import { signBytes, type VectorLayout } from "./layout.js";
import type { VectorSource } from "./vectors.js";

/** The arrays of a segment. */
export type Column =
  | "codes"
  | "scales"
  | "errors"
  | "squares"
  | "originals"
  | "originalErrors"
  | "orders"
  | "signs"
  | "restored";

/** The columns in a segment's block; `orders` has a block of its own. */
const COLUMNS = [
  "codes",
  "scales",
  "errors",
  "squares",
  "originals",
  "originalErrors",
  "signs",
  "restored",
] as const satisfies readonly Column[];

/** The columns that files have; the others are computed of them. */
const STORED = [
  "codes",
  "scales",
  "errors",
  "originals",
  "originalErrors",
  "signs",
] as const satisfies readonly Column[];

/** Reads some rows of a column of a file. The bytes may change with the call after the next one. */
export type ReadRows = (column: Column, first: number, rows: number) => Promise<Uint8Array>;

/** Bytes of rows that are read at a time: they stay in the processor's cache until they are checked. */
const READ_BYTES = 2 ** 20;
/** The widest column, in bytes of a row, that is read as a whole. */
const WIDEST_WHOLE = 16;

/** Readable bytes behind the last row's codes and signs. */
const SLACK = 16;
/** Segments have multiples of this many rows: the core scans as many at a time. */
const SEGMENT_STEP = 64;
/** A new segment has room for at least this part of the index. */
const GROWTH = 32;
/** The largest number of rows: positions are uint32, and the core's counts have a reserved value. */
const MOST_ROWS = 2 ** 32 - 2 ** 16;

/** The block of descriptions: a format, the largest square, and segments from here on, the first for work. */
const SQUARES_AT = 20;
const SEGMENTS_AT = 32;
const SEGMENT_BYTES = 44;

/** One block of rows. */
interface Segment {
  readonly block: number;
  readonly capacity: number;
  /** Position of the first row. */
  readonly start: number;
  /** Heap offsets of the columns; 0 for those that the index has not. */
  readonly at: Record<Column, number>;
}

/** Blocks of memory that an index owns. */
interface Owned {
  readonly memory: Memory;
  readonly blocks: Set<number>;
}

function free({ memory, blocks }: Owned): void {
  for (const block of blocks) memory.release(block);
  blocks.clear();
}

const abandoned = /* @__PURE__ */ new FinalizationRegistry<Owned>(free);

/** Rows that are quantized at a time. */
interface Tile {
  readonly argument: string;
  readonly values: NumberArray;
  /** The first row's place among all that are added. */
  readonly first: number;
  readonly rows: number;
}

const roundUp = (rows: number): number => Math.ceil(rows / SEGMENT_STEP) * SEGMENT_STEP;

/** Rows in the core's memory. */
export class VectorRows {
  readonly core: Core;
  readonly layout: VectorLayout;
  /** The bytes of a row in each column; 0 for those that the index has not. */
  readonly widths: Readonly<Record<Column, number>>;
  readonly #owned: Owned;
  #segments: Segment[] = [];
  #size = 0;
  /** The largest sum of squares of a row's codes, of those that were ever there. */
  #mostSquares = 0;
  /** The order of the next row. */
  #nextOrder = 0;
  /** The block of descriptions, and the number of segments that it has room for. */
  #descriptions = 0;
  #described = 0;
  #isDisposed = false;
  /** Changes with the rows. */
  version = 0;

  constructor(core: Core, where: string, layout: VectorLayout) {
    const { dimensions, metric, originals, groupSize = dimensions, hasSigns } = layout;
    const groups = Math.ceil(dimensions / groupSize);
    this.core = core;
    this.layout = layout;
    this.#owned = { memory: core.memory, blocks: new Set() };
    abandoned.register(this, this.#owned, this);
    this.#makeDescriptions(where, 2);
    this.widths = {
      codes: core.module.vectorBytes(this.formatAt),
      scales: 4 * groups,
      errors: 4,
      squares: metric === "euclidean" && groups === 1 ? 4 : 0,
      originals: originals === "none" ? 0 : dimensions * (originals === "float32" ? 4 : 2),
      originalErrors: originals === "float16" ? 4 : 0,
      orders: 4,
      signs: hasSigns ? signBytes(dimensions) : 0,
      restored: groups === 1 ? 0 : 8,
    };
  }

  /** The number of rows. */
  get size(): number {
    return this.#size;
  }

  /** The number of scales of each row. */
  get groups(): number {
    return this.widths.scales / 4;
  }

  get mostSquares(): number {
    return this.#mostSquares;
  }

  get nextOrder(): number {
    return this.#nextOrder;
  }

  /** Heap offset of the format. */
  get formatAt(): number {
    return this.#descriptions;
  }

  /** Heap offset of the segments. */
  get segmentsAt(): number {
    return this.#descriptions + SEGMENTS_AT + SEGMENT_BYTES;
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  /** Bytes of all blocks. */
  get sizeInBytes(): number {
    let bytes = 0;
    for (const { capacity, at } of this.#segments) {
      bytes += this.#blockBytes(capacity) + (at.orders === 0 ? 0 : 4 * capacity);
    }
    return bytes + this.#descriptionBytes(this.#described);
  }

  /** @throws {TypeError} `ZP_DISPOSED` */
  checkAlive(where: string): void {
    if (!this.#isDisposed) return;
    throw typeError("ZP_DISPOSED", where, "the index is disposed and cannot be used any more");
  }

  #allocate(where: string, bytes: number): number {
    const block = this.core.memory.allocate(where, bytes);
    this.#owned.blocks.add(block);
    return block;
  }

  #release(block: number): void {
    if (this.#owned.blocks.delete(block)) this.core.memory.release(block);
  }

  // Descriptions

  #descriptionBytes(segments: number): number {
    return SEGMENTS_AT + SEGMENT_BYTES * (1 + segments);
  }

  #makeDescriptions(where: string, segments: number): void {
    const { dimensions, metric, dtype, originals, groupSize = 0 } = this.layout;
    const block = this.#allocate(where, this.#descriptionBytes(segments));
    this.#release(this.#descriptions);
    this.#descriptions = block;
    this.#described = segments;
    this.core.module.vectorFormat(dimensions, metric, dtype, originals, groupSize, block);
  }

  /** Writes a segment's description, with the given rows. @returns its heap offset */
  #describe(place: number, { at }: Pick<Segment, "at">, first: number, rows: number): number {
    const { codes, scales, errors, squares, originals, originalErrors, orders } = at;
    const to = this.#descriptions + SEGMENTS_AT + SEGMENT_BYTES * place;
    const fields = [codes, scales, errors, squares, originals, originalErrors, orders];
    this.core.memory.write("Uint32Array", to, [...fields, first, rows, at.signs, at.restored]);
    return to;
  }

  // Segments

  #blockBytes(capacity: number): number {
    let bytes = 0;
    for (const column of COLUMNS) bytes += this.#columnBytes(column, capacity);
    return bytes;
  }

  #columnBytes(column: Column, capacity: number): number {
    const width = this.widths[column];
    const slack = column === "codes" || column === "signs" ? SLACK : 0;
    return width === 0 ? 0 : aligned(width * capacity + slack);
  }

  #makeSegment(where: string, start: number, capacity: number): Segment {
    const block = this.#allocate(where, this.#blockBytes(capacity));
    const at = { orders: 0 } as Record<Column, number>;
    let next = block;
    for (const column of COLUMNS) {
      at[column] = this.widths[column] === 0 ? 0 : next;
      next += this.#columnBytes(column, capacity);
    }
    return { block, capacity, start, at };
  }

  #releaseSegment({ block, at }: Segment): void {
    this.#release(block);
    this.#release(at.orders);
  }

  get #capacity(): number {
    const last = this.#segments.at(-1);
    return last === undefined ? 0 : last.start + last.capacity;
  }

  /** Makes room for more rows. @throws {RangeError} `ZP_OUT_OF_MEMORY`, `ZP_SIZE_OVERFLOW` */
  #reserve(where: string, rows: number): void {
    const total = this.#size + rows;
    if (total > MOST_ROWS) {
      throw rangeError("ZP_SIZE_OVERFLOW", where, `an index has at most ${MOST_ROWS} rows`);
    }
    const held = this.#capacity;
    if (total <= held) return;
    const needed = roundUp(total - held);
    const ahead = roundUp(held / GROWTH);
    const count = this.#segments.length + 1;
    if (count > this.#described) this.#makeDescriptions(where, 2 * count);
    this.#segments.push(this.#makeSegment(where, held, Math.max(needed, ahead)));
  }

  #segmentOf(row: number): Segment {
    let low = 0;
    let high = this.#segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#segments[middle].start <= row) low = middle;
      else high = middle - 1;
    }
    return this.#segments[low];
  }

  /** The runs of rows that lie in one segment: it, the place of the first one in it, and their number. */
  *#runs(
    first: number,
    count: number,
    most = Infinity,
  ): Generator<readonly [Segment, number, number]> {
    for (let row = first; row < first + count; ) {
      const segment = this.#segmentOf(row);
      const place = row - segment.start;
      const rows = Math.min(first + count - row, segment.capacity - place, most);
      yield [segment, place, rows];
      row += rows;
    }
  }

  /** Reads some rows of a column. */
  read(where: string, column: Column, first: number, count: number): Uint8Array {
    const width = this.widths[column];
    const bytes = newArray(where, Uint8Array, width * count);
    let done = 0;
    for (const [{ at }, place, rows] of this.#runs(first, count)) {
      const part = bytes.subarray(done, done + width * rows);
      this.core.memory.read(at[column] + width * place, part);
      done += width * rows;
    }
    return bytes;
  }

  // Orders

  /** The place of a row in the order of insertion. */
  orderOf(row: number): number {
    const { at, start } = this.#segmentOf(row);
    return at.orders === 0
      ? row
      : this.core.memory.readOne("Uint32Array", at.orders + 4 * (row - start));
  }

  /** The places of all rows in the order of insertion; undefined if they are the positions. */
  orders(): Uint32Array | undefined {
    if (this.#segments.every(({ at }) => at.orders === 0)) return undefined;
    return Uint32Array.from({ length: this.#size }, (_, row) => this.orderOf(row));
  }

  /** The positions of all rows, in the order of insertion. */
  inOrder(): number[] {
    const rows = Array.from({ length: this.#size }, (_, row) => row);
    const orders = this.orders();
    return orders === undefined ? rows : rows.sort((a, b) => orders[a] - orders[b]);
  }

  #setOrders(where: string, row: number, orders: readonly number[] | Uint32Array): void {
    let done = 0;
    for (const [segment, place, rows] of this.#runs(row, orders.length)) {
      const part = orders.slice(done, done + rows);
      const isOwn = part.every((order, i) => order === segment.start + place + i);
      if (segment.at.orders === 0 && !isOwn) {
        segment.at.orders = this.#allocate(where, 4 * segment.capacity);
        const own = Uint32Array.from({ length: segment.capacity }, (_, i) => segment.start + i);
        this.core.memory.write("Uint32Array", segment.at.orders, own);
      }
      if (segment.at.orders !== 0) {
        this.core.memory.write("Uint32Array", segment.at.orders + 4 * place, part);
      }
      done += rows;
    }
  }

  /** Gives new rows the next places in the order of insertion. */
  #giveOrders(where: string, first: number, count: number): void {
    if (this.#nextOrder + count >= 2 ** 32) {
      const problem =
        "2^32 rows were added since the index was empty; a new index can take its rows";
      throw rangeError("ZP_SIZE_OVERFLOW", where, problem);
    }
    if (this.#nextOrder !== first || !this.#isOwnOrder(first, count)) {
      this.#setOrders(
        where,
        first,
        Uint32Array.from({ length: count }, (_, i) => this.#nextOrder + i),
      );
    }
    this.#nextOrder += count;
  }

  #isOwnOrder(first: number, count: number): boolean {
    for (const [{ at }] of this.#runs(first, count)) if (at.orders !== 0) return false;
    return true;
  }

  // Changes

  /** The largest number of rows that are quantized at a time. */
  get #tileRows(): number {
    return Math.max(1, Math.floor(TILE / this.layout.dimensions));
  }

  /** Quantizes a tile into a segment. @returns the largest square so far */
  #quantize(
    where: string,
    segment: Segment,
    place: number,
    tile: Tile,
    mostSquares: number,
  ): number {
    const { module, memory } = this.core;
    const { dimensions, originals } = this.layout;
    const size = tile.rows * dimensions;
    const isKept = originals === "float32";
    const xAt = isKept
      ? segment.at.originals + 4 * place * dimensions
      : memory.layOut(where, 4 * size)[0];
    try {
      memory.copyIn(where, "Float32Array", xAt, tile.values, size);
      const squaresAt = this.#descriptions + SQUARES_AT;
      memory.writeOne("Int32Array", squaresAt, mostSquares);
      const work = this.#describe(0, segment, 0, segment.capacity);
      const status = module.addVectors(this.formatAt, xAt, tile.rows, work, place, squaresAt);
      if (status === "kNonFinite") throw notFinite(where, tile, this.layout);
      checkStatus(where, status);
      return memory.readOne("Int32Array", squaresAt);
    } finally {
      if (!isKept) memory.end();
    }
  }

  /** Makes a change, and describes what is there then, also if it fails. */
  #change(work: () => void): void {
    try {
      work();
      this.version++;
    } finally {
      if (this.#size === 0) this.#nextOrder = 0;
      while ((this.#segments.at(-1)?.start ?? -1) >= this.#size) {
        this.#releaseSegment(this.#segments.pop() as Segment);
      }
      for (const [i, segment] of this.#segments.entries()) {
        const rows = Math.min(segment.capacity, this.#size - segment.start);
        this.#describe(1 + i, segment, segment.start, rows);
      }
    }
  }

  /** Appends all rows of a source; if one is refused, the index is as before. */
  append(where: string, argument: string, source: VectorSource): void {
    this.#change(() => {
      this.#reserve(where, source.rows);
      const first = this.#size;
      let mostSquares = this.#mostSquares;
      let done = 0;
      for (const [segment, place, rows] of this.#runs(first, source.rows, this.#tileRows)) {
        const values = source.tile(where, done, rows);
        const tile = { argument, values, first: done, rows };
        mostSquares = this.#quantize(where, segment, place, tile, mostSquares);
        done += rows;
      }
      this.#giveOrders(where, first, source.rows);
      this.#mostSquares = mostSquares;
      this.#size += source.rows;
    });
  }

  /**
   * Writes the rows of a source to given positions: of rows that are replaced, or consecutive ones behind the
   * last row. If one is refused, the index is as before.
   */
  replace(where: string, argument: string, source: VectorSource, targets: Uint32Array): void {
    const most = Math.min(this.#tileRows, source.rows);
    const work = this.#makeSegment(where, 0, roundUp(most));
    try {
      this.#change(() => this.#replace(where, argument, source, targets, work));
    } finally {
      this.#releaseSegment(work);
    }
  }

  #replace(
    where: string,
    argument: string,
    source: VectorSource,
    targets: Uint32Array,
    work: Segment,
  ): void {
    let end = this.#size;
    for (const target of targets) end = Math.max(end, target + 1);
    const added = end - this.#size;
    this.#reserve(where, added);
    let mostSquares = this.#mostSquares;
    // The first pass only checks.
    for (const isChecked of [false, true]) {
      for (let first = 0; first < source.rows; first += work.capacity) {
        const rows = Math.min(work.capacity, source.rows - first);
        const tile = { argument, values: source.tile(where, first, rows), first, rows };
        mostSquares = this.#quantize(where, work, 0, tile, mostSquares);
        for (let i = 0; isChecked && i < rows; i++) this.#copyRow(work, i, targets[first + i]);
      }
      if (!isChecked) this.#giveOrders(where, this.#size, added);
    }
    this.#mostSquares = mostSquares;
    this.#size = end;
  }

  /** Copies a row's columns, without its order. */
  #copyRow(from: Segment, place: number, row: number): void {
    const to = this.#segmentOf(row);
    for (const column of COLUMNS) {
      const width = this.widths[column];
      if (width === 0) continue;
      const target = to.at[column] + width * (row - to.start);
      this.core.memory.copyWithin(target, from.at[column] + width * place, width);
    }
  }

  /**
   * Removes rows one by one: the last row takes the place of one that is removed.
   * @param next  the position of the next row to remove, or -1
   * @param moved  is told about each removal
   */
  remove(where: string, next: () => number, moved: (row: number, last: number) => void): void {
    this.#change(() => {
      for (let row = next(); row !== -1; row = next()) {
        const last = this.#size - 1;
        const order = this.orderOf(row);
        if (row !== last) {
          const from = this.#segmentOf(last);
          // First, since it may need memory.
          this.#setOrders(where, row, [this.orderOf(last)]);
          this.#copyRow(from, last - from.start, row);
        }
        this.#size = last;
        if (order === this.#nextOrder - 1) this.#nextOrder--;
        moved(row, last);
      }
    });
  }

  /** Removes all rows. */
  clear(): void {
    this.#change(() => {
      this.#size = 0;
      this.#mostSquares = 0;
    });
  }

  /**
   * Takes all rows of a file, some at a time, which are checked while they are in the processor's cache. The index is
   * not used meanwhile.
   * @returns the core's status: kOk, or what is wrong with the rows
   */
  async restore(
    where: string,
    size: number,
    read: ReadRows,
    orders: Uint32Array | undefined,
    { mostSquares, nextOrder }: { readonly mostSquares: number; readonly nextOrder: number },
  ): Promise<string> {
    const { module, memory } = this.core;
    this.#reserve(where, size);
    const squaresAt = this.#descriptions + SQUARES_AT;
    memory.writeOne("Int32Array", squaresAt, 0);
    // One segment, unless there are no rows.
    const at = { ...this.#segments.at(0)?.at } as Record<Column, number>;
    const put = (column: Column, bytes: Uint8Array, first: number): void =>
      memory.write("Uint8Array", at[column] + this.widths[column] * first, bytes);
    const stored = STORED.filter((column) => this.widths[column] > 0);
    const wide = stored.filter((column) => this.widths[column] > WIDEST_WHOLE);
    for (const column of stored) {
      if (!wide.includes(column)) put(column, await read(column, 0, size), 0);
    }
    const rowBytes = wide.reduce((bytes, column) => bytes + this.widths[column], 0);
    const step = Math.max(1, Math.floor(READ_BYTES / Math.max(rowBytes, WIDEST_WHOLE)));
    const readSome = (first: number): Promise<Uint8Array[]> => {
      const rows = Math.min(step, size - first);
      const parts = Promise.all(wide.map((column) => read(column, first, rows)));
      // An error of the rows before ends the work without a look at these.
      parts.catch(() => undefined);
      return parts;
    };
    let ahead = size > 0 ? readSome(0) : undefined;
    for (let first = 0; first < size; first += step) {
      const parts = await (ahead as Promise<Uint8Array[]>);
      if (first + step < size) ahead = readSome(first + step);
      for (const [i, column] of wide.entries()) put(column, parts[i], first);
      const own = { ...at };
      for (const column of COLUMNS)
        if (at[column] !== 0) own[column] += this.widths[column] * first;
      const rows = Math.min(step, size - first);
      const work = this.#describe(0, { at: own }, 0, rows);
      const status = module.checkVectors(this.formatAt, work, squaresAt);
      if (status !== "kOk") return status;
    }
    this.#change(() => {
      if (orders !== undefined) this.#setOrders(where, 0, orders);
      this.#size = size;
      this.#mostSquares = Math.max(mostSquares, memory.readOne("Int32Array", squaresAt));
      this.#nextOrder = nextOrder;
    });
    return "kOk";
  }

  /** The values of a column as an array. */
  readAs<T extends NumberArray>(
    where: string,
    column: Column,
    first: number,
    count: number,
    type: new (buffer: ArrayBuffer) => T,
  ): T {
    return new type(this.read(where, column, first, count).buffer as ArrayBuffer);
  }

  /** Frees the memory. A second call does nothing. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#segments = [];
    this.#size = 0;
    abandoned.unregister(this);
    free(this.#owned);
  }
}

function notFinite(where: string, tile: Tile, { dimensions, originals }: VectorLayout): Error {
  const { argument, values, first, rows } = tile;
  for (let i = 0; i < rows * dimensions; i++) {
    const value = valueAt(values, i);
    if (Number.isFinite(Math.fround(value))) continue;
    const row = first + Math.floor(i / dimensions);
    const problem = `${argument} must hold finite numbers, got ${value} in row ${row}`;
    return rangeError("ZP_NON_FINITE", where, problem);
  }
  const type = originals === "float16" ? "float16 originals" : "float32";
  const place = `rows ${first} to ${first + rows - 1}`;
  const problem = `${argument} must hold numbers within the range of ${type}, got a larger one in ${place}`;
  return rangeError("ZP_NON_FINITE", where, problem);
}
