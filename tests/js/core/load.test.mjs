import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, describe, it } from "node:test";
import { ARRAYS } from "../../internal/base.mjs";
import {
  chooseBuilds,
  computesKnownValues,
  embedded,
  examineEngine,
  loadBuild,
} from "../../internal/core.mjs";
import { refuses, rejects, sameDeep } from "../support/asserts.mjs";

const names = ["baseline", "relaxed", "baseline-threads", "relaxed-threads"];
const load = (request, chunks = embedded) => loadBuild("test", chunks, request);

describe("a truncated binary", () => {
  it("is refused with the length that its sections state", async () => {
    // A section of 256 bytes, its length in two bytes of LEB128; 10 of them are there.
    const start = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 0, 0x80, 2];
    const wasm = Uint8Array.from([...start, ...Array(10).fill(0)]);
    await assert.rejects(load({ build: "baseline", wasm }), /it has 21 of at least 267 bytes/);
  });
});

describe("examineEngine", () => {
  const { validate } = WebAssembly;
  const probes = [];

  /** The features that it detects if the engine gives these answers to the first and the second probe. */
  function examine(...answers) {
    WebAssembly.validate = (bytes) => {
      probes.push(bytes.slice());
      return answers.shift();
    };
    try {
      return examineEngine();
    } finally {
      WebAssembly.validate = validate;
    }
  }

  it("finds SIMD here", () => {
    assert.equal(examineEngine().simd, true);
  });

  it("finds nothing in an engine without WebAssembly", () => {
    const { WebAssembly: engine } = globalThis;
    delete globalThis.WebAssembly;
    try {
      assert.deepEqual(examineEngine(), { simd: false, relaxed: false });
    } finally {
      globalThis.WebAssembly = engine;
    }
  });

  it("tests modules that are valid except for the feature", () => {
    assert.deepEqual(examine(true, false), { simd: true, relaxed: false });
    assert.deepEqual(examine(false, true), { simd: false, relaxed: false });
    const [simd, relaxed] = probes;
    assert.equal(WebAssembly.validate(simd), true);
    const rounding = simd.subarray(-3); // f32x4.nearest, end
    assert.deepEqual([...rounding], [0xfd, 0x6a, 0x0b]);
    rounding[1] = 0x13; // f32x4.splat, which takes no vector
    assert.equal(WebAssembly.validate(simd), false);

    const instruction = [0xfd, 0x93, 0x02];
    const dot = relaxed.findIndex((_, at) =>
      instruction.every((byte, i) => relaxed[at + i] === byte),
    );
    assert.notEqual(dot, -1);
    // Addition of three vectors is invalid; of the two instructions only the dot product has three operands.
    relaxed.set([0xfd, 0xae, 0x01], dot); // i32x4.add
    assert.equal(WebAssembly.validate(relaxed), false);
  });

  it("computes with relaxed SIMD and finds a wrong value", () => {
    const { Instance } = WebAssembly;
    for (const [answer, expected] of [
      [1, true],
      [0, "wrong"],
    ]) {
      WebAssembly.Instance = class {
        exports = { f: () => answer };
      };
      const { Module } = WebAssembly;
      WebAssembly.Module = class {};
      try {
        assert.deepEqual(examine(true, true), { simd: true, relaxed: expected });
      } finally {
        WebAssembly.Instance = Instance;
        WebAssembly.Module = Module;
      }
    }
  });
});

describe("chooseBuilds", () => {
  const choose = (request, engine) => chooseBuilds("init", request, engine);

  it("takes the best build first for auto", () => {
    assert.deepEqual(choose("auto", { simd: true, relaxed: true }), ["relaxed", "baseline"]);
    assert.deepEqual(choose("auto", { simd: true, relaxed: false }), ["baseline"]);
    assert.deepEqual(choose("auto", { simd: true, relaxed: "wrong" }), ["baseline"]);
  });

  it("takes the build that is asked for", () => {
    assert.deepEqual(choose("baseline", { simd: true, relaxed: true }), ["baseline"]);
    assert.deepEqual(choose("relaxed", { simd: true, relaxed: true }), ["relaxed"]);
  });

  const refused = [
    ["auto", { simd: false, relaxed: false }, /this engine has no WebAssembly with 128-bit SIMD/],
    [
      "relaxed",
      { simd: false, relaxed: false },
      /has no WebAssembly with 128-bit SIMD, which every/,
    ],
    [
      "relaxed",
      { simd: true, relaxed: false },
      'init: this engine has no relaxed SIMD, which the "relaxed" build needs',
    ],
    [
      "relaxed",
      { simd: true, relaxed: "wrong" },
      'init: this engine computes relaxed SIMD wrongly, which the "relaxed" build needs',
    ],
  ];
  for (const [request, engine, message] of refused) {
    it(`refuses ${request} on ${JSON.stringify(engine)}`, () => {
      refuses(() => choose(request, engine), Error, "ZP_UNSUPPORTED_ENGINE", message);
    });
  }
});

