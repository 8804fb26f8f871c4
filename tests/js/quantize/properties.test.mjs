// Laws that hold for any tensor and any options, in every build and with the same bits in all of them.

import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import { QuantizedLinear as DefaultLayer, init, tensor } from "zeropoint";
import {
  anyValues,
  finiteValues,
  law,
  layersOf,
  NARROW,
  optionsFor,
  quantizations,
  quantizedLayersOf,
  shapes,
  tameValues,
  tensorOf,
  tensors,
} from "../support/arbitraries.mjs";
import { DTYPES, sameCodes, sameFloats, sameTensor } from "../support/asserts.mjs";
import {
  dequantizeValue,
  meanError,
  packCodes,
  quantizeTensor,
  quantizeValue,
  slicesOf,
} from "../support/reference.mjs";
import { ExactSum } from "./exact.mjs";

await init();

/** The scale and zero point of element i of a quantized tensor. */
function qparamsOf(q, i) {
  if (typeof q.scale === "number") return { scale: q.scale, zeroPoint: q.zeroPoint };
  const slice = slicesOf(q.shape, q).of(i);
  const scales = q.scale.data ?? q.scale;
  const zeroPoints = q.zeroPoint.data ?? q.zeroPoint;
  return { scale: scales[slice], zeroPoint: zeroPoints[slice] };
}

