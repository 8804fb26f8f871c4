// Python's AttributeError where JavaScript gives undefined, which a function would replace by its default.

import { FIELDS } from "../../base/fields.js";
import { pythonError } from "./errors.js";
import { nearestName } from "./nearest-name.js";

/**
 * Names that others read of any value: `await`, `JSON.stringify`, test runners, Node as it looks for a URL; fields of other
 * libraries' tensors are allowed, too.
 */
const OPTIONAL = /^(?:then|toJSON|asymmetricMatch|nodeType|tagName|href)$|^[$@_]/;

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
  if (typeof name === "symbol" || OPTIONAL.test(name) || FIELDS.includes(name)) return;
  const near = nearestName(name, known());
  const hint = near === "" ? "" : `. Did you mean: '${near}'?`;
  throw pythonError("AttributeError", `${owner} has no attribute '${name}'${hint}`);
}

/** The names that an object and its prototypes have, up to the last of them. */
function namesOf(object: object, end: object): string[] {
  const names: string[] = [];
  for (let each = object; each !== end; each = Object.getPrototypeOf(each) as object) {
    names.push(...Object.getOwnPropertyNames(each));
  }
  return names;
}

/**
 * Makes objects of a class throw where an unknown name is read. Names that are found are as fast as before: the chain of
 * prototypes ends with a proxy, which only others reach.
 * @param nameOf  the name of an object's class, as Python prints it
 */
export function refuseUnknownOf(
  { prototype }: { readonly prototype: object },
  nameOf: (object: object) => string,
): void {
  const end = new Proxy(
    {},
    // Without a prototype that could add traps.
    Object.assign(Object.create(null), {
      get(target: object, name: string | symbol, receiver: unknown): unknown {
        // A class's prototype may be asked for anything.
        const isObject = !Object.hasOwn(Object(receiver), "constructor");
        const isOfFunctions =
          typeof receiver === "function" && /^(?:name|length)$/.test(String(name));
        if (isObject && !isOfFunctions && !(name in target)) {
          refuseUnknown(`'${nameOf(receiver as object)}' object`, name, () =>
            namesOf(receiver as object, end),
          );
        }
        return Reflect.get(target, name, receiver);
      },
    }),
  );
  Object.setPrototypeOf(prototype, end);
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
