// The names that the cells of one notebook share.

/**
 * @typedef {object} Scope
 * @property {Record<string, unknown>} names  for `with`: reads and writes go to the shared names
 * @property {(kind: string, ...names: string[]) => void} declare
 * @property {(values: Record<string, unknown>) => void} provide  names that are there from the start
 */

/** @returns {Scope} */
export function createScope() {
  /** @type {Map<string, unknown>} */
  const values = new Map();
  /** @type {Map<string, string>} */
  const kinds = new Map();
  // Constants whose declaration is under way: their next assignment is the one that is allowed.
  /** @type {Set<string>} */
  const open = new Set();

  const names = new Proxy(Object.create(null), {
    has: (_, name) => typeof name === "string" && (values.has(name) || kinds.has(name)),
    get(_, name) {
      if (typeof name !== "string") return undefined;
      if (!values.has(name)) throw new ReferenceError(`${name} is not defined`);
      return values.get(name);
    },
    set(_, name, value) {
      if (typeof name !== "string") return false;
      if (kinds.get(name) === "const" && !open.delete(name)) {
        throw new TypeError(`${name} is a constant: declare it with let to assign to it again`);
      }
      values.set(name, value);
      return true;
    },
  });

  return {
    names,
    // Declaring again is fine: a cell may be run any number of times.
    declare(kind, ...declared) {
      for (const name of declared) {
        kinds.set(name, kind);
        if (kind === "const") open.add(name);
      }
    },
    provide(provided) {
      for (const [name, value] of Object.entries(provided)) values.set(name, value);
    },
  };
}
