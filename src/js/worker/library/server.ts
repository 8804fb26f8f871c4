// The library's end of a connection: receives messages, calls the library and sends the results. It runs in a
// worker, or on the calling thread if no worker starts.

import {
  type Encoded,
  errorData,
  errorOf,
  type Library,
  type Post,
  type Reply,
  type Request,
} from "../messages/messages.js";
import { isTurnOver, takeTurn } from "../turns.js";
import type { EntryName } from "../types.js";
import { batchesOf } from "./batches.js";
import { Incoming, type Read } from "./incoming.js";
import { Arguments, type Context, handlesIn, type Names, Objects } from "./objects.js";
import { type FurtherEntries, namesIn, type Zeropoint } from "./zeropoint.js";

type CallRequest = Extract<Request, { kind: "call" }>;

/** A call that waits or runs. */
interface Call {
  readonly request: CallRequest;
  /** The reads that have no answer yet, in their order. */
  readonly reads: {
    resolve(memory: ArrayBuffer): void;
    reject(error: Error): void;
  }[];
  readonly context: Context;
  isAborted: boolean;
}

/** A question to the calling thread that has no answer yet. */
interface Question {
  readonly context: Context;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The share of a call's progress that its arrays have, if it reads some. */
const READING = 0.5;

/** Calls at a time that read arrays of the calling thread: one computes while the other reads. */
const MOST_READING = 2;

/** Methods whose results have memory of their own: of layers, files and streams of chunks. */
const FRESH = new Set(["forward", "read", "readQuantized", "readBytes", "nextChunk"]);

/** Items of a list in one message, which the calling thread decodes in a turn: objects, and others. */
const MOST_ITEMS = { object: 128, other: 4096 };

/** Static methods that make objects. */
const STATICS = ["fromJSON"];

/** Pure data and printing, which need no core and no worker. */
const LOCAL = /^(?:tensor|getDefault.*|QConfig|QConfigMapping|WeightOnlyQConfig)$/;

/** The functions and classes of an instance that a connection to some entries offers. */
export function describe(
  zp: Zeropoint,
  entries: readonly EntryName[],
  further: FurtherEntries,
): Library {
  const functions: string[] = [];
  const classes: [string, string[]][] = [];
  const offered = namesIn(entries, further);
  for (const [name, value] of Object.entries(zp)) {
    if (typeof value !== "function" || !offered.has(name) || LOCAL.test(name)) continue;
    const isClass = Object.getOwnPropertyDescriptor(value, "prototype")?.writable === false;
    if (isClass) classes.push([name, STATICS.filter((method) => method in value)]);
    else functions.push(name);
  }
  const { build, threads, reason } = zp;
  return { build, threads, threadsReason: reason, functions, classes };
}

/** Calls the library as messages say. */
export class Server {
  readonly #zp: Zeropoint;
  readonly #post: Post<Reply>;
  /** Whether results leave this thread. */
  readonly #isOffThread: boolean;
  readonly #calls = new Map<number, Call>();
  readonly #objects: Objects;
  /** Memory of parts of arrays, for the next ones. */
  readonly #free: ArrayBuffer[] = [];
  /** Calls that read arrays of the calling thread, and those that wait until they may. */
  #reading = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #questions = new Map<number, Question>();
  #nextQuestion = 1;
  /** Tells the calling thread which of its functions are no longer held here. */
  readonly #collected = new FinalizationRegistry<number>((callback) =>
    this.#post({ kind: "forget", callback }, []),
  );

  constructor(zp: Zeropoint, post: Post<Reply>, isOffThread: boolean) {
    this.#zp = zp;
    this.#objects = new Objects(zp);
    this.#post = post;
    this.#isOffThread = isOffThread;
  }

  /** Processes one message. Never throws. */
  receive(request: Request): void {
    switch (request?.kind) {
      case "call":
        this.#begin(request);
        break;
      case "part":
        this.#calls.get(request.id)?.reads.shift()?.resolve(request.memory);
        break;
      case "abort": {
        const call = this.#calls.get(request.id);
        if (call === undefined) break;
        call.isAborted = true;
        call.context.controller.abort();
        for (const { reject } of call.reads) reject(new Error("aborted"));
        break;
      }
      case "answer":
        this.#resolve(request);
        break;
      case "release":
        this.#objects.release(request.target);
        break;
      default:
        break;
    }
  }

  /** A function of the calling thread, which is asked for its result. */
  #callback(callback: number, context: Context): (...args: unknown[]) => Promise<unknown> {
    const ask = (...args: unknown[]): Promise<unknown> => {
      const answer = new Promise<unknown>((resolve, reject) => {
        const question = this.#nextQuestion++;
        this.#questions.set(question, { context, resolve, reject });
        const none = this.#arguments([], [], { ...context, list: (items) => ["list", items] });
        const encoded = args.map((arg) => this.#objects.encode(arg, none, undefined));
        this.#post({ kind: "ask", ask: question, callback, args: encoded }, []);
      });
      // Not every caller waits for an answer, and in Node an unhandled one ends the worker.
      answer.catch(() => undefined);
      return answer;
    };
    this.#collected.register(ask, callback);
    return ask;
  }

