// Writes the expressions of a cell in Python.

/** Thrown for code that has no counterpart here. */
export class NoPython extends Error {}

/** Methods that are operators in Python, and how tightly each binds. */
const OPERATORS = new Map([
  ["add", ["+", 11]],
  ["sub", ["-", 11]],
  ["mul", ["*", 12]],
  ["div", ["/", 12]],
  ["eq", ["==", 6]],
  ["ne", ["!=", 6]],
  ["lt", ["<", 6]],
  ["le", ["<=", 6]],
  ["gt", [">", 6]],
  ["ge", [">=", 6]],
]);

/** JavaScript's operators: Python's, and how tightly each binds. */
const BINARY = new Map([
  ["||", ["or", 1]],
  ["&&", ["and", 2]],
  ["===", ["==", 6]],
  ["!==", ["!=", 6]],
  ["<", ["<", 6]],
  ["<=", ["<=", 6]],
  [">", [">", 6]],
  [">=", [">=", 6]],
  ["+", ["+", 11]],
  ["-", ["-", 11]],
  ["*", ["*", 12]],
  ["/", ["/", 12]],
  ["%", ["%", 12]],
  ["**", ["**", 14]],
]);

const NAMES = new Map([
  ["undefined", "None"],
  ["Infinity", "math.inf"],
  ["NaN", "math.nan"],
  ["String", "str"],
  ["Number", "float"],
]);

/** Modules of PyTorch that contain the names that cells import. */
export const TORCH_AO =
  /Observer$|^(QConfig|default\w*[qQ][cC]onfig|default\w+|perChannel\w+|prepare|convert)$/;

/** Methods of JavaScript's own values that are not translated. */
const UNKNOWN = new Set([
  "slice",
  "subarray",
  "trimEnd",
  "reduce",
  "padEnd",
  "padStart",
  "toFixed",
]);

/** Built-in functions that are written here; a parameter or variable of such a name gets an underscore. */
const BUILT_IN = new Set(["abs", "enumerate", "len", "max", "min", "next", "range", "round"]);

const ATOM = 20;
const WIDTH = 92; // characters of a line

/** @typedef {[string, number]} Text  an expression and how tightly its outermost operator binds */

export class Expressions {
  needsMath = false;

  /**
   * @param {string} source
   * @param {Set<string>} bound  names of parameters and variables
   */
  constructor(source, bound) {
    this.source = source;
    this.bound = bound;
  }

  /** @param {any} node  what a loop runs over */
  iterated(node) {
    const { type, callee } = node;
    const isEntries = type === "CallExpression" && callee.property?.name === "entries";
    if (!isEntries) return this.expression(node)[0];
    const isObject = callee.object.name === "Object";
    if (isObject) return `${this.atom(node.arguments[0])}.items()`;
    return `enumerate(${this.expression(callee.object)[0]})`;
  }

  /**
   * An expression that ends a line: a list of expressions is a tuple.
   * @param {any} node
   * @param {string} indent
   */
  top(node, indent) {
    if (node.type === "SequenceExpression") return this.args(node.expressions);
    const [text] = this.expression(node, indent);
    return text;
  }

  /**
   * A result: a list of names is returned as a tuple.
   * @param {any} node
   * @param {string} indent
   */
  tuple(node, indent) {
    return node.type === "ArrayExpression" && node.elements.length > 1
      ? this.args(node.elements)
      : this.top(node, indent);
  }

  /** @param {any} node */
  atom(node) {
    const [text, strength] = this.expression(node);
    return strength < ATOM ? `(${text})` : text;
  }

  /** @param {any[]} nodes */
  args(nodes) {
    return nodes
      .map((node, i) => {
        const isKeywords =
          node.type === "ObjectExpression" && i === nodes.length - 1 && nodes.length > 0;
        if (!isKeywords) return this.expression(node)[0];
        if (node.properties.some((/** @type {any} */ { type }) => type !== "Property")) {
          throw new NoPython("a spread object");
        }
        return node.properties
          .map(
            (/** @type {any} */ { key, value }) =>
              `${snake(key.name)}=${this.expression(value)[0]}`,
          )
          .join(", ");
      })
      .join(", ");
  }

