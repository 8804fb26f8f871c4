// Telling which files carry a core.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A string of a script, however a minifier quotes it, that is longer than any but a core. An apostrophe
 * in a word begins none.
 */
const LONG_STRING = /(?<!\w)(["'`])(?:\\.|(?!\1)[^\\\n]){50000}/;

/** A core travels as one very long string in a script, or as it is. */
export const hasCore = (bytes) =>
  LONG_STRING.test(bytes.toString("latin1")) || bytes.subarray(0, 4).toString("latin1") === "\0asm";

/** All files below a folder. */
export const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

/** How many scripts below a folder carry a core. */
export const countCores = (folder) =>
  filesIn(folder).filter((file) => /\.m?js$/.test(file) && hasCore(readFileSync(file))).length;
