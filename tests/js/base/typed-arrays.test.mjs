// Arrays of every unusual kind, through the whole public interface: each works, or is refused by name.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";
import {
  chooseQParams,
  dequantize,
  fakeQuantize,
  init,
  linear,
  pack,
  QuantizedLinear,
  quantizationError,
  quantize,
  tensor,
  unpack,
} from "zeropoint";
import {
  fakeQuantizePerTensor,
  HistogramObserver,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
} from "zeropoint/torch";
import { embedded, loadBuild, Memory, runOn } from "../../internal/core.mjs";
import { TILE } from "../../internal/tensor.mjs";
import { Random, refuses, sameCodes, sameFloats } from "../support/asserts.mjs";

await init();

const otherRealm = createContext();
const NUMBERS = [3, -1, 0.5, 7, -8, 2];

/** All functions of tensors of real values, each as a function from such a tensor to plain numbers. */
const consumers = {
  quantize: (x) => [...quantize(x).data],
  "quantize per channel": (x) => [...quantize({ data: x, shape: [2, 3] }, { axis: 1 }).data],
  "quantize, given qparams": (x) => [...quantize(x, { scale: 0.25 }).data],
  chooseQParams: (x) => [chooseQParams(x, { scheme: "affine" }).scale],
  fakeQuantize: (x) => [...fakeQuantize(x, { scale: 0.3 }).data],
  quantizationError: (x) => [quantizationError(x, new Float32Array(6), "sqnr")],
  "quantizationError's b": (x) => [quantizationError(new Float32Array(6), x)],
  tensor: (x) => [...tensor(x).data],
};
consumers["linear's input"] = (x) => [
  ...linear({ data: x, shape: [1, 6] }, { data: new Float32Array(12).fill(2), shape: [2, 6] }).data,
];
consumers["linear's weight"] = (x) => [
  ...linear(new Float32Array(3).fill(2), { data: x, shape: [2, 3] }).data,
];
consumers["linear's bias"] = (x) => [
  ...linear({ data: [1], shape: [1, 1] }, { data: new Float32Array(6), shape: [6, 1] }, x).data,
];
consumers["a layer's weight"] = (x) => {
  const layer = new QuantizedLinear({ data: x, shape: [2, 3] });
  const y = [...layer.forward(new Float32Array(3).fill(2)).data];
  layer.dispose();
  return y;
};
consumers["a layer's input"] = (x) => {
  const layer = new QuantizedLinear({ data: new Float32Array(12).fill(2), shape: [2, 6] });
  const y = [...layer.forward({ data: x, shape: [1, 6] }).data];
  layer.dispose();
  return y;
};
consumers["an observer's batch"] = (x) => {
  const observer = new MinMaxObserver();
  observer.observe(x);
  return [observer.minVal.data[0], observer.maxVal.data[0]];
};

/** The same numbers, in memory of every kind. */
const kinds = {
  "a part of a buffer, with an offset": () =>
    new Float32Array(Float32Array.of(9, ...NUMBERS, 9).buffer, 4, 6),
  "memory shared between threads": () => fill(new Float32Array(new SharedArrayBuffer(24))),
  "growable shared memory": () =>
    fill(new Float32Array(new SharedArrayBuffer(24, { maxByteLength: 64 }))),
  "resizable memory, tracking its length": () =>
    fill(new Float32Array(new ArrayBuffer(24, { maxByteLength: 64 }))),
  "resizable memory, a fixed part": () =>
    fill(new Float32Array(new ArrayBuffer(40, { maxByteLength: 64 }), 8, 6)),
  "Float64Array, which is rounded": () => fill(new Float64Array(6)),
  "an array of another realm": () => fill(runInContext("new Float32Array(6)", otherRealm)),
  "a subclass": () => fill(new (class Mine extends Float32Array {})(6)),
  "a frozen tensor's array": () => Object.freeze({ data: fill(new Float32Array(6)) }).data,
  ...(typeof Float16Array === "function" && {
    Float16Array: () => fill(new Float16Array(6)),
  }),
};

function fill(array) {
  array.set(NUMBERS);
  return array;
}

