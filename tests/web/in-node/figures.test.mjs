// Numbers below figures, and headings of notebooks, without a page.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { fromPage } from "../from-page.mjs";

const { readNotebooks } = await fromPage("build/read-notebook.mjs");
const { bits } = await fromPage("figures/drawings/bits.js");
const { groupSize } = await fromPage("figures/drawings/group-size.js");
const { outlierCodes } = await fromPage("figures/drawings/outlier-codes.js");

before(async () => {
  await zeropoint.init();
});

/** All text of a tree of a drawing. */
const textsOf = (node) =>
  typeof node === "object" && node !== null ? Object.values(node).flatMap(textsOf) : [String(node)];

describe("the figure of group sizes", () => {
  it("counts 4 bits for each code and 32 for each scale", () => {
    const texts = textsOf(groupSize.draw({ outliers: "0", size: "32" }, zeropoint, 600));
    // 2048 codes of 4 bits; 64 scales, or 4 with one for each row.
    assert.ok(texts.includes(String(1024 + 4 * 64)), texts.join(" "));
    assert.ok(texts.includes(String(1024 + 4 * 4)));
  });
});

/** All elements of a tree that a test accepts. */
const found = (node, test) =>
  typeof node !== "object"
    ? []
    : [...(test(node) ? [node] : []), ...node.children.flatMap((child) => found(child, test))];

const childText = (node) =>
  typeof node === "object" ? node.children.map(childText).join("") : String(node);

describe("the figure of bits", () => {
  const linesOf = (number) =>
    found(bits.draw({ number }, zeropoint, 600), ({ attributes }) =>
      attributes.class?.startsWith("bits-value"),
    ).map(childText);

  it("gives the code and value of one number in each format", () => {
    // Bits by hand: 0.1 is 1.6 / 16, and 0.6 is 0.1001 1001 1001 1001 1001 101 in float32, 0.1001101 in bfloat16,
    // 0.1001100110 in float16, 0.101 and 0.10 in float8; two sixteenths are nearest in int8.
    assert.deepEqual(linesOf("0.1"), [
      "float32: 0.10x3DCCCCCD",
      "bfloat16: 0.100097656, off by 0.00009770x3DCD",
      "float16: 0.099975586, off by −0.00002440x2E66",
      "float8 E4M3: 0.1015625, off by 0.001560x1D",
      "float8 E5M2: 0.09375, off by −0.006250x2E",
      "int8, scale 1/16: 0.125, off by 0.0250x02",
    ]);
  });

  it("gives numbers beyond a format's largest value, infinity, NaN and the negative zero", () => {
    const values = (number) => linesOf(number).map((line) => line.match(/: (.*?)(, off|0x)/)[1]);
    assert.deepEqual(values("70000"), ["70000", "70144", "inf", "448", "57344", "7.9375"]);
    assert.deepEqual(values("-inf"), ["−inf", "−inf", "−inf", "−448", "−57344", "−8"]);
    assert.deepEqual(values("nan"), ["nan", "nan", "nan", "nan", "nan", "0"]);
    assert.deepEqual(values("−0"), ["−0", "−0", "−0", "−0", "−0", "0"]);
    assert.deepEqual(values("words"), ["0", "0", "0", "0", "0", "0"]);
  });

  it("flips each bit to the value that the other code has", () => {
    for (const number of ["0.1", "-300"]) {
      const tree = bits.draw({ number }, zeropoint, 600);
      const setters = found(tree, ({ attributes }) => attributes["data-key"]);
      assert.equal(setters.length, 32 + 16 + 16 + 8 + 8 + 8);
      for (const { attributes, children } of setters) {
        const flipped = bits.draw({ number: attributes["data-to"] }, zeropoint, 600);
        if (attributes["data-to"] === "nan") continue; // several codes
        const [same] = found(
          flipped,
          (each) => each.attributes["data-key"] === attributes["data-key"],
        );
        // The integer 0 has one code, and -0 is not among its values.
        assert.equal(same.children[0], 1 - children[0], `${number} ${attributes["data-label"]}`);
      }
    }
  });
});

describe("the figure of an outlier", () => {
  it("leaves few codes of int8 to the others, and most of those of float8", () => {
    const counts = (outlier) =>
      found(outlierCodes.draw({ outlier }, zeropoint, 600), ({ tag }) => tag === "tr")
        .slice(1)
        .map(({ children }) => Number(childText(children[1])));
    const [before, after] = [counts("1"), counts("50")];
    // The others reach 127 steps on each side at most, and 127 / 50 of them.
    assert.ok(before[0] > 80 && after[0] <= 7, `${before} ${after}`);
    assert.ok(after[2] > 0.8 * before[2], `${before} ${after}`);
  });
});

describe("readNotebooks", () => {
  it("lists headings of the second level as sections", (test) => {
    const folder = mkdtempSync(join(tmpdir(), "zeropoint-notebook-"));
    test.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(
      join(folder, "1-first.md"),
      "# Title\n\nLead.\n\n## A section\n\nText.\n\n### Part of it\n\nText.\n\n## Another one\n\nText.\n",
    );
    const [{ title, sections }] = readNotebooks(folder, zeropoint);
    assert.equal(title, "Title");
    assert.deepEqual(sections, [
      { id: "first-a-section", title: "A section" },
      { id: "first-another-one", title: "Another one" },
    ]);
  });
});
