// The package stays within its budget, and the README says how large it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { BUDGET, measure, tooLarge } from "../../scripts/size.mjs";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

describe("The size of the package", () => {
  let rows;
  before(async () => {
    rows = await measure();
  });

  it("keeps all of zeropoint and one build within the budget", () => {
    const over = tooLarge(rows).map(({ build, brotli }) => `${build}: ${brotli} bytes`);
    assert.deepEqual(over, [], `above ${BUDGET} bytes with brotli; npm run size shows the rest`);
  });

  it("would be noticed above a budget", () => {
    assert.notEqual(tooLarge(rows, 30_000).length, 0);
  });

  it("is what the README says, within 5 % for other versions of the compiler", () => {
    for (const { what, build, minified, gzip, brotli } of rows) {
      const line = readme.split("\n").find((text) => text.startsWith(`| ${what} | \`${build}\` |`));
      assert.ok(line, `the README has no line for ${what} with the ${build} build: npm run size`);
      const said = [...line.matchAll(/([\d.]+) kB/g)].map(([, number]) => 1000 * Number(number));
      for (const [i, bytes] of [minified, gzip, brotli].entries()) {
        assert.ok(Math.abs(said[i] - bytes) < 0.05 * bytes, `${line} is not ${bytes} bytes`);
      }
    }
  });
});

describe("A bundle", () => {
  /** What of the library is in the file that a program becomes, and its length. */
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
  const others = /observer|histogram|passive|qconfig|model|linear|notebook|async/;

  it("that uses quantize holds no observers, models or layers", async () => {
    const { used } = await bundle('import { quantize } from "zeropoint"; quantize([]);');
    assert.match(used, /dist\/quantize\.js/);
    assert.doesNotMatch(used, others);
    const { used: more } = await bundle(
      'import { MinMaxObserver } from "zeropoint"; MinMaxObserver();',
    );
    assert.match(more, others);
  });

  it("that uses nothing holds nothing", async () => {
    for (const entry of ["zeropoint", "zeropoint/slim", "zeropoint/notebook"]) {
      assert.equal((await bundle(`import * as all from "${entry}";`)).text, "");
    }
  });
});
