// The package stays within its size budgets, and the README lists the current sizes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { BUDGETS, measure, tooLarge } from "../../scripts/checks/size.mjs";

const documented = readFileSync(new URL("../../docs/sizes.md", import.meta.url), "utf8");

describe("The size of the package", () => {
  let rows;
  before(async () => {
    rows = await measure();
  });

  it("keeps the example, the observers and all of zeropoint with one build within their budgets", () => {
    const over = tooLarge(rows).map(({ what, build, brotli }) => `${what}, ${build}: ${brotli}`);
    assert.deepEqual(over, [], "above the budget in bytes with brotli: npm run size");
  });

  it("exceeds each budget when the budget is set lower", () => {
    for (const what of Object.keys(BUDGETS)) {
      const [{ brotli }] = rows.filter((row) => row.what === what);
      assert.notEqual(tooLarge(rows, { [what]: brotli - 1 }).length, 0, what);
    }
    assert.throws(() => tooLarge(rows, { "no such row": 1 }), /nothing measured/);
  });

  it("equals the sizes of docs/sizes.md, within 5 % for other versions of the compiler", () => {
    for (const { what, build, minified, gzip, brotli } of rows) {
      const line = documented
        .split("\n")
        .find((text) => text.startsWith(`| ${what} | \`${build}\` |`));
      assert.ok(
        line,
        `docs/sizes.md has no line for ${what} with the ${build} build: npm run size`,
      );
      const said = [...line.matchAll(/([\d.]+) kB/g)].map(([, number]) => 1000 * Number(number));
      for (const [i, bytes] of [minified, gzip, brotli].entries()) {
        assert.ok(Math.abs(said[i] - bytes) < 0.05 * bytes, `${line} is not ${bytes} bytes`);
      }
    }
  });
});

describe("A bundle", () => {
  /** The parts of the library in a program's bundle, and the bundle's length. */
  const bundle = async (contents) => {
    const { build } = await import("esbuild");
    const external = {
      name: "chunks",
      setup: ({ onResolve }) => onResolve({ filter: /./ }, later),
    };
    const later = ({ kind }) => ({ external: kind === "dynamic-import" });
    const { metafile, outputFiles } = await build({
      stdin: { contents, resolveDir: fileURLToPath(new URL("../..", import.meta.url)) },
      bundle: true,
      format: "esm",
      minify: true,
      write: false,
      metafile: true,
      plugins: [external],
    });
    const [{ inputs }] = Object.values(metafile.outputs);
    const used = Object.keys(inputs).filter((name) => inputs[name].bytesInOutput > 0);
    return { used: used.join(" "), text: outputFiles[0].text };
  };
  const others = /dist\/(observers|linear|nn|notebook)\//;

  it("that uses quantize contains no observers, models or layers", async () => {
    const { used } = await bundle('import { quantize } from "zeropoint"; quantize([]);');
    assert.match(used, /dist\/quantize\/quantize\.js/);
    assert.doesNotMatch(used, others);
    const { used: more } = await bundle(
      'import { MinMaxObserver } from "zeropoint/torch"; MinMaxObserver();',
    );
    assert.match(more, others);
  });

  it("that uses nothing is empty", async () => {
    for (const entry of ["zeropoint", "zeropoint/slim", "zeropoint/notebook"]) {
      assert.equal((await bundle(`import * as all from "${entry}";`)).text, "");
    }
  });
});
