// The calling thread's end of a connection: sends calls and their arrays, and settles promises.

import { wrongKind } from "../base/check.js";
import { disposed, stateError } from "../base/errors.js";
import {
  ARRAYS,
  arrayLength,
  checkStillThere,
  type NumberArray,
  newArray,
  setArray,
  subarrayOf,
} from "../base/typed-arrays.js";
import type { InitOptions } from "../core/init.js";
import type { AnyWorker } from "../core/threads/workers.js";
import { arrayOf } from "./library/incoming.js";
import {
  Decoder,
  handleOf,
  lostObject,
  releaseIn,
  signalsOf,
  type Target,
} from "./messages/decode.js";
import { Encoder, type Large, unsendable } from "./messages/encode.js";
import {
  type AnyArray,
  type Encoded,
  type ErrorData,
  errorData,
  errorOf,
  type Library,
  type Reply,
  type Request,
} from "./messages/messages.js";
import { Outbox, type Outgoing } from "./outbox.js";
import { type CallSettings, splitOptions, type WorkerOption } from "./settings.js";
import { onAbort, reasonOf, untilAborted } from "./signals.js";
import { NoWorker, startWorker } from "./start.js";
import { isTurnOver, takeTurn } from "./turns.js";
import type { EntryName } from "./types.js";

/** Bytes that are copied before the event loop may have a turn: well under a millisecond. */
const PIECE_BYTES = 2 ** 20;

/** Errors of functions that the library calls which are held until the library passes them on. */
const MOST_THROWN = 16;

type ReadReply = Extract<Reply, { kind: "read" }>;

/** Target of calls: a worker, or the library on this thread. */
interface Link {
  readonly library: Library;
  readonly worker: AnyWorker | undefined;
  readonly reason: string | undefined;
  send(request: Request, transfer: readonly ArrayBuffer[]): void;
  end(): void;
}

/** A call that has not settled. */
interface Call {
  readonly where: string;
  readonly args: readonly unknown[];
  readonly encoder: Encoder;
  readonly settings: CallSettings;
  /** The last reported progress. */
  told: number;
  /** Long lists of the result. */
  readonly lists: unknown[][];
  settle?: { resolve(value: Encoded): void; reject(error: unknown): void };
}

/** A connection's link, calls and objects. */
export class Client {
  readonly #options: InitOptions;
  readonly #option: WorkerOption | undefined;
  readonly #entries: readonly EntryName[];
  readonly #calls = new Map<number, Call>();
  readonly #decoder = new Decoder(this);
  readonly #outbox = new Outbox();
  #link: Link | undefined;
  #starting: Promise<Link> | undefined;
  #isDisposed = false;
  #nextId = 1;
  /** Functions that the library calls by number. */
  readonly #callbacks = new Map<number, (...args: unknown[]) => unknown>();
  /** The last errors of these functions, by question. */
  readonly #thrown = new Map<number, unknown>();
  /** Objects of workers with a smaller number are gone. */
  generation = 0;

  constructor(
    options: InitOptions,
    option: WorkerOption | undefined,
    entries: readonly EntryName[],
  ) {
    this.#options = options;
    this.#option = option;
    this.#entries = entries;
  }

  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  get link(): Link | undefined {
    return this.#link;
  }

