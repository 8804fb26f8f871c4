// Random tensors, options and nonsense for fast-check, and the number of runs of a property.

import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { tensor } from "zeropoint";
import { DTYPE_NAMES, DTYPES, SPECIAL_VALUES } from "./asserts.mjs";
import { builds } from "./builds.mjs";
import { slicesOf } from "./reference.mjs";

/** Set by `npm run fuzz`: duration of the run, with another seed each time. */
const seconds = Number(globalThis.process?.env.ZEROPOINT_FUZZ_SECONDS ?? 0);
let laws = 0;

/** Runs of a property in fast-check: `runs`, or as many as fit into its share of the given time. */
export function fuzzLimits(shares, runs) {
  const includeErrorInReport = true;
  // A browser has the same arithmetic in another engine: a fifth of the values shows a difference.
  const share = globalThis.process === undefined ? 5 : 1;
  if (seconds === 0) return { numRuns: Math.ceil(runs / share), seed: 20, includeErrorInReport };
  return {
    includeErrorInReport,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: (1000 * seconds) / shares,
  };
}

/** Makes every NaN the same one: their signs and payloads are the engine's, and Node 24 compares them. */
function withOneNaN(result) {
  if (result instanceof Float32Array || result instanceof Float64Array) {
    result.forEach((value, i) => {
      if (Number.isNaN(value)) result[i] = Number.NaN;
    });
  } else if (typeof result === "object" && result !== null && !ArrayBuffer.isView(result)) {
    for (const part of Object.values(result)) withOneNaN(part);
  }
  return result;
}

/**
 * A test of a property in every build: `check(build, ...values)` for random values. The values that it returns
 * must have the same bits in all builds.
 */
export function law(title, arbitraries, check, { runs = 200 } = {}) {
  laws++;
  it(title, () => {
    const property = fc.property(...arbitraries, (...values) => {
      let first;
      for (const build of builds) {
        const result = withOneNaN(check(build, ...values));
        first ??= result;
        assert.deepEqual(result, first, `${build.name} differs from ${builds[0].name}`);
      }
    });
    fc.assert(property, fuzzLimits(laws, runs));
  });
}

// ---- numbers

/** A finite float32 of any magnitude. */
export const finite = fc.float({ noNaN: true, noDefaultInfinity: true });

/** Any float32, NaN and infinities among them. */
const anyFloat = fc.oneof(fc.float(), fc.constantFrom(...SPECIAL_VALUES));

/** Kinds of values for a whole tensor: of one size, on a grid full of ties, or of all sizes. */
const kinds = [
  fc.float({ min: -4, max: 4, noNaN: true }),
  fc.integer({ min: -300, max: 300 }).map((steps) => steps / 2),
  fc.integer({ min: -200, max: 200 }).map((steps) => steps * 2 ** -149),
  fc.oneof(finite, fc.constant(0)),
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(0, 1, -1, 0.5) }, finite),
];

/** `length` finite values of one kind. */
export function finiteValues(length) {
  const size = { minLength: length, maxLength: length };
  return fc.oneof(...kinds.map((kind) => fc.array(kind, size)));
}

/** `length` values of one size whose products and sums stay normal float32 numbers. */
export function tameValues(length) {
  const value = fc.integer({ min: -1000, max: 1000 }).map((steps) => steps / 64);
  return fc.array(value, { minLength: length, maxLength: length });
}

/** `length` values, some of them NaN or infinite. */
export function anyValues(length) {
  return fc.array(fc.oneof({ weight: 3, arbitrary: kinds[0] }, anyFloat), {
    minLength: length,
    maxLength: length,
  });
}

// ---- tensors

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** A shape of few values; now and then one axis is longer than a kernel's step. */
export const shapes = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 20, max: 140 })),
  },
);

/** A tensor of a shape with values of a kind. */
export function tensorOf(shape, values = finiteValues) {
  return values(sizeOf(shape)).map((data) => tensor(Float32Array.from(data), shape));
}

