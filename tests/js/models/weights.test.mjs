// Quantized tensors of opened models: one logical tensor each, its values as the reference implementations give them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantize } from "zeropoint";
import { openModel, quantizeModel, save, verifyOutput } from "zeropoint/models";
import {
  dequantizeValues,
  layoutSafetensors,
  unpackWeight,
  writeSafetensors,
} from "../../internal/formats.mjs";
import { weightsOf } from "../../internal/models.mjs";
import { Random, rejects } from "../support/asserts.mjs";
import { collect, fromBase64, sameValues, vectorsOf } from "../support/files/formats.mjs";
import { constant, onnxModel } from "../support/onnx/models.mjs";
import { readVectors } from "../support/vectors.mjs";

await init();

const DTYPES = {
  F32: "float32",
  F16: "float16",
  BF16: "bfloat16",
  I8: "int8",
  I32: "int32",
  U32: "uint32",
  I64: "int64",
  U8: "uint8",
  F8_E4M3: "float8_e4m3fn",
  F8_E5M2: "float8_e5m2",
};

/** A safetensors file. @param tensors  { dtype, shape, data } by name */
const fileOf = (tensors) =>
  collect(
    writeSafetensors(
      layoutSafetensors(
        Object.entries(tensors).map(([name, { dtype, shape, data }]) => ({
          name,
          dtype: DTYPES[dtype],
          shape,
          bytes: () => [typeof data === "string" ? fromBase64(data) : data],
        })),
      ),
    ),
  );

/** The config.json of a checkpoint with one case. */
function configOf({ layout, bits, group_size, checkpoint_format, weights }) {
  if (layout.startsWith("compressed")) {
    const version = layout.endsWith("old-packing") ? "0.12.2" : "0.18.0";
    const config_groups = { a: { weights } };
    return {
      quantization_config: { quant_method: "compressed-tensors", version, config_groups },
    };
  }
  if (layout === "mlx") return { quantization: { bits, group_size, mode: "affine" } };
  return { quantization_config: { quant_method: layout, bits, group_size, checkpoint_format } };
}

/** Opens a checkpoint of one module beside its config.json. */
async function openCase(each, config = configOf(each)) {
  const tensors = Object.entries(each.tensors).map(([name, tensor]) => [`model.m.${name}`, tensor]);
  return await openModel(await fileOf(Object.fromEntries(tensors)), {
    externalData: (path) => {
      assert.match(path, /^(config|quantize_config|quant_config)\.json$/);
      return path === "config.json" && config !== undefined
        ? new TextEncoder().encode(JSON.stringify(config))
        : new Uint8Array(0);
    },
  });
}

/** The values of a vector's tensor. */
async function floatsOf({ dtype, shape, data }) {
  const model = await openModel(await fileOf({ a: { dtype, shape, data } }));
  return (await model.read("a")).data;
}

const transposed = (values, [rows, columns]) =>
  Float32Array.from(values, (_, i) => values[(i % rows) * columns + Math.floor(i / rows)]);

/** Values with 0 in place of -0. */
const withoutNegativeZeros = (values) => values.map((value) => value + 0);

/** Asserts that values agree to within the rounding of their type, relative to the largest. */
function close(actual, expected, tolerance, message) {
  assert.equal(actual.length, expected.length, message);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(actual[i] - expected[i]);
    assert.ok(difference <= tolerance * largest, `${message}: ${actual[i]}, not ${expected[i]}`);
  }
}

/** Twice the rounding of one operation. */
const ROUNDING = { F32: 2 ** -22, F16: 2 ** -9, BF16: 2 ** -6 };

