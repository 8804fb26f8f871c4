// What is no tensor of a model file: metadata, config.json beside it, and the graph of ONNX.

import type { GGUFEntry } from "../../formats/gguf/types.js";
import { ggufEntry } from "../../formats/gguf/write.js";
import { readJson, writeJson } from "../../formats/json.js";
import { readChunks } from "../../formats/source.js";
import type { ModelDocument, SafetensorsDocument } from "../open/document.js";
import { documentOf, type Model } from "../open/model.js";
import { compareBytes } from "./bytes.js";
import { type Difference, restDifference } from "./difference.js";

const NOTHING = "nothing";

/** Keys of GGUF that say nothing of values: the place of one file among several, and a path of another machine. */
const UNCOMPARED = ["split.no", "split.count", "split.tensors.count", "quantize.imatrix.file"];

/** Compares the keys of GGUF files. */
export function differencesOfKeys(
  expected: ReadonlyMap<string, GGUFEntry>,
  found: ReadonlyMap<string, GGUFEntry>,
): Difference[] {
  const keys = new Set([...expected.keys(), ...found.keys()]);
  for (const key of UNCOMPARED) keys.delete(key);
  return [...keys].flatMap((key) => {
    const [a, b] = [expected.get(key), found.get(key)];
    if (a !== undefined && b !== undefined && isSameEntry(a, b)) return [];
    return restDifference(`metadata ${key}`, entryText(a), entryText(b));
  });
}

const isSameEntry = (a: GGUFEntry, b: GGUFEntry): boolean =>
  a.type === b.type &&
  a.bytes.length === b.bytes.length &&
  a.bytes.every((byte, i) => byte === b.bytes[i]);

/** The beginning of a value. */
function entryText(entry: GGUFEntry | undefined): string {
  if (entry === undefined) return NOTHING;
  const { value } = entry;
  if (typeof value !== "object") return short(String(value));
  return `${value.length} values, ${short(Array.prototype.slice.call(value, 0, 8).join(", "))}`;
}

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** Compares what is no tensor. @param derived  the file made again */
export async function restOf(derived: Model, quantized: Model): Promise<Difference[]> {
  const expected = documentOf("verify", "source", derived);
  const found = documentOf("verify", "quantized", quantized);
  if (expected.format === "safetensors" && found.format === "safetensors") {
    return [
      ...differencesOfShards(expected, found),
      ...(await differencesOfConfig(expected, found)),
    ];
  }
  if (expected.format === "gguf" && found.format === "gguf") {
    const keys = new Map(expected.gguf.metadata);
    // The name is that of the source's file.
    const name = found.gguf.metadata.get("general.name");
    keys.set("general.name", name ?? ggufEntry("string", ""));
    return differencesOfKeys(keys, found.gguf.metadata);
  }
  return found.format === "onnx" ? await differencesOfGraph(expected, found) : [];
}

/** Compares `__metadata__`: shard by shard if both have the same ones, else that of all of them. */
function differencesOfShards(
  { shards: expected }: SafetensorsDocument,
  { shards: found }: SafetensorsDocument,
): Difference[] {
  const isSame =
    expected.length === found.length &&
    (found.length === 1 || expected.every(({ file }, i) => file === found[i].file));
  const all = (shards: SafetensorsDocument["shards"]): ReadonlyMap<string, string> =>
    new Map(shards.flatMap(({ metadata }) => [...metadata]));
  const pairs = isSame
    ? expected.map(({ metadata }, i) => [metadata, found[i].metadata] as const)
    : [[all(expected), all(found)] as const];
  return pairs.flatMap(([a, b]) =>
    [...new Set([...a.keys(), ...b.keys()])]
      .filter((key) => a.get(key) !== b.get(key))
      .map((key) =>
        restDifference(
          `metadata ${key}`,
          short(a.get(key) ?? NOTHING),
          short(b.get(key) ?? NOTHING),
        ),
      ),
  );
}

/** Compares config.json, where the writer makes one and the file has one beside it. */
async function differencesOfConfig(
  expected: ModelDocument,
  found: ModelDocument,
): Promise<Difference[]> {
  const [a, b] = await Promise.all([expected, found].map(configOf));
  if (a === undefined) return [];
  // Without a folder there is none; a file by a path lacks its configuration.
  if (b === undefined) {
    return found.fileName === undefined ? [] : [restDifference("config.json", "a file", NOTHING)];
  }
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => {
    const [x, y] = [textOf(a[key]), textOf(b[key])];
    return x === y ? [] : restDifference(`config.json ${key}`, short(x), short(y));
  });
}

async function configOf({
  readBeside,
}: ModelDocument): Promise<Record<string, unknown> | undefined> {
  const bytes = await readBeside("config.json");
  return bytes && (Object(readJson("verify: config.json", bytes)) as Record<string, unknown>);
}

/** A value as text, with the names of objects in order. */
function textOf(value: unknown): string {
  if (value === undefined) return NOTHING;
  const sorted = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(sorted);
    if (typeof each === "number" && !Number.isFinite(each)) return String(each);
    if (typeof each !== "object" || each === null) return each;
    const fields = Object.entries(each).map(([name, field]) => [name, sorted(field)] as const);
    return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return writeJson(sorted(value));
}

/** Compares the bytes of ONNX files that hold no tensor: nodes, names, metadata. */
async function differencesOfGraph(
  expected: ModelDocument,
  found: ModelDocument,
): Promise<Difference[]> {
  const difference = await compareBytes(graphOf(expected), graphOf(found), 1, undefined, () => {});
  if (difference === undefined) return [];
  const { bytes, expected: a, found: b } = difference;
  const count = bytes === 1 ? "1 byte differs" : `${bytes} bytes differ`;
  return [
    {
      ...restDifference("graph", a || NOTHING, b || NOTHING),
      byte: difference.byte,
      bytes,
      found: `${b || NOTHING} (${count})`,
    },
  ];
}

/** The bytes of the main file between its tensors. */
async function* graphOf({ source, files }: ModelDocument): AsyncGenerator<Uint8Array> {
  const spans = [...files.values()]
    .flatMap(({ span, byteLength }) => {
      return span !== undefined && span.source === source
        ? [{ begin: span.offset, end: span.offset + byteLength }]
        : [];
    })
    .sort((a, b) => a.begin - b.begin);
  let at = 0;
  for (const { begin, end } of [...spans, { begin: source.size, end: source.size }]) {
    yield* readChunks("verify", source, at, Math.max(at, begin));
    at = Math.max(at, end);
  }
}
