// Writes a cell in Python with PyTorch: the same step, for readers who know that notation.

import { parse } from "acorn";
import { Expressions, hasBody, NoPython, snake, TORCH_AO } from "./expressions.mjs";

/**
 * @param {string} source  of a cell
 * @returns {string}
 * @throws {NoPython}
 */
export function toPython(source) {
  /** @type {any[]} */
  const comments = [];
  const program = /** @type {any} */ (
    parse(source, {
      ecmaVersion: "latest",
      sourceType: "module",
      locations: true,
      onComment: comments,
    })
  );
  const writer = new Writer(source, comments, boundIn(program));
  writer.block(program.body, "");
  writer.comments(source.length, "");
  const head = writer.needsMath ? "import math\n" : "";
  return head + writer.lines.join("\n").trim();
}

/**
 * A cell in Python; undefined where it has no counterpart.
 * @param {string} source
 */
export function pythonOf(source) {
  try {
    return toPython(source);
  } catch (error) {
    if (error instanceof NoPython) return undefined;
    throw error;
  }
}

/** The lines of a cell, statement by statement. */
class Writer extends Expressions {
  /** @type {string[]} */
  lines = [];
  #commentsDone = 0;
  #end = 0;

  /**
   * @param {string} source
   * @param {any[]} comments
   * @param {Set<string>} bound  names of parameters and variables
   */
  constructor(source, comments, bound) {
    super(source, bound);
    this.allComments = comments;
  }

