// Instances of the whole library.

import type { Build } from "./core/builds.js";
import { createFrom, type InstanceMembers } from "./core/create.js";
import type { Embedded } from "./core/embedded.js";
import { activeCore, type InitOptions } from "./core/init.js";
import * as library from "./library.js";
import type { FileSource } from "./models/open/sources.js";
import type { LoadOptions, load } from "./models/save/load.js";

/** An instance of the library, with a core and memory of its own. */
export interface Zeropoint extends Readonly<typeof library>, InstanceMembers {
  /** The build that it runs. */
  readonly build: Build;
  /** The threads that it runs on. */
  readonly threads: number;
  /** `load` of `zeropoint/models`: what it restores runs on this instance. Loads that code when it is called. */
  readonly load: typeof load;
}

/** `load`, as a chunk of its own. */
async function loadLater(source: FileSource, options?: LoadOptions): Promise<unknown> {
  const core = activeCore("load");
  const { loadOn } = await import("./models/save/load.js");
  return await loadOn(core, source, options);
}

/** `create`. @param embedded  the binaries in the package, for an entry that has them */
export function createInstance(
  embedded: Embedded | undefined,
  options: InitOptions | undefined,
): Promise<Zeropoint> {
  return createFrom({ ...library, load: loadLater as typeof load }, embedded, options);
}
