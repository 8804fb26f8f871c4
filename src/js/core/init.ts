// Starts the library once, and holds the core that its functions run on.

import { checkChoice, checkInteger } from "../base/check.js";
import { stateError } from "../base/errors.js";
import { checkOptions } from "../base/options.js";
import type { Build } from "./builds.js";
import type { Core } from "./core.js";
import type { Embedded } from "./embedded.js";
import type { Kernels } from "./kernels.js";
import { checkWasm, loadBuild, type Request, type WasmOption } from "./load.js";

/** Options of `init` and `create`. */
export interface InitOptions {
  /**
   * The build of the core to load. `"auto"`, the default, loads the best build that the engine
   * computes correctly, and selects its fastest kernels.
   */
  build?: "auto" | Build | undefined;
  /**
   * The number of threads, 1 to 64, including the calling thread. Default: 1. More threads need
   * `SharedArrayBuffer`, and so cross-origin isolation in a page. Where workers are not available, the
   * library runs on one thread, and the result gives the reason. Results have the same bits with any
   * number.
   */
  threads?: number | undefined;
  /**
   * The core's binary, if not the one in the package: its address, a `Response`, its bytes, a compiled
   * module, or a function that gives one of these for the name of a file. The package has them as
   * `zeropoint/baseline.wasm`, `zeropoint/relaxed.wasm`, `zeropoint/baseline-threads.wasm` and
   * `zeropoint/relaxed-threads.wasm`.
   */
  wasm?: WasmOption | undefined;
}

/** The result of `init`. */
export interface InitResult {
  /** The loaded build. */
  readonly build: Build;
  /** The number of threads. */
  readonly threads: number;
  /**
   * In the relaxed build: the kernels that quantized layers run on. `build: "auto"` takes the ones that are faster
   * with this engine on this processor; results have the same bits with all of them.
   */
  readonly kernels?: Kernels;
  /** The reason for fewer threads than requested; present only then. */
  readonly reason?: string;
}

const MAX_THREADS = 64;

/** Checks options of `init`. @throws {RangeError|TypeError} */
export function checkRequest(where: string, options: InitOptions | undefined): Request {
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
  return { build: request, threads: count, wasm: checkWasm(where, wasm) };
}

/** Loads a new core. @throws {Error} see `init` */
export async function loadCore(
  where: string,
  embedded: Embedded | undefined,
  options: InitOptions | undefined,
): Promise<Core> {
  return await loadBuild(where, embedded, checkRequest(where, options));
}

/** The description of a core in the result of `init` and in instances. */
export function describeCore({ build, threads, kernels, reason }: Core): InitResult {
  return { build, threads, ...(kernels && { kernels }), ...(reason !== undefined && { reason }) };
}

/** The default core, or undefined until `init` has loaded it. */
let defaultCore: Core | undefined;

/** The core of the instance whose function runs at present, if any. */
let runningCore: Core | undefined;

/** The pending load of the default core. */
let loading: Promise<Core> | undefined;

/** `init`, with the binaries in the package, if any. */
export async function initFrom(
  embedded: Embedded | undefined,
  options: InitOptions | undefined,
): Promise<InitResult> {
  const request = checkRequest("init", options);
  let core = defaultCore;
  if (core === undefined) {
    loading ??= loadDefault(embedded, request);
    core = await loading;
  }
  checkSame(request, core);
  return describeCore(core);
}

/** Checks that a later request agrees with the running core. */
export function checkSame(
  { build, threads }: Pick<Request, "build" | "threads">,
  running: Pick<Core, "build" | "threads" | "wantedThreads">,
): void {
  const wanted = build === "auto" ? running.build : build;
  const wantedThreads = threads ?? running.threads;
  // A later call may ask for the same thread count, even if the first one got fewer.
  const isSame = [running.threads, running.wantedThreads].includes(wantedThreads);
  if (wanted === running.build && isSame) return;
  throw stateError(
    "ZP_ALREADY_INITIALIZED",
    "init",
    `the library runs already, build "${running.build}" with threads ${running.threads}, and ` +
      `cannot become build "${wanted}" with threads ${wantedThreads}. If a dependency called init ` +
      `first: init(options) belongs to the application, before anything else calls it; a library takes an ` +
      `instance of its own from create(…)`,
  );
}

async function loadDefault(embedded: Embedded | undefined, request: Request): Promise<Core> {
  try {
    defaultCore = await loadBuild("init", embedded, request);
    return defaultCore;
  } finally {
    loading = undefined;
  }
}

/**
 * The core to run on. An instance's core may be disposed: objects made on it continue to work.
 * @throws {Error} `ZP_NOT_INITIALIZED`, naming the calling function
 */
export function activeCore(where: string): Core {
  const core = runningCore ?? defaultCore;
  if (core === undefined) {
    throw stateError("ZP_NOT_INITIALIZED", where, 'call "await init()" first');
  }
  return core;
}

/** Whether a core is that of the default instance. */
export const isDefaultCore = (core: Core): boolean => core === defaultCore;

/** Gives the core to run on, also after an `await`. @throws {Error} `ZP_NOT_INITIALIZED` */
export type KeptCore = (where: string) => Core;

/**
 * Keeps the core of the instance whose function runs at present: after an `await` that function no longer
 * runs on it.
 * @param otherwise  gives the core if no instance's function runs; default: the default core at the time
 */
export function keepCore(otherwise: KeptCore = activeCore): KeptCore {
  const core = runningCore;
  return core === undefined ? otherwise : () => core;
}

/** Runs a function on a given core. */
export function runOn<T>(core: Core, work: () => T): T {
  const outer = runningCore;
  runningCore = core;
  try {
    return work();
  } finally {
    runningCore = outer;
  }
}
