// The search benchmark in one Node.
//
//   node run.mjs <rows> <dimensions> <rounds> <file for the results> [without-others]

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limitFile } from "../limits/build.mjs";
import { measureSearch } from "./suite.mjs";

const [, , ...args] = process.argv;
const [rows, dimensions, rounds] = args.map(Number);
const [resultFile, others] = args.slice(3);

const dist = new URL("../../../dist/", import.meta.url);
const { create } = await import(new URL("index.js", dist).href);
const search = await import(new URL("search.js", dist).href);
const { save } = await import(new URL("models/index.js", dist).href);

/** Saves an index in a folder of its own. */
async function store(index) {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-bench-search-"));
  const source = join(folder, "index.safetensors");
  await writeFile(source, save(index));
  return {
    source,
    bytes: statSync(source).size,
    read: () => readFileSync(source),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

const measured = await measureSearch(
  {
    create,
    search,
    limits: await WebAssembly.compile(readFileSync(limitFile("baseline"))),
    store,
    others: others === "without-others" ? [] : (await import("./others-in-node.mjs")).contestants(),
  },
  { rows, dimensions, rounds },
);
writeFileSync(resultFile, JSON.stringify({ engine: `Node ${process.versions.node}`, ...measured }));
// Exit explicitly: an engine's idle threads keep the process alive.
process.exit(0);