describe("Arrays of all kinds give what a Float32Array gives", () => {
  for (const [kind, make] of Object.entries(kinds)) {
    for (const [name, consume] of Object.entries(consumers)) {
      it(`${name}: ${kind}`, () => {
        assert.deepEqual(consume(make()), consume(fill(new Float32Array(6))));
      });
    }
  }

  it("integers of every type", () => {
    const types = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array];
    for (const type of [...types, Int32Array, Uint32Array]) {
      const x = type.of(1, 2, 3, 100);
      assert.deepEqual(quantize(x, { scale: 1 }).data, Int8Array.of(1, 2, 3, 100), type.name);
    }
    assert.equal(quantizationError(Uint32Array.of(2 ** 32 - 1), Float32Array.of(2 ** 32)), 0);
  });

  it("codes in memory of every kind, too", () => {
    const codes = [1, -2, 3, 0, 127, -128];
    const makes = [
      () => new Int8Array(new SharedArrayBuffer(6)),
      () => new Int8Array(new SharedArrayBuffer(6, { maxByteLength: 9 })),
      () => new Int8Array(new ArrayBuffer(6, { maxByteLength: 9 })),
      () => new Int8Array(new ArrayBuffer(9), 2, 6),
      () => runInContext("new Int8Array(6)", otherRealm),
    ];
    for (const make of makes) {
      const data = make();
      data.set(codes);
      const q = { data, shape: [6], dtype: "int8", scale: 2, zeroPoint: 0 };
      sameFloats(
        dequantize(q).data,
        codes.map((code) => 2 * code),
      );
      const small = { ...q, data: make(), dtype: "int4" };
      sameCodes(Int8Array.from(unpack(pack(small), small).data), new Int8Array(6));
    }
  });

  it("results, written to memory of every kind", () => {
    const expected = quantize(Float32Array.from(NUMBERS)).data;
    const makes = [
      () => new Int8Array(new SharedArrayBuffer(6)),
      () => new Int8Array(new SharedArrayBuffer(6, { maxByteLength: 9 })),
      () => new Int8Array(new ArrayBuffer(6, { maxByteLength: 9 })),
      () => new Int8Array(new ArrayBuffer(9), 2, 6),
      () => runInContext("new Int8Array(6)", otherRealm),
    ];
    for (const make of makes) {
      const out = make();
      const q = quantize(Float32Array.from(NUMBERS), { out });
      assert.equal(q.data, out);
      assert.deepEqual([...out], [...expected]);
    }
  });
});

