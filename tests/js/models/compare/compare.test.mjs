import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, quantizationError, quantize, tensor } from "zeropoint";
import { compare, openModel, quantizeModel, save } from "zeropoint/models";
import { quantizePerChannel } from "zeropoint/torch";
import { floatsOf, readRuns, runsWithin, valueSourceOf } from "../../../internal/models.mjs";
import { rejects, sameDeep } from "../../support/asserts.mjs";
import {
  bfloat16Of,
  openOutput,
  safetensorsOf,
  someValues,
} from "../../support/files/checkpoints.mjs";

await init();

const all = async (rows) => {
  const list = [];
  for await (const row of rows) list.push(row);
  return list;
};
const byName = async (rows) => Object.fromEntries((await all(rows)).map((row) => [row.name, row]));

/** A model with more rows than are read at a time, in bfloat16, float32 and integers. */
async function someModel() {
  const values = someValues(700 * 512);
  return await openModel(
    await safetensorsOf({
      "a.weight": ["bfloat16", [700, 512], bfloat16Of(values)],
      "b.weight": ["float32", [96, 64], someValues(96 * 64, 7)],
      "norm.weight": ["float32", [64], someValues(64, 9)],
      ids: ["int64", [2], BigInt64Array.of(2n ** 60n, 5n)],
    }),
  );
}

describe("compare", () => {
  it("finds a model equal to itself, wide integers too", async () => {
    const model = await someModel();
    const rows = await all(compare(model, await someModel()));
    assert.equal(rows.length, model.tensors.size);
    for (const row of rows) {
      const { name, equal, max, mse, sqnr, reason } = row;
      assert.deepEqual([equal, max, mse, sqnr, reason], [true, 0, 0, Infinity, undefined], name);
    }
  });

  it("gives the errors of quantizationError for quantized tensors", async () => {
    const model = await someModel();
    const { files } = await quantizeModel(model, "int4-g32");
    const rows = await byName(compare(model, await openOutput(openModel, files)));
    for (const name of ["a.weight", "b.weight"]) {
      const x = await model.read(name);
      const small = await openOutput(openModel, files);
      const y = await small.read(name);
      assert.equal(rows[name].max, quantizationError(x, y, "max"), name);
      assert.equal(rows[name].sqnr.toFixed(9), quantizationError(x, y, "sqnr").toFixed(9), name);
      assert.equal(rows[name].cosine.toFixed(9), quantizationError(x, y, "cosine").toFixed(9));
      assert.equal(rows[name].mse.toPrecision(5), quantizationError(x, y, "mse").toPrecision(5));
    }
    assert.equal(rows["norm.weight"].equal, true);
    assert.deepEqual([rows["a.weight"].from, rows["a.weight"].to], ["bfloat16", "int4"]);
  });

  it("distinguishes wide integers that float32 does not", async () => {
    const one = await openModel(
      await safetensorsOf({ n: ["int64", [1], BigInt64Array.of(2n ** 60n)] }),
    );
    const two = await openModel(
      await safetensorsOf({ n: ["int64", [1], BigInt64Array.of(2n ** 60n + 1n)] }),
    );
    const [{ equal, max }] = await all(compare(one, two));
    assert.deepEqual([equal, max], [false, 0]);
  });

  it("has rows for tensors that are missing or of another shape", async () => {
    const a = await openModel(save({ x: tensor([1, 2]), y: tensor([1]), z: tensor([[1, 2]]) }));
    const b = await openModel(save({ y: tensor([1]), z: tensor([[1], [2]]), w: tensor([3]) }));
    const rows = await byName(compare(a, b));
    assert.equal(rows.x.reason, "missing in b");
    assert.equal(rows.w.reason, "missing in a");
    assert.equal(rows.z.reason, "shape [1, 2] in a, [2, 1] in b");
    assert.equal(rows.y.equal, true);
    assert.ok(Number.isNaN(rows.x.max) && !rows.x.equal);
  });

  it("finds tensors of b by another name", async () => {
    const a = await openModel(save({ x: tensor([1, 2]) }));
    const b = await openModel(save({ "model.x": tensor([1, 2.5]) }));
    const rows = await all(compare(a, b, { rename: (name) => `model.${name}` }));
    assert.deepEqual(
      rows.map(({ name, max }) => [name, max]),
      [["x", 0.5]],
    );
  });

  it("takes NaN as equal to NaN of the same bits, and other NaN as a difference", async () => {
    const a = await openModel(save({ x: tensor([NaN, 1, Infinity]) }));
    const b = await openModel(save({ x: tensor([NaN, 1, Infinity]) }));
    const c = await openModel(save({ x: tensor([1, NaN, Infinity]) }));
    const [same] = await all(compare(a, b));
    assert.deepEqual([same.equal, same.max], [true, 0]);
    const [other] = await all(compare(a, c));
    assert.deepEqual([other.equal, other.max], [false, Number.NaN]);
  });

  it("stops when its signal is aborted", async () => {
    const model = await someModel();
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error("enough"));
    const rows = compare(model, await someModel(), { signal: controller.signal, onProgress });
    await assert.rejects(all(rows), /enough/);
  });

  it("refuses anything but models", async () => {
    await rejects(() => all(compare({}, {})), TypeError, "ZP_INVALID_MODEL", /a must be a Model/);
  });
});

describe("The values of quantized tensors, read in windows", () => {
  const w = someValues(700 * 512);
  const x = { data: w, shape: [700, 512] };
  const saved = {
    "int8 per tensor": quantize(x),
    "int4 per channel": quantize(x, { dtype: "int4", axis: 0 }),
    "int2 per column": quantize(x, { dtype: "int2", axis: 1 }),
    "uint4 in groups": quantize(x, { dtype: "uint4", scheme: "affine", groupSize: 48 }),
    "int8 of 3 axes": quantize({ data: w, shape: [700, 32, 16] }, { axis: 0 }),
    qint8: quantizePerChannel(x, new Float32Array(700).fill(0.1), new Int32Array(700), 0, "qint8"),
  };
  for (const [name, q] of Object.entries(saved)) {
    it(`are those of the whole: ${name}`, async () => {
      const model = await openModel(save({ q }));
      await sameFromAnywhere(model, "q");
    });
  }

  for (const [scheme, target] of [
    ["int4-g128", "compressed-tensors"],
    ["int4-g128-affine", "compressed-tensors"],
    ["int8-channel-affine", "compressed-tensors"],
    ["int8-tensor", "compressed-tensors"],
    ["w8a8", "compressed-tensors"],
    ["int8-g64", "mlx"],
    ["int4-g32", "mlx"],
  ]) {
    it(`are those of the whole: ${scheme} for ${target}`, async () => {
      const { files } = await quantizeModel(await someModel(), scheme, { target });
      const model = await openOutput(openModel, files);
      await sameFromAnywhere(model, "a.weight");
    });
  }

  async function sameFromAnywhere(model, name) {
    const { data } = await model.read(name);
    const source = valueSourceOf("test", model, name);
    for (const first of [0, 1, 31, 70_001, data.length - 1]) {
      let at = first;
      for await (const { run, values } of readRuns(source, runsWithin(first, data.length))) {
        const { begin, end } = run;
        assert.equal(begin, at);
        sameDeep(floatsOf(values).slice(), data.slice(begin, end), `${name} from ${begin}`);
        at = end;
      }
      assert.equal(at, data.length);
    }
  }
});
