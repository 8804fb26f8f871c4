// Python's safetensors reads the files that save and quantizeModel write, and the documented lines of Python dequantize
// them.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { dequantize, init, quantize, tensor } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { quantizePerChannel, quantizePerTensor } from "zeropoint/torch";
import { DTYPES } from "../js/support/asserts.mjs";
import { outputBytes, safetensorsOf, someValues } from "../js/support/files/checkpoints.mjs";
import { bytesOf, openBytes } from "../js/support/files/saved.mjs";
import { readRecipe } from "../js/support/processes/recipes.mjs";
import { providePython } from "./debian-python.mjs";

await init();
const python = await providePython();
const skip = python === undefined && "needs Debian's packages";
const folder = mkdtempSync(join(tmpdir(), "zeropoint-python-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const linesOfPython = readRecipe("Saving and loading", "py");

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

/** Quantized tensors of a dtype with every kind of zero point and granularity, by titles. */
function tensorsOf(dtype) {
  const x = tensor(someValues(24 * 70, 3), [24, 70]);
  const kinds = {
    ...(!dtype.startsWith("u") && { symmetric: {} }),
    affine: { scheme: "affine" },
    float: { scheme: "affine", zeroPoint: "float" },
    unwidened: { scheme: "affine", includeZero: false },
  };
  const granularities = {
    tensor: {},
    channel: { axis: 0 },
    column: { axis: 1 },
    group: { groupSize: 35 },
    "short group": { groupSize: 32 },
  };
  const titled = Object.entries(kinds).flatMap(([kind, zero]) =>
    Object.entries(granularities).map(([title, granularity]) => [
      `${dtype} ${kind} per ${title}`,
      quantize(x, { dtype, ...zero, ...granularity }),
    ]),
  );
  return Object.fromEntries(titled);
}

const WIDTHS = Object.keys(DTYPES).filter((dtype) => DTYPES[dtype].bits <= 8);

/** Tensors of PyTorch's dtypes of 8 bits, by titles, with scales in float32 and in float64. */
function torchTensors() {
  const x = tensor(someValues(3 * 70, 3), [3, 70]);
  const entries = ["qint8", "quint8"].flatMap((dtype) => [
    [`${dtype} per tensor`, quantizePerTensor(x, 0.013, 0, dtype)],
    [`${dtype} affine per tensor`, quantizePerTensor(x, 0.013, 3, dtype)],
    ...[Float32Array, Float64Array].map((Scales) => [
      `${dtype} per channel of ${Scales.name}`,
      quantizePerChannel(x, Scales.of(0.01, 0.02, 0.03), [0, 1, 2], 0, dtype),
    ]),
  ]);
  return Object.fromEntries(entries);
}

/** Saves quantized tensors, and compares them with what the documented lines of Python make of the file. */
async function comparePython(tensors) {
  writeFileSync(join(folder, "saved.safetensors"), await bytesOf(tensors));
  const printed = run(`${linesOfPython}
import hashlib
with safe_open("saved.safetensors", "np") as f:
    for name, node in json.loads(f.metadata()["zeropoint"])["thing"]["items"]:
        x = dequantize(f, name, node)
        print(name, x.dtype, list(x.shape), hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest())
`);
  const expected = Object.entries(tensors).map(([name, q]) => {
    const { data, shape } = dequantize(q);
    return `${name} float32 [${shape.join(", ")}] ${sha256(new Uint8Array(data.buffer))}`;
  });
  assert.deepEqual(printed.trim().split("\n").sort(), expected.sort());
}

it("the documented Python dequantizes what save wrote, 1 to 8 bits, to the same bits", {
  skip,
}, async () => {
  const tensors = Object.assign({}, ...WIDTHS.map(tensorsOf));
  assert.ok(Object.keys(tensors).length > 250);
  await comparePython(tensors);
});

it("the documented Python dequantizes PyTorch's dtypes, as of dynamic and static layers, to the same bits", {
  skip,
}, async () => {
  await comparePython(torchTensors());
});

for (const scheme of SCHEMES) {
  it(`the documented Python dequantizes ${scheme} to the same bits`, { skip }, async () => {
    const { files } = await quantizeModel(await model(), scheme);
    const bytes = await outputBytes(files[0]);
    writeFileSync(join(folder, "model.safetensors"), bytes);
    const printed = run(`${linesOfPython}
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
