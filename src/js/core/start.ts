// `init` with the builds in the package.

import { embedded } from "./embedded.js";
import { type InitOptions, type InitResult, initFrom } from "./init.js";

/**
 * Loads the core that all functions of this module run on. All later calls are synchronous.
 *
 * Concurrent and later calls share the first one's result. After a failure, `init` may be called
 * again.
 *
 * `init` belongs to the application: after an `init()` of a library that it depends on, its own
 * `init({ threads })` throws. Such a library takes an instance of its own from `create`.
 *
 * @param options.build    the build to load; default: the best one that the engine computes correctly,
 *   with its faster kernels
 * @param options.threads  default: 1
 * @param options.wasm     the binary, if not the one in the package
 * @returns the loaded build and its threads; in the relaxed build, the kernels of quantized layers; the
 *   reason, if there are fewer threads than requested
 * @throws {Error} `ZP_ALREADY_INITIALIZED` if the library already runs with other options;
 *   `ZP_UNSUPPORTED_ENGINE` if the engine lacks a feature of the build, or computes it wrongly;
 *   `ZP_LOAD_FAILED` if the core could not be loaded, for example under a content security policy
 *   without 'wasm-unsafe-eval'
 * @throws {RangeError} `ZP_BUILD_UNAVAILABLE` if `wasm` is not this version's, or not the build asked for
 * @throws {TypeError|RangeError} `ZP_INVALID_OPTION`, `ZP_INVALID_OPTIONS`, `ZP_UNKNOWN_OPTION`
 * @example const { build, threads } = await init(); // "relaxed" and 1, say
 * @example await init({ threads: 4 });
 */
export function init(options?: InitOptions): Promise<InitResult> {
  return initFrom(embedded, options);
}