describe("computesKnownValues", () => {
  let core;
  before(async () => {
    core = await load({ build: "baseline" });
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

  it("refuses a core that returns an error", () => {
    const refusing = { quantize: () => "kInvalidScale" };
    assert.equal(computesKnownValues(withModule(refusing)), false);
  });
});

describe("loadBuild", () => {
  /** Runs work while the first `times` heaps store float32 values with the wrong sign. */
  async function whileWrong(times, work) {
    const { Float32Array: Real } = ARRAYS;
    const heaps = [];
    // Copies run on intrinsics, which tests cannot replace; lists of numbers are written one by one.
    ARRAYS.Float32Array = function StoresWrongly(...args) {
      const array = new Real(...args);
      const [heap] = args;
      if (!(heap instanceof ArrayBuffer) || args.length > 1) return array;
      if (!heaps.includes(heap)) heaps.push(heap);
      if (heaps.indexOf(heap) >= times) return array;
      const set = (target, key, value) => Reflect.set(target, key, -value);
      return new Proxy(array, { set, get: (target, key) => target[key] });
    };
    try {
      return await work();
    } finally {
      ARRAYS.Float32Array = Real;
    }
  }

  it("refuses an engine that computes wrongly", async () => {
    await whileWrong(Number.POSITIVE_INFINITY, () =>
      rejects(
        load({ build: "baseline" }),
        Error,
        "ZP_UNSUPPORTED_ENGINE",
        'test: the "baseline" build computes wrong values on this engine',
      ),
    );
    assert.equal((await load({ build: "baseline" })).build, "baseline");
  });

  /** The embedded chunks; `see` is called with the name and content of each one that is loaded. */
  const chunksSeenBy = (see) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        () => {
          const chunk = embedded[name]();
          see(name, chunk);
          return chunk;
        },
      ]),
    );

  it("loads only the chunk of the chosen build", async () => {
    for (const build of ["baseline", ...(examineEngine().relaxed === true ? ["relaxed"] : [])]) {
      for (const threads of [1, 2]) {
        const loaded = [];
        const chunks = chunksSeenBy((name) => loaded.push(name));
        const core = await load({ build, threads }, chunks);
        core.dispose();
        assert.equal(core.build, build);
        assert.deepEqual(loaded, [threads === 1 ? build : `${build}-threads`]);
      }
    }
  });

  it("requests the likely chunk while the engine is examined", async () => {
    const { validate, Module } = WebAssembly;
    const steps = [];
    const loads = [];
    const chunks = chunksSeenBy((name, chunk) => {
      steps.push(name);
      loads.push(chunk);
    });
    WebAssembly.validate = () => true;
    WebAssembly.Module = class extends Module {
      constructor(bytes) {
        if (bytes.byteLength < 512) steps.push("examined");
        super(bytes);
      }
    };
    try {
      await load({ build: "auto" }, chunks);
      // The unneeded chunk may still be compiling.
      await Promise.all(loads);
      await new Promise((resolve) => setTimeout(resolve));
    } finally {
      Object.assign(WebAssembly, { validate, Module });
    }
    assert.deepEqual(steps.slice(0, 2), ["relaxed", "examined"]);
  });

  it("compiles asynchronously in engines that refuse synchronous compilation of large modules", async () => {
    const { Module, Instance } = WebAssembly;
    let refusals = 0;
    const refuse = () => {
      refusals++;
      throw new RangeError("too large for the main thread");
    };
    WebAssembly.Module = class extends Module {
      constructor(bytes) {
        super(bytes.byteLength > 4096 ? refuse() : bytes);
      }
    };
    WebAssembly.Instance = function WithoutImports(module, imports) {
      return imports === undefined ? new Instance(module) : refuse();
    };
    try {
      assert.equal((await load({ build: "baseline" })).build, "baseline");
      assert.equal(refusals, 2);
    } finally {
      Object.assign(WebAssembly, { Module, Instance });
    }
  });

  it("takes the next build for auto if the best one computes wrongly", async () => {
    const wrongOnce = () => whileWrong(1, () => load({ build: "auto" }));
    if (examineEngine().relaxed === true) assert.equal((await wrongOnce()).build, "baseline");
    else await assert.rejects(wrongOnce, { code: "ZP_UNSUPPORTED_ENGINE" });
  });
});

describe("the builds", () => {
  const file = (name, encoding) =>
    readFile(new URL(`../../../dist/wasm/${name}`, import.meta.url), encoding);

  it("are the same binary as a file and as text", async () => {
    for (const name of names) {
      sameDeep(await embedded[name](), new Uint8Array(await file(`${name}.wasm`)), name);
    }
  });

  it("import functions of the environment alone, and a memory where threads share it", async () => {
    const isRelaxed = examineEngine().relaxed === true;
    for (const name of names.filter((name) => isRelaxed || !name.startsWith("relaxed"))) {
      const imports = WebAssembly.Module.imports(new WebAssembly.Module(await embedded[name]()));
      const memories = imports.filter(({ kind }) => kind === "memory");
      assert.equal(memories.length, name.endsWith("-threads") ? 1 : 0, name);
      assert.deepEqual([...new Set(imports.map(({ module }) => module))], ["env"], name);
    }
  });

  it("contain no address, import or code", async () => {
    for (const name of names) {
      const source = await file(`${name}.js`, "utf8");
      assert.match(source, /^export default \[\n "[0-9a-f]{180}",\n "[ -~]+"\n\];\n$/, name);
      assert.doesNotMatch(source, /[\\<]/, name);
    }
  });
});
