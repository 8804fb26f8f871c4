// zeropoint plan: rows, or a model, and a budget -> the scheme of each tensor.

import { describePlan } from "../../models/plan/describe.js";
import { type FrontierPoint, frontier } from "../../models/plan/frontier.js";
import { DEFAULT_SAME } from "../../models/plan/groups.js";
import { checkMetric, type MetricName } from "../../models/plan/metric.js";
import { type Plan, type PlanConstraints, plan } from "../../models/plan/plan.js";
import type { FileRows, PlanRow } from "../../models/plan/rows.js";
import { quantizeModel } from "../../models/quantize/quantize-model.js";
import type { StoredRow } from "../../models/quantize/stored-rows.js";
import { checkHasInputs } from "../analysis/activations.js";
import { analyzeFile, targetOptions } from "../analysis/analysis.js";
import { type Arguments, readArguments } from "../arguments.js";
import { EXIT, Failure, usage } from "../failures.js";
import { openInput, splitList, startCore } from "../input.js";
import type { JobOptions } from "../jobs/done.js";
import { modelOptions } from "../jobs/request.js";
import { isOfRows, readRows } from "../jobs/rows.js";
import { writeText } from "../output/files.js";
import { checkOutput, jsonText, type Report, section, writeReport } from "../output/report.js";
import type { Column } from "../output/table.js";
import { printableLines } from "../output/terminal.js";
import { keptByReason } from "../reasons.js";
import {
  type Budget,
  parseBudget,
  parseDecibels,
  showBytes,
  showNumber,
  showPercent,
} from "../units.js";

/** Runs the command. @returns the exit code */
export async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const args = readArguments("plan", argv);
  const [file] = args.operands;
  await checkOutput(args);
  const budget = budgetOf(args);
  const constraints = constraintsOf(args);
  const isFrontier = args.has("frontier");
  if (budget === undefined && constraints.minSqnr === undefined && !isFrontier) {
    throw usage("--size is missing: 1.5GB, 40MiB, 4.5bpw or 25%; or --min-sqnr, or --frontier");
  }
  if (isFrontier && budget !== undefined) throw usage("--frontier and --size exclude each other");
  const { rows, options, sizeOf } = await inputOf(file, args, signal);
  // The library checks the name, which quantize has taken as well.
  const format = options.format as PlanConstraints["format"];
  if (isFrontier) {
    const points = frontier(rows, { ...constraints, format });
    await writeReport(args, frontierReport(file, points, "overhead" in rows), signal);
    return EXIT.ok;
  }
  const planned = planWithin(args, file, rows, budget, () =>
    plan(rows, { ...budget, ...constraints, format }),
  );
  const exact = planned.fileBytes === undefined ? undefined : await sizeOf?.(planned);
  const result = {
    ...planned,
    ...(exact !== undefined && { fileBytes: exact, isFileExact: true as const }),
    options,
  };
  const output = args.text("output");
  const isTable =
    ["csv", "html"].some((form) => args.has(form)) || /\.(csv|html)$/i.test(output ?? "");
  if (output === undefined || isTable) {
    await writeReport(args, planReport(file, result, listOf(rows)), signal);
    return EXIT.ok;
  }
  const text = `${jsonText(result)}\n`;
  if (output === "-") process.stdout.write(text);
  else {
    await writeText(output, text, signal);
    if (!args.has("quiet"))
      process.stdout.write(`${printableLines(`${output}: ${describePlan(result)}`)}\n`);
  }
  return EXIT.ok;
}

/** Rows to plan with: of tensors alone with --nominal, else those of a file. */
type Rows = readonly PlanRow[] | FileRows;

const listOf = (rows: Rows): readonly PlanRow[] => ("rows" in rows ? [...rows.rows] : rows);

/** Rows to plan with, and the format and target of the plan. */
interface Input {
  readonly rows: Rows;
  readonly options: JobOptions;
  /** The bytes of the file that the writer makes of a plan; undefined for rows without their model. */
  readonly sizeOf?: (plan: Plan) => Promise<number>;
}

