// The builds that the package brings along, each with its binary as text in a chunk of its own.

import type { Chunks } from "./build.js";
import { openReader } from "./text.js";

/** Only the chunk of the build that is chosen is ever loaded. */
export const embedded: Chunks = {
  baseline: () => import("./chunks/baseline.js"),
  relaxed: () => import("./chunks/relaxed.js"),
  "baseline-threads": () => import("./chunks/baseline-threads.js"),
  "relaxed-threads": () => import("./chunks/relaxed-threads.js"),
  openReader,
};
