import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as main from "zeropoint";
import * as torch from "zeropoint/torch";
import { checkSame, examineEngine } from "../../internal/core.mjs";
import { refuses, rejects } from "../support/asserts.mjs";
import { zeropoint } from "../support/exports.mjs";

const { init, create, tensor } = zeropoint;
const x = tensor([1, 2]);
/** The build that auto takes here. */
const best = examineEngine().relaxed === true ? "relaxed" : "baseline";

/** Checks the default result of `init`; only a relaxed build has a choice of kernels. */
function checkDefault({ kernels, ...result }) {
  assert.deepEqual(result, { build: best, threads: 1 });
  const choices = best === "relaxed" ? ["relaxed", "mixed", "baseline"] : [undefined];
  assert.ok(choices.includes(kernels), kernels);
}

// These tests run in order: the library starts once in a process.
describe("before init", () => {
  it("makes and prints tensors, which need no core", () => {
    assert.equal(String(tensor([1, 2.5])), "tensor([1.0000, 2.5000])");
  });

  const calls = {
    chooseQParams: () => zeropoint.chooseQParams(x),
    quantize: () => zeropoint.quantize(x),
    dequantize: () => zeropoint.dequantize({}),
    fakeQuantize: () => zeropoint.fakeQuantize(x),
    quantizationError: () => zeropoint.quantizationError(x, x),
    pack: () => zeropoint.pack({}),
    unpack: () => zeropoint.unpack(new Uint8Array(1), {}),
    linear: () => zeropoint.linear(x, x),
    QuantizedLinear: () => new zeropoint.QuantizedLinear(x),
    quantizePerTensor: () => zeropoint.quantizePerTensor(x, 1, 0, "qint8"),
    quantizePerChannel: () => zeropoint.quantizePerChannel(x, [1], [0], 0, "qint8"),
    quantizePerTensorDynamic: () => zeropoint.quantizePerTensorDynamic(x, "qint8"),
    fakeQuantizePerTensor: () => zeropoint.fakeQuantizePerTensor(x, 1, 0, 0, 255),
    fakeQuantizePerChannel: () => zeropoint.fakeQuantizePerChannel(x, [1, 1], [0, 0], 0, 0, 255),
    MinMaxObserver: () => new zeropoint.MinMaxObserver(),
    HistogramObserver: () => zeropoint.HistogramObserver.withArgs({ bins: 8 })(),
    Linear: () => new zeropoint.Linear(tensor([[1]])),
    prepare: () =>
      zeropoint.prepare(new zeropoint.Sequential([]), zeropoint.predefinedQConfigs.default_qconfig),
    convert: () => zeropoint.convert({}),
    quantizeDynamic: () => zeropoint.quantizeDynamic(new zeropoint.Sequential([])),
  };
  for (const [name, call] of Object.entries(calls)) {
    it(`${name} asks for init first`, () => {
      refuses(call, Error, "ZP_NOT_INITIALIZED", `${name}: call "await init()" first`);
    });
  }
});

