// Errors of rows -> the error of a tensor. Rows are added one after the other, so that the sums are the same for every
// tile and thread.

import type { WorstRow } from "./row.js";

/** Doubles of a row of the core: noise, energy, product, absolute, largest, weighted. */
export const ROW_DOUBLES = 6;

/** Rows that are reported on request. */
const WORST = 10;

/** The errors of one scheme. */
export class Totals {
  noise = 0;
  energy = 0;
  product = 0;
  weighted = 0;
  largest = 0;
  /** The largest sum of |w − v| and of (w − v)² of a row. */
  absolute = 0;
  square = 0;
  readonly worst: WorstRow[] = [];
  #rows = 0;

  /** @param keepsWorst  whether to find the rows of largest relative error */
  constructor(readonly keepsWorst: boolean) {}

  /**
   * Adds rows.
   * @param errors  ROW_DOUBLES numbers for each row
   * @param signals  the same for v = 0: its noise is the signal
   * @param isWeighted  whether a row's relative error is the weighted one
   */
  add(errors: Float64Array, signals: Float64Array, isWeighted: boolean): void {
    for (let at = 0; at < errors.length; at += ROW_DOUBLES) {
      const noise = errors[at];
      const absolute = errors[at + 3];
      const largest = errors[at + 4];
      this.noise += noise;
      this.energy += errors[at + 1];
      this.product += errors[at + 2];
      this.weighted += errors[at + 5];
      if (absolute > this.absolute) this.absolute = absolute;
      if (largest > this.largest) this.largest = largest;
      if (noise > this.square) this.square = noise;
      if (!this.keepsWorst) continue;
      const relative = isWeighted
        ? ratio(errors[at + 5], signals[at + 5])
        : ratio(noise, signals[at]);
      this.#addWorst({
        row: this.#rows + at / ROW_DOUBLES,
        relative,
        norm1: absolute,
        norm2: Math.sqrt(noise),
      });
    }
    this.#rows += errors.length / ROW_DOUBLES;
  }

  /** Of equal rows, the first ones stay. */
  #addWorst(row: WorstRow): void {
    const { worst } = this;
    if (worst.length === WORST && !(row.relative > worst[WORST - 1].relative)) return;
    let at = worst.length;
    while (at > 0 && row.relative > worst[at - 1].relative) at--;
    worst.splice(at, 0, row);
    if (worst.length > WORST) worst.pop();
  }
}

/** Squared error by squared signal: 0 if both are 0. */
export const ratio = (noise: number, signal: number): number => (noise === 0 ? 0 : noise / signal);
