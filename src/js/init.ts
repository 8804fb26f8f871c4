// Starts the library, once, and knows which core the functions run on.

import { type Build, type Core, chooseBuild, loadBuild } from "./build.js";
import { checkChoice, checkOptions } from "./check.js";
import { rangeError, stateError, typeError } from "./errors.js";
import { show } from "./show.js";

/** What `init` and `create` take. */
export interface InitOptions {
  /**
   * Which build of the core to load; `"auto"`, the default, takes the best one that this version has
   * and the engine computes correctly. This version has `"baseline"`.
   */
  build?: "auto" | Build | undefined;
  /** How many threads to compute with. Default, and all that this version has: 1. */
  threads?: number | undefined;
}

/** What `init` loaded. */
export interface InitResult {
  /** The build that runs. */
  readonly build: Build;
  /** The threads it runs on. */
  readonly threads: number;
}

/** What is asked for, after its checks. */
export interface Request {
  readonly build: "auto" | Build;
  readonly threads: number | undefined;
}

function checkRequest(where: string, options: InitOptions | undefined): Request {
  const { build, threads } = checkOptions(where, options, ["build", "threads"]);
  const request = checkChoice(
    where,
    "options.build",
    build,
    ["auto", "baseline", "relaxed"] as const,
    "auto",
  );
  chooseBuild(where, request);
  if (threads === undefined) return { build: request, threads };
  if (typeof threads !== "number") {
    throw typeError(
      "ZP_INVALID_OPTION",
      `${where}: options.threads must be a number, got ${show(threads)}`,
    );
  }
  if (!Number.isInteger(threads) || threads < 1) {
    throw rangeError(
      "ZP_INVALID_OPTION",
      `${where}: options.threads must be an integer >= 1, got ${show(threads)}`,
    );
  }
  if (threads > 1) {
    throw rangeError(
      "ZP_BUILD_UNAVAILABLE",
      `${where}: this version has no build with threads; options.threads must be 1, got ${threads}`,
    );
  }
  return { build: request, threads };
}

/** Loads a core of its own for those who ask. @throws {Error} see `init` */
export async function loadCore(where: string, options: InitOptions | undefined): Promise<Core> {
  const { build, threads } = checkRequest(where, options);
  return await loadBuild(where, chooseBuild(where, build), threads ?? 1);
}

/** The default core, or undefined until `init` has loaded it. */
let defaultCore: Core | undefined;
/** The core of the instance that is running a function, if one is. */
let runningCore: Core | undefined;
/** The default core on its way. */
let loading: Promise<Core> | undefined;

/**
 * Loads the core and makes it the one that all functions of this module run on. Everything after it
 * is synchronous.
 *
 * Concurrent and later calls share the first one's result. After a failure, `init` may be called
 * again.
 *
 * @param options.build    which build to load; default: the best one
 * @param options.threads  default: 1
 * @returns the build that runs, and its threads
 * @throws {Error} `ZP_ALREADY_INITIALIZED` if the library runs already and not as asked for;
 *   `ZP_UNSUPPORTED_ENGINE` if the engine lacks WebAssembly SIMD or computes it wrongly;
 *   `ZP_LOAD_FAILED` if the core could not be loaded, for example under a content security policy
 *   without 'wasm-unsafe-eval'
 * @throws {RangeError} `ZP_BUILD_UNAVAILABLE` for a build or threads that this version does not have
 * @throws {TypeError|RangeError} `ZP_INVALID_OPTION`, `ZP_INVALID_OPTIONS`, `ZP_UNKNOWN_OPTION`
 * @example await init(); // { build: "baseline", threads: 1 }
 */
export async function init(options?: InitOptions): Promise<InitResult> {
  const request = checkRequest("init", options);
  let core = defaultCore;
  if (core === undefined) {
    loading ??= loadDefault(request);
    core = await loading;
  }
  checkSame(request, core);
  return { build: core.build, threads: core.threads };
}

/** Checks that a request is for what runs already. */
export function checkSame(
  { build, threads }: Request,
  running: Pick<Core, "build" | "threads">,
): void {
  const wanted = build === "auto" ? running.build : build;
  const wantedThreads = threads ?? running.threads;
  if (wanted === running.build && wantedThreads === running.threads) return;
  throw stateError(
    "ZP_ALREADY_INITIALIZED",
    `init: the library runs already, build "${running.build}" with threads ${running.threads}, and ` +
      `cannot become build "${wanted}" with threads ${wantedThreads}; create(…) makes another ` +
      `instance`,
  );
}

async function loadDefault({ build, threads }: Request): Promise<Core> {
  try {
    defaultCore = await loadBuild("init", chooseBuild("init", build), threads ?? 1);
    return defaultCore;
  } finally {
    loading = undefined;
  }
}

/** The core to run on. @throws {Error} `ZP_NOT_INITIALIZED`, in the name of the function that asks */
export function activeCore(where: string): Core {
  const core = runningCore ?? defaultCore;
  if (core === undefined) {
    throw stateError("ZP_NOT_INITIALIZED", `${where}: call "await init()" first`);
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