describe("quantizing", () => {
  law("agrees with the reference, as does dequantizing", [quantizations], (zp, { x, options }) => {
    const { codes, values } = quantizeTensor(x.data, x.shape, options);
    const q = zp.quantize(x, options);
    sameCodes(q.data, codes);
    sameFloats(zp.dequantize(q).data, values);
    return q;
  });

  law(
    "with given qparams agrees with the reference for any value, NaN and infinities included",
    [
      shapes.chain((shape) => tensorOf(shape, anyValues)),
      fc.constantFrom(...Object.keys(DTYPES)),
      fc.oneof(
        fc.double({ min: 2 ** -126, max: 1e30, noNaN: true }),
        fc.constantFrom(1, 0.5, 2 ** -149),
      ),
      fc.nat(),
    ],
    (zp, x, dtype, scale, zero) => {
      const { qmin, qmax } = DTYPES[dtype];
      const zeroPoint = qmin + (zero % (qmax - qmin + 1));
      const q = zp.quantize(x, { dtype, scale, zeroPoint });
      x.data.forEach((value, i) => {
        assert.equal(q.data[i], quantizeValue(value, scale, zeroPoint, dtype), `${value}`);
      });
      const values = zp.dequantize(q).data;
      q.data.forEach((code, i) => {
        assert.ok(Object.is(values[i], dequantizeValue(code, scale, zeroPoint)), `${code}`);
      });
      sameTensor(zp.fakeQuantize(x, { dtype, scale, zeroPoint }), zp.dequantize(q));
      return q;
    },
  );

  law(
    "loses at most half a step where the range contains 0",
    [quantizations],
    (zp, { x, options }) => {
      const q = zp.quantize(x, { ...options, includeZero: true });
      const { qmin, qmax } = DTYPES[options.dtype];
      zp.dequantize(q).data.forEach((value, i) => {
        const step = qparamsOf(q, i).scale;
        // Beside the half step: half of one for rounding the zero point, which moves the range's end;
        // float32's roundings of the quotient, the sum and the product (2^-23 of the range each); and
        // the end of float32's range, which a rounded scale may exceed.
        const bound =
          step * (options.scheme === "affine" ? 1 : 0.5) + 4 * step * (qmax - qmin) * 2 ** -23;
        const held = Math.min(Math.max(value, -3.4028234663852886e38), 3.4028234663852886e38);
        assert.ok(Math.abs(held - x.data[i]) <= bound, `${value} for ${x.data[i]}, step ${step}`);
      });
    },
  );

  law("changes nothing that was quantized before", [quantizations], (zp, { x, options }) => {
    const q = zp.quantize(x, options);
    const y = zp.dequantize(q);
    // Float32's largest value may be dequantized to infinity, which saturates at another code; and int32
    // has more codes than float32 tells apart.
    if (options.dtype === "int32" || !y.data.every(Number.isFinite)) return;
    sameTensor(zp.fakeQuantize(y, q), y);
    assert.deepEqual(zp.quantize(y, q), q);
  });

  law("keeps 0 where the range contains it", [quantizations], (zp, { x, options }) => {
    const values = zp.fakeQuantize(x, { ...options, includeZero: true }).data;
    x.data.forEach((value, i) => {
      if (value === 0) assert.ok(values[i] === 0, `${values[i]}`);
    });
  });

  law("never gives a greater value a smaller code", [quantizations], (zp, { x, options }) => {
    const { dtype, scheme, includeZero } = options;
    const sorted = Float32Array.from(x.data).sort();
    const codes = zp.quantize(sorted, { dtype, scheme, includeZero }).data;
    for (let i = 1; i < codes.length; i++) assert.ok(codes[i] >= codes[i - 1]);
  });

  law(
    "slice by slice is quantizing each slice by itself",
    [quantizations],
    (zp, { x, options }) => {
      const { dtype, scheme, includeZero, ...slicing } = options;
      const { count, of } = slicesOf(x.shape, slicing);
      const q = zp.quantize(x, options);
      for (let slice = 0; slice < count; slice++) {
        const own = (data) => data.filter((_, i) => of(i) === slice);
        const single = zp.quantize(own(x.data), { dtype, scheme, includeZero });
        sameCodes(own(q.data), single.data);
        const { scale, zeroPoint } = qparamsOf(
          q,
          x.data.findIndex((_, i) => of(i) === slice),
        );
        assert.equal(Math.fround(scale), Math.fround(single.scale));
        assert.equal(zeroPoint, single.zeroPoint);
      }
    },
  );

  law(
    "commutes with any order of the channels",
    [quantizations, fc.array(fc.nat(), { minLength: 5, maxLength: 5 })],
    (zp, { x, options }, keys) => {
      const { dtype, scheme, includeZero } = options;
      const columns = x.data.length / x.shape[0];
      const order = Array.from({ length: x.shape[0] }, (_, i) => i);
      order.sort((a, b) => keys[a % 5] - keys[b % 5]);
      const permute = (data) =>
        data.map((_, i) => data[order[Math.floor(i / columns)] * columns + (i % columns)]);
      const how = { dtype, scheme, includeZero, axis: 0 };
      const before = zp.quantize(x, how);
      const after = zp.quantize(tensor(permute(x.data), x.shape), how);
      sameCodes(after.data, permute(before.data));
      sameFloats(
        after.scale.data,
        before.scale.data.map((_, i) => before.scale.data[order[i]]),
      );
    },
  );

  law("tells one story, whichever way it is asked for", [quantizations], (zp, { x, options }) => {
    const q = zp.quantize(x, options);
    assert.deepEqual(zp.quantize(x, zp.chooseQParams(x, options)), q);
    sameTensor(zp.fakeQuantize(x, options), zp.dequantize(q));
    sameTensor(zp.dequantize(structuredClone(q)), zp.dequantize(q));
    const codes = new DTYPES[options.dtype].array(x.data.length);
    assert.equal(zp.quantize(x, { ...options, out: codes }).data, codes);
    sameCodes(codes, q.data);
    const out = new Float32Array(x.data.length);
    assert.equal(zp.dequantize(q, { out }).data, out);
    sameFloats(out, zp.dequantize(q).data);
  });

  law(
    "does not depend on where in memory the values are",
    [quantizations, fc.integer({ min: 0, max: 3 })],
    (zp, { x, options }, offset) => {
      const shared = new Float32Array(
        new SharedArrayBuffer(4 * (x.data.length + offset)),
        4 * offset,
      );
      shared.set(x.data);
      assert.deepEqual(
        zp.quantize({ data: shared, shape: x.shape }, options),
        zp.quantize(x, options),
      );
    },
  );

  law(
    "takes half floats for their values",
    [
      quantizations,
      fc.constantFrom("float16", "bfloat16"),
      fc.array(fc.integer({ min: 0, max: 65535 }), { minLength: 1, maxLength: 8 }),
    ],
    (zp, { x: { shape, data }, options }, dtype, some) => {
      // Without the patterns of infinities and NaN, whose exponents are all ones.
      const top = dtype === "float16" ? 0x7c00 : 0x7f80;
      const bits = Uint16Array.from(data, (_, i) => some[i % some.length]);
      const finite = bits.map((one) => ((one & top) === top ? one & ~0x4000 : one));
      const half = { data: finite, shape, dtype };
      const values = tensor(half);
      const q = zp.quantize(half, options);
      const expected = zp.quantize(values, options);
      sameCodes(q.data, expected.data);
      assert.deepEqual({ ...q, data: 0 }, { ...expected, data: 0 });
      sameTensor(zp.fakeQuantize(half, options), zp.fakeQuantize(values, options));
      assert.equal(zp.quantizationError(half, values, "max"), 0);
      return q;
    },
  );

  law("never writes to its input", [quantizations], (zp, { x, options }) => {
    const before = x.data.slice();
    const q = zp.quantize(x, options);
    const codes = q.data.slice();
    zp.dequantize(q);
    zp.fakeQuantize(x, options);
    zp.pack(q);
    sameFloats(x.data, before);
    sameCodes(q.data, codes);
  });
});