describe("quantized weights of checkpoints", () => {
  /** The shape and values that the logical tensor of a case has. */
  async function expectedOf({ layout, decoded }) {
    const values = await floatsOf(decoded);
    const isTransposed = layout === "gptq" || layout === "awq";
    if (!isTransposed) return { shape: decoded.shape, values };
    return { shape: decoded.shape.toReversed(), values: transposed(values, decoded.shape) };
  }

  /** The values of codes with an offset for each group: code · scale + offset. */
  function valuesByOffset({ data, shape: [rows, columns], scale, offset, groupSize }) {
    const groups = scale.data.length / rows;
    return Float32Array.from(data, (code, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      const group = row * groups + Math.floor(column / groupSize);
      return code * scale.data[group] + offset.data[group];
    });
  }

  for (const each of readVectors("formats/layouts").cases) {
    const { layout, name, decoded } = each;
    it(`are logical tensors, read bit for bit: ${layout} ${name}`, async () => {
      const { shape, values } = await expectedOf(each);
      const model = await openCase(each);
      assert.deepEqual([...model.tensors.keys()], ["model.m.weight"]);
      const { shape: own, isQuantized, dtype } = model.tensors.get("model.m.weight");
      assert.deepEqual([[...own], isQuantized], [shape, true]);
      assert.match(dtype, /^u?int[248]$/);
      const got = await model.read("model.m.weight");
      assert.deepEqual([...got.shape], shape);
      // The reference of MLX adds 0, so it has no -0.
      sameValues(layout === "mlx" ? withoutNegativeZeros(got.data) : got.data, values, name);
    });

    it(`keep their parts readable by name: ${layout} ${name}`, async () => {
      const model = await openCase(each);
      await model.read("model.m.weight");
      for (const part of Object.keys(each.tensors)) await model.read(`model.m.${part}`);
    });

    // Rows in the order of their activations: neighbours have different scales.
    if (name.includes("act-order")) {
      it(`are no quantized tensors if groups are not runs of neighbours: ${name}`, async () => {
        const reading = (await openCase(each)).readQuantized("model.m.weight");
        await rejects(
          reading,
          RangeError,
          "ZP_INVALID_MODEL",
          /not runs of neighbours; read reads/,
        );
      });
      continue;
    }

    it(`are quantized tensors: ${layout} ${name}`, async () => {
      const { shape, values } = await expectedOf(each);
      const q = await (await openCase(each)).readQuantized("model.m.weight");
      assert.deepEqual(q.shape, shape);
      if (q.offset === undefined) {
        close(dequantize(q).data, values, ROUNDING[decoded.dtype], name);
      } else {
        assert.equal(q.zeroPoint, undefined);
        close(valuesByOffset(q), values, 8 * ROUNDING[decoded.dtype], name);
      }
    });
  }

  it("are told by their tensors where no config.json is beside them", async () => {
    const { cases } = readVectors("formats/layouts");
    for (const layout of ["gptq", "awq", "compressed-tensors"]) {
      const each = cases.find(
        (one) => one.layout === layout && one.checkpoint_format !== "gptq_v2",
      );
      const model = await openCase(each, null);
      const values = await floatsOf(each.decoded);
      const isTransposed = layout !== "compressed-tensors";
      const expected = isTransposed ? transposed(values, each.decoded.shape) : values;
      sameValues((await model.read("model.m.weight")).data, expected, layout);
    }
  });

  it("whose layout is known but not read, or whose method is unknown, are refused by name", async () => {
    const each = readVectors("formats/layouts").cases.find(({ layout }) => layout === "awq");
    for (const [quantization_config, reason] of [
      [{ quant_method: "awq", bits: 4, version: "gemv" }, /awq of version gemv/],
      [{ quant_method: "somequant", bits: 4 }, /quant_method "somequant"/],
    ]) {
      const model = await openCase(each, { quantization_config });
      const { layout, isQuantized } = model.tensors.get("model.m.qweight");
      assert.deepEqual([layout, isQuantized], ["unknown quantization", true]);
      await rejects(model.read("model.m.qweight"), RangeError, "ZP_UNSUPPORTED_FILE", reason);
      await rejects(
        model.readQuantized("model.m.qweight"),
        RangeError,
        "ZP_UNSUPPORTED_FILE",
        reason,
      );
      const bytes = fromBase64(each.tensors.qweight.data);
      assert.deepEqual([...(await model.readBytes("model.m.qweight"))], [...bytes]);
      await model.read("model.m.scales");
    }
  });

  it("in several tensors have no bytes of their own", async () => {
    const each = readVectors("formats/layouts").cases.find(({ layout }) => layout === "gptq");
    const model = await openCase(each);
    await rejects(
      model.readBytes("model.m.weight"),
      RangeError,
      "ZP_INVALID_MODEL",
      /held by the tensors "model\.m\.qweight"/,
    );
    const { byteLength } = model.tensors.get("model.m.weight");
    assert.equal((await model.readBytes("model.m.qweight")).length, byteLength);
  });
});

