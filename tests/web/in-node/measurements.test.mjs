// The lines that name the fastest of each task; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { linearTables, startTables } = await fromPage("measure/tables.js");
const { toHtml } = await fromPage("shell/drawing/tree.js");

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

  it("compares layers with float32 activations apart from those with 8-bit activations", () => {
    const results = Object.entries({
      zeropoint: { "w8a32-channel": 50, "w8a8-dynamic": 200 },
      "onnxruntime-web": { "w8a32-group32": 20, float32: 25, "w8a8-dynamic": 80 },
    }).flatMap(([contestant, formats]) =>
      Object.entries(formats).map(([format, value]) => ({
        ...{ case: "linear, M = 1, K = 8, N = 8", title: format, unit: "GFLOP/s" },
        ...{ contestant, format, value },
      })),
    );
    const tables = linearTables(results).map(toHtml);
    const titles = tables.map((table) => /measure-title">([^,]*, [^,]*),/.exec(table)?.[1]);
    assert.deepEqual(titles, [
      "Linear layer, float32 activations",
      "Linear layer, 8-bit activations",
    ]);
    const ahead = tables.map((table) => /measure-next">(\S+) ×/.exec(table)?.[1]);
    assert.deepEqual(ahead, ["2.0", "2.5"]);
  });
});
