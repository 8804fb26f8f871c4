// analyze: errors against quantize and dequantize, equal bits in all builds, certificates, refusals.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantizationError, quantize, tensor } from "zeropoint";
import { analyze, DEFAULT_SCHEMES, openModel, plan, quantizeModel } from "zeropoint/models";
import { embedded, loadBuild, runOn } from "../../../internal/core.mjs";
import {
  layoutOf,
  RowErrors,
  SharedBytes,
  sha256,
  TensorPasses,
  Totals,
  WeightView,
} from "../../../internal/models.mjs";
import { Random, refuses, rejects } from "../../support/asserts.mjs";
import { outputBytes } from "../../support/files/checkpoints.mjs";
import { openBytes } from "../../support/files/saved.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";
import { modelOf, rowsOf, valuesOf } from "./models.mjs";

await init();

const random = new Random(41);
const weight = random.normal(48 * 256);
const shape = [48, 256];

/** bfloat16 patterns of values, rounded down. */
const bfloat16 = (values) =>
  Uint16Array.from(new Uint32Array(values.buffer), (bits) => bits >>> 16);

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
    let at = 0;
    const onRow = (row) => {
      errors.set(row.subarray(0, 6), at);
      at += 6;
    };
    const sums = new RowErrors("test", { rowLength: 256, inner: 1 }, weights, onRow);
    // Rows in parts, the first of them not of whole steps.
    sums.add(weight.subarray(0, 5003), values.subarray(0, 5003));
    sums.add(weight.subarray(5003), values.subarray(5003));
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
        values / 2 + (values / 32) * 5,
        (values / 256) * 144,
        2 * values,
      ],
    );
    // Two groups a row, the second one short.
    assert.deepEqual(await bytesOf("b", ["int8-g32"]), [1280 + 64 * 4]);
  });

  it("counts the bytes that quantizeModel writes", async () => {
    const model = await modelOf({ b: [[32, 40], bfloat16(random.normal(1280)), "bfloat16"] });
    const schemes = [
      "int8-tensor-affine",
      "int4-channel",
      "int3-g16-affine",
      "uint4-g32-affine",
      "keep",
    ];
    const rows = await rowsOf(model, { schemes });
    assert.equal(rows.length, schemes.length);
    for (const { scheme, bytes } of rows) {
      const { files } = await quantizeModel(model, () => scheme);
      const { tensors } = openBytes(await outputBytes(files[0]));
      const ends = Object.values(tensors).map(({ data_offsets: [, end] }) => end);
      assert.equal(Math.max(...ends), bytes, scheme);
    }
  });

  it("bounds the error of every output by its norms", async () => {
    const model = await modelOf({ w: [shape, weight] });
    const found = await rowsOf(model, { schemes: ["int4-g32", "int2-g16", "q4_0"] });
    assert.equal(found.length, 3);
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

  // Larger than one tile of rows, and with an outer axis; the middle one is summed over.
  const stacked = [2, 100, 500];

  it("knows the rows of a transposed weight, and of one read across them", () => {
    const own = { rows: 1000, rowLength: 100, inner: 500 };
    const view = new WeightView(stacked, [1, 1]);
    const layout = layoutOf(view, "onnx");
    assert.deepEqual(layout, { ...own, runLength: 100, isAcross: false });
    const across = layoutOf(view, "safetensors");
    assert.deepEqual(across, { ...own, runLength: 500, isAcross: true });
  });

  it("reads a transposed weight as its rows", async () => {
    const data = random.normal(2 * 100 * 500);
    async function* bytes() {
      const all = new Uint8Array(data.buffer);
      for (let at = 0; at < all.length; at += 1003) yield all.subarray(at, at + 1003);
    }
    const file = { shape: stacked, dtype: "float32", byteLength: 400_000, bytes };
    let read = 0;
    const onRead = ({ length }) => (read += length);
    const layout = layoutOf(new WeightView(stacked, [1, 1]), "onnx");
    const reader = new TensorPasses("test", undefined, file, new SharedBytes(), onRead, () => {});
    let row = 0;
    for await (const { first, rows, values } of reader.rows(layout)) {
      assert.equal(first, row);
      for (let r = 0; r < rows; r++, row++) {
        const at = (i) => (Math.floor(row / 500) * 100 + i) * 500 + (row % 500);
        for (let i = 0; i < 100; i++) assert.equal(values[r * 100 + i], data[at(i)]);
      }
    }
    assert.deepEqual([row, read], [1000, 400_000]);
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
    const errorsOf = ({ scheme, mse, max, norm1, norm2, cosine, worstRows }) => [
      ...[scheme, mse, max, norm1, norm2, cosine],
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
