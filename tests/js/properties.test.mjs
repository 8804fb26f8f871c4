// Laws that hold for any tensor and any options, tried on random ones; and random nonsense, which must
// be refused by name or answered rightly, and must never leave a mark.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
import { quantizeTensor } from "./reference.mjs";
import { DTYPE_NAMES, DTYPES, Random, sameCodes, sameFloats, sameTensor } from "./support.mjs";

await init();

const ROUNDS = 400;

function randomShape(random) {
  const rank = random.integer(1, 4);
  return Array.from({ length: rank }, () => random.integer(1, 7));
}

function randomTensor(random, shape = randomShape(random)) {
  const size = shape.reduce((a, b) => a * b, 1);
  const values = random.normal(size, 10 ** random.integer(-6, 6));
  if (random.integer(0, 3) === 0) values.fill(0, 0, random.integer(0, size));
  return tensor(values, shape);
}

function randomOptions(random, shape, dtypes = DTYPE_NAMES) {
  const dtype = random.pick(dtypes);
  const scheme = DTYPES[dtype].qmin === 0 ? "affine" : random.pick(["symmetric", "affine"]);
  const options = { dtype, scheme, includeZero: random.pick([true, false]) };
  const slicing = random.integer(0, 2);
  if (slicing === 1) options.axis = random.integer(-shape.length, shape.length - 1);
  if (slicing === 2) {
    const divisors = [1, 2, 3, 4, 5, 6, 7].filter((size) => shape.at(-1) % size === 0);
    options.groupSize = random.pick(divisors);
  }
  return options;
}

/** Runs `law` on random tensors and options, and says on which it failed. */
function forAll(seed, law) {
  const random = new Random(seed);
  for (let round = 0; round < ROUNDS; round++) {
    const x = randomTensor(random);
    const options = randomOptions(random, x.shape);
    try {
      law(x, options, random);
    } catch (error) {
      error.message = `shape [${x.shape}], ${JSON.stringify(options)}: ${error.message}`;
      throw error;
    }
  }
}

describe("for any tensor and options", () => {
  it("quantize and dequantize agree with the reference", () => {
    forAll(1, (x, options) => {
      const { codes, values } = quantizeTensor(x.data, x.shape, options);
      const q = quantize(x, options);
      sameCodes(q.data, codes);
      sameFloats(dequantize(q).data, values);
    });
  });

  it("values come back to within half a step, where the range contains 0", () => {
    forAll(2, (x, options) => {
      const given = { ...options, includeZero: true };
      const q = quantize(x, given);
      const values = dequantize(q).data;
      const { qmin, qmax } = DTYPES[options.dtype];
      values.forEach((value, i) => {
        const step = stepOf(q, i);
        // Beside the half step: half of one for rounding the zero point, which moves the range's end,
        // and float32's roundings of the quotient, the sum and the product (2^-23 of the range each).
        const bound =
          step * (options.scheme === "affine" ? 1 : 0.5) + 4 * step * (qmax - qmin) * 2 ** -23;
        assert.ok(Math.abs(value - x.data[i]) <= bound, `${value} for ${x.data[i]}, step ${step}`);
      });
    });
  });

  function stepOf(q, i) {
    if (typeof q.scale === "number") return q.scale;
    if (q.groupSize !== undefined) return q.scale.data[Math.floor(i / q.groupSize)];
    const inner = q.shape.slice(q.axis + 1).reduce((a, b) => a * b, 1);
    return q.scale.data[Math.floor(i / inner) % q.shape[q.axis]];
  }

  it("quantizing what dequantize gives changes nothing", () => {
    forAll(3, (x, options) => {
      // int32 has more codes than float32 tells apart.
      if (options.dtype === "int32") return;
      const q = quantize(x, options);
      assert.deepEqual(quantize(dequantize(q), q), q);
    });
  });

  it("real 0 stays 0 where the range contains it", () => {
    forAll(4, (x, options) => {
      const q = quantize(x, { ...options, includeZero: true });
      const values = dequantize(q).data;
      x.data.forEach((value, i) => {
        if (value === 0) assert.ok(values[i] === 0, `${values[i]}`);
      });
    });
  });

  it("greater values never get smaller codes", () => {
    forAll(5, (x, options) => {
      const sorted = tensor(Float32Array.from(x.data).sort(), x.shape);
      const { dtype, scheme } = options;
      const codes = quantize(sorted, { dtype, scheme }).data;
      for (let i = 1; i < codes.length; i++) assert.ok(codes[i] >= codes[i - 1]);
    });
  });

  it("one group is the whole tensor, but for the scale's rounding", () => {
    forAll(6, (x, { dtype, scheme, includeZero }) => {
      const flat = tensor(x.data);
      const whole = quantize(flat, { dtype, scheme, includeZero });
      const group = quantize(flat, { dtype, scheme, includeZero, groupSize: x.data.length });
      assert.equal(group.scale.data[0], Math.fround(whole.scale));
      assert.equal(group.zeroPoint.data[0], whole.zeroPoint);
      sameCodes(group.data, whole.data);
    });
  });

  it("exchanging two channels exchanges their codes", () => {
    forAll(7, (x, options, random) => {
      const { dtype, scheme, includeZero } = options;
      const columns = x.data.length / x.shape[0];
      const order = x.shape[0] > 1 ? [1, 0] : [0];
      for (let i = order.length; i < x.shape[0]; i++) order.splice(random.integer(0, i), 0, i);
      const permute = (data) =>
        data.map((_, i) => data[order[Math.floor(i / columns)] * columns + (i % columns)]);
      const before = quantize(x, { dtype, scheme, includeZero, axis: 0 });
      const after = quantize(tensor(permute(x.data), x.shape), {
        dtype,
        scheme,
        includeZero,
        axis: 0,
      });
      sameCodes(after.data, permute(before.data));
    });
  });

  it("quantize, chooseQParams, fakeQuantize, pack and structuredClone tell one story", () => {
    forAll(8, (x, options) => {
      const q = quantize(x, options);
      assert.deepEqual(quantize(x, chooseQParams(x, options)), q);
      sameTensor(fakeQuantize(x, options), dequantize(q));
      assert.deepEqual(unpack(pack(q), q), q);
      sameTensor(dequantize(structuredClone(q)), dequantize(q));
    });
  });

  it("errors are 0 for equal tensors, do not mind the order, and grow with the distance", () => {
    forAll(9, (x, options) => {
      const y = fakeQuantize(x, options);
      for (const metric of ["mse", "mae", "max"]) {
        assert.equal(quantizationError(x, x, metric), 0);
        assert.equal(quantizationError(x, y, metric), quantizationError(y, x, metric));
      }
      assert.equal(quantizationError(x, y, "cosine"), quantizationError(y, x, "cosine"));
      const mae = quantizationError(x, y, "mae");
      const max = quantizationError(x, y, "max");
      assert.ok(mae <= max * (1 + 2 ** -20), `${mae} ${max}`);
    });
  });

  it("a layer computes what linear computes", () => {
    const random = new Random(10);
    for (let round = 0; round < ROUNDS; round++) {
      const [n, k] = [random.integer(1, 9), random.integer(1, 7)];
      const w = randomTensor(random, [n, k]);
      const narrow = DTYPE_NAMES.filter((dtype) => DTYPES[dtype].bits <= 8);
      const options = randomOptions(random, w.shape, narrow);
      const input = randomTensor(random, [...randomShape(random).slice(0, 2), k]);
      const layer = new QuantizedLinear(w, options);
      sameTensor(
        layer.forward(input),
        linear(input, quantize(w, options)),
        JSON.stringify(options),
      );
      layer.dispose();
    }
  });
});