/** Where the bytes of a tensor begin in a safetensors file. */
function offsetIn(file, name) {
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  return 8 + length + header[name].data_offsets[0];
}

describe("a part that does not fit its quantized weight is named, with its place", () => {
  const cases = [
    ...readVectors("formats/layouts").cases,
    ...readVectors("formats/float-layouts").cases,
  ];
  const ofLayout = (layout, part) =>
    cases.find((each) => each.layout === layout && each.tensors[part] !== undefined);
  const zeros = (dtype, shape, bytes) => ({ dtype, shape, data: new Uint8Array(bytes) });

  async function refusesPart(each, part, tensor, expected, found) {
    const changed = { ...each, tensors: { ...each.tensors, [part]: tensor } };
    const config = each.config ? { quantization_config: each.config } : configOf(each);
    const named = Object.entries(changed.tensors).map(([name, own]) => [`model.m.${name}`, own]);
    const file = await fileOf(Object.fromEntries(named));
    const externalData = () => new TextEncoder().encode(JSON.stringify(config));
    const model = await openModel(file, { externalData });
    const name = `model.m.${part}`;
    await assert.rejects(model.read("model.m.weight"), {
      code: "ZP_INVALID_FILE",
      message: `Model.read: at byte ${offsetIn(file, name)}: expected "${name}" to be ${expected}, found ${found}`,
      offset: offsetIn(file, name),
    });
  }

  it("among packed codes of compressed-tensors", async () => {
    const each = ofLayout("compressed-tensors", "weight_zero_point");
    const { shape } = each.tensors.weight_scale;
    const scales = zeros("I32", shape, 4 * shape[0] * shape[1]);
    const floats = "scales of float32, float16 or bfloat16";
    await refusesPart(each, "weight_scale", scales, floats, "int32");
    const [rows] = each.decoded.shape;
    const points = `int32 words of zero points of ${rows} rows of ${shape[1]} groups`;
    const zero = zeros("I32", [1, 99], 396);
    await refusesPart(each, "weight_zero_point", zero, points, "int32 [1, 99]");
  });

  it("among the tensors of MLX", async () => {
    const each = ofLayout("mlx", "biases");
    const shape = `[${each.tensors.scales.shape.join(", ")}]`;
    const biases = zeros("F32", [1, 1], 4);
    await refusesPart(each, "biases", biases, `offsets beside scales ${shape}`, "[1, 1]");
  });

  it("among the tensors of GPTQ", async () => {
    const each = ofLayout("gptq", "g_idx");
    const [inputs] = each.decoded.shape;
    const [groups] = each.tensors.scales.shape;
    const data = new Uint8Array(Int32Array.from({ length: inputs }, () => groups + 3).buffer);
    const index = { dtype: "I32", shape: [inputs], data };
    await refusesPart(each, "g_idx", index, `groups below ${groups}`, groups + 3);
    await refusesPart(each, "g_idx", zeros("I32", [3], 12), `int32 [${inputs}]`, "int32 [3]");
  });

  it("among floats with scales", async () => {
    const each = cases.find(({ tensors }) => tensors.weight_global_scale !== undefined);
    const two = zeros("F32", [2], 8);
    await refusesPart(each, "weight_global_scale", two, "one float32", "float32 [2]");
  });

  it("in a file of save", async () => {
    const q = quantize({ data: new Float32Array(8).fill(1), shape: [4, 2] }, { axis: 0 });
    const saved = new Uint8Array(await new Response(save({ w: q })).arrayBuffer());
    const shape = '"w_scale":{"dtype":"F32","shape":';
    const text = String.fromCharCode(...saved).replace(`${shape}[4,1]`, `${shape}[1,4]`);
    const file = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const model = await openModel(file);
    await rejects(
      model.read("w"),
      RangeError,
      "ZP_INVALID_FILE",
      /expected "w_scale" of shape \[4, 1\] .*found \[1, 4\]/,
    );
  });

  it("in an ONNX model", async () => {
    const graph = {
      nodes: [
        {
          ...{ opType: "DequantizeLinear", inputs: ["w", "s"], outputs: ["y"] },
          attributes: { axis: { int: 0 } },
        },
      ],
      initializers: [
        constant("w", [4, 2], new Int8Array(8)),
        constant("s", [3], new Float32Array(3)),
      ],
      outputs: [{ name: "y", shape: [4, 2] }],
    };
    const file = await onnxModel(graph);
    const model = await openModel(file);
    await rejects(
      model.read("w"),
      RangeError,
      "ZP_INVALID_FILE",
      /^Model\.read: at byte [1-9]\d*: expected "s" to be 4 scales, found 3$/,
    );
  });
});

