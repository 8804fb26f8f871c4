// Fields of objects from outside the library: own fields only, each read once.

/** Options by name, without a prototype that could add any. */
export type Options = Readonly<Record<string, unknown>>;

/**
 * Constructor of objects without Object.prototype. Faster than Object.create(null), whose result engines
 * keep as a hash table: access takes several times as long.
 */
export const OptionsRecord = /* @__PURE__ */ (() => {
  function Options(this: object) {}
  Options.prototype = Object.freeze(Object.create(null));
  return Options as unknown as new () => Record<string, unknown>;
})();

export const NO_OPTIONS: Options = /* @__PURE__ */ Object.freeze(
  /* @__PURE__ */ new OptionsRecord(),
);

const { getPrototypeOf, hasOwn, prototype: ROOT } = Object;

/** Limit of the prototype chain that is searched for a field: a proxy's chain may be endless. */
const MAX_CLASSES = 64;

/** A copy of an object's own fields, each read once, without a prototype that could add any. */
export function ownFields(value: object): Options {
  return Object.assign(new OptionsRecord(), value);
}

/** Entries as an object without a prototype that could add any. */
export const recordOf = <T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> =>
  ownFields(Object.fromEntries(entries)) as Readonly<Record<string, T>>;

/**
 * Defines read-only fields of an object, so that memory layouts computed from the checked values stay
 * valid.
 */
export function fixFields<T extends object>(object: T, fields: Partial<T>): void {
  for (const [name, value] of Object.entries(fields)) {
    define(object, name, { value, enumerable: true });
  }
}

/** Names of the fields of tensors. */
export const FIELDS = [
  ...["data", "shape", "dims", "dtype", "scheme", "qscheme", "scale", "zeroPoint", "axis"],
  "offset",
  "groupSize",
  "blockShape",
  "type",
];

/** Whether Object.prototype has a field of tensors, which every object would then inherit. */
export const isPolluted = (): boolean =>
  "data" in ROOT ||
  "shape" in ROOT ||
  "dims" in ROOT ||
  "dtype" in ROOT ||
  "scheme" in ROOT ||
  "qscheme" in ROOT ||
  "scale" in ROOT ||
  "zeroPoint" in ROOT ||
  "offset" in ROOT ||
  "axis" in ROOT ||
  "groupSize" in ROOT ||
  "blockShape" in ROOT ||
  "type" in ROOT;

/** Whether an object or its class has a field. Fields of Object.prototype do not count. */
export function hasField(value: object, name: string): boolean {
  if (hasOwn(value, name)) return true;
  let at = getPrototypeOf(value) as object | null;
  for (let depth = 0; at !== null && depth < MAX_CLASSES; depth++) {
    const next = getPrototypeOf(at) as object | null;
    // Object.prototype, of this realm or another.
    if (next === null) return false;
    if (hasOwn(at, name)) return true;
    at = next;
  }
  return false;
}

/**
 * A field that an object may lack, of itself or of its class: the way to read optional fields of any object, the
 * library's own included. undefined if only Object.prototype has it.
 */
export function fieldOf<T extends object, K extends keyof T & string>(
  object: T,
  name: K,
): T[K] | undefined {
  return hasField(object, name) ? object[name] : undefined;
}

/** Defines a property by a descriptor, whose own fields alone count. */
export function define<T extends object>(
  object: T,
  name: PropertyKey,
  descriptor: PropertyDescriptor,
): T {
  return Object.defineProperty(object, name, { __proto__: null, ...descriptor } as object);
}

/** An object to read a tensor's fields from, each once: `value`, or a copy of its own fields. */
export function fieldsOf(value: object): Options {
  const all = value as Options;
  if (!isPolluted()) return all;
  const fields = new OptionsRecord();
  for (const name of FIELDS) if (hasField(value, name)) fields[name] = all[name];
  return fields;
}
