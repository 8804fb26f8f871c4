// Turns a cell into code whose top-level names outlive it.
//
// A cell reads like a module: imports, declarations, a last expression whose value is shown. Run as a
// function its names would vanish with it, so declarations become assignments to the notebook's scope.
// Every edit keeps the line it is on: the line numbers of errors stay true.

import { parse, tokTypes } from "acorn";
import { boundNames, type CellNames, namesOfCell } from "./names.js";
import { refusePython } from "./refuse-python.js";

export type Edit = { start: number; end: number; text: string };

type RewrittenCell = { hoisted: string; body: string; names: CellNames };

const OPENING = new Set([
  tokTypes.braceL,
  tokTypes.bracketL,
  tokTypes.parenL,
  tokTypes.dollarBraceL,
]);
const CLOSING = new Set([tokTypes.braceR, tokTypes.bracketR, tokTypes.parenR]);

/**
 * @returns two pieces of code to be run one after the other, function declarations first
 * @throws {SyntaxError} with `line`, counted from 1
 */
export function rewriteCell(source: string): RewrittenCell {
  const program = parseCell(source);
  const statements: any[] = program.body;
  refusePython(statements, source);
  const functions = statements.filter((node) => node.type === "FunctionDeclaration");
  const others = statements.filter((node) => node.type !== "FunctionDeclaration");

  const last = statements.at(-1);
  const edits = others.flatMap((node) => rewriteStatement(node, source));
  if (last?.type === "ExpressionStatement") edits.push(...showValue(last, source));
  edits.push(...rewriteImportCalls(others));

  return {
    hoisted: edited(keep(source, functions), [
      ...functions.flatMap(rewriteFunction),
      ...rewriteImportCalls(functions),
    ]),
    body: edited(erase(source, functions), edits),
    names: namesOfCell(program),
  };
}

/** @returns acorn's syntax tree */
export function parseCell(source: string): any {
  const tokens: any[] = [];
  try {
    const program = parse(source, {
      ecmaVersion: "latest",
      sourceType: "module",
      locations: true,
      onToken: tokens,
    });
    refuseMarkupComments(tokens, source);
    return program;
  } catch (error) {
    const { message, pos, raisedAt, loc } = error as any;
    if (pos === undefined) throw error;
    const reason = message.replace(/ \(\d+:\d+\)$/, "");
    const text =
      reason === "Unexpected token" ? unexpected(source.slice(pos, raisedAt), pos, tokens) : reason;
    throw Object.assign(new SyntaxError(text), { line: loc?.line });
  }
}

/**
 * Refuses `<!--`, and `-->` where it begins a line. They are operators here, in a module, but begin comments where
 * the cell is evaluated: the code would be other than what was rewritten.
 */
function refuseMarkupComments(tokens: any[], source: string) {
  for (const { type, start, loc } of tokens) {
    const isOpening = type === tokTypes.relational && source.startsWith("<!--", start);
    const isClosing = type === tokTypes.incDec && source.startsWith("-->", start);
    if (!isOpening && !isClosing) continue;
    const text = isOpening ? "<!--" : "-->";
    throw Object.assign(new SyntaxError(`Unexpected ${text}: put spaces between its operators`), {
      line: loc.start.line,
    });
  }
}

/** Names the unexpected token and the bracket that may be its cause. */
function unexpected(what: string, at: number, tokens: any[]) {
  const open: any[] = [];
  for (const token of tokens.filter(({ end }) => end <= at)) {
    if (OPENING.has(token.type)) open.push(token);
    else if (CLOSING.has(token.type)) open.pop();
  }
  const [name, bracket] = [what || "end of the cell", open.at(-1)];
  // Anything else may stand there wrongly inside brackets that are closed further down.
  if (!bracket || !["", ";", ")", "]", "}"].includes(what)) return `Unexpected ${name}`;
  return `Unexpected ${name} (is the ${bracket.type.label} of line ${bracket.loc.start.line} closed?)`;
}

function rewriteStatement(node: any, source: string): Edit[] {
  switch (node.type) {
    case "ImportDeclaration":
      return [rewriteImport(node, source)];
    case "VariableDeclaration":
      return rewriteVariables(node);
    case "ClassDeclaration":
      return [
        insert(node.start, `;(${declare("class", [node.id.name])}, ${node.id.name} = `),
        insert(node.end, ");"),
      ];
    case "ExportAllDeclaration":
    case "ExportDefaultDeclaration":
    case "ExportNamedDeclaration":
      throw Object.assign(
        new SyntaxError("a cell has nobody to export to: its names are shared anyway"),
        { line: node.loc.start.line },
      );
    default:
      return [];
  }
}