describe("nonsense", () => {
  const detached = new Float32Array(4);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const x = tensor([1, 2, 3, 4], [2, 2]);
  const q = quantize(x, { axis: 0 });
  const junk = [
    undefined,
    null,
    true,
    0,
    -0,
    -1,
    1.5,
    NaN,
    Infinity,
    2 ** 31,
    2 ** 53,
    10n,
    "",
    "int8",
    "affine",
    "mse",
    Symbol("s"),
    () => 1,
    [],
    [1, 2],
    [
      [1, 2],
      [3, 4],
    ],
    [[1], [2, 3]],
    {},
    Object.create(null),
    new Map(),
    new Proxy({}, {}),
    new Float32Array(4),
    new Float64Array(2),
    Int8Array.of(1, 2, 3, 4),
    new Uint8Array(4),
    new Uint8ClampedArray(4),
    BigInt64Array.of(1n),
    new DataView(new ArrayBuffer(4)),
    new ArrayBuffer(4),
    new SharedArrayBuffer(4),
    detached,
    x,
    q,
    { data: detached, shape: [0] },
    { data: [1, 2, 3, 4], shape: [2, 2] },
    { data: x.data, dims: [4] },
    { data: x.data, shape: [-1] },
    { data: x.data, shape: "22" },
    { data: "1234", shape: [4] },
    { data: new Float32Array(0), shape: [0, 2] },
    { ...q, scale: 0 },
    { ...q, axis: 7 },
    { ...q, dtype: "int2" },
    { ...q, shape: [4] },
    { axis: 0 },
    { groupSize: 2 },
    { scale: [1, 2], axis: 1 },
    { dtype: "uint4", scheme: "affine" },
    { out: new Int8Array(4) },
    { out: new Float32Array(4) },
    { accumulate: "float32" },
  ];
  const functions = {
    tensor,
    chooseQParams,
    quantize,
    dequantize,
    fakeQuantize,
    quantizationError,
    pack,
    unpack,
    linear,
    QuantizedLinear: (...args) => {
      const layer = new QuantizedLinear(...args);
      layer.forward(new Float32Array(layer.inFeatures));
      layer.dispose();
    },
  };
  const expected = quantize(x, { axis: 0 });

  for (const [name, call] of Object.entries(functions)) {
    it(`is refused by ${name} with a code and its name, or works; and leaves no mark`, () => {
      const random = new Random(90);
      let refused = 0;
      let worked = 0;
      for (let round = 0; round < 3000; round++) {
        const args = Array.from({ length: random.integer(0, 4) }, () => random.pick(junk));
        try {
          call(...args);
          worked++;
        } catch (error) {
          refused++;
          assert.ok(error instanceof TypeError || error instanceof RangeError, error.stack);
          assert.match(error.code ?? "", /^ZP_[A-Z_]+$/, error.stack);
          assert.ok(error.message.startsWith(`${name}: `), error.message);
          assert.ok(error.message.length < 400, error.message);
        }
        if (round % 100 === 0) assert.deepEqual(quantize(x, { axis: 0 }), expected);
      }
      assert.ok(refused > 0 && worked > 0, `refused ${refused}, worked ${worked}`);
      assert.deepEqual([...x.data], [1, 2, 3, 4]);
    });
  }
});
