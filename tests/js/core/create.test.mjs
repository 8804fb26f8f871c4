// An instance without a default one: functions that make observers make them on the instance.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { INSPECT, refuses } from "../support/asserts.mjs";

const { create, init } = zeropoint;

/** Functions of an instance that make observers, each with a function that takes an observer from the result. */
const makers = {
  "a factory": (z) => z.defaultWeightObserver(),
  "a factory of a factory": (z) => z.defaultWeightObserver.withArgs({ quantMin: -127 })(),
  "a factory with callable arguments": (z) =>
    z.defaultWeightObserver.withCallableArgs({ quantMin: () => -127 })(),
  "a factory of a class": (z) => z.MinMaxObserver.withArgs({ dtype: "qint8" })(),
  "a factory by its name in PyTorch": (z) => z.predefinedObservers.default_weight_observer(),
  "a class by its name in PyTorch": (z) => new z.predefinedObservers.default_debug_observer(),
  "a class by another name": (z) => new z.defaultPlaceholderObserver(),
  "a QConfig": (z) => z.defaultQConfig.weight(),
  "a QConfig of a class": (z) => new z.defaultQuint8WeightQConfig.weight(),
  "a QConfig by its name in PyTorch": (z) => z.predefinedQConfigs.default_qconfig.activation(),
  "a QConfig that a function gives": (z) => z.getDefaultQConfig("x86").activation(),
};

describe("an instance", () => {
  it("prints as one line in Node", async () => {
    const z = await create({ build: "baseline" });
    assert.equal(z[INSPECT](), "Zeropoint(build=baseline, threads=1)");
    z.dispose();
  });
});

describe("an instance's observers", () => {
  for (const [what, make] of Object.entries(makers)) {
    it(`are made on that instance by ${what}, with and without a default instance`, async () => {
      const z = await create();
      assert.equal(typeof make(z).observe, "function");
      z.dispose();
      refuses(() => make(z), TypeError, "ZP_DISPOSED", /^(\w+Observer|getDefaultQConfig): this/);
    });
  }

  it("stay on that instance when the default instance starts", async () => {
    await init();
    const z = await create();
    z.dispose();
    for (const make of Object.values(makers)) {
      refuses(() => make(z), TypeError, "ZP_DISPOSED", /: this instance was disposed$/);
      assert.equal(typeof make(zeropoint).observe, "function");
    }
  });

  it("print as the module's and have the same classes", async () => {
    const z = await create();
    assert.equal(String(z.defaultQConfig), String(zeropoint.defaultQConfig));
    for (const [name, value] of Object.entries(z.predefinedQConfigs)) {
      assert.equal(String(value), String(zeropoint.predefinedQConfigs[name]));
      assert.ok(value instanceof z.QConfig && value instanceof zeropoint.QConfig);
    }
    for (const [name, value] of Object.entries(z.predefinedObservers)) {
      const own = zeropoint.predefinedObservers[name];
      assert.deepEqual(value.args, own.args);
      if (value.args !== undefined) assert.equal(String(value), String(own));
    }
    assert.equal(z.predefinedQConfigs.default_qconfig, z.defaultQConfig);
    assert.equal(z.predefinedObservers.default_weight_observer, z.defaultWeightObserver);
    assert.equal(z.defaultQConfig.weight, z.defaultWeightObserver);
    assert.equal(z.defaultPlaceholderObserver, z.PlaceholderObserver);
    assert.equal(z.defaultWeightObserver.observerClass, z.MinMaxObserver);
    assert.ok(Object.isFrozen(z.predefinedQConfigs) && Object.isFrozen(z.predefinedObservers));
  });

  it("work in models of the instance and of the module", async () => {
    await init();
    const z = await create();
    const model = (of) =>
      new of.Sequential({ fc: new of.Linear(of.tensor([[1, 2]])), relu: new of.ReLU() });
    const x = zeropoint.tensor([[1, 3]]);
    const [own, other] = [z, zeropoint].map((of) =>
      [z, zeropoint].map(({ getDefaultQConfig, floatQParamsWeightOnlyQConfig }) => {
        const embedding = new of.Sequential([new of.Embedding(of.tensor([[1, 2]]))]);
        of.quantizeDynamic(
          embedding,
          new of.QConfigMapping().setGlobal(floatQParamsWeightOnlyQConfig),
        ).dispose();
        const prepared = of.prepare(model(of), getDefaultQConfig("x86")).calibrate([x]);
        return [...of.convert(prepared).forward(x).data];
      }),
    );
    assert.deepEqual(own, other);
    assert.deepEqual(own[0], own[1]);
  });
});