/** import { a, b as c } from "m"  becomes  { a, b: c } = await $import("m", ["a", "b"]) */
function rewriteImport(node: any, source: string): Edit {
  const locals: string[] = node.specifiers.map((specifier: any) => specifier.local.name);
  const module = JSON.stringify(node.source.value);
  const namespace = node.specifiers.find(
    (specifier: any) => specifier.type === "ImportNamespaceSpecifier",
  );
  const named: [string, string][] = node.specifiers
    .filter((specifier: any) => specifier !== namespace)
    .map((specifier: any) => [
      specifier.imported ? (specifier.imported.name ?? specifier.imported.value) : "default",
      specifier.local.name,
    ]);
  const names = JSON.stringify(named.map(([imported]) => imported));
  const pattern = named.map(([imported, local]) => `${JSON.stringify(imported)}: ${local}`);

  let text = `;await $import(${module}, ${names});`;
  if (locals.length > 0) text = `;${declare("const", locals)};`;
  if (named.length > 0) text += `({ ${pattern.join(", ")} } = await $import(${module}, ${names}));`;
  if (namespace) text += `${namespace.local.name} = await $import(${module}, []);`;

  const lines = source.slice(node.start, node.end).split("\n").length - 1;
  return { start: node.start, end: node.end, text: text + "\n".repeat(lines) };
}

/**
 * import("m")  becomes  $import("m"), wherever it is.
 * @param node  or nodes
 */
function rewriteImportCalls(node: any): Edit[] {
  if (typeof node !== "object" || node === null) return [];
  const inner = Object.entries(node).flatMap(([key, value]) =>
    key === "loc" ? [] : rewriteImportCalls(value),
  );
  if (node.type !== "ImportExpression") return inner;
  return [{ start: node.start, end: node.start + "import".length, text: "$import" }, ...inner];
}

/**
 * const { a, b } = f(), c = 1  becomes  ;($declare("const", "a", "b"), { a, b } = f()), (..., c = 1);
 * A binding pattern is an assignment pattern too, so only what surrounds it changes. The semicolons
 * keep the parentheses from joining the lines above and below.
 */
function rewriteVariables(node: any): Edit[] {
  const { kind, declarations } = node;
  if (kind !== "const" && kind !== "let" && kind !== "var") {
    throw Object.assign(new SyntaxError(`a cell cannot declare with ${kind} at its top level`), {
      line: node.loc.start.line,
    });
  }
  return [
    { start: node.start, end: node.start + kind.length, text: ";" },
    ...declarations.flatMap((declaration: any) => [
      insert(declaration.start, `(${declare(kind, boundNames(declaration.id))}, `),
      insert(declaration.end, declaration.init ? ")" : " = undefined)"),
    ]),
    insert(node.end, ";"),
  ];
}

/** function f() {}  becomes  ;($declare("function", "f"), f = function () {}); */
function rewriteFunction(node: any): Edit[] {
  const { name, start, end } = node.id;
  return [
    insert(node.start, `;(${declare("function", [name])}, ${name} = `),
    { start, end, text: "" },
    insert(node.end, ");"),
  ];
}

/**
 * The value of the last expression is the cell's result; an assignment shows nothing, as in Python,
 * and a list of expressions with commas between them shows as a tuple.
 */
function showValue(statement: any, source: string): Edit[] {
  const { expression } = statement;
  if (expression.type === "AssignmentExpression") return [];
  const end = source[statement.end - 1] === ";" ? statement.end - 1 : statement.end;
  const edits = [insert(statement.start, "return ("), insert(end, ")")];
  if (expression.type === "MemberExpression") {
    // A name that is not there would show nothing: a.b becomes $get(a, "b", "a").
    const { start, end: behind, property, computed } = expression;
    const at = source.lastIndexOf(computed ? "[" : ".", property.start - 1);
    const owner = JSON.stringify(source.slice(start, at).trim());
    const key = computed ? "" : JSON.stringify(property.name);
    const lines = source.slice(at, behind).split("\n").length - 1;
    return [
      edits[0],
      insert(start, "$get("),
      ...(computed
        ? [
            { start: at, end: at + 1, text: ", " },
            { start: behind - 1, end: behind, text: `, ${owner})` },
          ]
        : [{ start: at, end: behind, text: `, ${key}, ${owner})${"\n".repeat(lines)}` }]),
      edits[1],
    ];
  }
  if (expression.type !== "SequenceExpression") return edits;
  // The outer pair first: at the same place, edits apply in the order given.
  return [
    insert(statement.start, "return ("),
    insert(expression.start, "$tuple(["),
    insert(expression.end, "])"),
    insert(end, ")"),
  ];
}

function declare(kind: string, names: string[]) {
  return `$declare(${[kind, ...names].map((name) => JSON.stringify(name)).join(", ")})`;
}

function insert(at: number, text: string): Edit {
  return { start: at, end: at, text };
}

export function edited(source: string, edits: Edit[]) {
  // Array.prototype.sort is stable: edits at one place keep their order.
  const ordered = [...edits].sort((a, b) => a.start - b.start);
  let result = "";
  let position = 0;
  for (const { start, end, text } of ordered) {
    result += source.slice(position, start) + text;
    position = end;
  }
  return result + source.slice(position);
}

function erase(source: string, nodes: any[]) {
  return edited(
    source,
    nodes.map(({ start, end }) => ({ start, end, text: blank(source.slice(start, end)) })),
  );
}

function keep(source: string, nodes: any[]) {
  let result = "";
  let position = 0;
  for (const { start, end } of nodes) {
    result += blank(source.slice(position, start)) + source.slice(start, end);
    position = end;
  }
  return result + blank(source.slice(position));
}

function blank(text: string) {
  return text.replace(/[^\n]/g, " ");
}