  /**
   * Writes the comments that begin before a place, and the empty line before it.
   * @param {number} before
   * @param {string} indent
   */
  comments(before, indent) {
    const isApart = (/** @type {number} */ start) =>
      /\n\s*\n\s*$/.test(this.source.slice(this.#end, start)) && this.lines.length > 0;
    for (; this.#commentsDone < this.allComments.length; this.#commentsDone++) {
      const { start, end, value } = this.allComments[this.#commentsDone];
      if (start >= before) break;
      const isBehind = !this.source.slice(this.#end, start).includes("\n") && this.lines.length > 0;
      if (isBehind) this.lines[this.lines.length - 1] += `  # ${value.trim()}`;
      else {
        if (isApart(start)) this.lines.push("");
        for (const line of value.trim().split("\n")) this.lines.push(`${indent}# ${line.trim()}`);
      }
      this.#end = end;
    }
    if (isApart(before)) this.lines.push("");
  }

  /**
   * Leaves out the comments above an import, which are about modules of this library.
   * @param {number} before
   */
  #skipComments(before) {
    while (this.allComments[this.#commentsDone]?.start < before) this.#commentsDone++;
  }

  /**
   * @param {any[]} statements
   * @param {string} indent
   */
  block(statements, indent) {
    for (const statement of statements) {
      if (statement.type === "ImportDeclaration") this.#skipComments(statement.start);
      else this.comments(statement.start, indent);
      this.#end = statement.start;
      this.statement(statement, indent);
      this.#end = statement.end;
    }
  }

  /**
   * @param {any} body  a block or a statement
   * @param {string} indent
   */
  body(body, indent) {
    const statements = body.type === "BlockStatement" ? body.body : [body];
    if (statements.length === 0) this.lines.push(`${indent}pass`);
    this.block(statements, indent);
  }

  /**
   * @param {any} node
   * @param {string} indent
   */
  statement(node, indent) {
    const write = (/** @type {string} */ text) => this.lines.push(`${indent}${text}`);
    const inner = `${indent}    `;
    switch (node.type) {
      case "ExpressionStatement":
        this.expressionStatement(node.expression, indent);
        break;
      case "VariableDeclaration":
        for (const { id, init } of node.declarations) {
          if (!init) write(`${this.pattern(id)} = None`);
          else if (id.type === "ObjectPattern") this.limits(id, init, write);
          else if (hasBody(init)) this.func(this.pattern(id), init, indent);
          else write(`${this.pattern(id)} = ${this.top(init, indent)}`);
        }
        break;
      case "FunctionDeclaration":
        this.func(node.id.name, node, indent);
        break;
      case "ReturnStatement":
        write(node.argument ? `return ${this.tuple(node.argument, indent)}` : "return");
        break;
      case "IfStatement":
        this.ifStatement(node, indent, "if");
        break;
      case "ForOfStatement": {
        const { id } = node.left.declarations?.[0] ?? { id: node.left };
        write(`for ${this.pattern(id)} in ${this.iterated(node.right)}:`);
        this.body(node.body, inner);
        break;
      }
      case "ForStatement":
        write(`for ${this.range(node)}:`);
        this.body(node.body, inner);
        break;
      case "ThrowStatement":
        write(`raise ValueError(${this.args(node.argument.arguments ?? [])})`);
        break;
      case "ImportDeclaration":
        this.imports(node, write);
        break;
      case "BlockStatement":
        this.block(node.body, indent);
        break;
      default:
        throw new NoPython(node.type);
    }
  }

  /**
   * @param {string} name
   * @param {any} node  a function with a body
   * @param {string} indent
   */
  func(name, { params, body }, indent) {
    const names = params.map((/** @type {any} */ param) => this.param(param));
    this.lines.push(`${indent}def ${name}(${names.join(", ")}):`);
    this.body(body, `${indent}    `);
  }

  /**
   * The limits of a dtype by name: const { min, max } = torch.iinfo(dtype).
   * @param {any} pattern
   * @param {any} init
   * @param {(text: string) => void} write
   */
  limits({ properties }, init, write) {
    const isOfDtype = init.callee?.property?.name === "iinfo" && !this.bound.has("info");
    const isPlain = properties.every(
      (/** @type {any} */ { type, computed }) => type === "Property" && !computed,
    );
    if (!isOfDtype || !isPlain) throw new NoPython("an object's properties by name");
    const names = properties.map((/** @type {any} */ { value }) => this.pattern(value));
    const limits = properties.map((/** @type {any} */ { key }) => `info.${key.name}`);
    write(`info = ${this.expression(init)[0]}`);
    write(`${names.join(", ")} = ${limits.join(", ")}`);
  }

  /**
   * @param {any} node
   * @param {string} indent
   */
  expressionStatement(node, indent) {
    const { type, callee } = node;
    const isSet =
      type === "CallExpression" && callee.property?.name === "set" && node.arguments.length === 2;
    if (isSet) {
      const [at, value] = node.arguments;
      const index = at.type === "ArrayExpression" ? this.args(at.elements) : this.expression(at)[0];
      const target = this.atom(callee.object);
      this.lines.push(`${indent}${target}[${index || "..."}] = ${this.expression(value)[0]}`);
    } else if (type === "AssignmentExpression") {
      const target = this.pattern(node.left);
      this.lines.push(`${indent}${target} ${node.operator} ${this.top(node.right, indent)}`);
    } else if (type === "UpdateExpression") {
      this.lines.push(`${indent}${this.pattern(node.argument)} ${node.operator[0]}= 1`);
    } else this.lines.push(`${indent}${this.top(node, indent)}`);
  }

  /**
   * @param {any} node
   * @param {string} indent
   * @param {string} word
   */
  ifStatement({ test, consequent, alternate }, indent, word) {
    this.lines.push(`${indent}${word} ${this.expression(test)[0]}:`);
    this.body(consequent, `${indent}    `);
    if (!alternate) return;
    if (alternate.type === "IfStatement") this.ifStatement(alternate, indent, "elif");
    else {
      this.lines.push(`${indent}else:`);
      this.body(alternate, `${indent}    `);
    }
  }

  /** @param {any} node  for (let i = a; i < b; i++) */
  range({ init, test, update }) {
    const [declaration] = init?.declarations ?? [];
    const isPlain = declaration && test?.operator === "<" && test.left.name === declaration.id.name;
    if (!isPlain) throw new NoPython("a loop that is no range");
    const bounds = [this.expression(declaration.init)[0], this.expression(test.right)[0]];
    if (update.type === "AssignmentExpression") bounds.push(this.expression(update.right)[0]);
    else if (bounds[0] === "0") bounds.shift();
    return `${declaration.id.name} in range(${bounds.join(", ")})`;
  }

  /**
   * @param {any} node
   * @param {(text: string) => void} write
   */
  imports({ source, specifiers }, write) {
    const names = specifiers.map((/** @type {any} */ { imported }) => imported?.name ?? "*");
    if (names.includes("*") || source.value.startsWith("./")) throw new NoPython("an import");
    if (names.includes("torch")) write("import torch");
    const ao = names.filter((/** @type {string} */ name) => TORCH_AO.test(name));
    if (ao.length > 0) write(`from torch.ao.quantization import ${ao.map(snake).join(", ")}`);
    const own = names.filter(
      (/** @type {string} */ name) => name !== "torch" && !TORCH_AO.test(name),
    );
    for (const name of own) write(`# ${name}: as in an earlier notebook`);
  }
}

/**
 * The names of all parameters and variables of a program.
 * @param {any} program
 */
function boundIn(program) {
  /** @type {Set<string>} */
  const names = new Set();
  /** @param {any} pattern */
  const bind = (pattern) => {
    if (pattern?.type === "Identifier") names.add(pattern.name);
    else if (pattern?.type === "AssignmentPattern") bind(pattern.left);
    else if (pattern?.type === "ArrayPattern") pattern.elements.forEach(bind);
    else if (pattern?.type === "ObjectPattern") pattern.properties.forEach(bind);
    else if (pattern?.type === "Property") bind(pattern.value);
  };
  /** @param {any} node */
  const visit = (node) => {
    if (typeof node !== "object" || node === null) return;
    if (node.type === "VariableDeclarator") bind(node.id);
    node.params?.forEach(bind);
    Object.values(node).forEach(visit);
  };
  visit(program);
  return names;
}
