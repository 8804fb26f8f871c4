// A running core: one loaded build with its memory.

import type { Build } from "./builds.js";
import type { Kernels } from "./kernels.js";
import type { CoreModule, Memory } from "./memory.js";
import type { Workers } from "./threads/threads.js";

/** Ends a core's workers after the core becomes garbage. */
const abandoned = /* @__PURE__ */ new FinalizationRegistry((workers: Workers) => workers.end());

/** A loaded build and its request. */
interface Parts {
  readonly module: CoreModule;
  readonly memory: Memory;
  readonly build: Build;
  readonly workers: Workers | undefined;
  readonly wantedThreads: number;
  readonly reason: string | undefined;
  readonly kernels: Kernels | undefined;
}

/** One loaded build with its memory. */
export class Core {
  declare readonly module: CoreModule;
  declare readonly memory: Memory;
  declare readonly build: Build;
  /** The calling thread and the workers. */
  declare readonly threads: number;
  /** The requested number of threads. */
  declare readonly wantedThreads: number;
  /** The reason for fewer threads than requested. */
  declare readonly reason: string | undefined;
  /** The kernels of quantized layers, in the relaxed build. */
  declare readonly kernels: Kernels | undefined;
  #workers: Workers | undefined;
  #isDisposed = false;

  constructor({ module, memory, build, workers, wantedThreads, reason, kernels }: Parts) {
    this.module = module;
    this.memory = memory;
    this.build = build;
    this.threads = 1 + (workers?.count ?? 0);
    this.wantedThreads = wantedThreads;
    this.reason = reason ?? workers?.reason;
    this.kernels = kernels;
    this.#workers = workers;
    if (workers) abandoned.register(this, workers, this);
  }

  /** Whether `dispose()` was called. */
  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  /** Ends the workers. A second call does nothing. */
  dispose(): void {
    this.#isDisposed = true;
    this.#workers?.end();
    this.#workers = undefined;
    abandoned.unregister(this);
  }
}
