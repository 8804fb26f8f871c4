// Python's t[i] and t[i] = value, as properties whose names are whole numbers.

import { refuseUnknown } from "./attributes.js";

/** Access to the items of objects of a class. */
interface Items<T> {
  /** Whether an object is of the class. */
  readonly isOwn: (receiver: unknown) => boolean;
  readonly get: (object: T, index: number) => unknown;
  readonly set: (object: T, index: number, value: unknown) => void;
}

const INDEX = /^-?\d+$/;

/**
 * Gives the objects of a class items, and refuses names that they do not have. Only properties that are found neither on
 * an object nor on its class are looked up here, so that all others are as fast as on any object.
 * @param name  the class's name in messages
 */
export function defineItems<T extends object>(
  prototype: T,
  name: string,
  { isOwn, get, set }: Items<T>,
): void {
  const names = (): string[] => Object.getOwnPropertyNames(prototype);
  const indexOf = (key: string | symbol, receiver: unknown): number | undefined =>
    typeof key === "string" && INDEX.test(key) && isOwn(receiver) ? Number(key) : undefined;
  const traps: ProxyHandler<object> = {
    get(target, key, receiver: unknown): unknown {
      const index = indexOf(key, receiver);
      if (index !== undefined) return get(receiver as T, index);
      if (isOwn(receiver) && !(key in target)) refuseUnknown(`'${name}' object`, key, names);
      return Reflect.get(target, key, receiver);
    },
    set(target, key, value: unknown, receiver: unknown): boolean {
      const index = indexOf(key, receiver);
      if (index === undefined) return Reflect.set(target, key, value, receiver);
      set(receiver as T, index, value);
      return true;
    },
  };
  // Without a prototype that could add traps.
  Object.setPrototypeOf(prototype, new Proxy({}, Object.assign(Object.create(null), traps)));
}
