// Adds rows to an index, searches it and saves it, and prints what that took in bytes.
//
//   node --expose-gc large-index.mjs <rows> <dimensions> <none|numbers|strings>

import { init } from "zeropoint";
import { save } from "zeropoint/models";
import { VectorIndex } from "zeropoint/search";

const [rows, dimensions] = process.argv.slice(2, 4).map(Number);
const kind = process.argv[4];
const BATCH = 10_000;

await init();
/** Memory after collecting garbage: of objects and arrays, and of the process. */
const measure = () => {
  globalThis.gc();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: heapUsed + arrayBuffers, rss };
};
let peak = 0;
const watch = () => {
  peak = Math.max(peak, process.memoryUsage.rss());
};

// The texts are the caller's, and are there before.
const nameOf = (/** @type {number} */ i) => (kind === "strings" ? `document ${i}` : 3 * i + 1);
const names = kind === "none" ? undefined : Array.from({ length: rows }, (_, i) => nameOf(i));
// Makes each text one piece: reading a character of a concatenation copies it.
for (const name of names ?? []) if (typeof name === "string") name.charCodeAt(0);
const values = new Float32Array(BATCH * dimensions);
const fill = (/** @type {number} */ first) => {
  // Xorshift, another sequence for each batch.
  let state = Math.imul(first + 1, 0x9e3779b1);
  for (let i = 0; i < values.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[i] = state / 2 ** 31;
  }
};
fill(0);
const start = measure();
const index = new VectorIndex({ dimensions });
for (let first = 0; first < rows; first += BATCH) {
  fill(first);
  index.add(values, names?.slice(first, first + BATCH));
  watch();
}
const query = values.slice((BATCH - 1) * dimensions);
const [hit] = index.search(query).hits;
watch();
const end = measure();
let fileBytes = 0;
for await (const chunk of save(index)) {
  fileBytes += chunk.length;
  watch();
}
const found = kind === "none" ? hit.id : names.indexOf(hit.id);
console.log(
  JSON.stringify({
    index: index.sizeInBytes,
    heap: end.heap - start.heap,
    process: end.rss - start.rss,
    peak: peak - start.rss,
    fileBytes,
    found,
  }),
);
