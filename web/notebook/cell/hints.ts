// Hints at the cause of a cell's error: Python habits, or another cell.

import { nearestName as nearest } from "../../../dist/notebook/python/nearest-name.js";
import type { CellError } from "../worker/cell-error.js";
import { REMOVED, REMOVED_CONNECTING, REMOVED_EVALUATING } from "../worker/isolate.js";

export { nearest };

/** Python's keywords and names, with JavaScript's equivalents. */
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

/** Methods of Python's values, with JavaScript's equivalents. */
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

/** The functions for the product of two matrices. */
const MATMUL = "a.matmul(b)";

/** Beginnings of Python lines that are syntax errors in JavaScript, with JavaScript's equivalents. */
const BEGINNINGS = [
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
] as [RegExp, string][];

/** A Python import line, which JavaScript parses as the beginning of its own import statement. */
const PYTHON_IMPORT = /^\s*(from\s+[\w.]+\s+import\b|import\s+[\w.]+(\s+as\s+\w+)?\s*(#.*)?$)/;

/** The same for code anywhere in a line. */
const ANYWHERE = [
  [/"""|'''/, "// a comment, and `text` that may have several lines"],
  [/\bf["']/, `\`text with \${x}\``],
  [/(^|\s)#(\s|$)/, "// a comment"],
  [/[\w$)\]]\s*@/, MATMUL],
  [/\blambda\b/, "(x) => x + 1"],
  [/[[({].*\bfor\s+\w+\s+in\b/, "list.map((x) => …)"],
  [/[\w$)\]]\[[^\]?{]*:/, 't.get("1:3", ":"), and list.slice(start, end)'],
  [/\bnot\b/, "!x"],
  [/\b(and|or)\b/, "x && y, and x || y"],
  [/\bis\b/, "x === y"],
  [/\S\s+if\b(?!\s*\().*\belse\b/, "condition ? x : y"],
  [/^\s*(class|else|try|with|except|finally)\b.*:\s*$/, "{ … } around what Python indents"],
] as [RegExp, string][];

/** Names that pages and Node have and workers lack. */
const ELSEWHERE = ["alert", "confirm", "document", "process", "prompt", "require", "window"];

const BUILT_IN = ["print", "float", "int", "round", "plotLines", "console", "Math"];

/** Messages of Chromium, Firefox and Safari for an unknown name. */
const MISSING =
  /^(?:(\S+) is not defined|assignment to undeclared variable (\S+)|Can't find variable: (\S+))$/;

export function missingName({ name, message }: { name: string; message: string }) {
  return name === "ReferenceError" ? MISSING.exec(message)?.slice(1).find(Boolean) : undefined;
}

type Code = { label: string; source: string };

/**
 * @param cell  where it was met
 * @param cells  all cells of the notebook
 * @returns a sentence, or nothing
 */
export function hint(error: CellError, cell: Code, cells: Code[]): string {
  const { name, line, promise, near, advice, inTorch = false } = error;
  if (promise) return `${promise} is a Promise: write await before what makes it.`;
  if (name === "SyntaxError" && line !== undefined && near === undefined) {
    const text = cell.source.split("\n")[line - 1] ?? "";
    // Ignore comments and string literals.
    const code = text.replace(/\/\/.*|(?<!\bf)(["'`])(?!\1).*?\1/g, "");
    // An import of Python is only seen to be wrong where the next line begins.
    const above = cell.source
      .split("\n")
      .slice(0, line - 1)
      .findLast((each) => each.trim() !== "");
    const [, instead] =
      BEGINNINGS.find(([beginning]) => beginning.test(text)) ??
      (PYTHON_IMPORT.test(above ?? "")
        ? BEGINNINGS.find(([, js]) => /^import/.test(js))
        : undefined) ??
      ANYWHERE.find(([word]) => word.test(code)) ??
      [];
    return instead ? `JavaScript writes ${instead}` : "";
  }
  if (advice) return advice;
  if (near) return `Did you mean ${near}?`;
  const missing = missingName(error);
  return missing ? aboutMissing(missing, cell, cells, inTorch) : "";
}

/**
 * Hint for x.f() where x has no method f.
 * @param of  x, in the cell's words
 * @param owner  the value of x, undefined where it is not known
 * @param Tensor  the class
 * @returns a sentence, or nothing
 */
export function adviceOnCall(of: string, method: string, owner: any, Tensor: any): string {
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
  // Assume a tensor for the result of a call.
  const near = nearest(method, namesOf(owner ?? Tensor.prototype));
  return near ? `Did you mean ${near}?` : "";
}

/** The names of all that a value has. */
export function namesOf(value: unknown) {
  const names: string[] = [];
  for (let each = Object(value); each && each !== Object.prototype; ) {
    names.push(...Object.getOwnPropertyNames(each));
    each = Object.getPrototypeOf(each);
  }
  return names.filter((name) => name !== "constructor" && !/^_/.test(name));
}

function aboutMissing(name: string, cell: Code, cells: Code[], inTorch: boolean) {
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
  if (REMOVED.includes(name)) {
    return `Cells have no ${name}: nothing that a cell does outlives its notebook.`;
  }
  if (REMOVED_CONNECTING.includes(name)) {
    return `Cells have no ${name}: they connect to no address. Paste the data into the cell.`;
  }
  if (REMOVED_EVALUATING.includes(name)) {
    return `Cells have no ${name}: write the code in a cell.`;
  }
  if (ELSEWHERE.includes(name)) return `Cells run in a worker, which has no ${name}.`;
  if (inTorch) return `Did you mean torch.${name}?`;
  const near = nearest(name, [...BUILT_IN, ...cells.flatMap(declaredBy)]);
  return near ? `Did you mean ${near}?` : "No cell of this notebook defines it.";
}

/** The names that a cell declares or imports, and more rather than less. */
function declaredBy({ source }: Code) {
  const declarations = source.matchAll(
    /\b(?:const|let|var|class|function\s*\*?|import(?:\s*\*\s*as)?)\s*([\w$]+|[{[][^=;"']*)/g,
  );
  // The second name and those after it, as in let a = 1, b = 2.
  const assignments = source.matchAll(/([\w$]+)\s*=(?![=>])/g);
  return [...declarations, ...assignments].flatMap(([, names]) => names.match(/[\w$]+/g) ?? []);
}

/** Whether a cell assigns to a name, as Python does, without a declaration of it. */
function isOnlyAssigned(name: string, { source }: Code) {
  const own = escaped(name);
  const declared = new RegExp(
    `\\b(const|let|var|class|function|import)\\b[^;=]*(?<![\\w$])${own}(?![\\w$])`,
  );
  const assigned = new RegExp(`^[ \\t]*${own}\\s*=(?![=>])`, "m");
  return assigned.test(source) && !declared.test(source);
}

function escaped(name: string) {
  return name.replaceAll("$", "\\$");
}