/** Rows, and format and target of the plan: all bytes as the target stores them, or with --nominal as analysis counts them. */
async function inputOf(file: string, args: Arguments, signal: AbortSignal): Promise<Input> {
  const input = await givenInput(file, args, signal);
  if (!args.has("nominal")) return input;
  const rows = listOf(input.rows).map((row) => ({
    ...row,
    bytes: (row as Partial<StoredRow>).nominalBytes ?? row.bytes,
  }));
  return { ...input, rows };
}

/** The rows: from a file, or from an analysis that runs now. */
async function givenInput(file: string, args: Arguments, signal: AbortSignal): Promise<Input> {
  if (!(await isOfRows(file, signal))) {
    if (args.text("metric") === "output") checkHasInputs(args);
    await startCore(args);
    const rows = await analyzeFile(file, args, signal);
    const options = targetOptions(args);
    return { rows, options, sizeOf: (planned) => fileSizeOf(file, planned, options, signal, args) };
  }
  if (args.has("format") || args.has("target") || args.has("activations")) {
    throw usage(
      "--format, --target and --activations are for a model; for rows, analyze takes them",
    );
  }
  const { rows, options = {}, overhead = 0 } = await readRows(file, signal);
  const schemes = splitList(args.text("schemes")?.toLowerCase());
  if (schemes === undefined) return { rows: { rows, overhead }, options };
  const known = new Set(rows.map(({ scheme }) => scheme));
  const missing = schemes.find((scheme) => !known.has(scheme));
  if (missing !== undefined) throw usage(`--schemes: ${file} has no rows of ${missing}`);
  const chosen = rows.filter(({ scheme }) => scheme === "keep" || schemes.includes(scheme));
  return { rows: { rows: chosen, overhead }, options };
}

/** The bytes of the files of a plan, from their layout. */
async function fileSizeOf(
  file: string,
  planned: Plan,
  options: JobOptions,
  signal: AbortSignal,
  args: Arguments,
): Promise<number> {
  const model = await openInput(file, signal, args);
  try {
    const { report } = await quantizeModel(model, planned, { ...modelOptions(options), signal });
    return report.bytesAfter;
  } finally {
    await model.close();
  }
}

/**
 * Makes a plan.
 * @throws {Failure} with the smallest possible --size, in its own unit and with headers
 */
function planWithin(
  args: Arguments,
  file: string,
  rows: Rows,
  budget: Budget | undefined,
  make: () => Plan,
): Plan {
  try {
    return make();
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    const [, least] = /must be at least ([\d.]+)/.exec(message) ?? [];
    if (code !== "ZP_IMPOSSIBLE_BUDGET" || budget === undefined || least === undefined) throw error;
    const list = listOf(rows);
    if (list.every(({ scheme, isWritten }) => scheme === "keep" || isWritten === false)) {
      throw nothingToPlan(file, list);
    }
    const number = Number(least);
    const headers = "rows" in rows ? ", headers included" : "";
    const smallest =
      "bytes" in budget
        ? `${number} bytes (${showBytes(number)}${headers})`
        : "ratio" in budget
          ? `${(100 * number).toFixed(2)}%`
          : `${number.toFixed(3)}bpw`;
    throw usage(`--size must be at least ${smallest} with these schemes, got ${args.text("size")}`);
  }
}

/** The error for a model without weights to quantize, with the reasons that keep most bytes. */
function nothingToPlan(file: string, rows: readonly PlanRow[]): Failure {
  const tensors = new Map<
    string,
    { readonly reason?: string | undefined; readonly bytes: number }
  >();
  for (const { name, scheme, isWritten, bytes, bytesBefore = bytes, reason } of rows) {
    if (scheme !== "keep" && tensors.has(name)) continue;
    const unwritten = isWritten === false ? "no scheme that the target stores" : undefined;
    const known = tensors.get(name);
    tensors.set(name, {
      reason: reason ?? unwritten ?? known?.reason,
      bytes: scheme === "keep" ? bytes : bytesBefore,
    });
  }
  const reasons = keptByReason(tensors.values())
    .slice(0, 3)
    .map(({ reason, bytes }) => `${reason} (${showBytes(bytes)})`);
  const problem = `it has no tensor to choose a scheme for; all are kept: ${reasons.join("; ")}`;
  return new Failure(EXIT.input, `${file}: ${problem}`);
}

