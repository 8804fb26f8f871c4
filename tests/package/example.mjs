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

const INIT = "await init();";
assert.ok(example.includes(INIT), "the example starts the core");

/** An example that asks for two threads, and prints first how many it has, or why it has one. */
export const onThreads = (source) =>
  source.replace(
    INIT,
    `const { threads, reason } = await init({ threads: 2 });
console.log(reason === undefined ? \`on \${threads} threads\` : \`on one thread, since \${reason}\`);`,
  );

const FIRST = "const x = tensor(";
assert.ok(example.includes(FIRST), "the example makes a tensor");

/** An example that computes something off its thread before all else, and prints it and where it was. */
export const onAsync = (source) =>
  source.replace("import { ", "import { quantizeAsync, ").replace(
    FIRST,
    `let place;
const codes = await quantizeAsync(new Float32Array([127, -5, 3]), {
  onProgress: ({ offThread, reason }) => {
    place = offThread ? "off this thread" : \`on this thread, since \${reason}\`;
  },
});
console.log(\`\${codes.data.join(" ")} \${place}\`);
${FIRST}`,
  );

/** What that prints. */
export const OFF_THREAD = "127 -5 3 off this thread";
export const ON_THIS_THREAD = /^127 -5 3 on this thread, since ./;

/** An example on zeropoint/slim, whose core comes from an expression; and what that imports. */
export const onSlim = (source, wasm, imports = "") =>
  imports +
  source.replace('"zeropoint"', '"zeropoint/slim"').replace(INIT, `await init({ wasm: ${wasm} });`);

/** The example with its imports from another place. */
export const from = (place, source = example) =>
  source.replace(/"zeropoint(\/slim)?"/, JSON.stringify(place));

/** The lines of an output without the empty one at its end. */
export const lines = (text) => text.trimEnd().split(/\r?\n/);
