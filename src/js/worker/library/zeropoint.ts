// The library as a connection runs it, with the entries that it may offer.

import { createFrom } from "../../core/create.js";
import type { Embedded } from "../../core/embedded.js";
import type { InitOptions } from "../../core/init.js";
import type * as instance from "../../instance.js";
import * as library from "../../library.js";
import { load } from "../../models/save/load.js";
import { save } from "../../models/save/save.js";
import type { Saveable } from "../../models/save/things.js";
import { measurePart } from "../../quantize/metrics.js";
import * as search from "../../search.js";
import * as torch from "../../torch.js";
import type { EntryName } from "../types.js";

/** The entries of the package by the names that `connect({ entries })` takes; `load` makes objects of all of them. */
const ENTRIES: { readonly [E in EntryName]: object } = { torch, search };

/** `save`, as the bytes of the whole file: not every engine sends streams between threads. */
const saveWhole = async (thing: Saveable): Promise<Uint8Array> =>
  new Uint8Array(await new Response(save(thing)).arrayBuffer());

const INTERNAL = { ...library, load, save: saveWhole, measurePart };

/** An instance of the library, with a function that computes part of another one's result. */
export type Zeropoint = instance.Instance<[typeof torch, typeof search]> &
  Pick<typeof INTERNAL, "measurePart">;

/** The names that a connection offers: those of the library, and of these entries. */
export const namesIn = (entries: readonly EntryName[]): ReadonlySet<string> =>
  new Set([library, { load, save }, ...entries.map((name) => ENTRIES[name])].flatMap(Object.keys));

/** As `create` of the library. */
export function createInstance(
  embedded: Embedded | undefined,
  options: InitOptions,
): Promise<Zeropoint> {
  const all = Object.assign({}, INTERNAL, ...Object.values(ENTRIES));
  return createFrom(all, embedded, options) as Promise<Zeropoint>;
}
