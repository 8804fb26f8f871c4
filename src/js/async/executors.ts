// Who performs tasks: a worker with a core of its own, which all calls on one instance share; this
// thread, piece by piece, where no worker can be had.

import { ARRAYS, checkStillThere, type NumberArray, setArray, subarrayOf } from "../arrays.js";
import type { Binary, Core } from "../core.js";
import { rangeError, stateError } from "../errors.js";
import { bytesIn, type ElementType } from "../memory.js";
import type { PackedWeight } from "../packed-weight.js";
import {
  type AnyWorker,
  listen,
  listenForEnd,
  START_LIMIT,
  workerConstructor,
} from "../workers.js";
import type { Background } from "./background.js";
import {
  type ErrorData,
  errorOf,
  type Outcome,
  Performer,
  type Task,
  transferOf,
} from "./tasks.js";

/** Performs tasks, here or elsewhere. */
export interface Executor {
  readonly offThread: boolean;
  readonly reason: string | undefined;
  /** How many tasks may wait behind the one at work. */
  readonly window: number;
  /** A part of an array of the user's, as a task may hold it. */
  piece(
    where: string,
    array: NumberArray,
    size: number,
    start: number,
    count: number,
    type: ElementType,
  ): NumberArray;
  /** A packed weight, as a task may hold it. */
  weight(where: string, weight: PackedWeight): Promise<PackedWeight | number>;
  perform(core: Core, task: Task): Promise<Outcome>;
}

interface Scheduler {
  postTask?(task: () => void): Promise<void>;
}

const { scheduler, setImmediate } = globalThis as {
  scheduler?: Scheduler;
  setImmediate?: (work: () => void) => void;
};

/** Whether messages that are there are all served before anybody else has a turn, as Node does it. */
export const servesMessagesFirst = typeof setImmediate === "function";

/** Lets all that waits on this thread have its turn. */
export function pause(): Promise<void> {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  // Not yield(): whoever goes on after that goes before all timers.
  if (typeof scheduler?.postTask === "function") return scheduler.postTask(() => undefined);
  return new Promise((resolve) => setTimeout(resolve));
}

/** This thread. */
class ThisThread implements Executor {
  readonly offThread = false;
  readonly window = 0;
  declare readonly reason: string;
  readonly #performer = new Performer();

  constructor(reason: string) {
    this.reason = reason;
  }

  piece(
    where: string,
    array: NumberArray,
    size: number,
    start: number,
    count: number,
  ): NumberArray {
    checkStillThere(where, array, size);
    return subarrayOf(array, start, start + count);
  }

  async weight(_where: string, weight: PackedWeight): Promise<PackedWeight> {
    return weight;
  }

  async perform(core: Core, task: Task): Promise<Outcome> {
    // At once: the arrays are the user's own, and will not stay as they were checked.
    const outcome = this.#performer.perform(core, task);
    await pause();
    return outcome;
  }
}

/** Buffers that wait to be filled again. */
const MOST_SPARE = 8;
const LEAST_SPARE = 2 ** 16;

type Reply =
  | { readonly ready: true }
  | { readonly failed: string }
  | { readonly id: number; readonly spare: ArrayBuffer[]; readonly outcome: Outcome }
  | { readonly id: number; readonly spare: ArrayBuffer[]; readonly error: ErrorData };

