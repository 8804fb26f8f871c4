// The README's recipe of safetensors to int4, run as it is on a small checkpoint.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { writeCheckpoint } from "../../support/files/checkpoint-folder.mjs";
import { readRecipe, runRecipe } from "../../support/processes/recipes.mjs";

const folder = mkdtempSync(join(tmpdir(), "zeropoint-safetensors-"));
after(() => rmSync(folder, { recursive: true, force: true }));

it("The recipe of safetensors to int4 prints what its comments say", async () => {
  mkdirSync(join(folder, "checkpoint"));
  await writeCheckpoint(join(folder, "checkpoint"));
  const { printed, promised } = runRecipe(
    readRecipe("Safetensors to int4, for Macs and vLLM"),
    folder,
  );
  assert.deepEqual(printed, promised);
  const config = readFileSync(join(folder, "for-vllm", "config.json"), "utf8");
  assert.match(config, /"rms_norm_eps": 1e-05,\n {2}"rope_theta": 10000.0/);
  assert.deepEqual(JSON.parse(config).quantization_config.ignore, ["lm_head", "re:.*embed_tokens"]);
  const mlx = JSON.parse(readFileSync(join(folder, "for-mac", "config.json"), "utf8"));
  assert.deepEqual(mlx.quantization, { group_size: 64, bits: 4, mode: "affine" });
});
