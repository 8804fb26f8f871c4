// Reads a notebook: Markdown with cells, outputs, checks and illustrations as fenced blocks.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import MarkdownIt from "markdown-it";
import { readerTree } from "../digits/reader-tree.js";
import { toHtml } from "../shell/drawing/tree.js";
import { cellHtml } from "./cell-html.mjs";
import { exerciseHtml } from "./exercise-html.mjs";
import { figureHtml } from "./figure-html.mjs";
import { PIECE } from "./parts.mjs";
import { courseFunctions, pythonNotebook } from "./python/python-notebook.mjs";
import { keepUnits } from "./units.mjs";

/**
 * @typedef {{ id: string, label: string, tags: string[], source: string,
 *   output?: { kind: string, text: string }, checks: { text: string, source: string }[] }} CellText
 * @typedef {{ id: string, title: string, source: string, hints: string[], solution: string }} ExerciseText
 *   title: the heading above it; hints: as HTML
 * @typedef {{ id: string, number: number, title: string, lead: string, html: string,
 *   sections: { id: string, title: string }[], cells: number, exercises: ExerciseText[],
 *   python: string | undefined }} NotebookText
 *   html: its pieces, from the lead on; python: its Python side as a file for Jupyter
 */

/**
 * @param {string} folder
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 * @returns {NotebookText[]}
 */
export function readNotebooks(folder, zeropoint) {
  const functions = courseFunctions();
  return readdirSync(folder)
    .filter((name) => /^\d.*\.md$/.test(name))
    .sort()
    .map((name) => {
      const [, number, id] = /** @type {RegExpMatchArray} */ (name.match(/^(\d+)-(.*)\.md$/));
      const text = readFileSync(join(folder, name), "utf8");
      const python = pythonNotebook(text, functions);
      return { ...readNotebook(text, id, Number(number), zeropoint), python };
    });
}

/**
 * @param {string} text
 * @param {string} id
 * @param {number} number
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 * @returns {Omit<NotebookText, "python">}
 */
function readNotebook(text, id, number, zeropoint) {
  const markdown = new MarkdownIt();
  keepUnits(markdown);
  // Block quotes in notebooks mark asides, not quotations.
  markdown.renderer.rules.blockquote_open = () => '<div class="note" role="note">';
  markdown.renderer.rules.blockquote_close = () => "</div>";

  const tokens = markdown.parse(text, {});
  const sections = addHeadingIds(tokens, id);
  const title = tokens[1].content;
  const lead = tokens.findIndex((token) => token.type === "paragraph_open");
  tokens[lead].attrSet("class", "lead");

  let html = "";
  let cells = 0;
  /** @type {typeof tokens} */
  let prose = [];
  /** @type {CellText | undefined} */
  let cell;
  /** @type {ExerciseText[]} */
  const exercises = [];
  /** @type {ExerciseText | undefined} */
  let exercise;
  let heading = "";

  const flushProse = () => {
    if (prose.length > 0) html += markdown.renderer.render(prose, markdown.options, {}) + PIECE;
    prose = [];
  };
  const flushCell = () => {
    if (cell) html += cellHtml(cell, id) + PIECE;
    if (exercise) html += exerciseHtml(exercise, id) + PIECE;
    cell = undefined;
    exercise = undefined;
  };

  for (const token of tokens.slice(3)) {
    if (token.type !== "fence") {
      flushCell();
      if (prose.at(-1)?.type === "heading_open") heading = token.content;
      prose.push(token);
      continue;
    }
    const [kind, name, ...tags] = token.info.trim().split(/\s+/);
    const content = token.content.replace(/\n$/, "");
    flushProse();
    if (kind === "output" || kind === "check") {
      if (!cell) throw new Error(`notebook ${number}: ${kind} without a cell: ${content}`);
      if (kind === "output") cell.output = { kind: name, text: content };
      else cell.checks = readChecks(content);
      continue;
    }
    if (kind === "hint" || kind === "solution") {
      if (!exercise) throw new Error(`notebook ${number}: ${kind} without an exercise: ${content}`);
      if (kind === "hint") exercise.hints.push(markdown.renderInline(content));
      else exercise.solution = content;
      continue;
    }
    flushCell();
    if (kind === "js" && name.startsWith("exercise-")) {
      const task = name.slice("exercise-".length);
      exercise = { id: task, title: heading, source: content, hints: [], solution: "" };
      exercises.push(exercise);
    } else if (kind === "js") {
      cells++;
      cell = { id: name, label: cellLabel(name), tags, source: content, checks: [] };
    } else if (kind === "reader") {
      html += toHtml(readerTree()) + PIECE;
    } else if (kind === "figure") {
      html += figureHtml(name, content, zeropoint) + PIECE;
    } else {
      throw new Error(`notebook ${number}: unknown block ${token.info}`);
    }
  }
  flushCell();
  flushProse();
  return { id, number, title, lead: tokens[lead + 1].content, html, sections, cells, exercises };
}

/**
 * @param {any[]} tokens
 * @param {string} notebook
 */
function addHeadingIds(tokens, notebook) {
  /** @type {{ id: string, title: string }[]} */
  const sections = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type !== "heading_open" || token.tag === "h1") continue;
    const title = tokens[i + 1].content;
    const id = `${notebook}-${title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")}`;
    token.attrSet("id", id);
    if (token.tag === "h2") sections.push({ id, title });
  }
  return sections;
}

/** Names of cells that the original does not have, by the end of their id. */
const SUFFIXES = {
  "-printed": "printed numbers",
  "-fixed": "fixed numbers",
  "-extra": "one sign",
  "-torchao": "torchao",
};

/** @param {string} id  "in-16", "cell-3", "in-23-printed", "cell-6-fixed" */
function cellLabel(id) {
  const [, , number, suffix] =
    id.match(/^(in|cell)-(\d+)(-printed|-fixed|-extra|-torchao)?$/) ??
    (() => {
      throw new Error(`a cell cannot be called ${id}`);
    })();
  if (suffix) {
    return `Cell ${number}, ${SUFFIXES[/** @type {keyof typeof SUFFIXES} */ (suffix)]}`;
  }
  return `Cell ${number}`;
}

/**
 * Checks are separated by blank lines: a comment that says what must hold, and an expression.
 * @param {string} content
 */
function readChecks(content) {
  return content.split(/\n\n+/).map((check) => {
    const [comment, ...source] = check.split("\n");
    if (!comment.startsWith("// ") || source.length === 0) {
      throw new Error(`a check needs a comment and an expression: ${check}`);
    }
    return { text: comment.slice(3), source: source.join("\n") };
  });
}
