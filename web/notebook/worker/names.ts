// The top-level names that a cell reads, assigns and changes in place, from its syntax tree.

/** Names of the notebook's scope. */
export interface NameUse {
  reads: string[];
  /** Declared or assigned: the previous value is lost. */
  writes: string[];
  /** Changed in place: the value of before is part of the new one. */
  changes: string[];
}
/** `later`: the same inside the functions of the cell, whose bodies run when another cell calls them. */
export type CellNames = NameUse & { later: NameUse };

/** Methods that modify their receiver, in addition to names that end with an underscore. */
const CHANGING = new Set([
  "add",
  "append",
  "calibrate",
  "clear",
  "copyWithin",
  "delete",
  "fill",
  "observe",
  "pop",
  "push",
  "reset",
  "reverse",
  "set",
  "shift",
  "sort",
  "splice",
  "unshift",
]);

/** Methods of that list that return a new value where they are called on a tensor. */
const PURE_ON_TENSORS = new Set(["add"]);

const emptyUse = (): { reads: Set<string>; writes: Set<string>; changes: Set<string> } => ({
  reads: new Set(),
  writes: new Set(),
  changes: new Set(),
});

/** @param program  acorn's syntax tree of a cell */
export function namesOfCell(program: any): CellNames {
  const now = emptyUse();
  const later = emptyUse();
  const declared = new Set(program.body.flatMap(declaredBy) as string[]);
  for (const name of declared) now.writes.add(name);
  visit(program, { use: now, later, local: new Set(), isStatement: false });
  return { ...listed(now), later: listed(later) };
}

const listed = ({ reads, writes, changes }: ReturnType<typeof emptyUse>) => ({
  reads: [...reads],
  writes: [...writes],
  changes: [...changes],
});

type Context = {
  use: ReturnType<typeof emptyUse>;
  later: ReturnType<typeof emptyUse>;
  local: Set<string>;
  isStatement: boolean;
};

function visit(node: any, context: Context) {
  if (Array.isArray(node)) {
    for (const each of node) visit(each, context);
    return;
  }
  if (typeof node?.type !== "string") return;
  const special = VISITORS[node.type];
  if (special) special(node, context);
  else visitParts(node, context);
}

function visitParts(node: any, context: Context) {
  for (const [key, value] of Object.entries(node)) {
    if (key !== "loc" && typeof value === "object" && value !== null) visit(value, context);
  }
}

const VISITORS: Record<string, (node: any, context: Context) => void> = {
  Identifier({ name }, { use, local }) {
    if (!local.has(name)) use.reads.add(name);
  },
  MemberExpression({ object, property, computed }, context) {
    visit(object, context);
    if (computed) visit(property, context);
  },
  Property({ key, value, computed }, context) {
    if (computed) visit(key, context);
    visit(value, context);
  },
  PropertyDefinition({ key, value, computed }, context) {
    if (computed) visit(key, context);
    visit(value, context);
  },
  MethodDefinition({ key, value, computed }, context) {
    if (computed) visit(key, context);
    visit(value, context);
  },
  LabeledStatement: ({ body }, context) => visit(body, context),
  BreakStatement() {},
  ContinueStatement() {},
  ImportDeclaration() {},
  MetaProperty() {},
  ExpressionStatement({ expression }, context) {
    visit(expression, { ...context, isStatement: true });
  },
  AssignmentExpression({ operator, left, right }, context) {
    if (operator !== "=") visit(left, context);
    assign(left, context);
    visit(right, { ...context, isStatement: false });
  },
  UpdateExpression({ argument }, context) {
    visit(argument, context);
    assign(argument, context);
  },
  CallExpression({ callee, arguments: given }, context) {
    const { isStatement } = context;
    const inner = { ...context, isStatement: false };
    if (callee.type === "MemberExpression" && !callee.computed) {
      const { name } = callee.property;
      const changes =
        name.endsWith("_") || (CHANGING.has(name) && (isStatement || !PURE_ON_TENSORS.has(name)));
      if (changes) change(callee.object, inner);
    }
    visit(callee, inner);
    visit(given, inner);
  },
  VariableDeclaration({ declarations }, context) {
    for (const { id, init } of declarations) {
      visitPattern(id, context);
      visit(init, context);
    }
  },
  BlockStatement: visitBlock,
  StaticBlock: visitBlock,
  ForStatement: visitBlock,
  ForInStatement: visitLoop,
  ForOfStatement: visitLoop,
  SwitchStatement: visitBlock,
  CatchClause({ param, body }, context) {
    visit(body, { ...context, local: new Set([...context.local, ...boundNames(param)]) });
  },
  FunctionDeclaration: visitFunction,
  FunctionExpression: visitFunction,
  ArrowFunctionExpression: visitFunction,
  ClassDeclaration: visitClass,
  ClassExpression: visitClass,
};

