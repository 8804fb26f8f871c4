// The names of all fields that the package's code reads, of whatever object.

import { readdirSync, readFileSync } from "node:fs";

const dist = new URL("../../../dist/", import.meta.url);
const NAME = "[A-Za-z_$][\\w$]*";
/** Fields after a dot, those taken apart, and keys in quotes. */
const READS = [
  new RegExp(`\\??\\.(${NAME})`, "g"),
  new RegExp(`[{,]\\s*(${NAME})\\s*(?=[,:}=])`, "g"),
  new RegExp(`["'](${NAME})["']`, "g"),
];

/** Names in the code of the package; keywords and names of variables are among them, and do no harm. */
export function namesRead() {
  const names = new Set();
  for (const file of readdirSync(dist, { recursive: true })) {
    if (!file.endsWith(".js") || file.startsWith("web")) continue;
    const code = readFileSync(new URL(file, dist), "utf8").replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, "");
    for (const pattern of READS) for (const [, name] of code.matchAll(pattern)) names.add(name);
  }
  return [...names].filter((name) => !(name in Object.prototype)).sort();
}
