// Runs the README's recipes in a folder with their files.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { save } from "zeropoint/models";
import { loadModel } from "../../../../scripts/cost/model.mjs";

/** The JavaScript of the recipe with a title. */
export function readRecipe(title) {
  const readme = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8");
  const [, section] = readme.split(`### ${title}\n`);
  const [, recipe] = /```js\n([\s\S]*?)```/.exec(section);
  return recipe;
}

/** The lines that a recipe prints, by its comments. */
export const promisedBy = (recipe) =>
  [...recipe.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line);

/** The file that the recipe of a network in 4 bits starts from. */
export async function digitsFile() {
  const { heldOut, layers } = await loadModel();
  const [fc1, fc2] = layers;
  const { images, labels } = heldOut;
  const stream = save({ fc1, fc2, images, labels });
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Runs a recipe in a folder: the lines that it prints, and those in its comments. */
export function runRecipe(recipe, folder) {
  // Packages are found from the program's own place.
  const places = ["zeropoint/models", "zeropoint/torch", "zeropoint", "onnxruntime-web"].map(
    (name) => [`from "${name}"`, `from ${JSON.stringify(import.meta.resolve(name))}`],
  );
  const program = join(folder, "walk.mjs");
  writeFileSync(
    program,
    places.reduce((all, [from, to]) => all.replace(from, to), recipe),
  );
  const options = { cwd: folder, encoding: "utf8" };
  const { stdout, stderr } = spawnSync(process.execPath, [program], options);
  assert.equal(stderr, "");
  return { printed: stdout.trimEnd().split("\n"), promised: promisedBy(recipe) };
}