describe("Arrays that change during a call", () => {
  /** Changes to an array while options are read: detaching and shrinking its memory. */
  const changes = {
    transferred: () => {
      const data = fill(new Float32Array(6));
      return [data, () => structuredClone(data, { transfer: [data.buffer] })];
    },
    "cut short": () => {
      const data = fill(new Float32Array(new ArrayBuffer(24, { maxByteLength: 64 })));
      return [data, () => data.buffer.resize(8)];
    },
    "made longer": () => {
      const data = fill(new Float32Array(new ArrayBuffer(24, { maxByteLength: 64 })));
      return [data, () => data.buffer.resize(64)];
    },
    "cut away below it": () => {
      const data = fill(new Float32Array(new ArrayBuffer(32, { maxByteLength: 64 }), 8, 6));
      return [data, () => data.buffer.resize(4)];
    },
  };
  /** Functions that read a user's fields after they have checked `x`. */
  const calls = {
    quantize: (x, change) =>
      quantize(x, {
        get axis() {
          change();
          return undefined;
        },
      }),
    "quantize, given qparams": (x, change) =>
      quantize(x, {
        get scale() {
          change();
          return 1;
        },
      }),
    fakeQuantize: (x, change) =>
      fakeQuantize(x, {
        get dtype() {
          change();
          return "int8";
        },
      }),
    chooseQParams: (x, change) =>
      chooseQParams(x, {
        get scheme() {
          change();
          return "affine";
        },
      }),
    quantizationError: (x, change) =>
      quantizationError(x, {
        get data() {
          change();
          return new Float32Array(6);
        },
        shape: [6],
      }),
    linear: (x, change) =>
      linear(
        { data: x, shape: [1, 6] },
        { data: new Float32Array(6), shape: [1, 6] },
        {
          get data() {
            change();
            return [1];
          },
          shape: [1],
        },
      ),
    "linear's weight": (x, change) =>
      linear(
        {
          get data() {
            return [1];
          },
          get shape() {
            change();
            return [1, 1];
          },
        },
        {
          data: x,
          shape: [6, 1],
        },
      ),
    quantizePerTensor: (x, change) =>
      quantizePerTensor(x, 1, 0, "qint8", {
        get compat() {
          change();
          return undefined;
        },
      }),
    quantizePerTensorDynamic: (x, change) =>
      quantizePerTensorDynamic(x, "qint8", true, {
        get out() {
          change();
          return undefined;
        },
      }),
    quantizePerChannel: (x, change) => {
      const scales = {
        get data() {
          change();
          return [1];
        },
        shape: [1],
      };
      return quantizePerChannel({ data: x, shape: [1, 6] }, scales, [0], 0, "qint8");
    },
    fakeQuantizePerTensor: (x, change) =>
      fakeQuantizePerTensor(x, 1, 0, 0, 9, {
        get out() {
          change();
          return undefined;
        },
      }),
  };
  for (const [how, make] of Object.entries(changes)) {
    for (const [name, call] of Object.entries(calls)) {
      it(`are refused by ${name} when ${how}`, () => {
        const [x, change] = make();
        refuses(() => call(x, change), TypeError, "ZP_DETACHED", /was resized or transferred/);
        assert.deepEqual(quantize(Float32Array.from(NUMBERS)).data.length, 6);
      });
    }
  }

  // Options are read before codes are checked: what an option does to them is seen by that check.
  for (const [how, make] of Object.entries(changes)) {
    it(`are refused by dequantize when ${how}, before it checks them`, () => {
      const [x, change] = make();
      const data = new Int8Array(x.buffer, x.byteOffset);
      const q = { data, shape: [data.length], dtype: "int8", scale: 1, zeroPoint: 0 };
      const options = {
        get out() {
          change();
          return undefined;
        },
      };
      const codes = ["ZP_DETACHED", "ZP_SHAPE_MISMATCH"];
      assert.throws(
        () => dequantize(q, options),
        ({ code, message }) => codes.includes(code) && /^dequantize: .*\bq\b/.test(message),
      );
    });
  }

  /** A list of three numbers with other lengths at the first reads. */
  const flip = (...lengths) =>
    new Proxy([1, 2, 3], {
      get: (list, key) => (key === "length" ? (lengths.shift() ?? 3) : list[key]),
    });

  it("may be lists without a length", () => {
    for (const length of [-1, 1.5, Number.NaN, "3", {}, Infinity, 1n]) {
      refuses(
        () => quantize({ data: flip(length), shape: [3] }),
        TypeError,
        "ZP_INVALID_TENSOR",
        /^quantize: x\.data\.length must be an integer >= 0, got /,
      );
      refuses(() => tensor(flip(length)), TypeError, "ZP_INVALID_TENSOR", /values\.length must be/);
    }
  });

  it("may be lists whose length changes, of which the first one counts", () => {
    refuses(
      () => tensor([[1, 2, 3], flip(2)]),
      RangeError,
      "ZP_INVALID_SHAPE",
      /must have length 3/,
    );
    assert.deepEqual(tensor([[1, 2, 3], flip(3, 9, 9)]).data.length, 6);
  });

  it("may have a shape of any length", () => {
    refuses(
      () => quantize({ data: Float32Array.of(1), shape: new Proxy([1], { get: () => 1e9 }) }),
      RangeError,
      "ZP_INVALID_SHAPE",
      /must have at most 64 axes, got 1000000000$/,
    );
  });

  it("may be lists of objects that would compute a number", () => {
    const list = [1, 2];
    const item = {
      valueOf() {
        list.length = 0;
        return 3;
      },
    };
    list.push(item);
    const x = { data: list, shape: [3] };
    refuses(() => quantize(x), TypeError, "ZP_INVALID_TENSOR", /x\.data\[2\] must be a number/);
    assert.equal(list.length, 3);
  });

  it("may shrink by the getter of one of their values", () => {
    const list = [1, 2, 3];
    Object.defineProperty(list, 0, {
      get: () => {
        list.length = 2;
        return 1;
      },
    });
    const message = "quantize: x.data[2] must be a number, got undefined";
    refuses(() => quantize({ data: list, shape: [3] }), TypeError, "ZP_INVALID_TENSOR", message);
  });
});

