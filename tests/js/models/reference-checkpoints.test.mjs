// Random checkpoints of every layout: reading gives the values that plain loops compute.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { outputBytes, safetensorsOf } from "../support/files/checkpoints.mjs";
import { property } from "../support/files/formats.mjs";
import { LAYOUTS, referenceCheckpoint } from "../support/files/reference-layouts.mjs";

await init();

const json = (value) => new TextEncoder().encode(JSON.stringify(value));

const isSame = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

const READ = Object.keys(LAYOUTS).filter((layout) => !layout.includes("not read"));

describe("a random checkpoint", () => {
  for (const layout of READ) {
    property(
      it,
      `is read, and written to npz, with its values: ${layout}`,
      [fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3 }), fc.nat(999)],
      async (height, width, seed) => {
        const made = referenceCheckpoint(layout, 32 * height, 128 * width, seed);
        const model = await openModel(await safetensorsOf(made.tensors), {
          externalData: (path) => (path === "config.json" ? json(made.config) : new Uint8Array(0)),
        });
        const { data, shape } = await model.read(made.name);
        assert.deepEqual([...shape], made.shape);
        assert.ok(isSame(data, made.values));
        // Other formats are written window by window.
        const { files } = await quantizeModel(model, "keep", { format: "npz" });
        const written = await openModel(await outputBytes(files[0]));
        const again = await written.read(made.name);
        assert.deepEqual([...again.shape], made.shape);
        assert.ok(isSame(again.data, made.values));
      },
      8,
    );
  }
});
