// The tarball's types: in strict projects under both applicable kinds of module resolution, and under two tools
// that check packages' types and manifests.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { example } from "./example.mjs";
import { makeProject, run, tarball, versionOf, writeFiles } from "./project.mjs";

/** The example, and lines that must not compile: they would if a result's type were any or too wide. */
const TYPED = `${example}
import { type AppendOptions, type Tensor } from "zeropoint";
import { Sequential } from "zeropoint/torch";
import { analyze, load, openModel, plan, quantizeModel, save, type Model } from "zeropoint/models";
import { type SearchResult, VectorIndex } from "zeropoint/search";
import { connect } from "zeropoint/worker";
import { init as initNotebook, torch } from "zeropoint/notebook";
import { init as initSlim } from "zeropoint/slim";
import binary from "zeropoint/baseline.wasm";

const codes: Int8Array = q.data;
const scales: Float32Array = q.scale.data;
const bytes: Uint8Array = quantize(x, { dtype: "uint8", scheme: "affine" }).data;
const scale: number = quantize(x).scale;
// @ts-expect-error: int8 codes are not unsigned
const unsigned: Uint8Array = q.data;
// @ts-expect-error: the scale of a whole tensor has no shape
quantize(x).scale.shape;
// @ts-expect-error: there is no such option
quantize(x, { axes: 0 });
await initNotebook();
console.log(codes, scales, bytes, scale, unsigned, String(torch.tensor([1, 2])));

const compiled: WebAssembly.Module = binary;
// @ts-expect-error: a binary has no functions
binary.exports;
export const started = () => initSlim({ wasm: compiled });

// A library on top of the package: its own declarations name the package's types.
export const append = (rows: Tensor, options?: AppendOptions) => layer.append(rows, options);
export const appending = layer.append;
export const restored = await load<Sequential>(save(new Sequential([])));
export const opened: Model = await openModel(new Uint8Array(8));
export async function* rowsOf(model: Model) {
  yield* analyze(model);
}
export const planned = plan([], { ratio: 0.5 });
export const written = await quantizeModel(opened, planned);
export const streams = written.files.map((file) => file.stream());
export const connection = await connect({ entries: ["torch", "search"] });
export const index = new VectorIndex<string>({ dimensions: 3 });
export const nearest: SearchResult<string, "cosine"> = index.search([1, 2, 3]);
export const score: number | undefined = nearest.hits[0]?.score;
export const distance: number | undefined = new VectorIndex({ dimensions: 3, metric: "euclidean" })
  .search(x).hits[0]?.distance;
// @ts-expect-error: hits of cosines have no distance
nearest.hits[0]?.distance;
// @ts-expect-error: ids are strings
index.add([1, 2, 3], 7);
export const handle = await connection.vectorIndex({ dimensions: 3 });
export const results = await handle.search([[1, 2, 3]], { k: 2, signal: AbortSignal.timeout(9) });
export const dtype = torch.int8;
export const ones = torch.tensor([1, 1]);
export const { dtype: found, data } = ones;
`;

/** Prints a module that exports each value of the entries, and each function and method of torch. */
const NAMING = `
const entries = ["zeropoint", ...["torch", "models", "search", "worker", "notebook", "slim"].map((each) => "zeropoint/" + each)];
for (const [i, entry] of entries.entries()) {
  console.log(\`import * as entry\${i} from "\${entry}";\`);
  for (const name of Object.keys(await import(entry))) console.log(\`export const \${name}\${i} = entry\${i}.\${name};\`);
}
const { init, torch } = await import("zeropoint/notebook");
await init();
for (const name of Object.keys(torch)) console.log(\`export const of_torch_\${name} = entry5.torch.\${name};\`);
console.log("const tensor = entry5.torch.tensor([1]);");
for (let each = torch.tensor([1]); each !== Object.prototype; each = Object.getPrototypeOf(each)) {
  for (const name of Object.getOwnPropertyNames(each)) {
    if (/^[a-z]\\w*$/i.test(name) && name !== "constructor") console.log(\`export const of_tensor_\${name} = tensor.\${name};\`);
  }
}
`;

const CONFIGURATIONS = {
  node16: { module: "node16", moduleResolution: "node16" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
  // Reads main, types and typesVersions of package.json; TypeScript 6 has withdrawn it.
  node: { module: "esnext", moduleResolution: "node" },
};

const STRICT = {
  target: "es2022",
  lib: ["es2022", "dom"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  declaration: true,
  noEmit: true,
  // The package's own declarations are checked as well.
  skipLibCheck: false,
};

describe("The tarball's types", () => {
  for (const version of ["5.4", "latest"]) {
    describe(`compile with TypeScript ${version}`, () => {
      let project;
      before(() => {
        project = makeProject(`typescript-${version}`, {
          tools: [`typescript@${version}`],
          files: { "example.mts": TYPED },
        });
        const { code, stdout, stderr } = run(project, process.execPath, [
          ...["--input-type=module", "--eval"],
          NAMING,
        ]);
        assert.equal(code, 0, stderr);
        assert.ok(stdout.match(/of_t\w+_clamp\b/g)?.length === 2);
        writeFiles(project, { "named.mts": stdout });
      });

      for (const [name, options] of Object.entries(CONFIGURATIONS)) {
        if (name === "node" && version === "latest") continue;
        it(`strict, moduleResolution ${name}`, (t) => {
          t.diagnostic(`TypeScript ${versionOf(project, "typescript")}`);
          const compilerOptions = { ...STRICT, ...options };
          const config = JSON.stringify({ compilerOptions, files: ["example.mts", "named.mts"] });
          writeFiles(project, { "tsconfig.json": config });
          const tsc = join("node_modules", "typescript", "bin", "tsc");
          const { code, stdout, stderr } = run(project, process.execPath, [tsc]);
          assert.equal(stdout + stderr, "");
          assert.equal(code, 0);
        });
      }
    });
  }

  it("are named for TypeScript's resolution without exports, for every entry that has some", () => {
    const { exports, types, typesVersions } = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url)),
    );
    const entries = Object.entries(exports).filter(([, target]) => target.types);
    const expected = entries.map(([entry, target]) => [entry, target.types]);
    const named = Object.entries(typesVersions["*"]).map(([name, [file]]) => [`./${name}`, file]);
    assert.deepEqual([[".", types], ...named].sort(), expected.sort());
  });

  it("are in order for @arethetypeswrong/cli", (t) => {
    const tools = ["@arethetypeswrong/cli@0"];
    const project = makeProject("arethetypeswrong", { tools });
    t.diagnostic(`@arethetypeswrong/cli ${versionOf(project, "@arethetypeswrong/cli")}`);
    // The package has ES modules only, and Node 10's module resolution does not support exports.
    const { code, stdout, stderr } = run(project, process.execPath, [
      join("node_modules", "@arethetypeswrong", "cli", "dist", "index.js"),
      ...[tarball().path, "--profile", "esm-only", "--no-color", "--no-emoji"],
      // Scripts of workers, which nothing imports.
      ...["--exclude-entrypoints", "./worker.js", "./models-worker.js"],
    ]);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /"zeropoint"[\s\S]*"zeropoint\/notebook"/);
  });

  it("and manifest are in order for publint", (t) => {
    const project = makeProject("publint", { tools: ["publint@0"] });
    t.diagnostic(`publint ${versionOf(project, "publint")}`);
    const { code, stdout, stderr } = run(project, process.execPath, [
      join("node_modules", "publint", "src", "cli.js"),
      ...["run", tarball().path, "--strict", "--level", "suggestion"],
    ]);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /All good!/);
  });
});
