// Memory of quantizeModel on files that are larger than memory, in processes of their own. Node only.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isFull, isThorough } from "../../support/effort.mjs";
import { LIMIT, measureMemory } from "../../support/memory.mjs";

const script = fileURLToPath(new URL("../../support/processes/large-file.mjs", import.meta.url));

/** Size of the file in GiB, shape of the tensors, scheme and number of quantized tensors, options. */
const CASES = [
  ["0.25", "rows", "int8-tensor", {}],
  ["0.25", "products", "int8-channel", { format: "safetensors" }],
  ...(isFull
    ? [
        ["1.25", "matrices", "int4-g128*2", {}],
        ["0.25", "matrices", "int4-g128", { target: "compressed-tensors" }],
        ["0.25", "matrices", "int4-g64", { target: "mlx" }],
        ["0.5", "products", "int4-g32-affine", { target: "webgpu" }],
      ]
    : []),
  ...(isThorough
    ? [
        ["5", "matrices", "int4-g128*2", {}],
        ["5", "matrices", "int4-g32", {}],
        ["5", "matrices", "w4a16", { target: "compressed-tensors" }],
        ["5", "matrices", "int4-g64", { target: "mlx" }],
        ["5", "rows", "int8-tensor", {}],
      ]
    : []),
];

describe("quantizeModel stays below 150 MB of process memory", () => {
  for (const [gibibytes, shape, quantized, options] of CASES) {
    const { target = "zeropoint" } = options;
    it(`for ${gibibytes} GiB of ${shape}, ${quantized} for ${target}`, async () => {
      const isSmall = Number(gibibytes) < 0.5;
      const given = [gibibytes, shape, quantized, JSON.stringify(options)];
      const own = isSmall ? [...given, "verify"] : given;
      const { written, bytesAfter, peak, read, tensors, problems } = await measureMemory([
        script,
        ...own,
      ]);
      assert.equal(written, bytesAfter);
      assert.ok(peak <= LIMIT, `peak of ${(peak / 1e6).toFixed(0)} MB`);
      if (isSmall) assert.deepEqual([read, problems], [tensors, []]);
    });
  }
});
