// The public classes and their members as the package's declaration files have them.

import { readdirSync, readFileSync } from "node:fs";

const dist = new URL("../../../dist/", import.meta.url);

const CLASS =
  /^export (?:declare )?(?:abstract )?class (\w+)(?:<[^{]*?>)?(?: extends (\w+))?[^{]*\{\n([\s\S]*?)^\}/gm;

/** Members that some object may lack. */
const optional = new Set();

/** Own members by class. A member of which the comment says `@internal` is not emitted. */
const classes = new Map();
for (const file of readdirSync(dist, { recursive: true })) {
  // The classes of the notebooks have some of the same names.
  if (!file.endsWith(".d.ts") || file.startsWith("notebook")) continue;
  const text = readFileSync(new URL(file, dist), "utf8");
  for (const [, name] of text.matchAll(/^ +(?:readonly )?(\w+)\?[:(<]/gm)) optional.add(name);
  for (const [, name, base, body] of text.matchAll(CLASS)) {
    const names = (pattern) => Array.from(body.matchAll(pattern), ([, member]) => member);
    classes.set(name, {
      base,
      fields: names(/^ {4}(?:abstract )?(?:readonly |get )(\w+)\??(?=[:(])/gm),
      methods: names(/^ {4}(?:abstract )?(\w+)(?:<.*>)?\(/gm).filter(
        (each) => each !== "constructor",
      ),
    });
  }
}

/** The members of a class and of those that it extends. @param kind  "fields" or "methods" */
export function declaredOf(name, kind) {
  const own = classes.get(name);
  return own === undefined ? [] : [...new Set([...own[kind], ...declaredOf(own.base, kind)])];
}

/** The names of all members that some object may lack, options among them. */
export const optionalNames = () => optional;
