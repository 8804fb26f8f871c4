// Methods and accessors that are called on another object than one of their class.

import { notItself } from "./errors.js";
import { define, fieldOf } from "./fields.js";

/** A class with any constructor. */
type AnyClass = (abstract new (...args: never) => object) & { readonly prototype: object };

/**
 * Gives a code to what the methods and accessors of a class throw on anything but an object of the class, as after
 * `const { forward } = layer`: the engine's own error has none. Calls that need nothing of the object still succeed.
 * @param name   the class's name in messages, since bundlers shorten the one in the code
 * @param isOwn  whether the class made an object: `#field in object`
 */
export function explainReceivers(
  type: AnyClass,
  name: string,
  isOwn: (object: object) => boolean,
): void {
  const { prototype } = type;
  for (const key of Reflect.ownKeys(prototype)) {
    if (key === "constructor") continue;
    const descriptor = Object.getOwnPropertyDescriptor(prototype, key) as PropertyDescriptor;
    for (const kind of ["value", "get"] as const) {
      const member: unknown = fieldOf(descriptor, kind);
      if (typeof member !== "function") continue;
      const told = (error: unknown, self: unknown): unknown => {
        const isKnown = typeof (error as { code?: unknown } | null)?.code === "string";
        if (isKnown || (self instanceof type && isOwn(self))) return error;
        return notItself(`${name}.${String(key)}`);
      };
      // In the shorthand of methods, which are no constructors.
      const { explained } = {
        explained(this: unknown, ...args: unknown[]): unknown {
          try {
            const result: unknown = Reflect.apply(member, this, args);
            if (!(result instanceof Promise)) return result;
            return result.catch((error) => {
              throw told(error, this);
            });
          } catch (error) {
            throw told(error, this);
          }
        },
      };
      for (const field of ["name", "length"] as const) {
        define(explained, field, { value: member[field], configurable: true });
      }
      descriptor[kind] = explained;
    }
    define(prototype, key, descriptor);
  }
}