  /**
   * @param {any} node
   * @param {string} [indent]  of its line
   * @returns {Text}
   */
  expression(node, indent = "") {
    switch (node.type) {
      case "Identifier": {
        if (node.name === "Array") throw new NoPython("Array");
        const name = NAMES.get(node.name) ?? node.name;
        if (name.startsWith("math.")) this.needsMath = true;
        if (TORCH_AO.test(name)) return [snake(name), ATOM];
        // A function or a value of the library, or of a cell that has no counterpart.
        if (/[a-z][A-Z]/.test(name) && !BUILT_IN_ERROR.test(name)) throw new NoPython(name);
        return [this.variable(name), ATOM];
      }
      case "Literal":
        if (node.regex || node.bigint) throw new NoPython("a literal");
        if (node.value === null) return ["None", ATOM];
        if (typeof node.value === "boolean") return [node.value ? "True" : "False", ATOM];
        return [typeof node.value === "string" ? JSON.stringify(node.value) : node.raw, ATOM];
      case "TemplateLiteral":
        return [this.template(node), ATOM];
      case "ArrayExpression":
        return [this.list(node, indent), ATOM];
      case "ObjectExpression":
        return [this.dictionary(node), ATOM];
      case "UnaryExpression":
        if (node.operator === "!") return [`not ${this.below(node.argument, 5)}`, 5];
        if (node.operator === "-") return [`-${this.below(node.argument, 13)}`, 13];
        throw new NoPython(node.operator);
      case "LogicalExpression":
      case "BinaryExpression":
        return this.binary(node.operator, node.left, node.right);
      case "ConditionalExpression": {
        const [test, yes, no] = [node.test, node.consequent, node.alternate];
        return [`${this.below(yes, 1)} if ${this.below(test, 1)} else ${this.below(no, 1)}`, 0];
      }
      case "ArrowFunctionExpression": {
        if (hasBody(node)) throw new NoPython("a function with a body");
        const params = node.params.map((/** @type {any} */ param) => this.param(param));
        return [`lambda ${params.join(", ")}: ${this.expression(node.body)[0]}`, 0];
      }
      case "MemberExpression":
        return this.member(node);
      case "NewExpression":
        return [`${this.atom(node.callee)}(${this.args(node.arguments)})`, ATOM];
      case "CallExpression":
        return this.call(node, indent);
      case "AwaitExpression":
        return this.expression(node.argument);
      case "SequenceExpression":
        return [`(${this.args(node.expressions)})`, ATOM];
      case "SpreadElement":
        return [`*${this.atom(node.argument)}`, 0];
      default:
        throw new NoPython(node.type);
    }
  }

  /**
   * @param {string} operator
   * @param {any} left
   * @param {any} right
   * @returns {Text}
   */
  binary(operator, left, right) {
    const found = BINARY.get(operator);
    if (!found) throw new NoPython(operator);
    const [text, strength] = /** @type {[string, number]} */ (found);
    if (right.type === "Literal" && right.value === null) {
      return [`${this.below(left, 7)} is ${text === "!=" ? "not " : ""}None`, 6];
    }
    return [`${this.below(left, strength)} ${text} ${this.below(right, strength + 1)}`, strength];
  }

  /**
   * An expression in parentheses if it binds less tightly.
   * @param {any} node
   * @param {number} strength
   */
  below(node, strength) {
    const [text, own] = this.expression(node);
    return own < strength ? `(${text})` : text;
  }

  /**
   * @param {any} node
   * @returns {Text}
   */
  member({ object, property, computed }) {
    if (computed) return [`${this.atom(object)}[${this.expression(property)[0]}]`, ATOM];
    const { name } = property;
    if (name === "name" && object.property?.name === "constructor") {
      return [`type(${this.expression(object.object)[0]}).__name__`, ATOM];
    }
    if (name === "length") return [`len(${this.expression(object)[0]})`, ATOM];
    if (object.name === "Math") {
      this.needsMath = true;
      return [`math.${name.toLowerCase()}`, ATOM];
    }
    return [`${this.atom(object)}.${isOfQConfig(object, name) ? snake(name) : name}`, ATOM];
  }

