// The search benchmark in one Node: searches of zeropoint beside plain JavaScript, other programs and the machine's
// speed of reading.
//
//   node run.mjs <rows> <dimensions> <rounds> <file for the results> [without-others]

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limitFile } from "../limits/build.mjs";
import { limitKernels } from "../limits/limits.mjs";
import { summary } from "../measure.mjs";
import { clusteredVectors, normalized, plainSearch } from "./vectors.mjs";

const [, , ...args] = process.argv;
const [rows, dimensions, rounds] = args.map(Number);
const [resultFile, others] = args.slice(3);
const K = 10;
const QUERIES = 32;

const dist = new URL("../../../dist/", import.meta.url);
const { create } = await import(new URL("index.js", dist).href);
const search = await import(new URL("search.js", dist).href);
const { save } = await import(new URL("models/index.js", dist).href);

const { vectors, queries } = clusteredVectors({ rows, dimensions, queries: QUERIES });
const queryOf = (i) => queries.subarray(i * dimensions, (i + 1) * dimensions);
const unit = normalized(vectors, dimensions);
const unitQueries = normalized(queries, dimensions);
const unitOf = (i) => unitQueries.subarray(i * dimensions, (i + 1) * dimensions);

/** Milliseconds of a call. */
async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const truth = Array.from({ length: QUERIES }, (_, i) => plainSearch(unit, unitOf(i), K));
const recallOf = (found) =>
  found.reduce((sum, ids, i) => sum + ids.filter((id) => truth[i].includes(id)).length, 0) /
  (K * found.length);

const lines = [];
/** Contestants, which are timed in turn. */
const racers = [];
const addRacer = (name, run, about = {}) => racers.push({ name, run, about, samples: [] });

// The machine.
const module = await WebAssembly.compile(readFileSync(limitFile("baseline")));
const codesBytes = rows * dimensions;
const read = limitKernels(module, { bytes: codesBytes }).find(({ limit }) => limit === "read");
addRacer("reading the int8 codes once", () => read.run());

// Plain JavaScript: one query a round.
addRacer("plain JavaScript, float32", (i) => plainSearch(unit, unitOf(i), K), { recall: 1 });

const FORMS = [
  ["int8, proven by float32 originals", { dtype: "int8", originals: "float32" }],
  ["int8", { dtype: "int8" }],
  ["int4", { dtype: "int4" }],
  ["int4 in groups of 32", { dtype: "int4", groupSize: 32 }],
  ["binary prefilter, int8", { dtype: "int8", prefilter: "binary" }],
];
for (const threads of [1, 2]) {
  const zp = await create({ threads }, search);
  for (const [name, options] of FORMS) {
    if (threads > 1 && (options.prefilter ?? options.groupSize) !== undefined) continue;
    const index = new zp.VectorIndex({ dimensions, ...options });
    const own = `zeropoint ${name}${threads > 1 ? `, ${zp.threads} threads` : ""}`;
    const build = await timed(() => index.add(vectors));
    const results = Array.from({ length: QUERIES }, (_, i) => index.search(queryOf(i), { k: K }));
    const counts = results.map(({ candidates }) => candidates).sort((a, b) => a - b);
    const about = {
      build,
      bytes: index.sizeInBytes,
      removal: "yes",
      recall: recallOf(results.map(({ hits }) => hits.map(({ id }) => id))),
      proven: results.filter(({ proven }) => proven !== false).length / QUERIES,
      candidates: [counts[QUERIES >> 1], counts[QUERIES - 1]],
    };
    addRacer(own, (i) => index.search(queryOf(i), { k: K }), about);
    if (threads > 1 || name !== "int8") continue;
    const batch = { data: queries.subarray(0, 16 * dimensions), shape: [16, dimensions] };
    addRacer(`${own}, 16 queries a call`, () => index.search(batch, { k: K }), { queries: 16 });
    // Adding, beside quantize; loading, beside reading the file.
    const quantizing = [];
    const adding = [];
    const x = { data: vectors, shape: [rows, dimensions] };
    for (let round = 0; round < 3; round++) {
      quantizing.push(await timed(() => zp.quantize(x, { axis: 0 })));
      const other = new zp.VectorIndex({ dimensions });
      adding.push(await timed(() => other.add(vectors)));
      other.dispose();
    }
    const folder = mkdtempSync(join(tmpdir(), "zeropoint-bench-search-"));
    const file = join(folder, "index.safetensors");
    await writeFile(file, save(index));
    const reading = [];
    const loading = [];
    for (let round = 0; round < 5; round++) {
      reading.push(await timed(() => readFileSync(file)));
      let loaded;
      loading.push(await timed(async () => (loaded = await zp.load(file))));
      loaded.dispose();
    }
    const median = (samples) => summary(samples).median;
    lines.push(
      { name: "quantize", time: median(quantizing) },
      { name: "adding all rows", time: median(adding) },
      { name: "reading a saved index", time: median(reading), bytes: statSync(file).size },
      { name: "loading a saved index", time: median(loading) },
    );
    rmSync(folder, { recursive: true });
  }
}

if (others !== "without-others") {
  const { OTHERS } = await import("./others.mjs");
  for (const { name, removal, most = rows, build } of OTHERS) {
    const some = Math.min(rows, most);
    try {
      let built;
      const time = await timed(async () => {
        built = await build(unit.subarray(0, some * dimensions), dimensions);
      });
      const found = [];
      for (let i = 0; i < QUERIES; i++) found.push(await built.search(unitOf(i), K));
      const isWhole = some === rows;
      const about = { build: time, removal, ...(isWhole && { recall: recallOf(found) }) };
      const own = isWhole ? name : `${name}, ${some} rows only`;
      addRacer(own, (i) => built.search(unitOf(i), K), about);
    } catch (error) {
      console.log(`${name} does not run here: ${String(error).slice(0, 200)}`);
    }
  }
}

for (let round = 0; round < rounds; round++) {
  for (const racer of round % 2 === 0 ? racers : [...racers].reverse()) {
    racer.samples.push(await timed(() => racer.run(round % QUERIES)));
  }
}
const results = [
  ...racers.map(({ name, samples, about }) => {
    const { median, q1, q3 } = summary(samples);
    return { name, time: median / (about.queries ?? 1), q1, q3, ...about };
  }),
  ...lines,
];
const engine = `Node ${process.versions.node}`;
writeFileSync(resultFile, JSON.stringify({ engine, rows, dimensions, k: K, results }));
// Exit explicitly: an engine's idle threads keep the process alive.
process.exit(0);