function budgetOf(args: Arguments): Budget | undefined {
  const text = args.text("size");
  if (text === undefined) return undefined;
  const budget = parseBudget(text);
  if (budget !== undefined) return budget;
  throw usage(`--size takes 1.5GB, 40MiB, 4.5bpw or 25%, got ${JSON.stringify(text)}`);
}

function constraintsOf(args: Arguments): PlanConstraints {
  const pin: Record<string, string> = {};
  for (const each of args.list("pin")) {
    const at = each.lastIndexOf("=");
    if (at < 1) throw usage(`--pin takes GLOB=SCHEME, got ${JSON.stringify(each)}`);
    pin[each.slice(0, at)] = each.slice(at + 1);
  }
  const text = args.text("min-sqnr");
  const minSqnr = text === undefined ? undefined : parseDecibels(text);
  if (text !== undefined && minSqnr === undefined) {
    throw usage(`--min-sqnr takes decibels, as 30 or 30dB, got ${JSON.stringify(text)}`);
  }
  const metric = args.text("metric") as MetricName | undefined;
  // Before an analysis that may take hours.
  checkMetric("plan", metric, []);
  // A list of one pattern: all tensors whose names match it agree.
  const same = args.list("same").map((pattern) => (pattern.includes("{") ? pattern : [pattern]));
  return {
    ...(minSqnr !== undefined && { minSqnr }),
    ...(Object.keys(pin).length > 0 && { pin }),
    ...(same.length > 0 && { same: [...DEFAULT_SAME, ...same] }),
    ...(metric !== undefined && { metric }),
  };
}

/** A tensor in the table of a plan. */
interface PlannedTensor {
  readonly name: string;
  readonly scheme: string;
  readonly bytes: number | undefined;
  readonly reason: string;
}

const PLAN_COLUMNS: readonly Column<PlannedTensor>[] = [
  { title: "name", isText: true, value: ({ name }) => name },
  { title: "scheme", isText: true, value: ({ scheme }) => scheme },
  {
    title: "bytes",
    value: ({ bytes }) => bytes,
    show: ({ bytes }) => (bytes === undefined ? "" : showBytes(bytes)),
  },
  { title: "reason", isText: true, value: ({ reason }) => reason },
];

function planReport(file: string, result: Plan, rows: readonly PlanRow[]): Report {
  const bytes = new Map(rows.map((row) => [`${row.scheme}\n${row.name}`, row.bytes]));
  const tensors = Object.entries(result.schemes).map(([name, scheme]) => ({
    ...{ name, scheme, reason: result.reasons[name] ?? "" },
    bytes: bytes.get(`${scheme}\n${name}`),
  }));
  // The facts count the others by the reason for which they are kept.
  const weights = new Set(rows.flatMap(({ name, scheme }) => (scheme === "keep" ? [] : [name])));
  const withChoice = tensors.filter(({ name }) => weights.has(name));
  const [first, ...rest] = describePlan(result).split("\n");
  return {
    title: `Plan of ${file}`,
    facts: [["plan", first], ...rest.map((line) => ["", line.replace(/^ {2}/, "")] as const)],
    sections: [section(PLAN_COLUMNS, withChoice)],
    csv: section(PLAN_COLUMNS, tensors),
    data: result,
  };
}

const FRONTIER_COLUMNS: readonly Column<FrontierPoint>[] = [
  { title: "bytes", value: ({ bytes }) => bytes, show: ({ bytes }) => showBytes(bytes) },
  {
    title: "bits/weight",
    value: ({ bitsPerWeight }) => bitsPerWeight,
    show: ({ bitsPerWeight }) => bitsPerWeight.toFixed(3),
  },
  {
    title: "of before",
    value: ({ ratio }) => ratio,
    show: ({ ratio }) => (ratio === undefined ? "" : showPercent(ratio)),
  },
  { title: "error", value: ({ error }) => error, show: ({ error }) => showNumber(error) },
];

const frontierReport = (
  file: string,
  points: readonly FrontierPoint[],
  isOfFile: boolean,
): Report => ({
  title: `Error against bytes: ${file}`,
  facts: [["bytes", isOfFile ? "of the file, about" : "of the tensors"]],
  sections: [section(FRONTIER_COLUMNS, points)],
  data: points,
});
