// Starts the library, once, and knows which core the functions run on.

import type { WasmOption } from "./binary.js";
import { type Chunks, loadBuild, type Request } from "./build.js";
import { checkChoice, checkInteger, checkOptions } from "./check.js";
import type { Build, Core } from "./core.js";
import { stateError } from "./errors.js";

/** What `init` and `create` take. */
export interface InitOptions {
  /**
   * Which build of the core to load; `"auto"`, the default, takes the best one that the engine
   * computes correctly.
   */
  build?: "auto" | Build | undefined;
  /**
   * How many threads to compute with, 1 to 64, the calling one included. Default: 1. More need
   * `SharedArrayBuffer`, so in a page cross-origin isolation; where workers cannot be had, the library
   * runs on one thread, and the result says why. Results have the same bits with any number.
   */
  threads?: number | undefined;
  /**
   * The core's binary, if not the one in the package: where it is, a `Response`, its bytes, a compiled
   * module, or a function that gives one of these for the name of a file. The package has them as
   * `zeropoint/baseline.wasm`, `zeropoint/relaxed.wasm`, `zeropoint/baseline-threads.wasm` and
   * `zeropoint/relaxed-threads.wasm`.
   */
  wasm?: WasmOption | undefined;
}

/** What `init` loaded. */
export interface InitResult {
  /** The build that runs. */
  readonly build: Build;
  /** The threads it runs on. */
  readonly threads: number;
  /** Why there are fewer threads than asked for; there only if there are. */
  readonly reason?: string;
}

const MAX_THREADS = 64;

function checkRequest(where: string, options: InitOptions | undefined): Request {
  const { build, threads, wasm } = checkOptions(where, options, ["build", "threads", "wasm"]);
  const request = checkChoice(
    where,
    "options.build",
    build,
    ["auto", "baseline", "relaxed"] as const,
    "auto",
  );
  const count =
    threads === undefined
      ? undefined
      : checkInteger(where, "options.threads", threads, 1, 1, MAX_THREADS);
  return {
    build: request,
    threads: count,
    wasm: wasm as WasmOption | undefined,
  };
}

/** Loads a core of its own for those who ask. @throws {Error} see `init` */
export async function loadCore(
  where: string,
  chunks: Chunks,
  options: InitOptions | undefined,
): Promise<Core> {
  return await loadBuild(where, chunks, checkRequest(where, options));
}

/** What `init` and instances say of a core. */
export function describeCore({ build, threads, reason }: Core): InitResult {
  return reason === undefined ? { build, threads } : { build, threads, reason };
}

/** The default core, or undefined until `init` has loaded it. */
let defaultCore: Core | undefined;
/** The core of the instance that is running a function, if one is. */
let runningCore: Core | undefined;
/** The default core on its way. */
let loading: Promise<Core> | undefined;

/** `init`, with the chunks to load from. */
export async function initFrom(
  chunks: Chunks,
  options: InitOptions | undefined,
): Promise<InitResult> {
  const request = checkRequest("init", options);
  let core = defaultCore;
  if (core === undefined) {
    loading ??= loadDefault(chunks, request);
    core = await loading;
  }
  checkSame(request, core);
  return describeCore(core);
}

/** Checks that a request is for what runs already. */
export function checkSame(
  { build, threads }: Pick<Request, "build" | "threads">,
  running: Pick<Core, "build" | "threads" | "wantedThreads">,
): void {
  const wanted = build === "auto" ? running.build : build;
  const wantedThreads = threads ?? running.threads;
  // Whoever asks for as many as the first call gets what that got.
  const isSame = [running.threads, running.wantedThreads].includes(wantedThreads);
  if (wanted === running.build && isSame) return;
  throw stateError(
    "ZP_ALREADY_INITIALIZED",
    "init",
    `the library runs already, build "${running.build}" with threads ${running.threads}, and ` +
      `cannot become build "${wanted}" with threads ${wantedThreads}; create(…) makes another ` +
      `instance`,
  );
}

async function loadDefault(chunks: Chunks, request: Request): Promise<Core> {
  try {
    defaultCore = await loadBuild("init", chunks, request);
    return defaultCore;
  } finally {
    loading = undefined;
  }
}

/**
 * The core to run on. That of an instance may have been disposed of: what was made on it goes on.
 * @throws {Error} `ZP_NOT_INITIALIZED`, in the name of the function that asks
 */
export function activeCore(where: string): Core {
  const core = runningCore ?? defaultCore;
  if (core === undefined) {
    throw stateError("ZP_NOT_INITIALIZED", where, 'call "await init()" first');
  }
  return core;
}

/** Runs a function on a core of its own. */
export function runOn<T>(core: Core, work: () => T): T {
  const outer = runningCore;
  runningCore = core;
  try {
    return work();
  } finally {
    runningCore = outer;
  }
}
