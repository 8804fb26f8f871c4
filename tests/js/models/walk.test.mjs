// The README's recipe of a network in 4 bits, run as it is on the network that reads digits.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { save } from "zeropoint/models";
import { loadModel } from "../../../scripts/cost/model.mjs";

const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
const [, section] = readme.split("### A network in 4 bits\n");
const [, recipe] = /```js\n([\s\S]*?)```/.exec(section);
const folder = mkdtempSync(join(tmpdir(), "zeropoint-walk-"));
after(() => rmSync(folder, { recursive: true, force: true }));

it("The recipe of a network in 4 bits prints what its comments say, in 30 lines", async () => {
  const { heldOut, layers } = await loadModel();
  const [fc1, fc2] = layers;
  const { images, labels } = heldOut;
  const stream = save({ fc1, fc2, images, labels });
  writeFileSync(
    join(folder, "digits.safetensors"),
    new Uint8Array(await new Response(stream).arrayBuffer()),
  );
  // In the folder with the file; the package is found from the program's own place.
  const program = join(folder, "walk.mjs");
  const places = ["zeropoint/models", "zeropoint"].map((name) => [
    `from "${name}"`,
    `from ${JSON.stringify(import.meta.resolve(name))}`,
  ]);
  const text = places.reduce((all, [from, to]) => all.replace(from, to), recipe);
  writeFileSync(program, text);
  const { stdout, stderr } = spawnSync(process.execPath, [program], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(stderr, "");
  const promised = [...recipe.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(
    ([, line]) => line,
  );
  assert.deepEqual(stdout.trimEnd().split("\n"), promised);
  const lines = recipe.trimEnd().split("\n");
  assert.ok(lines.length <= 30, `${lines.length} lines`);
});
