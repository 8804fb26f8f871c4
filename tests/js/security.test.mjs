// SECURITY.md: every promise names a test, and the test exists.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

const root = new URL("../../", import.meta.url);
const text = readFileSync(new URL(".github/SECURITY.md", root), "utf8");
const promises = text.split("## What zeropoint promises")[1].split("\n## ")[0];
const origins = text.split("## Where the package comes from")[1];
const itemsOf = (part) => part.split(/\n(?=- )|\n\n/).filter((item) => item.startsWith("- "));
const items = [...itemsOf(promises), ...itemsOf(origins)];

describe("SECURITY.md", () => {
  it("has a promise for each kind of attacker", () => {
    const headings = [...promises.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings, [
      "Hostile values and files",
      "Hostile folders and addresses",
      "A neighbour with access to the output folder",
      "Hostile cells of the page",
      "The package",
    ]);
    assert.ok(items.length >= 20, `${items.length} promises`);
  });

  for (const item of items) {
    const title = item.replace(/\s+/g, " ").slice(2, 60);
    it(`names tests that exist: ${title}`, () => {
      const files = [...item.matchAll(/`(tests\/[^`]+)`/g)].map(([, file]) => file);
      assert.ok(files.length > 0, "no test is named");
      for (const file of files) assert.ok(existsSync(new URL(file, root)), `${file} is missing`);
    });
  }
});
