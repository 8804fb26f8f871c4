import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, QuantizedLinear, quantize, tensor } from "zeropoint";
import { embedded, loadBuild, runOn } from "../../internal/core.mjs";
import { Random, refuses, sameDeep, sameTensor } from "../support/asserts.mjs";
import { ACCUMULATE, weightOptions } from "./cases.mjs";

await init();

const random = new Random(90);
const K = 32;
const whole = tensor(random.normal(29 * K), [29, K]);
const bias = random.normal(29);
const x = tensor(random.normal(5 * K), [5, K]);

/** Rows of the weight as a tensor. */
const rowsOf = (first, end) => tensor(whole.data.slice(first * K, end * K), [end - first, K]);

/** Quantized rows of a quantized weight. */
function codesOf(q, first, end) {
  const { data, shape, scale, zeroPoint } = q;
  const isShared = typeof scale === "number" || scale.shape[0] === 1;
  const part = ({ data: all, shape: [rows] }) => {
    const each = rows / shape[0];
    return { data: all.slice(first * each, end * each), shape: [(end - first) * each, 1] };
  };
  return {
    ...q,
    data: data.slice(first * K, end * K),
    shape: [end - first, K],
    ...(!isShared && { scale: part(scale), zeroPoint: part(zeroPoint) }),
  };
}

