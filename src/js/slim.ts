// zeropoint/slim: the same library without the binary, which is served as a separate file.

import { type InitOptions, type InitResult, initFrom } from "./core/init.js";
import { checkHasWasm } from "./core/load.js";
import { createInstance, type Instance } from "./instance.js";

export type { Bound, Instance, Zeropoint } from "./instance.js";
export * from "./library.js";

/** Options of `init` and `create` of `zeropoint/slim`, which require a source of the binary. */
export type SlimInitOptions = InitOptions & Required<Pick<InitOptions, "wasm">>;

/**
 * Loads the core from `options.wasm` and makes it the one that all functions of this module run on.
 * In all else it is the `init` of `zeropoint`.
 *
 * @param options.wasm  a URL, a `Response` or a promise of one, bytes, a `WebAssembly.Module`, or a
 *   function from a file's name to one of these, for which the library chooses the build
 * @example await init({ wasm: (file) => `/wasm/${file}` });
 * @example await init({ wasm: fetch("/wasm/baseline.wasm") });
 */
export async function init(options: SlimInitOptions): Promise<InitResult> {
  checkHasWasm("init", options?.wasm);
  return await initFrom(undefined, options);
}

/**
 * Makes an instance that is independent of the default one and of all others, as the `create` of
 * `zeropoint` does.
 *
 * @param options.wasm  as in `init`
 * @param entries  further modules of the package, whose exports the instance has, too
 */
export async function create<const Entries extends readonly object[]>(
  options: SlimInitOptions,
  ...entries: Entries
): Promise<Instance<Entries>> {
  checkHasWasm("create", options?.wasm);
  return await createInstance(undefined, options, entries);
}
