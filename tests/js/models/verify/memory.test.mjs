// Memory of verify on large files: sparse ones, in processes of their own. Node only.

import assert from "node:assert/strict";
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { layoutGGUF, layoutSafetensors } from "../../../internal/formats.mjs";
import { isFull } from "../../support/effort.mjs";
import { LIMIT, measureMemory } from "../../support/memory.mjs";

const folder = mkdtempSync(join(tmpdir(), "zeropoint-verify-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The number of matrices of 128 MiB. */
const MATRICES = isFull ? 16 : 2;

/** Makes a file of zeros. */
function makeSparse(name, layOut) {
  const tensors = Array.from({ length: MATRICES }, (_, i) => ({
    ...{ name: `blk.${i}.ffn_up.weight`, shape: [8192, 8192], dtype: "bfloat16" },
    bytes: () => [],
  }));
  const { header, byteLength } = layOut(tensors);
  const path = join(folder, name);
  const file = openSync(path, "w");
  writeSync(file, header);
  ftruncateSync(file, byteLength);
  closeSync(file);
  return path;
}

const PROGRAM = `
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { init } from "zeropoint";
import { openModel, quantizeModel, verify } from "zeropoint/models";
await init();
const [path, scheme] = process.argv.slice(1);
const source = await openModel(path);
const { files: [file] } = await quantizeModel(source, scheme);
await pipeline(Readable.fromWeb(file.stream()), createWriteStream(path + ".small"));
const small = await openModel(path + ".small");
const { tensors, equal, different } = await verify(small, source);
console.log(JSON.stringify({ tensors, equal, different, peak: process.resourceUsage().maxRSS * 1024 }));
`;

for (const [name, scheme, layOut] of [
  ["model.safetensors", "int4-g32", layoutSafetensors],
  ["model.gguf", "Q8_0", (tensors) => layoutGGUF(tensors, [])],
]) {
  it(`verifies ${scheme} of ${MATRICES / 8} GiB in 150 MB of process memory`, async () => {
    const path = makeSparse(name, layOut);
    const args = ["--input-type=module", "--eval", PROGRAM, path, scheme];
    const { tensors, equal, different, peak } = await measureMemory(args);
    assert.deepEqual([different, equal], [[], tensors]);
    assert.ok(peak <= LIMIT, `peak of ${(peak / 1e6).toFixed(0)} MB`);
  });
}
