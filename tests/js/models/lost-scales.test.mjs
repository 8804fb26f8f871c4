// Codes whose scales are lost, in an unknown order, or belong to rotated weights: a refusal that names why, or right values.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { writeNpz } from "../../internal/formats.mjs";
import { rejects } from "../support/asserts.mjs";
import { safetensorsOf } from "../support/files/checkpoints.mjs";
import { collect } from "../support/files/formats.mjs";

await init();

const json = (value) => new TextEncoder().encode(JSON.stringify(value));
const bytes = (length) => Uint8Array.from({ length }, (_, i) => (i * 37 + 11) % 120);

const floats = (length, value = 0.5) => new Float32Array(length).fill(value);
const codes8 = (rows, columns) => ["float8_e4m3fn", [rows, columns], bytes(rows * columns)];
const int8 = (...shape) => ["int8", shape, bytes(shape.reduce((a, b) => a * b))];
const scales = (rows) => ["float32", [rows, 1], floats(rows)];

const open = async (tensors, config) =>
  openModel(await safetensorsOf(tensors), {
    externalData: (name) =>
      name === "config.json" && config !== undefined
        ? json({ quantization_config: config })
        : new Uint8Array(0),
  });

/** Opens shards by an index. @param shards  the tensors of each file, by its name */
async function openShards(weightMap, shards) {
  const files = {};
  for (const [name, tensors] of Object.entries(shards)) files[name] = await safetensorsOf(tensors);
  return openModel(json({ metadata: {}, weight_map: weightMap }), {
    externalData: (name) => files[name] ?? new Uint8Array(0),
  });
}

const refuses = (model, name, message) =>
  rejects(model.read(name), RangeError, "ZP_UNSUPPORTED_FILE", message);

describe("a scale in a shard whose index leaves it out", () => {
  it("is named where its weight is read, in the same shard and in another one", async () => {
    const weight = codes8(64, 96);
    const other = { "n.weight": ["float32", [2], floats(2)] };
    for (const [weightMap, shards] of [
      [{ "m.weight": "a" }, { a: { "m.weight": weight, "m.weight_scale": scales(64) } }],
      [
        { "m.weight": "a", "n.weight": "b" },
        { a: { "m.weight": weight }, b: { ...other, "m.weight_scale": scales(64) } },
      ],
    ]) {
      const model = await openShards(weightMap, shards);
      await refuses(model, "m.weight", /by "m\.weight_scale", which the index leaves out/);
      assert.ok(!model.tensors.has("m.weight_scale"));
      assert.equal((await model.readBytes("m.weight")).length, 64 * 96);
    }
  });

  it("is named, too, where it is the zero point of a weight that has a scale", async () => {
    const weightMap = { "m.weight": "a", "m.weight_scale": "a" };
    const tensors = { "m.weight": int8(64, 96), "m.weight_scale": scales(64) };
    const zero = ["int8", [64, 1], new Int8Array(64).fill(3)];
    const model = await openShards(weightMap, { a: { ...tensors, "m.weight_zero_point": zero } });
    await refuses(model, "m.weight", /"m\.weight_zero_point", which the index leaves out/);
    const whole = await openShards(weightMap, { a: tensors });
    assert.equal((await whole.read("m.weight")).data[0], 5.5);
  });

  it("is old where the index takes its module from another file", async () => {
    const old = { "m.weight": codes8(64, 96), "m.weight_scale": scales(64) };
    const now = { "m.weight": ["float8_e4m3fn", [1, 1], Uint8Array.of(0x40)] };
    const weightMap = { "m.weight": "b", "n.weight": "a" };
    const rest = { "n.weight": ["float32", [1], floats(1)] };
    const model = await openShards(weightMap, { a: { ...old, ...rest }, b: now });
    assert.deepEqual([...(await model.read("m.weight")).data], [2]);
  });
});

