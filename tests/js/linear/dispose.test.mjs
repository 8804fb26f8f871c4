import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { create, init, linear, QuantizedLinear, quantize, tensor } from "zeropoint";
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

  it("gives the memory back, so that any number of layers may follow each other", async () => {
    const { QuantizedLinear: Layer, quantize: own } = await create();
    const big = { data: new Float32Array(2 ** 22).fill(1), shape: [2 ** 11, 2 ** 11] };
    const q = own(big);
    // 1200 layers of 4 MiB are more than the heap can ever hold.
    for (let i = 0; i < 1200; i++) new Layer(q).dispose();
    const layer = new Layer(q);
    assert.equal(Math.round(layer.forward(new Float32Array(2 ** 11).fill(1)).data[0]), 2 ** 11);
    layer.dispose();
  });

  it("happens at garbage collection if it was not called", async () => {
    const { setFlagsFromString } = await import("node:v8");
    const { runInNewContext } = await import("node:vm");
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    const { QuantizedLinear: Layer, quantize: own } = await create();
    const q = own({ data: new Float32Array(2 ** 24).fill(1), shape: [2 ** 12, 2 ** 12] });
    // 400 layers of 16 MiB exceed the largest heap, and none of them is disposed explicitly.
    for (let i = 0; i < 400; i++) {
      new Layer(q);
      if (i % 16 === 15) {
        collect();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
  });
});
