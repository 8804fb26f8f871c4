// The public exports, nothing else.

import { embedded } from "./core/embedded.js";
import type { InitOptions } from "./core/init.js";
import { createInstance, type Zeropoint } from "./instance.js";

export { init } from "./core/start.js";
export type { Zeropoint } from "./instance.js";
export * from "./library.js";

/**
 * Makes an instance of the library that is independent of the default one and of all others: the
 * same functions and classes, on a core of its own. Tensors pass freely between instances.
 *
 * @param options  options of `init`
 * @throws {Error|RangeError|TypeError} as `init`, but never `ZP_ALREADY_INITIALIZED`
 * @example const { quantize, tensor } = await create({ build: "baseline" });
 */
export function create(options?: InitOptions): Promise<Zeropoint> {
  return createInstance(embedded, options);
}
