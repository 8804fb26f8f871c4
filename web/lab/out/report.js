// The analysis and the plan as files, and the same job as a command line.

import { escapeHtml } from "../../shell/drawing/tree.js";

const COLUMNS = ["name", "shape", "dtype", "scheme", "bytes", "mse", "max", "sqnr", "cosine"];

/** @param {unknown} value */
const fieldText = (value) => (Array.isArray(value) ? value.join("x") : String(value ?? ""));

/** The columns of rows; one more where some rows are estimates. @param {readonly any[]} rows */
const columnsOf = (rows) =>
  rows.some(({ isEstimate }) => isEstimate) ? [...COLUMNS, "isEstimate"] : COLUMNS;

/**
 * Rows as comma-separated values (RFC 4180).
 * @param {readonly any[]} rows
 */
export function toCsv(rows) {
  const field = (/** @type {unknown} */ value) => {
    const text = fieldText(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const columns = columnsOf(rows);
  const lines = rows.map((row) => columns.map((column) => field(row[column])).join(","));
  return `${[columns.join(","), ...lines].join("\r\n")}\r\n`;
}

/**
 * Numbers that JSON does not have as text.
 * @param {unknown} value
 */
export const toJson = (value) =>
  JSON.stringify(
    value,
    (_, each) => (typeof each === "number" && !Number.isFinite(each) ? String(each) : each),
    1,
  );

/**
 * A page of its own with the table.
 * @param {string} title
 * @param {readonly any[]} rows
 * @param {string} note
 */
export function toHtmlPage(title, rows, note) {
  const columns = columnsOf(rows);
  const cells = (/** @type {any} */ row) =>
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

/** An argument of a POSIX shell. @param {string} text */
const quoted = (text) =>
  /^[\w./=:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The commands that do the same.
 * @param {{ name: string, bytes: number, pins: Record<string, string>, format?: string, target?: string }} job
 */
export function commandLine({ name, bytes, pins, format, target }) {
  const file = quoted(name);
  const pinned = Object.entries(pins).map(
    ([tensor, scheme]) => ` --pin ${quoted(`${tensor}=${scheme}`)}`,
  );
  const output = quoted(
    `${name.replace(/\.[^.]*$/, "")}-quantized.${format || name.split(".").at(-1)}`,
  );
  const options = `${format ? ` --format ${format}` : ""}${target ? ` --target ${target}` : ""}`;
  return [
    `npx zeropoint analyze ${file}${options}`,
    `npx zeropoint plan ${file} --size ${bytes}B${pinned.join("")}${options} -o plan.json`,
    `npx zeropoint quantize ${file} --plan plan.json${options} -o ${output} --verify`,
  ].join("\n");
}
