// The asynchronous functions give what the synchronous ones give, and refuse what they refuse, for any
// values, in arrays of any kind, with any options, in every build.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { init } from "zeropoint";
import {
  anyValues,
  fuzzLimits,
  layersOf,
  optionsFor,
  quantizedLayersOf,
  shapes,
  tameValues,
  withOneNaN,
} from "./arbitraries.mjs";
import { builds } from "./builds.mjs";

await init();
after(() => {
  for (const build of builds) build.dispose();
});

/** What comes of work: its result, or what it refuses, without the name of the asynchronous form. */
async function outcomeOf(work) {
  try {
    return { result: withOneNaN(await work()) };
  } catch (error) {
    const { code, message, name } = error;
    assert.match(String(code), /^ZP_/, error.stack);
    return { code, name, message: message.replace(/^([\w.]+)Async:/, "$1:") };
  }
}

/** A test that two forms of the same work have the same outcome. */
function sameOutcome(title, arbitraries, pairs, runs = 100) {
  it(title, async () => {
    const property = fc.asyncProperty(...arbitraries, async (...values) => {
      for (const build of builds) {
        for (const [now, later] of pairs(build, ...values)) {
          const expected = await outcomeOf(async () => now());
          assert.deepEqual(await outcomeOf(later), expected, build.name);
        }
      }
    });
    await fc.assert(property, fuzzLimits(4, runs));
  });
}

/** The same values in an array of another kind. */
const KINDS = {
  plain: (data) => Float32Array.from(data),
  double: (data) => Float64Array.from(data),
  part: (data) => Float32Array.of(7, 7, ...data, 7).subarray(2, 2 + data.length),
  bytes: (data) => Int8Array.from(data),
  unsigned: (data) => Uint16Array.from(data),
  resizable: (data) => {
    const array = new Float32Array(new ArrayBuffer(4 * data.length, { maxByteLength: 1 << 16 }));
    array.set(data);
    return array;
  },
  shared: (data) => {
    const array = new Float32Array(new SharedArrayBuffer(4 * data.length));
    array.set(data);
    return array;
  },
  list: (data) => [...data],
  view: (data) => new DataView(Float32Array.from(data).buffer),
};

const quantizations = shapes.chain((shape) =>
  fc.record({
    x: fc
      .tuple(fc.constantFrom(...Object.values(KINDS)), anyValues(shape.reduce((a, b) => a * b, 1)))
      .map(([inKind, data]) => ({ data: inKind(data), shape })),
    options: fc
      .tuple(optionsFor(shape), fc.constantFrom("throw", "ignore", undefined, "drop"))
      .map(([options, nonFinite]) => ({ ...options, nonFinite })),
  }),
);

