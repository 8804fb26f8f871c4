import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, linear, QuantizedLinear, quantize, tensor, unpackLinear } from "zeropoint";
import { embedded, loadBuild, Memory } from "../../internal/core.mjs";
import { PackedWeight } from "../../internal/linear.mjs";
import { Random, refuses, sameFloats, sameTensor } from "../support/asserts.mjs";
import { ACCUMULATE, weightOptions } from "./cases.mjs";

await init();

describe("PackedWeight", () => {
  it("gives its memory back when the core refuses the weight", async () => {
    const { module } = await loadBuild("test", embedded, { build: "baseline" });
    const blocks = new Set();
    const refusing = {
      ...module,
      allocate(bytes) {
        const address = module.allocate(bytes);
        blocks.add(address);
        return address;
      },
      release(address) {
        blocks.delete(address);
        module.release(address);
      },
      packRows: () => "kInvalidScale",
    };
    const memory = new Memory(refusing);
    const weight = {
      ...{ outFeatures: 1, inFeatures: 2, dtype: "int8", granularity: "perTensor", groupSize: 0 },
      ...{ rows: () => Int8Array.of(1, 2), scales: [1], zeroPoints: [0] },
    };
    const pack = () => new PackedWeight({ module: refusing, memory }, "test", weight);
    assert.throws(pack, { code: "ZP_INVALID_SCALE" });
    // The scratch block stays, as always.
    assert.deepEqual([...blocks], memory.layOut("test", 0));
  });
});

