// Turns a cell into code whose top-level names outlive it.
//
// A cell reads like a module: imports, declarations, a last expression whose value is shown. Run as a
// function its names would vanish with it, so declarations become assignments to the notebook's scope.
// Every edit keeps the line it is on: the line numbers of errors stay true.

import { parse, tokTypes } from "acorn";
import { boundNames, namesOfCell } from "./names.js";
import { refusePython } from "./refuse-python.js";

/**
 * @typedef {{ start: number, end: number, text: string }} Edit
 * @typedef {{ hoisted: string, body: string, names: import("./names.js").CellNames }} RewrittenCell
 */

const OPENING = new Set([
  tokTypes.braceL,
  tokTypes.bracketL,
  tokTypes.parenL,
  tokTypes.dollarBraceL,
]);
const CLOSING = new Set([tokTypes.braceR, tokTypes.bracketR, tokTypes.parenR]);

/**
 * @param {string} source
 * @returns {RewrittenCell} two pieces of code to be run one after the other, function declarations first
 * @throws {SyntaxError} with `line`, counted from 1
 */
export function rewriteCell(source) {
  const program = parseCell(source);
  /** @type {any[]} */
  const statements = program.body;
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

/**
 * @param {string} source
 * @returns {any} acorn's syntax tree
 */
export function parseCell(source) {
  /** @type {any[]} */
  const tokens = [];
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
    const { message, pos, raisedAt, loc } = /** @type {any} */ (error);
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
 * @param {any[]} tokens
 * @param {string} source
 */
function refuseMarkupComments(tokens, source) {
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

/**
 * Names the unexpected token and the bracket that may be its cause.
 * @param {string} what
 * @param {number} at
 * @param {any[]} tokens
 */
function unexpected(what, at, tokens) {
  /** @type {any[]} */
  const open = [];
  for (const token of tokens.filter(({ end }) => end <= at)) {
    if (OPENING.has(token.type)) open.push(token);
    else if (CLOSING.has(token.type)) open.pop();
  }
  const [name, bracket] = [what || "end of the cell", open.at(-1)];
  // Anything else may stand there wrongly inside brackets that are closed further down.
  if (!bracket || !["", ";", ")", "]", "}"].includes(what)) return `Unexpected ${name}`;
  return `Unexpected ${name} (is the ${bracket.type.label} of line ${bracket.loc.start.line} closed?)`;
}

/**
 * @param {any} node
 * @param {string} source
 * @returns {Edit[]}
 */
function rewriteStatement(node, source) {
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

/**
 * import { a, b as c } from "m"  becomes  { a, b: c } = await $import("m", ["a", "b"])
 * @param {any} node
 * @param {string} source
 * @returns {Edit}
 */
function rewriteImport(node, source) {
  /** @type {string[]} */
  const locals = node.specifiers.map((/** @type {any} */ specifier) => specifier.local.name);
  const module = JSON.stringify(node.source.value);
  const namespace = node.specifiers.find(
    (/** @type {any} */ specifier) => specifier.type === "ImportNamespaceSpecifier",
  );
  /** @type {[string, string][]} */
  const named = node.specifiers
    .filter((/** @type {any} */ specifier) => specifier !== namespace)
    .map((/** @type {any} */ specifier) => [
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
 * @param {any} node  or nodes
 * @returns {Edit[]}
 */
function rewriteImportCalls(node) {
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
 * @param {any} node
 * @returns {Edit[]}
 */
function rewriteVariables(node) {
  const { kind, declarations } = node;
  if (kind !== "const" && kind !== "let" && kind !== "var") {
    throw Object.assign(new SyntaxError(`a cell cannot declare with ${kind} at its top level`), {
      line: node.loc.start.line,
    });
  }
  return [
    { start: node.start, end: node.start + kind.length, text: ";" },
    ...declarations.flatMap((/** @type {any} */ declaration) => [
      insert(declaration.start, `(${declare(kind, boundNames(declaration.id))}, `),
      insert(declaration.end, declaration.init ? ")" : " = undefined)"),
    ]),
    insert(node.end, ";"),
  ];
}

/**
 * function f() {}  becomes  ;($declare("function", "f"), f = function () {});
 * @param {any} node
 * @returns {Edit[]}
 */
function rewriteFunction(node) {
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
 * @param {any} statement
 * @param {string} source
 * @returns {Edit[]}
 */
function showValue(statement, source) {
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

/**
 * @param {string} kind
 * @param {string[]} names
 */
function declare(kind, names) {
  return `$declare(${[kind, ...names].map((name) => JSON.stringify(name)).join(", ")})`;
}

/**
 * @param {number} at
 * @param {string} text
 * @returns {Edit}
 */
function insert(at, text) {
  return { start: at, end: at, text };
}

/**
 * @param {string} source
 * @param {Edit[]} edits
 */
export function edited(source, edits) {
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

/**
 * @param {string} source
 * @param {any[]} nodes
 */
function erase(source, nodes) {
  return edited(
    source,
    nodes.map(({ start, end }) => ({ start, end, text: blank(source.slice(start, end)) })),
  );
}

/**
 * @param {string} source
 * @param {any[]} nodes
 */
function keep(source, nodes) {
  let result = "";
  let position = 0;
  for (const { start, end } of nodes) {
    result += blank(source.slice(position, start)) + source.slice(start, end);
    position = end;
  }
  return result + blank(source.slice(position));
}

/** @param {string} text */
function blank(text) {
  return text.replace(/[^\n]/g, " ");
}
