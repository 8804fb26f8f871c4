// The tarball in Node: the oldest supported version, the last version of its line, the newest.

import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { example, lines, promised, required } from "./example.mjs";
import { makeProject, run, versionOf } from "./project.mjs";

/** npm's package with the Node program for this platform; the package "node" only selects it. */
const { platform, arch } = process;
const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
const PACKAGE = `${prefix}-${platform === "win32" ? "win" : platform}-${arch}`;

/** Every entry of the package, from CommonJS without require(). */
const IMPORTED = `
Promise.all([import("zeropoint"), import("zeropoint/notebook")]).then(async ([{ init }, notebook]) => {
  const { build, threads } = await init();
  await notebook.init();
  const [q] = notebook.linear_q_symmetric(notebook.torch.tensor([0.5, -1.5]));
  console.log(build, threads, String(q));
});
`;

/** The build an engine chooses, and its message for the relaxed build. */
const RELAXED = `
import { create, init } from "zeropoint";
const refusal = await create({ build: "relaxed" }).then(({ build }) => build, String);
console.log((await init()).build, refusal);
`;
const WRONG =
  'Error: create: this engine computes relaxed SIMD wrongly, which the "relaxed" build needs';
const MISSING = 'Error: create: this engine has no relaxed SIMD, which the "relaxed" build needs';

describe("The tarball", () => {
  for (const [wanted, hasRequire] of [
    ["20.16.0", false],
    ["20", true],
    ["latest", true],
  ]) {
    describe(`in Node ${wanted}`, () => {
      let project;
      let node;
      before(() => {
        const tools = [`${PACKAGE}@${wanted}`];
        const files = {
          "example.mjs": example,
          "required.cjs": required,
          "imported.cjs": IMPORTED,
          "relaxed.mjs": RELAXED,
        };
        project = makeProject(`node-${wanted}`, { tools, files });
        node = join(project, "node_modules", PACKAGE, "bin", "node");
      });
      const version = () => versionOf(project, PACKAGE).replace(/^v/, "");

      it("runs in that version", (t) => {
        const { stdout } = run(project, node, ["--version"]);
        assert.equal(stdout.trim(), `v${version()}`);
        t.diagnostic(`Node ${version()}`);
      });

      it("runs the README's example", () => {
        const { stdout, stderr } = run(project, node, ["example.mjs"]);
        assert.equal(stderr, "");
        assert.deepEqual(lines(stdout), promised);
      });

      it(`${hasRequire ? "runs" : "refuses"} the example with require()`, () => {
        // Suppress Node's warning that require() of an ES module is experimental, in versions that print it.
        const { stdout, stderr } = run(project, node, ["--no-warnings", "required.cjs"]);
        if (!hasRequire) return assert.match(stderr, /ERR_REQUIRE_ESM/);
        assert.equal(stderr, "");
        assert.deepEqual(lines(stdout), promised);
      });

      it("is imported by CommonJS, zeropoint/notebook included", () => {
        const { stdout, stderr } = run(project, node, ["imported.cjs"]);
        assert.equal(stderr, "");
        assert.match(stdout, /^\w+ 1 tensor\(\[ +42, -127\], dtype=torch\.int8\)\n$/);
      });

      it("takes the relaxed build only where the engine computes it correctly", () => {
        const relaxed = (...flags) => run(project, node, [...flags, "relaxed.mjs"]).stdout.trim();
        if (!version().startsWith("20.")) return assert.equal(relaxed(), "relaxed relaxed");
        // With its flag, this engine accepts the instructions but computes some of them wrongly.
        assert.equal(relaxed(), `baseline ${MISSING}`);
        assert.equal(relaxed("--experimental-wasm-relaxed-simd"), `baseline ${WRONG}`);
      });
    });
  }
});
