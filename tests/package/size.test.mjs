// The package stays within its budget, and the README says how large it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
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
