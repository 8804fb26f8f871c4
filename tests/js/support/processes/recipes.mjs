// The examples of README and docs, and their runs in a folder with their files.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { save } from "zeropoint/models";
import { loadModel } from "../../../../scripts/cost/model.mjs";

const root = new URL("../../../../", import.meta.url);

/** README and the files of docs: their paths and texts. */
export const documents = [
  "README.md",
  ...readdirSync(new URL("docs", root))
    .sort()
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(new URL(path, root), "utf8") }));

/** Every block of code: its language, the heading above it, and its text. */
export const examples = documents.flatMap(({ path, text }) => {
  let heading;
  const blocks = [];
  for (const [, title, language, code] of text.matchAll(/^#+ (.*)$|```(\w+)\n([\s\S]*?)```/gm)) {
    if (title !== undefined) heading = title;
    else blocks.push({ path, heading, language, text: code });
  }
  return blocks;
});

/** The first block of a language below the heading with a title. */
export function readRecipe(title, language = "js") {
  const found = examples.find((each) => each.heading === title && each.language === language);
  if (found === undefined) throw new Error(`no document has a recipe "${title}" in ${language}`);
  return found.text;
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
