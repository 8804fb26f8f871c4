// The analysis and the plan as files, and the same job as a command line.

import { escapeHtml } from "../../shell/drawing/tree.js";
import { escapeGlob, outputName, shellWord } from "../names.js";

const COLUMNS = ["name", "shape", "dtype", "scheme", "bytes", "mse", "max", "sqnr", "cosine"];

const fieldText = (value: unknown) =>
  Array.isArray(value) ? value.join("x") : String(value ?? "");

/** Of the errors of outputs; moments: "diagonal" where these are estimates, from mean squares of inputs. */
const OUTPUT_COLUMNS = ["outputMse", "outputSqnr", "moments"];

/** Columns of a comparison. */
export const COMPARED = "name shape from to equal parameters mse max sqnr cosine reason".split(" ");

/** The columns of rows; more where some have errors of outputs, and where some are estimates. */
const columnsOf = (rows: readonly any[]) => [
  ...COLUMNS,
  ...(rows.some(({ shows }) => shows === "outputs") ? OUTPUT_COLUMNS : []),
  ...(rows.some(({ isEstimate }) => isEstimate) ? ["isEstimate"] : []),
];

/**
 * Rows as comma-separated values (RFC 4180).
 * @param columns  default: those of an analysis
 */
export function toCsv(rows: readonly any[], columns: readonly string[] = columnsOf(rows)) {
  const field = (value: unknown) => {
    const text = fieldText(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map((row) => columns.map((column) => field(row[column])).join(","));
  return `${[columns.join(","), ...lines].join("\r\n")}\r\n`;
}

/** Numbers that JSON does not have as text. */
export const toJson = (value: unknown) =>
  JSON.stringify(
    value,
    (_, each) => (typeof each === "number" && !Number.isFinite(each) ? String(each) : each),
    1,
  );

/**
 * A page of its own with the table.
 * @param columns  default: those of an analysis
 */
export function toHtmlPage(
  title: string,
  rows: readonly any[],
  note: string,
  columns: readonly string[] = columnsOf(rows),
) {
  const cells = (row: any) =>
    columns.map((column) => `<td>${escapeHtml(fieldText(row[column]))}</td>`).join("");
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.2rem .6rem;border-bottom:1px solid #8885;text-align:right}
td:nth-child(1),th:nth-child(1),td:nth-child(4),th:nth-child(4){text-align:left}</style>
<h1>${escapeHtml(title)}</h1><p>${escapeHtml(note)}</p>
<table><thead><tr>${columns.map((column) => `<th>${column}</th>`).join("")}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join("\n")}</tbody></table></html>
`;
}

/**
 * The commands of the same job: the same schemes, within the same size, and the same bytes.
 * @param job.name  of the model's file
 * @param job.budget  the size that the reader chose: bytes of the file at most
 * @param job.preset  the mix that was chosen in place of a plan
 * @param job.format  of the files to write
 * @param job.count  of files to write
 * @param job.inputs  names of the files of inputs
 * @param job.partly  those of which the lab uses some arrays only
 * @param job.imatrix  name of the importance matrix
 */
export function commandLine({
  name,
  budget,
  preset,
  pins,
  format,
  target,
  count,
  inputs = [],
  partly = [],
  imatrix,
}: {
  name: string;
  budget: number;
  preset?: string | undefined;
  pins: Record<string, string>;
  format: string;
  target?: string;
  count: number;
  inputs?: readonly string[];
  partly?: readonly string[];
  imatrix?: string | undefined;
}) {
  const file = shellWord(name);
  const options = [
    `--format ${format}`,
    ...(target ? [`--target ${target}`] : []),
    ...inputs.map((each) => `--activations ${shellWord(each)}`),
  ].join(" ");
  const pinned = Object.entries(pins).map(
    ([tensor, scheme]) => ` --pin ${shellWord(`${escapeGlob(tensor)}=${scheme}`)}`,
  );
  const output = shellWord(outputName(name, format, count));
  const notes = partly.map(
    (each) => `# The lab uses some arrays of ${each} only: put these into a file of their own.`,
  );
  if (imatrix)
    notes.push(`# The lab takes ${imatrix} as inputs, too: this analysis is of the weights.`);
  const byImportance = imatrix && format === "gguf" ? ` --imatrix ${shellWord(imatrix)}` : "";
  if (preset)
    return `npx zeropoint quantize ${file} ${preset}${byImportance} -o ${output} --verify`;
  return [
    ...notes,
    `npx zeropoint analyze ${file} ${options} -o analysis.json`,
    `npx zeropoint plan analysis.json --size ${budget}B${pinned.join("")} -o plan.json`,
    `npx zeropoint quantize ${file} --plan plan.json${byImportance} -o ${output} --verify`,
  ].join("\n");
}

/** Hands a text over as a download. */
export function save(name: string, type: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
