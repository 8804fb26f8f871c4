// An instance without a default one: functions that make observers make them on the instance.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as models from "zeropoint/models";
import * as torch from "zeropoint/torch";
import { INSPECT, refuses, rejects } from "../support/asserts.mjs";
import { zeropoint } from "../support/exports.mjs";

const { create, init } = zeropoint;

/** Functions of an instance that make observers, each with a function that takes an observer from the result. */
const makers = {
  "a factory": (z) => z.predefinedObservers.default_weight_observer(),
  "a factory of a factory": (z) =>
    z.predefinedObservers.default_weight_observer.withArgs({ quantMin: -127 })(),
  "a factory with callable arguments": (z) =>
    z.predefinedObservers.default_weight_observer.withCallableArgs({ quantMin: () => -127 })(),
  "a factory of a class": (z) => z.MinMaxObserver.withArgs({ dtype: "qint8" })(),
  "a class by its name in PyTorch": (z) => new z.predefinedObservers.default_debug_observer(),
  "a QConfig": (z) => z.predefinedQConfigs.default_qconfig.weight(),
  "a QConfig of a class": (z) => new z.predefinedQConfigs.default_quint8_weight_qconfig.weight(),
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

describe("an instance with entries", () => {
  it("has their exports, and without them those of zeropoint alone", async () => {
    const plain = await create();
    assert.equal("Linear" in plain, false);
    const z = await create({ build: "baseline" }, torch, models);
    for (const name of [...Object.keys(torch), ...Object.keys(models)]) assert.ok(name in z, name);
    assert.equal(z.DEFAULT_SCHEMES, models.DEFAULT_SCHEMES);
    assert.equal(z.build, "baseline");
    for (const one of [plain, z]) one.dispose();
  });

  it("takes the later of two exports with one name, and never what starts a library", async () => {
    const z = await create({}, { tensor: () => 1, init: () => 2 }, { tensor: () => 3 });
    assert.equal(z.tensor(), 3);
    assert.equal("init" in z, false);
    z.dispose();
  });

  it("refuses what is no module", async () => {
    for (const entry of ["torch", null, [], 5]) {
      await rejects(
        create({}, entry),
        TypeError,
        "ZP_INVALID_OPTION",
        /^create: entries\[0\] must be/,
      );
    }
  });
});

describe("an instance's observers", () => {
  for (const [what, make] of Object.entries(makers)) {
    it(`are made on that instance by ${what}, with and without a default instance`, async () => {
      const z = await create({}, torch);
      assert.equal(typeof make(z).observe, "function");
      z.dispose();
      refuses(() => make(z), TypeError, "ZP_DISPOSED", /^(\w+Observer|getDefaultQConfig): this/);
    });
  }

  it("stay on that instance when the default instance starts", async () => {
    await init();
    const z = await create({}, torch);
    z.dispose();
    for (const make of Object.values(makers)) {
      refuses(() => make(z), TypeError, "ZP_DISPOSED", /: this instance was disposed$/);
      assert.equal(typeof make(zeropoint).observe, "function");
    }
  });

  it("print as the module's and have the same classes", async () => {
    const z = await create({}, torch);
    assert.equal(
      String(z.predefinedQConfigs.default_qconfig),
      String(zeropoint.predefinedQConfigs.default_qconfig),
    );
    for (const [name, value] of Object.entries(z.predefinedQConfigs)) {
      assert.equal(String(value), String(zeropoint.predefinedQConfigs[name]));
      assert.ok(value instanceof z.QConfig && value instanceof zeropoint.QConfig);
    }
    for (const [name, value] of Object.entries(z.predefinedObservers)) {
      const own = zeropoint.predefinedObservers[name];
      assert.deepEqual(value.args, own.args);
      if (value.args !== undefined) assert.equal(String(value), String(own));
    }
    assert.equal(
      z.predefinedQConfigs.default_qconfig.weight,
      z.predefinedObservers.default_weight_observer,
    );
    assert.equal(z.predefinedObservers.default_placeholder_observer, z.PlaceholderObserver);
    assert.equal(z.predefinedObservers.default_weight_observer.observerClass, z.MinMaxObserver);
    assert.ok(Object.isFrozen(z.predefinedQConfigs) && Object.isFrozen(z.predefinedObservers));
  });

  it("work in models of the instance and of the module", async () => {
    await init();
    const z = await create({}, torch);
    const model = (of) =>
      new of.Sequential({ fc: new of.Linear(of.tensor([[1, 2]])), relu: new of.ReLU() });
    const x = zeropoint.tensor([[1, 3]]);
    const [own, other] = [z, zeropoint].map((of) =>
      [z, zeropoint].map(({ getDefaultQConfig, predefinedQConfigs }) => {
        const embedding = new of.Sequential([new of.Embedding(of.tensor([[1, 2]]))]);
        of.quantizeDynamic(
          embedding,
          new of.QConfigMapping().setGlobal(predefinedQConfigs.float_qparams_weight_only_qconfig),
        ).dispose();
        const prepared = of.prepare(model(of), getDefaultQConfig("x86")).calibrate([x]);
        return [...of.convert(prepared).forward(x).data];
      }),
    );
    assert.deepEqual(own, other);
    assert.deepEqual(own[0], own[1]);
  });
});