describe("User code gets no view of the heap", () => {
  let core;
  before(async () => {
    core = await loadBuild("test", embedded, { build: "baseline" });
  });

  /** Runs most of the interface, with tensors of one tile and of many. */
  const runAll = (outOf = (type, length) => new type(length)) => {
    const random = new Random(70);
    for (const [rows, columns] of [
      [3, 4],
      [2, TILE],
    ]) {
      const size = rows * columns;
      const x = { data: random.normal(size), shape: [rows, columns] };
      for (const slicing of [{}, { axis: 0 }, { axis: 1 }, { groupSize: 2 }]) {
        const q = quantize(x, { dtype: "int4", ...slicing, out: outOf(Int8Array, size) });
        dequantize(q, { out: outOf(Float32Array, size) });
        fakeQuantize(x, { ...slicing, out: outOf(Float32Array, size) });
        unpack(pack(q), q);
      }
      for (const metric of ["mse", "max", "cosine"]) quantizationError(x, x, metric);
      const out = outOf(Int8Array, size);
      dequantize(quantizePerTensor(x, 0.1, 0, "qint8", { out }), {
        out: outOf(Float32Array, size),
      });
      dequantize(
        quantizePerChannel(x, new Array(rows).fill(1), new Array(rows).fill(0), 0, "qint8"),
      );
      quantizePerTensorDynamic(x, "quint8");
      linear({ data: x.data.subarray(0, columns), shape: [1, columns] }, x);
      for (const activations of ["float32", "dynamic"]) {
        const layer = new QuantizedLinear(x, { activations });
        layer.forward(
          { data: x.data.subarray(0, columns), shape: [1, columns] },
          outOf(Float32Array, rows),
        );
        layer.dispose();
      }
      new MinMaxObserver().observe(x);
      new PerChannelMinMaxObserver().observe(x);
      new HistogramObserver({ bins: 8 }).observe(x);
    }
  };

  /** Runs work while methods of typed arrays pass the memory of each array that they get to `see`. */
  function whileSeeingArrays(see, work) {
    const prototype = Object.getPrototypeOf(Int8Array.prototype);
    const replaced = new Map();
    for (const name of ["set", "subarray", "slice", "fill", "map", "keys", Symbol.iterator]) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
      replaced.set(name, descriptor);
      Object.defineProperty(prototype, name, {
        ...descriptor,
        value(...args) {
          for (const value of [this, ...args]) if (ArrayBuffer.isView(value)) see(value.buffer);
          return descriptor.value.apply(this, args);
        },
      });
    }
    try {
      work();
    } finally {
      for (const [name, descriptor] of replaced) Object.defineProperty(prototype, name, descriptor);
    }
  }

  it("through replaced methods of arrays", () => {
    const heaps = new Set();
    const seen = new Set();
    const work = () => {
      heaps.add(core.module.HEAPU8.buffer);
      runAll();
      heaps.add(core.module.HEAPU8.buffer);
    };
    whileSeeingArrays(
      (buffer) => seen.add(buffer),
      () => runOn(core, work),
    );
    assert.ok(seen.size > 0, "the methods were called");
    for (const heap of heaps) assert.ok(!seen.has(heap), "the heap was seen");
  });

  it("through an out whose class overrides every method", () => {
    const seen = [];
    const evil = (type, length) => {
      const out = new type(length);
      for (const name of ["set", "subarray", "slice", "constructor", "length", "byteLength"]) {
        Object.defineProperty(out, name, {
          get() {
            seen.push(name);
            return name.endsWith("ength") ? 0 : () => assert.fail(`${name} was called`);
          },
        });
      }
      return out;
    };
    runOn(core, () => runAll(evil));
    const wrong = seen.filter((name) => !["length"].includes(name));
    assert.deepEqual(wrong, []);
    const out = evil(Int8Array, 2);
    quantize(Float32Array.of(1, 2), { scale: 1, out });
    assert.deepEqual([out[0], out[1]], [1, 2]);
  });

  it("through the results of a call", () => {
    runOn(core, () => {
      const heap = core.module.HEAPU8.buffer;
      const x = { data: new Random(71).normal(12), shape: [3, 4] };
      const q = quantize(x, { axis: 0 });
      const arrays = [
        ...[q.data, q.scale.data, q.zeroPoint.data, dequantize(q).data, pack(q)],
        ...[fakeQuantize(x).data, linear(x, q).data],
      ];
      for (const { buffer, byteLength } of arrays) {
        assert.notEqual(buffer, heap);
        assert.equal(buffer.byteLength, byteLength);
      }
    });
  });
});

