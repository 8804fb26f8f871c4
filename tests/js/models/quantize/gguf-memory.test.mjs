// Memory and order of quantizing a GGUF file of 5 GiB, by default of half a GiB: a sparse one, in a process of its own.

import assert from "node:assert/strict";
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { ggufEntry, layoutGGUF } from "../../../internal/formats.mjs";
import { effort } from "../../support/effort.mjs";
import { LIMIT, measureMemory } from "../../support/memory.mjs";

const folder = mkdtempSync(join(tmpdir(), "zeropoint-memory-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The number of matrices of 256 MiB. */
const MATRICES = effort(20);

/** Makes a file of zeros with these matrices, and a row of 16 MiB. */
function makeSparse(path) {
  const shapes = Array.from({ length: MATRICES }, (_, i) => [
    `blk.${i}.ffn_up.weight`,
    [16384, 4096],
  ]);
  const tensors = [...shapes, ["one-row.weight", [1, 2 ** 22]]].map(([name, shape]) => ({
    ...{ name, shape, dtype: "float32", bytes: () => [] },
  }));
  const architecture = ["general.architecture", ggufEntry("string", "llama")];
  const { header, byteLength } = layoutGGUF(tensors, [architecture]);
  const file = openSync(path, "w");
  writeSync(file, header);
  ftruncateSync(file, byteLength);
  closeSync(file);
  return byteLength;
}

const PROGRAM = `
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
await init();
const model = await openModel(process.argv[1]);
const { files: [file] } = await quantizeModel(model, "Q8_0");
let size = 0;
for await (const chunk of file.stream()) size += chunk.length;
console.log(JSON.stringify({ size, expected: file.size, peak: process.resourceUsage().maxRSS * 1024 }));
`;

it(`A GGUF file of ${MATRICES / 4} GiB is quantized in 150 MB of process memory`, async () => {
  const path = join(folder, "sparse.gguf");
  assert.ok(makeSparse(path) > MATRICES * 2 ** 28);
  const args = ["--input-type=module", "--eval", PROGRAM, path];
  const { size, expected, peak } = await measureMemory(args);
  assert.equal(size, expected);
  assert.ok(peak <= LIMIT, `peak of ${(peak / 1e6).toFixed(0)} MB`);
});