describe("init refuses options", () => {
  const cases = [
    [null, TypeError, "ZP_INVALID_OPTIONS", "init: options must be an object, got null"],
    [
      "baseline",
      TypeError,
      "ZP_INVALID_OPTIONS",
      'init: options must be an object, got "baseline"',
    ],
    [{ biuld: "auto" }, TypeError, "ZP_UNKNOWN_OPTION", /has no "biuld"; did you mean build\?/],
    [{ build: 1 }, TypeError, "ZP_INVALID_OPTION", /options\.build must be .*, got 1$/],
    [
      { build: "fast" },
      RangeError,
      "ZP_INVALID_OPTION",
      'init: options.build must be "auto", "baseline" or "relaxed", got "fast"',
    ],
    [
      { threads: "2" },
      TypeError,
      "ZP_INVALID_OPTION",
      /threads must be an integer from 1 to 64, got "2"/,
    ],
    [
      { threads: 0 },
      RangeError,
      "ZP_INVALID_OPTION",
      /threads must be an integer from 1 to 64, got 0/,
    ],
    [
      { threads: 1.5 },
      RangeError,
      "ZP_INVALID_OPTION",
      /must be an integer from 1 to 64, got 1\.5/,
    ],
    [
      { threads: 65 },
      RangeError,
      "ZP_INVALID_OPTION",
      "init: options.threads must be an integer from 1 to 64, got 65",
    ],
    [
      { wasm: 1 },
      TypeError,
      "ZP_INVALID_OPTION",
      "init: options.wasm must be a URL, a Response, bytes, a WebAssembly.Module, a promise of one " +
        "of these, or a function that returns one, got 1",
    ],
    [
      { wasm: () => undefined, build: "baseline" },
      TypeError,
      "ZP_INVALID_OPTION",
      'init: options.wasm("baseline.wasm") must be a URL, a Response, bytes, a WebAssembly.Module, a ' +
        "promise of one of these, got undefined",
    ],
    [{ wasm: async () => null }, TypeError, "ZP_INVALID_OPTION", /m"\) must be .* got null$/],
    [{ wasm: Promise.resolve({}) }, TypeError, "ZP_INVALID_OPTION", /options\.wasm must be/],
  ];
  for (const [options, type, code, message] of cases) {
    it(JSON.stringify(options), () => rejects(init(options), type, code, message));
  }

  it("and stays uninitialized", () => {
    refuses(() => zeropoint.quantize(x), Error, "ZP_NOT_INITIALIZED", /init/);
  });
});

/** Calls `tell` for each instance of a core; smaller modules have no imports. */
function watchInstances(tell) {
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function Watched(module, imports) {
    if (imports !== undefined) tell();
    return new Instance(module, imports);
  };
}

describe("init that fails", () => {
  it("names the missing SIMD of the engine", async () => {
    const { validate } = WebAssembly;
    WebAssembly.validate = () => false;
    try {
      await rejects(init(), Error, "ZP_UNSUPPORTED_ENGINE", /no WebAssembly with 128-bit SIMD/);
    } finally {
      WebAssembly.validate = validate;
    }
  });

  it("rejects all concurrent calls with the reason for a core that cannot be loaded", async (t) => {
    t.mock.method(console, "error", () => undefined); // where Emscripten says it too
    const { Instance, instantiate } = WebAssembly;
    watchInstances(() => {
      throw new Error("forbidden by the policy");
    });
    WebAssembly.instantiate = () => Promise.reject(new Error("forbidden by the policy"));
    try {
      const results = await Promise.allSettled([init(), init()]);
      for (const { status, reason } of results) {
        assert.equal(status, "rejected");
        assert.equal(reason.code, "ZP_LOAD_FAILED");
        assert.match(
          reason.message,
          /^init: the "(baseline|relaxed)" build could not be loaded: .*forbidden/,
        );
        assert.ok(reason.cause instanceof Error);
      }
    } finally {
      Object.assign(WebAssembly, { Instance, instantiate });
    }
  });
});

describe("init", () => {
  it("may be tried again after a failure, and is shared by concurrent calls", async () => {
    const { Instance } = WebAssembly;
    let loads = 0;
    watchInstances(() => loads++);
    try {
      const results = await Promise.all([init(), init({ build: best }), init({ threads: 1 })]);
      for (const result of results) checkDefault(result);
      assert.equal(loads, 1);
    } finally {
      WebAssembly.Instance = Instance;
    }
  });

  it("starts the core for all functions", () => {
    assert.deepEqual([...zeropoint.quantize(x).data], [64, 127]);
  });

  it("resolves later calls with equal options", async () => {
    checkDefault(await init({ build: "auto", threads: 1 }));
    checkDefault(await init());
  });

  it("refuses later calls with other options, and keeps the running core", async () => {
    const other = best === "relaxed" ? "baseline" : "relaxed";
    await rejects(init({ build: other }), Error, "ZP_ALREADY_INITIALIZED", /create\(…\)/);
    await rejects(init({ threads: 4 }), Error, "ZP_ALREADY_INITIALIZED", /with threads 4/);
    await rejects(init({ wasm: 5 }), TypeError, "ZP_INVALID_OPTION", /options\.wasm .* got 5$/);
    assert.deepEqual([...zeropoint.quantize(x).data], [64, 127]);
  });
});

describe("checkSame", () => {
  const running = { build: "relaxed", threads: 2, wantedThreads: 4 };

  it("accepts later calls with equal options or none", () => {
    checkSame({ build: "auto", threads: undefined }, running);
    checkSame({ build: "relaxed", threads: 2 }, running);
  });

  it("accepts as many threads as the first call asked for, even if it got fewer", () => {
    checkSame({ build: "auto", threads: 4 }, running);
  });

  it("refuses another build and other threads", () => {
    refuses(
      () => checkSame({ build: "baseline", threads: undefined }, running),
      Error,
      "ZP_ALREADY_INITIALIZED",
      'init: the library runs already, build "relaxed" with threads 2, and cannot become build ' +
        '"baseline" with threads 2. If a dependency called init first: init(options) belongs to the ' +
        "application, before anything else calls it; a library takes an instance of its own from create(…)",
    );
    refuses(
      () => checkSame({ build: "auto", threads: 1 }, running),
      Error,
      "ZP_ALREADY_INITIALIZED",
      /cannot become build "relaxed" with threads 1/,
    );
  });
});

describe("create", () => {
  it("makes instances with all functions and classes of the module", async () => {
    const instance = await create();
    const shared = Object.keys(main).filter((name) => !["init", "create"].includes(name));
    assert.deepEqual(
      Object.keys(instance).sort(),
      [
        ...shared,
        "build",
        "dispose",
        "load",
        "threads",
        ...(best === "relaxed" ? ["kernels"] : []),
      ].sort(),
    );
    assert.equal(instance.build, best);
    assert.equal(instance.threads, 1);
  });

  it("has the 15 names of zeropoint, and those of further entries", async () => {
    const names =
      "QuantizedLinear chooseQParams create dequantize dequantizeBlocks fakeQuantize init linear pack " +
      "quantizationError quantize quantizeBlocks tensor unpack unpackLinear";
    assert.equal(Object.keys(main).sort().join(" "), names);
    const instance = await create({ build: "baseline" }, torch);
    for (const name of Object.keys(torch)) assert.ok(name in instance, name);
    instance.dispose();
    refuses(() => new instance.NoopObserver(), TypeError, "ZP_DISPOSED", /^NoopObserver: this/);
  });

  it("gives every instance a core of its own", async () => {
    const [one, other] = await Promise.all([create(), create({ build: "baseline" })]);
    const layer = new one.QuantizedLinear(tensor([[1, 2]]));
    const otherLayer = new other.QuantizedLinear(tensor([[3, 4]]));
    assert.deepEqual([...layer.forward(x).data].map(Math.round), [5]);
    assert.deepEqual([...otherLayer.forward(x).data].map(Math.round), [11]);
    layer.dispose();
    assert.deepEqual([...otherLayer.forward(x).data].map(Math.round), [11]);
    otherLayer.dispose();
  });

  it("makes layers of the same class as the module's", async () => {
    const instance = await create();
    const layer = new instance.QuantizedLinear(tensor([[1, 2]]));
    assert.ok(layer instanceof zeropoint.QuantizedLinear);
    assert.ok(layer instanceof instance.QuantizedLinear);
    layer.dispose();
  });

  it("throws the same errors, and stays usable after them", async () => {
    const instance = await create();
    refuses(() => instance.quantize(x, { axis: 7 }), RangeError, "ZP_INVALID_AXIS", /must be 0/);
    assert.deepEqual([...instance.quantize(x).data], [64, 127]);
  });

  it("leaves the module's functions on their own core, after errors too", async () => {
    for (const use of [
      (instance) => instance.quantize(x),
      (instance) => assert.throws(() => instance.quantize(x, { axis: 7 }), RangeError),
    ]) {
      const instance = await create();
      await use(instance);
      instance.dispose();
      assert.deepEqual([...zeropoint.quantize(x).data], [64, 127]);
    }
  });

  it("refuses the same arguments as init, in its own name", async () => {
    await rejects(
      create({ threads: 0 }),
      RangeError,
      "ZP_INVALID_OPTION",
      /^create: options\.threads/,
    );
  });

  it("gives the relaxed build where the engine computes it correctly, and else the reason", async () => {
    if (best === "relaxed") {
      assert.equal((await create({ build: "relaxed" })).build, "relaxed");
      return;
    }
    await rejects(
      create({ build: "relaxed" }),
      Error,
      "ZP_UNSUPPORTED_ENGINE",
      /^create: this engine (has no|computes) relaxed SIMD/,
    );
  });

  it("ends an instance at the end of `using`", {
    skip: typeof Symbol.dispose !== "symbol",
  }, async () => {
    const instance = await create();
    instance[Symbol.dispose]();
    const message = "quantize: this instance was disposed";
    refuses(() => instance.quantize(x), TypeError, "ZP_DISPOSED", message);
    instance[Symbol.dispose]();
  });

  it("ends only the instance that is disposed of", async () => {
    const [one, other] = await Promise.all([create(), create()]);
    const layer = new one.QuantizedLinear(tensor([[1, 2]]));
    one.dispose();
    one.dispose();
    for (const [name, use] of Object.entries({
      quantize: () => one.quantize(x),
      tensor: () => one.tensor([1]),
      QuantizedLinear: () => new one.QuantizedLinear(x),
    })) {
      refuses(use, TypeError, "ZP_DISPOSED", `${name}: this instance was disposed`);
    }
    assert.deepEqual([...layer.forward(x).data].map(Math.round), [5]);
    layer.dispose();
    assert.deepEqual([...other.quantize(x).data], [64, 127]);
    assert.deepEqual([...zeropoint.quantize(x).data], [64, 127]);
  });
});