describe("codes without scales", () => {
  it("of float8 are refused where the inputs of their module have a scale", async () => {
    for (const name of ["m.input_scale", "m.scale_input", "m.activation_scale"]) {
      const model = await open({ "m.weight": codes8(64, 96), [name]: ["float32", [], floats(1)] });
      await refuses(model, "m.weight", new RegExp(`no scale, which its inputs have: ${name}`));
    }
  });

  it("of bytes are refused in a quantized model, and by the names of matrices", async () => {
    const tensors = { "e.table": int8(2, 64, 96), "e.blob": int8(64, 96), "e.w_mask": int8(8, 8) };
    const model = await open(tensors, { quant_method: "compressed-tensors" });
    await refuses(model, "e.blob", /no scale, in a model of quant_method compressed-tensors/);
    assert.equal((await model.read("e.table")).data[1], 48);
    assert.equal((await model.read("e.w_mask")).data[1], 48);
    const plain = await open({ "e.gate_up_proj": int8(2, 64, 96), "e.blob": int8(64, 96) });
    await refuses(plain, "e.gate_up_proj", /codes without scales/);
    assert.equal((await plain.read("e.blob")).data[1], 48);
  });
});

/** NVFP4 with a scale tensor of a shape of its own. */
const nvfp4 = (module, rows, columns, scaleShape) => ({
  [`${module}.weight`]: ["uint8", [rows, columns / 2], bytes((rows * columns) / 2)],
  [`${module}.weight_scale`]: [
    ...["float8_e4m3fn", scaleShape],
    bytes(scaleShape.reduce((a, b) => a * b)),
  ],
  [`${module}.weight_scale_2`]: ["float32", [], floats(1)],
});

describe("scales of NVFP4 in tiles of 128 rows and 4 groups", () => {
  for (const shape of [[128, 8], [1024]]) {
    it(`are refused by their shape [${shape}], with those of other weights`, async () => {
      const model = await open({
        ...nvfp4("m", 64, 96, shape),
        // As many rows and groups as whole tiles have: no shape tells their order.
        ...nvfp4("n", 128, 64, [128, 4]),
      });
      const tiles = /in tiles of 128 rows and 4 groups, as "m\.weight_scale" is padded to them/;
      for (const name of ["m.weight", "n.weight"]) await refuses(model, name, tiles);
    });
  }

  it("are taken as rows where no weight has padded ones", async () => {
    const model = await open({
      ...nvfp4("n", 128, 64, [128, 4]),
      ...nvfp4("o", 64, 96, [64, 6]),
    });
    for (const name of ["n.weight", "o.weight"])
      assert.equal(model.tensors.get(name).layout, "float4");
  });
});

describe("transform_config of compressed-tensors", () => {
  const tensors = { "m.weight": int8(64, 96), "m.weight_scale": scales(64) };
  const config = (transform_config) => ({
    ...{ quant_method: "compressed-tensors", format: "int-quantized", transform_config },
    config_groups: { g: { targets: ["Linear"], weights: { num_bits: 8, type: "int" } } },
  });
  const apply = (...locations) => ({
    config_groups: {
      v: { type: "hadamard", apply: locations.map((location) => ({ targets: ["m"], location })) },
    },
  });

  it("is refused by name where inputs or outputs are rotated at run time", async () => {
    for (const given of [
      ...[apply("input", "weight_input"), apply("weight_output", "output"), { rotation: "R4" }],
      { config_groups: { v: { type: "hadamard" } } },
    ]) {
      const model = await open(tensors, config(given));
      await refuses(model, "m.weight", /transform_config: engines turn the inputs/);
    }
  });

  it("is no reason where it is empty, or rotates weights alone", async () => {
    for (const given of [null, {}, { config_groups: {} }, apply("weight_input", "weight_output")]) {
      const model = await open(tensors, config(given));
      assert.equal((await model.read("m.weight")).data[0], 5.5);
    }
  });
});

