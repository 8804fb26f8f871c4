// The content of the tarball: ES modules without dependencies, and no files for development.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, posix } from "node:path";
import { before, describe, it } from "node:test";
import { parse } from "acorn";
import { countCores, hasCore } from "./core.mjs";
import { makeProject, run, tarball, writeFiles } from "./project.mjs";

/** The parts of a syntax tree, itself included. */
function* walk(node) {
  if (typeof node?.type === "string") yield node;
  for (const value of Object.values(node ?? {})) {
    if (Array.isArray(value)) for (const item of value) yield* walk(item);
    else if (typeof value?.type === "string") yield* walk(value);
  }
}

const parseModule = (text) =>
  parse(text, { ecmaVersion: 2022, sourceType: "module", allowHashBang: true });

/** Whether a node is an import, or an export from another module. */
const isImport = ({ type, source }) =>
  /^(Import(Declaration|Expression)|Export(Named|All)Declaration)$/.test(type) && !!source;

describe("The tarball", () => {
  let folder;
  let manifest;
  let files;
  /** The nodes of each script's syntax tree, by its path. */
  let syntax;
  before(() => {
    const project = makeProject("tarball");
    folder = join(project, "node_modules", "zeropoint");
    manifest = JSON.parse(read("package.json"));
    files = tarball().files.map((file) => file.path);
    syntax = new Map(scripts().map((path) => [path, [...walk(parseModule(read(path)))]]));
  });
  const read = (path) => readFileSync(join(folder, path), "utf8");
  const scripts = () => files.filter((path) => path.endsWith(".js"));
  /** The command line runs in Node alone. */
  const isForNode = (path) => path.startsWith("dist/cli/");
  /** The entries that are modules. */
  const entries = () =>
    Object.keys(manifest.exports).filter(
      (entry) => manifest.exports[entry].types !== undefined && !entry.endsWith(".wasm"),
    );
  const declarations = () => files.filter((path) => path.endsWith(".d.ts"));

  it("contains the package, its licence and its documents, and nothing else", () => {
    const papers = ["CHANGELOG.md", "LICENSE", "README.md", "package.json"];
    const rest = files.filter((path) => !/^dist\/[\w/.-]+\.(js|d\.ts|wasm)$/.test(path));
    assert.deepEqual(rest.sort(), papers);
    assert.ok(!files.some((path) => path.startsWith("dist/web/")), "the page is not included");
  });

  it("contains only ES modules, whose import has no side effects", () => {
    assert.equal(manifest.type, "module");
    assert.equal(manifest.sideEffects, false);
    for (const field of ["module", "browser"]) assert.equal(manifest[field], undefined, field);
  });

  it("has no dependencies and no install scripts", () => {
    for (const field of [
      "dependencies",
      "optionalDependencies",
      "peerDependencies",
      "bundleDependencies",
    ]) {
      assert.equal(manifest[field], undefined, field);
    }
    const lifecycle = /^(pre|post)?(install|prepare|publish|uninstall)$|^prepublishOnly$/;
    assert.deepEqual(
      Object.keys(manifest.scripts).filter((name) => lifecycle.test(name)),
      [],
    );
    const [installed] = Object.keys(
      JSON.parse(readFileSync(join(folder, "..", ".package-lock.json"), "utf8")).packages,
    );
    assert.equal(installed, "node_modules/zeropoint");
  });

  it("exports only files that it contains, types first", () => {
    for (const [entry, target] of Object.entries(manifest.exports)) {
      const targets = typeof target === "string" ? { default: target } : target;
      const conditions = Object.keys(targets);
      for (const path of Object.values(targets)) {
        assert.ok(files.includes(posix.normalize(path)), `${entry}: ${path} is not in the tarball`);
      }
      // Scripts of workers, which nothing imports.
      if (!targets.default.endsWith(".js") || entry.endsWith("worker.js")) continue;
      assert.deepEqual(conditions, ["types", "default"], entry);
    }
  });

  it("imports only its own files, by static strings that every bundler can follow", () => {
    const imports = [...syntax].flatMap(([path, nodes]) =>
      nodes.filter(isImport).map(({ source }) => ({ path, value: source.value })),
    );
    assert.ok(imports.length > syntax.size, `${imports.length} imports in ${syntax.size} files`);
    for (const { path, value } of imports) {
      assert.equal(typeof value, "string", `${path}: the address of an import is not constant`);
      if (isForNode(path) && isBuiltin(value)) {
        assert.match(value, /^node:/, path);
        continue;
      }
      assert.match(value, /^\.{1,2}\//, `${path} imports ${value}`);
      const target = posix.join(posix.dirname(path), value);
      assert.ok(files.includes(target), `${path} imports ${value}, which is not in the tarball`);
    }
  });

  it("calls neither require nor eval nor Function", () => {
    const calls = [...syntax.values()].flat().filter(({ type }) => type === "CallExpression");
    assert.ok(calls.length > syntax.size, `${calls.length} calls`);
    for (const [path, nodes] of syntax) {
      for (const { callee } of nodes.filter(({ type }) => /^(Call|New)Expression$/.test(type))) {
        assert.doesNotMatch(callee.name ?? "", /^(require|eval|Function)$/, path);
      }
    }
  });

  it("names modules of Node only in imports of the command line and in calls of getBuiltinModule", () => {
    // A bundler for browsers would resolve, or warn about, any other one.
    for (const [path, nodes] of syntax) {
      const imported = isForNode(path) ? nodes.filter(isImport).map(({ source }) => source) : [];
      const lookedUp = nodes
        .filter(({ callee }) => callee?.property?.name === "getBuiltinModule")
        .flatMap((call) => call.arguments);
      const allowed = new Set([...imported, ...lookedUp]);
      for (const node of nodes) {
        if (node.type !== "Literal" || allowed.has(node)) continue;
        assert.doesNotMatch(String(node.value), /^node:/, path);
      }
    }
  });

  it("declares the entries' types alone, rolled up into one file each and one that they share", () => {
    const types = Object.values(manifest.exports).flatMap(({ types }) => types ?? []);
    const expected = new Set([
      ...types.map((path) => posix.normalize(path)),
      "dist/types/shared.d.ts",
    ]);
    assert.deepEqual(declarations().sort(), [...expected].sort());
  });

  it("has types without references to other packages' types", () => {
    for (const path of declarations()) {
      const text = read(path);
      assert.doesNotMatch(text, /^\/\/\/ *<reference (?!lib=)/m, `${path} refers to other types`);
      // Examples in comments import the entries by name.
      const code = text.replace(/\/\*.*?\*\//gs, "");
      for (const [, specifier] of code.matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
        assert.match(specifier, /^\.{1,2}\//, `${path} imports ${specifier}`);
        const target = posix.join(dirname(path), specifier).replace(/\.js$/, ".d.ts");
        assert.ok(
          files.includes(target),
          `${path} imports ${specifier}, which is not in the tarball`,
        );
      }
    }
  });

  it("accesses no globals on import, so that a server may render with it", () => {
    // Globals that a server may lack throw on access, and all built-in objects are frozen.
    const source = `
const hidden = ["WebAssembly", "Worker", "Atomics", "document", "window", "self",
  "location", "navigator", "fetch", "localStorage", "crossOriginIsolated", "trustedTypes", "caches", "crypto"];
for (const name of hidden) {
  const get = () => { throw new Error("importing looks at " + name); };
  Object.defineProperty(globalThis, name, { configurable: true, get });
}
// Its intrinsic getter is captured on import, where there is one.
Object.defineProperty(globalThis, "SharedArrayBuffer", { configurable: true, value: undefined });
const keys = () => Reflect.ownKeys(globalThis).length;
const before = keys();
const modules = [];
for (const entry of process.argv.slice(2)) modules.push(await import(entry));
if (keys() !== before) throw new Error("importing adds globals");
console.log(modules.every((module) => typeof (module.init ?? module.connect ?? module.save ?? module.prepare ?? module.VectorIndex) === "function"));
`;
    const project = dirname(dirname(folder));
    writeFiles(project, { "server.mjs": source });
    const { code, stdout, stderr } = run(project, process.execPath, [
      ...["--frozen-intrinsics", "--no-warnings", "server.mjs"],
      ...entries().map((entry) => posix.join(manifest.name, entry)),
    ]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "true\n");
  });

  it("loads a core on start, not on import", () => {
    const builds = files.filter((path) => path.endsWith(".wasm"));
    assert.equal(countCores(join(folder, "dist")), builds.length, "each build is included as text");
    for (const entry of entries()) {
      const reached = new Set();
      const follow = (path) => {
        if (reached.has(path)) return;
        reached.add(path);
        for (const node of parseModule(read(path)).body) {
          if (node.source) follow(posix.join(posix.dirname(path), node.source.value));
        }
      };
      follow(posix.normalize(manifest.exports[entry].default));
      assert.ok(reached.size > 5, `${entry} imports only ${[...reached]}`);
      const cores = [...reached].filter((path) => hasCore(Buffer.from(read(path))));
      assert.deepEqual(cores, [], `${entry} imports a core`);
    }
  });
});
