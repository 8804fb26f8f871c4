// The README's example, in the forms in which a project may have to write it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** The example, as it stands in the README. */
export const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";

/** What its comments say that it prints. */
export const promised = [...example.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(
  ([, line]) => line,
);

assert.equal(promised.length, 3, "the README has an example that says what it prints");

const [, names, body] = /^import (\{.*\}) from "zeropoint";\n([\s\S]*)$/.exec(example) ?? [];
assert.ok(body, "the example starts with its import");

/** Inside a function, for places that have no top-level await. */
export const inFunction = `import ${names} from "zeropoint";
async function main() {
${body}}
main();
`;

/** With require(), for CommonJS. */
export const required = `const ${names} = require("zeropoint");
async function main() {
${body}}
main();
`;

/** The example with its imports from another place. */
export const from = (place, source = example) =>
  source.replace('"zeropoint"', JSON.stringify(place));

/** The lines of an output without the empty one at its end. */
export const lines = (text) => text.trimEnd().split(/\r?\n/);
