import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const tsc = require.resolve("typescript/lib/tsc.js");
const ts = require("typescript");

/** An editor's completions at the | of a program. */
function offered(program) {
  const at = program.indexOf("|");
  const text = program.replace("|", "");
  const file = fileURLToPath(new URL("offered.mts", import.meta.url));
  const options = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts"],
    strict: true,
    types: [],
  };
  const { readFile, fileExists, directoryExists } = ts.sys;
  const read = (path) => (path === file ? text : readFile(path));
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getCurrentDirectory: () => fileURLToPath(new URL(".", import.meta.url)),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [file],
    getScriptSnapshot: (path) => ts.ScriptSnapshot.fromString(read(path) ?? ""),
    getScriptVersion: () => "1",
    directoryExists,
    fileExists: (path) => path === file || fileExists(path),
    readFile: read,
  });
  const { entries } = service.getCompletionsAtPosition(file, at, {});
  return entries.map(({ name }) => name).sort();
}

describe("the types", () => {
  it("satisfy types.test-d.ts, without the libraries of browsers or Node", () => {
    const project = fileURLToPath(new URL(".", import.meta.url));
    const { stdout, status } = spawnSync(process.execPath, [tsc, "-p", project], {
      encoding: "utf8",
    });
    assert.equal(stdout, "");
    assert.equal(status, 0);
  });

  for (const name of ["quantize", "chooseQParams", "fakeQuantize"]) {
    it(`complete every dtype for ${name}, not only the default`, () => {
      const names = offered(`
        import { ${name}, type Tensor } from "zeropoint";
        declare const x: Tensor;
        ${name}(x, { dtype: "|" });`);
      // Qparams with zero points are chosen for integers alone.
      const floats = name === "chooseQParams" ? "" : "float4_e2m1 float8_e4m3fn float8_e5m2 ";
      const all =
        "int16 int2 int3 int32 int4 int5 int6 int7 int8 uint1 uint16 uint2 uint3 uint4 uint5 uint6 uint7 uint8";
      assert.equal(names.join(" "), `${floats}${all}`);
    });
  }
});
