// The README's recipe of a network in 4 bits, run as it is on the network that reads digits.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { digitsFile, readRecipe, runRecipe } from "../support/processes/recipes.mjs";

const folder = mkdtempSync(join(tmpdir(), "zeropoint-walk-"));
after(() => rmSync(folder, { recursive: true, force: true }));

it("The recipe of a network in 4 bits prints what its comments say, in 30 lines", async () => {
  writeFileSync(join(folder, "digits.safetensors"), await digitsFile());
  const recipe = readRecipe("A network in 4 bits");
  const { printed, promised } = runRecipe(recipe, folder);
  assert.deepEqual(printed, promised);
  const lines = recipe.trimEnd().split("\n");
  assert.ok(lines.length <= 30, `${lines.length} lines`);
});
