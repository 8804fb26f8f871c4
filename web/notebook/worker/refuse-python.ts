// Code that JavaScript accepts without an error and that means something else than in Python.

/**
 * Throws a SyntaxError for code that JavaScript accepts silently with another meaning than in Python.
 * @param node  or nodes
 */
export function refusePython(node: any, source: string) {
  if (typeof node !== "object" || node === null) return;
  const refusal = REFUSALS[node.type]?.(node, (first, last = first) =>
    source.slice(first.start, last.end),
  );
  if (refusal) {
    const { message, at = node } = refusal;
    throw Object.assign(new SyntaxError(message), { line: at.loc.start.line });
  }
  for (const [key, value] of Object.entries(node)) if (key !== "loc") refusePython(value, source);
}

type Refusal = (
  node: any,
  text: (first: { start: number; end: number }, last?: { end: number }) => string,
) => { message: string; at?: any } | undefined | false;

const REFUSALS: Record<string, Refusal> = {
  // t[0, 1] is one value of a tensor in Python, and here t[1]
  MemberExpression({ computed, object, property }, text) {
    if (!computed) return;
    const between = text({ start: object.end, end: property.start });
    if (/^\s*(\/\/.*)?\n\s*\[/.test(between)) return { message: goesOn("["), at: property };
    // Extra parentheses mark an intended sequence.
    if (property.type !== "SequenceExpression" || !/\[\s*$/.test(between)) return;
    const name = object.type === "Identifier" ? object.name : "t";
    const indices = property.expressions.map((index: any) => text(index));
    return {
      message:
        `${name}[${indices.join(", ")}] is ${name}[${indices.at(-1)}] in JavaScript: ` +
        `write ${name}[${indices.join("][")}]`,
      at: property,
    };
  },

  // f(x, dim=0) names an argument in Python, and here it assigns to dim
  CallExpression(node, text) {
    const { callee, arguments: given } = node;
    if (/^\s*(\/\/.*)?\n\s*\(/.test(text({ start: callee.end, end: node.end }))) {
      return { message: goesOn("("), at: given[0] };
    }
    const named = given.filter((argument: any, i: number) => {
      const { type, operator, left, start } = argument;
      if (type !== "AssignmentExpression" || operator !== "=" || left.type !== "Identifier")
        return false;
      // Extra parentheses mark an intended assignment.
      const before = text({ start: given[i - 1]?.end ?? callee.end, end: start });
      return (i > 0 ? /^\s*,\s*$/ : /^\s*(\?\.)?\(\s*$/).test(before);
    });
    if (named.length === 0) return;
    const [{ left, right }] = named;
    const names = named.map(({ left, right }: any) => `${left.name}: ${text(right)}`);
    return {
      message:
        `${left.name}=${text(right)} assigns to ${left.name} in JavaScript: write ` +
        `{ ${names.join(", ")} } as the last argument, or ${text(right)} in its place where a cell ` +
        "defines the function",
      at: named[0],
    };
  },

  // a, b = f() takes a tuple apart in Python, and here it assigns to b alone
  ExpressionStatement({ expression }, text) {
    if (expression.type !== "SequenceExpression") return;
    const { expressions } = expression;
    const end = expressions.findIndex(({ type }: any) => type === "AssignmentExpression");
    const names = expressions.slice(0, end + 1).map((one: any) => one.left ?? one);
    const isTuple = names.every(({ type }: any) => /^(Identifier|MemberExpression)$/.test(type));
    if (end < 1 || !isTuple) return;
    const last = names.at(-1);
    return {
      message:
        `${text(names[0], last)} = … assigns to ${text(last)} alone in JavaScript: write ` +
        `[${text(names[0], last)}] = …, and let before it where they are new`,
    };
  },

  // [1] * n and a + [1] are lists in Python, and here a number and a text
  BinaryExpression({ operator, left, right }, text) {
    const list = [left, right].find(({ type }: any) => type === "ArrayExpression");
    if (!list || !["+", "*"].includes(operator)) return;
    const other = list === left ? right : left;
    const items = (node: any) =>
      node.type === "ArrayExpression" ? text(node).slice(1, -1) : `...${text(node)}`;
    const instead =
      operator === "+"
        ? `[${items(left)}, ${items(right)}]`
        : `Array(${text(other)}).fill(${list.elements.length === 1 ? text(list.elements[0]) : "x"})`;
    return { message: `JavaScript makes no list with ${operator}: write ${instead}` };
  },
};

function goesOn(bracket: string) {
  return `this line goes on with the one above, because it begins with ${bracket}: end that one with ;`;
}
