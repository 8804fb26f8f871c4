// The binaries in the package, each as text in a separate module, so that bundlers make it a chunk.

import type { BinaryName } from "./builds.js";

/** A binary as scripts/build/text.mjs writes it: its most frequent bytes in hexadecimal, and its characters. */
type Text = readonly [frequent: string, characters: string];

/** Loads the bytes of a build. */
export type Embedded = { readonly [name in BinaryName]: () => Promise<Uint8Array> };

/** Characters from the space to "~" that texts do not use. */
const UNUSED = '"\\<';

/** The number of used characters, and the number of them that begin a pair. */
const [CHARACTERS, PAIRS] = [92, 2];

/** The bytes of a text: a character of its most frequent ones, or a pair for each of the others. */
export function toBytes([frequent, characters]: Text): Uint8Array {
  const singles = (frequent.match(/../g) ?? []).map((digits) => Number.parseInt(digits, 16));
  const others = Array.from({ length: 256 }, (_, byte) => byte).filter(
    (byte) => !singles.includes(byte),
  );
  const places: number[] = [];
  for (let code = 32, place = 0; code < 127; code++) {
    if (!UNUSED.includes(String.fromCharCode(code))) places[code] = place++;
  }
  const bytes = new Uint8Array(characters.length);
  let length = 0;
  for (let at = 0; at < characters.length; at++) {
    const place = places[characters.charCodeAt(at)];
    bytes[length++] =
      place < PAIRS
        ? others[place * CHARACTERS + places[characters.charCodeAt(++at)]]
        : singles[place - PAIRS];
  }
  return bytes.subarray(0, length);
}

const read = ({ default: text }: { default: Text }) => toBytes(text);

/** Loads only the module of the chosen build. */
export const embedded: Embedded = {
  baseline: () => import("../wasm/baseline.js").then(read),
  relaxed: () => import("../wasm/relaxed.js").then(read),
  "baseline-threads": () => import("../wasm/baseline-threads.js").then(read),
  "relaxed-threads": () => import("../wasm/relaxed-threads.js").then(read),
};
