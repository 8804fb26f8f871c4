// Python's AttributeError where JavaScript gives undefined, which a function would replace by its default.

import { nearest } from "../../base/options.js";
import { pythonError } from "./errors.js";

/** Names that others read of any value: `await`, `JSON.stringify`, and test runners. */
const OPTIONAL = /^(?:then|toJSON|asymmetricMatch|nodeType|tagName)$|^[$@_]/;

/**
 * Throws an AttributeError for a name that is not found, unless other code may ask for it.
 * @param owner  as Python prints it: "module 'torch'"
 * @param name   the name
 * @param known  the names that there are
 */
export function refuseUnknown(
  owner: string,
  name: string | symbol,
  known: () => readonly string[],
): void {
  if (typeof name === "symbol" || OPTIONAL.test(name)) return;
  const near = nearest(name, known());
  const hint = near === undefined ? "" : `. Did you mean: '${near}'?`;
  throw pythonError("AttributeError", `${owner} has no attribute '${name}'${hint}`);
}

/**
 * A module of Python, whose unknown names throw, as those of the modules in it.
 * @param names  its names; a plain object among the values is a module
 * @param path   its name, such as "torch.nn"
 */
export function moduleOf<T extends object>(names: T, path: string): T {
  const entries = Object.entries(names).map(([name, value]) => {
    const isModule = Object.getPrototypeOf(Object(value)) === Object.prototype;
    return [name, isModule ? moduleOf(value, `${path}.${name}`) : value];
  });
  return new Proxy(Object.fromEntries(entries) as T, {
    get(target, name) {
      if (!(name in target)) refuseUnknown(`module '${path}'`, name, () => Object.keys(target));
      return Reflect.get(target, name);
    },
  });
}