/** The rows of a weight from its window, as many at a time as it allows at least. */
async function windowsOf(model, name) {
  const { window, shape } = weightsOf(model).get(name);
  const load = async (part, begin, end) => (await model.readBytes(part)).subarray(begin, end);
  const values = new Float32Array(shape.reduce((product, length) => product * length, 1));
  for (let at = 0; at < values.length; at += window.unit) {
    await window.read(load, at, values.subarray(at, at + window.unit));
  }
  return values;
}

describe("weights of float8 and float4 with scales", () => {
  const { cases } = readVectors("formats/float-layouts");
  for (const each of cases) {
    const { name, tensors, config, decoded } = each;
    it(`are read bit for bit, whole and by rows: ${name}`, async () => {
      const model = await openCase(each, { quantization_config: config });
      assert.deepEqual([...model.tensors.keys()], ["model.m.weight"]);
      const { shape, isQuantized, dtype } = model.tensors.get("model.m.weight");
      assert.deepEqual([[...shape], isQuantized], [decoded.shape, true]);
      assert.equal(
        dtype,
        DTYPES[(tensors.weight ?? tensors.weight_packed).dtype].replace("uint8", "float4_e2m1fn"),
      );
      const expected = await floatsOf(decoded);
      sameValues((await model.read("model.m.weight")).data, expected, name);
      sameValues(await windowsOf(model, "model.m.weight"), expected, name);
    });
  }

  it("of float codes are no quantized tensors of this library, and of int8 blocks are", async () => {
    for (const each of cases) {
      const model = await openCase(each, { quantization_config: each.config });
      const reading = model.readQuantized("model.m.weight");
      if (each.name.startsWith("I8")) {
        const expected = await floatsOf(each.decoded);
        sameValues(dequantize(await reading).data, expected, each.name);
      } else
        await rejects(
          reading,
          RangeError,
          "ZP_INVALID_MODEL",
          /has codes of float[48].*read reads/,
        );
    }
  });

  it("whose scales fit no block are tensors as they are", async () => {
    const each = cases.find(({ name }) => name.includes("in 40 x 70"));
    const model = await openCase(each, { quantization_config: { quant_method: "fp8" } });
    assert.deepEqual([...model.tensors.keys()].sort(), [
      "model.m.weight",
      "model.m.weight_scale_inv",
    ]);
  });
});

