// Starts the worker of a connection, and gives it the core that it asks for.

import { wrongKind } from "../base/check.js";
import { kindOf } from "../base/format-value.js";
import type { WasmModule } from "../base/platform.js";
import type { BinaryName } from "../core/builds.js";
import { embedded } from "../core/embedded.js";
import type { InitOptions } from "../core/init.js";
import { checkSource, compileOption, compileSource, loadFailed } from "../core/load.js";
import {
  type AnyWorker,
  afterFreeSeconds,
  listen,
  listenForEnd,
  START_LIMIT,
  workerConstructor,
} from "../core/threads/workers.js";
import { errorData, errorOf, type Library, type Reply, type Request } from "./messages/messages.js";
import type { WorkerOption } from "./settings.js";
import type { EntryName } from "./types.js";

/**
 * The cure where Vite's development server has moved the package into its cache, away from the worker's script.
 * @param url  of this module
 */
export const viteAdvice = (url: string): string =>
  url.includes("/.vite/deps/")
    ? '; Vite\'s development server finds the worker with optimizeDeps: { exclude: ["zeropoint"] } in its configuration'
    : "";

/** No worker can be started; the message says why, and what helps. */
export class NoWorker extends Error {
  constructor(message: string) {
    super(message + viteAdvice(import.meta.url));
  }
}

/** A worker with the library. */
export interface Started {
  readonly library: Library;
  readonly worker: AnyWorker;
}

/** An address as a page resolves it. */
const absolute = (address: string | URL): string =>
  new URL(
    address,
    (globalThis as { location?: { href: string } }).location?.href ?? import.meta.url,
  ).href;

/** A new worker. @throws {TypeError} `ZP_INVALID_OPTION` if the caller's function returns anything else */
function makeWorker(option: WorkerOption | undefined, entries: readonly EntryName[]): AnyWorker {
  const worker = tryWorker(option, entries);
  const { postMessage, terminate, on, addEventListener } = Object(worker) as Partial<AnyWorker>;
  const methods = [postMessage, terminate, on ?? addEventListener];
  if (methods.every((method) => typeof method === "function")) return worker;
  throw wrongKind("ZP_INVALID_OPTION", "connect", "options.worker()", "a Worker", worker);
}

function tryWorker(option: WorkerOption | undefined, entries: readonly EntryName[]): AnyWorker {
  if (option === false) throw new NoWorker("options.worker is false");
  try {
    if (typeof option === "function") return option() as AnyWorker;
    const Worker = workerConstructor();
    if (Worker === undefined) throw new NoWorker("there are no workers here");
    if (option !== undefined) {
      return new Worker(new URL(absolute(option)), { type: "module", execArgv: [] });
    }
    // Bundlers recognize exactly these expressions. Node's own options are not for the worker: --eval runs a
    // script, and --import one that may start workers again.
    if (entries.includes("models")) {
      return new Worker(new URL("./models-worker.js", import.meta.url), {
        type: "module",
        execArgv: [],
      });
    }
    return new Worker(new URL("./worker.js", import.meta.url), { type: "module", execArgv: [] });
  } catch (error) {
    if (error instanceof NoWorker) throw error;
    throw new NoWorker(`a worker could not be started: ${(error as Error).message}`);
  }
}

/** A file of the core: from the package, or from what a user's function gives for it. */
async function fileOf(
  file: `${BinaryName}.wasm`,
  wasm: InitOptions["wasm"],
): Promise<ArrayBuffer | WasmModule> {
  if (typeof wasm === "function") {
    return await compileSource(checkSource("connect", await wasm(file), file));
  }
  try {
    const { buffer, byteOffset, byteLength } = await embedded[file.slice(0, -5) as BinaryName]();
    return byteLength === buffer.byteLength
      ? buffer
      : buffer.slice(byteOffset, byteOffset + byteLength);
  } catch (cause) {
    throw loadFailed("connect", file, cause);
  }
}

/** The library in a worker did not answer; with one thread it needs no workers of its own. */
class NoThreads extends Error {}

