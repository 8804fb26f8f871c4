// zeropoint/models on the calling thread: sources and functions among arguments, rows as async iterables, and
// files as streams. Loaded with the entry.

import { fieldOf } from "../base/fields.js";
import { isPlainObject } from "../base/options.js";
import { arrayName, checkAttached } from "../base/typed-arrays.js";
import { streamOf } from "../models/byte-stream.js";
import { bodyOf, type Limits, NO_LIMITS } from "../models/open/requests.js";
import type { Client } from "./client.js";
import type { Pulled } from "./library/pull.js";
import { isHandle, signalsOf, tie } from "./messages/decode.js";
import { Special } from "./messages/encode.js";
import { type CallSettings, splitOptions } from "./settings.js";
import { untilAborted } from "./signals.js";

type Callback = (...args: never[]) => unknown;

/** Rows that one message takes to the library: about a millisecond of this thread. */
const PART_ROWS = 128;

/** The handle of an iteration at the library's end. */
interface PullHandle {
  next(call: object): Promise<Pulled>;
  nextChunk(call: object): Promise<Pulled>;
  dispose(): void;
}

interface FileHandle {
  chunks(begin: unknown, call: object): Promise<PullHandle>;
}

interface HeldFile {
  readonly name: string;
  readonly size: number;
  readonly source: FileHandle;
}

/** Handles of models and files that handles of iterations need: without these they would be collected as garbage. */
const needed = new WeakMap<object, unknown>();

/** The limits among the options of openModel. Others than numbers are refused when the library gets them. */
function limitsOf(options: unknown): Limits {
  const number = (name: "timeout" | "maxBytes"): number | undefined => {
    const value = fieldOf(Object(options) as Partial<Limits>, name);
    return typeof value === "number" ? value : undefined;
  };
  const { timeout } = NO_LIMITS;
  return { ...NO_LIMITS, timeout: number("timeout") ?? timeout, maxBytes: number("maxBytes") };
}

