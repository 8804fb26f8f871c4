// Messages that say what to do next: for values of other libraries, other words, and proxies.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseQParams, init, QuantizedLinear, quantize, tensor, unpackLinear } from "zeropoint";
import { save } from "zeropoint/models";
import {
  convert,
  Linear,
  MinMaxObserver,
  predefinedQConfigs,
  prepare,
  quantizeDynamic,
  Sequential,
} from "zeropoint/torch";
import { loadBuild } from "../internal/core.mjs";
import { refuses, rejects } from "./support/asserts.mjs";

await init();

const w = tensor([[1, 2]]);

describe("messages", () => {
  it("name dataSync for a tensor of TensorFlow.js", () => {
    class TfTensor {
      shape = [2];
      dtype = "float32";
      data() {}
      dataSync() {}
    }
    refuses(
      () => quantize(new TfTensor()),
      TypeError,
      "ZP_INVALID_TENSOR",
      /data: t\.dataSync\(\)/,
    );
  });

  it("name the affine scheme for an asymmetric one", () => {
    refuses(
      () => quantize(w, { scheme: "asymmetric" }),
      RangeError,
      "ZP_INVALID_SCHEME",
      /must be "affine".*got "asymmetric"/,
    );
  });

  it("name the scheme for options called symmetric or asymmetric", () => {
    for (const options of [{ symmetric: true }, { asymmetric: true }]) {
      for (const work of [quantize, chooseQParams]) {
        refuses(() => work(w, options), TypeError, "ZP_UNKNOWN_OPTION", /scheme: "symmetric" or/);
      }
    }
  });

  it("name WeightOnlyQConfig for options instead of a QConfig", () => {
    const model = new Sequential(new Linear(w));
    refuses(
      () => quantizeDynamic(model, { dtype: "int4" }),
      TypeError,
      "ZP_INVALID_QCONFIG",
      /new WeightOnlyQConfig\(options\)/,
    );
  });

  it("name markRaw and shallowRef for proxies, as Vue makes them", () => {
    const linear = new Linear(w);
    const layer = new QuantizedLinear(w);
    const model = new Sequential(linear);
    const quantized = quantizeDynamic(model);
    const x = tensor([[1, 2]]);
    for (const object of [linear, layer, model, quantized]) {
      const proxy = new Proxy(object, {});
      refuses(() => proxy.forward(x), TypeError, "ZP_INVALID_MODEL", /markRaw.*shallowRef/);
      assert.equal(object.forward(x).shape[0], 1);
    }
    for (const object of [layer, quantized]) {
      refuses(() => new Proxy(object, {}).dispose(), TypeError, "ZP_INVALID_MODEL", /markRaw/);
      object.dispose();
    }
    refuses(() => new Proxy(layer, {}).append(w), TypeError, "ZP_INVALID_MODEL", /markRaw/);
  });

  it("name markRaw for proxies of prepared models and observers, and where functions take a proxy", () => {
    const model = new Sequential(new Linear(w));
    const layer = new QuantizedLinear(w);
    const prepared = prepare(model, predefinedQConfigs.default_qconfig).calibrate([w]);
    const quantized = quantizeDynamic(model);
    const observer = new MinMaxObserver();
    const proxyOf = (object) => new Proxy(object, {});
    const refused = {
      "Sequential of a proxy": () => String(new Sequential(proxyOf(model))),
      calibrate: () => proxyOf(prepared).calibrate([w]),
      convert: () => convert(proxyOf(prepared)),
      observe: () => proxyOf(observer).observe(w),
      calculateQParams: () => proxyOf(observer).calculateQParams(),
      unpackLinear: () => unpackLinear(proxyOf(layer)),
      ...Object.fromEntries(
        Object.entries({ layer, model, prepared, quantized }).flatMap(([name, object]) => [
          [`text of ${name}`, () => String(proxyOf(object))],
          [`save of ${name}`, () => save(proxyOf(object))],
        ]),
      ),
    };
    for (const call of Object.values(refused)) {
      refuses(call, TypeError, "ZP_INVALID_MODEL", /markRaw.*shallowRef/);
    }
  });

  it("name a signed dtype for dynamic activations, not the scheme that they refuse", () => {
    refuses(
      () => new QuantizedLinear(w, { activations: "dynamic", dtype: "uint8" }),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      /options\.dtype must be a signed dtype with options\.activations: "dynamic", got "uint8"$/,
    );
  });

  it("name 'wasm-unsafe-eval' and zeropoint/slim where a policy forbids WebAssembly", async () => {
    const told = [
      "WebAssembly.compile(): Wasm code generation disallowed by embedder",
      "Refused to compile or instantiate WebAssembly module because 'unsafe-eval' is not allowed",
      "call to WebAssembly.compile() blocked by CSP",
    ];
    for (const text of told) {
      const refusing = () => Promise.reject(new WebAssembly.CompileError(text));
      await rejects(
        loadBuild("init", undefined, { build: "baseline", wasm: refusing }),
        Error,
        "ZP_LOAD_FAILED",
        /'wasm-unsafe-eval'.*zeropoint\/slim.*init\(\{ wasm \}\)/,
      );
    }
  });
});

describe("Linear with accumulate", () => {
  it("computes as linear does", () => {
    const layer = new Linear(w, { accumulate: "float32" });
    assert.equal(layer.accumulate, "float32");
    assert.equal(new Linear(w).accumulate, "exact");
    // 2^24 + 1 is no float32: sums in float32 lose the 1.
    const big = new Linear(tensor([[16777216, 1, -16777216]]), { accumulate: "float32" });
    const exact = new Linear(tensor([[16777216, 1, -16777216]]));
    assert.deepEqual([...big.forward(tensor([1, 1, 1])).data], [0]);
    assert.deepEqual([...exact.forward(tensor([1, 1, 1])).data], [1]);
    refuses(
      () => new Linear(w, { accumulate: "fast" }),
      RangeError,
      "ZP_INVALID_OPTION",
      /options.accumulate/,
    );
  });
});
