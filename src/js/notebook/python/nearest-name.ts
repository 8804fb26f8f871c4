// The name that a misspelt one most likely means.

import { editDistance } from "../../base/edit-distance.js";

/** The name at the least distance, of at most a third of the letters; "" for none. */
export function nearestName(name: string, names: readonly string[]): string {
  let [near, least] = ["", Math.min(2, name.length / 3) + 0.5];
  for (const each of names) {
    const [a, b] = [name.toLowerCase().slice(0, 64), each.toLowerCase()];
    // Of names that differ in capitals alone, the one with the same capitals.
    const capitals = each[0] === name[0] ? 0 : 0.25;
    const distance = (isSwapped(a, b) ? 1 : editDistance(a, b)) + capitals;
    if (distance < least) [near, least] = [each, distance];
  }
  return near;
}

/** Whether two neighbouring letters are swapped: one typing error, although two letters differ. */
function isSwapped(a: string, b: string): boolean {
  const at = [...a].findIndex((letter, i) => letter !== b[i]);
  return at >= 0 && a.slice(0, at) + a[at + 1] + a[at] + a.slice(at + 2) === b;
}
