// A result as a table, JSON, CSV or a page of HTML, on standard output or in a file.

import { writeJson } from "../../formats/json.js";
import type { Arguments } from "../arguments.js";
import { usage } from "../failures.js";
import { writeStdout, writeText } from "./files.js";
import { checkPlace, noteInputPath } from "./places.js";
import { type Column, cellText, tableText } from "./table.js";
import { escapedJson, printable, stylesOf, widthOf, wrap } from "./terminal.js";

/** A fact about the whole: a label and a text. */
export type Fact = readonly [label: string, text: string];

/** A table of a report. */
export interface Section {
  readonly columns: readonly Column<never>[];
  readonly rows: readonly unknown[];
  readonly title?: string;
}

/** A result to show. */
export interface Report {
  readonly title: string;
  readonly facts: readonly Fact[];
  /** The tables; CSV has the one of `csv`, or the first. */
  readonly sections: readonly Section[];
  readonly csv?: Section;
  /** The result for JSON. */
  readonly data: unknown;
  /** Remarks below the tables. */
  readonly remarks?: readonly string[];
}

/** A table of rows of one type. */
export const section = <Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  title?: string,
): Section => ({
  columns: columns as readonly Column<never>[],
  rows,
  ...(title === undefined ? {} : { title }),
});

type Form = "table" | "json" | "csv" | "html";

/** The form given by the options or by the name of the file. @throws {Failure} if they differ */
export function formOf(args: Arguments): Form {
  const asked = (["json", "csv", "html"] as const).filter((form) => args.has(form));
  if (asked.length > 1) throw usage(`--${asked[0]} and --${asked[1]} exclude each other`);
  const [, ending] = /\.(json|csv|html)$/i.exec(args.text("output") ?? "") ?? [];
  return asked[0] ?? (ending?.toLowerCase() as Form | undefined) ?? "table";
}

/** Checks the output before anything is computed: it must be no input, and free or forced. @throws {Failure} */
export async function checkOutput(args: Arguments): Promise<void> {
  formOf(args);
  const path = args.text("output");
  for (const input of [...args.operands, ...args.list("activations")]) await noteInputPath(input);
  if (path !== undefined && path !== "-") await checkPlace(path, args.has("force"));
}

/** Writes a report as the options ask for. */
export async function writeReport(
  args: Arguments,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const path = args.text("output");
  const isFile = path !== undefined && path !== "-";
  const form = formOf(args);
  const text =
    form === "json"
      ? `${jsonText(report.data)}\n`
      : form === "csv"
        ? csvText(report.csv ?? report.sections[0])
        : form === "html"
          ? htmlText(report)
          : plainText(report, isFile);
  if (isFile) await writeText(path, text, signal);
  else await writeStdout([text], signal);
}

/** JSON, in which numbers that JSON does not have are texts, and characters that control a terminal are escaped. */
export const jsonText = (data: unknown, space = 2): string =>
  escapedJson(writeJson(inJson(data), space));

/** A value of plain objects, lists and primitives that JSON has. */
function inJson(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) {
    return Array.from(value as unknown as ArrayLike<unknown>, inJson);
  }
  if (Array.isArray(value)) return value.map(inJson);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(entries.map(([name, each]) => [name, inJson(each)]));
}

function plainText({ facts, sections, remarks = [] }: Report, isFile: boolean): string {
  const width = isFile ? undefined : widthOf(process.stdout);
  const styles = isFile ? { bold: String, dim: String } : stylesOf(process.stdout);
  const lines = (text: string, indent: number): string =>
    width === undefined ? printable(text) : wrap(printable(text), width, indent);
  const labels = facts.map(([label]) => printable(label));
  const most = Math.max(0, ...labels.map((label) => label.length));
  const parts = [
    facts
      .map(([, text], i) => `${styles.dim(labels[i].padEnd(most))}  ${lines(text, most + 2)}\n`)
      .join(""),
    ...sections
      .filter(({ rows }) => rows.length > 0)
      .map(({ columns, rows, title }) => {
        const head = title === undefined ? "" : `${printable(title)}\n`;
        return head + tableText(columns as readonly Column<unknown>[], rows, width, styles);
      }),
    remarks.map((remark) => `${lines(remark, 0)}\n`).join(""),
  ];
  return parts.filter(Boolean).join("\n");
}

/** A cell of CSV. A text that a spreadsheet would run as a formula begins with an apostrophe. */
const csvCell = (value: string | number | undefined): string => {
  const plain = printable(String(value ?? ""));
  const text = typeof value === "string" && /^[=+\-@]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const keyOf = ({ key, title }: Column<never>): string => key ?? title.replaceAll("\n", " ");

/** CSV by RFC 4180. */
function csvText({ columns, rows }: Section): string {
  const lines = rows.map((row) => columns.map((column) => csvCell(column.value(row as never))));
  return [columns.map(keyOf).map(csvCell), ...lines]
    .map((cells) => `${cells.join(",")}\r\n`)
    .join("");
}

const htmlOf = (text: string): string =>
  printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const STYLE = `
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem } dt { opacity: .7 } dd { margin: 0 }
div { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap }
th { position: sticky; top: 0; background: Canvas; vertical-align: bottom }
.text { text-align: left }
`;

/** One page without scripts and external resources. */
function htmlText({ title, facts, sections, remarks = [] }: Report): string {
  const cell = (tag: "td" | "th", column: Column<never>, text: string): string =>
    `<${tag}${column.isText ? ' class="text"' : ""}${tag === "th" ? ' scope="col"' : ""}>${htmlOf(text)}</${tag}>`;
  const table = ({ columns, rows, title: heading }: Section): string => {
    const head = columns.map((column) => cell("th", column, keyOf(column))).join("");
    const lines = rows.map(
      (row) =>
        `<tr>${columns.map((column) => cell("td", column, cellText(column, row as never))).join("")}</tr>`,
    );
    const own = heading === undefined ? "" : `<h2>${htmlOf(heading)}</h2>\n`;
    return `${own}<div><table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${lines.join("\n")}\n</tbody>\n</table></div>\n`;
  };
  const list = facts.map(([label, text]) => `<dt>${htmlOf(label)}</dt><dd>${htmlOf(text)}</dd>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${htmlOf(title)}</title>
<style>${STYLE}</style>
<h1>${htmlOf(title)}</h1>
<dl>${list.join("\n")}</dl>
${sections.map(table).join("\n")}
${remarks.map((remark) => `<p>${htmlOf(remark)}</p>`).join("\n")}
</html>
`;
}
