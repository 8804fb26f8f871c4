// Joins the cells of a notebook into one ES module that runs in Node, Deno and Bun.

import { boundNames } from "./names.js";
import { edited, parseCell } from "./rewrite.js";

/**
 * @typedef {import("./rewrite.js").Edit} Edit
 * @typedef {{ label: string, source: string }} Code
 */

const HEAD = `import { display, float, init, int, print, round, tuple } from "zeropoint/notebook";

await init();

/** Prints the value of a cell's last expression, as the notebook does. */
function show(value) {
  const text = value === undefined || value === null ? undefined : display(value);
  if (text !== undefined) console.log(text);
}

/** The page draws lines; here they are printed. */
function plotLines({ title, series }) {
  console.log(title);
  for (const { name, points } of series) console.log(name, points);
}
`;

const PROVIDED = [
  "display",
  "float",
  "init",
  "int",
  "print",
  "round",
  "tuple",
  "show",
  "plotLines",
];

/**
 * Cells share their names and may declare them again, so all names are declared once, at the top.
 * @param {string} title
 * @param {Code[]} cells
 */
export function toModule(title, cells) {
  /** @type {Set<string>} */
  const names = new Set();
  const bodies = cells.map(({ label, source }) => `// ${label}\n${cellCode(source, names)}\n`);
  for (const name of PROVIDED) names.delete(name);
  const declared = names.size > 0 ? `let ${[...names].join(", ")};\n` : "";
  return `// ${title}\n// npm install zeropoint\n\n${HEAD}\n${declared}\n${bodies.join("\n")}`;
}

/**
 * @param {string} source
 * @param {Set<string>} names  collects the names that the cell declares
 */
function cellCode(source, names) {
  let program;
  try {
    program = parseCell(source);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return `// ${message}\n${source.replace(/^/gm, "// ")}`;
  }
  const statements = program.body;
  const edits = statements.flatMap((/** @type {any} */ node) => edit(node, names));
  const last = statements.at(-1);
  if (
    last?.type === "ExpressionStatement" &&
    last.expression.type !== "AssignmentExpression" &&
    !isPrint(last.expression)
  ) {
    const { expression } = last;
    const isList = expression.type === "SequenceExpression";
    edits.push(insert(expression.start, isList ? "show(tuple(" : "show("));
    edits.push(insert(expression.end, isList ? "))" : ")"));
  }
  return edited(source, edits);
}

/** @param {any} expression */
const isPrint = ({ type, callee }) => type === "CallExpression" && callee.name === "print";

/**
 * @param {any} node  a statement at the top level of a cell
 * @param {Set<string>} names
 * @returns {Edit[]}
 */
function edit(node, names) {
  switch (node.type) {
    case "ImportDeclaration":
      return [importEdit(node, names)];
    case "VariableDeclaration":
      return node.declarations.length === 1 ? variableEdits(node, names) : manyEdits(node, names);
    case "FunctionDeclaration":
    case "ClassDeclaration":
      names.add(node.id.name);
      return [insert(node.start, `${node.id.name} = `), insert(node.end, ";")];
    default:
      return [];
  }
}

/**
 * @param {any} node
 * @param {Set<string>} names
 * @returns {Edit}
 */
function importEdit({ start, end, source, specifiers }, names) {
  const parts = specifiers.map((/** @type {any} */ { type, imported, local }) => {
    if (!PROVIDED.includes(local.name)) names.add(local.name);
    if (type === "ImportNamespaceSpecifier") return { whole: local.name };
    const name = type === "ImportDefaultSpecifier" ? "default" : (imported.name ?? imported.value);
    return { pair: name === local.name ? name : `${name}: ${local.name}`, local: local.name };
  });
  const call = `await import(${JSON.stringify(source.value)})`;
  const [{ whole } = { whole: undefined }] = parts;
  if (whole) return { start, end, text: `${whole} = ${call};` };
  const pairs = parts
    .filter((/** @type {any} */ { local }) => !PROVIDED.includes(local))
    .map((/** @type {any} */ { pair }) => pair);
  const text = pairs.length > 0 ? `({ ${pairs.join(", ")} } = ${call});` : "";
  return { start, end, text };
}

/**
 * @param {any} node  let or const, with one name or pattern
 * @param {Set<string>} names
 * @returns {Edit[]}
 */
function variableEdits({ start, declarations: [{ id, init, start: at, end }] }, names) {
  for (const name of boundNames(id)) names.add(name);
  const isPattern = id.type !== "Identifier";
  return [
    { start, end: at, text: isPattern ? ";(" : "" },
    insert(end, `${init ? "" : " = undefined"}${isPattern ? ")" : ""}`),
  ];
}

/**
 * @param {any} node  let a = 1, b = 2
 * @param {Set<string>} names
 * @returns {Edit[]}
 */
function manyEdits({ start, declarations }, names) {
  return declarations.flatMap(
    (/** @type {any} */ { id, init, start: at, end }, /** @type {number} */ i) => {
      for (const name of boundNames(id)) names.add(name);
      const open = i === 0 ? { start, end: at, text: ";(" } : insert(at, "(");
      return [open, insert(end, init ? ")" : " = undefined)")];
    },
  );
}

/**
 * @param {number} at
 * @param {string} text
 * @returns {Edit}
 */
const insert = (at, text) => ({ start: at, end: at, text });