/** The functions of `zeropoint/models` that take or give more than plain data, by name. */
export function fileFunctions(client: Client): Record<string, (...args: unknown[]) => unknown> {
  const callback = (call: Callback): Special => {
    const id = client.keep(call as (...args: unknown[]) => unknown);
    return new Special(() => ["callback", id]);
  };

  /** A source as the library reads it; anything else as it is. */
  const sourceOf = async (
    where: string,
    given: unknown,
    settings: CallSettings,
    limits = NO_LIMITS,
  ): Promise<unknown> => {
    const { signal, transfer } = settings;
    const source = await given;
    const tag = Object.prototype.toString.call(source).slice(8, -1);
    if (typeof source === "string") return isPage() ? new URL(source, baseOfPage()).href : source;
    if (source instanceof URL) return new Special(() => ["url", source.href]);
    if (tag === "Response") {
      const own = { ...limits, signal: signal as AbortSignal | undefined };
      const body = await bodyOf(where, source as Response, own);
      return await sourceOf(where, body, settings);
    }
    if (tag === "Blob" || tag === "File") {
      const { name } = source as { name?: string };
      return new Special(() => ["blob", source as Blob, name]);
    }
    const isBuffer = tag === "ArrayBuffer" || tag === "SharedArrayBuffer";
    if (isBuffer || arrayName(source) === "Uint8Array") {
      const array = source as Uint8Array;
      const moves = transfer === true || transfer.has(array) || transfer.has(array.buffer);
      if (moves && !isBuffer) return array;
      const bytes = isBuffer ? new Uint8Array(source as ArrayBuffer) : array;
      checkAttached(where, "source", bytes);
      const read = (offset: number, length: number): Special => {
        checkAttached(where, "source", bytes);
        const copy = Uint8Array.prototype.slice.call(bytes, offset, offset + length);
        return new Special((encoder) => encoder.move(copy));
      };
      return { size: bytes.length, read: callback(read) };
    }
    if (typeof source !== "object" || source === null || isHandle(source)) return source;
    if (Symbol.asyncIterator in source || tag === "ReadableStream") {
      const chunks = iteratorOf(source);
      const next = async (isEnd: boolean) =>
        isEnd ? void (await chunks.return?.()) : await chunks.next();
      const id = client.keep(next as (...args: unknown[]) => unknown);
      return new Special(() => ["chunks", id]);
    }
    const random = source as { size: unknown; read: unknown };
    if (typeof random.read !== "function") return source;
    return { size: random.size, read: callback(random.read.bind(source) as Callback) };
  };

  /** Options with the call's signal, and with functions that the library can call. */
  const optionsOf = async (
    where: string,
    given: unknown,
    settings: CallSettings,
  ): Promise<unknown> => {
    if (given !== undefined && !isPlainObject(given)) return given;
    const options: Record<string, unknown> = { ...given, signal: new Special(() => ["signal"]) };
    const { onProgress } = settings;
    if (onProgress !== undefined) {
      const id = client.keep(onProgress as (...args: unknown[]) => unknown);
      options.onProgress = new Special(() => ["progress", id]);
    }
    const { externalData, rename, verifyWith, imatrix, activations } = options;
    if (typeof externalData === "function") {
      options.externalData = callback(
        async (path: string) => await sourceOf(where, externalData(path), settings),
      );
    }
    if (typeof rename === "function") options.rename = callback(rename as Callback);
    if (typeof verifyWith === "function") {
      options.verifyWith = callback(async (...args: unknown[]) => {
        const session = await verifyWith(...args);
        if (typeof session?.run !== "function") return session;
        return {
          run: callback((feeds: unknown) => session.run(feeds)),
          release: callback(() => session.release?.()),
        };
      });
    }
    if (imatrix !== undefined) options.imatrix = await sourceOf(where, imatrix, settings);
    if (where === "analyze" && isPlainObject(activations)) {
      const own = Object.entries(activations).map(async ([name, each]) => {
        const isFile = isNpy(each);
        return [name, isFile ? await sourceOf(where, each, settings) : each] as const;
      });
      options.activations = Object.fromEntries(await Promise.all(own));
    }
    return options;
  };

  /** Calls a function, whose options are argument `at`. */
  const call = async (
    where: string,
    at: number,
    { args, settings }: ReturnType<typeof splitOptions>,
  ): Promise<unknown> => {
    const all = [...args];
    while (all.length < at) all.push(undefined);
    all[at] = await optionsOf(where, all[at], settings);
    const { signal, transfer } = settings;
    const own = { signal, transfer: transfer === true || [...transfer] };
    return await client.call(where, 0, where, [...all, own]);
  };

  /** A function that gives rows. */
  const rows = (where: string, at: number) =>
    async function* (...given: unknown[]): AsyncGenerator<unknown, void, undefined> {
      const split = splitOptions(where, given);
      const { signal } = split.settings;
      const pull = (await call(where, at, split)) as PullHandle;
      needed.set(pull, given);
      tie(pull, signalsOf(given));
      try {
        for (;;) {
          const { items, done } = await pull.next({ signal });
          yield* items;
          if (done) return;
        }
      } finally {
        pull.dispose();
      }
    };

  /** Rows of an argument, which the library asks for part by part; few of them as they are. */
  const givenRows = (given: unknown): unknown => {
    if (typeof given !== "object" || given === null || arrayName(given) !== undefined) return given;
    if (!(Symbol.iterator in given)) {
      return Object.hasOwn(given, "rows")
        ? { ...given, rows: givenRows((given as { rows: unknown }).rows) }
        : given;
    }
    const all = Array.from(given as Iterable<unknown>);
    if (all.length <= PART_ROWS) return all;
    let at = 0;
    const next = (): IteratorResult<unknown> => {
      const value = all.slice(at, at + PART_ROWS);
      at += PART_ROWS;
      return { done: value.length === 0, value };
    };
    const id = client.keep(next);
    return new Special(() => ["chunks", id]);
  };

  /** A function of rows alone. */
  const ofRows =
    (where: string) =>
    (given: unknown, ...rest: unknown[]) =>
      client.call(where, 0, where, [givenRows(given), ...rest]);

  /** The chunks of a file. */
  async function* chunksOf(
    { source }: HeldFile,
    begin: unknown,
    signal: CallSettings["signal"],
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const pull = await source.chunks(begin, { signal });
    needed.set(pull, source);
    tie(pull, signalsOf([source]));
    const next = (): Promise<Pulled> => {
      const chunk = pull.nextChunk({ signal });
      chunk.catch(() => undefined);
      return chunk;
    };
    try {
      // The library makes one chunk while the caller uses the one before it.
      for (let ahead = next(); ; ) {
        const { items, done } = await ahead;
        if (!done) ahead = next();
        yield* items as Uint8Array[];
        if (done) return;
      }
    } finally {
      pull.dispose();
    }
  }

  const simple =
    (where: string, at: number) =>
    (...given: unknown[]) =>
      call(where, at, splitOptions(where, given));

  return {
    openModel: async (source: unknown, ...rest: unknown[]) => {
      const where = "openModel";
      const { args, settings } = splitOptions(where, rest);
      const [options] = args;
      const { signal } = settings;
      const own = await untilAborted(signal, sourceOf(where, source, settings, limitsOf(options)));
      const model = (await call(where, 1, { args: [own, ...args], settings })) as object;
      if (signal !== undefined) tie(model, [signal]);
      return model;
    },
    analyze: rows("analyze", 1),
    compare: rows("compare", 2),
    plan: ofRows("plan"),
    frontier: ofRows("frontier"),
    storedRows: async (model: unknown, given: unknown, ...rest: unknown[]) => {
      const where = "storedRows";
      const { args, settings } = splitOptions(where, rest);
      return await call(where, 2, { args: [model, givenRows(given), ...args], settings });
    },
    verify: simple("verify", 2),
    quantizeModel: async (model: unknown, scheme: unknown, ...rest: unknown[]) => {
      const where = "quantizeModel";
      const { args, settings } = splitOptions(where, rest);
      const own = typeof scheme === "function" ? callback(scheme as Callback) : scheme;
      const given = { args: [model, own, ...args], settings };
      const { files, report } = (await call(where, 2, given)) as {
        files: readonly HeldFile[];
        report: unknown;
      };
      for (const { source } of files) {
        needed.set(source, model);
        tie(source, signalsOf([model]));
      }
      return {
        files: files.map((file) => ({
          name: file.name,
          size: file.size,
          stream: (begin?: unknown) => streamOf(chunksOf(file, begin, settings.signal)),
        })),
        report,
      };
    },
  };
}

/** Whether a text is an address, as of a page. */
const isPage = (): boolean =>
  (globalThis as { process?: { getBuiltinModule?: unknown } }).process?.getBuiltinModule ===
  undefined;

/** The address that a page's own are relative to. */
const baseOfPage = (): string | undefined => {
  const { document, location } = globalThis as {
    document?: { baseURI: string };
    location?: { href: string };
  };
  return document?.baseURI ?? location?.href;
};

/** Whether inputs of a weight are a file, rather than an array of values, batches or moments. */
function isNpy(given: unknown): boolean {
  const tag = Object.prototype.toString.call(given).slice(8, -1);
  const isRandom = typeof (given as { read?: unknown } | null)?.read === "function";
  const kinds = ["String", "URL", "Blob", "File", "Response", "ReadableStream", "ArrayBuffer"];
  return kinds.includes(tag) || tag === "Uint8Array" || isRandom;
}

function iteratorOf(source: object): AsyncIterator<unknown> {
  if (Symbol.asyncIterator in source) {
    return (source as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  }
  const reader = (source as ReadableStream<unknown>).getReader();
  return {
    next: async () => (await reader.read()) as IteratorResult<unknown>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}
