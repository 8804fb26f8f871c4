// The library as a connection runs it, with the entries that it may offer.

import { typeError } from "../../base/errors.js";
import { createFrom } from "../../core/create.js";
import type { Embedded } from "../../core/embedded.js";
import type { InitOptions } from "../../core/init.js";
import type * as instance from "../../instance.js";
import * as library from "../../library.js";
import { load } from "../../models/save/load.js";
import { save } from "../../models/save/save.js";
import type { Saveable } from "../../models/save/saveable.js";
import * as search from "../../search.js";
import * as torch from "../../torch.js";
import type { EntryName } from "../types.js";

/** The entries of the package that are always there: `load` makes objects of all of them. */
const ENTRIES = { torch, search };

/** An entry of the package in a chunk of its own: its exports, and those of their names that a connection offers. */
export interface FurtherEntry {
  readonly exports: object;
  readonly names: readonly string[];
}

/** Entries in chunks of their own, by the names that `connect({ entries })` takes. */
export type FurtherEntries = {
  readonly [E in Exclude<EntryName, keyof typeof ENTRIES>]?: FurtherEntry;
};

/** `save`, as the bytes of the whole file: not every engine sends streams between threads. */
const saveWhole = async (thing: Saveable): Promise<Uint8Array> =>
  new Uint8Array(await new Response(save(thing)).arrayBuffer());

const INTERNAL = { ...library, load, save: saveWhole };

/** An instance of the library. */
export type Zeropoint = instance.Instance<[typeof torch, typeof search]>;

/** The names that a connection offers: those of the library, and of these entries. */
export const namesIn = (
  entries: readonly EntryName[],
  further: FurtherEntries,
): ReadonlySet<string> => {
  if (entries.includes("models") && further.models === undefined) {
    const problem = 'options.worker must be zeropoint/models-worker.js for the entry "models"';
    throw typeError("ZP_INVALID_OPTION", "connect", problem);
  }
  const names = {
    torch: Object.keys(torch),
    search: Object.keys(search),
    models: further.models?.names ?? [],
  };
  return new Set([
    ...[library, { load, save }].flatMap(Object.keys),
    ...entries.flatMap((entry) => names[entry]),
  ]);
};

/** As `create` of the library. @param further  the entries that are not always there */
export function createInstance(
  embedded: Embedded | undefined,
  options: InitOptions,
  further: FurtherEntries,
): Promise<Zeropoint> {
  const others = Object.values(further).map(({ exports }) => exports);
  const all = Object.assign({}, ...others, INTERNAL, ...Object.values(ENTRIES));
  return createFrom(all, embedded, options) as Promise<Zeropoint>;
}
