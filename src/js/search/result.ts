// Results of a search, and what rescoring them needs.

import { wrongKind } from "../base/check.js";
import type { VectorId, VectorMetric } from "./layout.js";

/** A row that a search has found. */
export type SearchHit<
  Id extends VectorId = VectorId,
  Metric extends VectorMetric = VectorMetric,
> = Metric extends "euclidean" ? DistanceHit<Id> : ScoreHit<Id>;

/** A hit of `"cosine"` or `"dot"`: larger scores are nearer. */
export interface ScoreHit<Id extends VectorId = VectorId> {
  /** The row's id. */
  readonly id: Id;
  /** The cosine or the product: exact and rounded once, or an estimate from the codes. */
  readonly score: number;
  /** Bounds the difference between `score` and the score of the float vectors; 0 if it is exact. */
  readonly error: number;
}

/** A hit of `"euclidean"`: smaller distances are nearer. */
export interface DistanceHit<Id extends VectorId = VectorId> {
  /** The row's id. */
  readonly id: Id;
  /** |q − x|: exact and rounded once, or an estimate from the codes. */
  readonly distance: number;
  /** Bounds the difference between `distance` and the distance of the float vectors; 0 if it is exact. */
  readonly error: number;
}

/** The result of a search for one query. */
export interface SearchResult<
  Id extends VectorId = VectorId,
  Metric extends VectorMetric = VectorMetric,
> {
  /** At most k rows, best first, ties by order of insertion. */
  readonly hits: SearchHit<Id, Metric>[];
  /**
   * `"order"`: originals show that these are the k best float vectors, in their order. `"members"`: bounds
   * alone show that no other row belongs among them. `false`: other rows may belong among them.
   */
  readonly proven: "order" | "members" | false;
  /** The number of rows that the bounds leave: all that could be among the k best. */
  readonly candidates: number;
}

/** What a result's rescoring needs. */
export interface Pending {
  readonly query: Float32Array;
  readonly k: number;
  /** All candidates, and their places in the order of insertion. */
  readonly ids: readonly VectorId[];
  readonly orders: Uint32Array;
  /** Whether a prefilter left rows out. */
  readonly isFiltered: boolean;
}

/** Results of searches; those that originals have decided need no rescoring. */
const pendings = /* @__PURE__ */ new WeakMap<object, Pending | "decided">();

/** Keeps what a result's rescoring needs. */
export function keepPending<R extends object>(result: R, pending: Pending | "decided"): R {
  pendings.set(result, pending);
  return result;
}

/** What a result's rescoring needs; undefined for any other object. */
export const pendingOf = (result: unknown): Pending | "decided" | undefined =>
  pendings.get(result as object);

/**
 * Checks the arguments of `rescore`.
 * @returns what the rescoring needs
 * @throws {TypeError} `ZP_INVALID_OPTION`, `ZP_INVALID_FUNCTION`
 */
export function checkPending(where: string, result: unknown, read: unknown): Pending | "decided" {
  const pending = pendingOf(result);
  if (pending === undefined) {
    const wanted = "a result of search, itself and no copy";
    throw wrongKind("ZP_INVALID_OPTION", where, "result", wanted, result);
  }
  if (typeof read === "function") return pending;
  throw wrongKind("ZP_INVALID_FUNCTION", where, "read", "a function", read);
}

/** Candidates as the core writes them: score, lower, upper in double; row and order. */
const CANDIDATE_BYTES = 32;

/** A list of candidates. */
export class Candidates {
  readonly #doubles: Float64Array;
  readonly #words: Uint32Array;

  constructor(bytes: Uint8Array) {
    this.#doubles = new Float64Array(bytes.buffer as ArrayBuffer);
    this.#words = new Uint32Array(bytes.buffer as ArrayBuffer);
  }

  static readonly BYTES = CANDIDATE_BYTES;

  get length(): number {
    return this.#doubles.length / 4;
  }

  row(i: number): number {
    return this.#words[8 * i + 6];
  }

  order(i: number): number {
    return this.#words[8 * i + 7];
  }

  /** A bound of the score's error: rounded up. */
  #error(i: number): number {
    const score = this.#doubles[4 * i];
    const error = Math.max(this.#doubles[4 * i + 2] - score, score - this.#doubles[4 * i + 1]);
    return error === 0 ? 0 : error * (1 + 2 ** -50) + Number.MIN_VALUE;
  }

  /** Whether all scores are exact. */
  get areExact(): boolean {
    for (let i = 0; i < this.length; i++) if (this.#error(i) !== 0) return false;
    return true;
  }

  /** The first hits. */
  hits<Id extends VectorId, Metric extends VectorMetric>(
    k: number,
    metric: Metric,
    idOf: (row: number) => VectorId,
  ): SearchHit<Id, Metric>[] {
    return Array.from({ length: Math.min(k, this.length) }, (_, i) => {
      const score = this.#doubles[4 * i];
      const id = idOf(this.row(i));
      const error = this.#error(i);
      // The core's scores grow towards the query. 0 instead of -0.
      return metric === "euclidean" ? { id, distance: 0 - score, error } : { id, score, error };
    }) as SearchHit<Id, Metric>[];
  }
}
