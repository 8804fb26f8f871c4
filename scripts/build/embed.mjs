// Writes dist/wasm, the compiled core as shipped in the package. For each build:
//
//   <build>.wasm   the linker's binary with a custom section that names the package's version and the build
//   <build>.js     the same binary as text (scripts/build/text.mjs), for use without a file to serve
//   <build>.d.ts   the types of that module and, except for relaxed builds, of the core's functions
//
// and version.js, the version of the package.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../process/run.mjs";
import { toText } from "./text.mjs";

const BUILDS = ["baseline", "relaxed", "baseline-threads", "relaxed-threads"];

/** The builds whose functions have types; src/js/core/kernels.ts declares those that relaxed builds add. */
const TYPED = ["baseline", "baseline-threads"];

/** The name of the custom section; src/js/core/load.ts reads it. */
const SECTION = "zeropoint";

/** The binary with a custom section at its end. Source: WebAssembly's binary format, section 5.5.3. */
function withSection(binary, text) {
  const content = Buffer.concat([Buffer.from([SECTION.length]), Buffer.from(SECTION + text)]);
  // Lengths below 128 are one byte.
  if (content.length > 127) throw new Error(`the custom section is too long: ${text}`);
  return Buffer.concat([binary, Buffer.from([0, content.length]), content]);
}

const declare = (type) => `declare const value: ${type};\nexport default value;\n`;
const TEXT_TYPE = declare("readonly [frequent: string, characters: string]");

/**
 * @param from  the linker's folder
 * @param {string[]} [builds]  only these, without types; default: all, with types
 */
export function embedBuilds(from, to, builds = BUILDS) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  mkdirSync(to, { recursive: true });
  const written = new Set();
  const write = (file, content) => {
    writeFileSync(join(to, file), content);
    written.add(file);
  };
  for (const name of builds) {
    const linked = readFileSync(join(from, `${name}.wasm`));
    const binary = withSection(linked, `${version} ${name}`);
    write(`${name}.wasm`, binary);
    write(`${name}.js`, `export default ${JSON.stringify(toText(binary), null, 1)};\n`);
    if (builds !== BUILDS) continue;
    const types = TYPED.includes(name) ? readFileSync(join(from, `${name}.d.ts`), "utf8") : "";
    write(`${name}.d.ts`, types + TEXT_TYPE);
  }
  write("version.js", `export default ${JSON.stringify(version)};\n`);
  write("version.d.ts", declare("string"));
  for (const file of readdirSync(to)) {
    if (!written.has(file)) rmSync(join(to, file), { recursive: true });
  }
}