describe("the asynchronous functions", () => {
  sameOutcome("quantize as the synchronous ones do", [quantizations], (zp, { x, options }) => [
    [() => zp.quantize(x, options), () => zp.quantizeAsync(x, options)],
    [() => zp.chooseQParams(x, options), () => zp.chooseQParamsAsync(x, options)],
    [() => zp.fakeQuantize(x, options), () => zp.fakeQuantizeAsync(x, options)],
  ]);

  sameOutcome(
    "dequantize and measure as the synchronous ones do",
    [quantizations, fc.constantFrom("mse", "mae", "max", "sqnr", "cosine", "rms")],
    (zp, { x, options }, metric) => {
      const shape = [...x.shape];
      const size = shape.reduce((a, b) => a * b, 1);
      const values = Float32Array.from({ length: size }, (_, i) => Math.sin(i));
      const q = zp.quantize({ data: values, shape }, { ...options, nonFinite: undefined });
      return [
        [() => zp.dequantize(q), () => zp.dequantizeAsync(q)],
        [
          () => zp.quantizationError(x, { data: values, shape }, metric),
          () => zp.quantizationErrorAsync(x, { data: values, shape }, metric),
        ],
      ];
    },
  );

  sameOutcome(
    "run PyTorch's functions as the synchronous ones do",
    [
      quantizations.map(({ x }) => x),
      fc.constantFrom("qint8", "quint8", "qint32"),
      fc.oneof(fc.constantFrom(0.1, 2, 1e-40), fc.double()),
      fc.integer({ min: -3, max: 260 }),
      fc.constantFrom(undefined, "torch"),
      fc.boolean(),
    ],
    (zp, x, dtype, scale, zero, compat, isFloat) => {
      const options = { compat };
      const count = x.shape[0] ?? 1;
      const scales = Array.from({ length: count }, (_, i) => scale * (i + 1));
      const zeros = Array.from({ length: count }, (_, i) => zero + i);
      const own = isFloat ? Float32Array.from(zeros) : zeros;
      const form = (name, ...rest) => [
        () => zp[name](x, ...rest, options),
        () => zp[`${name}Async`](x, ...rest, options),
      ];
      return [
        form("quantizePerTensor", scale, zero, dtype),
        form("quantizePerTensorDynamic", dtype, isFloat),
        form("quantizePerChannel", scales, own, 0, dtype),
        form("fakeQuantizePerTensor", scale, zero, 0, 255),
        form("fakeQuantizePerChannel", scales, own, 0, 0, 255),
      ];
    },
  );

  sameOutcome(
    "pack and unpack as the synchronous ones do",
    [quantizations, fc.nat(3)],
    (zp, { x: { shape }, options }, more) => {
      const size = shape.reduce((a, b) => a * b, 1);
      const data = Float32Array.from({ length: size }, (_, i) => Math.sin(i));
      const q = zp.quantize({ data, shape }, { ...options, nonFinite: undefined });
      const bytes = zp.pack(q);
      const longer = new Uint8Array(bytes.length + more);
      longer.set(bytes);
      return [
        [() => zp.pack(q), () => zp.packAsync(q)],
        [() => zp.unpack(longer, q), () => zp.unpackAsync(longer, q)],
      ];
    },
  );

  sameOutcome(
    "multiply as the synchronous ones do",
    [layersOf(anyValues), fc.constantFrom("exact", "float32")],
    (zp, { input, weight, bias }, accumulate) => [
      [
        () => zp.linear(input, weight, bias, { accumulate }),
        () => zp.linearAsync(input, weight, bias, { accumulate }),
      ],
    ],
  );

  sameOutcome(
    "run layers as the synchronous ones do",
    [quantizedLayersOf(anyValues), layersOf(tameValues), fc.boolean()],
    (zp, { input, weight, bias }, { input: x, weight: w }, reduceRange) => {
      const layer = new zp.QuantizedLinear(weight, { bias });
      const options = { activations: "dynamic", reduceRange };
      const dynamic = new zp.QuantizedLinear(w, options);
      return [
        [
          () => layer.forward(input),
          async () => (await zp.quantizedLinearAsync(weight, { bias })).forward(input),
        ],
        [
          () => dynamic.forward(x),
          async () => (await zp.quantizedLinearAsync(w, options)).forward(x),
        ],
        [() => layer.forward(input), () => layer.forwardAsync(input)],
        [() => dynamic.forward(x), () => dynamic.forwardAsync(x)],
      ];
    },
  );

  const observerNames = [
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "PerChannelMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "HistogramObserver",
    "RecordingObserver",
  ];
  sameOutcome(
    "observe as the synchronous ones do",
    [
      quantizations,
      quantizations,
      fc.constantFrom(...observerNames),
      fc.constantFrom(undefined, "torch"),
    ],
    (zp, { x: first }, { x: second }, name, compat) => {
      const options = name === "RecordingObserver" ? {} : { compat };
      const [here, away] = [new zp[name](options), new zp[name](options)];
      const state = async (observer, work) => {
        await work(observer);
        return observer.toJSON();
      };
      return [first, second].map((x) => [
        () => state(here, (observer) => observer.observe(x)),
        () => state(away, (observer) => observer.observeAsync(x)),
      ]);
    },
  );

  sameOutcome(
    "convert as the synchronous ones do",
    [
      layersOf(anyValues),
      fc.constantFrom(
        "defaultDynamicQConfig",
        "perChannelDynamicQConfig",
        "float16DynamicQConfig",
        "defaultQConfig",
      ),
    ],
    (zp, { weight, bias }, name) => {
      const model = new zp.Sequential([new zp.Linear(weight, { bias })]);
      const stored = (quantized) => {
        const found = [quantized.sizeInBytes, String(quantized), quantized.report()];
        quantized.dispose();
        return found;
      };
      return [
        [
          () => stored(zp.quantizeDynamic(model, zp[name])),
          async () => stored(await zp.quantizeDynamicAsync(model, zp[name])),
        ],
      ];
    },
  );
});
