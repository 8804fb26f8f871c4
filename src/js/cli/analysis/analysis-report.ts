// The table of an analysis: a line for each tensor, a column for each scheme.

import type { AnalysisRow } from "../../models/analyze/row.js";
import type { StoredRow, StoredRows } from "../../models/quantize/stored-rows.js";
import type { Arguments } from "../arguments.js";
import { usage } from "../failures.js";
import { type Fact, type Report, type Section, section } from "../output/report.js";
import type { Column } from "../output/table.js";
import { showBytes, showNumber, showPercent } from "../units.js";
import { checkHasInputs } from "./activations.js";

const METRICS = ["sqnr", "mse", "max", "cosine", "output"] as const;
type MetricName = (typeof METRICS)[number];

const TITLES: Readonly<Record<MetricName, string>> = {
  sqnr: "SQNR in dB: 6 dB more is half the error",
  mse: "mean squared error",
  max: "largest error",
  cosine: "cosine similarity",
  output: "SQNR of outputs in dB, of weights whose inputs are given",
};

/** The error of a row; undefined for outputs without inputs. */
const errorOf = (row: AnalysisRow | undefined, metric: MetricName): number | undefined =>
  metric === "output" ? row?.outputSqnr : row?.[metric];

/** A tensor with its rows by scheme. */
interface Line {
  readonly name: string;
  readonly dtype: string;
  readonly bytes: number;
  readonly sha256: string | undefined;
  readonly reason: string | undefined;
  readonly rows: ReadonlyMap<string, AnalysisRow>;
}

/** The report of an analysis. @param data  for JSON */
export function analysisReport(
  file: string,
  { rows, target }: StoredRows<AnalysisRow>,
  args: Arguments,
  metric: MetricName,
  data: unknown,
): Report {
  const lines = linesOf(rows);
  const schemes = [...new Set(rows.map(({ scheme }) => scheme))].filter((name) => name !== "keep");
  const isAnalyzed = ({ rows: own }: Line): boolean => schemes.some((scheme) => own.has(scheme));
  const kept = lines.filter((line) => !isAnalyzed(line));
  const analyzed = lines.filter(isAnalyzed);
  const facts: Fact[] = [
    ["file", file],
    ["tensors", `${analyzed.length} analyzed, ${kept.length} kept`],
    ["errors", TITLES[metric]],
    ...outputsFact(rows, metric),
    ...bytesFact(rows, target),
  ];
  const sections: Section[] = [
    section(TOTAL_COLUMNS, totalsOf(schemes, lines), "all tensors"),
    section(lineColumns(schemes, metric), analyzed, "each tensor"),
  ];
  if (args.has("certificate")) {
    sections.push(
      section(
        CERTIFICATE_COLUMNS,
        rows.filter(({ scheme }) => scheme !== "keep"),
        CERTIFICATE,
      ),
    );
  }
  const remarks = ["The error of weights is not accuracy: measure that with the quantized model."];
  return {
    title: `Analysis of ${file}`,
    ...{ facts, sections, data, remarks },
    csv: section(ROW_COLUMNS, rows),
  };
}

/** The format and target whose bytes the table shows. */
function bytesFact(rows: readonly StoredRow<AnalysisRow>[], target: string | undefined): Fact[] {
  if (target === undefined) return [];
  const others = new Set(
    rows.filter(({ isWritten }) => isWritten === false).map(({ scheme }) => scheme),
  );
  const rest = others.size === 0 ? "" : `; estimates for ${[...others].join(", ")}`;
  return [["bytes", `with scales, as target ${target} stores them${rest}`]];
}

/** Which errors of outputs are estimates. */
function outputsFact(rows: readonly AnalysisRow[], metric: MetricName): Fact[] {
  const names = rows.flatMap(({ name, moments }) => (moments === "diagonal" ? [name] : []));
  const count = new Set(names).size;
  if (metric !== "output" || count === 0) return [];
  const what = `of ${count} weight${count === 1 ? "" : "s"} with more than 512 inputs`;
  return [["outputs", `≈ estimated as if the inputs were uncorrelated: ${what}`]];
}

/** The error that the table shows. @throws {Failure} */
export function metricOf(args: Arguments): MetricName {
  const name = args.text("metric") ?? "sqnr";
  if (name === "output") checkHasInputs(args);
  if ((METRICS as readonly string[]).includes(name)) return name as MetricName;
  throw usage(`--metric takes ${METRICS.join(", ")}, got ${JSON.stringify(name)}`);
}

