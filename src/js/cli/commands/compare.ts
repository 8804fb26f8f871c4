// zeropoint compare: two models tensor by tensor, across formats.

import { compare } from "../../models/compare/compare.js";
import type { CompareRow } from "../../models/compare/row.js";
import { readArguments } from "../arguments.js";
import { EXIT, Failure, usage } from "../failures.js";
import { nameFilter, openInput, startCore } from "../input.js";
import { Progress } from "../output/progress.js";
import { checkOutput, type Fact, formOf, section, writeReport } from "../output/report.js";
import type { Column } from "../output/table.js";
import { parseDecibels, showNumber } from "../units.js";

/** Runs the command. @returns the exit code */
export async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const args = readArguments("compare", argv);
  const [first, second] = args.operands;
  if (first === "-" && second === "-") throw usage("A and B cannot both be standard input");
  await checkOutput(args);
  const isWithin = toleranceOf(args.text("tolerance"));
  const isWanted = nameFilter(args);
  await startCore(args);
  const a = await openInput(first, signal, args);
  try {
    const b = await openInput(second, signal, args);
    try {
      const progress = new Progress("comparing", args.has("quiet"));
      const rows: CompareRow[] = [];
      const options = { signal, onProgress: progress.update };
      for await (const row of compare(a, b, options)) if (isWanted(row.name)) rows.push(row);
      progress.clear();
      const missing = rows.filter((row) => row.from === undefined || row.to === undefined);
      const beyond = rows.filter(
        (row) => isWithin !== undefined && !missing.includes(row) && !isWithin(row),
      );
      const others = rows.filter((row) => !wasCompared(row) && !missing.includes(row));
      // Beyond every tolerance anyway.
      const uncomparedText = isWithin === undefined ? uncomparedTextOf(others) : undefined;
      const missingText = args.has("allow-missing") ? undefined : missingTextOf(missing);
      const title = `${second} compared with ${first}`;
      const beyondText = beyondTextOf(beyond, args.text("tolerance"));
      const facts = factsOf(first, second, rows, { beyondText, uncomparedText, missingText });
      const namesOf = (list: readonly CompareRow[]): string[] => list.map(({ name }) => name);
      const names = { beyond: namesOf(beyond), missing: namesOf(missing) };
      const data = { a: first, b: second, ...names, rows };
      const sections = [section(COLUMNS, rows)];
      await writeReport(args, { title, facts, sections, data }, signal);
      const isEmpty = !rows.some(wasCompared);
      const problems = [beyond.length > 0 ? beyondText : undefined, uncomparedText, missingText];
      const why = problems.filter((text) => text !== undefined).join("; ");
      if (!isEmpty && why === "") return EXIT.ok;
      const isShown = formOf(args) === "table" && args.text("output") === undefined;
      if (isShown) return EXIT.different;
      throw new Failure(EXIT.different, `${title}: ${isEmpty ? NOTHING : why}`);
    } finally {
      await b.close();
    }
  } finally {
    await a.close();
  }
}

/** Whether a row is within --tolerance: a largest difference, or a least SQNR in dB. */
function toleranceOf(text: string | undefined): ((row: CompareRow) => boolean) | undefined {
  if (text === undefined) return undefined;
  const limit = parseDecibels(text);
  if (limit === undefined || (limit < 0 && !/db$/i.test(text))) {
    throw usage(
      `--tolerance takes a largest difference (0.01) or a least SQNR (30dB), got ${JSON.stringify(text)}`,
    );
  }
  // A tensor that was not compared has NaN, which is beyond every limit.
  if (/db$/i.test(text)) return ({ sqnr, equal }) => equal || sqnr >= limit;
  return ({ max, equal }) => equal || max <= limit;
}

const wasCompared = ({ reason }: CompareRow): boolean => reason === undefined;

const NOTHING = "nothing to compare: no tensor of a has its name and shape in b";

/** How many tensors these are, and the names of some with the reasons. */
function someOf(rows: readonly CompareRow[], what: string): string {
  const some = rows.slice(0, 3).map(({ name, reason }) => `${name} (${reason})`);
  const count = rows.length === 1 ? "1 tensor" : `${rows.length} tensors`;
  return `${count} ${what}: ${some.join(", ")}${rows.length > 3 ? " …" : ""}`;
}

/** The tensors that one model lacks; undefined if there is none. */
const missingTextOf = (missing: readonly CompareRow[]): string | undefined =>
  missing.length === 0
    ? undefined
    : `${someOf(missing, "of one model alone")}; --allow-missing lets them pass`;

/** The tensors of both models that were not compared; undefined if there is none. */
const uncomparedTextOf = (rows: readonly CompareRow[]): string | undefined =>
  rows.length === 0 ? undefined : someOf(rows, "not compared");

/** The tensors beyond the tolerance: how many, and the names of some. */
function beyondTextOf(
  beyond: readonly CompareRow[],
  tolerance: string | undefined,
): string | undefined {
  if (tolerance === undefined) return undefined;
  const names = beyond.slice(0, 3).map(({ name }) => name);
  const some = names.length === 0 ? "" : `: ${names.join(", ")}${beyond.length > 3 ? " …" : ""}`;
  const count = beyond.length === 1 ? "1 tensor" : `${beyond.length} tensors`;
  return `${count} beyond ${tolerance}${some}`;
}

function factsOf(
  first: string,
  second: string,
  rows: readonly CompareRow[],
  { beyondText, uncomparedText, missingText }: Readonly<Record<string, string | undefined>>,
): Fact[] {
  const equal = rows.filter((row) => row.equal).length;
  const compared = rows.filter(wasCompared).length;
  const max = rows.reduce((most, row) => (row.max > most ? row.max : most), 0);
  const sqnr = rows.reduce(
    (least, row) => Math.min(least, Number.isNaN(row.sqnr) ? least : row.sqnr),
    Number.POSITIVE_INFINITY,
  );
  return [
    ["a", first],
    ["b", second],
    [
      "tensors",
      `${rows.length}: ${equal} equal, ${compared - equal} different, ${rows.length - compared} not comparable`,
    ],
    ["largest", compared > 0 ? `${showNumber(max)}; least SQNR ${showNumber(sqnr)} dB` : NOTHING],
    ...(beyondText === undefined ? [] : [["beyond", beyondText] as const]),
    ...(uncomparedText === undefined ? [] : [["compared", uncomparedText] as const]),
    ...(missingText === undefined ? [] : [["missing", missingText] as const]),
  ];
}

const COLUMNS: readonly Column<CompareRow>[] = [
  { title: "name", isText: true, value: ({ name }) => name },
  { title: "a", isText: true, value: ({ from }) => from ?? "" },
  { title: "b", isText: true, value: ({ to }) => to ?? "" },
  {
    title: "largest",
    key: "max",
    value: ({ max }) => max,
    show: ({ max, reason }) => (reason === undefined ? showNumber(max) : ""),
  },
  {
    title: "SQNR dB",
    key: "sqnr",
    value: ({ sqnr }) => sqnr,
    show: ({ sqnr, reason }) =>
      reason !== undefined ? "" : Number.isFinite(sqnr) ? sqnr.toFixed(1) : showNumber(sqnr),
  },
  {
    title: "cosine",
    value: ({ cosine }) => cosine,
    show: ({ cosine, reason }) => (reason === undefined ? showNumber(cosine) : ""),
  },
  {
    title: "",
    key: "remark",
    isText: true,
    value: ({ equal, reason }) => reason ?? (equal ? "equal" : ""),
  },
];
