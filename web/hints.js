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
  ["del", "x = undefined"],
  ["enumerate", "list.entries()"],
  ["isinstance", "x instanceof C"],
  ["list", "[...x]"],
  ["pass", "{}"],
  ["sorted", "list.toSorted()"],
  ["sum", "list.reduce((sum, x) => sum + x, 0)"],
  ["type", "typeof x, or x.constructor"],
  ["zip", "a.map((x, i) => [x, b[i]])"],
]);

/** What there is for the product of two matrices. */
const MATMUL = "torch.nn.functional.linear(a, b.t())";

/** How a line of Python begins that JavaScript's grammar refuses, and what JavaScript has for it. */
const BEGINNINGS = /** @type {[RegExp, string][]} */ ([
  [/^\s*#/, "// a comment"],
  [/^\s*def\b/, "function f(x) { return x; }"],
  [/^\s*(from\b|import\s+\w)/, 'import { torch } from "zeropoint/notebook";'],
  [/^\s*for\b(?!\s*\()/, "for (const x of list) { … }"],
  [/^\s*(if|elif|while)\b.*:\s*$/, "if (condition) { … }"],
  [/^\s*del(ete)?\s+[\w$]+\s*[.[]/, "delete x.name"],
  [/^\s*del(ete)?\s+\w/, "x = undefined"],
  [/^\s*raise\b/, 'throw new Error("…")'],
  [/^\s*assert\b/, 'if (!condition) throw new Error("…")'],
  [/^\s*(global|nonlocal)\b/, "nothing here: a function sees the names around it"],
]);

/** The same for what may stand anywhere in a line. */
const ANYWHERE = /** @type {[RegExp, string][]} */ ([
  [/"""|'''/, "// a comment, and `text` that may have several lines"],
  [/\bf["']/, `\`text with \${x}\``],
  [/(^|\s)#(\s|$)/, "// a comment"],
  [/[\w$)\]]\s*@/, MATMUL],
  [/\blambda\b/, "(x) => x + 1"],
  [/[[({].*\bfor\s+\w+\s+in\b/, "list.map((x) => …)"],
  [/[\w$)\]]\[[^\]?{]*:/, "t.narrow(dim, start, length), and list.slice(start, end)"],
  [/\bnot\b/, "!x"],
  [/\b(and|or)\b/, "x && y, and x || y"],
  [/\bis\b/, "x === y"],
  [/\S\s+if\b(?!\s*\().*\belse\b/, "condition ? x : y"],
  [/^\s*(class|else|try|with|except|finally)\b.*:\s*$/, "{ … } around what Python indents"],
]);

/** What pages and Node have, but no worker. */
const ELSEWHERE = [
  "alert",
  "confirm",
  "document",
  "localStorage",
  "process",
  "prompt",
  "require",
  "sessionStorage",
  "window",
];

const BUILT_IN = ["print", "float", "int", "round", "plotLines", "console", "Math"];

/** What Chromium, Firefox and Safari say of a name that does not exist. */
const MISSING =
  /^(?:(\S+) is not defined|assignment to undeclared variable (\S+)|Can't find variable: (\S+))$/;

/**
 * @typedef {{ label: string, source: string }} Code
 */

/**
 * @param {{ name: string, message: string, line?: number, promise?: string, near?: string }} error
 * @param {Code} cell     where it was met
 * @param {Code[]} cells  all cells of the notebook
 * @returns {string} a sentence, or nothing
 */
export function hint({ name, message, line, promise, near }, cell, cells) {
  if (promise) return `${promise} is a Promise: write await before what makes it.`;
  if (name === "SyntaxError" && line !== undefined) {
    const text = cell.source.split("\n")[line - 1] ?? "";
    // What a comment or a text says is no grammar.
    const code = text.replace(/\/\/.*|(?<!\bf)(["'`])(?!\1).*?\1/g, "");
    const [, instead] =
      BEGINNINGS.find(([beginning]) => beginning.test(text)) ??
      ANYWHERE.find(([word]) => word.test(code)) ??
      [];
    return instead ? `JavaScript writes ${instead}` : "";
  }
  if (/(\.|torch has no )(matmul|mm)\b/.test(message)) return `The product a @ b is ${MATMUL}`;
  if (near) return `Did you mean ${near}?`;
  const missing = name === "ReferenceError" ? MISSING.exec(message)?.slice(1).find(Boolean) : "";
  return missing ? missingName(missing, cell, cells) : "";
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
  if (isOnlyAssigned(name, cell)) return `JavaScript declares a name first: let ${name} = …`;
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

/**
 * Whether a cell assigns to a name, as Python does, without a declaration of it.
 * @param {string} name
 * @param {Code} cell
 */
function isOnlyAssigned(name, { source }) {
  const own = escaped(name);
  const declared = new RegExp(
    `\\b(const|let|var|class|function|import)\\b[^;=]*(?<![\\w$])${own}(?![\\w$])`,
  );
  const assigned = new RegExp(`^[ \\t]*${own}\\s*=(?![=>])`, "m");
  return assigned.test(source) && !declared.test(source);
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
export function nearest(name, names) {
  let [near, least] = ["", Math.min(2, name.length / 3) + 0.5];
  for (const each of names) {
    const [a, b] = [name.toLowerCase(), each.toLowerCase()];
    const distance = isSwapped(a, b) ? 1 : editDistance(a, b);
    if (distance < least) [near, least] = [each, distance];
  }
  return near;
}

/**
 * Whether two neighbouring letters have changed places: one slip, though two letters differ.
 * @param {string} a
 * @param {string} b
 */
function isSwapped(a, b) {
  const at = [...a].findIndex((letter, i) => letter !== b[i]);
  return at >= 0 && a.slice(0, at) + a[at + 1] + a[at] + a.slice(at + 2) === b;
}
