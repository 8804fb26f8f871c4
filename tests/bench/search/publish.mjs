// The results of the search benchmark as tables: for the terminal, RESULTS.md and the README.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../scripts/process/run.mjs";
import { withSection, wrapped } from "../publish.mjs";
import { table } from "../report.mjs";

/** The command in the marks of the sections. */
const COMMAND = "npm run bench -- search --readme";

const PROVEN = "zeropoint int8, proven by float32 originals";
const READ = "reading the int8 codes once";
const PLAIN = "plain JavaScript, float32";

/** Ratios of two times, and their goals. */
const RATIOS = [
  ["int8, proven : reading its codes", PROVEN, READ, "≤ 1.5"],
  ["plain JavaScript : int8, proven", PLAIN, PROVEN, "≥ 15"],
  ["int4 : int8", "zeropoint int4", "zeropoint int8", "≤ 0.8"],
  ["binary prefilter : int8", "zeropoint binary prefilter, int8", "zeropoint int8", "≤ 0.5"],
  [
    "int8 one at a time : 16 a call",
    "zeropoint int8",
    "zeropoint int8, 16 queries a call",
    "≥ 1.8",
  ],
  ["adding : `quantize`", "adding all rows", "quantize", "≤ 3"],
  ["loading : reading its file", "loading a saved index", "reading a saved index", "≤ 1.5"],
];

/** The rows of the README. */
const IN_README = [
  [PLAIN, "plain JavaScript, float32"],
  [PROVEN, "**zeropoint**, int8, proven by float32 originals"],
  [
    "zeropoint binary prefilter, int8, float32 originals",
    "**zeropoint**, the same with a binary prefilter",
  ],
  ["sqlite-vec (native), int8", "sqlite-vec (native), int8"],
  ["usearch (native), HNSW, float32", "usearch (native), HNSW"],
];

const milliseconds = (time) => `${time < 10 ? time.toFixed(2) : time.toFixed(0)} ms`;
const seconds = (time) => (time === undefined ? "" : `${(time / 1000).toFixed(2)} s`);
const share = (recall) => (recall === undefined ? "" : recall.toFixed(3));
const find = (results, name) => results.find((result) => result.name === name);

/** The ratios of all engines, beside their goals. */
function ratioTable(engines) {
  const ratio = ({ results }, a, b) => {
    const [first, second] = [find(results, a), find(results, b)];
    return first && second ? (first.time / second.time).toFixed(2) : "";
  };
  return table(
    ["ratio", "goal", ...engines.map(({ engine }) => engine)],
    RATIOS.map(([title, a, b, goal]) => [title, goal, ...engines.map((each) => ratio(each, a, b))]),
  );
}

const timeTable = ({ results }) =>
  table(
    ["", "a query", "adding", "memory", "recall", "candidates: median, most", "removal"],
    results.map(({ name, time, build, bytes, recall, candidates, removal }) => [
      name.replace(/^zeropoint/, "**zeropoint**"),
      milliseconds(time),
      seconds(build),
      bytes === undefined ? "" : `${(bytes / 1e6).toFixed(1)} MB`,
      share(recall),
      candidates?.join(", ") ?? "",
      removal ?? "",
    ]),
  );

const about = ({ rows, dimensions, k }) => `${rows} × ${dimensions} clustered vectors, k = ${k}`;

/** All tables of a run. */
export function searchSection({ date, machine, load, engines }) {
  const text =
    `\`npm run bench -- search\` of ${date.slice(0, 10)} on ${machine.cpu}, ${machine.cores} cores, load ` +
    `${load.map((value) => value.toFixed(1)).join(" before and ")} after. ${about(engines[0])}, cosine ` +
    "(`tests/bench/search/vectors.mjs`), medians, one thread unless said; contestants ran in turn.";
  const parts = engines.flatMap((each) => [`${each.engine}:`, timeTable(each)]);
  return [wrapped(text), ratioTable(engines), ...parts].join("\n\n");
}

/** The README's rows, of the first engine. */
export function searchComparison({
  date,
  machine,
  load,
  engines: [{ engine, results, ...sizes }],
}) {
  const rows = IN_README.flatMap(([name, title]) => {
    const result = find(results, name);
    if (result === undefined) return [];
    const { time, build, recall } = result;
    return [[title, milliseconds(time), seconds(build), share(recall)]];
  });
  const text =
    `${about(sizes)}, cosine, ${engine}, ${machine.cpu}, one thread, ${date.slice(0, 10)}, load ${Math.max(...load).toFixed(1)}. [All ` +
    "tables](tests/bench/RESULTS.md); `npm run bench -- search` measures on your machine.";
  return [table(["", "a query", "building", "recall"], rows), "", wrapped(text, 120)].join("\n");
}

/** Writes the README's rows and RESULTS.md. */
export function publishSearch(run) {
  const rewrite = (path, section) => {
    const file = join(root, path);
    writeFileSync(file, withSection(readFileSync(file, "utf8"), section, COMMAND));
  };
  rewrite("README.md", searchComparison(run));
  rewrite("tests/bench/RESULTS.md", searchSection(run));
  console.log("Wrote README.md and tests/bench/RESULTS.md");
}
