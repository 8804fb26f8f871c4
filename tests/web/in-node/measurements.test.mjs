// The lines that name the fastest of each task; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTables } from "../../../web/measure/tables.js";
import { toHtml } from "../../../web/shell/drawing/tree.js";

describe("A task's line", () => {
  it("compares libraries: no bare module, and no two builds of one library", () => {
    const results = Object.entries({
      "bare module": 20,
      "zeropoint/slim": 40,
      zeropoint: 45,
      tfjs: 100,
    });
    const [table] = startTables(
      results.map(([contestant, value]) => ({
        ...{ case: "start", operation: "start", title: "start", unit: "ms" },
        ...{ contestant, value },
      })),
    ).map(toHtml);
    assert.match(table, /<span class="measure-first is-own">zeropoint\/slim: 40\.0\u00a0ms</);
    assert.match(table, /<span class="measure-next">2\.5 × as fast as tfjs wasm</);
  });
});
