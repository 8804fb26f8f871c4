// The README's example, in all forms that a project may need.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** The example, unchanged from the README. */
export const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";

/** The expected output, from the example's comments. */
export const promised = [...example.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(
  ([, line]) => line,
);

assert.equal(promised.length, 3, "the README has an example with its output in comments");

const [, names, body] = /^import (\{.*\}) from "zeropoint";\n([\s\S]*)$/.exec(example) ?? [];
assert.ok(body, "the example starts with its import");

/** Inside a function, for targets without top-level await. */
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

/** An example with two threads; it first prints the number of threads, or the reason for one. */
export const onThreads = (source) =>
  source.replace(
    INIT,
    `const { threads, reason } = await init({ threads: 2 });
console.log(reason === undefined ? \`on \${threads} threads\` : \`on one thread, since \${reason}\`);`,
  );

/** An example through a connection, which prints first where it runs. @param options  of `connect` */
export const onConnection = (source, options = "") =>
  source
    .replace(
      `import ${names} from "zeropoint";`,
      'import { tensor } from "zeropoint";\nimport { connect } from "zeropoint/worker";',
    )
    .replace(
      INIT,
      `const zp = await connect(${options});
console.log(zp.offThread ? "in a worker" : \`here, since \${zp.reason}\`);`,
    )
    .replace(/\b(quantize|dequantize|quantizationError)\(/g, "await zp.$1(")
    .replace("new QuantizedLinear(", "await zp.quantizedLinear(")
    .replace(/layer\.forward\(.*/, "await $&\nzp.dispose();");

/** An example on zeropoint/slim, with its core from an expression; `imports` declares the expression's names. */
export const onSlim = (source, wasm, imports = "") =>
  imports +
  source.replace('"zeropoint"', '"zeropoint/slim"').replace(INIT, `await init({ wasm: ${wasm} });`);

/** The example with its imports from another address. */
export const from = (place, source = example) =>
  source.replace(/"zeropoint(\/slim)?"/, JSON.stringify(place));

/** The lines of an output, without the final empty line. */
export const lines = (text) => text.trimEnd().split(/\r?\n/);
