// Weights that are quantized already, quantized again: as if the model had the values that reading gives.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, quantize } from "zeropoint";
import { compare, load, openModel, quantizeModel, save, verifyOutput } from "zeropoint/models";
import { rejects } from "../../support/asserts.mjs";
import {
  openOutput,
  outputBytes,
  safetensorsOf,
  someValues,
} from "../../support/files/checkpoints.mjs";
import { makeLlama } from "../../support/files/llama.mjs";
import { openBytes } from "../../support/files/saved.mjs";

await init();

const json = (value) => new TextEncoder().encode(JSON.stringify(value));
const bytes = (length) => Uint8Array.from({ length }, (_, i) => (i * 37 + 11) % 120);
const norm = { "norm.weight": ["float32", [256], someValues(256)] };
const WEIGHT = "m.weight";

/** Opens tensors with a configuration beside them. */
const openTensors = async (tensors, config, metadata) =>
  openModel(await safetensorsOf({ ...norm, ...tensors }, metadata), {
    externalData: (path) => (path === "config.json" && config ? json(config) : new Uint8Array(0)),
  });

const float8 = {
  [WEIGHT]: ["float8_e4m3fn", [64, 256], bytes(64 * 256)],
  "m.weight_scale": ["float32", [], Float32Array.of(0.01)],
};

/** A float model, quantized into another layout. */
async function madeAs(scheme, options) {
  const model = await openTensors({ [WEIGHT]: ["float32", [64, 256], someValues(64 * 256)] });
  const { files } = await quantizeModel(model, scheme, options);
  return await openOutput(openModel, files);
}

/** Models of one weight, m.weight of [64, 256], in a layout each. */
const MODELS = {
  float8: () => openTensors(float8, { quantization_config: { quant_method: "fp8" } }),
  "NVFP4 of ModelOpt": () =>
    openTensors({
      [WEIGHT]: ["uint8", [64, 128], bytes(64 * 128)],
      "m.weight_scale": ["float8_e4m3fn", [64, 16], bytes(64 * 16)],
      "m.weight_scale_2": ["float32", [], Float32Array.of(0.02)],
    }),
  GPTQ: () =>
    openTensors(
      {
        "m.qweight": ["int32", [32, 64], new Int32Array(32 * 64).map((_, i) => i * 2654435761)],
        "m.qzeros": ["int32", [2, 8], new Int32Array(16).fill(0x77777777)],
        "m.scales": ["float16", [2, 64], new Uint16Array(128).fill(0x2e66)],
        "m.g_idx": ["int32", [256], Int32Array.from({ length: 256 }, (_, i) => i >> 7)],
      },
      { quantization_config: { quant_method: "gptq", bits: 4, group_size: 128 } },
    ),
  MLX: () => madeAs("int4-g64", { target: "mlx" }),
  "compressed-tensors": () => madeAs("W4A16", { target: "compressed-tensors" }),
  "a file of this library": () => madeAs("int4-g32"),
};

const FORMS = [
  ["int8-channel", {}],
  ["int4-g64", { target: "mlx" }],
  ["W8A16", { target: "compressed-tensors" }],
  ["bfloat16", {}],
  ["q8_0", { format: "gguf" }],
  ["float16", { format: "npz" }],
];

