// The library as a connection runs it.

import { createFrom } from "../../core/create.js";
import type { Embedded } from "../../core/embedded.js";
import type { InitOptions } from "../../core/init.js";
import type * as instance from "../../instance.js";
import * as library from "../../library.js";
import { load } from "../../models/save/load.js";
import { measurePart } from "../../quantize/metrics.js";

const INTERNAL = { ...library, load, measurePart };

/** An instance of the library, with a function that computes part of another one's result. */
export type Zeropoint = instance.Zeropoint & Pick<typeof INTERNAL, "measurePart">;

/** As `create` of the library. */
export function createInstance(
  embedded: Embedded | undefined,
  options: InitOptions,
): Promise<Zeropoint> {
  return createFrom(INTERNAL, embedded, options) as Promise<Zeropoint>;
}