  /** The link; a new one if there is none, or its worker was lost. */
  async connect(where: string): Promise<Link> {
    if (this.#isDisposed) throw disposed(where);
    if (this.#link !== undefined) return this.#link;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return await this.#starting;
  }

  async #start(): Promise<Link> {
    let link: Link;
    try {
      let isLost = false;
      let worker: AnyWorker | undefined;
      const started = await startWorker(
        this.#options,
        this.#option,
        this.#entries,
        (reply) => this.#receive(reply),
        (why) => {
          isLost = true;
          if (worker !== undefined && this.#link?.worker === worker) this.#lose(why);
        },
      );
      worker = started.worker;
      if (isLost) throw new NoWorker("the worker ended at once");
      const own = started.worker;
      if (this.#calls.size === 0) own.unref?.();
      link = {
        library: started.library,
        worker: own,
        reason: undefined,
        send: (request, transfer) => own.postMessage(request, transfer),
        end: () => own.terminate(),
      };
    } catch (error) {
      if (!(error instanceof NoWorker)) throw error;
      const { startHere } = await import("./here.js");
      const here = await startHere(this.#options, this.#entries, (reply) => this.#receive(reply));
      link = { ...here, worker: undefined, reason: error.message };
    }
    if (this.#isDisposed) {
      link.end();
      throw disposed("connect");
    }
    this.#link = link;
    return link;
  }

  /** The worker has ended: pending calls are rejected, and the next one starts another worker. */
  #lose(why: string): void {
    this.#link = undefined;
    this.#outbox.clear();
    this.generation++;
    this.#callbacks.clear();
    for (const { where, settle } of [...this.#calls.values()]) {
      const problem = `the worker ended before its work did: ${why}`;
      settle?.reject(stateError("ZP_WORKER_LOST", where, problem));
    }
  }

  /** Ends the worker; pending calls are rejected. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.generation++;
    this.#callbacks.clear();
    for (const { where, settle } of [...this.#calls.values()]) settle?.reject(disposed(where));
    this.#outbox.clear();
    this.#link?.end();
    this.#link = undefined;
  }

  /** Lets the library call a function, until it tells that it does not any more. @returns its number */
  keep(callback: (...args: unknown[]) => unknown): number {
    const id = this.#nextId++;
    this.#callbacks.set(id, callback);
    return id;
  }

  /** Calls a function for the library, and sends what it returns or throws. */
  async #answer({ ask, callback, args }: Extract<Reply, { kind: "ask" }>): Promise<void> {
    const link = this.#link;
    const where = "connect";
    try {
      const { value: given } = this.#decoder.decode(["list", args], [], []);
      const value = await this.#callbacks.get(callback)?.(...(given as unknown[]));
      if (link === undefined || this.#link !== link) return;
      const offThread = link.worker !== undefined;
      const handle = (object: object) => handleOf(where, this, object);
      const encoder = new Encoder({ where, offThread, transfer: new Set(), handleOf: handle });
      const encoded = encoder.encode(value);
      encoder.copyArrays();
      const large = encoder.large.map((each) => {
        const memory = copyOfPart(where, each, 0, each.length, undefined);
        encoder.moved.add(memory);
        return arrayOf(each.type, memory) as AnyArray;
      });
      send(link, { kind: "answer", ask, value: encoded, large }, encoder.moved, where);
    } catch (error) {
      if (link === undefined || this.#link !== link) return;
      this.#thrown.set(ask, error);
      if (this.#thrown.size > MOST_THROWN) this.#thrown.delete([...this.#thrown.keys()][0]);
      link.send({ kind: "answer", ask, error: { ...errorData(error), origin: ask } }, []);
    }
  }

  /** The error of a message: the very one that a function of this thread has thrown, if it comes from there. */
  #errorOf(data: ErrorData): unknown {
    const { origin } = data;
    return origin !== undefined && this.#thrown.has(origin)
      ? this.#thrown.get(origin)
      : errorOf(data);
  }

  /** Releases an object at the other end. */
  release(id: number, generation: number): void {
    if (generation !== this.generation) return;
    const post = (): void => this.#link?.send({ kind: "release", target: id }, []);
    // After the calls that use it.
    this.#outbox.add({ bytes: 0, post });
  }

  /**
   * Calls a function of the library (`target` 0) or a method of an object, or reads a field of it.
   * @param of  the object
   */
  async call(
    where: string,
    target: number,
    name: string,
    given: readonly unknown[],
    isField = false,
    of?: Target,
  ): Promise<unknown> {
    const { args, settings } = splitOptions(where, given);
    const { signal, transfer } = settings;
    const signals = [...(signal ? [signal] : []), ...(of?.signals ?? []), ...signalsOf(args)];
    for (const each of signals) if (each.aborted) throw reasonOf(each);
    const link = this.#link ?? (await untilAborted(signal, this.connect(where)));
    if (of !== undefined && of.generation !== this.generation) throw lostObject(where);
    const isOffThread = link.worker !== undefined;
    const handle = (value: object) => handleOf(where, this, value);
    const encoder = new Encoder({ where, offThread: isOffThread, transfer, handleOf: handle });
    let encoded: readonly Encoded[] = args.map((arg, i) =>
      name === "forward" && i === 1 ? encoder.encodeOut(arg) : encoder.encode(arg),
    );
    encoder.checkOuts();
    const { outs } = encoder;
    if (encoder.moved.size > 0) encoded = encoder.moveArrays(encoded);
    const large = encoder.large.map(({ type, length }) => ({ type, length }));
    const id = this.#nextId++;
    const call: Call = { where, args, encoder, settings, told: 0, lists: [] };
    const outgoing: Outgoing = {
      bytes: encoder.bytes,
      post: () => {
        try {
          encoder.copyArrays();
          const request = {
            kind: "call",
            id,
            target,
            name,
            isField,
            args: encoded,
            large,
          } as const;
          send(link, request, encoder.moved, where);
        } catch (error) {
          call.settle?.reject(error);
        }
      },
    };
    let leave: (() => void)[] = [];
    if (this.#calls.size === 0) link.worker?.ref?.();
    this.#calls.set(id, call);
    try {
      const settled = new Promise<Encoded>((resolve, reject) => {
        call.settle = { resolve, reject };
        leave = signals.map((each) => onAbort(each, () => reject(reasonOf(each))));
      });
      this.#outbox.add(outgoing);
      const { value, values } = this.#decoder.decode(
        await settled,
        args,
        outs.map(({ given }) => given),
        call.lists,
      );
      for (const [index, from] of values) await this.#fill(call, outs[index].data, from);
      this.#tell(call, 1);
      return value;
    } catch (error) {
      const wasPosted = this.#outbox.settle(outgoing);
      if (wasPosted && this.#link === link) link.send({ kind: "abort", id }, []);
      throw error;
    } finally {
      for (const each of leave) each();
      this.#outbox.settle(outgoing);
      this.#calls.delete(id);
      if (this.#calls.size === 0) link.worker?.unref?.();
    }
  }

  #receive(reply: Reply): void {
    switch (reply?.kind) {
      case "read":
        this.#outbox.answer({ bytes: 0, post: () => this.#sendPart(reply) });
        break;
      case "progress": {
        const call = this.#calls.get(reply.id);
        if (call !== undefined) this.#tell(call, reply.part);
        break;
      }
      case "items": {
        const { id, list, items } = reply;
        const call = this.#calls.get(id);
        if (call === undefined) {
          releaseIn(["list", items], (object) => this.release(object, this.generation));
          break;
        }
        call.lists[list] ??= [];
        const { value } = this.#decoder.decode(["list", items], call.args, [], call.lists);
        call.lists[list].push(...(value as unknown[]));
        break;
      }
      case "done": {
        const call = this.#calls.get(reply.id);
        if (call !== undefined) call.settle?.resolve(reply.value);
        else releaseIn(reply.value, (id) => this.release(id, this.generation));
        break;
      }
      case "error":
        this.#calls.get(reply.id)?.settle?.reject(this.#errorOf(reply.error));
        break;
      case "ask":
        this.#answer(reply);
        break;
      case "forget":
        this.#callbacks.delete(reply.callback);
        break;
      default:
        break;
    }
  }

  /** Reports the progress of a call. @param part  the finished share of its work, 0 to 1 */
  #tell(call: Call, part: number): void {
    const { settings, settle } = call;
    const total = 1000;
    const done = Math.floor(total * part);
    if (done <= call.told) return;
    call.told = done;
    try {
      settings.onProgress?.({ done, total });
    } catch (error) {
      settle?.reject(error);
      if (part === 1) throw error;
    }
  }

  /** Copies values of a large array, and sends them. */
  #sendPart({ id, index, offset, size, memory }: ReadReply): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    const { encoder, where, settle } = call;
    try {
      const part = copyOfPart(where, encoder.large[index], offset, size, memory);
      this.#link?.send({ kind: "part", id, memory: part }, [part]);
    } catch (error) {
      settle?.reject(error);
    }
  }

  /** Copies a result into an array of the caller, with turns of the event loop in between. */
  async #fill({ where }: Call, out: NumberArray, from: AnyArray): Promise<void> {
    const length = arrayLength(from);
    // On this thread the library has written to it directly.
    if (out === from) return;
    const most = PIECE_BYTES / from.BYTES_PER_ELEMENT;
    for (let at = 0; at < length; at += most) {
      if (isTurnOver()) await takeTurn();
      checkStillThere(where, out, length);
      const part = subarrayOf(from as NumberArray, at, Math.min(at + most, length));
      setArray(out, part, at);
    }
  }
}

/** Copies values of a large array. @param memory  takes them if it is large enough */
function copyOfPart(
  where: string,
  { type, values, length }: Large,
  offset: number,
  size: number,
  memory: ArrayBuffer | undefined,
): ArrayBuffer {
  if (!Array.isArray(values)) {
    const array = values as NumberArray;
    checkStillThere(where, array, length);
    const part = subarrayOf(array, offset, offset + size);
    const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    const copy =
      memory !== undefined && memory.byteLength >= bytes.length
        ? new Uint8Array(memory)
        : newArray(where, Uint8Array, bytes.length);
    copy.set(bytes);
    return copy.buffer as ArrayBuffer;
  }
  const doubles = newArray(where, ARRAYS[type as "Float64Array"], size);
  for (let i = 0; i < size; i++) {
    const value: unknown = values[offset + i];
    if (typeof value !== "number") {
      throw wrongKind("ZP_INVALID_TENSOR", where, `value ${offset + i}`, "a number", value);
    }
    doubles[i] = value;
  }
  return doubles.buffer as ArrayBuffer;
}

/** Sends a call, and moves memory with it. @throws {TypeError} `ZP_INVALID_OPTION`, `ZP_DETACHED` */
function send(link: Link, request: Request, moved: ReadonlySet<ArrayBuffer>, where: string): void {
  try {
    link.send(request, [...moved]);
  } catch (cause) {
    throw unsendable(where, cause);
  }
}