describe("weights that are quantized already", () => {
  for (const [layout, open] of Object.entries(MODELS)) {
    for (const [scheme, options] of FORMS) {
      const to = `${scheme} ${Object.values(options).join("")}`.trim();
      it(`are quantized again as their values are: ${layout} to ${to}`, async () => {
        const model = await open();
        const { data, shape } = await model.read(WEIGHT);
        assert.deepEqual([...shape], [64, 256]);
        const float = await openTensors({ [WEIGHT]: ["float32", [64, 256], data] });
        const wanted = await openOutput(
          openModel,
          (await quantizeModel(float, scheme, options)).files,
        );
        const result = await quantizeModel(model, scheme, { ...options, requantize: true });
        const found = await openOutput(openModel, result.files);
        for await (const row of compare(wanted, found)) {
          assert.ok(row.equal, `${row.name}: ${row.reason ?? row.sqnr}`);
        }
        assert.deepEqual([...found.tensors.keys()].sort(), [...wanted.tensors.keys()].sort());
        const row = result.report.rows.find(({ name }) => name === WEIGHT);
        assert.equal(row.scheme, scheme === "W8A16" ? "int8-g128" : scheme);
        assert.match(result.report.notes.join("\n"), /1 weight .* rounded twice/);
        assert.deepEqual((await verifyOutput(model, result)).problems, []);
      });
    }
  }

  it("stay without the option, and a note names it", async () => {
    const model = await MODELS.float8();
    const { files, report } = await quantizeModel(model, "int8-channel");
    assert.match(report.notes.join("\n"), /1 weight .* not quantized again; requantize: true/);
    const found = await openOutput(openModel, files);
    assert.deepEqual((await found.read(WEIGHT)).data, (await model.read(WEIGHT)).data);
    await rejects(
      quantizeModel(model, "q8_0", { format: "gguf" }),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      /requantize: true/,
    );
  });

  it("stay with the reason where the layout does not take them, although they are asked for", async () => {
    const narrow = { ...float8, [WEIGHT]: ["float8_e4m3fn", [64, 96], bytes(64 * 96)] };
    const model = await openTensors(narrow, { quantization_config: { quant_method: "fp8" } });
    const options = { target: "compressed-tensors", requantize: true };
    const { report } = await quantizeModel(model, "W4A16", options);
    const [note] = report.notes.filter((each) => /quantized already/.test(each));
    assert.match(note, /not quantized again: 96 columns are no whole groups of 128$/);
  });

  it("leave no scales, markers and configuration of their old form", async () => {
    const tensors = {
      ...float8,
      "m.input_scale": ["float32", [], Float32Array.of(2)],
      scaled_fp8: ["float8_e4m3fn", [2], bytes(2)],
    };
    const layers = { m: { format: "float8_e4m3fn" } };
    const metadata = [["_quantization_metadata", JSON.stringify({ layers })]];
    const config = { quantization_config: { quant_method: "fp8" }, text_config: {} };
    config.text_config.quantization_config = config.quantization_config;
    const model = await openTensors(tensors, { ...config, theta: 1 }, metadata);
    const { files, report } = await quantizeModel(model, "bfloat16", { requantize: true });
    const named = Object.fromEntries(files.map((file) => [file.name, file]));
    const own = JSON.parse(new TextDecoder().decode(await outputBytes(named["config.json"])));
    assert.deepEqual(own, { text_config: {}, theta: 1 });
    const { tensors: written, metadata: kept } = openBytes(
      await outputBytes(named["model.safetensors"]),
    );
    assert.deepEqual(Object.keys(written).sort(), ["m.weight", "norm.weight"]);
    assert.equal(kept._quantization_metadata, undefined);
    const left = report.rows.filter(({ scheme }) => scheme === "left out");
    assert.deepEqual(left.map(({ name }) => name).sort(), ["m.input_scale", "scaled_fp8"]);
  });

  it("keep the scales of the others where a function names one of them", async () => {
    const other = {
      "n.weight": float8[WEIGHT],
      "n.weight_scale": float8["m.weight_scale"],
    };
    const model = await openTensors({ ...float8, ...other });
    const choose = ({ name }) => (name === WEIGHT ? "int8-channel" : undefined);
    const { files } = await quantizeModel(model, choose, { requantize: true });
    const found = await openOutput(openModel, files);
    assert.deepEqual((await found.read("n.weight")).data, (await model.read("n.weight")).data);
    assert.equal(found.tensors.get(WEIGHT).dtype, "int8");
  });

  it("of a file of save are quantized again, beside those that are kept", async () => {
    const x = { data: someValues(64 * 256), shape: [64, 256] };
    const q = quantize(x, { dtype: "int4", groupSize: 32 });
    const model = await openModel(save({ a: q, b: q }));
    const choose = ({ name }) => (name === "a" ? "int8-channel" : undefined);
    const { files } = await quantizeModel(model, choose, { requantize: true });
    const loaded = await load(await outputBytes(files[0]));
    assert.deepEqual([loaded.a.dtype, loaded.b.dtype], ["int8", "int4"]);
    assert.deepEqual(loaded.b.data, q.data);
    const values = await model.read("a");
    assert.deepEqual(loaded.a.data, quantize(values, { axis: 0 }).data);
  });
});

describe("GGUF's block types", () => {
  it("are quantized again from their values, as a float model of these values is", async () => {
    const { files: first } = await quantizeModel(await openModel(await makeLlama({})), "Q8_0");
    const model = await openModel(await outputBytes(first[0]));
    await rejects(
      quantizeModel(model, "Q4_0"),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      /requantize: true/,
    );
    const { files } = await quantizeModel(model, "Q4_0", { requantize: true });
    const found = await openModel(await outputBytes(files[0]));
    const name = "blk.0.attn_q.weight";
    assert.equal(found.tensors.get(name).dtype, "q4_0");
    const { data, shape } = await model.read(name);
    const float = await openTensors({ [name]: ["float32", [...shape], data] });
    const { files: again } = await quantizeModel(float, "q4_0", { format: "gguf" });
    const wanted = await openModel(await outputBytes(again[0]));
    assert.deepEqual(await found.readBytes(name), await wanted.readBytes(name));
  });

  it("are kept as values in another format, unless they are to be quantized again", async () => {
    const { files: first } = await quantizeModel(await openModel(await makeLlama({})), "Q8_0");
    const model = await openModel(await outputBytes(first[0]));
    for (const [requantize, dtype] of [
      [false, "F32"],
      [true, "I8"],
    ]) {
      const { files } = await quantizeModel(model, "int8-channel", {
        ...{ format: "safetensors", requantize },
      });
      const { tensors } = openBytes(await outputBytes(files[0]));
      assert.equal(tensors["blk.0.attn_q.weight"].dtype, dtype);
    }
  });
});