describe("weights of MLX", () => {
  /** Twice the bytes of each tensor, as a stack of two. */
  const stacked = (tensors) =>
    Object.fromEntries(
      Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
        const bytes = fromBase64(data);
        const twice = Uint8Array.from(
          { length: 2 * bytes.length },
          (_, i) => bytes[i % bytes.length],
        );
        return [name, { dtype, shape: [2, ...shape], data: twice }];
      }),
    );

  for (const each of readVectors("formats/layouts").cases.filter(
    ({ layout }) => layout === "mlx",
  )) {
    it(`are read in stacks, as those of experts: ${each.name}`, async () => {
      const model = await openCase({ ...each, tensors: stacked(each.tensors) });
      const name = "model.m.weight";
      const { shape, isQuantized } = model.tensors.get(name);
      assert.deepEqual([[...shape], isQuantized], [[2, ...each.decoded.shape], true]);
      const once = await floatsOf(each.decoded);
      const expected = [...once, ...once];
      const { data } = await model.read(name);
      sameValues(
        data.map((value) => value + 0),
        expected,
        "read",
      );
      sameValues(
        (await windowsOf(model, name)).map((value) => value + 0),
        expected,
        "windows",
      );
      const q = await model.readQuantized(name);
      assert.deepEqual([q.shape, q.groupSize], [[2, ...each.decoded.shape], each.group_size]);
      close(dequantize(q).data, expected, 2 * ROUNDING[each.tensors.scales.dtype], "readQuantized");
    });
  }

  /** A weight of 8- and 4-bit floats as MLX names its tensors: the same bytes, in words. */
  const inWords = ({ weight, weight_packed: packed = weight, weight_scale: scale }) => ({
    weight: { dtype: "U32", shape: [packed.shape[0], packed.shape[1] / 4], data: packed.data },
    scales: { ...scale, dtype: "U8" },
  });

  for (const mode of ["mxfp4", "mxfp8"]) {
    it(`are read bit for bit in the mode ${mode}, in stacks as well`, async () => {
      const each = readVectors("formats/float-layouts").cases.find(({ name }) => name === mode);
      const once = await floatsOf(each.decoded);
      const config = { quantization: { group_size: 32, bits: 4, mode } };
      for (const [tensors, expected, shape] of [
        [inWords(each.tensors), once, each.decoded.shape],
        [stacked(inWords(each.tensors)), [...once, ...once], [2, ...each.decoded.shape]],
      ]) {
        const model = await openCase({ tensors }, config);
        assert.deepEqual([...model.tensors.keys()], ["model.m.weight"]);
        const { dtype, shape: own } = model.tensors.get("model.m.weight");
        assert.deepEqual([...own], shape);
        assert.equal(dtype, mode === "mxfp4" ? "float4_e2m1fn" : "float8_e4m3fn");
        sameValues((await model.read("model.m.weight")).data, expected, mode);
        sameValues(await windowsOf(model, "model.m.weight"), expected, mode);
      }
    });
  }

  it("are read in the mode nvfp4: groups of 16 with scales of float8", async () => {
    const codes = Uint8Array.from({ length: 16 }, (_, i) => (i % 8) * 0x22 + 0x10);
    const tensors = {
      weight: { dtype: "U32", shape: [1, 4], data: codes },
      // 1 and -2.5 as e4m3.
      scales: { dtype: "U8", shape: [1, 2], data: Uint8Array.of(0x38, 0xc2) },
    };
    const model = await openCase({ tensors }, { quantization: { bits: 4, mode: "nvfp4" } });
    const e2m1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6];
    const values = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((i) => [e2m1[2 * i], e2m1[2 * i + 1]]);
    const { data } = await model.read("model.m.weight");
    sameValues(data, [...values, ...values.map((value) => -2.5 * value)], "nvfp4");
  });

  it("whose words and scales fit no mode stay separate tensors", async () => {
    const tensors = {
      weight: { dtype: "U32", shape: [1, 4], data: new Uint8Array(16) },
      scales: { dtype: "U8", shape: [1, 3], data: new Uint8Array(3) },
    };
    const model = await openCase({ tensors }, { quantization: { bits: 4, mode: "mxfp4" } });
    assert.deepEqual([...model.tensors.keys()].sort(), ["model.m.scales", "model.m.weight"]);
  });
});

