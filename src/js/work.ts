// Work on whole tensors that layers and models ask for, done on this thread or on another.

import type { AsyncSettings } from "./async/background.js";

/** Something to compute that may take long. */
export interface Work<T> {
  /** How much it is, in units of the procedure's own. */
  readonly amount: number;
  /** Does it on this thread. */
  readonly here: () => T;
  /** Does it on another one. */
  readonly away: (settings: AsyncSettings) => Promise<T>;
}

/** What asks for work, piece by piece, and goes on with a function that gives what came of it, or throws. */
export type Procedure<T> = Generator<Work<unknown>, T, () => unknown>;

/** Asks for work. */
export function* done<T>(work: Work<T>): Procedure<T> {
  return (yield work)() as T;
}

/** Has all work done on this thread. */
export function workHere<T>(procedure: Procedure<T>): T {
  let step = procedure.next();
  while (step.done !== true) step = procedure.next(step.value.here);
  return step.value;
}