  /**
   * @param {any} node
   * @param {string} indent
   * @returns {Text}
   */
  call({ callee, arguments: given }, indent) {
    const { type, object, property, computed } = callee;
    if (type === "MemberExpression" && !computed) {
      const operator = OPERATORS.get(property.name);
      const isTensor = object.name !== "torch" && given.length === 1;
      if (operator && isTensor && given[0].type !== "ObjectExpression") {
        const [text, strength] = /** @type {[string, number]} */ (operator);
        const right = this.below(given[0], strength + 1);
        return [`${this.below(object, strength)} ${text} ${right}`, strength];
      }
      if (object.name === "Math" && ["abs", "max", "min", "round"].includes(property.name)) {
        return [`${property.name}(${this.args(given)})`, ATOM];
      }
      const { callee: maker } = object;
      if (property.name === "fill" && maker?.name === "Array") {
        return [`[${this.args(given)}] * ${this.atom(object.arguments[0])}`, 12];
      }
      if (object.name === "Array" && property.name === "from") return [this.repeated(given), ATOM];
      if (property.name === "sort") return [this.sorted(object, given[0]), ATOM];
      if (UNKNOWN.has(property.name)) throw new NoPython(property.name);
      if (property.name === "toString") return [`str(${this.expression(object)[0]})`, ATOM];
      if (property.name === "join")
        return [`${this.atom(given[0])}.join(${this.expression(object)[0]})`, ATOM];
      if (property.name === "push")
        return [`${this.atom(object)}.append(${this.args(given)})`, ATOM];
      if (property.name === "map") return [this.comprehension(object, given[0]), ATOM];
      if (property.name === "filter") return [`[${this.chosen(object, given[0])}]`, ATOM];
      if (property.name === "find") return [`next((${this.chosen(object, given[0])}), None)`, ATOM];
      if (object.name === "console") return [`print(${this.args(given)})`, ATOM];
    }
    const head = this.atom(callee);
    const flat = `${head}(${this.args(given)})`;
    const [only] = given;
    if (flat.includes("\n") || indent.length + flat.length <= WIDTH) {
      // A list of several lines keeps its lines.
      if (only?.type === "ArrayExpression" && this.isTall(only)) {
        const rest = given.length > 1 ? `, ${this.args(given.slice(1))}` : "";
        return [`${head}(${this.list(only, indent)}${rest})`, ATOM];
      }
      return [flat, ATOM];
    }
    const inner = `${indent}    `;
    const parts = given.flatMap((/** @type {any} */ each, /** @type {number} */ i) =>
      each.type === "ObjectExpression" && i === given.length - 1
        ? each.properties.map(
            (/** @type {any} */ { key, value }) =>
              `${snake(key.name)}=${this.expression(value)[0]}`,
          )
        : [this.expression(each, inner)[0]],
    );
    return [
      `${head}(\n${parts.map((/** @type {string} */ part) => `${inner}${part},\n`).join("")}${indent})`,
      ATOM,
    ];
  }

  /**
   * @param {any} list
   * @param {any} body  of a function
   */
  comprehension(list, body) {
    return `[${this.result(body)} ${this.loop(list, body)[0]}]`;
  }

  /**
   * The loop over the values for which a function returns true.
   * @param {any} list
   * @param {any} body  of a function
   */
  chosen(list, body) {
    const test = this.result(body);
    const [loop, value] = this.loop(list, body);
    return `${value} ${loop} if ${test}`;
  }

  /**
   * @param {any} list  of numbers
   * @param {any} order  (a, b) => a - b, or b - a
   */
  sorted(list, order) {
    const { left, operator, right } = order?.body ?? {};
    const [a, b] = (order?.params ?? []).map((/** @type {any} */ { name }) => name);
    const isRising = left?.name === a && right?.name === b;
    const isFalling = left?.name === b && right?.name === a;
    if (operator !== "-" || !a || !b || isRising === isFalling) throw new NoPython("an order");
    return `sorted(${this.expression(list)[0]}${isFalling ? ", reverse=True" : ""})`;
  }

