// Handles of a connection have what their types name, and are told apart from other objects.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import * as models from "zeropoint/models";
import { connect } from "zeropoint/worker";
import { refuses, rejects, sameDeep, sameTensor } from "../support/asserts.mjs";
import { declaredOf } from "../support/declared.mjs";
import { zeropoint } from "../support/exports.mjs";

await zeropoint.init();
const zp = await connect({ worker: false, entries: ["torch"] });
after(() => zp.dispose());

const x = zeropoint.tensor([1, 2, 3, 4], [2, 2]);
const q = zeropoint.quantize(x, { axis: 0, dtype: "int4" });
const model = new zeropoint.Sequential({ a: new zeropoint.Linear(q), b: new zeropoint.ReLU() });
const floats = new zeropoint.Sequential({ a: new zeropoint.Linear(x), b: new zeropoint.ReLU() });
const prepared = zeropoint.prepare(floats, zeropoint.predefinedQConfigs.default_qconfig);
prepared.forward(x);
const there = await zp.prepare(floats, zeropoint.predefinedQConfigs.default_qconfig);
await there.forward(x);

/** An object and its handle, for each class and each form of it. */
const PAIRS = {
  QuantizedLinear: [new zeropoint.QuantizedLinear(q), await zp.quantizedLinear(q)],
  "QuantizedLinear, dynamic": [
    new zeropoint.QuantizedLinear(x, { activations: "dynamic" }),
    await zp.quantizedLinear(x, { activations: "dynamic" }),
  ],
  Linear: [new zeropoint.Linear(x), await zp.linearLayer(x)],
  "Linear, quantized": [new zeropoint.Linear(q), await zp.linearLayer(q)],
  Embedding: [new zeropoint.Embedding(x), await zp.embedding(x)],
  "Embedding, quantized": [new zeropoint.Embedding(q), await zp.embedding(q)],
  LayerNorm: [new zeropoint.LayerNorm(2), await zp.layerNorm(2)],
  ReLU: [new zeropoint.ReLU(), await zp.reLU()],
  Softmax: [new zeropoint.Softmax({ axis: 0 }), await zp.softmax({ axis: 0 })],
  Sequential: [model, await zp.sequential({ a: model.layers[0].layer, b: new zeropoint.ReLU() })],
  PreparedModel: [prepared, there],
  QuantizedModel: [zeropoint.convert(prepared), await zp.convert(there)],
};
for (const [name, type] of Object.entries(zeropoint)) {
  if (!/Observer$/.test(name) || name === "FixedQParamsObserver") continue;
  PAIRS[name] = [new type(), await zp[name[0].toLowerCase() + name.slice(1)]()];
}

/** Whether a field holds objects of the library, for which a connection has handles. */
const holdsObjects = (value) => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return "forward" in value || "observe" in value || Object.values(value).some(holdsObjects);
};

describe("The handle of a", () => {
  for (const [what, [object, handle]] of Object.entries(PAIRS)) {
    it(`${what} has all fields and methods of its type`, async () => {
      const [name] = what.split(",");
      for (const method of declaredOf(name, "methods")) {
        assert.equal(typeof handle[method], "function", method);
      }
      for (const field of declaredOf(name, "fields")) {
        assert.ok(handle[field] instanceof Promise, `${field} is ${typeof handle[field]}`);
        const value = await handle[field];
        if (!holdsObjects(object[field])) sameDeep(value, object[field], field);
      }
      // Protected methods take what their classes have checked.
      for (const method of ["update", "chooseFor", "saveState", "restoreState", "extraText"]) {
        assert.equal(handle[method], undefined, method);
      }
    });
  }
});

describe("A handle", () => {
  it("computes as the layer that was sent: a quantized weight and the precision of sums stay", async () => {
    const layer = new zeropoint.Linear(q, { accumulate: "float32", bias: Float32Array.of(1, 2) });
    const [{ layer: sent }] = await (await zp.sequential({ a: layer })).layers;
    assert.equal(await sent.accumulate, "float32");
    assert.equal(await sent.sizeInBytes, layer.sizeInBytes);
    sameTensor(await sent.forward(x), layer.forward(x));
    const table = new zeropoint.Embedding(zeropoint.quantizePerTensor(x, 0.1, 3, "quint8"));
    const [{ layer: own }] = await (await zp.sequential({ a: table })).layers;
    sameDeep(await own.quantizedWeight, table.quantizedWeight);
  });

  it("refuses an output whose shape is no list as the layer does", async () => {
    const [layer, handle] = PAIRS.QuantizedLinear;
    for (const shape of [{ length: 2, 0: 2, 1: 2 }, "22", 4]) {
      const out = { data: new Float32Array(4), shape };
      refuses(() => layer.forward(x, out), TypeError, "ZP_INVALID_SHAPE", /out.shape/);
      await rejects(handle.forward(x, out), TypeError, "ZP_INVALID_SHAPE", /out.shape/);
    }
  });

  it("of a layer in a model has its fields, too", async () => {
    const [, handle] = PAIRS.Sequential;
    const [{ layer }] = await handle.layers;
    sameTensor(await layer.weight, model.layers[0].layer.weight);
    sameDeep(await layer.quantizedWeight, model.layers[0].layer.quantizedWeight);
  });

  it("is named in the errors of functions that do not take it, without an error of its own", async () => {
    const other = await connect({ worker: false, entries: ["torch"] });
    const handle = await other.histogramObserver();
    other.dispose();
    const problems = [];
    const listener = (error) => problems.push(error);
    process.on("unhandledRejection", listener);
    const got = /got a handle of HistogramObserver, which functions of its connection take$/;
    refuses(() => zeropoint.quantize(handle), TypeError, "ZP_INVALID_TENSOR", got);
    refuses(() => models.save(handle), TypeError, "ZP_INVALID_MODEL", got);
    refuses(
      () => models.save({ a: [handle] }),
      TypeError,
      "ZP_INVALID_MODEL",
      /"a\.0" .* a handle/,
    );
    assert.ok(handle.minVal instanceof Promise);
    await rejects(handle.minVal, TypeError, "ZP_DISPOSED", /this instance was disposed/);
    await new Promise((resolve) => setTimeout(resolve));
    process.off("unhandledRejection", listener);
    assert.deepEqual(problems, []);
  });
});
