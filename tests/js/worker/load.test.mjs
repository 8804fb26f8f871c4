// load on a connection and on an instance: what save wrote runs there, with the same bits.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, init, QuantizedLinear, quantize } from "zeropoint";
import { load, save } from "zeropoint/models";
import { Linear, quantizeDynamic, ReLU, Sequential } from "zeropoint/torch";
import { connect } from "zeropoint/worker";
import { rejects, sameCodes, sameDeep, sameTensor } from "../support/asserts.mjs";
import { bytesOf } from "../support/files/saved.mjs";
import { floats } from "../support/models.mjs";

await init();

const weight = floats([3, 4]);
const x = floats([2, 4]);
const model = new Sequential({ fc: new Linear(weight), relu: new ReLU() });
const things = {
  model,
  dynamic: quantizeDynamic(model),
  layer: new QuantizedLinear(weight, { dtype: "int4", groupSize: 2 }),
  q: quantize(weight, { axis: 0 }),
  weight,
};

for (const [place, options] of [
  ["a worker", {}],
  ["this thread", { worker: false }],
]) {
  describe(`load of a connection to ${place}`, () => {
    it("gives handles of layers and models, and tensors as they are", async () => {
      const zp = await connect(options);
      try {
        const bytes = await bytesOf(things);
        for (const source of [bytes, new Blob([bytes]), save(things)]) {
          const loaded = await zp.load(source);
          for (const name of ["model", "dynamic", "layer"]) {
            sameTensor(await loaded[name].forward(x), things[name].forward(x), name);
          }
          sameTensor(loaded.weight, weight);
          sameDeep(loaded.q, things.q);
          assert.equal(await loaded.layer.outFeatures, 3);
          loaded.model.dispose();
          await rejects(loaded.model.forward(x), TypeError, "ZP_DISPOSED", /disposed/);
        }
        assert.equal(bytes.byteLength > 0, true);
        const handle = await zp.load(await bytesOf(model));
        sameTensor(await handle.forward(x), model.forward(x));
      } finally {
        zp.dispose();
      }
    });

    it("saves handles, and things with handles in them", async () => {
      const zp = await connect({ ...options, entries: ["torch"] });
      try {
        const layer = await zp.quantizedLinear(weight, { dtype: "int4", groupSize: 2 });
        const handle = await zp.sequential({ fc: new Linear(weight), relu: new ReLU() });
        const dynamic = await zp.quantizeDynamic(handle);
        sameCodes(
          new Uint8Array(await new Response(await zp.save(handle)).arrayBuffer()),
          await bytesOf(model),
        );
        // Names of call options among them.
        const given = { signal: handle, transfer: [layer, dynamic], weight };
        const restored = await load(await zp.save(given));
        sameTensor(restored.signal.forward(x), model.forward(x));
        sameTensor(restored.transfer[0].forward(x), things.layer.forward(x));
        sameTensor(restored.transfer[1].forward(x), things.dynamic.forward(x));
        sameTensor(restored.weight, weight);
        sameTensor(await (await zp.load(await zp.save(layer))).forward(x), things.layer.forward(x));
        await rejects(zp.save(3), TypeError, "ZP_INVALID_MODEL", /^save: /);
        const signal = AbortSignal.abort("enough");
        assert.equal(await zp.save(layer, { signal }).catch((error) => error), "enough");
      } finally {
        zp.dispose();
      }
    });

    it("refuses what load refuses, functions, and stops when it is aborted", async () => {
      const zp = await connect(options);
      try {
        const bad = new Uint8Array(10);
        await rejects(zp.load(bad), RangeError, "ZP_INVALID_FILE", /^load: at byte 0/);
        await rejects(zp.load(3), TypeError, "ZP_INVALID_OPTION", /^load: source must be/);
        const functions = { f: (y) => y };
        const bytes = await bytesOf(model);
        await rejects(zp.load(bytes, { functions }), TypeError, "ZP_INVALID_OPTION", /function/);
        const reason = new Error("enough");
        const stop = new AbortController();
        const never = new ReadableStream({});
        const pending = zp.load(never, { signal: stop.signal });
        stop.abort(reason);
        await assert.rejects(pending, reason);
      } finally {
        zp.dispose();
      }
    });
  });
}

describe("load of an instance", () => {
  it("restores what runs on that instance", async () => {
    const zp = await create({ build: "baseline" });
    const bytes = await bytesOf(things);
    const own = await zp.load(bytes);
    const other = await load(bytes);
    for (const name of ["model", "dynamic", "layer"]) {
      sameTensor(own[name].forward(x), other[name].forward(x), name);
    }
    zp.dispose();
    assert.throws(() => zp.load(bytes), { code: "ZP_DISPOSED" });
    sameTensor(own.layer.forward(x), other.layer.forward(x));
  });

  it("takes the functions that are layers", async () => {
    const zp = await create();
    const twice = (y) => ({ data: y.data.map((value) => 2 * value), shape: y.shape });
    const withFunction = new Sequential({ fc: new Linear(weight), twice });
    const restored = await zp.load(await bytesOf(withFunction), { functions: { twice } });
    sameTensor(restored.forward(x), withFunction.forward(x));
    zp.dispose();
  });
});