describe("The core's memory", () => {
  /** A core whose heap grows before and after each of some functions, and the heaps that they have seen. */
  async function growingCore() {
    const core = await loadBuild("test", embedded, { build: "baseline" });
    const { module } = core;
    const heaps = new Set();
    const growing = { ...module };
    Object.defineProperty(growing, "HEAPU8", { get: () => module.HEAPU8 });
    for (const name of ["quantize", "chooseQParams", "dequantize", "ranges"]) {
      growing[name] = (...args) => {
        heaps.add(module.HEAPU8.buffer);
        const address = module.allocate(24 * 2 ** 20);
        assert.notEqual(address, 0);
        const result = module[name](...args);
        module.allocate(24 * 2 ** 20);
        return result;
      };
    }
    return { heaps, grown: { ...core, module: growing, memory: new Memory(growing) } };
  }

  for (const size of [100, 3 * TILE]) {
    it(`may grow while a call on ${size} values runs`, async () => {
      const { heaps, grown } = await growingCore();
      const x = new Random(72).normal(size);
      const expected = quantize(x);
      const values = dequantize(expected);
      runOn(grown, () => {
        const q = quantize(x);
        sameCodes(q.data, expected.data);
        assert.equal(q.scale, expected.scale);
        sameFloats(dequantize(q).data, values.data);
      });
      assert.ok(heaps.size >= 3, `${heaps.size} heaps`);
    });
  }

  describe("that is full", () => {
    const x = new Random(73).normal(1000);
    const big = new Float32Array(TILE);
    const row = { data: big, shape: [1, TILE] };
    const q = { data: new Int8Array(TILE), shape: [TILE], dtype: "int8", scale: 1, zeroPoint: 0 };
    const calls = {
      quantize: () => quantize(big, { scale: 1 }),
      chooseQParams: () => chooseQParams(new Float32Array(4 * TILE)),
      dequantize: () => dequantize(q),
      quantizationError: () => quantizationError(big, big),
      linear: () => linear(big, row),
      QuantizedLinear: () => new QuantizedLinear(row, { scale: 1 }),
      quantizePerTensor: () => quantizePerTensor(big, 1, 0, "qint8"),
      MinMaxObserver: () => new MinMaxObserver().observe(big),
    };

    /** A core that has memory for small calls only, and their result. */
    let full;
    let codes;
    before(async () => {
      const core = await loadBuild("test", embedded, { build: "baseline" });
      const module = { ...core.module };
      Object.defineProperty(module, "HEAPU8", { get: () => core.module.HEAPU8 });
      full = { ...core, module, memory: new Memory(module) };
      module.allocate = (bytes) => (bytes > 70_000 ? 0 : core.module.allocate(bytes));
      codes = runOn(full, () => quantize(x).data);
    });

    for (const [name, call] of Object.entries(calls)) {
      it(`makes ${name} throw an error with the size, and serves smaller calls after it`, () => {
        const message =
          /: the core needs \d{6,} bytes \(\d\.\d MiB\) for this call, more than it can have$/;
        runOn(full, () => {
          refuses(call, RangeError, "ZP_OUT_OF_MEMORY", message);
          sameCodes(quantize(x).data, codes);
        });
      });
    }
  });
});
