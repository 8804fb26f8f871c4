// Checkpoints whose quantization is not understood: right values or a refusal, never codes as values.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { rejects } from "../support/asserts.mjs";
import { collect } from "../support/files/formats.mjs";

await init();

/** A safetensors file. @param tensors  [dtype, shape, typed array] by name */
function fileOf(tensors) {
  const header = {};
  const parts = [];
  let end = 0;
  for (const [name, [dtype, shape, { buffer, byteOffset, byteLength }]] of Object.entries(
    tensors,
  )) {
    header[name] = { dtype, shape, data_offsets: [end, end + byteLength] };
    parts.push(new Uint8Array(buffer, byteOffset, byteLength));
    end += byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  let at = 8 + text.length;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

const open = (tensors, config) =>
  openModel(fileOf(tensors), {
    externalData: (name) =>
      name === "config.json" && config !== undefined
        ? new TextEncoder().encode(typeof config === "string" ? config : JSON.stringify(config))
        : new Uint8Array(0),
  });

const ramp = (length, first, step) => Float32Array.from({ length }, (_, i) => first + i * step);
const bytes = (length) => Uint8Array.from({ length }, (_, i) => (i * 37 + 11) % 120);

/** Checkpoints of one weight of [64, 96] or [64, 128], each with its configuration. */
const LAYOUTS = {
  "float8 with a scale for each row": {
    config: { quantization_config: { quant_method: "fp8" } },
    tensors: {
      "m.weight": ["F8_E4M3", [64, 96], bytes(6144)],
      "m.weight_scale": ["F32", [64, 1], ramp(64, 0.5, 0.01)],
    },
  },
  "DeepSeek-V4's experts": {
    config: { quantization_config: { quant_method: "fp8" } },
    tensors: {
      "m.weight": ["I8", [64, 48], new Int8Array(bytes(3072).buffer)],
      "m.scale": ["F8_E8M0", [64, 3], bytes(192)],
    },
  },
  "NVFP4 of ModelOpt": {
    config: { quantization_config: { quant_method: "modelopt" } },
    tensors: {
      "m.weight": ["U8", [64, 48], bytes(3072)],
      "m.weight_scale": ["F8_E4M3", [64, 6], bytes(384)],
      "m.weight_scale_2": ["F32", [], ramp(1, 0.25, 0)],
    },
  },
  "MXFP4 of Quark": {
    config: { quantization_config: { quant_method: "quark" } },
    tensors: {
      "m.weight": ["U8", [64, 48], bytes(3072)],
      "m.weight_scale": ["U8", [64, 3], bytes(192)],
    },
  },
  MLX: {
    config: { quantization: { bits: 4, group_size: 64 } },
    tensors: {
      "m.weight": ["U32", [64, 16], new Uint32Array(1024).map((_, i) => i * 2654435761)],
      "m.scales": ["F32", [64, 2], ramp(128, 0.5, 0.01)],
      "m.biases": ["F32", [64, 2], ramp(128, -3, 0.01)],
    },
  },
  "int8 of bitsandbytes": {
    config: { quantization_config: { quant_method: "bitsandbytes" } },
    tensors: {
      "m.weight": ["I8", [64, 96], new Int8Array(bytes(6144).buffer)],
      "m.SCB": ["F32", [64], ramp(64, 0.5, 0.01)],
    },
  },
};

describe("a checkpoint with a part that is renamed, missing, transposed or of another dtype", () => {
  for (const [name, { config, tensors }] of Object.entries(LAYOUTS)) {
    it(`gives right values or is refused: ${name}`, async () => {
      const right = (await (await open(tensors, config)).read("m.weight")).data;
      const parts = Object.keys(tensors).filter((part) => part !== "m.weight");
      for (const part of parts) {
        const { [part]: own, ...others } = tensors;
        const [, shape, data] = own;
        const changed = {
          renamed: { ...others, [`${part}_x`]: own },
          "named otherwise": { ...others, "m.other": own },
          missing: others,
          transposed: { ...others, [part]: [own[0], shape.toReversed(), data] },
          "of another dtype": {
            ...others,
            [part]: ["I16", shape, new Int16Array(data.length).fill(3)],
          },
        };
        for (const [how, file] of Object.entries(changed)) {
          const model = await open(file, config);
          let got;
          try {
            got = (await model.read("m.weight")).data;
          } catch (error) {
            assert.match(error.code, /^ZP_(UNSUPPORTED_FILE|INVALID_FILE)$/, `${part} ${how}`);
            assert.equal(
              (await model.readBytes("m.weight")).length,
              tensors["m.weight"][2].byteLength,
            );
            continue;
          }
          assert.deepEqual(got, right, `${part} ${how}`);
        }
      }
    });
  }

  it("is kept byte for byte with what is beside it by quantizeModel", async () => {
    const { config, tensors } = LAYOUTS["float8 with a scale for each row"];
    const { "m.weight_scale": scale, ...others } = tensors;
    const model = await open({ ...others, "m.wscale": scale }, config);
    await rejects(model.read("m.weight"), RangeError, "ZP_UNSUPPORTED_FILE", /"m\.wscale"/);
    const { files, report } = await quantizeModel(model, "int8-channel");
    assert.equal(report.rows.find((row) => row.name === "m.weight").reason, "unknown quantization");
    const kept = '1 weight of unknown quantization, kept as in the model: "m.weight"';
    assert.ok(report.notes.includes(kept), report.notes.join("\n"));
    const gguf = quantizeModel(model, "q8_0", { format: "gguf", requantize: true });
    await rejects(gguf, RangeError, "ZP_UNSUPPORTED_FILE", /unknown quantization, by "m\.wscale"/);
    const again = await openModel(await collect(files[0].stream()));
    assert.deepEqual([...again.tensors.keys()].sort(), ["m.weight", "m.wscale"]);
    assert.deepEqual(await again.readBytes("m.weight"), await model.readBytes("m.weight"));
  });
});

/** Tensors of quantizers whose layouts are not read; the first holds the codes. */
const OTHERS = {
  torchao: [
    ["m._weight_qdata", "I8", [64, 96], Int8Array],
    ["m._weight_scale", "F32", [64, 1], Float32Array],
  ],
  quanto: [
    ["m.weight._data", "I8", [64, 96], Int8Array],
    ["m.weight._scale", "F32", [64, 1], Float32Array],
  ],
  exl2: [
    ["m.q_weight", "I32", [16, 96], Int32Array],
    ["m.q_scale", "I32", [2, 16], Int32Array],
  ],
  exl3: [
    ["m.trellis", "I16", [4, 6, 64], Int16Array],
    ["m.suh", "F16", [64], Uint16Array],
  ],
  aqlm: [
    ["m.codes", "I8", [64, 12, 2], Int8Array],
    ["m.codebooks", "F16", [2, 16, 1, 8], Uint16Array],
  ],
  vptq: [
    ["m.indices", "I32", [1, 64, 20], Int32Array],
    ["m.weight_scale", "F16", [64], Uint16Array],
  ],
  quip: [
    ["m.Qidxs", "I64", [64, 16], BigInt64Array],
    ["m.SU", "F16", [96], Uint16Array],
  ],
  "quip of 4 bits": [
    ["m.Qidxs_0", "I16", [64, 16], Int16Array],
    ["m.SU", "F16", [96], Uint16Array],
  ],
  spinning: [
    ["m.weight_int", "I8", [64, 96], Int8Array],
    ["m.weight_step", "F32", [64], Float32Array],
  ],
  "quanto of packed codes": [
    ["m.weight._data._data", "U8", [64, 48], Uint8Array],
    ["m.weight._scale", "F32", [64, 1], Float32Array],
  ],
  "quanto of float8": [
    ["m.weight._data", "F8_E4M3", [64, 96], Uint8Array],
    ["m.weight._scale", "F32", [64, 1], Float32Array],
  ],
  "torchao of float8": [
    ["m._weight_qdata", "F8_E4M3", [64, 96], Uint8Array],
    ["m._weight_scale", "F32", [64, 1], Float32Array],
  ],
  "torchao with colons": [
    ["m.weight:qdata", "F8_E4M3", [64, 96], Uint8Array],
    ["m.weight:scale", "F32", [64, 1], Float32Array],
  ],
  "torch's packed parameters": [
    ["m._packed_params._packed_params", "I8", [64, 96], Int8Array],
    ["m.scale", "F32", [1], Float32Array],
  ],
  "TensorRT-LLM, four codes in a float": [
    ["m.weight", "F32", [96, 16], Float32Array],
    ["m.per_channel_scale", "F16", [64], Uint16Array],
  ],
  "sparse weights of compressed-tensors": [
    ["m.compressed", "BF16", [64, 48], Uint16Array],
    ["m.bitmask", "U8", [64, 12], Uint8Array],
  ],
  "scales beside the module": [
    ["a.q.weight", "F8_E4M3", [64, 96], Uint8Array],
    ["a.q_scale", "F32", [64], Float32Array],
  ],
  "scales in a tree of their own": [
    ["a.q.weight", "F8_E4M3", [64, 96], Uint8Array],
    ["scales.a.q.weight", "F32", [1], Float32Array],
  ],
  "a table with a scale": [
    ["m.embedding", "F8_E4M3", [64, 96], Uint8Array],
    ["m.scale", "F32", [64], Float32Array],
  ],
  "a float8 matrix and a scale by a short name": [
    ["l.w", "F8_E4M3", [64, 96], Uint8Array],
    ["l.w_s", "F32", [64], Float32Array],
  ],
  "a float8 matrix at the root, and s": [
    ["w", "F8_E4M3", [64, 96], Uint8Array],
    ["s", "F32", [64], Float32Array],
  ],
  "an int8 matrix and numbers of its rows": [
    ["l.kernel", "I8", [64, 96], Int8Array],
    ["l.step", "F32", [64], Float32Array],
  ],
  "an int8 table and the ranges of its rows": [
    ["wte", "I8", [64, 96], Int8Array],
    ["wte_range", "F32", [64, 2], Float32Array],
  ],
  "a scale below its matrix": [
    ["l.weight", "F8_E4M3", [64, 96], Uint8Array],
    ["l.weight.s", "F32", [], Float32Array],
  ],
  "scales in a module of their own": [
    ["layers.0.w", "F8_E4M3", [64, 96], Uint8Array],
    ["layers.0.scales.w", "F32", [1], Float32Array],
  ],
  "a tree of values and one of scales": [
    ["params.l.kernel", "I8", [64, 96], Int8Array],
    ["quant_params.l.kernel", "F32", [96], Float32Array],
  ],
  "a scale named before its module": [
    ["a.qkv.weight", "F8_E4M3", [64, 96], Uint8Array],
    ["a.scale_qkv", "F32", [], Float32Array],
  ],
  "names with slashes": [
    ["l/w", "F8_E4M3", [64, 96], Uint8Array],
    ["l/scale", "F32", [96], Float32Array],
  ],
  "zero points by a short name": [
    ["l.kernel", "U8", [64, 48], Uint8Array],
    ["l.kernel_zp", "U8", [64, 1], Uint8Array],
  ],
  marlin: [
    ["m.B", "I32", [8, 128], Int32Array],
    ["m.s", "F16", [1, 64], Uint16Array],
  ],
  "sparse marlin": [
    ["m.B_meta", "I16", [64, 4], Int16Array],
    ["m.s", "F16", [1, 64], Uint16Array],
  ],
  spqr: [
    ["m.dense_weights", "I64", [64, 6], BigInt64Array],
    ["m.in_perm", "U16", [96], Uint16Array],
  ],
  "vptq without scales": [
    ["m.indices", "I32", [1, 64, 20], Int32Array],
    ["m.centroids.weight", "F16", [1, 256], Uint16Array],
  ],
  aqt: [
    ["m.frozen.qvalue", "I8", [64, 96], Int8Array],
    ["m.frozen.scale.0", "F32", [1, 96], Float32Array],
  ],
  "rwkv runner": [
    ["att.key", "U8", [64, 96], Uint8Array],
    ["att.key_mx", "F16", [64], Uint16Array],
  ],
  "a bias of integers": [
    ["m.bias", "I8", [64], Int8Array],
    ["m.a", "F32", [], Float32Array],
  ],
  "w4afp8 of SGLang, two codes in a byte": [
    ["m.weight", "I8", [256, 128], Int8Array],
    ["m.weight_scale_inv", "BF16", [256, 2], Uint16Array],
  ],
  svdquant: [
    ["m.qweight", "I8", [64, 48], Int8Array],
    ["m.wscales", "BF16", [2, 64], Uint16Array],
  ],
};

describe("codes of quantizers whose layouts are not read", () => {
  for (const [quantizer, list] of Object.entries(OTHERS)) {
    it(`are refused without a configuration: ${quantizer}`, async () => {
      const tensors = list.map(([name, dtype, shape, array]) => [
        name,
        [dtype, shape, new array(shape.reduce((a, b) => a * b, 1))],
      ]);
      const model = await open(Object.fromEntries(tensors));
      const [[codes]] = list;
      await rejects(model.read(codes), RangeError, "ZP_UNSUPPORTED_FILE", /unknown quantization/);
    });
  }
});

describe("int8 codes in a configuration of fewer bits", () => {
  const tensors = {
    "m.weight": ["I8", [64, 32], new Int8Array(64 * 32).fill(3)],
    "m.weight_scale": ["F32", [64, 1], new Float32Array(64).fill(0.5)],
  };
  const openWith = (quantization_config) => open(tensors, { quantization_config });
  const group = (format) => ({
    ...{ quant_method: "compressed-tensors", format: "mixed-precision" },
    config_groups: {
      group_0: { ...(format && { format }), targets: ["m"], weights: { num_bits: 4, type: "int" } },
    },
  });

  for (const config of [
    { quant_method: "modelopt", quant_algo: "W4A8_AWQ" },
    { quant_method: "quark", global_quant_config: { weight: { dtype: "uint4" } } },
    { quant_method: "gptq", bits: 4 },
    { weight_dtype: "int4" },
    { bits: 4 },
    { ...group(), format: "pack-quantized" },
  ]) {
    it(`may be two in a byte, and are refused: ${JSON.stringify(config)}`, async () => {
      const model = await openWith(config);
      await rejects(
        model.read("m.weight"),
        RangeError,
        "ZP_UNSUPPORTED_FILE",
        /unknown quantization/,
      );
    });
  }

  for (const config of [
    group("int-quantized"),
    { ...group(), format: "int-quantized" },
    { quant_method: "quark", global_quant_config: { weight: { dtype: "int8" } } },
    { quant_method: "int8" },
    { bits: 8 },
  ]) {
    it(`are one in a byte, and are read: ${JSON.stringify(config)}`, async () => {
      const model = await openWith(config);
      assert.equal((await model.read("m.weight")).data[0], 1.5);
    });
  }
});

describe("int8 codes without a configuration", () => {
  const int8 = (rows, columns) => ["I8", [rows, columns], new Int8Array(rows * columns).fill(3)];
  const linear = (name, rows, columns) => ({
    [`${name}.weight`]: int8(rows, columns),
    [`${name}.weight_scale`]: ["F32", [rows, 1], new Float32Array(rows).fill(0.5)],
    [`${name}.bias`]: ["F32", [rows], new Float32Array(rows)],
  });
  const norm = { "norm.weight": ["F32", [64], new Float32Array(64)] };

  it("are refused where other tensors have twice the columns of most matrices", async () => {
    for (const tensors of [
      { ...linear("q", 48, 32), ...norm },
      { ...linear("q", 64, 32), ...linear("k", 16, 32), ...linear("up", 96, 32), ...norm },
    ]) {
      const model = await open(tensors);
      const expected = /unknown quantization.*half of other tensors/;
      await rejects(model.read("q.weight"), RangeError, "ZP_UNSUPPORTED_FILE", expected);
      const told = await open(tensors, { quantization_config: { quant_method: "int8" } });
      assert.equal((await told.read("q.weight")).data[0], 1.5);
    }
  });

  it("are read where other tensors have the columns of most matrices, or none has", async () => {
    for (const tensors of [
      linear("q", 64, 32),
      { ...linear("q", 64, 32), ...norm, "head.weight": ["F32", [10, 64], new Float32Array(640)] },
      { ...linear("q", 64, 64), ...norm },
      { ...linear("q", 128, 64), ...linear("o", 64, 128), ...norm },
      { ...linear("q", 64, 32), ...linear("k", 64, 64), ...linear("v", 10, 64) },
    ]) {
      const model = await open(tensors);
      for (const name of Object.keys(tensors).filter((each) => /[qkvo]\.weight$/.test(each)))
        assert.equal((await model.read(name)).data[0], 1.5);
    }
  });
});

describe("a configuration that names another form of a known layout", () => {
  const parts = {
    "m.qweight": ["I32", [16, 64], Int32Array.from({ length: 1024 }, (_, i) => i * 2654435761)],
    "m.qzeros": ["I32", [4, 8], new Int32Array(32).fill(0x77777777)],
    "m.scales": ["F32", [4, 64], ramp(256, 0.5, 0.01)],
  };
  const awq = {
    "m.qweight": ["I32", [128, 8], new Int32Array(1024)],
    "m.qzeros": ["I32", [4, 8], new Int32Array(32)],
    "m.scales": ["F16", [4, 64], new Uint16Array(256)],
  };
  const mlx = {
    "m.weight": ["U32", [64, 16], new Uint32Array(1024)],
    "m.scales": ["U8", [64, 4], new Uint8Array(256)],
  };

  it("has the zero points of AutoRound's own format as they are", async () => {
    const method = { quant_method: "auto-round", bits: 4, group_size: 32 };
    const packed = (name) => ({ quantization_config: { ...method, packing_format: name } });
    const own = await (await open(parts, packed("auto_round:gptqmodel"))).read("m.weight");
    const minus = await (await open(parts, packed("auto_round:auto_gptq"))).read("m.weight");
    const plain = await (await open(parts, packed("auto_round"))).read("m.weight");
    assert.deepEqual(plain.data, own.data);
    const unnamed = { quantization_config: { ...method, quant_method: "auto_round" } };
    const older = { ...method, quant_method: "intel/auto-round", backend: "auto_round:gptq:x" };
    for (const config of [unnamed, packed("auto"), { quantization_config: older }]) {
      assert.deepEqual((await (await open(parts, config)).read("m.weight")).data, minus.data);
    }
    const [, , scales] = parts["m.scales"];
    const [, , words] = parts["m.qweight"];
    for (const [row, column] of [
      [0, 0],
      [5, 40],
      [63, 127],
    ]) {
      const code = (words[Math.floor(column / 8) * 64 + row] >>> (4 * (column % 8))) & 15;
      const scale = scales[Math.floor(column / 32) * 64 + row];
      assert.equal(own.data[row * 128 + column], Math.fround((code - 7) * scale));
      assert.equal(minus.data[row * 128 + column], Math.fround((code - 8) * scale));
    }
  });

  const gptq = { quant_method: "gptq", bits: 4, group_size: 32, is_marlin_format: true };
  const round = { quant_method: "auto-round", bits: 4 };
  for (const [name, tensors, config] of [
    ...["auto_round:marlin", "auto_round:exllamav2"].map((packing_format) => [
      `AutoRound's packing ${packing_format}`,
      parts,
      { quantization_config: { ...round, packing_format } },
    ]),
    ["is_marlin_format of GPTQ", parts, { quantization_config: gptq }],
    ...["gemv", "gemv_fast", "marlin"].map((version) => [
      `${version} of GPTQModel's AWQ`,
      awq,
      { quantization_config: { quant_method: "awq", bits: 4, checkpoint_format: version } },
    ]),
    ["an unknown mode of MLX", mlx, { quantization: { bits: 4, group_size: 32, mode: "mxfp3" } }],
  ]) {
    it(`is refused: ${name}`, async () => {
      const model = await open(tensors, config);
      const [codes] = Object.keys(tensors);
      const expected = /marlin|gemv|mxfp3|exllamav2/;
      await rejects(model.read(codes), RangeError, "ZP_UNSUPPORTED_FILE", expected);
    });
  }
});

describe("ordinary models", () => {
  it("with scales and zeros in their names are read as they are", async () => {
    const two = ramp(4, 1, 1);
    const names = [
      "n.weight",
      "n.scale",
      "logit_scale",
      "ls1.layer_scale",
      "q.zero_point",
      "n.bias",
    ];
    const tensors = Object.fromEntries(names.map((name) => [name, ["F32", [2, 2], two]]));
    const model = await open({
      ...tensors,
      "e.position_ids": ["I64", [1, 2], new BigInt64Array(2)],
    });
    for (const name of names) assert.deepEqual((await model.read(name)).data, two);
    for (const { layout } of model.tensors.values()) assert.equal(layout, undefined);
  });

  it("of float8 and of masks are read beside their biases and other weights", async () => {
    const float8 = (...shape) => ["F8_E4M3", shape, bytes(shape.reduce((a, b) => a * b))];
    const float = (...shape) => [
      "F32",
      shape,
      ramp(
        shape.reduce((a, b) => a * b, 1),
        1,
        0,
      ),
    ];
    const model = await open({
      ...{ "a.qkv.weight": float8(96, 64), "a.qkv.bias": float8(96), "a.norm.scale": float(64) },
      ...{ "n.norm.scale": float8(64), "n.norm.bias": float8(64), "o.weight": float8(64, 64) },
      ...{ "o.bias": float(64), "c.text_projection": float8(64, 64), "c.logit_scale": float() },
      ...{ "t.0.scale_shift_table": float(6, 64), "t.0.q.weight": float8(64, 64) },
      ...{ "v.quant_conv.weight": float(8, 8, 1, 1), "v.x.weight": float8(64, 64) },
      ...{ pos_embed: float8(1, 64, 64), cls_token: float(1, 1, 64) },
      ...{ "h.attn.bias": ["U8", [1, 1, 64, 64], bytes(4096)], "h.attn.masked_bias": float() },
      ...{ "i.index": ["U8", [8, 8], bytes(64)], "i.mask": ["U8", [8, 8], bytes(64)] },
    });
    for (const [name, { layout }] of model.tensors) {
      assert.equal(layout, undefined, name);
      await model.read(name);
    }
  });

  it("of float8 without any scales are read as they are", async () => {
    const codes = ["F8_E4M3", [2, 2], Uint8Array.of(0x38, 0x40, 0x30, 0xb8)];
    const model = await open({ "a.weight": codes, "a.bias": ["F32", [2], ramp(2, 0, 1)] });
    assert.deepEqual([...(await model.read("a.weight")).data], [1, 2, 0.5, -1]);
  });
});

describe("other names of known layouts", () => {
  it("give the same values: Mistral's scales, gpt-oss's original files, a shape of int32", async () => {
    const codes = ["F8_E4M3", [64, 96], bytes(6144)];
    const scale = ["F32", [], ramp(1, 0.25, 0)];
    const usual = await open({ "m.weight": codes, "m.weight_scale": scale });
    const own = await open({
      ...{ "m.weight": codes, "m.qscale_weight": scale, "m.qscale_act": scale },
    });
    assert.deepEqual(await own.read("m.weight"), await usual.read("m.weight"));
    const { files, report } = await quantizeModel(own, "int8-channel", { requantize: true });
    assert.ok(report.rows.some(({ name }) => name === "m.qscale_act"));
    const again = await openModel(await collect(files[0].stream()));
    assert.ok(!again.tensors.has("m.qscale_act"));

    const blocks = ["U8", [2, 3, 2, 16], bytes(192)];
    const scales = ["U8", [2, 3, 2], bytes(12).map((byte) => 120 + (byte % 8))];
    const hub = await open({ "m.w_blocks": blocks, "m.w_scales": scales });
    const original = await open({ "m.w.blocks": blocks, "m.w.scales": scales });
    assert.deepEqual(await original.read("m.w"), await hub.read("m.w"));

    const packed = ["I32", [4, 8], Int32Array.from({ length: 32 }, (_, i) => i * 2654435761)];
    const groups = ["F32", [4, 2], ramp(8, 0.5, 0.01)];
    const opened = [BigInt64Array.of(4n, 64n), Int32Array.of(4, 64)].map((lengths, i) =>
      open({
        ...{ "m.weight_packed": packed, "m.weight_scale": groups },
        "m.weight_shape": [["I64", "I32"][i], [2], lengths],
      }),
    );
    const [long, short] = await Promise.all(opened);
    assert.deepEqual(await short.read("m.weight"), await long.read("m.weight"));
    // Row by row.
    const again8 = async (model) => {
      const result = await quantizeModel(model, "int8-channel", { requantize: true });
      return await collect(result.files[0].stream());
    };
    assert.deepEqual(await again8(short), await again8(long));
  });
});

describe("bitsandbytes", () => {
  it("gives NF4 with quantized scales, and int8, as its formulas do", async () => {
    const table = ramp(16, -1, 0.125);
    const nestedTable = ramp(256, -1, 1 / 128);
    const state = { quant_type: "nf4", blocksize: 64, shape: [3, 64], dtype: "float32" };
    const nested = { nested_blocksize: 2, nested_dtype: "float32", nested_offset: 0.5 };
    const text = new TextEncoder().encode(JSON.stringify({ ...state, ...nested }));
    const codes = bytes(96);
    const absmax = Uint8Array.of(200, 100, 50);
    const nestedAbsmax = Float32Array.of(2, 4);
    const model = await open({
      "m.weight": ["U8", [96, 1], codes],
      "m.weight.absmax": ["U8", [3], absmax],
      "m.weight.quant_map": ["F32", [16], table],
      "m.weight.nested_absmax": ["F32", [2], nestedAbsmax],
      "m.weight.nested_quant_map": ["F32", [256], nestedTable],
      "m.weight.quant_state.bitsandbytes__nf4": ["U8", [text.length], text],
    });
    const { data, shape } = await model.read("m.weight");
    assert.deepEqual(shape, [3, 64]);
    const expected = Float32Array.from({ length: 192 }, (_, i) => {
      const code = i % 2 === 0 ? codes[i >> 1] >> 4 : codes[i >> 1] & 15;
      const block = i >> 6;
      const scale = Math.fround(nestedTable[absmax[block]] * nestedAbsmax[block >> 1]) + 0.5;
      return table[code] * Math.fround(scale);
    });
    assert.deepEqual(data, expected);
  });
});

describe("an unreadable configuration", () => {
  it("is an error where it is too large to be read", async () => {
    const { tensors } = LAYOUTS.MLX;
    const large = { size: 2 ** 26 + 1, read: (_, length) => new Uint8Array(length) };
    const opening = openModel(fileOf(tensors), {
      externalData: (name) => (name === "config.json" ? large : new Uint8Array(0)),
    });
    await rejects(opening, RangeError, "ZP_UNSUPPORTED_FILE", /"config\.json" .* 67108865 bytes/);
  });

  it("is an error, and Python's numbers in one are none", async () => {
    const { tensors } = LAYOUTS.MLX;
    await rejects(open(tensors, '{"a": '), RangeError, "ZP_INVALID_FILE", /config\.json/);
    const text =
      '{"limit": [0.0, Infinity, -Infinity, NaN], "quantization": {"bits": 2, "group_size": 128}}';
    const model = await open(tensors, text);
    assert.deepEqual([...model.tensors.get("m.weight").shape], [64, 256]);
  });
});