describe("float8 weights by any name, stacked as experts or not", () => {
  const each = readVectors("formats/float-layouts").cases.find(({ name }) =>
    name.endsWith("blocks of 8 x 16 in 32 x 64"),
  );
  const codes = each.tensors.weight;
  /** Scales of their own for each index. */
  const scalesOf = (shape) => {
    const size = shape.reduce((product, length) => product * length, 1);
    const values = Float32Array.from({ length: size }, (_, i) => 0.5 + i / 7);
    return { dtype: "F32", shape, data: new Uint8Array(values.buffer) };
  };
  /** The scale of a value, by its place in the stack [2, 16, 64] and in the matrix [32, 64]. */
  const forms = {
    "one for all": [[2, 16, 64], [1], () => 0],
    "one an expert": [[2, 16, 64], [2, 1, 1], (e) => e],
    "one a row of an expert": [[2, 16, 64], [2, 16, 1], (e, row) => 16 * e + row],
    "one a column of an expert": [[2, 16, 64], [2, 1, 64], (e, _row, column) => 64 * e + column],
    "one a column of an expert, as in Llama 4's down_proj": [
      [2, 16, 64],
      [2, 64, 1],
      (e, _row, column) => 64 * e + column,
    ],
    "blocks of 16 x 32": [[2, 16, 64], [2, 1, 2], (e, _row, column) => 2 * e + (column >> 5)],
    "blocks of 8 x 16": [
      [2, 16, 64],
      [2, 2, 4],
      (e, row, column) => 8 * e + 4 * (row >> 3) + (column >> 4),
    ],
    "one a row of a matrix": [[32, 64], [32, 1], (e, row) => 16 * e + row],
  };
  const names = {
    "experts.gate_up_proj": "experts.gate_up_proj_scale_inv",
    gate_up_proj: "gate_up_proj_scale",
    "experts.weight": "experts.weight_scale_inv",
  };
  for (const [form, [shape, scaleShape, scaleAt]] of Object.entries(forms)) {
    it(`are read with their scales, whole and by rows: ${form}`, async () => {
      const plain = await floatsOf(codes);
      for (const [name, scaleName] of Object.entries(names)) {
        const scale = scalesOf(scaleShape);
        const file = await fileOf({ [name]: { ...codes, shape }, [scaleName]: scale });
        const [, rows, columns] = /^blocks of (\d+) x (\d+)$/.exec(form) ?? [];
        const config = {
          quantization_config: {
            quant_method: "fp8",
            ...(rows && { weight_block_size: [Number(rows), Number(columns)] }),
          },
        };
        const model = await openModel(file, {
          externalData: () => new TextEncoder().encode(JSON.stringify(config)),
        });
        assert.deepEqual([...model.tensors.keys()], [name]);
        const { isQuantized, dtype } = model.tensors.get(name);
        assert.deepEqual([isQuantized, dtype], [true, "float8_e4m3fn"]);
        const scales = new Float32Array(scale.data.buffer);
        const expected = plain.map((code, i) => {
          const [row, column] = [Math.floor(i / 64), i % 64];
          return code * scales[scaleAt(row >> 4, row & 15, column)];
        });
        const read = await model.read(name);
        assert.deepEqual([...read.shape], shape);
        sameValues(read.data, expected, name);
        sameValues(await windowsOf(model, name), expected, name);
      }
    });
  }

  it("keep their scales in a file of quantizeModel, beside weights that it quantizes", async () => {
    const other = scalesOf([32, 64]);
    const tensors = {
      "experts.down_proj": { ...codes, shape: [2, 16, 64] },
      "experts.down_proj_scale": scalesOf([2, 1, 1]),
      "lm_head.weight": other,
    };
    const model = await openModel(await fileOf(tensors));
    const result = await quantizeModel(model, "int8-channel");
    assert.deepEqual((await verifyOutput(model, result)).problems, []);
    const again = await openModel(await collect(result.files[0].stream()));
    assert.deepEqual([...again.tensors.keys()].sort(), ["experts.down_proj", "lm_head.weight"]);
    const { data } = await model.read("experts.down_proj");
    sameValues((await again.read("experts.down_proj")).data, data, "down_proj");
  });

  it("are tensors as they are, beside scales that do not fit", async () => {
    const tensors = {
      experts: { ...codes, shape: [2, 16, 64] },
      experts_scale: scalesOf([2, 3, 5]),
    };
    const model = await openModel(await fileOf(tensors));
    assert.deepEqual([...model.tensors.keys()].sort(), ["experts", "experts_scale"]);
  });
});

