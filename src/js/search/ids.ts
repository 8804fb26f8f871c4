// The ids of rows: a list by position, and a hash table from ids to positions. Default
// ids are the positions themselves, and take no memory.
//
// The table holds positions, not ids: 4 bytes a slot, in place of the 40 and more of a Map's entry.

import { wrongKind } from "../base/check.js";
import { rangeError } from "../base/errors.js";
import { isArray, lengthOf } from "../base/typed-arrays.js";
import type { VectorId } from "./layout.js";

/** The smallest table. */
const FEWEST_SLOTS = 64;
/** Multiplier of multiplicative hashing: 2^32 divided by the golden ratio. */
const GOLDEN = 0x9e3779b1;

const float = /* @__PURE__ */ new Float64Array(1);
const words = /* @__PURE__ */ new Uint32Array(float.buffer);

function hashOf(id: VectorId): number {
  let hash = 0;
  if (typeof id === "number") {
    float[0] = id;
    hash = id === id >>> 0 ? id : words[0] ^ Math.imul(words[1], GOLDEN);
  } else {
    for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), GOLDEN);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Checks one id. @throws {TypeError|RangeError} `ZP_INVALID_ID` */
export function checkId(where: string, argument: string, value: unknown): VectorId {
  if (typeof value === "string") return value;
  // -0 and 0 are one id, as in a Map.
  if (typeof value === "number" && Number.isFinite(value)) return value + 0;
  const error = typeof value === "number" ? rangeError : undefined;
  throw wrongKind("ZP_INVALID_ID", where, argument, "a string or a finite number", value, error);
}

/** Checks a list of ids, or one id. @returns a copy */
export function checkIds(where: string, argument: string, value: unknown): VectorId[] {
  if (!isArray(value)) return [checkId(where, argument, value)];
  const ids: VectorId[] = [];
  const length = lengthOf(value);
  for (let i = 0; i < length; i++) ids.push(checkId(where, `${argument}[${i}]`, value[i]));
  return ids;
}

/** The ids of the rows of an index. */
export class RowIds {
  /** Ids by position; undefined while they are the positions. */
  #list: VectorId[] | undefined;
  /** A position plus 1 in each slot; 0: empty. Its length is a power of 2. */
  #slots = new Uint32Array(0);
  #size = 0;
  /** The next default id. */
  #next = 0;

  get size(): number {
    return this.#size;
  }

  get next(): number {
    return this.#next;
  }

  /** Whether ids are the positions, and default ids will be. */
  get arePositions(): boolean {
    return this.#list === undefined && this.#next === this.#size;
  }

  at(row: number): VectorId {
    return this.#list === undefined ? row : this.#list[row];
  }

  /** The position of an id, or -1. */
  rowOf(id: unknown): number {
    if (typeof id !== "string" && typeof id !== "number") return -1;
    if (this.#list === undefined) {
      return Number.isInteger(id) && (id as number) >= 0 && (id as number) < this.#size
        ? (id as number) + 0
        : -1;
    }
    return this.#slots[this.#find(id)] - 1;
  }

  /** The slot of an id, or the empty one where it would be. */
  #find(id: VectorId): number {
    const list = this.#list as VectorId[];
    const mask = this.#slots.length - 1;
    let slot = hashOf(id) & mask;
    while (this.#slots[slot] !== 0 && list[this.#slots[slot] - 1] !== id) slot = (slot + 1) & mask;
    return slot;
  }

  /** Makes the list and the table, with room for some rows. */
  #materialize(rows: number): VectorId[] {
    this.#list ??= Array.from({ length: this.#size }, (_, row) => row);
    const list = this.#list;
    // At most two thirds of the slots are used.
    if (this.#slots.length === 0 || 3 * rows > 2 * this.#slots.length) {
      let slots = Math.max(FEWEST_SLOTS, this.#slots.length);
      while (3 * rows > 2 * slots) slots *= 2;
      this.#slots = new Uint32Array(slots);
      for (let row = 0; row < list.length; row++) this.#slots[this.#find(list[row])] = row + 1;
    }
    return list;
  }

  /** The next default ids. @throws {RangeError} `ZP_INVALID_ID` if integers end before */
  nextIds(where: string, count: number): number[] {
    if (this.#next + count > Number.MAX_SAFE_INTEGER) {
      const problem = `ids must be given, since no integers follow the id ${this.#next - 1}`;
      throw rangeError("ZP_INVALID_ID", where, problem);
    }
    return Array.from({ length: count }, (_, i) => this.#next + i);
  }

  /**
   * The positions of ids that are added: of rows that exist, and behind the last row for new ids. Nothing is
   * changed.
   * @returns undefined if all are new and different
   */
  targetsOf(ids: readonly VectorId[]): Uint32Array | undefined {
    const added = new Map<VectorId, number>();
    const targets = new Uint32Array(ids.length);
    for (const [i, id] of ids.entries()) {
      const row = this.rowOf(id);
      const target = row !== -1 ? row : (added.get(id) ?? this.#size + added.size);
      if (row === -1) added.set(id, target);
      targets[i] = target;
    }
    return added.size === ids.length ? undefined : targets;
  }

  /** Appends new ids. @param ids  different ones; undefined for the next default ids */
  append(ids: readonly VectorId[] | undefined, count: number): void {
    if (ids === undefined && this.arePositions) {
      this.#size += count;
      this.#next = this.#size;
      return;
    }
    const list = this.#materialize(this.#size + count);
    for (let i = 0; i < count; i++) {
      const id = ids === undefined ? this.#next : ids[i];
      this.#slots[this.#find(id)] = list.push(id);
      this.#passNext(id);
    }
    this.#size = list.length;
  }

  /** Keeps the next default id above all integers that were ids. */
  #passNext(id: VectorId): void {
    if (Number.isSafeInteger(id) && (id as number) >= this.#next) this.#next = (id as number) + 1;
  }

  /** Removes the id of a row, whose place the last row takes. */
  remove(row: number): void {
    const last = this.#size - 1;
    if (this.#list === undefined && row === last) {
      this.#size = last;
      return;
    }
    const list = this.#materialize(this.#size);
    this.#empty(this.#find(list[row]));
    if (row !== last) {
      this.#slots[this.#find(list[last])] = row + 1;
      list[row] = list[last];
    }
    list.pop();
    this.#size = last;
  }

  /** Empties a slot, and moves those behind it that would not be found any more. */
  #empty(slot: number): void {
    const slots = this.#slots;
    const list = this.#list as VectorId[];
    const mask = slots.length - 1;
    let hole = slot;
    for (let i = (slot + 1) & mask; slots[i] !== 0; i = (i + 1) & mask) {
      const home = hashOf(list[slots[i] - 1]) & mask;
      if (((i - home) & mask) < ((i - hole) & mask)) continue;
      slots[hole] = slots[i];
      hole = i;
    }
    slots[hole] = 0;
  }

  clear(): void {
    this.#list = undefined;
    this.#slots = new Uint32Array(0);
    this.#size = 0;
    this.#next = 0;
  }

  /** Sets the ids of a file. @returns false if two are equal */
  restore(ids: readonly VectorId[] | undefined, size: number, next: number): boolean {
    this.clear();
    if (ids === undefined) this.#size = size;
    else {
      const list = this.#materialize(ids.length);
      for (const id of ids) {
        const slot = this.#find(id);
        if (this.#slots[slot] !== 0) return false;
        this.#slots[slot] = list.push(id);
        this.#passNext(id);
      }
      this.#size = list.length;
    }
    this.#next = Math.max(this.#next, next);
    return true;
  }
}
