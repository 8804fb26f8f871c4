// Weights of GGUF beside a scale of their own, as llama.cpp multiplies with it.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { dequantizeBlocks, init, quantizeBlocks } from "zeropoint";
import { analyze, compare, openModel, quantizeModel } from "zeropoint/models";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../../internal/formats.mjs";
import { rejects } from "../../support/asserts.mjs";
import { collect } from "../../support/files/formats.mjs";

before(() => init());

const [ROWS, COLUMNS] = [6, 256];
const values = (count) => Float32Array.from({ length: count }, (_, i) => Math.sin(i));
const bytesOf = ({ buffer, byteOffset, byteLength }) =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A GGUF file. @param tensors  [dtype, shape, bytes] by name */
async function fileOf(tensors) {
  const writable = Object.entries(tensors).map(([name, [dtype, shape, data]]) => {
    return { name, dtype, shape, bytes: () => [data] };
  });
  const keys = [["general.architecture", ggufEntry("string", "llama")]];
  return await collect(writeGGUF(layoutGGUF(writable, keys)));
}

const blocks = (type, shape) => {
  const data = quantizeBlocks(values(shape.reduce((a, b) => a * b)), type);
  return [type, shape, data];
};
const scale = (...scales) => ["float32", [scales.length], bytesOf(Float32Array.from(scales))];
const module = "blk.0.ffn_up";
const weight = `${module}.weight`;

