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

/** What Python's values do, and JavaScript's do otherwise. */
const METHODS = new Map([
  ["append", "list.push(x)"],
  ["extend", "list.push(...others)"],
  ["format", `\`text with \${x}\``],
  ["get", "object.name"],
  ["index", "list.indexOf(x)"],
  ["insert", "list.splice(i, 0, x)"],
  ["items", "Object.entries(x)"],
  ["lower", "text.toLowerCase()"],
  ["remove", "list.splice(i, 1)"],
  ["startswith", "text.startsWith(x)"],
  ["strip", "text.trim()"],
  ["upper", "text.toUpperCase()"],
]);

/** What there is for the product of two matrices. */
const MATMUL = "torch.nn.functional.linear(a, b.t())";

/** How a line of Python begins that JavaScript's grammar refuses, and what JavaScript has for it. */
const BEGINNINGS = /** @type {[RegExp, string][]} */ ([
  [/^\s*#/, "// a comment"],
  [/^\s*def\b/, "function f(x) { return x; }"],
  [/^\s*[!%]\s*[a-z]+\s+[a-z]/, "nothing here: what cells need is there already"],
  [/^\s*const\s+[\w$]+\s*,/, "const [a, b] = f();"],
  [/^\s*(from\b|import\s+\w)/, 'import { torch } from "zeropoint/notebook";'],
  [/^\s*for\b(?!\s*\()/, "for (const x of list) { … }"],
  [/^\s*if\b.*:\s*$/, "if (condition) { … }"],
  [/^\s*elif\b/, "else if (condition) { … }"],
  [/^\s*while\b.*:\s*$/, "while (condition) { … }"],
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

/** @param {{ name: string, message: string }} error */
export function missingName({ name, message }) {
  return name === "ReferenceError" ? MISSING.exec(message)?.slice(1).find(Boolean) : undefined;
}

/**
 * @typedef {{ label: string, source: string }} Code
 */

/**
 * @param {import("./cell-error.js").CellError} error
 * @param {Code} cell     where it was met
 * @param {Code[]} cells  all cells of the notebook
 * @returns {string} a sentence, or nothing
 */
export function hint(error, cell, cells) {
  const { name, message, line, promise, near, advice, inTorch = false } = error;
  if (promise) return `${promise} is a Promise: write await before what makes it.`;
  if (name === "SyntaxError" && line !== undefined && near === undefined) {
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
  if (advice) return advice;
  if (near) return `Did you mean ${near}?`;
  const missing = missingName(error);
  return missing ? aboutMissing(missing, cell, cells, inTorch) : "";
}

/**
 * What to do about x.f() where x has no such method.
 * @param {string} of  x, in the cell's words
 * @param {string} method
 * @param {any} owner  the value of x, undefined where it is not known
 * @param {any} Tensor  the class
 * @returns {string} a sentence, or nothing
 */
export function adviceOnCall(of, method, owner, Tensor) {
  if (typeof owner === "function" && !Object.hasOwn(owner, method)) {
    return `${of} is a function: write ${of}()`;
  }
  if (owner?.[method] !== undefined) {
    return `${of}.${method} is a value and no function: write it without ().`;
  }
  const isTensor = owner instanceof Tensor;
  if (owner !== undefined && owner !== null && !isTensor && method in Tensor.prototype) {
    const kind = Array.isArray(owner)
      ? "list"
      : typeof owner === "object"
        ? "object"
        : typeof owner;
    const article = kind === "object" ? "an" : "a";
    return `${of} is ${article} ${kind} and no tensor.`;
  }
  const instead = isTensor || owner === undefined ? undefined : METHODS.get(method);
  if (instead) return `JavaScript writes ${instead}`;
  // What a call gave back is a tensor more often than not.
  const near = nearest(method, namesOf(owner ?? Tensor.prototype));
  return near ? `Did you mean ${near}?` : "";
}

/**
 * The names of all that a value has.
 * @param {unknown} value
 */
export function namesOf(value) {
  /** @type {string[]} */
  const names = [];
  for (let each = Object(value); each && each !== Object.prototype; ) {
    names.push(...Object.getOwnPropertyNames(each));
    each = Object.getPrototypeOf(each);
  }
  return names.filter((name) => name !== "constructor" && !/^_/.test(name));
}

/**
 * @param {string} name
 * @param {Code} cell
 * @param {Code[]} cells
 * @param {boolean} inTorch
 */
function aboutMissing(name, cell, cells, inTorch) {
  const definedBy = cells.find((each) => each !== cell && declaredBy(each).includes(name));
  if (definedBy) return `${definedBy.label} defines it: has it been run?`;
  if (isOnlyAssigned(name, cell)) return `JavaScript declares a name first: let ${name} = …`;
  if (new RegExp(`\\bfor\\s*\\(\\s*${escaped(name)}\\s*(=|of\\b|in\\b)`).test(cell.source)) {
    return `JavaScript declares a name first: for (let ${name} …`;
  }
  if (declaredBy(cell).includes(name)) {
    return "This cell defines it, but further down or inside other braces.";
  }
  const instead = PYTHON.get(name);
  if (instead) return `JavaScript writes ${instead}`;
  if (ELSEWHERE.includes(name)) return `Cells run in a worker, which has no ${name}.`;
  if (inTorch) return `Did you mean torch.${name}?`;
  const near = nearest(name, [...BUILT_IN, ...cells.flatMap(declaredBy)]);
  return near ? `Did you mean ${near}?` : "No cell of this notebook defines it.";
}

/**
 * The names that a cell declares or imports, and more rather than less.
 * @param {Code} cell
 */
function declaredBy({ source }) {
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