interface Waiting {
  readonly where: string;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

function lost(where: string, why: string): Error {
  return stateError("ZP_WORKER_LOST", where, `the worker ended before its work did: ${why}`);
}

/** A worker. */
export class OtherThread implements Executor {
  readonly offThread = true;
  /** One, while another is copied. */
  readonly window = 2;
  readonly reason = undefined;
  /** Settles when the worker has loaded its core, or cannot. */
  declare readonly ready: Promise<void>;
  readonly #worker: AnyWorker;
  readonly #waiting = new Map<number, Waiting>();
  /** The numbers of the weights that it keeps. */
  readonly #weights = new WeakMap<PackedWeight, Promise<number>>();
  #spare: ArrayBuffer[] = [];
  #nextId = 0;
  #users = 0;
  /** Why there is no worker any more. */
  #gone: string | undefined;
  /** Tells whoever waits for `ready`. */
  #giveUp: (why: Error) => void = () => undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @throws {Error} if there are no workers here */
  constructor(binary: Binary | undefined) {
    const Worker = workerConstructor();
    if (Worker === undefined) throw new Error("there are no workers here");
    // Bundlers look for this very expression; for execArgv see start-workers.ts.
    const worker = new Worker(new URL("./async-worker.js", import.meta.url), {
      type: "module",
      execArgv: [],
    });
    this.#worker = worker;
    this.ready = new Promise((resolve, reject) => {
      const lose = (why: string): void => this.end(why);
      this.#giveUp = reject;
      this.#timer = setTimeout(() => lose("it did not answer"), START_LIMIT);
      const receive = (reply: Reply): void => {
        if ("id" in reply) {
          this.#receive(reply);
        } else if ("ready" in reply) {
          clearTimeout(this.#timer);
          if (this.#users === 0) worker.unref?.();
          resolve();
        } else {
          lose(reply.failed);
        }
      };
      // Node's listeners get the message itself.
      listen(worker, "message", (event) => {
        receive((worker.on ? event : (event as { data: unknown }).data) as Reply);
      });
      listenForEnd(worker, lose);
    });
    this.ready.catch(() => undefined);
    worker.postMessage({ start: binary }, []);
  }

  /** Whether it has ended, by itself or by `end()`. */
  get isLost(): boolean {
    return this.#gone !== undefined;
  }

  /** While somebody uses the worker, Node waits for it. */
  use(): void {
    this.#users++;
    this.#worker.ref?.();
  }

  /** The other end of `use()`. */
  release(): void {
    this.#users--;
    if (this.#users > 0) return;
    this.#spare = [];
    this.#worker.unref?.();
  }

  /** Ends the worker; whoever waits for it is told why. */
  end(why: string): void {
    if (this.#gone !== undefined) return;
    this.#gone = why;
    clearTimeout(this.#timer);
    this.#worker.terminate();
    this.#giveUp(new Error(why));
    for (const { where, reject } of this.#waiting.values()) reject(lost(where, why));
    this.#waiting.clear();
  }

  #receive(reply: Extract<Reply, { id: number }>): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    for (const buffer of reply.spare) {
      if (this.#spare.length < MOST_SPARE && buffer.byteLength >= LEAST_SPARE) {
        this.#spare.push(buffer);
      }
    }
    if ("outcome" in reply) waiting?.resolve(reply.outcome);
    else waiting?.reject(errorOf(reply.error));
  }

  piece(
    where: string,
    array: NumberArray,
    size: number,
    start: number,
    count: number,
    type: ElementType,
  ): NumberArray {
    checkStillThere(where, array, size);
    const bytes = bytesIn(type, count);
    const index = this.#spare.findIndex(({ byteLength }) => byteLength >= bytes);
    let buffer = index === -1 ? undefined : this.#spare.splice(index, 1)[0];
    try {
      buffer ??= new ArrayBuffer(bytes);
    } catch {
      throw rangeError("ZP_OUT_OF_MEMORY", where, `not enough memory for ${bytes} bytes`);
    }
    const copy = new ARRAYS[type](buffer, 0, count);
    setArray(copy, subarrayOf(array, start, start + count), 0);
    return copy;
  }

  weight(where: string, weight: PackedWeight): Promise<number> {
    let held = this.#weights.get(weight);
    if (held === undefined) {
      held = this.#hold(where, weight, this.#nextId++);
      this.#weights.set(weight, held);
      held.catch(() => this.#weights.delete(weight));
    }
    return held;
  }

  async #hold(where: string, weight: PackedWeight, number: number): Promise<number> {
    const common = { job: -1, where, weight: number };
    const copy = weight.copy(where, () => {
      this.#post({ kind: "release", ...common }).catch(() => undefined);
    });
    await this.#post({ kind: "hold", ...common, ...copy });
    return number;
  }

  perform(_core: Core, task: Task): Promise<Outcome> {
    return this.#post(task);
  }

  #post(task: Task): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const { where } = task;
      if (this.#gone !== undefined) {
        reject(lost(where, this.#gone));
        return;
      }
      const id = this.#nextId++;
      this.#waiting.set(id, { where, resolve, reject });
      this.#worker.postMessage({ id, task }, transferOf(task));
    });
  }
}

/** The executors of an instance. */
export class Executors {
  readonly #binary: Binary | undefined;
  #worker: OtherThread | undefined;
  #thisThread: ThisThread | undefined;
  /** Why the last worker did not start. */
  #failure: unknown;

  constructor(binary: Binary | undefined) {
    this.#binary = binary;
  }

  /** The executor to use: the worker, or this thread if a worker cannot start. */
  async choose(): Promise<Executor> {
    if (this.#thisThread !== undefined) return this.#thisThread;
    let worker = this.#worker;
    try {
      if (worker === undefined || worker.isLost) {
        worker = new OtherThread(this.#binary);
        this.#worker = worker;
      }
      await worker.ready;
      this.#failure = undefined;
      return worker;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const here = new ThisThread(`a worker could not be started: ${why}`);
      // The first time the machine may have been too busy; a call after that tries once more.
      if (this.#failure !== undefined && this.#failure !== error) this.#thisThread ??= here;
      this.#failure = error;
      return this.#thisThread ?? here;
    }
  }

  /** Ends the worker. What comes later, of layers, is done on this thread. */
  end(): void {
    this.#thisThread ??= new ThisThread("its instance is disposed");
    this.#worker?.end("its instance is gone");
  }
}

/** A worker ends when nobody can use its instance any more. */
const abandoned = /* @__PURE__ */ new FinalizationRegistry((executors: Executors) =>
  executors.end(),
);

/** The executors of a core; there from the first job on. */
export function executorsOf(core: Core, background: Background): Executors {
  if (background.executors === undefined) {
    background.executors = new Executors(core.binary);
    abandoned.register(core, background.executors);
    if (core.isDisposed) background.executors.end();
  }
  return background.executors;
}
