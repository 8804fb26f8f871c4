// Memory of analyze, in processes of their own: 256 MiB of bfloat16, and 64 MiB of float32 whose outputs are columns,
// from sources that make their bytes, in memory that they use again: arrays that a source leaves to the garbage
// collector are not measured. Node only.

import assert from "node:assert/strict";
import { it } from "node:test";
import { LIMIT, measureMemory } from "../../support/memory.mjs";

const PROGRAM = `
import { init } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
await init();
const [tensors, rows, columns] = [8, 4096, 4096];
const size = 2 * rows * columns;
const entries = Array.from({ length: tensors }, (_, i) => [
  "w" + i,
  { dtype: "BF16", shape: [rows, columns], data_offsets: [i * size, (i + 1) * size] },
]);
const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
const head = new Uint8Array(8 + json.length);
new DataView(head.buffer).setUint32(0, json.length, true);
head.set(json, 8);
const memory = new Uint8Array(2 ** 20);
const read = (offset, length) => {
  const bytes = memory.subarray(0, length);
  if (offset < head.length) bytes.set(head.subarray(offset, offset + length));
  // Values around 1 and 2.
  else for (let i = 0; i < length; i += 2) { bytes[i] = i * 37; bytes[i + 1] = 0x3f; }
  return bytes;
};
const model = await openModel({ size: head.length + tensors * size, read });
const schemes = ["int8-tensor", "int8-channel", "int8-g128", "int8-g32", "int4-channel", "int4-g128", "int4-g32",
  "int4-g32-affine", "int2-g16", "q8_0", "q4_0", "float16"];
let count = 0;
for await (const row of analyze(model, { schemes })) count += row.mse >= 0 ? 1 : 0;
console.log(JSON.stringify({ count, peak: process.resourceUsage().maxRSS * 1024 }));
`;

const COLUMNS = `
import { init } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
await init();
const shape = [4096, 4096];
const modelTopology = { class_name: "Dense", config: { name: "dense" } };
const weights = [{ name: "dense/kernel", shape, dtype: "float32" }];
const json = JSON.stringify({ modelTopology, weightsManifest: [{ paths: ["shard"], weights }] });
const memory = new Float32Array(2 ** 18);
const read = (offset, length) => {
  const values = memory.subarray(0, length / 4);
  for (let i = 0; i < values.length; i++) values[i] = (((offset / 4 + i) * 7919) % 1000) / 500 - 1;
  return new Uint8Array(values.buffer, 0, length);
};
const externalData = () => ({ size: 4 * shape[0] * shape[1], read });
const model = await openModel(new TextEncoder().encode(json), { externalData });
const schemes = ["int8-channel", "int8-g128", "int4-g32-affine", "q8_0", "q4_k"];
let count = 0;
for await (const row of analyze(model, { schemes })) count += row.mse > 0 ? 1 : 0;
console.log(JSON.stringify({ count, peak: process.resourceUsage().maxRSS * 1024 }));
`;

it("analyze stays below 150 MB of process memory with twelve schemes", async () => {
  const { count, peak } = await measureMemory(["--input-type=module", "--eval", PROGRAM]);
  assert.equal(count, 8 * 12);
  assert.ok(peak <= LIMIT, `peak of ${(peak / 1e6).toFixed(0)} MB`);
});

it("analyze stays below 150 MB of process memory where groups and blocks are of outputs", async () => {
  const { count, peak } = await measureMemory(["--input-type=module", "--eval", COLUMNS]);
  assert.equal(count, 5);
  assert.ok(peak <= LIMIT, `peak of ${(peak / 1e6).toFixed(0)} MB`);
});
