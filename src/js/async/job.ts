// A job: the work of one call of an asynchronous function, done in steps by an executor.

import type { NumberArray } from "../arrays.js";
import type { Core } from "../core.js";
import type { ElementType } from "../memory.js";
import type { PackedWeight } from "../packed-weight.js";
import type { AsyncSettings, Background } from "./background.js";
import {
  type Executor,
  executorsOf,
  OtherThread,
  pause,
  servesMessagesFirst,
} from "./executors.js";
import type { Outcome, Task } from "./tasks.js";

let nextJob = 0;

/** Milliseconds after which others on this thread have a turn. */
const TURN = 5;

/** A task without what every task of a job has. */
export type Step = Task extends infer T
  ? T extends Task
    ? Omit<T, "job" | "where">
    : never
  : never;

/** A task to come, and how much of the work it is. */
export interface Piece {
  readonly step: Step;
  readonly amount: number;
}

/** A piece on its way. */
interface Sent {
  readonly outcome: Promise<Outcome>;
  readonly amount: number;
}

/** The work of one call. */
export class Job {
  declare readonly core: Core;
  /** What errors call the function. */
  declare readonly where: string;
  /** How much there is to do, in the unit of its pieces' amounts. */
  total = 0;
  readonly #settings: AsyncSettings;
  readonly #executor: Executor;
  readonly #id = nextJob++;
  readonly #stopped: Promise<never>;
  #done = 0;

  constructor(
    core: Core,
    where: string,
    settings: AsyncSettings,
    executor: Executor,
    stopped: Promise<never>,
  ) {
    this.core = core;
    this.where = where;
    this.#settings = settings;
    this.#executor = executor;
    this.#stopped = stopped;
  }

  /** A part of an array of the user's, converted to `type`, as a step may hold it. */
  piece(
    array: NumberArray,
    size: number,
    start: number,
    count: number,
    type: ElementType = "Float32Array",
  ): NumberArray {
    return this.#executor.piece(this.where, array, size, start, count, type);
  }

  /** A packed weight of the user's, as a step may hold it. */
  weight(weight: PackedWeight): Promise<PackedWeight | number> {
    return Promise.race([this.#stopped, this.#executor.weight(this.where, weight)]);
  }

  /** Has one step performed. Who has stopped it is told that, not that its worker is gone. */
  perform(step: Step): Promise<Outcome> {
    const task = { ...step, job: this.#id, where: this.where } as Task;
    return Promise.race([this.#stopped, this.#executor.perform(this.core, task)]);
  }

  /**
   * Has steps performed in order, a few of them on their way at a time.
   * @returns what came of the last one
   */
  async performAll(pieces: Iterable<Piece>): Promise<Outcome> {
    const onTheirWay: Sent[] = [];
    let last: Outcome = {};
    let turn = performance.now();
    for (const { step, amount } of pieces) {
      const outcome = this.perform(step);
      // Awaited below, unless one before it fails.
      outcome.catch(() => undefined);
      onTheirWay.push({ outcome, amount });
      if (onTheirWay.length > this.#executor.window) {
        last = await this.#arrived(onTheirWay.shift() as Sent);
      }
      // A quick worker's answer is there before its next piece is copied, and so for all pieces.
      if (servesMessagesFirst && performance.now() - turn > TURN) {
        await Promise.race([this.#stopped, pause()]);
        turn = performance.now();
      }
    }
    for (const sent of onTheirWay) last = await this.#arrived(sent);
    // onProgress may have stopped it when there was nothing left to perform.
    return await Promise.race([this.#stopped, last]);
  }

  /** What came of a step, once that has been told. */
  async #arrived({ outcome, amount }: Sent): Promise<Outcome> {
    const done = await outcome;
    if (amount === 0) return done;
    this.#done += amount;
    const { offThread, reason } = this.#executor;
    const { total } = this;
    this.#settings.onProgress?.({ done: this.#done, total, offThread, reason });
    return done;
  }

  /** Forgets what the executor keeps. */
  drop(): void {
    const task: Task = { kind: "drop", job: this.#id, where: this.where };
    this.#executor.perform(this.core, task).catch(() => undefined);
  }
}

/**
 * Does the work of one call.
 * @param stopped  rejects when the work is to end before it is done
 */
export async function perform<T>(
  core: Core,
  background: Background,
  where: string,
  settings: AsyncSettings,
  stopped: Promise<never>,
  work: (job: Job) => Promise<T>,
): Promise<T> {
  const executor = await Promise.race([executorsOf(core, background).choose(), stopped]);
  const worker = executor instanceof OtherThread ? executor : undefined;
  worker?.use();
  const job = new Job(core, where, settings, executor, stopped);
  try {
    return await work(job);
  } catch (error) {
    job.drop();
    throw error;
  } finally {
    worker?.release();
  }
}
