// analyze: errors against quantize and dequantize, equal bits in all builds, certificates, refusals.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  dequantize,
  dequantizeBlocks,
  init,
  Linear,
  quantizationError,
  quantize,
  quantizeBlocks,
  ReLU,
  Sequential,
  tensor,
} from "zeropoint";
import {
  analyze,
  DEFAULT_SCHEMES,
  InputMoments,
  klDivergence,
  openModel,
  plan,
  recordInputs,
  recordOnnxInputs,
  save,
} from "zeropoint/models";
import { embedded } from "../../../dist/core/embedded.js";
import { runOn } from "../../../dist/core/init.js";
import { loadBuild } from "../../../dist/core/load.js";
import { writeNpy } from "../../../dist/formats/npy.js";
import { readOnnx } from "../../../dist/formats/onnx/read.js";
import { layoutSafetensors, writeSafetensors } from "../../../dist/formats/safetensors.js";
import { compareRows } from "../../../dist/models/analyze/compare-rows.js";
import { layoutOf } from "../../../dist/models/analyze/layout.js";
import { TensorReader } from "../../../dist/models/analyze/reader.js";
import { Sha256, sha256 } from "../../../dist/models/analyze/sha256.js";
import { Totals } from "../../../dist/models/analyze/totals.js";
import { Random, refuses, rejects } from "../support/asserts.mjs";
import { collect } from "../support/formats.mjs";
import { constant, onnxModel } from "../support/onnx-models.mjs";

await init();

/** A model of named `[shape, values, dtype?]`. */
async function modelOf(tensors) {
  const layout = layoutSafetensors(
    Object.entries(tensors).map(([name, [shape, values, dtype = "float32"]]) => ({
      name,
      dtype,
      shape,
      bytes: () => [new Uint8Array(values.buffer)],
    })),
  );
  return await openModel(await collect(writeSafetensors(layout)));
}

async function rowsOf(model, options) {
  const rows = [];
  for await (const row of analyze(model, options)) rows.push(row);
  return rows;
}

const random = new Random(41);
const weight = random.normal(48 * 256);
const shape = [48, 256];

/** bfloat16 patterns of values, rounded down. */
const bfloat16 = (values) =>
  Uint16Array.from(new Uint32Array(values.buffer), (bits) => bits >>> 16);

/** The quantized and dequantized values of a scheme, by the functions of the library. */
function valuesOf(name, data, ownShape) {
  const x = tensor(data, ownShape);
  const [, dtype, unit, size, affine, mse] =
    /^(u?int\d)-(tensor|channel|g(\d+))(-affine)?(-mse)?$/.exec(name) ?? [];
  if (dtype === undefined) {
    const type = { float16: "f16", bfloat16: "bf16" }[name] ?? name;
    return dequantizeBlocks(quantizeBlocks(x, type), type, ownShape).data;
  }
  const options = {
    dtype,
    scheme: affine ? "affine" : "symmetric",
    range: mse ? "mse" : "minmax",
    ...(unit === "channel" ? { axis: 0 } : size ? { groupSize: Number(size) } : {}),
  };
  return dequantize(quantize(x, options)).data;
}

const SCHEMES = [
  ...DEFAULT_SCHEMES,
  "int8-tensor-mse",
  "uint4-channel-affine-mse",
  "int2-g100",
  "float16",
  "bfloat16",
];

