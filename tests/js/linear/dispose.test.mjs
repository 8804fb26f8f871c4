import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { init, linear, QuantizedLinear, quantize, tensor } from "zeropoint";
import { embedded, loadBuild, runOn } from "../../internal/core.mjs";
import { Random, refuses, sameTensor } from "../support/asserts.mjs";

await init();

describe("QuantizedLinear.dispose", () => {
  const w = tensor(new Random(80).normal(12), [3, 4]);
  const x = tensor([1, 2, 3, 4]);

  it("ends the layer, and may be called again", () => {
    const layer = new QuantizedLinear(w);
    layer.dispose();
    layer.dispose();
    refuses(
      () => layer.forward(x),
      TypeError,
      "ZP_DISPOSED",
      "QuantizedLinear.forward: the layer is disposed and cannot be used any more",
    );
    assert.equal(layer.inFeatures, 4);
  });

  it("may be called during a call; another layer may get the memory", () => {
    const ones = tensor([[1, 1, 1, 1]]);
    for (const activations of ["float32", "dynamic"]) {
      const disposing = (layer, field, data, shape) => ({
        get [field]() {
          layer.dispose();
          new QuantizedLinear(tensor(new Float32Array(12).fill(100), [3, 4]), { activations });
          return data;
        },
        shape,
      });
      const calls = [
        (layer) => layer.forward(disposing(layer, "data", ones.data, [1, 4])),
        (layer) => layer.forward(ones, disposing(layer, "data", new Float32Array(3), [1, 3])),
        (layer) => {
          layer.dispose();
          return layer.forward(ones, tensor([[0, 0, 0]]));
        },
      ];
      for (const call of calls) {
        const layer = new QuantizedLinear(w, { activations });
        refuses(() => call(layer), TypeError, "ZP_DISPOSED", /the layer is disposed/);
      }
    }
  });

  it("is what `using` calls", { skip: typeof Symbol.dispose !== "symbol" }, () => {
    const layer = new QuantizedLinear(w);
    layer[Symbol.dispose]();
    refuses(() => layer.forward(x), TypeError, "ZP_DISPOSED", /disposed/);
    assert.deepEqual(Object.keys(QuantizedLinear.prototype), []);
  });

  it("works in engines without Symbol.dispose", () => {
    const script = `
      const { dispose, ...others } = Object.getOwnPropertyDescriptors(Symbol);
      globalThis.Symbol = Object.defineProperties(() => undefined, others);
      const { init, tensor, QuantizedLinear } = await import("zeropoint");
      await init();
      const layer = new QuantizedLinear(tensor([[1, 2]]));
      layer.dispose();
      console.log(Object.getOwnPropertyNames(QuantizedLinear.prototype).join());
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module"], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      input: script,
      encoding: "utf8",
    });
    assert.equal(stderr, "");
    assert.equal(
      stdout,
      "constructor,inFeatures,outFeatures,qparams,activations,reduceRange,sizeInBytes,accumulate,forward,append,dispose,toString\n",
    );
  });

  it("has no effect on other layers, however often it is called", () => {
    const first = new QuantizedLinear(w);
    first.dispose();
    const second = new QuantizedLinear(w);
    first.dispose();
    const third = new QuantizedLinear(tensor(new Float32Array(12).fill(9), [3, 4]));
    sameTensor(second.forward(x), linear(x, quantize(w)));
    second.dispose();
    third.dispose();
  });

  /** A core of its own, whose heap no other test has grown, and a weight whose layers have 4 MiB. */
  const coreAndWeight = async () => {
    const core = await loadBuild("test", embedded, { build: "baseline" });
    const big = { data: new Float32Array(2 ** 22).fill(1), shape: [2 ** 11, 2 ** 11] };
    return { core, q: quantize(big) };
  };
  const heapOf = (core) => core.module.HEAPU8.length;

  it("gives the memory back, so that any number of layers may follow each other", async () => {
    const { core, q } = await coreAndWeight();
    runOn(core, () => new QuantizedLinear(q).dispose());
    const first = heapOf(core);
    runOn(core, () => {
      for (let i = 0; i < 100; i++) new QuantizedLinear(q).dispose();
    });
    assert.equal(heapOf(core), first);
  });

  it("happens at garbage collection if it was not called", async () => {
    const { setFlagsFromString } = await import("node:v8");
    const { runInNewContext } = await import("node:vm");
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    const { core, q } = await coreAndWeight();
    // 800 MiB of layers, of which none is disposed explicitly.
    for (let i = 0; i < 200; i++) {
      runOn(core, () => new QuantizedLinear(q));
      if (i % 16 === 15) {
        collect();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    assert.ok(heapOf(core) < 400 * 2 ** 20, `${heapOf(core)} bytes`);
  });
});
