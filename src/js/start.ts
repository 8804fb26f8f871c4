// `init` and `create` with the builds that the package brings along.

import { createFrom, type Zeropoint } from "./create.js";
import { embedded } from "./embedded.js";
import { type InitOptions, type InitResult, initFrom } from "./init.js";

/**
 * Loads the core and makes it the one that all functions of this module run on. Everything after it
 * is synchronous.
 *
 * Concurrent and later calls share the first one's result. After a failure, `init` may be called
 * again.
 *
 * @param options.build    which build to load; default: the best one that the engine computes correctly
 * @param options.threads  default: 1
 * @param options.wasm     the binary, if not the one in the package
 * @returns the build that runs and its threads; and, if these are fewer than asked for, the reason
 * @throws {Error} `ZP_ALREADY_INITIALIZED` if the library runs already and not as asked for;
 *   `ZP_UNSUPPORTED_ENGINE` if the engine lacks what the build needs, or computes it wrongly;
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

/**
 * Makes an instance of the library that is independent of the default one and of all others: the
 * same functions and classes, on a core of its own. Tensors pass freely between instances.
 *
 * @param options  those of `init`
 * @throws {Error|RangeError|TypeError} what `init` throws, but never `ZP_ALREADY_INITIALIZED`
 * @example const { quantize, tensor } = await create({ build: "baseline" });
 */
export function create(options?: InitOptions): Promise<Zeropoint> {
  return createFrom(embedded, options);
}