describe("analyze", () => {
  for (const [title, ownShape, data, dtype] of [
    ["of float32", shape, weight, "float32"],
    ["of bfloat16", shape, bfloat16(weight), "bfloat16"],
    ["of a convolution", [16, 3, 4, 64], weight, "float32"],
    ["of long rows", [3, 4096], weight, "float32"],
  ]) {
    it(`has the errors of quantize and dequantize ${title}`, async () => {
      const model = await modelOf({ w: [ownShape, data, dtype] });
      const { data: values } = await model.read("w");
      const found = await rowsOf(model, { schemes: SCHEMES });
      const fitting = SCHEMES.filter((name) => !/_k$/.test(name) || ownShape.at(-1) % 256 === 0);
      assert.deepEqual(
        found.map(({ scheme }) => scheme),
        fitting,
      );
      const x = tensor(values, ownShape);
      for (const row of found) {
        const y = tensor(valuesOf(row.scheme, values, ownShape), ownShape);
        const error = (metric) => quantizationError(x, y, metric);
        assert.equal(row.max, error("max"), row.scheme);
        // Sums of 12 288 doubles in another order.
        const close = (a, b) =>
          assert.ok(a === b || Math.abs(a - b) <= 1e-11 * Math.abs(b), row.scheme);
        close(row.sqnr, error("sqnr"));
        close(row.cosine, error("cosine"));
        close(10 ** (row.sqnr / 10), 1 / row.relative);
        // float32 sums.
        assert.ok(Math.abs(row.mse - error("mse")) <= 1e-5 * row.mse);
        assert.equal(row.parameters, values.length);
        assert.equal(row.share, 1);
        assert.equal(row.shows, "weights");
      }
    });
  }

  it("has the same bits in every build and with any number of threads", async () => {
    const model = await modelOf({
      a: [shape, weight],
      b: [[300, 33], random.normal(9900), "float32"],
    });
    const expected = await rowsOf(model, { worstRows: true });
    for (const build of ["baseline", "relaxed"]) {
      for (const threads of [1, 3]) {
        let core;
        try {
          core = await loadBuild("test", embedded, { build, threads, wasm: undefined });
        } catch (error) {
          assert.match(error.code, /ZP_(BUILD_UNAVAILABLE|UNSUPPORTED_ENGINE)/);
          continue;
        }
        const rows = [];
        for await (const row of runOn(core, () => analyze(model, { worstRows: true }))) {
          rows.push(row);
        }
        core.dispose();
        assert.deepEqual(rows, expected, `${build} ${threads}`);
      }
    }
  });

  it("sums errors outside the core in its order", async () => {
    const values = valuesOf("int4-g100", weight, shape);
    const errors = new Float64Array(6 * 48);
    const weights = Float64Array.from({ length: 256 }, (_, i) => 1 + (i % 3));
    compareRows(weight, values, 256, weights, errors);
    const totals = new Totals(false);
    totals.add(errors, errors, false);
    const model = await modelOf({ w: [shape, weight] });
    const [row] = await rowsOf(model, { schemes: ["int4-g100"] });
    assert.equal(totals.noise / weight.length, row.mse);
    assert.equal(totals.largest, row.max);
    assert.equal(totals.absolute * (1 + 264 * 2 ** -52), row.norm1);
    let weighted = 0;
    for (let i = 0; i < weight.length; i++)
      weighted += weights[i % 256] * (weight[i] - values[i]) ** 2;
    assert.ok(Math.abs(totals.weighted - weighted) < 1e-9 * weighted);
  });

  it("analyzes -hqq by the qparams of quantize, per group, channel and tensor", async () => {
    const model = await modelOf({ w: [shape, weight] });
    const slices = {
      "g64-affine": { groupSize: 64, scheme: "affine" },
      channel: { axis: 0 },
      tensor: {},
    };
    for (const [name, options] of Object.entries(slices)) {
      const x = tensor(weight, shape);
      const y = dequantize(quantize(x, { dtype: "int4", ...options, range: "hqq" }));
      const [row] = await rowsOf(model, { schemes: [`int4-${name}-hqq`] });
      assert.equal(row.max, quantizationError(x, y, "max"), name);
      assert.ok(Math.abs(row.sqnr - quantizationError(x, y, "sqnr")) < 1e-9, name);
    }
  });

  it("analyzes -tensor-hqq of tensors of several tiles", async () => {
    const long = [3, 2 ** 17];
    const values = new Random(5).normal(3 * 2 ** 17);
    const [row] = await rowsOf(await modelOf({ w: [long, values] }), {
      schemes: ["int3-tensor-hqq"],
    });
    const y = dequantize(quantize(tensor(values, long), { dtype: "int3", range: "hqq" }));
    assert.equal(row.max, quantizationError(tensor(values, long), y, "max"));
  });

  it("keeps norms, biases and small tensors, with the reason, and hashes every tensor", async () => {
    const model = await modelOf({
      "norm.weight": [[64], random.normal(64)],
      "fc.weight": [[16, 32], random.normal(512)],
    });
    const found = await rowsOf(model, { schemes: ["int8-channel", "keep"] });
    const norm = found.find(({ name }) => name === "norm.weight");
    const rest = found.filter((row) => row !== norm);
    assert.deepEqual([norm.scheme, norm.reason, norm.bytes], ["keep", "a norm", 256]);
    assert.deepEqual(
      rest.map(({ scheme, bytes, relative }) => [scheme, bytes, relative > 0]),
      [
        ["int8-channel", 512 + 64, true],
        ["keep", 2048, false],
      ],
    );
    for (const { name, sha256: given } of found) {
      const bytes = await model.readBytes(name);
      const hash = sha256();
      hash.update(bytes);
      assert.equal(given, hash.digest());
    }
    assert.equal(norm.share + rest[0].share, 1);
  });

  it("keeps tensors with NaN or infinities", async () => {
    for (const value of [Number.NaN, Number.NEGATIVE_INFINITY]) {
      const data = random.normal(1024);
      data[700] = value;
      const model = await modelOf({ w: [[16, 64], data] });
      for (const schemes of [
        ["int8-tensor"],
        ["int8-g32"],
        ["q8_0"],
        ["float16", "int4-channel"],
      ]) {
        const [row, ...others] = await rowsOf(model, { schemes });
        assert.deepEqual([row.scheme, row.reason], ["keep", "values that are NaN or infinite"]);
        assert.equal(others.length, 0);
        assert.match(row.sha256, /^[0-9a-f]{64}$/);
      }
    }
  });

  it("keeps a tensor whose rows no scheme fits", async () => {
    const model = await modelOf({ w: [[40, 30], random.normal(1200)] });
    const [row] = await rowsOf(model, { schemes: ["q8_0", "q4_k"] });
    assert.deepEqual([row.scheme, row.reason], ["keep", "rows of 30 values, which no scheme fits"]);
  });

  it("counts codes, scales and zero points", async () => {
    const model = await modelOf({
      a: [shape, weight],
      b: [[32, 40], bfloat16(random.normal(1280)), "bfloat16"],
    });
    const bytesOf = async (name, schemes) =>
      (await rowsOf(model, { schemes, include: [name] })).map(({ bytes }) => bytes);
    const values = 48 * 256;
    assert.deepEqual(
      await bytesOf("a", ["int8-tensor", "int4-channel", "int4-g32-affine", "q4_k", "float16"]),
      [
        values + 4,
        values / 2 + 48 * 4,
        values / 2 + (values / 32) * 4.5,
        (values / 256) * 144,
        2 * values,
      ],
    );
    // Two groups a row, the second one short; scales of two bytes.
    assert.deepEqual(await bytesOf("b", ["int8-g32"]), [1280 + 64 * 2]);
  });

  it("bounds the error of every output by its norms", async () => {
    const model = await modelOf({ w: [shape, weight] });
    const found = await rowsOf(model, { schemes: ["int4-g32", "int2-g16", "q4_0"] });
    for (const { scheme, norm1, norm2 } of found) {
      const values = valuesOf(scheme, weight, shape);
      const check = (x) => {
        const most = Math.max(...x.map(Math.abs));
        const length = Math.hypot(...x);
        for (let row = 0; row < 48; row++) {
          let difference = 0;
          for (let i = 0; i < 256; i++) {
            difference += (values[row * 256 + i] - weight[row * 256 + i]) * x[i];
          }
          assert.ok(Math.abs(difference) <= norm1 * most);
          assert.ok(Math.abs(difference) <= norm2 * length);
        }
      };
      for (let i = 0; i < 20; i++) check(Array.from(random.normal(256)));
      // The input that makes an output worst: the bounds are reached.
      const worst = (row, value) =>
        Array.from({ length: 256 }, (_, i) => value(values[row * 256 + i] - weight[row * 256 + i]));
      for (let row = 0; row < 48; row++) {
        check(worst(row, Math.sign));
        check(worst(row, (d) => d));
      }
    }
  });

  it("finds the ten worst rows, of equal ones the first", async () => {
    const data = new Float32Array(20 * 32);
    for (let row = 0; row < 20; row++) {
      for (let i = 0; i < 32; i++) data[row * 32 + i] = i === 0 ? 7 : row % 4 === 3 ? 0.4 : 1;
    }
    const model = await modelOf({ w: [[20, 32], data] });
    const [{ worstRows }] = await rowsOf(model, { schemes: ["int4-channel"], worstRows: true });
    assert.deepEqual(
      worstRows.map(({ row }) => row),
      [3, 7, 11, 15, 19, 0, 1, 2, 4, 5],
    );
    const [{ norm1, norm2, relative }] = worstRows;
    const error = Math.fround(0.4);
    assert.ok(Math.abs(norm1 - 31 * error) < 1e-12);
    assert.ok(Math.abs(norm2 - Math.sqrt(31) * error) < 1e-12);
    assert.ok(Math.abs(relative - (31 * error ** 2) / (49 + 31 * error ** 2)) < 1e-12);
  });

  it("counts values in bins", async () => {
    const data = Float32Array.from({ length: 1024 }, (_, i) => i / 4);
    const model = await modelOf({ w: [[16, 64], data], z: [[16, 64], new Float32Array(1024)] });
    const [{ histogram }, zero] = await rowsOf(model, { schemes: ["int8-channel"], histogram: 4 });
    assert.deepEqual(histogram, { min: 0, max: 255.75, counts: [256, 256, 256, 256] });
    assert.deepEqual(zero.histogram.counts, [1024, 0, 0, 0]);
    assert.deepEqual([zero.relative, zero.sqnr], [0, Number.POSITIVE_INFINITY]);
  });

  it("takes names by patterns, and reports progress up to all bytes", async () => {
    const model = await modelOf({
      "a.0.w": [shape, weight],
      "a.1.w": [shape, weight],
      "b.0.w": [shape, weight],
    });
    const seen = [];
    const found = await rowsOf(model, {
      schemes: ["int8-tensor"],
      include: ["a.*", "b.*"],
      exclude: ["*.1.*"],
      onProgress: (progress) => seen.push(progress),
    });
    assert.deepEqual(
      found.map(({ name, share }) => [name, share]),
      [
        ["a.0.w", 0.5],
        ["b.0.w", 0.5],
      ],
    );
    assert.deepEqual(seen.at(-1), { done: 2 * 49152, total: 2 * 49152, name: "b.0.w" });
    assert.ok(seen.every(({ done }, i) => i === 0 || done >= seen[i - 1].done));
  });

  it("stops when its signal is aborted", async () => {
    const model = await modelOf({ w: [shape, weight] });
    const controller = new AbortController();
    const reason = new Error("enough");
    const rows = analyze(model, {
      signal: controller.signal,
      onProgress: () => controller.abort(reason),
      schemes: ["int8-tensor"],
    });
    await assert.rejects(async () => {
      for await (const _ of rows);
    }, reason);
  });

  it("reads a transposed weight as its rows", async () => {
    // Larger than one tile of rows, and with an outer axis: [2, 100, 500], of which the middle one is summed over.
    const data = random.normal(2 * 100 * 500);
    const model = await modelOf({ w: [[2, 100, 500], data] });
    const layout = layoutOf([2, 100, 500], [1, 1]);
    assert.deepEqual(layout, { rows: 1000, rowLength: 100, runLength: 100, inner: 500 });
    let read = 0;
    const file = {
      shape: [2, 100, 500],
      dtype: "float32",
      byteLength: 400_000,
      async *bytes() {
        const bytes = new Uint8Array(data.buffer);
        for (let at = 0; at < bytes.length; at += 1003) yield bytes.subarray(at, at + 1003);
      },
    };
    const reader = new TensorReader(
      "test",
      file,
      (bytes) => (read += bytes.length),
      () => {},
    );
    let row = 0;
    for await (const { first, rows, values } of reader.rows(layout)) {
      assert.equal(first, row);
      for (let r = 0; r < rows; r++, row++) {
        const at = (i) => (Math.floor(row / 500) * 100 + i) * 500 + (row % 500);
        for (let i = 0; i < 100; i++) assert.equal(values[r * 100 + i], data[at(i)]);
      }
    }
    assert.deepEqual([row, read], [1000, 400_000]);
    await model.close();
  });

  it("takes the axes of ONNX weights from the operators that use them", async () => {
    const [inputs, outputs] = [256, 48];
    const transposed = new Float32Array(weight.length);
    for (let i = 0; i < inputs; i++) {
      for (let o = 0; o < outputs; o++) transposed[i * outputs + o] = weight[o * inputs + i];
    }
    const bytes = await onnxModel({
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [
        constant("w", [inputs, outputs], transposed),
        constant("unused", [16, 32], random.normal(512)),
      ],
      inputs: [{ name: "x", shape: ["n", inputs] }],
      outputs: [{ name: "y", shape: ["n", outputs] }],
    });
    const model = await openModel(bytes);
    const plain = await rowsOf(await modelOf({ w: [shape, weight] }), { worstRows: true });
    const found = await rowsOf(model, { worstRows: true });
    const errorsOf = ({ scheme, bytes, mse, max, norm1, norm2, cosine, worstRows }) => [
      ...[scheme, bytes, mse, max, norm1, norm2, cosine],
      ...worstRows.map(({ row }) => row),
    ];
    const own = found.filter(({ name }) => name === "w");
    assert.deepEqual(own.map(errorsOf), plain.map(errorsOf));
    const { scheme, reason } = found.find(({ name }) => name === "unused");
    assert.deepEqual([scheme, reason], ["keep", "used by no node"]);
  });

  it("plans better than each scheme for all within the bytes of that scheme", async () => {
    const scale = (values, by) => values.map((value, i) => value * (i % 97 === 0 ? by : 1));
    const tensors = Object.fromEntries(
      Array.from({ length: 8 }, (_, i) => [
        `l${i}`,
        [shape, scale(random.normal(48 * 256), 1 + 3 * i)],
      ]),
    );
    const rows = await rowsOf(await modelOf(tensors), {});
    for (const scheme of DEFAULT_SCHEMES) {
      const own = rows.filter((row) => row.scheme === scheme);
      const bytes = own.reduce((sum, row) => sum + row.bytes, 0);
      const error = own.reduce((sum, row) => sum + row.relative * row.share, 0);
      const format = /^q/.test(scheme) ? "gguf" : "safetensors";
      assert.ok(plan(rows, { bytes, format }).error <= error, scheme);
    }
  });

  it("refuses wrong options before anything is read", async () => {
    const model = await modelOf({ w: [shape, weight] });
    const refusal = (options, type, code, message) =>
      refuses(() => analyze(model, options), type, code, message);
    refusal({ schemes: "int8-channel" }, TypeError, "ZP_INVALID_OPTION", /a list of names/);
    refusal({ schemes: ["int9-channel"] }, RangeError, "ZP_INVALID_SCHEME", /schemes\[0\]/);
    refusal({ include: "a" }, TypeError, "ZP_INVALID_OPTION", /options\.include must be a list/);
    refusal({ exclude: ["{"] }, RangeError, "ZP_INVALID_OPTION", /exclude\[0\] must close/);
    refusal({ histogram: 0 }, RangeError, "ZP_INVALID_OPTION", /from 1 to 4096/);
    refusal({ onProgress: 1 }, TypeError, "ZP_INVALID_FUNCTION", /onProgress/);
    refusal({ scheme: [] }, TypeError, "ZP_UNKNOWN_OPTION", /did you mean schemes/);
    refuses(() => analyze({}), TypeError, "ZP_INVALID_MODEL", /must be a Model/);
  });

  it("rejects reads of a closed file", async () => {
    const model = await modelOf({ w: [shape, weight] });
    const rows = analyze(model);
    await model.close();
    await rejects(
      (async () => {
        for await (const _ of rows);
      })(),
      TypeError,
      "ZP_DISPOSED",
      /./,
    );
  });
});

