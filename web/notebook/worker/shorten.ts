// Values without the parts for which their output has no room: writing all of them could take minutes.

import { isTuple, tuple } from "zeropoint/notebook";

const DEPTH = 10; // of lists and objects in each other

/**
 * A value of which no more is written than a number of characters. Texts, lists, tuples, typed arrays and plain
 * objects are cut; every item takes at least one character. What fits is returned as it is.
 */
export function shortened(value: unknown, characters: number) {
  return cut(value, { left: characters }, 0);
}

function cut(value: any, room: { left: number }, depth: number): unknown {
  const { left } = room;
  room.left--;
  if (typeof value === "string") {
    room.left -= value.length;
    return value.length > left ? value.slice(0, left) : value;
  }
  if (typeof value !== "object" || value === null || depth > DEPTH) return value;
  if (ArrayBuffer.isView(value) && "subarray" in value) {
    const numbers = value as Float32Array;
    room.left -= numbers.length;
    return numbers.length > left ? numbers.subarray(0, left) : value;
  }
  if (Array.isArray(value)) {
    // Shapes and named tuples have a text of their own, and are short.
    if (Object.hasOwn(value, "toString")) return value;
    const items = itemsOf(value, room, depth);
    if (items.length === value.length && items.every((item, i) => item === value[i])) return value;
    return isTuple(value) ? tuple(...items) : items;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const keys = Object.keys(value);
  const values = keys.map((key) => value[key]);
  const items = itemsOf(values, room, depth);
  if (items.length === keys.length && items.every((item, i) => item === values[i])) return value;
  return Object.fromEntries(items.map((item, i) => [keys[i], item]));
}

function itemsOf(list: unknown[], room: { left: number }, depth: number) {
  const items = [];
  for (let i = 0; i < list.length && room.left > 0; i++) items.push(cut(list[i], room, depth + 1));
  return items;
}