describe("packing", () => {
  law("puts every bit where it is said to be, and back", [quantizations], (zp, { x, options }) => {
    const q = zp.quantize(x, options);
    const bytes = zp.pack(q);
    assert.deepEqual(bytes, packCodes(q.data, DTYPES[options.dtype].bits));
    assert.deepEqual(zp.unpack(bytes, q), q);
    return bytes;
  });

  law(
    "any bytes unpack to codes that pack to the same bytes",
    [fc.uint8Array({ minLength: 1, maxLength: 60 }), fc.constantFrom(...Object.keys(DTYPES))],
    (zp, bytes, dtype) => {
      const { bits, qmin, qmax } = DTYPES[dtype];
      const size = Math.floor((8 * bytes.length) / bits);
      const whole = bytes.slice(0, Math.ceil((size * bits) / 8));
      const q = zp.unpack(whole, { shape: [size], dtype, scale: 1, zeroPoint: 0 });
      for (const code of q.data) assert.ok(code >= qmin && code <= qmax, `${code}`);
      // Bits beyond the last code become 0.
      const kept = (size * bits) % 8;
      if (kept !== 0) whole[whole.length - 1] &= 2 ** kept - 1;
      assert.deepEqual(zp.pack(q), whole);
    },
  );
});

describe("measuring errors", () => {
  const pairs = shapes.chain((shape) => fc.tuple(tensorOf(shape), tensorOf(shape)));

  law("agrees with the reference", [pairs], (zp, [a, b]) => {
    const all = ["mse", "mae", "max", "sqnr", "cosine"].map((m) => zp.quantizationError(a, b, m));
    const [mse, mae, max] = all;
    assert.ok(Object.is(mse, meanError(a.data, b.data, "mse")), `mse ${mse}`);
    assert.ok(Object.is(mse, zp.quantizationError(a, b)), "mse is the default");
    assert.ok(Object.is(mae, meanError(a.data, b.data, "mae")), `mae ${mae}`);
    const distances = Array.from(a.data, (value, i) => Math.abs(value - b.data[i]));
    assert.equal(max, Math.max(...distances));
    return all;
  });

  law("finds none between a tensor and itself", [tensors], (zp, a) => {
    for (const metric of ["mse", "mae", "max"]) assert.equal(zp.quantizationError(a, a, metric), 0);
    assert.equal(zp.quantizationError(a, a, "sqnr"), Number.POSITIVE_INFINITY);
    const cosine = zp.quantizationError(a, a, "cosine");
    const isZero = a.data.every((value) => value === 0);
    assert.ok(isZero ? Number.isNaN(cosine) : Math.abs(cosine - 1) < 1e-12, `${cosine}`);
  });

  law("does not mind the order, and no mean exceeds the largest", [pairs], (zp, [a, b]) => {
    for (const metric of ["mse", "mae", "max", "cosine"]) {
      const there = zp.quantizationError(a, b, metric);
      assert.ok(Object.is(there, zp.quantizationError(b, a, metric)), metric);
    }
    const mae = zp.quantizationError(a, b, "mae");
    const max = zp.quantizationError(a, b, "max");
    const cosine = zp.quantizationError(a, b, "cosine");
    if (Number.isFinite(mae)) assert.ok(mae <= max * (1 + 2 ** -20) + 2 ** -149, `${mae} ${max}`);
    assert.ok(Number.isNaN(cosine) || Math.abs(cosine) <= 1 + 1e-12, `${cosine}`);
  });

  law(
    "in dB and as an angle does not depend on the unit",
    [
      shapes.chain((shape) => fc.tuple(tensorOf(shape, tameValues), tensorOf(shape, tameValues))),
      fc.integer({ min: -30, max: 30 }),
    ],
    (zp, [a, b], exponent) => {
      const scaled = (x) =>
        tensor(
          x.data.map((value) => value * 2 ** exponent),
          x.shape,
        );
      for (const metric of ["sqnr", "cosine"]) {
        const plain = zp.quantizationError(a, b, metric);
        assert.ok(Object.is(plain, zp.quantizationError(scaled(a), scaled(b), metric)), metric);
      }
    },
  );
});

