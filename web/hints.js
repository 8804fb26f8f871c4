// What may be behind an error in a cell, for those who know Python better, or another cell.

import { editDistance } from "../dist/edit-distance.js";

/** Python's words, and what JavaScript has for them. */
const PYTHON = new Map([
  ["None", "null"],
  ["True", "true"],
  ["False", "false"],
  ["self", "this"],
  ["len", "x.length"],
  ["str", "String(x)"],
  ["abs", "Math.abs(x)"],
  ["max", "Math.max(x, y)"],
  ["min", "Math.min(x, y)"],
  ["range", "Array(n).keys()"],
]);

/** How a line of Python begins that JavaScript's grammar refuses, and what JavaScript has for it. */
const BEGINNINGS = /** @type {[RegExp, string][]} */ ([
  [/^\s*#/, "// a comment"],
  [/^\s*def\b/, "function f(x) { return x; }"],
  [/^\s*(from\b|import\s+\w)/, 'import { torch } from "zeropoint/notebook";'],
  [/^\s*for\b(?!\s*\()/, "for (const x of list) { … }"],
  [/^\s*(if|elif|while)\b.*:\s*$/, "if (condition) { … }"],
]);

/** What pages and Node have, but no worker. */
const ELSEWHERE = ["alert", "document", "process", "prompt", "require", "window"];

const BUILT_IN = ["print", "float", "int", "round", "plotLines", "console", "Math"];

/**
 * @typedef {{ label: string, source: string }} Code
 */

/**
 * @param {{ name: string, message: string, line?: number }} error
 * @param {Code} cell     where it was met
 * @param {Code[]} cells  all cells of the notebook
 * @returns {string} a sentence, or nothing
 */
export function hint({ name, message, line }, cell, cells) {
  if (name === "SyntaxError" && line !== undefined) {
    const text = cell.source.split("\n")[line - 1] ?? "";
    const [, instead] = BEGINNINGS.find(([beginning]) => beginning.test(text)) ?? [];
    return instead ? `JavaScript writes ${instead}` : "";
  }
  const [, missing] = /^(\S+) is not defined$/.exec(message) ?? [];
  return name === "ReferenceError" && missing ? missingName(missing, cell, cells) : "";
}

/**
 * @param {string} name
 * @param {Code} cell
 * @param {Code[]} cells
 */
function missingName(name, cell, cells) {
  if (new RegExp(`[(,]\\s*${escaped(name)}\\s*=[^=>]`).test(cell.source)) {
    return `Named arguments are an object at the end: { ${name}: … }`;
  }
  const definedBy = cells.find((each) => each !== cell && namesOf(each).includes(name));
  if (definedBy) return `${definedBy.label} defines it: has it been run?`;
  if (namesOf(cell).includes(name)) {
    return "This cell defines it, but further down or inside other braces.";
  }
  const instead = PYTHON.get(name);
  if (instead) return `JavaScript writes ${instead}`;
  if (ELSEWHERE.includes(name)) return `Cells run in a worker, which has no ${name}.`;
  const near = nearest(name, [...BUILT_IN, ...cells.flatMap(namesOf)]);
  return near ? `Did you mean ${near}?` : "No cell of this notebook defines it.";
}

/**
 * The names that a cell declares or imports, and more rather than less.
 * @param {Code} cell
 */
function namesOf({ source }) {
  const declarations = source.matchAll(
    /\b(?:const|let|var|class|function\s*\*?|import(?:\s*\*\s*as)?)\s*([\w$]+|[{[][^=;"']*)/g,
  );
  // The second name and those after it, as in let a = 1, b = 2.
  const assignments = source.matchAll(/([\w$]+)\s*=(?![=>])/g);
  return [...declarations, ...assignments].flatMap(([, names]) => names.match(/[\w$]+/g) ?? []);
}

/** @param {string} name */
function escaped(name) {
  return name.replaceAll("$", "\\$");
}

/**
 * The name that is one or two letters away, at most a third of them.
 * @param {string} name
 * @param {string[]} names
 */
function nearest(name, names) {
  let [near, least] = ["", Math.min(2, name.length / 3) + 0.5];
  for (const each of names) {
    const distance = editDistance(name.toLowerCase(), each.toLowerCase());
    if (distance < least) [near, least] = [each, distance];
  }
  return near;
}