describe("MXFP4 experts of gpt-oss, in blocks with scales", () => {
  it("are read whole and by rows", async () => {
    const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6];
    // Two experts of 3 rows of 2 blocks.
    const bytes = Uint8Array.from({ length: 2 * 3 * 2 * 16 }, (_, i) => (i * 37) % 256);
    const exponents = Uint8Array.from({ length: 12 }, (_, i) => 121 + i);
    const file = await fileOf({
      "experts.down_proj_blocks": { dtype: "U8", shape: [2, 3, 2, 16], data: bytes },
      "experts.down_proj_scales": { dtype: "U8", shape: [2, 3, 2], data: exponents },
      "experts.down_proj_bias": { dtype: "F32", shape: [2, 3], data: new Uint8Array(24) },
    });
    const model = await openModel(file);
    const name = "experts.down_proj";
    assert.deepEqual([...model.tensors.keys()].sort(), [name, `${name}_bias`]);
    const { shape, dtype, isQuantized } = model.tensors.get(name);
    assert.deepEqual([[...shape], dtype, isQuantized], [[2, 3, 64], "float4_e2m1fn", true]);
    const expected = Float32Array.from({ length: 384 }, (_, i) => {
      const code = (bytes[i >> 1] >> (4 * (i & 1))) & 15;
      return E2M1[code] * 2 ** (exponents[i >> 5] - 127);
    });
    sameValues((await model.read(name)).data, expected, name);
    sameValues(await windowsOf(model, name), expected, name);
  });
});

describe("quantized weights of ONNX models", () => {
  const vectors = vectorsOf("onnx");
  for (const { file, weight_dequantized: expected } of vectors.cases) {
    if (expected === undefined || file === "dq-gather.onnx") continue;
    const values = withoutNegativeZeros(new Float32Array(fromBase64(expected.b64).buffer));

    /** The file's model and its only weight. */
    async function openFile() {
      const model = await openModel(vectors.bytes(file));
      const weights = [...model.tensors.values()].filter(
        ({ isQuantized, shape }) => isQuantized && shape.length > 1,
      );
      assert.equal(weights.length, 1);
      return { model, weight: weights[0] };
    }

    it(`have the values of the reference: ${file}`, async () => {
      const { model, weight } = await openFile();
      assert.deepEqual([...weight.shape], expected.shape);
      const got = await model.read(weight.name);
      assert.deepEqual([...got.shape], expected.shape);
      sameValues(withoutNegativeZeros(got.data), values, file);
    });

    it(`are written with these values in other formats: ${file}`, async () => {
      const { model, weight } = await openFile();
      for (const format of ["npz", "safetensors"]) {
        const { files } = await quantizeModel(model, "keep", { format });
        const written = await openModel(await collect(files[0].stream()));
        const { data } = await written.read(weight.name);
        sameValues(withoutNegativeZeros(data), values, `${file}: ${format}`);
      }
    });

    it(`are quantized tensors with these values: ${file}`, async () => {
      const { model, weight } = await openFile();
      const q = await model.readQuantized(weight.name);
      const isSame = String(q.shape) === String(weight.shape);
      const own = dequantize(q).data;
      const turned = isSame ? own : transposed(own, q.shape);
      // Zero points of floats become offsets, -zero point * scale, which are rounded.
      assert.equal(q.offset !== undefined, /float-zp/.test(file));
      if (q.offset !== undefined) close(turned, values, ROUNDING.F32, file);
      else sameValues(withoutNegativeZeros(turned), values, file);
    });
  }
});