function visitBlock(node: any, context: Context) {
  const statements = [node.body ?? [], node.init ?? [], node.cases?.flatMap(bodyOf) ?? []].flat();
  const names = statements.flatMap(declaredBy);
  visitParts(node, { ...context, local: new Set([...context.local, ...names]) });
}

const bodyOf = (switchCase: any) => switchCase.consequent;

/** @param node  for … of or for … in */
function visitLoop({ left, right, body }: any, context: Context) {
  visit(right, context);
  const isDeclaration = left.type === "VariableDeclaration";
  const names = isDeclaration ? declaredBy(left) : [];
  if (!isDeclaration) assign(left, context);
  visit(body, { ...context, local: new Set([...context.local, ...names]) });
}

/**
 * A function's body runs later; a function that is called where it is written runs now as well, which is the
 * safe assumption for every expression. A declaration only runs when it is called by its name.
 */
function visitFunction(node: any, context: Context) {
  const { type, id, params, body } = node;
  const inner = new Set([...context.local, ...params.flatMap(boundNames), "arguments"]);
  if (id && type === "FunctionExpression") inner.add(id.name);
  const isNamed = type === "FunctionDeclaration" && context.local.size === 0;
  const use = isNamed ? context.later : context.use;
  const within = { ...context, use, local: inner, isStatement: false };
  for (const param of params) visitPattern(param, within);
  visit(body, { ...within, local: new Set([...inner, ...varsOf(body)]) });
}

function visitClass({ superClass, body }: any, context: Context) {
  visit(superClass, context);
  visit(body, context);
}

/** The default values of a pattern are read; its names are bound. */
function visitPattern(pattern: any, context: Context) {
  if (!pattern) return;
  if (pattern.type === "AssignmentPattern") {
    visitPattern(pattern.left, context);
    visit(pattern.right, context);
  } else if (pattern.type === "ArrayPattern") {
    for (const element of pattern.elements) visitPattern(element, context);
  } else if (pattern.type === "ObjectPattern") {
    for (const { value, argument } of pattern.properties) visitPattern(value ?? argument, context);
  } else if (pattern.type === "RestElement") visitPattern(pattern.argument, context);
}

/** @param target  of an assignment */
function assign(target: any, context: Context) {
  if (target.type === "MemberExpression") {
    change(target.object, context);
    visit(target, context);
    return;
  }
  for (const name of boundNames(target)) {
    if (!context.local.has(name)) context.use.writes.add(name);
  }
}

/** @param node  what is changed: a name, or a part of what a name holds */
function change(node: any, { use, local }: Context) {
  let owner = node;
  while (owner.type === "MemberExpression") owner = owner.object;
  if (owner.type === "Identifier" && !local.has(owner.name)) use.changes.add(owner.name);
}

/** The names that a statement declares in the block it stands in. */
function declaredBy(node: any): string[] {
  switch (node?.type) {
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }: any) => boundNames(id));
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return [node.id.name];
    case "ImportDeclaration":
      return node.specifiers.map(({ local }: any) => local.name);
    default:
      return [];
  }
}

/** The names that a function's body declares directly. */
const varsOf = (body: any) => (body.type === "BlockStatement" ? body.body.flatMap(declaredBy) : []);

export function boundNames(pattern: any): string[] {
  switch (pattern?.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((property: any) =>
        boundNames(property.type === "RestElement" ? property.argument : property.value),
      );
    case "ArrayPattern":
      return pattern.elements.flatMap((element: any) => (element ? boundNames(element) : []));
    case "AssignmentPattern":
      return boundNames(pattern.left);
    case "RestElement":
      return boundNames(pattern.argument);
    default:
      return [];
  }
}