  /** @param {any} body  of a function: the expression that it returns */
  result(body) {
    if (body?.type !== "ArrowFunctionExpression" || hasBody(body)) {
      throw new NoPython("a function with a body");
    }
    return this.expression(body.body)[0];
  }

  /**
   * A loop over a list with the names of a function's parameters, and the name of the value.
   * @param {any} list
   * @param {any} body  of a function
   */
  loop(list, body) {
    const [param, index] = body.params.map((/** @type {any} */ each) => this.pattern(each));
    const over = this.iterated(list);
    const loop = index ? `for ${index}, ${param} in enumerate(${over})` : `for ${param} in ${over}`;
    return [loop, param];
  }

  /** @param {any[]} given  { length: n }, () => value */
  repeated([list, make]) {
    const length = list?.properties?.find((/** @type {any} */ { key }) => key.name === "length");
    if (!length || make?.params?.length > 0 || make?.body.type === "BlockStatement") {
      throw new NoPython("Array.from");
    }
    const count = this.expression(length.value)[0];
    return `[${this.expression(make.body)[0]} for _ in range(${count})]`;
  }

  /** @param {any} node */
  isTall(node) {
    return this.source.slice(node.start, node.end).includes("\n");
  }

  /**
   * @param {any} node
   * @param {string} indent
   * @returns {string}
   */
  list(node, indent) {
    if (!this.isTall(node)) return `[${this.args(node.elements)}]`;
    const inner = `${indent}    `;
    const items = node.elements.map(
      (/** @type {any} */ item) => `${inner}${this.expression(item, inner)[0]},\n`,
    );
    return `[\n${items.join("")}${indent}]`;
  }

  /** @param {any} node */
  dictionary({ properties }) {
    const items = properties.map((/** @type {any} */ { type, key, value }) => {
      if (type !== "Property") throw new NoPython(type);
      return `${JSON.stringify(key.name ?? key.value)}: ${this.expression(value)[0]}`;
    });
    return `{${items.join(", ")}}`;
  }

  /** @param {any} node */
  template({ quasis, expressions }) {
    let text = "";
    for (const [i, { value }] of quasis.entries()) {
      text += JSON.stringify(value.cooked).slice(1, -1).replace(/[{}]/g, "$&$&");
      if (expressions[i]) text += `{${this.expression(expressions[i])[0].replaceAll('"', "'")}}`;
    }
    return `f"${text}"`;
  }

  /** @param {string} name */
  variable(name) {
    return BUILT_IN.has(name) && this.bound.has(name) ? `${name}_` : name;
  }

  /** @param {any} node */
  param(node) {
    if (node.type !== "AssignmentPattern") return this.pattern(node);
    return `${this.pattern(node.left)}=${this.expression(node.right)[0]}`;
  }

  /**
   * @param {any} node
   * @returns {string}
   */
  pattern(node) {
    if (node.type === "ArrayPattern") {
      return node.elements
        .map((/** @type {any} */ each) => (each ? this.pattern(each) : "_"))
        .join(", ");
    }
    if (node.type === "Identifier") return this.variable(node.name);
    if (node.type === "MemberExpression") return this.member(node)[0];
    throw new NoPython(node.type);
  }
}

/** @param {any} node  whether it is a function whose body is more than an expression */
export const hasBody = ({ type, body }) =>
  type === "ArrowFunctionExpression" && body.type === "BlockStatement";

/** Python's names of exceptions have capitals inside. */
const BUILT_IN_ERROR = /^[A-Z]\w*Error$/;

/**
 * Whether a name is written with capitals here and with underscores in PyTorch.
 * @param {any} object
 * @param {string} name
 */
const isOfQConfig = (object, name) => /[a-z][A-Z]/.test(name) && object.name !== "torch";

/** @param {string} name */
export function snake(name) {
  if (/^[A-Z]/.test(name)) return name;
  return name
    .replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replace("q_config", "qconfig");
}
