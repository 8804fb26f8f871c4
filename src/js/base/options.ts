// Objects of options.

import { wrongKind } from "./check.js";
import { editDistance } from "./edit-distance.js";
import { typeError, type ZeropointError } from "./errors.js";
import { NO_OPTIONS, type Options, OptionsRecord } from "./fields.js";
import { kindOf, show } from "./format-value.js";

/** Whether a value is an object literal, of this realm or another. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Checks for a plain object. Built-in objects (Promise, Map, AbortSignal) are refused: they have no own
 * keys, so the check of option names would accept them.
 * @throws {TypeError} `ZP_INVALID_OPTIONS`
 */
export function checkObject(where: string, argument: string, value: unknown): object {
  if (kindOf(value) === "Object") return value as object;
  throw wrongKind("ZP_INVALID_OPTIONS", where, argument, "an object", value);
}

/**
 * A copy of the object's own options, after a check that every name is known.
 * @param ignored  other names that may be present and are not read
 */
export function checkOptions(
  where: string,
  value: unknown,
  known: readonly string[],
  argument = "options",
  ignored: readonly string[] = [],
): Options {
  if (value === undefined) return NO_OPTIONS;
  const given = checkObject(where, argument, value) as Record<string, unknown>;
  const options = new OptionsRecord();
  for (const key of Object.keys(given)) {
    if (known.includes(key)) options[key] = given[key];
    else if (!ignored.includes(key)) throw unknownOption(where, argument, key, known);
  }
  return options;
}

function unknownOption(
  where: string,
  argument: string,
  key: string,
  known: readonly string[],
): ZeropointError {
  const near =
    /^a?symmetric$/.test(key) && known.includes("scheme")
      ? 'scheme: "symmetric" or "affine"'
      : nearest(key, known);
  const hint =
    near === undefined ? `it takes ${known.join(", ") || "none"}` : `did you mean ${near}?`;
  return typeError("ZP_UNKNOWN_OPTION", where, `${argument} has no ${show(key)}; ${hint}`);
}

/** The known key that a misspelled key most likely means: other case or hyphens, or up to two edits. */
export function nearest(key: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, "");
  let best: string | undefined;
  let bestDistance = 3;
  for (const candidate of known) {
    const distance = editDistance(plain(key).slice(0, 32), plain(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}