describe("block types of GGUF", () => {
  it("are read as the reference reads them", async () => {
    const vectors = vectorsOf("gguf");
    const { tensors } = vectors.cases.find(({ file }) => file === "types.gguf");
    const model = await openModel(vectors.bytes("types.gguf"));
    let read = 0;
    for (const { name, f32 } of tensors) {
      if (f32 !== undefined) {
        const { data } = await model.read(name);
        sameValues(data, new Float32Array(fromBase64(f32).buffer), name);
        read++;
      }
    }
    assert.ok(read > 20, `${read} tensors`);
  });
});

describe("a large weight that is stored as [in, out]", () => {
  const [inputs, outputs, groups] = [4096, 160, 32];

  /** Random parts of a layout, as `unpackWeight` takes them. */
  function partsOf(layout, bits) {
    const random = new Random(bits);
    const bytes = (length) => Uint8Array.from({ length }, () => random.integer(0, 255));
    const height = layout === "awq" ? inputs : (inputs * bits) / 32;
    const width = layout === "awq" ? outputs / 8 : outputs;
    const zeros = (outputs * bits) / 32;
    const scale = Float32Array.from(random.normal(groups * outputs, 0.05));
    const parts = {
      packed: ["qweight", "int32", [height, width], bytes(4 * height * width)],
      zeroPoint: ["qzeros", "int32", [groups, zeros], bytes(4 * groups * zeros)],
      scale: ["scales", "float32", [groups, outputs], new Uint8Array(scale.buffer)],
    };
    if (layout === "gptq") {
      const index = Int32Array.from({ length: inputs }, () => random.integer(0, groups - 1));
      parts.groupIndex = ["g_idx", "int32", [inputs], new Uint8Array(index.buffer)];
    }
    return Object.fromEntries(
      Object.entries(parts).map(([role, [name, dtype, shape, own]]) => [
        role,
        { name: `m.${name}`, dtype, shape, bytes: own, offset: 0 },
      ]),
    );
  }

  const open = async (layout, bits, options) => {
    const parts = partsOf(layout, bits);
    const file = await collect(
      writeSafetensors(
        layoutSafetensors(
          Object.values(parts).map(({ bytes, ...part }) => ({ ...part, bytes: () => [bytes] })),
        ),
      ),
    );
    const config = {
      quantization_config: { quant_method: layout, bits, group_size: inputs / groups },
    };
    const text = new TextEncoder().encode(JSON.stringify(config));
    const externalData = (path) => (path === "config.json" ? text : undefined);
    return { parts, model: await openModel(file, { externalData, ...options }) };
  };

  for (const [layout, bits] of [
    ["gptq", 2],
    ["gptq", 3],
    ["gptq", 4],
    ["gptq", 8],
    ["awq", 4],
  ]) {
    it(`is unpacked in parts, with the values of the whole: ${layout} of ${bits} bits`, async () => {
      const { parts, model } = await open(layout, bits);
      const whole = dequantizeValues(unpackWeight(layout, parts));
      let turns = 0;
      const count = () => {
        turns++;
        immediate = setImmediate(count);
      };
      let immediate = setImmediate(count);
      const { data, shape } = await model.read("m.weight");
      clearImmediate(immediate);
      assert.deepEqual(shape, [outputs, inputs]);
      const place = (i) => (i % inputs) * outputs + Math.floor(i / inputs);
      assert.equal(
        data.findIndex((value, i) => !Object.is(value, whole[place(i)])),
        -1,
      );
      // 2 ** 18 values have 64 outputs.
      assert.ok(turns >= outputs / 64, `${turns} turns`);
      await model.close();
    });
  }

  it("is read no further once its reader says so", async () => {
    const { parts, model } = await open("gptq", 4);
    let calls = 0;
    const check = () => {
      if (++calls === 2) throw new Error("closed");
    };
    const read = weightsOf(model)
      .get("m.weight")
      .read(() => parts, check);
    await assert.rejects(read, /closed/);
    assert.equal(calls, 2);
    await model.close();
  });
});