describe("a weight of GGUF with a scale of its own", () => {
  for (const [title, type, shape, own, name] of [
    ["one", "nvfp4", [ROWS, COLUMNS], [0.003], `${module}.scale`],
    ["one by another name", "nvfp4", [ROWS, COLUMNS], [0.003], `${weight}.scale`],
    ["one for each row", "tq2_0", [ROWS, COLUMNS], [1, 2, 3, 4, 5, 6.5], `${module}.scale`],
    ["one for each expert", "q8_0", [3, ROWS, COLUMNS], [0.5, 2, -4], `${module}.scale`],
  ]) {
    it(`is multiplied by it: ${title}, ${type}`, async () => {
      const tensors = { [weight]: blocks(type, shape), [name]: scale(...own) };
      const file = await fileOf(tensors);
      const model = await openModel(file);
      const plain = dequantizeBlocks(tensors[weight][2], type, shape).data;
      const each = plain.length / own.length;
      const expected = plain.map((value, i) => value * Math.fround(own[Math.floor(i / each)]));
      assert.deepEqual((await model.read(weight)).data, expected);
      const [row] = [...model.tensors.values()];
      assert.deepEqual(
        [row.name, row.dtype, row.layout, row.isQuantized],
        [weight, type, "scaled", true],
      );
      await rejects(model.readQuantized(weight), RangeError, "ZP_INVALID_MODEL", /is multiplied/);
      assert.deepEqual(await model.readBytes(weight), tensors[weight][2]);
      assert.deepEqual((await model.read(name)).data, Float32Array.from(own));
      // In windows, into another format.
      const { files } = await quantizeModel(model, "keep", { format: "npz" });
      const arrays = await openModel(await collect(files[0].stream()));
      assert.deepEqual((await arrays.read(weight)).data, expected);
    });
  }

  it("stays as it is in GGUF, and keeps its scale where it is quantized again", async () => {
    const tensors = {
      [weight]: blocks("nvfp4", [ROWS, COLUMNS]),
      [`${module}.scale`]: scale(0.25),
      "blk.0.ffn_gate.weight": ["float32", [ROWS, COLUMNS], bytesOf(values(ROWS * COLUMNS))],
    };
    const file = await fileOf(tensors);
    const model = await openModel(file);
    const choose = ({ name }) => (name === weight ? "keep" : "q8_0");
    const kept = await quantizeModel(model, choose, { format: "gguf" });
    const own = await openModel(await collect(kept.files[0].stream()));
    assert.deepEqual(await own.readBytes(weight), tensors[weight][2]);
    for await (const { name, equal } of compare(model, own))
      assert.equal(equal, name !== "blk.0.ffn_gate.weight", name);
    const again = await quantizeModel(model, () => "q8_0", { format: "gguf", requantize: true });
    const small = await openModel(await collect(again.files[0].stream()));
    for await (const { name, sqnr } of compare(model, small)) assert.ok(sqnr > 30, name);
    const rows = [];
    for await (const { name, scheme } of analyze(model, { schemes: ["q8_0"] }))
      if (scheme === "q8_0") rows.push(name);
    assert.deepEqual(rows, ["blk.0.ffn_gate.weight"]);
  });

  it("is refused by the scale's name where that fits no axis, or is of another dtype", async () => {
    for (const other of [
      scale(1, 2, 3),
      ["float16", [1], Uint8Array.of(0, 60)],
      ["int32", [1], new Uint8Array(4)],
    ]) {
      const tensors = { [weight]: blocks("nvfp4", [ROWS, COLUMNS]), [`${module}.scale`]: other };
      const model = await openModel(await fileOf(tensors));
      const expected = /"blk\.0\.ffn_up\.weight" of nvfp4 .*"blk\.0\.ffn_up\.scale"/;
      await rejects(model.read(weight), RangeError, "ZP_UNSUPPORTED_FILE", expected);
    }
  });

  it("is refused beside two scales", async () => {
    const names = [`${module}.scale`, `${weight}.scale`];
    const model = await openModel(
      await fileOf({
        [weight]: blocks("q8_0", [ROWS, COLUMNS]),
        [names[0]]: scale(2),
        [names[1]]: scale(2),
      }),
    );
    const expected = /by "blk\.0\.ffn_up\.scale", "blk\.0\.ffn_up\.weight\.scale"/;
    await rejects(model.read(weight), RangeError, "ZP_UNSUPPORTED_FILE", expected);
  });

  it("is none beside the scales of Gemma 4's router, and none of floats", async () => {
    const floats = (...shape) => ["float32", shape, bytesOf(values(shape.reduce((a, b) => a * b)))];
    const experts = blocks("q8_0", [4, ROWS, COLUMNS]);
    const tensors = {
      "blk.0.ffn_gate_inp.weight": floats(4, COLUMNS),
      "blk.0.ffn_gate_inp.scale": floats(COLUMNS),
      "blk.0.ffn_down_exps.weight": experts,
      "blk.0.ffn_down_exps.scale": scale(1, 2, 3, 4),
      "blk.0.ffn_up.weight": floats(ROWS, COLUMNS),
      "blk.0.ffn_up.scale": scale(3),
      "blk.1.ffn_gate_inp.weight": blocks("q8_0", [4, COLUMNS]),
      "blk.1.ffn_gate_inp.scale": floats(COLUMNS),
    };
    const model = await openModel(await fileOf(tensors));
    const expected = {
      "blk.0.ffn_gate_inp.weight": values(4 * COLUMNS),
      "blk.0.ffn_down_exps.weight": dequantizeBlocks(experts[2], "q8_0", experts[1]).data,
      "blk.0.ffn_up.weight": values(ROWS * COLUMNS),
      "blk.1.ffn_gate_inp.weight": dequantizeBlocks(
        tensors["blk.1.ffn_gate_inp.weight"][2],
        "q8_0",
        [4, COLUMNS],
      ).data,
    };
    for (const [name, plain] of Object.entries(expected)) {
      assert.deepEqual((await model.read(name)).data, plain, name);
      assert.equal(model.tensors.get(name).layout, undefined, name);
    }
  });

  it("is none beside the scale of an input, or of a module of one axis", async () => {
    const tensors = {
      [weight]: blocks("q8_0", [ROWS, COLUMNS]),
      [`${module}.input_scale`]: scale(5),
      "blk.0.norm.weight": ["float32", [4], bytesOf(values(4))],
      "blk.0.norm.scale": scale(7),
    };
    const model = await openModel(await fileOf(tensors));
    const plain = dequantizeBlocks(tensors[weight][2], "q8_0", [ROWS, COLUMNS]).data;
    assert.deepEqual((await model.read(weight)).data, plain);
    assert.deepEqual((await model.read("blk.0.norm.weight")).data, values(4));
  });
});