describe("klDivergence", () => {
  it("is the mean of the divergences of the samples, by hand", () => {
    const original = tensor([
      [0, Math.log(3)],
      [5, 5],
    ]);
    const quantized = tensor([
      [0, 0],
      [1, 1],
    ]);
    // p = [1/4, 3/4], q = [1/2, 1/2]; the second sample has equal probabilities.
    const expected = (0.25 * Math.log(0.5) + 0.75 * Math.log(1.5)) / 2;
    assert.ok(Math.abs(klDivergence(original, quantized) - expected) < 1e-7);
    assert.equal(klDivergence(original, original), 0);
    assert.ok(klDivergence(tensor([1e30, 0]), tensor([0, 1e30])) > 1e29);
  });

  it("refuses other shapes, no values, and values that are not finite", () => {
    const x = tensor([[1, 2]]);
    refuses(() => klDivergence(x, tensor([1, 2])), RangeError, "ZP_SHAPE_MISMATCH", /got \[2\]/);
    const none = tensor(new Float32Array(0), [0, 2]);
    refuses(() => klDivergence(none, none), RangeError, "ZP_EMPTY", /no values/);
    const bad = tensor([[1, Number.NaN]]);
    refuses(
      () => klDivergence(x, bad),
      RangeError,
      "ZP_NON_FINITE",
      /quantized has NaN at index 1/,
    );
  });
});

