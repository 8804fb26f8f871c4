// A core that runs: one build of it, loaded, with its memory.

import type { Background } from "./async/background.js";
import type { BinaryName } from "./binary.js";
import { type CoreModule, Memory } from "./memory.js";
import type { WasmModule } from "./platform.js";
import type { Workers } from "./threads.js";

/**
 * One compiled variant of the core. `"baseline"` needs WebAssembly's 128-bit SIMD, `"relaxed"` its
 * relaxed SIMD, too, and is faster.
 */
export type Build = "baseline" | "relaxed";

const THREADS = "-threads";

/** The file of a build. */
export const nameOf = (build: Build, isShared: boolean): BinaryName =>
  isShared ? `${build}${THREADS}` : build;

/** Whether a file's build shares its memory between threads. */
export const isShared = (name: BinaryName): boolean => name.endsWith(THREADS);

/** The build in a file. */
export const buildOf = (name: BinaryName): Build => name.replace(THREADS, "") as Build;

/** A compiled build. */
export interface Binary {
  readonly name: BinaryName;
  readonly module: WasmModule;
}

/** A core's workers are ended when nobody can use the core any more. */
const abandoned = /* @__PURE__ */ new FinalizationRegistry((workers: Workers) => workers.end());

/** One loaded build with its memory. */
export class Core {
  declare readonly module: CoreModule;
  declare readonly memory: Memory;
  declare readonly build: Build;
  /** The compiled build, for a worker to start too. */
  declare readonly binary: Binary | undefined;
  /** The calling thread and the workers. */
  declare readonly threads: number;
  /** The threads that were asked for. */
  declare readonly wantedThreads: number;
  /** Why there are fewer threads than asked for. */
  declare readonly reason: string | undefined;
  /** What performs asynchronous work, once there was some. */
  declare background: Background | undefined;
  #workers: Workers | undefined;
  #isDisposed = false;

  constructor(
    module: CoreModule,
    build: Build,
    memory = new Memory(module),
    binary?: Binary,
    workers?: Workers,
    wantedThreads = 1,
    reason?: string,
  ) {
    this.module = module;
    this.memory = memory;
    this.binary = binary;
    this.build = build;
    this.threads = 1 + (workers?.count ?? 0);
    this.wantedThreads = wantedThreads;
    this.reason = reason ?? workers?.reason;
    this.#workers = workers;
    if (workers) abandoned.register(this, workers, this);
  }

  /** Whether `dispose()` was called. */
  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  /** Ends the workers and what is on its way in the background. Harmless when called again. */
  dispose(): void {
    this.#isDisposed = true;
    this.background?.end();
    this.#workers?.end();
    this.#workers = undefined;
    abandoned.unregister(this);
  }
}