  #resolve({ ask, value, large = [], error }: Extract<Request, { kind: "answer" }>): void {
    const question = this.#questions.get(ask);
    this.#questions.delete(ask);
    if (question === undefined) return;
    if (error !== undefined) question.reject(errorOf(error));
    else question.resolve(this.#arguments([value], large, question.context).values[0]);
  }

  #fail(id: number, error: unknown): void {
    this.#calls.delete(id);
    this.#post({ kind: "error", id, error: errorData(error) }, []);
  }

  #begin(request: CallRequest): void {
    const { id, target, name, args } = request;
    let lists = 0;
    const context: Context = {
      name,
      list: (items) => {
        const most = typeof items[0] === "object" ? MOST_ITEMS.object : MOST_ITEMS.other;
        if (items.length <= most) return ["list", items];
        const list = lists++;
        for (let at = 0; at < items.length; at += most) {
          this.#post({ kind: "items", id, list, items: items.slice(at, at + most) }, []);
        }
        return ["items", list];
      },
      controller: new AbortController(),
      callback: (number) => this.#callback(number, context),
    };
    const call: Call = { request, reads: [], context, isAborted: false };
    this.#calls.set(id, call);
    try {
      const numbers = target === 0 ? args.flatMap(handlesIn) : [target, ...args.flatMap(handlesIn)];
      if (numbers.length === 0) {
        this.#run(call, undefined);
        return;
      }
      // Calls that use an object run in the order in which they were made.
      const held = numbers.map((number) => this.#objects.get(number));
      const self = target === 0 ? undefined : held[0].object;
      const run = Promise.all(held.map(({ tail }) => tail)).then(() => this.#run(call, self));
      for (const one of held) one.tail = run;
    } catch (error) {
      this.#fail(id, error);
    }
  }

  /** Runs a call to its end, and posts its result. Few at a time hold arrays that they read from the calling thread. */
  async #run(call: Call, self: object | undefined): Promise<void> {
    if (call.request.large.length === 0) {
      await this.#runNow(call, self);
      return;
    }
    if (this.#reading >= MOST_READING) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#reading++;
    await this.#runNow(call, self);
    const next = this.#waiting.shift();
    if (next === undefined) this.#reading--;
    else next();
  }

  /** Runs a call. Never throws. */
  async #runNow(call: Call, self: object | undefined): Promise<void> {
    const { id, target, name, isField } = call.request;
    try {
      if (call.isAborted) return;
      const args = this.#arguments(call.request.args, await this.#read(call), call.context);
      const value = isField ? (self as Names)[name] : await this.#compute(call, self, args.values);
      if (call.isAborted) return;
      const isFresh = this.#isOffThread && (target === 0 || FRESH.has(name));
      const moved = isFresh ? new Set<ArrayBuffer>() : undefined;
      const result = this.#objects.encode(value, args, moved);
      this.#post({ kind: "done", id, value: result }, [...(moved ?? [])]);
    } catch (error) {
      if (!call.isAborted) this.#fail(id, error);
    } finally {
      this.#calls.delete(id);
    }
  }

  #arguments(args: readonly Encoded[], large: readonly unknown[], context: Context): Arguments {
    return new Arguments(this.#zp, this.#objects, args, large, context);
  }

  /** Reads the large arrays of a call. */
  async #read(call: Call): Promise<unknown[]> {
    const { id, large } = call.request;
    const total = large.reduce((sum, { length }) => sum + length, 0);
    let done = 0;
    const arrays: unknown[] = [];
    for (const [index, form] of large.entries()) {
      const read: Read = (offset, size, memory) =>
        new Promise((resolve, reject) => {
          if (call.isAborted) {
            reject(new Error("aborted"));
            return;
          }
          call.reads.push({ resolve, reject });
          const message = { kind: "read", id, index, offset, size, memory } as const;
          this.#post(message, memory === undefined ? [] : [memory]);
        });
      const array = new Incoming(form, this.#free, read);
      arrays.push(
        await array.whole((size) => {
          done += size;
          this.#post({ kind: "progress", id, part: (READING * done) / total }, []);
        }),
      );
    }
    return arrays;
  }

  /** Runs the function of a call: in batches, with turns of the event loop in between, or as a whole. */
  async #compute(call: Call, self: object | undefined, args: readonly unknown[]): Promise<unknown> {
    const { id, name, large } = call.request;
    const batches = batchesOf(self, name, args, this.#isOffThread);
    if (batches === undefined) return await this.#call(self, name, args);
    const begin = large.length > 0 ? READING : 0;
    for (;;) {
      const { done, value } = batches.next();
      if (done === true) return value;
      if (isTurnOver()) {
        this.#post({ kind: "progress", id, part: begin + (1 - begin) * (value as number) }, []);
        await takeTurn();
      }
      if (call.isAborted) return undefined;
    }
  }

  #call(self: object | undefined, path: string, args: readonly unknown[]): unknown {
    const [name, method] = path.split(".");
    const owner = (self ?? this.#zp) as Names;
    if (method !== undefined) return (owner[name] as unknown as Names)[method](...args);
    const isClass = self === undefined && /^[A-Z]/.test(name);
    return isClass ? new owner[name](...args) : owner[name](...args);
  }
}
