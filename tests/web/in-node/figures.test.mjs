// Numbers below figures, and headings of notebooks, without a page.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { readNotebooks } from "../../../web/build/read-notebook.mjs";
import { groupSize } from "../../../web/figures/drawings/group-size.js";

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
