// The playground's state as a link: settings as text, small data deflated into it. A link holds data and
// settings, never code.

import { deflatedText, inflatedBytes } from "../shell/deflated.js";
import {
  readGenerated,
  readSettings,
  type Settings,
  type Source,
  settingsUnread,
  writeGenerated,
  writeSettings,
} from "./state.js";

/** other: A, to compare with. */
type State = { settings: Settings; other?: Settings | undefined; source: Source };

const LONGEST = 6000; // characters of data in a link
const LARGEST = 4 * 1_000_000; // bytes that a link may inflate to

/** @returns isComplete: whether the data is in it */
export async function writeLink({
  settings,
  other,
  source,
}: State): Promise<{ hash: string; isComplete: boolean }> {
  const given = new URLSearchParams({ v: "1" });
  const generated = writeGenerated(source);
  let isComplete = true;
  if (generated !== undefined) given.set("x", generated);
  else if (source.kind === "given") {
    const data = await deflated(source.values);
    isComplete = data !== undefined;
    if (data !== undefined) given.set("d", `${source.shape.join("x")}.${data}`);
  }
  if (other) given.set("a", writeSettings(other));
  return { hash: `#play?${given}&${writeSettings(settings)}`, isComplete };
}

/**
 * @returns unread: its settings that do not apply, such as "b=99"
 * @throws {Error} if its data cannot be read
 */
export async function readLink(hash: string): Promise<State & { unread: string[] }> {
  const query = hash.split("?").slice(1).join("?");
  const given = new URLSearchParams(query);
  const other = given.get("a");
  const generated = readGenerated(given.get("x"));
  const unread = settingsUnread(query, ["v", "x", "d", "a"]);
  if (given.has("x") && writeGenerated(generated) !== given.get("x")) {
    unread.push(`x=${given.get("x")}`);
  }
  if (other !== null) unread.push(...settingsUnread(other, []));
  return {
    settings: readSettings(query),
    other: other === null ? undefined : readSettings(other),
    source: given.has("d") ? await readData(given.get("d") ?? "") : generated,
    unread,
  };
}

async function deflated(values: Float32Array) {
  if (values.length > LONGEST) return undefined;
  // Sorts the bytes of floats by their position, so that equal exponents are adjacent and compress well.
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const planes = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) planes[(i % 4) * values.length + (i >> 2)] = bytes[i];
  const text = await deflatedText(planes);
  return text.length <= LONGEST ? text : undefined;
}

async function readData(text: string): Promise<Source> {
  const [shapeText, data = ""] = text.split(".");
  const shape = shapeText.split("x").map(Number);
  const size = shape.reduce((product, length) => product * length, 1);
  const isShape =
    shape.length <= 8 && shape.every((length) => Number.isInteger(length) && length > 0);
  if (!isShape || 4 * size > LARGEST) throw new RangeError("the link's shape is not one");
  const planes = await inflatedBytes(data, 4 * size);
  if (planes.length !== 4 * size) throw new RangeError("the link's data is cut off");
  const bytes = new Uint8Array(planes.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = planes[(i % 4) * size + (i >> 2)];
  const values = new Float32Array(bytes.buffer);
  if (!values.every(Number.isFinite)) throw new RangeError("the link's data is not finite");
  return { kind: "given", name: "from a link", shape, values };
}