describe("QuantizedLinear.append", () => {
  /** A layer of the rows of a quantized weight, appended in pieces of different sizes. */
  function grownFrom(q, accumulate, bias) {
    const [first, ...rest] = [
      [0, 3],
      [3, 4],
      [4, 4],
      [4, 16],
      [16, 29],
    ];
    const layer = new QuantizedLinear(codesOf(q, ...first), {
      accumulate,
      bias: bias?.slice(...first),
    });
    for (const rows of rest) {
      assert.equal(layer.append(codesOf(q, ...rows), { bias: bias?.slice(...rows) }), layer);
    }
    return layer;
  }

  for (const accumulate of ACCUMULATE) {
    for (const own of [undefined, bias]) {
      const title = `${accumulate}, ${own ? "with" : "without"} bias`;
      it(`gives the layer of all rows, bit for bit, from codes in pieces of any size: ${title}`, () => {
        for (const options of weightOptions(8)) {
          const text = JSON.stringify(options);
          const q = quantize(whole, options);
          const expected = new QuantizedLinear(q, { accumulate, bias: own });
          const grown = grownFrom(q, accumulate, own);
          sameTensor(grown.forward(x), expected.forward(x), text);
          sameDeep(grown.qparams, expected.qparams, text);
          assert.equal(String(grown), String(expected));
          expected.dispose();
          grown.dispose();
        }
      });
    }
  }

  it("quantizes float rows by the layer's options, each with its own scale", () => {
    for (const options of weightOptions(8)) {
      if (options.axis !== 0 && options.groupSize === undefined) continue;
      const expected = new QuantizedLinear(whole, options);
      const grown = new QuantizedLinear(rowsOf(0, 9), options).append(rowsOf(9, 29));
      sameTensor(grown.forward(x), expected.forward(x), JSON.stringify(options));
      expected.dispose();
      grown.dispose();
    }
  });

  it("quantizes float rows with the scale that all outputs share", () => {
    for (const options of [{}, { dtype: "uint8", scheme: "affine" }, { axis: 1 }]) {
      const first = quantize(rowsOf(0, 9), options);
      const grown = new QuantizedLinear(first).append(rowsOf(9, 29));
      const { scale, zeroPoint, dtype, axis } = first;
      const expected = new QuantizedLinear(quantize(whole, { dtype, axis, scale, zeroPoint }));
      sameTensor(grown.forward(x), expected.forward(x), JSON.stringify(options));
      assert.deepEqual(grown.qparams.scale, scale);
      expected.dispose();
      grown.dispose();
    }
  });

  it("works with dynamic activations", () => {
    const options = { activations: "dynamic", axis: 0 };
    const expected = new QuantizedLinear(whole, options);
    const grown = new QuantizedLinear(rowsOf(0, 9), options).append(rowsOf(9, 29));
    sameTensor(grown.forward(x), expected.forward(x));
    const shared = new QuantizedLinear(whole, { activations: "dynamic" });
    const alike = new QuantizedLinear(quantize(whole, { scale: shared.qparams.scale }), {
      activations: "dynamic",
    }).append(rowsOf(0, 2));
    sameTensor(
      { shape: [5, 2], data: columns(alike.forward(x), 29, 31) },
      { shape: [5, 2], data: columns(shared.forward(x), 0, 2) },
    );
    for (const layer of [expected, grown, shared, alike]) layer.dispose();
  });

  it("packs all rows again for the first zero points of a layer", () => {
    const affine = { dtype: "uint4", scheme: "affine", axis: 0 };
    const centered = quantize(rowsOf(0, 9), { ...affine, scale: 0.5, zeroPoint: 8 });
    const off = quantize(rowsOf(9, 29), { ...affine, scale: 0.5, zeroPoint: 3 });
    const both = {
      ...centered,
      data: Uint8Array.of(...centered.data, ...off.data),
      shape: [29, K],
      scale: new Float32Array(29).fill(0.5),
      zeroPoint: Int32Array.from({ length: 29 }, (_, row) => (row < 9 ? 8 : 3)),
    };
    const grown = new QuantizedLinear(centered, { bias: bias.slice(0, 9) });
    grown.append(off, { bias: bias.slice(9) });
    const expected = new QuantizedLinear(both, { bias });
    sameTensor(grown.forward(x), expected.forward(x));
    expected.dispose();
    grown.dispose();
  });

  it("grows a layer without rows", () => {
    const grown = new QuantizedLinear(tensor(new Float32Array(0), [0, K]), { axis: 0 });
    grown.append(whole);
    const expected = new QuantizedLinear(whole, { axis: 0 });
    sameTensor(grown.forward(x), expected.forward(x));
    expected.dispose();
    grown.dispose();
  });

  it("costs as much as the appended rows, however many the layer has", () => {
    const options = { dtype: "int4", groupSize: 4 };
    const row = rowsOf(0, 1);
    /** Values of the arrays that 100 appends make. */
    const madeBy = (rows) => {
      const own = new QuantizedLinear(tensor(random.normal(rows * K), [rows, K]), options);
      // The first one makes room.
      own.append(row);
      const types = ["Float32Array", "Int32Array", "Int8Array", "Float64Array"];
      const originals = types.map((name) => globalThis[name]);
      let made = 0;
      const construct = (type, args, target) => {
        if (typeof args[0] === "number") made += args[0];
        return Reflect.construct(type, args, target);
      };
      for (const [i, name] of types.entries()) {
        globalThis[name] = new Proxy(originals[i], { construct });
      }
      try {
        for (let i = 0; i < 100; i++) own.append(row);
      } finally {
        for (const [i, name] of types.entries()) globalThis[name] = originals[i];
      }
      assert.equal(own.outFeatures, rows + 101);
      own.dispose();
      return made;
    };
    const [few, many] = [madeBy(1000), madeBy(20_000)];
    assert.ok(few > 0);
    assert.ok(many <= few, `${many} values for a layer of 20000 rows, ${few} for one of 1000`);
  });

  it("moves the packed weight each time the layer has grown by an eighth, not for each row", async () => {
    const core = await loadBuild("test", embedded, { build: "baseline" });
    const { growWeight } = core.module;
    let moves = 0;
    core.module.growWeight = (...args) => {
      moves++;
      return growWeight(...args);
    };
    runOn(core, () => {
      const rows = tensor(random.normal(1000 * K), [1000, K]);
      const layer = new QuantizedLinear(rows, { axis: 0 });
      for (let i = 0; i < 200; i++) layer.append(rowsOf(0, 1));
      assert.equal(layer.outFeatures, 1200);
      assert.equal(moves, 2);
      layer.dispose();
    });
  });

  it("holds one block at a time, and gives it back", async () => {
    const core = await loadBuild("test", embedded, { build: "baseline" });
    const { allocate, release } = core.module;
    const blocks = new Set();
    core.module.allocate = (bytes) => {
      const address = allocate(bytes);
      blocks.add(address);
      return address;
    };
    core.module.release = (address) => {
      blocks.delete(address);
      release(address);
    };
    runOn(core, () => {
      const layer = new QuantizedLinear(whole, { axis: 0, bias });
      const held = blocks.size;
      for (let i = 0; i < 20; i++) layer.append(whole, { bias });
      assert.equal(layer.outFeatures, 21 * 29);
      assert.equal(blocks.size, held);
      layer.dispose();
      assert.equal(blocks.size, held - 1);
      refuses(() => layer.append(whole, { bias }), TypeError, "ZP_DISPOSED", /disposed/);
    });
  });

  it("keeps the layer unchanged where the core refuses a piece", async () => {
    const core = await loadBuild("test", embedded, { build: "baseline" });
    const { packRows } = core.module;
    runOn(core, () => {
      const layer = new QuantizedLinear(whole, { axis: 0, bias });
      const before = layer.forward(x);
      for (let attempt = 0; attempt < 2; attempt++) {
        // The first call packs, which puts the new rows behind the layer's own.
        core.module.packRows = (...args) => {
          packRows(...args);
          return "kInvalidScale";
        };
        refuses(() => layer.append(whole, { bias }), RangeError, "ZP_INVALID_SCALE", /./);
        core.module.packRows = packRows;
        assert.equal(layer.outFeatures, 29);
        sameTensor(layer.forward(x), before);
      }
      layer.dispose();
    });
  });

  it("refuses rows that do not fit, and keeps the layer unchanged", () => {
    const q = quantize(whole, { axis: 0 });
    const layer = new QuantizedLinear(q, { bias });
    const before = layer.forward(x);
    const attempts = [
      [tensor([[1, 2]]), {}, RangeError, "ZP_SHAPE_MISMATCH", /32 values in each row/],
      [quantize(whole, { axis: 0, dtype: "int4" }), {}, RangeError, "ZP_UNSUPPORTED_DTYPE", /int8/],
      [quantize(whole), {}, TypeError, "ZP_CONFLICTING_OPTIONS", /for each output \(axis 0\)/],
      [whole, {}, TypeError, "ZP_CONFLICTING_OPTIONS", /options.bias must be given/],
      [
        whole,
        { bias: Float32Array.of(1) },
        RangeError,
        "ZP_SHAPE_MISMATCH",
        /options.bias must have shape \[29\]/,
      ],
      [whole, { axis: 0 }, TypeError, "ZP_UNKNOWN_OPTION", /axis/],
      [tensor([new Array(K).fill(NaN)]), {}, RangeError, "ZP_NON_FINITE", /finite/],
    ];
    for (const [weight, options, type, code, message] of attempts) {
      refuses(() => layer.append(weight, options), type, code, message);
    }
    assert.equal(layer.outFeatures, 29);
    sameTensor(layer.forward(x), before);
    layer.dispose();
  });

  it("refuses a bias or another scale if the layer has no bias, or one scale for all outputs", () => {
    const plain = new QuantizedLinear(quantize(whole));
    refuses(() => plain.append(whole, { bias }), TypeError, "ZP_CONFLICTING_OPTIONS", /no bias/);
    refuses(
      () => plain.append(quantize(whole, { scale: 1 })),
      RangeError,
      "ZP_INVALID_SCALE",
      /which all outputs share/,
    );
    plain.dispose();
  });
});

/** Columns of a matrix. */
function columns({ data, shape: [, n] }, first, end) {
  const out = [];
  for (let row = 0; row < data.length / n; row++)
    out.push(...data.slice(row * n + first, row * n + end));
  return Float32Array.from(out);
}
