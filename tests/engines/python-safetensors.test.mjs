// Python's safetensors reads the files that quantizeModel writes, and the README's lines of Python dequantize them.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { outputBytes, safetensorsOf, someValues } from "../js/support/checkpoints.mjs";
import { openBytes } from "../js/support/saved.mjs";
import { providePython } from "./debian-python.mjs";

await init();
const python = await providePython();
const skip = python === undefined && "needs Debian's packages";
const folder = mkdtempSync(join(tmpdir(), "zeropoint-python-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const [, dequantize] = /```py\n([\s\S]*?)```/.exec(readme);

const run = (script) => {
  const { ok, stdout, stderr } = python(script, folder);
  assert.ok(ok, stderr);
  return stdout;
};
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

const model = async () =>
  await openModel(
    await safetensorsOf(
      {
        "a.weight": ["float32", [40, 128], someValues(40 * 128)],
        "b.weight": ["float32", [3, 320], someValues(3 * 320, 5)],
        "norm.weight": ["float32", [40], someValues(40, 7)],
        ids: ["int64", [2], BigInt64Array.of(1n, 2n)],
      },
      [["format", "pt"]],
    ),
  );

const SCHEMES = [
  ...["int8-tensor", "int8-channel", "int4-g32", "int4-g48-affine", "int2-g16", "uint4-g32-affine"],
  ...["uint8-tensor-affine", "int4-channel-mse", "float16"],
];

for (const scheme of SCHEMES) {
  it(`the README's Python dequantizes ${scheme} to the same bits`, { skip }, async () => {
    const { files } = await quantizeModel(await model(), scheme);
    const bytes = await outputBytes(files[0]);
    writeFileSync(join(folder, "model.safetensors"), bytes);
    const printed = run(`${dequantize}
import hashlib
with safe_open("model.safetensors", "np") as f:
    thing = json.loads(f.metadata()["zeropoint"])["thing"]
    for name, node in thing["items"]:
        x = dequantize(f, name, node) if node["kind"] == "quantized" else f.get_tensor(name)
        print(name, x.dtype, list(x.shape), hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest())
`);
    const out = await openModel(bytes);
    const expected = [];
    for (const { name, shape, dtype, isQuantized } of out.tensors.values()) {
      const values = isQuantized ? (await out.read(name)).data : await out.readBytes(name);
      const own = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      const type = isQuantized ? "float32" : dtype;
      expected.push(`${name} ${type} [${shape.join(", ")}] ${sha256(own)}`);
    }
    assert.deepEqual(printed.trim().split("\n").sort(), expected.sort());
  });
}

for (const [scheme, target] of [
  ["W4A16", "compressed-tensors"],
  ["W8A8", "compressed-tensors"],
  ["int4-g64", "mlx"],
]) {
  it(`Python's safetensors reads ${scheme} for ${target}, and writes the same bytes`, {
    skip,
  }, async () => {
    const { files } = await quantizeModel(await model(), scheme, { target });
    const bytes = await outputBytes(files.find(({ name }) => name.endsWith(".safetensors")));
    writeFileSync(join(folder, "model.safetensors"), bytes);
    const printed = run(`
import hashlib
from safetensors import safe_open
from safetensors.numpy import load_file, save
with safe_open("model.safetensors", "np") as f:
    print(hashlib.sha256(save(load_file("model.safetensors"), f.metadata())).hexdigest())
`);
    assert.equal(printed.trim(), sha256(bytes));
    assert.ok(Object.keys(openBytes(bytes).tensors).length > 4);
  });
}
