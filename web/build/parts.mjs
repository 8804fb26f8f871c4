// Files for the content of views that the document leaves out. Each is a page that can be read without scripts; the
// page's own scripts insert its pieces into their view.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { escapeHtml } from "../shell/drawing/tree.js";

/** Marks between the pieces of a view. The same marks are in shell/parts.ts. */
export const PIECE = "<!-- piece -->";
const END = "<!-- end -->";

/** @typedef {{ fileName: string, html: string }} Part  html: with STYLES in the place of the stylesheet's address */
/** @typedef {{ id: string, title: string, className: string, head: string, body: string }} View  head: what the
 *   document keeps */

const STYLES = "__STYLES__";

/** All styles of the page: a part's name changes with them. @param {string} folder */
export function stylesOf(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".css"))
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
}

/**
 * @param {View} view
 * @param {string} styles
 * @returns {Part}
 */
export function partOf(view, styles) {
  const { id, title } = view;
  const html = [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="default-src 'self'">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<meta name="color-scheme" content="light dark"><title>${escapeHtml(title)} · zeropoint</title>`,
    `<base href="../"><link rel="icon" href="./icon.svg" type="image/svg+xml"><link rel="stylesheet" href="${STYLES}"></head>`,
    `<body class="is-part"><p class="part-back"><a href="./">zeropoint</a></p>`,
    `<main>${articleHtml(view)}</main></body></html>`,
  ].join("\n");
  const hash = createHash("sha256").update(html).update(styles);
  return { fileName: `assets/${id}-${hash.digest("base64url").slice(0, 8)}.html`, html };
}

/**
 * A view with all of its content.
 * @param {View} view
 */
export function articleHtml({ id, title, className, head, body }) {
  return (
    `<article class="${className}" id="${id}" data-title="${escapeHtml(title)}">` +
    `${head}${PIECE}${body}${END}</article>`
  );
}

/**
 * A view without the content that is in its file.
 * @param {View} view
 * @param {Part} part
 */
export function stubHtml({ id, title, className, head }, { fileName }) {
  return (
    `<article class="${className}" id="${id}" data-title="${escapeHtml(title)}" data-part="./${fileName}">` +
    `${head}<p class="part-link"><a href="./${fileName}">Read “${escapeHtml(title)}”</a></p></article>`
  );
}

/**
 * @param {Part} part
 * @param {string} page  the built page, which has the address of the stylesheet
 */
export function withStyles({ html }, page) {
  const [, styles] = /<link rel="stylesheet"[^>]* href="(\.\/assets\/[^"]+\.css)"/.exec(page) ?? [];
  if (!styles) throw new Error("the page has no stylesheet");
  return html.replace(STYLES, () => styles);
}

/**
 * The text up to the end of its first paragraph, and the rest.
 * @param {string} html
 * @returns {[string, string]}
 */
export function afterFirstParagraph(html) {
  const end = html.indexOf("</p>") + "</p>".length;
  return [html.slice(0, end), html.slice(end)];
}
