// The public exports of zeropoint, nothing else.

import { embedded } from "./core/embedded.js";
import type { InitOptions } from "./core/init.js";
import { createInstance, type Instance } from "./instance.js";

export { init } from "./core/start.js";
export type { Bound, Instance, Zeropoint } from "./instance.js";
export * from "./library.js";

/**
 * Makes an instance of the library that is independent of the default one and of all others: the
 * same functions and classes, on a core of its own. Tensors pass freely between instances. A library that depends
 * on this package uses it, and leaves `init` to the application.
 *
 * @param options  options of `init`
 * @param entries  further modules of the package, whose exports the instance has, too
 * @throws {Error|RangeError|TypeError} as `init`, but never `ZP_ALREADY_INITIALIZED`
 * @example const { quantize, tensor } = await create({ build: "baseline" });
 * @example
 * // import * as torch from "zeropoint/torch";
 * const { Linear, Sequential, quantizeDynamic } = await create({ threads: 2 }, torch);
 */
export function create<const Entries extends readonly object[]>(
  options?: InitOptions,
  ...entries: Entries
): Promise<Instance<Entries>> {
  return createInstance(embedded, options, entries);
}