describe("linear layers", () => {
  /** The float weight that a quantized one stands for, in double, which holds it exactly. */
  const weightOf = (weight) => {
    if (weight.data instanceof Float32Array) return Float64Array.from(weight.data);
    return Float64Array.from(weight.data, (code, i) => {
      const { scale, zeroPoint } = qparamsOf(weight, i);
      return Math.fround(scale) * (code - zeroPoint);
    });
  };

  /** Checks every output against the exact sum. `bound(k, magnitude, |bias|)` */
  function checkSums(y, { input, weight, bias }, bound) {
    const [m, k] = input.shape;
    const n = weight.shape[0];
    const w = weightOf(weight);
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) {
        const sum = new ExactSum();
        let magnitude = 0;
        let allFinite = true;
        let other = 0;
        for (let i = 0; i < k; i++) {
          const a = input.data[row * k + i];
          const b = w[column * k + i];
          if (Number.isFinite(a * b)) {
            sum.addProduct(a, b);
            magnitude += Math.abs(a * b);
          } else {
            allFinite = false;
            other += a * b;
          }
        }
        const offset = bias?.data[column] ?? 0;
        if (Number.isFinite(offset)) sum.add(offset);
        else {
          allFinite = false;
          other += offset;
        }
        const got = y.data[row * n + column];
        if (!allFinite) {
          // NaN and infinities propagate as in any order of adding them.
          assert.ok(Object.is(got, other), `got ${got}, expected ${other}`);
          continue;
        }
        const allowed = bound(k, magnitude, Math.abs(offset));
        if (Math.abs(sum.high) + allowed >= 3.4028234e38) continue;
        const rounding = Math.abs(sum.high) < 2 ** -125 ? 2 ** -149 : 0;
        assert.ok(
          Number.isFinite(got) && sum.distance(got) <= allowed + rounding,
          `got ${got}, exact ${sum.high}, allowed ${allowed}`,
        );
      }
    }
  }

  const exactBound = (k, magnitude, bias) => (k + 1) * 2 ** -24 * magnitude + 2 ** -24 * bias;
  const fastBound = (k, magnitude, bias) => (k + 2) * 2 ** -23 * (magnitude + bias);
  const run = (zp, { input, weight, bias }, options) => zp.linear(input, weight, bias, options);

  for (const [what, layers] of [
    ["a float weight", layersOf],
    ["a quantized weight", quantizedLayersOf],
  ]) {
    law(
      `with ${what} are within their bound for any finite values`,
      [layers(finiteValues)],
      (zp, layer) => {
        const y = run(zp, layer);
        checkSums(y, layer, exactBound);
        return y;
      },
    );

    law(`with ${what} propagate NaN and infinities`, [layers(anyValues)], (zp, layer) => {
      const y = run(zp, layer);
      checkSums(y, layer, exactBound);
      return y;
    });

    law(
      `with ${what} are within the looser bound in float32`,
      [layers(tameValues)],
      (zp, layer) => {
        checkSums(run(zp, layer, { accumulate: "float32" }), layer, fastBound);
      },
    );

    law(`with ${what} compute each row by itself`, [layers(anyValues)], (zp, layer) => {
      const { input, weight, bias } = layer;
      const [m, k] = input.shape;
      const y = run(zp, layer).data;
      const n = weight.shape[0];
      for (let row = 0; row < m; row++) {
        const alone = zp.linear(input.data.slice(row * k, (row + 1) * k), weight, bias);
        sameFloats(alone.data, y.slice(row * n, (row + 1) * n), `row ${row}`);
      }
    });
  }

  law(
    "that pack once compute what linear computes",
    [quantizedLayersOf(anyValues)],
    (zp, layer) => {
      const { input, weight, bias } = layer;
      const packed = new zp.QuantizedLinear(weight, { bias });
      const expected = run(zp, layer);
      sameTensor(packed.forward(input), expected);
      const out = new Float32Array(expected.data.length);
      assert.equal(packed.forward(input, out).data, out);
      sameFloats(out, expected.data);
      packed.dispose();
      return expected;
    },
  );

  law(
    "quantize a float weight as quantize does",
    [
      layersOf(tameValues).chain((layer) =>
        optionsFor(layer.weight.shape, NARROW).map((options) => ({ ...layer, options })),
      ),
    ],
    (zp, { input, weight, bias, options }) => {
      const layer = new zp.QuantizedLinear(weight, { ...options, bias });
      sameTensor(layer.forward(input), zp.linear(input, zp.quantize(weight, options), bias));
      layer.dispose();
    },
  );

  law(
    "of all instances do not disturb each other",
    [quantizedLayersOf(finiteValues)],
    (zp, layer) => {
      const { input, weight, bias } = layer;
      const mine = new zp.QuantizedLinear(weight, { bias });
      const other = new DefaultLayer(weight, { bias });
      sameTensor(mine.forward(input), other.forward(input));
      other.dispose();
      sameTensor(mine.forward(input), run(zp, layer));
      mine.dispose();
    },
  );
});