/** Any tensor. */
export const tensors = shapes.chain((shape) => tensorOf(shape));

/** Options to quantize a tensor of this shape. */
export function optionsFor(shape, dtypes = DTYPE_NAMES) {
  const slicing = fc.oneof(
    fc.constant({}),
    fc.integer({ min: -shape.length, max: shape.length - 1 }).map((axis) => ({ axis })),
    fc.integer({ min: 1, max: shape.at(-1) + 2 }).map((groupSize) => ({ groupSize })),
  );
  return fc
    .record({
      dtype: fc.constantFrom(...dtypes),
      scheme: fc.constantFrom("symmetric", "affine"),
      includeZero: fc.boolean(),
      slicing,
    })
    .map(({ dtype, scheme, includeZero, slicing: slices }) => ({
      dtype,
      scheme: DTYPES[dtype].qmin === 0 ? "affine" : scheme,
      includeZero,
      ...slices,
    }));
}

/** The dtypes that a linear layer takes. */
export const NARROW = DTYPE_NAMES.filter((dtype) => DTYPES[dtype].bits <= 8);

/** A tensor with options to quantize it. */
export const quantizations = shapes.chain((shape) =>
  fc.tuple(tensorOf(shape), optionsFor(shape)).map(([x, options]) => ({ x, options })),
);

/** A linear layer's input, weight and bias, all of values of the kind `values`. */
export function layersOf(values) {
  const sizes = fc.record({
    m: fc.integer({ min: 1, max: 6 }),
    n: fc.integer({ min: 1, max: 9 }),
    k: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 70 })),
  });
  return sizes.chain(({ m, n, k }) =>
    fc.record({
      input: tensorOf([m, k], values),
      weight: tensorOf([n, k], values),
      bias: fc.option(tensorOf([n], values), { nil: undefined }),
    }),
  );
}

/** The same with a quantized weight instead, made by `quantize` or of any codes and qparams. */
export function quantizedLayersOf(values) {
  const sizes = fc.record({
    m: fc.integer({ min: 1, max: 6 }),
    n: fc.integer({ min: 1, max: 9 }),
    k: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 70 })),
  });
  return sizes.chain(({ m, n, k }) =>
    fc.record({
      input: tensorOf([m, k], values),
      bias: fc.option(tensorOf([n], values), { nil: undefined }),
      weight: optionsFor([n, k], NARROW).chain((options) => codesWith([n, k], options)),
    }),
  );
}

/** A quantized tensor of any codes, scales and zero points. */
function codesWith(shape, { dtype, scheme, axis, groupSize }) {
  const { qmin, qmax, array } = DTYPES[dtype];
  const size = sizeOf(shape);
  const { count } = slicesOf(shape, { axis, groupSize });
  const exactly = (length) => ({ minLength: length, maxLength: length });
  return fc
    .record({
      codes: fc.array(fc.integer({ min: qmin, max: qmax }), exactly(size)),
      scales: fc.array(fc.integer({ min: 1, max: 4000 }), exactly(count)),
      exponent: fc.integer({ min: -30, max: 20 }),
      zeroPoints: fc.array(fc.integer({ min: qmin, max: qmax }), exactly(count)),
    })
    .map(({ codes, scales, exponent, zeroPoints }) => {
      const own = scheme === "symmetric" ? zeroPoints.map(() => 0) : zeroPoints;
      const steps = Float32Array.from(scales, (scale) => scale * 2 ** exponent);
      const q = { data: array.from(codes), shape, dtype };
      if (groupSize === undefined && axis === undefined) {
        return { ...q, scale: steps[0], zeroPoint: own[0] };
      }
      const slices = groupSize === undefined ? { axis } : { groupSize };
      return { ...q, scale: steps, zeroPoint: Int32Array.from(own), ...slices };
    });
}
