// The bytes that a view loads before its use.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chromiumOnly } from "../browser.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { LIMITS, weigh } from "../weight.mjs";

describe("A view that is only read", () => {
  for (const [view, limit] of Object.entries(LIMITS)) {
    it(`loads at most ${limit} bytes: ${view}`, chromiumOnly("weigh"), async () => {
      const { bytes, files } = await weigh(browser, site.url, view);
      const names = files.map(([path, weight]) => `${path} ${weight}`).join("\n");
      assert.ok(bytes > 10_000 && bytes <= limit, `${bytes} bytes:\n${names}`);
      // Neither the editor nor a core is loaded before a cell is edited or run.
      assert.doesNotMatch(names, /editor-|baseline|relaxed/);
      // Of the other views, nothing is loaded.
      const views = files.filter(([path]) => /^assets\/.*\.html$/.test(path));
      assert.equal(views.length, ["overview", "search"].includes(view) ? 0 : 1);
    });
  }
});
