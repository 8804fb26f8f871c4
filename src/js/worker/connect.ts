// connect: the library off the calling thread.

import { checkChoice, wrongKind } from "../base/check.js";
import { define } from "../base/fields.js";
import { INSPECT } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import { checkRequest, type InitOptions } from "../core/init.js";
import { Client } from "./client.js";
import { splitOptions, type WorkerOption } from "./settings.js";
import { untilAborted } from "./signals.js";
import type { Connection, EntryName } from "./types.js";

/** The entries of the package that a connection may offer. */
const ENTRY_NAMES: readonly EntryName[] = ["torch", "search", "models"];

const OPTIONS = ["build", "threads", "wasm", "worker", "entries"];

/** Options of `connect`. */
export interface ConnectOptions<Entry extends EntryName = EntryName> extends InitOptions {
  /**
   * The entries of the package whose functions and classes the connection has in addition to those of
   * `zeropoint`: `"torch"` for `zeropoint/torch`, `"search"` for `zeropoint/search`, `"models"` for `zeropoint/models`.
   * Default: none.
   */
  entries?: readonly Entry[] | undefined;
  /**
   * The worker's script, if a bundler does not find it: its address, or a function that starts a worker
   * with it (`zeropoint/worker.js` in the package, `zeropoint/models-worker.js` for the entry `"models"`). `false` for no worker: the library then runs on this
   * thread.
   */
  worker?: WorkerOption | undefined;
}

/**
 * Starts a worker that runs the library. The connection has the functions of `zeropoint`, and of the
 * entries that it is asked for, by the same names and with the same arguments, and a factory for each of its classes: `quantizedLinear(…)` for
 * `new QuantizedLinear(…)`. They return promises, and take `{ signal, onProgress, transfer }` last, by
 * itself or among the function's own options.
 *
 * A call copies arrays of up to 4 KiB. Larger ones are copied when its message is posted, and those of more than
 * 1 MiB in parts as the worker needs them: leave them as they are until the promise settles. Messages of many calls
 * are posted in turns of the event loop, so that this thread is seldom kept for more than 16 ms; rows that `plan`, `frontier`
 * and `storedRows` take go over 128 at a time, as do long lists of results. Arrays in a
 * `SharedArrayBuffer` are not copied.
 *
 * If the library does not start on several threads in the worker, it starts on one, and `threadsReason`
 * says why. Where no worker can be had, the library runs on this thread, call by call: `forward` of layers and
 * `calibrate` in batches, rows and files bit by bit, with turns of the event loop in between, and all others as a whole.
 *
 * If the worker ends by itself, pending calls are rejected with `ZP_WORKER_LOST`, as are calls of handles
 * that were made before; the next call of a function starts another worker.
 *
 * @param options.entries  the entries that it offers in addition to `zeropoint`; default: none
 * @param options.threads  the threads that the library runs on; default: 1
 * @param options.build    as in `init`
 * @param options.wasm     as in `init`
 * @param options.worker   where the worker's script is, if not in the package
 * @throws {Error|RangeError|TypeError} what `create` throws
 * @example
 * const zp = await connect();
 * const q = await zp.quantize(weights, { axis: 0 }, { signal: AbortSignal.timeout(1000) });
 * const layer = await zp.quantizedLinear(q);
 * const y = await layer.forward(x);
 * zp.dispose();
 */
export async function connect<Entry extends EntryName = never>(
  options: ConnectOptions<Entry> = {},
): Promise<Connection<Entry>> {
  const { worker, entries, ...given } = checkOptions("connect", options, OPTIONS) as ConnectOptions;
  const isAddress = typeof worker === "string" || worker instanceof URL;
  if (worker !== undefined && worker !== false && typeof worker !== "function" && !isAddress) {
    const takes = "an address, a function that starts a worker, or false";
    throw wrongKind("ZP_INVALID_OPTION", "connect", "options.worker", takes, worker);
  }
  checkRequest("connect", given);
  const names = checkEntryNames(entries);
  const client = new Client(given, worker, names);
  const { library } = await client.connect("connect");
  const { functions, classes, build, threads, threadsReason } = library;
  const dispose = (): void => client.dispose();
  const connection: Record<string | symbol, unknown> = {
    build,
    threads,
    threadsReason,
    dispose,
    ...(typeof Symbol.dispose === "symbol" && { [Symbol.dispose]: dispose }),
    [INSPECT]: () => `Connection(build=${build}, threads=${threads})`,
  };
  const offThread = (): boolean => client.link?.worker !== undefined;
  define(connection, "offThread", { get: offThread, enumerable: true });
  define(connection, "reason", { get: () => client.link?.reason, enumerable: true });
  for (const name of functions) {
    connection[name] = (...args: unknown[]) => client.call(name, 0, name, args);
  }
  if (names.includes("models")) {
    const { fileFunctions } = await import("./files.js");
    Object.assign(connection, fileFunctions(client));
  }
  connection.load = async (source: unknown, ...rest: unknown[]) => {
    const { signal } = splitOptions("load", rest).settings;
    const { readWhole } = await import("../models/open/sources.js");
    const bytes = await untilAborted(signal, readWhole("load", source));
    return await client.call("load", 0, "load", [bytes, ...rest]);
  };
  // The second argument alone is options: the thing may have fields of any name.
  connection.save = async (thing: unknown, options?: unknown) => {
    const bytes = (await client.call("save", 0, "save", [thing, options])) as Uint8Array;
    return new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  };
  for (const [name, statics] of classes) {
    const small = name.charAt(0).toLowerCase() + name.slice(1);
    const factoryName = functions.includes(small) ? `${small}Layer` : small;
    const factory = (...args: unknown[]) => client.call(name, 0, name, args);
    for (const method of statics) {
      const path = `${name}.${method}`;
      Object.assign(factory, {
        [method]: (...args: unknown[]) => client.call(path, 0, path, args),
      });
    }
    connection[factoryName] = factory;
  }
  return connection as unknown as Connection<Entry>;
}

function checkEntryNames(entries: unknown): EntryName[] {
  if (entries === undefined) return [];
  const argument = "options.entries";
  if (!Array.isArray(entries)) {
    throw wrongKind("ZP_INVALID_OPTION", "connect", argument, "a list of names", entries);
  }
  return Array.from(entries as unknown[], (name, i) =>
    checkChoice("connect", `${argument}[${i}]`, name, ENTRY_NAMES, undefined),
  );
}
