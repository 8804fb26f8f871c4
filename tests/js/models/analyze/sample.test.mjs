// analyze with samples: estimates near the exact rows, from few bytes; and pauses.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { analyze, openModel, plan } from "zeropoint/models";
import { layoutSafetensors, writeSafetensors } from "../../../internal/formats.mjs";
import { layoutOf, sampleOf, WeightView } from "../../../internal/models.mjs";
import { Random, refuses } from "../../support/asserts.mjs";
import { collect } from "../../support/files/formats.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";

await init();

const [ROWS, COLUMNS] = [512, 256];
const values = new Random(7).normal(ROWS * COLUMNS);
const SCHEMES = ["int8-tensor", "int8-channel", "int4-g32", "int3-g64-mse", "q4_0", "float16"];

/** A safetensors file of one weight and a bias, and the bytes that are read of it. */
async function modelOf(data, shape = [ROWS, COLUMNS]) {
  const tensors = { w: [shape, data], bias: [[shape[0]], data.slice(0, shape[0])] };
  const layout = layoutSafetensors(
    Object.entries(tensors).map(([name, [own, { buffer }]]) => ({
      ...{ name, dtype: "float32", shape: own },
      bytes: () => [new Uint8Array(buffer)],
    })),
  );
  const bytes = await collect(writeSafetensors(layout));
  const counted = { read: 0 };
  const read = (offset, length) => {
    counted.read += length;
    return bytes.slice(offset, offset + length);
  };
  const model = await openModel({ size: bytes.length, read });
  counted.read = 0;
  return { model, counted };
}

/** The weight as ONNX's MatMul has it: inputs first. */
async function transposedModel() {
  const data = new Float32Array(values.length);
  for (let i = 0; i < COLUMNS; i++) {
    for (let o = 0; o < ROWS; o++) data[i * ROWS + o] = values[o * COLUMNS + i];
  }
  const bytes = await onnxModel({
    nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
    initializers: [constant("w", [COLUMNS, ROWS], data)],
    inputs: [{ name: "x", shape: ["n", COLUMNS] }],
    outputs: [{ name: "y", shape: ["n", ROWS] }],
  });
  return await openModel(bytes);
}

async function rowsOf(model, options = {}) {
  const rows = [];
  for await (const row of analyze(model, { schemes: SCHEMES, ...options })) rows.push(row);
  return rows;
}

