// Chunks of zeropoint/models that cannot be downloaded.

import assert from "node:assert/strict";
import { it } from "node:test";
import { loadModule } from "../../internal/models.mjs";

it("reports a chunk that cannot be loaded with a code, the function's name and the cause", async () => {
  const cause = new TypeError("Failed to fetch dynamically imported module");
  await assert.rejects(loadModule("openModel", Promise.reject(cause)), {
    code: "ZP_LOAD_FAILED",
    message:
      "openModel: a part of zeropoint/models could not be loaded: Failed to fetch dynamically imported module",
    cause,
  });
});
