// zeropoint verify: a quantized model, derived again from its source.

import type { Model } from "../../models/open/model.js";
import type { Difference } from "../../models/verify/difference.js";
import type { TiedTensor, Verification } from "../../models/verify/types.js";
import { verify } from "../../models/verify/verify.js";
import { type Arguments, readArguments } from "../arguments.js";
import { EXIT, Failure, usage } from "../failures.js";
import { openInput, readText, startCore } from "../input.js";
import { parseJson } from "../jobs/json.js";
import { writeText } from "../output/files.js";
import { checkPlace, noteInputPath } from "../output/places.js";
import { Progress } from "../output/progress.js";
import {
  checkOutput,
  type Fact,
  formOf,
  jsonText,
  section,
  writeReport,
} from "../output/report.js";
import type { Column } from "../output/table.js";

/** Runs the command. @returns the exit code */
export async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const args = readArguments("verify", argv);
  const [small] = args.operands;
  const big = args.text("from");
  if (big === undefined) throw usage("--from is missing: the model that SMALL was made of");
  if (small === "-" && big === "-") throw usage("SMALL and BIG cannot both be standard input");
  await checkPlaces(args, big);
  const statement = await statementIn(args, signal);
  await startCore(args);
  const quantized = await openInput(small, signal, args);
  try {
    const source = await openInput(big, signal, args);
    let imatrix: Model | undefined;
    try {
      const matrix = args.text("imatrix");
      if (matrix !== undefined) imatrix = await openInput(matrix, signal, args);
      const progress = new Progress(`deriving ${small}`, args.has("quiet"));
      const found = await verify(quantized, source, {
        ...(imatrix !== undefined && { imatrix }),
        ...{ statement, signal, onProgress: progress.update },
      }).catch((error: unknown) => {
        throw statementError(args, error);
      });
      progress.clear();
      const path = args.text("statement");
      if (path !== undefined) await writeText(path, `${jsonText(found.statement)}\n`, signal);
      return await tell(args, small, big, found, signal);
    } finally {
      await source.close();
      await imatrix?.close();
    }
  } finally {
    await quantized.close();
  }
}

/** Checks that nothing that is read is overwritten. */
async function checkPlaces(args: Arguments, big: string): Promise<void> {
  for (const input of [big, args.text("imatrix"), args.text("check")]) {
    if (input !== undefined) await noteInputPath(input);
  }
  await checkOutput(args);
  const statement = args.text("statement");
  if (statement === undefined) return;
  if (statement === "-") throw usage("--statement takes a file");
  await checkPlace(statement, args.has("force"));
}

/** The content of --check. */
async function statementIn(args: Arguments, signal: AbortSignal): Promise<unknown> {
  const path = args.text("check");
  if (path === undefined) return undefined;
  return parseJson(`--check ${path}`, await readText("--check", path, signal));
}

/** An error about --check as one of its file. */
function statementError(args: Arguments, error: unknown): unknown {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const text = String(message);
  if (code !== "ZP_INVALID_OPTION" || !text.includes("options.statement")) return error;
  const problem = text.replace(/^verify: /, "").replace("options.statement", "the statement");
  return new Failure(EXIT.input, `--check ${args.text("check")}: ${problem}`);
}

/** Prints the result. @returns the exit code */
async function tell(
  args: Arguments,
  small: string,
  big: string,
  found: Verification,
  signal: AbortSignal,
): Promise<number> {
  const { different, tied, notes } = found;
  const verdict = verdictOf(found);
  const title = `${small} derived from ${big}`;
  const sections = [
    ...(different.length > 0 ? [section(DIFFERENCES, different, "different")] : []),
    ...(tied.length > 0 ? [section(TIES, tied, "ties of rounding")] : []),
  ];
  const report = {
    ...{ title, facts: factsOf(small, big, found, verdict), data: found, remarks: notes },
    sections: sections.length === 0 ? [section(DIFFERENCES, different)] : sections,
    csv: section(DIFFERENCES, different),
  };
  await writeReport(args, report, signal);
  const code = exitCodeOf(args, found);
  const isShown = formOf(args) === "table" && args.text("output") === undefined;
  if (code === EXIT.ok || isShown) return code;
  throw new Failure(code, `${title}: ${verdict}`);
}

function exitCodeOf(args: Arguments, { different, ties }: Verification): number {
  if (different.length > 0) return EXIT.different;
  return ties > 0 && !args.has("allow-ties") ? EXIT.ties : EXIT.ok;
}

/** The result in a few words. */
function verdictOf({ tensors, equal, different, ties }: Verification): string {
  if (different.length > 0) {
    const some = different.slice(0, 3).map(({ name }) => name);
    const count = different.length === 1 ? "1 difference" : `${different.length} differences`;
    return `${count}: ${some.join(", ")}${different.length > 3 ? " …" : ""}`;
  }
  const blocks = ties === 1 ? "1 block differs" : `${ties} blocks differ`;
  return ties > 0
    ? `${equal} of ${tensors} tensors equal; ${blocks} at ties of rounding alone`
    : "every byte is what the source gives";
}

function factsOf(
  small: string,
  big: string,
  { tensors, equal, ties, tied, statement }: Verification,
  verdict: string,
): Fact[] {
  const { format, target, schemes } = statement.predicate.derivation;
  const shown = Object.entries(schemes).map(([name, count]) => `${name} ${count}`);
  const values = tied.reduce((sum, each) => sum + each.values, 0);
  return [
    ["file", small],
    ["from", big],
    ["format", target === null ? format : `${format}, ${target}`],
    ["schemes", shown.join(", ")],
    [
      "tensors",
      `${tensors}: ${equal} equal, ${tied.length} with ties, ${tensors - equal - tied.length} different`,
    ],
    ...(ties > 0 ? [["ties", `${ties} blocks, ${values} values`] as const] : []),
    ["result", verdict],
  ];
}

const DIFFERENCES: readonly Column<Difference>[] = [
  { title: "name", isText: true, value: ({ name }) => name },
  { title: "kind", isText: true, value: ({ kind }) => kind },
  { title: "block", value: ({ block }) => block ?? "" },
  { title: "first byte", key: "byte", value: ({ byte }) => byte ?? "" },
  { title: "bytes", value: ({ bytes }) => bytes ?? "" },
  { title: "blocks", value: ({ blocks }) => blocks ?? "" },
  { title: "expected", isText: true, value: ({ expected }) => expected },
  { title: "found", isText: true, value: ({ found }) => found },
];

const TIES: readonly Column<TiedTensor>[] = [
  { title: "name", isText: true, value: ({ name }) => name },
  { title: "blocks", value: ({ blocks }) => blocks },
  { title: "values", value: ({ values }) => values },
  { title: "of blocks", key: "total", value: ({ total }) => total },
];