describe("zero points of symmetric GPTQ", () => {
  const read = async (zero, config) => {
    const model = await open(
      {
        "m.qweight": ["int32", [8, 8], new Int32Array(64).fill(0x99999999)],
        "m.qzeros": ["int32", [2, 1], new Int32Array(2).fill(zero)],
        "m.scales": ["float32", [2, 8], floats(16, 1)],
      },
      { quant_method: "gptq", bits: 4, group_size: 32, ...config },
    );
    return (await model.read("m.weight")).data[0];
  };

  it("are in the middle, whether stored minus 1 or as they are", async () => {
    const own = { checkpoint_format: "gptq" };
    assert.equal(await read(0x77777777, { ...own, sym: true }), 1);
    assert.equal(await read(0x88888888, { ...own, sym: true }), 1);
    assert.equal(await read(0x88888888, { ...own, sym: false }), 0);
    assert.equal(await read(0x88888888, { sym: true, checkpoint_format: "gptq_v2" }), 1);
    // Zero points that differ are not those of symmetric codes.
    assert.equal(await read(0x78787878, { ...own, sym: true }), 0);
  });
});

describe("a group index of GPTQ with negative groups", () => {
  const read = async (groups) => {
    const index = Int32Array.from({ length: 64 }, (_, i) => groups[i % groups.length]);
    const model = await open(
      {
        "m.qweight": ["int32", [8, 8], new Int32Array(64).fill(0x99999999)],
        "m.qzeros": ["int32", [2, 1], new Int32Array(2).fill(0x77777777)],
        "m.scales": ["float32", [2, 8], Float32Array.from({ length: 16 }, (_, i) => 1 + (i >> 3))],
        "m.g_idx": ["int32", [64], index],
      },
      { quant_method: "gptq", bits: 4, group_size: 32, desc_act: true },
    );
    return [...(await model.read("m.weight")).data.subarray(0, 4)];
  };

  it("counts from the last group, and refuses others", async () => {
    assert.deepEqual(await read([0, 1, 1, 0]), [1, 2, 2, 1]);
    assert.deepEqual(await read([-2, -1, 1, 0]), [1, 2, 2, 1]);
    for (const groups of [
      [0, 2],
      [0, -3],
    ])
      await rejects(read(groups), RangeError, "ZP_INVALID_FILE", /groups below 2, found/);
  });
});

describe("a checkpoint in npz", () => {
  const mlx = {
    "m.weight": ["uint32", [4, 8], new Uint32Array(32).fill(0x33333333)],
    "m.scales": ["float32", [4, 1], floats(4, 2)],
    "m.biases": ["float32", [4, 1], floats(4, 1)],
  };
  const openNpz = async (tensors, config) => {
    const bytes = Object.entries(tensors).map(([name, [dtype, shape, array]]) => ({
      ...{ name, dtype, shape },
      bytes: () => [new Uint8Array(array.buffer, array.byteOffset, array.byteLength)],
    }));
    return openModel(await collect(writeNpz(bytes)), {
      externalData: (name) =>
        name === "config.json" && config !== undefined ? json(config) : new Uint8Array(0),
    });
  };

  it("has the layouts of safetensors: MLX's weights.npz, and codes beside scales", async () => {
    const model = await openNpz(mlx, { quantization: { bits: 4, group_size: 64 } });
    assert.deepEqual([...model.tensors.get("m.weight").shape], [4, 64]);
    assert.deepEqual(new Set((await model.read("m.weight")).data), new Set([7]));
    await refuses(await openNpz(mlx), "m.weight", /a config\.json beside it tells/);
    const codes = { "m.weight": int8(4, 4), "m.weight_scale": ["float32", [4, 1], floats(4)] };
    assert.equal((await (await openNpz(codes)).read("m.weight")).data[0], 5.5);
  });

  it("is none where no array has the name of codes, or none that of scales", async () => {
    const alone = await openNpz({ weight: ["uint8", [4, 8], bytes(32)] });
    assert.equal((await alone.read("weight")).data[0], 11);
    const model = await openNpz({
      images: ["uint8", [4, 8], bytes(32)],
      images_scale: ["float32", [8], floats(8)],
    });
    assert.equal((await model.read("images")).data[0], 11);
    assert.equal(model.tensors.get("images").layout, undefined);
  });
});
