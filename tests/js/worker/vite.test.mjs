import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { viteAdvice } from "../../internal/worker.mjs";

describe("The reason of a connection without a worker", () => {
  it("names the setting that helps in Vite's development server", () => {
    const advice = viteAdvice(
      "http://localhost:5173/node_modules/.vite/deps/zeropoint_worker.js?v=1",
    );
    assert.match(advice, /optimizeDeps: \{ exclude: \["zeropoint"\] \}/);
  });

  it("names no setting elsewhere", () => {
    assert.equal(viteAdvice("https://example.com/assets/index.js"), "");
  });
});
