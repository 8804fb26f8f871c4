// The calling thread's end of a connection: sends calls and their arrays, and settles promises.

import { wrongKind } from "../base/check.js";
import { disposed, stateError, typeError } from "../base/errors.js";
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
import { Decoder, handleOf, lostObject, releaseIn } from "./messages/decode.js";
import { Encoder, type Large } from "./messages/encode.js";
import {
  type AnyArray,
  type Encoded,
  errorOf,
  type Library,
  type Reply,
  type Request,
} from "./messages/messages.js";
import { type CallSettings, splitOptions, type WorkerOption } from "./settings.js";
import { onAbort, reasonOf, untilAborted } from "./signals.js";
import { NoWorker, startWorker } from "./start.js";
import { isTurnOver, pause, takeTurn } from "./turns.js";
import type { EntryName } from "./types.js";

/** Bytes that are copied before the event loop may have a turn: well under a millisecond. */
const PIECE_BYTES = 2 ** 20;

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
  settle?: { resolve(value: Encoded): void; reject(error: unknown): void };
}

/** A connection's link, calls and objects. */
export class Client {
  readonly #options: InitOptions;
  readonly #option: WorkerOption | undefined;
  readonly #entries: readonly EntryName[];
  readonly #calls = new Map<number, Call>();
  readonly #decoder = new Decoder(this);
  /** Values that the library has asked for, in the order of their requests. */
  readonly #reads: ReadReply[] = [];
  /** Bytes of arrays that calls have copied in this turn of the event loop; undefined before the first. */
  #copied: { bytes: number } | undefined;
  #link: Link | undefined;
  #starting: Promise<Link> | undefined;
  #isDisposed = false;
  #nextId = 1;
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
    this.generation++;
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
    for (const { where, settle } of [...this.#calls.values()]) settle?.reject(disposed(where));
    this.#link?.end();
    this.#link = undefined;
  }

  /** Releases an object at the other end. */
  release(id: number, generation: number): void {
    if (generation !== this.generation) return;
    this.#link?.send({ kind: "release", target: id }, []);
  }

  /**
   * Calls a function of the library (`target` 0) or a method of an object, or reads a field of it.
   * @param generation  of the worker that has the object
   */
  async call(
    where: string,
    target: number,
    name: string,
    given: readonly unknown[],
    isField = false,
    generation?: number,
  ): Promise<unknown> {
    const { args, settings } = splitOptions(where, given);
    const { signal, transfer } = settings;
    if (signal?.aborted) throw reasonOf(signal);
    const link = this.#link ?? (await untilAborted(signal, this.connect(where)));
    if (generation !== undefined && generation !== this.generation) throw lostObject(where);
    const isOffThread = link.worker !== undefined;
    const handle = (value: object) => handleOf(where, this, value);
    const copied = this.#copiedInTurn();
    const encoder = new Encoder({
      ...{ where, offThread: isOffThread, transfer, copied },
      handleOf: handle,
    });
    const encoded = args.map((arg, i) =>
      name === "forward" && i === 1 ? encoder.encodeOut(arg) : encoder.encode(arg),
    );
    encoder.checkOuts();
    const { moved, outs } = encoder;
    const large = encoder.large.map(({ type, length }) => ({ type, length }));
    const id = this.#nextId++;
    const call: Call = { where, args, encoder, settings, told: 0 };
    let leave: () => void = () => undefined;
    if (this.#calls.size === 0) link.worker?.ref?.();
    this.#calls.set(id, call);
    try {
      const settled = new Promise<Encoded>((resolve, reject) => {
        call.settle = { resolve, reject };
        if (signal !== undefined) leave = onAbort(signal, () => reject(reasonOf(signal)));
      });
      const request = { kind: "call", id, target, name, isField, args: encoded, large } as const;
      send(link, request, moved, where);
      const { value, values } = this.#decoder.decode(
        await settled,
        args,
        outs.map(({ given }) => given),
      );
      for (const [index, from] of values) await this.#fill(call, outs[index].data, from);
      this.#tell(call, 1);
      return value;
    } catch (error) {
      if (this.#calls.has(id) && this.#link === link) link.send({ kind: "abort", id }, []);
      throw error;
    } finally {
      leave();
      this.#calls.delete(id);
      if (this.#calls.size === 0) link.worker?.unref?.();
    }
  }

  #receive(reply: Reply): void {
    switch (reply?.kind) {
      case "read": {
        if (this.#reads.push(reply) === 1) this.#sendParts();
        break;
      }
      case "progress": {
        const call = this.#calls.get(reply.id);
        if (call !== undefined) this.#tell(call, reply.part);
        break;
      }
      case "done": {
        const call = this.#calls.get(reply.id);
        if (call !== undefined) call.settle?.resolve(reply.value);
        else releaseIn(reply.value, (id) => this.release(id, this.generation));
        break;
      }
      case "error":
        this.#calls.get(reply.id)?.settle?.reject(errorOf(reply.error));
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

  /** What calls have copied in this turn; with the next one it starts anew. */
  #copiedInTurn(): { bytes: number } {
    if (this.#copied === undefined) {
      this.#copied = { bytes: 0 };
      pause().then(() => {
        this.#copied = undefined;
      });
    }
    return this.#copied;
  }

  /** Sends the values that were asked for, with turns of the event loop in between: many calls may run at once. */
  async #sendParts(): Promise<void> {
    for (; this.#reads.length > 0; this.#reads.shift()) {
      if (isTurnOver()) await takeTurn();
      const [reply] = this.#reads;
      const call = this.#calls.get(reply.id);
      if (call !== undefined) this.#sendPart(call, reply);
    }
  }

  /** Copies values of a large array, and sends them. */
  #sendPart(call: Call, { id, index, offset, size, memory }: ReadReply): void {
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
    if (link.worker !== undefined || moved.size === 0) link.send(request, [...moved]);
    // Moves the memory without a worker, too, so that the caller's arrays are empty in both cases.
    else link.send(structuredClone(request, { transfer: [...moved] }), []);
  } catch (cause) {
    const problem = `an argument cannot be sent to the worker: ${(cause as Error).message}`;
    throw typeError("ZP_INVALID_OPTION", where, problem);
  }
}
