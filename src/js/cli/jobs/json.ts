// JSON of files, which may hold any value.

import { EXIT, Failure } from "../failures.js";

/** Types of fields, as typeof names them. */
type Fields = Readonly<Record<string, "string" | "number">>;

/** Whether a value is an object, no array, with these fields of its own. */
export function hasFields(
  value: unknown,
  fields: Fields,
): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(fields).every(
    ([name, type]) =>
      Object.hasOwn(value, name) && typeof (value as Record<string, unknown>)[name] === type,
  );
}

/** @throws {Failure} if a text is not JSON */
export function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(EXIT.input, `${name}: it is not JSON: ${(error as Error).message}`);
  }
}