/** Seconds for the library in a worker to start, above the limit for its own workers. */
const LIBRARY_LIMIT = START_LIMIT + 5;

/**
 * Starts a worker and the library in it. Starts again with one thread if the library with several
 * does not answer: the constructor of a worker within a worker sometimes never returns in Firefox.
 * @param entries  the entries that the connection offers
 * @param receive  takes all messages of calls
 * @param lose     called when the worker ends by itself, even during the start
 * @throws {NoWorker} if the worker or its script cannot be started
 * @throws {Error|RangeError|TypeError} what `create` throws
 */
export async function startWorker(
  options: InitOptions,
  option: WorkerOption | undefined,
  entries: readonly EntryName[],
  receive: (reply: Reply) => void,
  lose: (why: string) => void,
): Promise<Started> {
  // A source other than a function is compiled here: it may be a response, which no message holds.
  const { wasm } = options;
  const isGiven = wasm !== undefined && typeof wasm !== "function";
  const module = isGiven ? (await compileOption("connect", wasm)).module : undefined;
  try {
    return await startOnce(options, module, option, entries, receive, lose);
  } catch (error) {
    if (!(error instanceof NoThreads)) throw error;
    const single = { ...options, threads: 1 };
    const { library, worker } = await startOnce(single, module, option, entries, receive, lose);
    return { library: { ...library, threadsReason: error.message }, worker };
  }
}

function startOnce(
  { build, threads, wasm }: InitOptions,
  module: WasmModule | undefined,
  option: WorkerOption | undefined,
  entries: readonly EntryName[],
  receive: (reply: Reply) => void,
  lose: (why: string) => void,
): Promise<Started> {
  const worker = makeWorker(option, entries);
  const send = (request: Request, transfer: readonly ArrayBuffer[] = []) =>
    worker.postMessage(request, transfer);
  return new Promise((resolve, reject) => {
    let stop = (): void => {};
    let isOver = false;
    const limit = (seconds: number, error: Error): void => {
      stop();
      stop = afterFreeSeconds(seconds, () => fail(error));
    };
    const settle = (): void => {
      isOver = true;
      stop();
    };
    const fail = (error: Error): void => {
      if (isOver) return;
      settle();
      worker.terminate();
      reject(error);
    };
    /** Limits the library's start, without the time that a file of the core takes to arrive. */
    const limitLibrary = (): void => {
      if (isOver) return;
      const problem = `the library did not start within ${LIBRARY_LIMIT} s`;
      const isSingle = threads === undefined || threads === 1;
      limit(
        LIBRARY_LIMIT,
        isSingle
          ? new NoWorker(`a worker could not be started: ${problem}`)
          : new NoThreads(`${problem} on ${threads} threads in a worker`),
      );
    };
    limit(START_LIMIT, new NoWorker("a worker could not be started: it did not answer"));
    listen(worker, "message", (event) => {
      // Node's listeners get the message itself.
      const reply = (worker.on ? event : (event as { data: unknown }).data) as Reply;
      switch (reply?.kind) {
        case "loaded":
          send({ kind: "start", build, threads, module, entries });
          limitLibrary();
          break;
        case "need": {
          stop();
          const { request, file } = reply;
          fileOf(file as `${BinaryName}.wasm`, wasm)
            .then(
              (bytes) =>
                send(
                  { kind: "file", request, bytes },
                  kindOf(bytes) === "ArrayBuffer" ? [bytes as ArrayBuffer] : [],
                ),
              (error) => send({ kind: "file", request, error: errorData(error) }),
            )
            .then(limitLibrary);
          break;
        }
        case "ready":
          settle();
          resolve({ library: reply, worker });
          break;
        case "failed":
          fail(errorOf(reply.error));
          break;
        default:
          receive(reply);
      }
    });
    listenForEnd(worker, (why) => {
      // Ended by this module: another worker may be in its place.
      const isStarted = isOver;
      fail(new NoWorker(`a worker could not be started: ${why}`));
      if (isStarted) lose(why);
    });
  });
}
