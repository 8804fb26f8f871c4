// --max-bytes and --timeout: the limits of openModel, by the names of the command line.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { manyTensors } from "../support/files/costly-files.mjs";
import { makeFolder, zeropoint } from "../support/processes/cli.mjs";

const folder = makeFolder();

it("limits what is made of a file, and names the option", async () => {
  const bytes = new Uint8Array(await manyTensors(100).arrayBuffer());
  writeFileSync(join(folder, "many.safetensors"), bytes);
  const inspect = (...options) => zeropoint(folder, ["inspect", "many.safetensors", ...options]);
  const { code, stderr } = inspect("--max-bytes", "1kB");
  assert.equal(code, 3);
  assert.match(stderr, /at most --max-bytes, 1000 bytes/);
  assert.equal(inspect("--max-bytes", "1MB", "--timeout", "5").code, 0);
  for (const [option, value] of [
    ["--timeout", "0"],
    ["--timeout", "soon"],
    ["--max-bytes", "0"],
  ]) {
    const refused = inspect(option, value);
    assert.equal(refused.code, 2);
    assert.ok(refused.stderr.includes(`${option} takes a number above 0`), refused.stderr);
  }
});
