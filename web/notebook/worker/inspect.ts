// Values as consoles write them, in JavaScript's own notation.

const DEPTH = 3;
const ITEMS = 100;
const LETTERS = 10_000; // of a text inside a value

/** The text of console.log for one value: a text as it is, any other value as an expression. */
export function inspected(value: unknown) {
  return typeof value === "string" ? value : inspect(value, 0, new Set());
}

/** @param around  the objects that contain the value */
function inspect(value: any, depth: number, around: Set<unknown>): string {
  switch (typeof value) {
    case "string": {
      const isLong = value.length > LETTERS;
      return isLong ? `${JSON.stringify(value.slice(0, LETTERS))}…` : JSON.stringify(value);
    }
    case "bigint":
      return `${value}n`;
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "function":
      return `[${/^class\b/.test(String(value)) ? "class" : "Function"} ${value.name || "(anonymous)"}]`;
    case "object":
      if (value === null) return "null";
      if (around.has(value)) return "[Circular]";
      return inspectObject(value, depth, new Set([...around, value]));
    default:
      return String(value);
  }
}

function inspectObject(object: any, depth: number, around: Set<unknown>) {
  const name = object.constructor?.name;
  const isPlain = name === "Object" || name === undefined;
  const inner = (value: unknown) => inspect(value, depth + 1, around);
  if (object instanceof Error) return `${object.name}: ${object.message}`;
  if (object instanceof Date || object instanceof RegExp) return String(object);
  if (object instanceof Promise) return "Promise {…}";
  // Tensors and models have a notation of their own.
  const isList = Array.isArray(object) || (ArrayBuffer.isView(object) && "length" in object);
  if (!isList && !isPlain && object.toString !== Object.prototype.toString) {
    if (!(object instanceof Map) && !(object instanceof Set)) return String(object);
  }
  const size = isList ? object.length : object.size;
  const title = Array.isArray(object)
    ? ""
    : isList || object instanceof Map || object instanceof Set
      ? `${name}(${size}) `
      : isPlain
        ? ""
        : `${name} `;
  if (depth >= DEPTH) return isList ? `${title}[…]` : `${title}{…}`;
  if (isList) return `${title}[${listed(object as any, inner)}]`;
  if (object instanceof Map) {
    const items = listed(object, ([key, value]) => `${inner(key)} => ${inner(value)}`);
    return items ? `${title}{ ${items} }` : `${title}{}`;
  }
  if (object instanceof Set) {
    const items = listed(object, inner);
    return items ? `${title}{ ${items} }` : `${title}{}`;
  }
  const items = listed(Object.entries(object), ([key, value]) => {
    return `${/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? key : JSON.stringify(key)}: ${inner(value)}`;
  });
  return items ? `${title}{ ${items} }` : `${title}{}`;
}

function listed(items: Iterable<any>, text: (item: any) => string) {
  const texts: string[] = [];
  let left = 0;
  for (const item of items) {
    if (texts.length < ITEMS) texts.push(text(item));
    else left++;
    if (left > 1e6) break;
  }
  if (left > 0) texts.push(`… ${left} more`);
  return texts.join(", ");
}