describe("QuantizedLinear", () => {
  const random = new Random(70);
  const w = tensor(random.normal(6 * 32), [6, 32]);
  const bias = tensor(random.normal(6));
  const x = tensor(random.normal(2 * 3 * 32), [2, 3, 32]);

  it("computes what linear computes, bit for bit, from float weights and from codes", () => {
    for (const accumulate of ACCUMULATE) {
      for (const options of weightOptions(8)) {
        const q = quantize(w, options);
        for (const ownBias of [undefined, bias]) {
          const expected = linear(x, q, ownBias, { accumulate });
          const fromFloat = new QuantizedLinear(w, { ...options, bias: ownBias, accumulate });
          const fromCodes = new QuantizedLinear(q, { bias: ownBias, accumulate });
          sameTensor(fromFloat.forward(x), expected, JSON.stringify(options));
          sameTensor(fromCodes.forward(x), expected, JSON.stringify(options));
          fromFloat.dispose();
          fromCodes.dispose();
        }
      }
    }
  });

  it("takes groups that are longer than 2^32, as one group for each row", () => {
    const random = new Random(7);
    const [w, x] = [3, 2].map((rows) => tensor(random.normal(20 * rows), [rows, 20]));
    for (const groupSize of [2 ** 32, 2 ** 32 + 3, 2 ** 40]) {
      for (const activations of ["float32", "dynamic"]) {
        const options = { dtype: "int4", activations };
        const layer = new QuantizedLinear(w, { ...options, groupSize });
        sameTensor(
          layer.forward(x),
          new QuantizedLinear(w, { ...options, groupSize: 20 }).forward(x),
        );
        layer.append(w);
        const q = quantize(tensor([...w.data, ...w.data], [6, 20]), { dtype: "int4", groupSize });
        assert.deepEqual(unpackLinear(layer).weight, q);
        sameTensor(linear(x, q), new QuantizedLinear(q).forward(x));
      }
    }
  });

  it("describes itself by its properties", () => {
    const layer = new QuantizedLinear(w, { dtype: "int4", groupSize: 8 });
    const { data, shape, ...qparams } = quantize(w, { dtype: "int4", groupSize: 8 });
    assert.equal(layer.inFeatures, 32);
    assert.equal(layer.outFeatures, 6);
    assert.equal(layer.accumulate, "exact");
    assert.deepEqual(layer.qparams, qparams);
    assert.deepEqual(shape, [6, 32]);
    assert.equal(data.length, 192);
    layer.dispose();
  });

  it("keeps copies of weight and bias", () => {
    const q = quantize(w);
    const ownBias = tensor(bias);
    const layer = new QuantizedLinear(q, { bias: ownBias });
    const expected = layer.forward(x);
    q.data.fill(0);
    ownBias.data.fill(0);
    sameTensor(layer.forward(x), expected);
    layer.dispose();
  });

  it("works beside other layers and other calls", () => {
    const layers = Array.from({ length: 20 }, (_, i) => new QuantizedLinear(w, { scale: i + 1 }));
    const expected = layers.map((_, i) => linear(x, quantize(w, { scale: i + 1 })));
    for (let i = 0; i < 20; i += 2) layers[i].dispose();
    quantize(tensor(new Float32Array(100_000).fill(1)));
    for (let i = 1; i < 20; i += 2) {
      sameTensor(layers[i].forward(x), expected[i]);
      layers[i].dispose();
    }
  });

  it("takes a weight without rows or columns", () => {
    const noRows = new QuantizedLinear(tensor(new Float32Array(0), [0, 3]), { scale: 1 });
    sameTensor(noRows.forward(tensor([1, 2, 3])), { data: [], shape: [0] });
    const noColumns = new QuantizedLinear(tensor(new Float32Array(0), [2, 0]), {
      scale: 1,
      bias: Float32Array.of(1, 2),
    });
    sameTensor(noColumns.forward(tensor([])), { data: [1, 2], shape: [2] });
    noRows.dispose();
    noColumns.dispose();
  });

  it("takes null for no bias", () => {
    const layer = new QuantizedLinear(w, { bias: null });
    sameTensor(layer.forward(x), linear(x, quantize(w)));
    layer.dispose();
  });

  it("writes into out, an array or a tensor, and returns it", () => {
    const layer = new QuantizedLinear(w, { axis: 0 });
    const expected = layer.forward(x);
    const array = new Float32Array(36);
    const fromArray = layer.forward(x, array);
    assert.equal(fromArray.data, array);
    sameTensor(fromArray, expected);
    const whole = tensor(new Float32Array(36), [2, 3, 6]);
    assert.equal(layer.forward(x, whole), whole);
    sameTensor(whole, expected);
    layer.dispose();
  });

  it("prints as PyTorch's layers do", () => {
    const text = (options) => {
      const layer = new QuantizedLinear(w, options);
      layer.dispose();
      return String(layer);
    };
    const start = "QuantizedLinear(in_features=32, out_features=6, dtype=";
    assert.equal(text(), `${start}int8)`);
    assert.equal(text({ axis: 0 }), `${start}int8, axis=0)`);
    assert.equal(text({ dtype: "int4", groupSize: 8 }), `${start}int4, group_size=8)`);
    assert.equal(text({ activations: "dynamic" }), `${start}int8, activations=dynamic)`);
  });

  it("writes to the memory of a clone of a tensor", () => {
    const layer = new QuantizedLinear(w);
    const out = { data: new Float32Array(36), shape: [2, 3, 6] };
    const result = layer.forward(x, out);
    assert.equal(result.data, out.data);
    sameTensor(result, layer.forward(x));
    layer.dispose();
  });

  it("is written to out by functions without a layer", () => {
    const bias = tensor(new Float32Array(6).fill(2));
    for (const weight of [w, quantize(w)]) {
      const out = tensor(new Float32Array(36), [2, 3, 6]);
      assert.equal(linear(x, weight, bias, { out }), out);
      sameTensor(out, linear(x, weight, bias));
      const { data } = weight === w ? w : x;
      const shared = data.subarray(0, 36);
      const message = "linear: options.out must not share memory with an input";
      const work = () => linear(x, weight, bias, { out: shared });
      refuses(work, RangeError, "ZP_INVALID_OUT", message);
    }
  });

  it("returns at once without outputs, for any number of rows", () => {
    const layer = new QuantizedLinear(quantize(tensor([], [0, 0]), { scale: 1 }));
    const none = () => tensor(new Float32Array(0), [2 ** 32 - 1, 0]);
    const out = none();
    assert.equal(layer.forward(none(), out), out);
    layer.dispose();
  });

  it("refuses a wrong out, untouched", () => {
    const layer = new QuantizedLinear(w);
    const where = "QuantizedLinear.forward: out";
    const wrong = [
      [
        new Float64Array(36),
        TypeError,
        `${where} must be of type Float32Array, got Float64Array(36)`,
      ],
      [new Float32Array(35), RangeError, `${where} must have length 36, got 35`],
      [tensor(new Float32Array(36)), RangeError, `${where} must have shape [2, 3, 6], got [36]`],
      [{}, TypeError, `${where} must be a Float32Array or a tensor, got an empty object`],
      [x.data.subarray(0, 36), RangeError, `${where} must not share memory with an input`],
    ];
    const before = Float32Array.from(x.data);
    for (const [out, type, message] of wrong) {
      refuses(() => layer.forward(x, out), type, "ZP_INVALID_OUT", message);
    }
    sameFloats(x.data, before);
    layer.dispose();
  });

  /** A tensor on the memory of a buffer. */
  const viewed = (buffer, start, shape) => {
    const view = tensor(new Float32Array(shape[0] * shape[1]), shape);
    view.data = new Float32Array(buffer, 4 * start, view.data.length);
    return view;
  };

  it("refuses an out tensor that overlaps the input tensor, and does not write to it", () => {
    const layer = new QuantizedLinear(w);
    const values = random.normal(100);
    for (const [inputAt, outAt] of [
      [0, 0],
      [0, 52],
      [0, 63],
      [11, 0],
      [20, 30],
    ]) {
      const { buffer } = Float32Array.from(values);
      const input = viewed(buffer, inputAt, [2, 32]);
      const out = viewed(buffer, outAt, [2, 6]);
      const message = "QuantizedLinear.forward: out.data must not share memory with an input";
      refuses(() => layer.forward(input, out), RangeError, "ZP_INVALID_OUT", message);
      sameFloats(new Float32Array(buffer), values, `input at ${inputAt}, out at ${outAt}`);
    }
    layer.dispose();
  });

  it("writes to an out tensor beside the input tensor in one buffer", () => {
    const layer = new QuantizedLinear(w);
    const values = random.normal(100);
    const { buffer } = Float32Array.from(values);
    const input = viewed(buffer, 12, [2, 32]);
    for (const outAt of [0, 76]) {
      const out = viewed(buffer, outAt, [2, 6]);
      assert.equal(layer.forward(input, out), out);
      sameTensor(out, linear(tensor(values.slice(12, 76), [2, 32]), quantize(w)));
    }
    layer.dispose();
  });

  it("refuses an input of another length, and stays usable", () => {
    const layer = new QuantizedLinear(w);
    refuses(
      () => layer.forward(tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "QuantizedLinear.forward: input must have 32 values on its last axis, as weight of shape " +
        "[6, 32] has, got shape [2]",
    );
    refuses(
      () => layer.forward(),
      TypeError,
      "ZP_INVALID_TENSOR",
      /forward: input must be a tensor/,
    );
    sameTensor(layer.forward(x), linear(x, quantize(w)));
    layer.dispose();
  });

  const q = quantizeLater();
  function quantizeLater() {
    return { data: new Int8Array(192), shape: [6, 32], dtype: "int8", scale: 1, zeroPoint: 0 };
  }
  const refused = [
    [
      "what is no tensor",
      [[1, 2]],
      {},
      TypeError,
      "ZP_INVALID_TENSOR",
      /^QuantizedLinear: weight must be a tensor/,
    ],
    [
      "a weight of one axis",
      tensor([1, 2]),
      {},
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "QuantizedLinear: weight must have shape [outFeatures, inFeatures], got [2]",
    ],
    [
      "activations of another kind",
      w,
      { activations: "static" },
      RangeError,
      "ZP_INVALID_OPTION",
      'QuantizedLinear: options.activations must be "float32" or "dynamic", got "static"',
    ],
    [
      "int16",
      w,
      { dtype: "int16" },
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      'QuantizedLinear: options.dtype must be a dtype of 1 to 8 bits for the weight of a linear layer, got "int16"',
    ],
    [
      "int32 codes",
      { ...q, dtype: "int32", data: new Int32Array(192) },
      {},
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      /weight\.dtype must be a dtype of 1 to 8 bits/,
    ],
    [
      "options to quantize codes that are there",
      q,
      { axis: 0 },
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      "QuantizedLinear: options.axis says how to quantize, but weight is quantized already",
    ],
    [
      "a bias of another length",
      w,
      { bias: [1, 2] },
      TypeError,
      "ZP_INVALID_TENSOR",
      /options\.bias must be a tensor.*got an array/,
    ],
    [
      "a bias that is too long",
      w,
      { bias: new Float32Array(7) },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "QuantizedLinear: options.bias must have shape [6], one value per row of weight, got [7]",
    ],
    [
      "an unknown way to accumulate",
      w,
      { accumulate: "int32" },
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.accumulate must be "exact" or "float32"/,
    ],
    [
      "a misspelt option",
      w,
      { activation: "float32" },
      TypeError,
      "ZP_UNKNOWN_OPTION",
      'QuantizedLinear: options has no "activation"; did you mean activations?',
    ],
    [
      "a group size of 0",
      w,
      { groupSize: 0 },
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      "QuantizedLinear: options.groupSize must be a positive integer, got 0",
    ],
    [
      "a weight with NaN",
      tensor([[NaN]]),
      {},
      RangeError,
      "ZP_NON_FINITE",
      /^QuantizedLinear: weight must be finite .* value 0 is NaN/,
    ],
    [
      "a weight without values to choose a scale from",
      tensor(new Float32Array(0), [2, 0]),
      { axis: 0 },
      RangeError,
      "ZP_EMPTY",
      /^QuantizedLinear: a channel of weight has no values/,
    ],
  ];
  for (const [name, weight, options, type, code, message] of refused) {
    it(`refuses ${name}`, () => {
      refuses(() => new QuantizedLinear(weight, options), type, code, message);
    });
  }

  it("must be made with new", () => {
    assert.throws(() => QuantizedLinear(w), TypeError);
  });
});
