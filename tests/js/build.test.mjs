import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { chooseBuild, computesKnownValues, loadBuild, supportsSimd } from "../../dist/build.js";
import { refuses, rejects } from "./support.mjs";

describe("supportsSimd", () => {
  it("is true here", () => {
    assert.equal(supportsSimd(), true);
  });

  it("is false in an engine without WebAssembly", () => {
    const { WebAssembly: engine } = globalThis;
    delete globalThis.WebAssembly;
    try {
      assert.equal(supportsSimd(), false);
    } finally {
      globalThis.WebAssembly = engine;
    }
  });

  it("asks about a module that uses SIMD and is otherwise sound", () => {
    const { validate } = WebAssembly;
    let probe;
    WebAssembly.validate = (bytes) => {
      probe = bytes.slice();
      return true;
    };
    try {
      supportsSimd();
    } finally {
      WebAssembly.validate = validate;
    }
    assert.equal(WebAssembly.validate(probe), true);
    const end = probe.subarray(-3); // f32x4.nearest, end
    assert.deepEqual([...end], [0xfd, 0x6a, 0x0b]);
    end[1] = 0x13; // f32x4.splat, which takes no vector
    assert.equal(WebAssembly.validate(probe), false);
  });
});

describe("chooseBuild", () => {
  it("takes the best build there is for auto", () => {
    assert.equal(chooseBuild("init", "auto"), "baseline");
    assert.equal(chooseBuild("init", "baseline"), "baseline");
  });

  it("refuses a build that this version does not have", () => {
    refuses(() => chooseBuild("init", "relaxed"), RangeError, "ZP_BUILD_UNAVAILABLE", /"relaxed"/);
  });
});

describe("computesKnownValues", () => {
  let core;
  before(async () => {
    core = await loadBuild("test", "baseline", 1);
  });

  const withModule = (changes) => ({ memory: core.memory, module: { ...core.module, ...changes } });

  it("accepts the build that was asked for", () => {
    assert.equal(core.build, "baseline");
    assert.equal(computesKnownValues(core), true);
  });

  it("refuses a core that rounds ties away from zero", () => {
    const quantize = (...args) => {
      const status = core.module.quantize(...args);
      const codes = args.at(-1);
      core.memory.writeOne("Int8Array", codes + 2, 3); // 0.25 / 0.5 + 1 = 1.5, which is 2
      return status;
    };
    assert.equal(computesKnownValues(withModule({ quantize })), false);
  });

  it("refuses a core that multiplies wrongly", () => {
    const linearPacked = (...args) => {
      const status = core.module.linearPacked(...args);
      const sum = args.at(-1);
      core.memory.writeOne("Float32Array", sum, 2 * core.memory.readOne("Float32Array", sum));
      return status;
    };
    assert.equal(computesKnownValues(withModule({ linearPacked })), false);
  });

  it("refuses a core that refuses", () => {
    const refusing = { quantize: () => "kInvalidScale" };
    assert.equal(computesKnownValues(withModule(refusing)), false);
  });
});

describe("loadBuild", () => {
  it("refuses an engine that computes wrongly", async () => {
    const { Float32Array: Real } = globalThis;
    // As if float32 values were stored with the wrong sign. Copies run on intrinsics, out of reach.
    globalThis.Float32Array = function StoresWrongly(...args) {
      const set = (array, key, value) => Reflect.set(array, key, -value);
      return new Proxy(new Real(...args), { set, get: (array, key) => array[key] });
    };
    try {
      await rejects(
        loadBuild("init", "baseline", 1),
        Error,
        "ZP_UNSUPPORTED_ENGINE",
        'init: the "baseline" build computes wrong values on this engine',
      );
    } finally {
      globalThis.Float32Array = Real;
    }
    assert.equal((await loadBuild("init", "baseline", 1)).build, "baseline");
  });
});
