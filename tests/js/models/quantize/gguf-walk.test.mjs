// The README's recipe of GGUF to Q4_K, run as it is on a small model.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { makeLlama } from "../../support/files/llama.mjs";
import { readRecipe, runRecipe } from "../../support/processes/recipes.mjs";

const folder = mkdtempSync(join(tmpdir(), "zeropoint-gguf-walk-"));
after(() => rmSync(folder, { recursive: true, force: true }));

it("The recipe of GGUF to Q4_K prints what its comments say", async () => {
  const model = await makeLlama({ layers: 2, kv: 1, dtype: "float16" });
  writeFileSync(join(folder, "model-f16.gguf"), model);
  const { printed, promised } = runRecipe(readRecipe("GGUF to Q4_K"), folder);
  assert.deepEqual(printed, promised);
  assert.equal(
    readFileSync(join(folder, "model-Q4_K_M.gguf")).length,
    Number(promised[0].split(" ")[1]),
  );
});
