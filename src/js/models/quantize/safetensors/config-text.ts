// config.json, read and written again: numbers keep their text (1e-05, 10000.0), which JSON.parse would change.

import { asciiJson, JsonReader } from "../../../formats/json.js";
import { compareText } from "../../../formats/source.js";

/** A number as it is written. */
class NumberText {
  constructor(readonly text: string) {}
}

/** A value of JSON with its numbers as text; objects are maps, which keep the order of integer names. */
export type Value = Map<string, Value> | Value[] | NumberText | string | boolean | null;

/** Deepest nesting that is read. */
const DEEPEST = 64;

/**
 * Reads config.json.
 * @throws {RangeError} `ZP_INVALID_FILE` if it is no object
 */
export function readConfig(bytes: Uint8Array): Map<string, Value> {
  const json = new JsonReader("config.json", bytes, 0, true);
  const read = (depth: number): Value => {
    if (depth > DEEPEST) throw json.fail(`at most ${DEEPEST} levels`);
    const start = json.peek();
    if (start === "{") {
      const object = new Map<string, Value>();
      json.object((key) => object.set(key, read(depth + 1)));
      return object;
    }
    if (start === "[") {
      const list: Value[] = [];
      json.array(() => list.push(read(depth + 1)));
      return list;
    }
    if (start === '"') return json.string();
    return json.isNumber ? new NumberText(json.numberText()) : json.literal();
  };
  if (json.peek() !== "{") throw json.fail("an object");
  const config = read(0) as Map<string, Value>;
  json.end();
  return config;
}

/** Fields that describe a quantization. */
const QUANTIZATIONS = ["quantization_config", "compression_config", "quantization"];

/** Removes what a configuration says of quantization, for the model and for parts of it. */
export function removeQuantization(config: Map<string, Value>, depth = 0): void {
  for (const key of QUANTIZATIONS) config.delete(key);
  for (const part of depth < 2 ? config.values() : []) {
    if (part instanceof Map) removeQuantization(part, depth + 1);
  }
}

/** Adds fields of plain JSON. */
export function addToConfig(
  config: Map<string, Value>,
  fields: Readonly<Record<string, unknown>>,
): void {
  for (const [key, value] of Object.entries(fields)) config.set(key, toValue(value));
}

function toValue(value: unknown): Value {
  if (typeof value === "number") return new NumberText(String(value));
  if (typeof value !== "object" || value === null) return value as string | boolean | null;
  if (Array.isArray(value)) return value.map(toValue);
  return new Map(Object.entries(value).map(([key, each]) => [key, toValue(each)]));
}

/**
 * The text, as Python's `json.dumps` writes it.
 * @param sorted  names that are sorted: of all objects, or of the outermost one
 */
export function configText(
  config: Map<string, Value>,
  indent: number,
  sorted: "all" | "top",
): string {
  const write = (value: Value, depth: number): string => {
    const space = " ".repeat(indent * depth);
    const list = (open: string, items: string[], close: string): string =>
      items.length === 0
        ? `${open}${close}`
        : `${open}\n${items.map((item) => `${space}${" ".repeat(indent)}${item}`).join(",\n")}\n${space}${close}`;
    if (value instanceof NumberText) return value.text;
    if (Array.isArray(value))
      return list(
        "[",
        value.map((each) => write(each, depth + 1)),
        "]",
      );
    if (!(value instanceof Map)) return asciiJson(value, 0);
    const entries = [...value];
    if (sorted === "all" || depth === 0) entries.sort(([a], [b]) => compareText(a, b));
    const items = entries.map(([key, each]) => `${asciiJson(key, 0)}: ${write(each, depth + 1)}`);
    return list("{", items, "}");
  };
  return write(config, 0);
}
