// Runs the README's recipes in a folder with their files.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The JavaScript of the recipe with a title. */
export function readRecipe(title) {
  const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
  const [, section] = readme.split(`### ${title}\n`);
  const [, recipe] = /```js\n([\s\S]*?)```/.exec(section);
  return recipe;
}

/** Runs a recipe in a folder: the lines that it prints, and those in its comments. */
export function runRecipe(recipe, folder) {
  // The package is found from the program's own place.
  const places = ["zeropoint/models", "zeropoint"].map((name) => [
    `from "${name}"`,
    `from ${JSON.stringify(import.meta.resolve(name))}`,
  ]);
  const program = join(folder, "walk.mjs");
  writeFileSync(
    program,
    places.reduce((all, [from, to]) => all.replace(from, to), recipe),
  );
  const options = { cwd: folder, encoding: "utf8" };
  const { stdout, stderr } = spawnSync(process.execPath, [program], options);
  assert.equal(stderr, "");
  const comments = recipe.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm);
  const promised = [...comments].map(([, line]) => line);
  return { printed: stdout.trimEnd().split("\n"), promised };
}
