// Telling which files carry a core.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The words of a build's text (scripts/wasm-text.mjs): hexadecimal digits, and letters up to "p", with
 * spaces between them. Nothing else in a script has so many of these in a row.
 */
const WORDS = /[0-9a-p ]{1000}/;

/** A core travels as text in a script, or as it is. */
export const hasCore = (bytes) =>
  WORDS.test(bytes.toString("latin1")) || bytes.subarray(0, 4).toString("latin1") === "\0asm";

/** All files below a folder. */
export const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

/** How many scripts below a folder carry a core. */
export const countCores = (folder) =>
  filesIn(folder).filter((file) => /\.m?js$/.test(file) && hasCore(readFileSync(file))).length;