describe("analyze with a sample", () => {
  it("marks each row of a weight as an estimate, with exact bytes", async () => {
    const { model } = await modelOf(values);
    const [weights, exact] = [await rowsOf(model, { sample: 4096 }), await rowsOf(model)];
    const of = (rows) => rows.map(({ name, scheme, bytes }) => [name, scheme, bytes]);
    assert.deepEqual(of(weights), of(exact));
    assert.deepEqual(
      weights.map(({ isEstimate }) => isEstimate),
      weights.map(({ name }) => (name === "w" ? true : undefined)),
    );
    assert.ok(exact.every((row) => !("isEstimate" in row)));
    assert.ok(weights.every((row) => !("sha256" in row)));
  });

  it("reads only the sampled rows", async () => {
    const { model, counted } = await modelOf(values);
    await rowsOf(model, { sample: 4096 });
    assert.equal(counted.read, 4 * 4096);
  });

  it("is near the exact errors, also where the rows are columns of the file", async () => {
    for (const model of [(await modelOf(values)).model, await transposedModel()]) {
      const exact = await rowsOf(model);
      const rows = await rowsOf(model, { sample: 8192 });
      assert.equal(rows.length, exact.length);
      assert.ok(rows.filter(({ scheme }) => scheme !== "keep").length > 5);
      for (const [i, row] of rows.entries()) {
        if (row.scheme === "keep") continue;
        const { scheme, sqnr, mse, cosine } = exact[i];
        assert.ok(row.isEstimate, scheme);
        // The range of the whole tensor is smaller in a sample.
        const [decibels, ratio] = scheme === "int8-tensor" ? [2, 1.6] : [0.5, 1.12];
        assert.ok(Math.abs(row.sqnr - sqnr) < decibels, `${scheme}: ${row.sqnr}, ${sqnr}`);
        assert.ok(row.mse / mse < ratio && mse / row.mse < ratio, `${scheme}: ${row.mse}, ${mse}`);
        assert.ok(Math.abs(row.cosine - cosine) < 0.003, scheme);
      }
    }
  });

  it("takes the same rows of a transposed weight as of a plain one", async () => {
    const [plain, transposed] = [(await modelOf(values)).model, await transposedModel()];
    const errorsOf = async (model) =>
      (await rowsOf(model, { sample: 4096, include: ["w"] })).map(({ scheme, mse, max }) => [
        ...[scheme, mse, max],
      ]);
    assert.deepEqual(await errorsOf(transposed), await errorsOf(plain));
  });

  it("samples the rows in the middle of equal parts", async () => {
    // Sixteen sampled rows: 16, 48, 80, …; all others are a thousand times larger.
    const data = Float32Array.from(values, (value, i) =>
      Math.floor(i / COLUMNS) % 32 === 16 ? value : 1000 * value,
    );
    const [estimate] = await rowsOf((await modelOf(data)).model, { sample: 4096 });
    assert.ok(estimate.max < 0.1, String(estimate.max));
  });

  it("samples whole groups of neighbouring outputs where groups run across these", async () => {
    const shape = [4, 100];
    const bytes = new Uint8Array(Float32Array.from({ length: 400 }, (_, i) => i % 100).buffer);
    const file = { name: "w", dtype: "float32", shape, byteLength: 1600, bytes: () => [bytes] };
    const sample = await sampleOf(
      "test",
      file,
      layoutOf(new WeightView(shape, [0, 0]), "safetensors"),
      8,
      64,
    );
    const { rows, inner, rowLength } = sample.layout;
    assert.deepEqual([rows, inner, rowLength], [16, 16, 4]);
    const found = await collect(sample.file.bytes());
    // Of twelve whole groups the fourth and the tenth.
    const group = (first) => Array.from({ length: 8 }, (_, i) => first + i);
    const row = [...group(24), ...group(72)];
    assert.deepEqual([...new Float32Array(found.buffer)], [...row, ...row, ...row, ...row]);
  });

  it("is exact for a weight that is no larger than the sample", async () => {
    const { model } = await modelOf(values.slice(0, 8 * COLUMNS), [8, COLUMNS]);
    const options = { include: ["w"] };
    assert.deepEqual(await rowsOf(model, { ...options, sample: 1 }), await rowsOf(model, options));
  });

  it("gives the errors of outputs where there are inputs", async () => {
    const { model } = await modelOf(values);
    const x = new Random(9).normal(64 * COLUMNS);
    const options = { include: ["w"], activations: { w: { data: x, shape: [64, COLUMNS] } } };
    const exact = await rowsOf(model, options);
    const rows = await rowsOf(model, { ...options, sample: 8192 });
    assert.ok(rows.length > 5 && rows.length === exact.length, `${rows.length} rows`);
    for (const [i, row] of rows.entries()) {
      assert.equal(row.shows, "outputs");
      assert.ok(Math.abs(row.outputSqnr - exact[i].outputSqnr) < 2, row.scheme);
    }
  });

  it("gives rows that plan takes", async () => {
    const { model } = await modelOf(values);
    const { bytes } = plan(await rowsOf(model, { sample: 4096 }), { ratio: 0.5 });
    assert.ok(bytes <= values.length * 2 + ROWS * 4);
  });

  it("reports progress up to all bytes", async () => {
    const { model } = await modelOf(values);
    const seen = [];
    await rowsOf(model, { sample: 4096, onProgress: (step) => seen.push(step), include: ["w"] });
    const total = 4 * values.length;
    assert.deepEqual(seen.at(-1), { done: total, total, name: "w" });
  });

  it("refuses a sample of no values", async () => {
    const { model } = await modelOf(values);
    refuses(() => analyze(model, { sample: 0 }), RangeError, "ZP_INVALID_OPTION", /sample/);
  });
});

describe("A pause of analyze", () => {
  it("lasts until the promise of onProgress is fulfilled", async () => {
    const { model, counted } = await modelOf(values);
    let go = () => {};
    const gate = new Promise((resolve) => {
      go = resolve;
    });
    let isDone = false;
    const running = rowsOf(model, { onProgress: () => gate }).then(() => {
      isDone = true;
    });
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve));
    // The bias is first in the file.
    assert.deepEqual([isDone, counted.read], [false, 4 * ROWS]);
    go();
    await running;
    assert.equal(counted.read, 4 * (values.length + ROWS));
  });

  it("ends by its signal, too", async () => {
    const { model } = await modelOf(values);
    const controller = new AbortController();
    const reason = new Error("enough");
    const onProgress = async () => controller.abort(reason);
    await assert.rejects(rowsOf(model, { signal: controller.signal, onProgress }), reason);
  });
});
