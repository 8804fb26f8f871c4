// Finds files that contain a core.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The frequent bytes of a core's text, in hexadecimal (scripts/build/text.mjs). No other part of a script has a run of
 * hexadecimal digits this long.
 */
const FREQUENT = /["'`]00[0-9a-f]{178}["'`]/;

/** Whether a file contains a core: as text in a script, or as a binary. */
export const hasCore = (bytes) =>
  FREQUENT.test(bytes.toString("latin1")) || bytes.subarray(0, 4).toString("latin1") === "\0asm";

/** All files below a folder. */
export const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

/** The number of scripts below a folder that contain a core. */
export const countCores = (folder) =>
  filesIn(folder).filter((file) => /\.m?js$/.test(file) && hasCore(readFileSync(file))).length;