describe("Sha256", () => {
  it("is that of FIPS 180-4, in any chunks, as Node's own", () => {
    const hashOf = (bytes, step = 7) => {
      const hash = new Sha256();
      for (let at = 0; at < bytes.length; at += step) hash.update(bytes.subarray(at, at + step));
      return hash.digest();
    };
    const text = (value) => new TextEncoder().encode(value);
    assert.equal(
      hashOf(text("abc")),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    assert.equal(
      hashOf(text("")),
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
    for (const length of [55, 56, 63, 64, 65, 1000]) {
      const bytes = Uint8Array.from({ length }, () => random.bits() & 255);
      const own = sha256();
      own.update(bytes);
      const expected = own.digest();
      for (const step of [1, 64, 100]) assert.equal(hashOf(bytes, step), expected);
    }
  });
});

describe("the activations of analyze", () => {
  const inputs = 40;
  const w = random.normal(24 * inputs);
  const samples = random.normal(50 * inputs).map((value, i) => value + 2 * (i % 3));
  const own = [24, inputs];

  /** Mean squares of the outputs' errors and of the outputs, over all samples and outputs. */
  function outputsOf(values) {
    let [noise, signal] = [0, 0];
    for (let sample = 0; sample < 50; sample++) {
      for (let row = 0; row < 24; row++) {
        let [error, output] = [0, 0];
        for (let i = 0; i < inputs; i++) {
          const x = samples[sample * inputs + i];
          error += (w[row * inputs + i] - values[row * inputs + i]) * x;
          output += w[row * inputs + i] * x;
        }
        noise += error ** 2;
        signal += output ** 2;
      }
    }
    return { mse: noise / (24 * 50), relative: noise / signal };
  }

  const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${a} ${b}`);

  it("give the error of the outputs, however the inputs come", async () => {
    const model = await modelOf({ w: [own, w], other: [own, w] });
    const batch = (from, to) =>
      tensor(samples.slice(from * inputs, to * inputs), [to - from, inputs]);
    const npy = new Uint8Array(
      await collect(
        writeNpy({
          ...{ name: "array", shape: [50, inputs], dtype: "float32" },
          bytes: () => [new Uint8Array(samples.buffer)],
        }),
      ),
    );
    const results = [];
    for (const given of [
      tensor(samples, [5, 10, inputs]),
      samples,
      [batch(0, 20), batch(20, 50)],
      (async function* () {
        yield batch(0, 1);
        yield batch(1, 50);
      })(),
      npy,
      new Blob([npy]),
      new InputMoments(inputs).add(batch(0, 50)),
    ]) {
      const found = await rowsOf(model, {
        schemes: ["int4-g8", "int8-tensor", "float16", "int4-channel"],
        activations: { w: given },
      });
      for (const row of found.filter(({ name }) => name === "w")) {
        const { mse, relative } = outputsOf(valuesOf(row.scheme, w, own));
        near(row.outputMse, mse);
        near(row.outputRelative, relative);
        assert.deepEqual([row.shows, row.moments], ["outputs", "full"]);
      }
      const other = found.find(({ name }) => name === "other");
      assert.deepEqual([other.shows, other.outputMse], ["weights", undefined]);
      results.push(found);
    }
    for (const found of results) assert.deepEqual(found, results[0]);
  });

  it("weigh errors by the mean squares of more than 512 inputs", async () => {
    const many = 600;
    const values = random.normal(8 * many);
    const x = random.normal(3 * many);
    const model = await modelOf({ w: [[8, many], values] });
    const [row] = await rowsOf(model, {
      schemes: ["int4-channel"],
      activations: { w: tensor(x, [3, many]) },
      worstRows: true,
    });
    const changed = valuesOf("int4-channel", values, [8, many]);
    let sum = 0;
    for (let i = 0; i < values.length; i++) {
      const k = i % many;
      const square = (x[k] ** 2 + x[many + k] ** 2 + x[2 * many + k] ** 2) / 3;
      sum += (values[i] - changed[i]) ** 2 * square;
    }
    near(row.outputMse, sum / 8);
    assert.equal(row.moments, "diagonal");
    assert.equal(row.worstRows.length, 8);
  });

  it("are recorded from a Sequential by the names of its weights in a file", async () => {
    const model = new Sequential({
      fc1: new Linear(tensor(w, own)),
      relu: new ReLU(),
      head: new Sequential({ fc2: new Linear(tensor(random.normal(16 * 24), [16, 24])) }),
    });
    const x = tensor(samples, [50, inputs]);
    const recorded = await recordInputs(model, [x]);
    assert.deepEqual(Object.keys(recorded), ["fc1.weight", "head.fc2.weight"]);
    assert.equal(recorded["head.fc2.weight"].length, 24);
    const file = await openModel(await collect(save(model)));
    const found = await rowsOf(file, { schemes: ["int4-channel"], activations: recorded });
    const { outputMse } = found.find(({ name }) => name === "fc1.weight");
    near(outputMse, outputsOf(valuesOf("int4-channel", w, own)).mse);
    assert.equal(plan(found, { bytes: 1e6 }).metric, "output");
  });

  it("are recorded from an ONNX model with outputs added for the engine", async () => {
    const bytes = await onnxModel({
      nodes: [
        { opType: "Relu", inputs: ["x"], outputs: ["r"] },
        { opType: "MatMul", inputs: ["r", "w"], outputs: ["y"] },
      ],
      initializers: [constant("w", [inputs, 24], random.normal(24 * inputs))],
      inputs: [{ name: "x", shape: ["n", inputs] }],
      outputs: [{ name: "y", shape: ["n", 24] }],
    });
    const model = await openModel(bytes);
    let released = false;
    const createSession = async (given) => {
      const { graph } = await readOnnx({
        size: given.length,
        read: (at, n) => given.subarray(at, at + n),
      });
      assert.deepEqual(
        graph.outputs.map(({ name }) => name),
        ["y", "r"],
      );
      return {
        run: async ({ x }) => ({ r: x }),
        release: () => (released = true),
      };
    };
    const x = { type: "float32", dims: [50, inputs], data: samples };
    const recorded = await recordOnnxInputs(model, createSession, [{ x }]);
    assert.deepEqual([recorded.w.length, recorded.w.samples, released], [inputs, 50, true]);
    const [row] = await rowsOf(model, { schemes: ["int4-channel"], activations: recorded });
    assert.equal(row.shows, "outputs");
  });

  it("are refused if they do not fit, or belong to no tensor", async () => {
    const model = await modelOf({ w: [own, w] });
    refuses(
      () => analyze(model, { activations: { v: samples } }),
      RangeError,
      "ZP_INVALID_OPTION",
      'analyze: options.activations names "v", which is no tensor of the model',
    );
    const refused = (given, type, code, message) =>
      rejects(rowsOf(model, { activations: { w: given } }), type, code, message);
    await refused(
      tensor([[1, 2]]),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /length 40, got shape \[1, 2\]/,
    );
    await refused(
      new InputMoments(3),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /must have 40 inputs, got 3/,
    );
    await refused([], RangeError, "ZP_INVALID_OPTION", /must have a sample, got none/);
    await refused(5, TypeError, "ZP_INVALID_OPTION", /must be a \.npy file, a tensor, or batches/);
    const bad = tensor(
      samples.map((value, i) => (i === 7 ? Number.NaN : value)),
      [50, inputs],
    );
    await refused(bad, RangeError, "ZP_NON_FINITE", /NaN at index 7/);
    await rejects(recordInputs({}, []), TypeError, "ZP_INVALID_MODEL", /must be a Sequential/);
    await rejects(
      recordOnnxInputs(model, () => {}, []),
      RangeError,
      "ZP_INVALID_MODEL",
      /of ONNX/,
    );
    refuses(() => new InputMoments(0), RangeError, "ZP_INVALID_OPTION", /from 1 to/);
    refuses(() => new InputMoments(), TypeError, "ZP_INVALID_OPTION", /from 1 to/);
  });
});
