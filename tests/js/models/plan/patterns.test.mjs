// Patterns of names: what matches, which texts tell groups apart, and how long it takes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { plan } from "zeropoint/models";
import { fuzzLimits } from "../../support/arbitraries.mjs";
import { rowsOf, two } from "./rows.mjs";

/** The pattern as a regular expression, which captures texts outside of braces. */
function regexOf(pattern) {
  let depth = 0;
  const source = pattern.replace(/\*+|[\s\S]/gu, (token) => {
    if (token === "{") {
      depth++;
      return "(?:";
    }
    if (token === "}") {
      depth--;
      return ")";
    }
    if (token === "," && depth > 0) return "|";
    if (token.startsWith("*")) return depth > 0 ? "[^]*" : "([^]*)";
    if (token === "?") return depth > 0 ? "[^]" : "([^])";
    return token.replace(/[\\^$.|+()[\]/]/, "\\$&");
  });
  return new RegExp(`^${source}$`, "u");
}

const letters = fc.constantFrom("a", "b", ".", "𝒳");
const name = fc.array(letters, { minLength: 1, maxLength: 8 }).map((each) => each.join(""));
const simple = fc.array(fc.oneof(letters, fc.constantFrom("*", "?")), { maxLength: 4 });
const alternatives = fc
  .array(simple, { minLength: 1, maxLength: 3 })
  .map((all) => `{${all.map((each) => each.join("")).join(",")}}`);
const nested = fc
  .tuple(simple, alternatives, alternatives)
  .map(([a, b, c]) => `{${a.join("")}${b},${c}}`);
const pattern = fc
  .array(fc.oneof(letters, fc.constantFrom("*", "?"), alternatives, nested), { maxLength: 6 })
  .map((each) => each.join(""));

const rowsWith = (names) => rowsOf(Object.fromEntries(names.map((each) => [each, two])));

describe("patterns of names", () => {
  it("match what the regular expression matches", () => {
    fc.assert(
      fc.property(pattern, fc.uniqueArray(name, { minLength: 1, maxLength: 8 }), (own, names) => {
        const expected = names.filter((each) => regexOf(own).test(each)).sort();
        fc.pre(expected.length > 0);
        const { reasons } = plan(rowsWith(names), {
          bytes: 1e6,
          pin: { [own]: "small" },
          same: [],
        });
        assert.deepEqual(Object.keys(reasons).sort(), expected, own);
      }),
      fuzzLimits(3, 2000),
    );
  });

  it("tell groups apart by the texts that the regular expression captures", () => {
    const pair = fc.uniqueArray(name, { minLength: 2, maxLength: 2 });
    fc.assert(
      fc.property(pattern, pair, (own, names) => {
        const [a, b] = names.map((each) => regexOf(own).exec(each)?.slice(1).join("\0"));
        // The first tensor is exact by x, the other one by y; in a group both have one scheme.
        const rows = names.flatMap((each, i) =>
          ["x", "y"].map((scheme, k) => ({
            name: each,
            scheme,
            parameters: 100,
            bytes: 10,
            relative: i === k ? 0 : 0.5,
          })),
        );
        const { schemes } = plan(rows, { bytes: 1e6, same: [own] });
        const isOne = schemes[names[0]] === schemes[names[1]];
        assert.equal(isOne, a !== undefined && a === b, `${own}: ${names.join(" and ")}`);
      }),
      fuzzLimits(3, 2000),
    );
  });

  it("take time by the product of the lengths, whatever the pattern is", () => {
    // A backtracking matcher would go through more than 10^30 ways.
    const names = [`${"a".repeat(4000)}b`, `${"a".repeat(4000)}c`];
    const hostile = `${"*a".repeat(12)}*b`;
    const braces = `${"{a,*a}".repeat(60)}*b`;
    for (const own of [hostile, braces]) {
      const { reasons } = plan(rowsWith(names), { bytes: 1e6, pin: { [own]: "small" }, same: [] });
      assert.deepEqual(Object.keys(reasons), [names[0]]);
    }
  });
});
