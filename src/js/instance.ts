// Instances of the library, with the entries of the package that they bind.

import type { Build } from "./core/builds.js";
import { checkEntries, createFrom, type InstanceMembers } from "./core/create.js";
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

/** Exports of entries that start a library; instances have none of them. */
type Starts = "init" | "create" | "connect";

/** The exports of several entries as one table; of two with one name, that of the later entry. */
export type Bound<Entries extends readonly object[]> = Entries extends readonly [
  infer First,
  ...infer Rest extends readonly object[],
]
  ? Readonly<Omit<First, Starts | keyof Bound<Rest>>> & Bound<Rest>
  : unknown;

/** An instance, with the exports of further entries: of `zeropoint/torch`, for example. */
export type Instance<Entries extends readonly object[] = []> = Zeropoint & Bound<Entries>;

/** `load`, as a chunk of its own. */
async function loadLater(source: FileSource, options?: LoadOptions): Promise<unknown> {
  const core = activeCore("load");
  const { loadOn } = await import("./models/save/load.js");
  return await loadOn(core, source, options);
}

/** `create`. @param embedded  the binaries in the package, for an entry that has them */
export async function createInstance<const Entries extends readonly object[]>(
  embedded: Embedded | undefined,
  options: InitOptions | undefined,
  entries: Entries,
): Promise<Instance<Entries>> {
  const tables = [{ ...library, load: loadLater as typeof load }, ...checkEntries(entries)];
  return (await createFrom(Object.assign({}, ...tables), embedded, options)) as Instance<Entries>;
}
