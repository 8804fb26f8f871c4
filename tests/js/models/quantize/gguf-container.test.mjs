// quantizeModel from other formats to GGUF: a container of weights.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { dequantizeBlocks, init, quantizeBlocks } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import {
  bytesSource,
  layoutSafetensors,
  readGGUF,
  writeSafetensors,
} from "../../../internal/formats.mjs";
import { collect } from "../../support/files/formats.mjs";

before(() => init());

/** A safetensors file. @param tensors  [name, shape, dtype, typed array] */
async function makeFile(tensors, metadata = {}) {
  const writable = tensors.map(([name, shape, dtype, values]) => {
    const bytes = () => [new Uint8Array(values.buffer)];
    return { name, shape, dtype, bytes };
  });
  return await collect(
    writeSafetensors(layoutSafetensors(writable, new Map(Object.entries(metadata)))),
  );
}

const w = Float32Array.from({ length: 4 * 256 }, (_, i) => Math.sin(i));

describe("quantizeModel from other formats to GGUF", () => {
  it("refuses weights that are quantized already, by name", async () => {
    const codes = new Int8Array(4 * 256).fill(1);
    const source = await makeFile([
      ["layer.weight", [4, 256], "int8", codes],
      ["layer.weight_scale", [4, 1], "float32", w.slice(0, 4)],
    ]);
    const model = await openModel(source);
    await assert.rejects(quantizeModel(model, "q8_0", { format: "gguf" }), {
      code: "ZP_UNSUPPORTED_DTYPE",
      message:
        'quantizeModel: tensor "layer.weight" is quantized already (int8), and only GGUF\'s own types are ' +
        'kept in GGUF; requantize: true quantizes its values again; format "npz" writes its values',
    });
  });

  /** A file of two tensors as a container of weights, its bytes and the report. */
  async function container() {
    const source = await makeFile(
      [
        ["layer.weight", [4, 256], "float32", w],
        ["layer.bias", [4], "float32", w.slice(0, 4)],
      ],
      { format: "pt" },
    );
    const model = await openModel(new File([source], "net.safetensors"));
    const { files, report } = await quantizeModel(model, "q4_k", { format: "gguf" });
    return { file: files[0], bytes: await collect(files[0].stream()), report };
  }

  it("names a container of weights by its source and scheme, and knows its size", async () => {
    const { file, bytes } = await container();
    assert.equal(file.name, "net-q4_k.gguf");
    assert.equal(bytes.length, file.size);
  });

  it("writes architecture, name and metadata into a container of weights", async () => {
    const { metadata } = await readGGUF(bytesSource((await container()).bytes));
    assert.deepEqual(
      Array.from(metadata, ([key, { value }]) => [key, value]),
      [
        ["general.architecture", "weights"],
        ["general.name", "net"],
        ["safetensors.format", "pt"],
        ["general.quantization_version", 2],
        ["general.file_type", 15],
      ],
    );
  });

  it("says of a container of weights that no engine runs it", async () => {
    const { report } = await container();
    assert.deepEqual(report.notes, [
      "A container of weights: no engine runs it as a language model.",
    ]);
  });

  it("writes blocks of weights, which can be read again, and biases as they are", async () => {
    const { bytes } = await container();
    const { tensors } = await readGGUF(bytesSource(bytes));
    const x = { data: w, shape: [4, 256] };
    assert.deepEqual(await collect(tensors.get("layer.weight").bytes()), quantizeBlocks(x, "q4_k"));
    assert.equal(tensors.get("layer.bias").dtype, "float32");
    const opened = await openModel(bytes);
    const { data } = dequantizeBlocks(await opened.readBytes("layer.weight"), "q4_k", [4, 256]);
    assert.ok(Math.abs(data[1] - w[1]) < 0.1);
  });

  it("keeps values of dtypes that GGUF does not have in wider ones", async () => {
    const tensors = [
      ["bool", [2], "bool", Uint8Array.of(1, 0)],
      ["uint8", [2], "uint8", Uint8Array.of(255, 7)],
      ["uint16", [2], "uint16", Uint16Array.of(65535, 7)],
      ["int64", [1], "int64", BigInt64Array.of(-5n)],
      ["float8", [2], "float8_e4m3fn", Uint8Array.of(0x38, 0xb8)],
    ];
    const model = await openModel(await makeFile(tensors));
    const { files, report } = await quantizeModel(model, "keep", { format: "gguf" });
    const written = await openModel(await collect(files[0].stream()));
    const read = {};
    for (const { name, dtype } of written.tensors.values()) {
      read[name] = [dtype, ...(await written.read(name)).data];
    }
    assert.deepEqual(read, {
      bool: ["int8", 1, 0],
      uint8: ["int16", 255, 7],
      uint16: ["int32", 65535, 7],
      int64: ["int64", -5],
      float8: ["float32", 1, -1],
    });
    const { reason } = report.rows.find(({ name }) => name === "uint8");
    assert.equal(reason, "GGUF has no uint8");
  });

  it("refuses dtypes, names and shapes that GGUF cannot hold", async () => {
    const refused = async (tensor, expected) => {
      const model = await openModel(await makeFile([tensor]));
      await assert.rejects(quantizeModel(model, "keep", { format: "gguf" }), expected);
    };
    await refused(["u", [1], "uint64", BigUint64Array.of(1n)], { code: "ZP_UNSUPPORTED_DTYPE" });
    await refused(["c", [1], "complex64", new Float32Array(2)], { code: "ZP_UNSUPPORTED_DTYPE" });
    const long = "n".repeat(64);
    const message = new RegExp(`^quantizeModel: tensor "${long}" must .* at most 63 bytes`);
    await refused([long, [1], "float32", new Float32Array(1)], { name: "RangeError", message });
    const axes = [1, 1, 2, 1, 2];
    await refused(["five", axes, "float32", new Float32Array(4)], { code: "ZP_INVALID_SHAPE" });
  });
});
