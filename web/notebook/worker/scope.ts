// The names that the cells of one notebook share.

interface Scope {
  /** For `with`: reads and writes go to the shared names. */
  names: Record<string, unknown>;
  declare: (kind: string, ...names: string[]) => void;
  /** Names that are there from the start. */
  provide: (values: Record<string, unknown>) => void;
}

export function createScope(): Scope {
  const values = new Map<string, unknown>();
  const kinds = new Map<string, string>();
  // Constants whose declaration is under way: their next assignment is the one that is allowed.
  const open = new Set<string>();

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
