// Makes of what the linker wrote what the package ships. For each build, in dist/core:
//
//   <build>.js        the module around the binary; it does not load the binary itself
//   <build>.wasm      the binary, normalized, with a custom section that names the package's version and
//                     the build
//   <build>.text.js   the same binary as text, for those who want no configuration
//   <build>.d.ts, <build>.text.d.ts
//
// and decoder.js, the module that reads such a text, and version.js, the version of the package.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, root } from "./run.mjs";
import { leb128, normalized, toText } from "./wasm-text.mjs";

/** Each build, and the build that has the same types. */
const BUILDS = {
  baseline: "baseline",
  relaxed: "baseline",
  "baseline-threads": "baseline-threads",
  "relaxed-threads": "baseline-threads",
};

/** The name of the custom section; src/js/binary.ts reads it. */
const SECTION = "zeropoint";

// ---- The module around the binary ---------------------------------------------------------------

/**
 * Where Emscripten's module would look for its binary if nobody brought it. Bundlers take the
 * expression for a file that has to be there, and nothing ever runs it.
 */
const OWN_BINARY = /new URL\("[^"]+\.wasm",\s*import\.meta\.url\)\.href/g;

/**
 * What else never runs, because the module is handed its instance (src/js/instantiate.ts): how it would
 * find, fetch and compile a binary by itself. What a version of Emscripten writes otherwise stays.
 */
const UNUSED = [
  /var ENVIRONMENT_IS_WEB=.*?(?=var err=)/s,
  /var wasmBinary;var ABORT=false;/,
  /function preRun\(\)\{\}|function postRun\(\)\{\}/g,
  /preRun\(\);if\(ABORT\)return;|;postRun\(\)/g,
  /function abort\(what\)\{.*?throw e\}/s,
  /class EmscriptenEH\{\}class EmscriptenSjLj extends EmscriptenEH\{\}/,
  /var wasmBinaryFile;.*?(?=function getWasmImports\(\))/s,
  /wasmBinaryFile\?\?=.*?return exports(?=\})/s,
  /function receiveInstantiationResult\(.*?\}(?=var info)/s,
  /class ExitStatus\{.*?\}\}(?=var )/s,
  /wasmExports=applySignatureConversions\(wasmExports\);/,
  /function applySignatureConversions\(.*?return wasmExports\}/s,
  /class BindingError extends Error\{.*?\}\}(?=function )/s,
  /if\(Module\["wasmMemory"\]\)\{wasmMemory=Module\["wasmMemory"\]\}else(?=\{)/,
  /Module\["INITIAL_MEMORY"\]\|\|/,
];

/** Variables that are written and, as long as it is so, never read; and all that writes them. */
const UNREAD = {
  err: /var err=console\.error\.bind\(console\);/,
  runtimeInitialized: /var runtimeInitialized=false;|runtimeInitialized=true;/g,
  HEAPF32: /var HEAPF32;|;HEAPF32=new Float32Array\(b\)/g,
  HEAPF64: /var HEAPF64;|;HEAPF64=new Float64Array\(b\)/g,
};

function withoutOwnBinary(source, name) {
  const count = source.match(OWN_BINARY)?.length ?? 0;
  if (count !== 1) {
    throw new Failure(`${name}.js has ${count} addresses of a binary, where one was expected`);
  }
  const used = UNUSED.reduce((rest, unused) => rest.replace(unused, ""), source);
  const read = Object.entries(UNREAD).reduce((whole, [variable, writes]) => {
    const rest = whole.replace(writes, "");
    return new RegExp(`\\b${variable}\\b`).test(rest) ? whole : rest;
  }, used);
  return read.replace(OWN_BINARY, '""');
}

// ---- The binary ---------------------------------------------------------------------------------

const withLength = (bytes) => [...leb128(bytes.length), ...bytes];

/** The binary with a custom section at its end. */
function withSection(binary, text) {
  const content = [...withLength(Buffer.from(SECTION)), ...Buffer.from(text)];
  return Buffer.concat([binary, Buffer.from([0, ...withLength(content)])]);
}

// ---- All of it ----------------------------------------------------------------------------------

const declare = (type) => `declare const value: ${type};\nexport default value;\n`;

/** @param from  where the linker put its files */
export function embedBuilds(from, to) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  mkdirSync(to, { recursive: true });
  const written = new Set();
  const write = (file, content) => {
    writeFileSync(join(to, file), content);
    written.add(file);
  };
  for (const [name, typedLike] of Object.entries(BUILDS)) {
    const module = readFileSync(join(from, `${name}.js`), "utf8");
    const linked = normalized(readFileSync(join(from, `${name}.wasm`)));
    const binary = withSection(linked, `${version} ${name}`);
    write(`${name}.js`, withoutOwnBinary(module, name));
    write(`${name}.wasm`, binary);
    write(`${name}.text.js`, `export default ${JSON.stringify(toText(binary), null, 1)};\n`);
    write(`${name}.text.d.ts`, declare("readonly string[]"));
    write(
      `${name}.d.ts`,
      name === typedLike
        ? readFileSync(join(from, `${name}.d.ts`))
        : `export * from "./${typedLike}.js";\nexport { default } from "./${typedLike}.js";\n`,
    );
  }
  const decoder = readFileSync(join(from, "decoder.wasm"), "base64");
  for (const [name, value] of Object.entries({ decoder, version })) {
    write(`${name}.js`, `export default ${JSON.stringify(value)};\n`);
    write(`${name}.d.ts`, declare("string"));
  }
  for (const file of readdirSync(to)) {
    if (!written.has(file)) rmSync(join(to, file), { recursive: true });
  }
}
