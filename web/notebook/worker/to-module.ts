// Joins the cells of a notebook into one ES module that runs in Node, Deno and Bun.

import { boundNames } from "./names.js";
import { type Edit, edited, parseCell } from "./rewrite.js";

type Code = { label: string; source: string };

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

/** Cells share their names and may declare them again, so all names are declared once, at the top. */
export function toModule(title: string, cells: Code[]) {
  const names = new Set<string>();
  const bodies = cells.map(({ label, source }) => `// ${label}\n${cellCode(source, names)}\n`);
  for (const name of PROVIDED) names.delete(name);
  const declared = names.size > 0 ? `let ${[...names].join(", ")};\n` : "";
  return `// ${title}\n// npm install zeropoint\n\n${HEAD}\n${declared}\n${bodies.join("\n")}`;
}

/** @param names  collects the names that the cell declares */
function cellCode(source: string, names: Set<string>) {
  let program: any;
  try {
    program = parseCell(source);
  } catch (error) {
    const { message } = error as Error;
    return `// ${message}\n${source.replace(/^/gm, "// ")}`;
  }
  const statements = program.body;
  const edits = statements.flatMap((node: any) => edit(node, names));
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

const isPrint = ({ type, callee }: any) => type === "CallExpression" && callee.name === "print";

/** @param node  a statement at the top level of a cell */
function edit(node: any, names: Set<string>): Edit[] {
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

function importEdit({ start, end, source, specifiers }: any, names: Set<string>): Edit {
  const parts = specifiers.map(({ type, imported, local }: any) => {
    if (!PROVIDED.includes(local.name)) names.add(local.name);
    if (type === "ImportNamespaceSpecifier") return { whole: local.name };
    const name = type === "ImportDefaultSpecifier" ? "default" : (imported.name ?? imported.value);
    return { pair: name === local.name ? name : `${name}: ${local.name}`, local: local.name };
  });
  const call = `await import(${JSON.stringify(source.value)})`;
  const [{ whole } = { whole: undefined }] = parts;
  if (whole) return { start, end, text: `${whole} = ${call};` };
  const pairs = parts
    .filter(({ local }: any) => !PROVIDED.includes(local))
    .map(({ pair }: any) => pair);
  const text = pairs.length > 0 ? `({ ${pairs.join(", ")} } = ${call});` : "";
  return { start, end, text };
}

/** @param node  let or const, with one name or pattern */
function variableEdits(
  { start, declarations: [{ id, init, start: at, end }] }: any,
  names: Set<string>,
): Edit[] {
  for (const name of boundNames(id)) names.add(name);
  const isPattern = id.type !== "Identifier";
  return [
    { start, end: at, text: isPattern ? ";(" : "" },
    insert(end, `${init ? "" : " = undefined"}${isPattern ? ")" : ""}`),
  ];
}

/** @param node  let a = 1, b = 2 */
function manyEdits({ start, declarations }: any, names: Set<string>): Edit[] {
  return declarations.flatMap(({ id, init, start: at, end }: any, i: number) => {
    for (const name of boundNames(id)) names.add(name);
    const open = i === 0 ? { start, end: at, text: ";(" } : insert(at, "(");
    return [open, insert(end, init ? ")" : " = undefined)")];
  });
}

const insert = (at: number, text: string): Edit => ({ start: at, end: at, text });
