// Instances of the whole library.

import type { Build } from "./core/builds.js";
import { createFrom, type InstanceMembers } from "./core/create.js";
import type { Embedded } from "./core/embedded.js";
import type { InitOptions } from "./core/init.js";
import * as library from "./library.js";

/** An instance of the library, with a core and memory of its own. */
export interface Zeropoint extends Readonly<typeof library>, InstanceMembers {
  /** The build that it runs. */
  readonly build: Build;
  /** The threads that it runs on. */
  readonly threads: number;
}

/** `create`. @param embedded  the binaries in the package, for an entry that has them */
export function createInstance(
  embedded: Embedded | undefined,
  options: InitOptions | undefined,
): Promise<Zeropoint> {
  return createFrom(library, embedded, options);
}
