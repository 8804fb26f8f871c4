import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decodeValues,
  dequantizeValues,
  findQuantizedWeights,
  readQuantizationConfig,
  roundTo,
  unpackWeight,
} from "../../internal/formats.mjs";
import { fromBase64, sameValues } from "../support/files/formats.mjs";
import { readVectors } from "../support/vectors.mjs";

const { cases } = readVectors("formats/layouts");
const DTYPES = {
  F32: "float32",
  F16: "float16",
  BF16: "bfloat16",
  I8: "int8",
  I32: "int32",
  U32: "uint32",
  I64: "int64",
  U8: "uint8",
};

const partOf = ({ dtype, shape, data }) => ({
  dtype: DTYPES[dtype],
  shape,
  bytes: fromBase64(data),
});

const valuesOf = (tensor) => {
  const { dtype, shape, bytes } = partOf(tensor);
  return decodeValues(
    dtype,
    bytes,
    new Float32Array(shape.reduce((size, length) => size * length, 1)),
  );
};

/** The configuration that a checkpoint with one case has. */
function configOf({ layout, bits, group_size: groupSize, checkpoint_format: format, weights }) {
  if (layout.startsWith("compressed")) {
    return readQuantizationConfig({
      quantization_config: {
        quant_method: "compressed-tensors",
        version: layout.endsWith("old-packing") ? "0.12.2" : "0.18.0",
        config_groups: { a: { weights } },
      },
    });
  }
  const method = { gptq: "gptq", awq: "awq" }[layout];
  const given = {
    bits,
    group_size: groupSize,
    ...(method && { quant_method: method }),
    ...(format && { checkpoint_format: format }),
  };
  return readQuantizationConfig({ [method ? "quantization_config" : "quantization"]: given });
}

/** A case as a checkpoint of one module. */
function open(each) {
  const tensors = new Map(
    Object.entries(each.tensors).map(([name, tensor]) => [`model.m.${name}`, partOf(tensor)]),
  );
  const config = configOf(each);
  const found = findQuantizedWeights(tensors, config);
  assert.equal(found.length, 1, each.name);
  const parts = Object.fromEntries(
    Object.entries(found[0].parts).map(([role, name]) => [role, tensors.get(name)]),
  );
  return { ...found[0], config, parts: parts };
}

describe("quantized weights of checkpoints", () => {
  for (const each of cases) {
    it(`are found and read bit for bit: ${each.layout} ${each.name}`, () => {
      const { layout, module, parts, config } = open(each);
      assert.equal(module, "model.m");
      const expected =
        { "compressed-tensors-old-packing": "compressed-tensors" }[each.layout] ?? each.layout;
      assert.ok(
        layout === expected || (layout === "int8" && each.format !== "pack-quantized"),
        layout,
      );
      const unpacked = unpackWeight(layout, parts, config, module);
      assert.deepEqual([...unpacked.shape], each.decoded.shape);
      // The reference of MLX adds 0, so it has no -0.
      const values = dequantizeValues(unpacked).map((value) =>
        layout === "mlx" ? value + 0 : value,
      );
      sameValues(values, valuesOf(each.decoded), each.name);
      if (each.codes) assert.deepEqual([...unpacked.codes], [...fromBase64(each.codes.data)]);
    });
  }

  it("take bits and group size from the module's own entry in MLX's configuration", () => {
    const config = readQuantizationConfig({
      quantization: {
        bits: 4,
        group_size: 64,
        mode: "affine",
        "model.m": { bits: 8, group_size: 32 },
        "model.n": false,
      },
    });
    const part = (dtype, shape, size) => ({ dtype, shape, bytes: new Uint8Array(size) });
    const parts = {
      packed: part("uint32", [1, 8], 32),
      scale: part("float32", [1, 1], 4),
      offset: part("float32", [1, 1], 4),
    };
    assert.deepEqual([...unpackWeight("mlx", parts, config, "model.m").shape], [1, 32]);
    assert.deepEqual([...unpackWeight("mlx", parts, config, "model.x").shape], [1, 64]);
  });

  it("are refused where parts do not fit each other", () => {
    for (const each of cases.filter((_, i) => i % 5 === 0)) {
      const { layout, parts, config } = open(each);
      for (const role of Object.keys(parts)) {
        const { dtype, shape, bytes } = parts[role];
        const cut = { ...parts, [role]: { dtype, shape, bytes: bytes.subarray(1) } };
        assert.throws(() => unpackWeight(layout, cut, config), { code: "ZP_INVALID_FILE" }, role);
        if (role === "shape" || shape.length !== 2 || layout === "int8") continue;
        const more = {
          dtype,
          shape: [shape[0] + 7, shape[1]],
          bytes: new Uint8Array((bytes.length / shape[0]) * (shape[0] + 7)),
        };
        assert.throws(
          () => unpackWeight(layout, { ...parts, [role]: more }, config),
          { code: "ZP_INVALID_FILE" },
          `${each.name} ${role}`,
        );
      }
    }
  });

  it("of layouts that are known but not read are refused by name", () => {
    const refused = [
      { quant_method: "awq", bits: 4, version: "gemv" },
      { quant_method: "gptq", bits: 4, checkpoint_format: "gptq_p" },
      { quant_method: "gptq", bits: 4, checkpoint_format: "marlin" },
      { quant_method: "gptq", bits: 5 },
    ];
    for (const quantization_config of refused) {
      assert.throws(() => readQuantizationConfig({ quantization_config }), {
        name: "RangeError",
        code: "ZP_UNSUPPORTED_FILE",
      });
    }
    assert.equal(readQuantizationConfig({}), undefined);
    assert.equal(readQuantizationConfig(null), undefined);
  });
});

describe("roundTo", () => {
  it("rounds to the nearest half float, ties to even, subnormal ones too", () => {
    const cases = [
      [1 + 2 ** -11, 1],
      [1 + 3 * 2 ** -11, 1 + 2 ** -9],
      [65519, 65504],
      [65520, Infinity],
      [-65520, -Infinity],
    ];
    cases.push([2 ** -25, 0], [3 * 2 ** -25, 2 ** -23], [-(2 ** -25), -0], [2 ** -24, 2 ** -24]);
    for (const [value, expected] of cases)
      assert.ok(Object.is(roundTo("float16", value), expected), `${value}`);
    assert.equal(roundTo("bfloat16", 1 + 2 ** -8), 1);
    assert.equal(roundTo("bfloat16", 1 + 3 * 2 ** -8), 1 + 2 ** -6);
  });
});
