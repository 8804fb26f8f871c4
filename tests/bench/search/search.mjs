// npm run bench -- search: searches of vectors beside the machine's speed of reading, plain JavaScript and other
// programs from npm, in the newest Node.
//
//   npm run bench -- search [--rows 100000] [--dimensions 768] [--rounds 31] [--alone] [--no-build]
//
// Contestants are timed in turn, one query each, round after round; medians. --alone leaves other programs out.
// Writes build/bench/search.json and search.md.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { install as installWithoutScripts } from "../../../scripts/checks/check-engines.mjs";
import { Failure, root, run } from "../../../scripts/process/run.mjs";

function options(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        rows: { type: "string", default: "100000" },
        dimensions: { type: "string", default: "768" },
        rounds: { type: "string", default: "31" },
        alone: { type: "boolean", default: false },
        "no-build": { type: "boolean", default: false },
      },
    });
    const numbers = [values.rows, values.dimensions, values.rounds];
    if (numbers.some((text) => !(Number.isInteger(Number(text)) && Number(text) > 0))) {
      throw new Error("--rows, --dimensions and --rounds take numbers from 1 on");
    }
    return { numbers, isAlone: values.alone, isBuilt: values["no-build"] };
  } catch (error) {
    throw new Failure(error.message);
  }
}

const milliseconds = (time) => `${time < 10 ? time.toFixed(2) : time.toFixed(0)} ms`;

/** The table of a run, and its ratios. */
export function searchTable({ engine, rows, dimensions, k, results }) {
  const find = (name) => results.find((result) => result.name === name);
  const cells = ({ name, time, build, bytes, recall, candidates, removal }) => [
    name,
    milliseconds(time),
    build === undefined ? "" : `${(build / 1000).toFixed(2)} s`,
    bytes === undefined ? "" : `${(bytes / 1e6).toFixed(1)} MB`,
    recall === undefined ? "" : recall.toFixed(3),
    candidates === undefined ? "" : candidates.join(", "),
    removal ?? "",
  ];
  const own = "zeropoint int8";
  const ratio = (title, a, b) => {
    const [first, second] = [find(a), find(b)];
    if (first === undefined || second === undefined) return [];
    return [`| ${title} | ${(first.time / second.time).toFixed(2)} |`];
  };
  return [
    `${engine}: ${rows} × ${dimensions} clustered vectors, k = ${k}, cosine, one thread unless said otherwise`,
    "",
    "| | a query | build | memory | recall | candidates: median, most | removal |",
    "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ...results.map((result) => `| ${cells(result).join(" | ")} |`),
    "",
    "| ratio | |",
    "| --- | ---: |",
    ...ratio(
      "int8, proven : reading its codes",
      `${own}, proven by float32 originals`,
      "reading the int8 codes once",
    ),
    ...ratio(
      "plain JavaScript : int8, proven",
      "plain JavaScript, float32",
      `${own}, proven by float32 originals`,
    ),
    ...ratio("int4 : int8", "zeropoint int4", own),
    ...ratio("binary prefilter : int8", "zeropoint binary prefilter, int8", own),
    ...ratio("int8 one at a time : 16 a call", own, `${own}, 16 queries a call`),
    ...ratio("adding : quantize", "adding all rows", "quantize"),
    ...ratio("loading : reading its file", "loading a saved index", "reading a saved index"),
  ].join("\n");
}

/** Measures, prints and writes the table. */
export async function benchSearch(args, build, install) {
  const { numbers, isAlone, isBuilt } = options(args);
  if (!isBuilt) await build();
  const { buildLimits } = await import("../limits/build.mjs");
  await buildLimits();
  const folder = join(root, "build", "bench");
  mkdirSync(folder, { recursive: true });
  const programs = join(folder, "search-programs");
  if (!isAlone) {
    await install();
    // Its installation runs a script, which it does not need: it has binaries.
    await installWithoutScripts(["usearch@2.26.2", "hnswlib-wasm@0.8.2"], programs);
  }
  const newest = join(root, "tests", "bench", "node_modules", "node", "bin", "node");
  const program = !isAlone && existsSync(newest) ? newest : process.execPath;
  const file = join(folder, "search.json");
  const script = fileURLToPath(new URL("run.mjs", import.meta.url));
  const before = loadavg()[0];
  const more = isAlone ? ["without-others"] : [];
  await run(program, [script, ...numbers, file, ...more], {
    env: { NODE_NO_WARNINGS: "1", ZEROPOINT_PROGRAMS: programs },
  });
  const result = JSON.parse(readFileSync(file, "utf8"));
  const load = [before, loadavg()[0]].map((value) => value.toFixed(1)).join(" before, ");
  const text = `${searchTable(result)}\n\nLoad of the machine: ${load} after.`;
  writeFileSync(file.replace(/json$/, "md"), `${text}\n`);
  console.log(`\n${text}`);
}