/** The rows of each tensor. */
function linesOf(rows: readonly AnalysisRow[]): Line[] {
  const lines = new Map<string, Line & { rows: Map<string, AnalysisRow> }>();
  for (const row of rows) {
    const { name, dtype, bytesBefore, sha256, reason } = row;
    const line = lines.get(name) ?? {
      ...{ name, dtype, bytes: bytesBefore, sha256, reason, rows: new Map<string, AnalysisRow>() },
    };
    line.rows.set(row.scheme, row);
    lines.set(name, line);
  }
  return [...lines.values()];
}

/** A scheme for all tensors that it fits. */
interface Total {
  readonly scheme: string;
  /** Bytes of the whole file, kept tensors included. */
  readonly bytes: number;
  readonly share: number;
  /** Squared error by squared signal, weighted by share of the parameters: plan's metric "relative". */
  readonly error: number;
  readonly without: number;
}

/** Each scheme for the whole file. */
function totalsOf(schemes: readonly string[], lines: readonly Line[]): Total[] {
  const before = lines.reduce((sum, { bytes }) => sum + bytes, 0);
  return schemes.map((scheme) => {
    let [bytes, error, without] = [0, 0, 0];
    for (const line of lines) {
      const row = line.rows.get(scheme);
      bytes += row?.bytes ?? line.bytes;
      if (row === undefined && !line.rows.has("keep")) without++;
      error += row === undefined ? 0 : row.share * row.relative;
    }
    return { scheme, bytes, share: before === 0 ? 1 : bytes / before, error, without };
  });
}

const TOTAL_COLUMNS: readonly Column<Total>[] = [
  { title: "scheme", isText: true, value: ({ scheme }) => scheme },
  { title: "bytes", value: ({ bytes }) => bytes, show: ({ bytes }) => showBytes(bytes) },
  { title: "of before", value: ({ share }) => share, show: ({ share }) => showPercent(share) },
  { title: "error", value: ({ error }) => error, show: ({ error }) => showNumber(error) },
  {
    title: "left out",
    value: ({ without }) => without,
    show: ({ without }) => (without === 0 ? "" : String(without)),
  },
];

function lineColumns(schemes: readonly string[], metric: MetricName): Column<Line>[] {
  return [
    { title: "tensor", isText: true, value: ({ name }) => name },
    { title: "bytes", value: ({ bytes }) => bytes, show: ({ bytes }) => showBytes(bytes) },
    ...schemes.map(
      (scheme): Column<Line> => ({
        // A name such as int4-g32-affine takes three lines.
        title: scheme.replaceAll("-", "\n"),
        key: scheme,
        value: ({ rows }) => errorOf(rows.get(scheme), metric),
        show: ({ rows }) => {
          const row = rows.get(scheme);
          const isEstimate = metric === "output" && row?.moments === "diagonal";
          return `${isEstimate ? "≈ " : ""}${showError(errorOf(row, metric), metric)}`;
        },
      }),
    ),
  ];
}

function showError(value: number | undefined, metric: MetricName): string {
  if (value === undefined) return "–";
  const isDecibels = metric === "sqnr" || metric === "output";
  return isDecibels && Number.isFinite(value) ? value.toFixed(1) : showNumber(value);
}

const CERTIFICATE =
  "certificate: no output is off by more than L1 times the largest |input|, and than L2 times the inputs' norm";

const CERTIFICATE_COLUMNS: readonly Column<AnalysisRow>[] = [
  { title: "tensor", isText: true, value: ({ name }) => name },
  { title: "scheme", isText: true, value: ({ scheme }) => scheme },
  { title: "L1", value: ({ norm1 }) => norm1, show: ({ norm1 }) => showNumber(norm1) },
  { title: "L2", value: ({ norm2 }) => norm2, show: ({ norm2 }) => showNumber(norm2) },
  { title: "sha256 of the tensor", key: "sha256", isText: true, value: ({ sha256 }) => sha256 },
];

/** Columns of CSV: a line for each row. */
const ROW_COLUMNS: readonly Column<AnalysisRow>[] = [
  { title: "name", value: ({ name }) => name },
  { title: "shape", value: ({ shape }) => shape.join("x") },
  { title: "dtype", value: ({ dtype }) => dtype },
  ...(
    [
      ...["parameters", "scheme", "bytes", "bytesBefore", "share", "mse", "max", "sqnr", "cosine"],
      ...["relative", "norm1", "norm2", "outputMse", "outputRelative", "outputSqnr", "moments"],
      ...["sha256", "reason"],
    ] as (keyof AnalysisRow)[]
  ).map(
    (key): Column<AnalysisRow> => ({
      title: key,
      value: (row) => row[key] as string | number | undefined,
    }),
  ),
];
