// The cost of quantization for a real network: properties of its table that hold for any numbers.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { readDigits, splitDigits } from "../../scripts/cost/digits.mjs";
import { decode, encode } from "../../scripts/cost/file.mjs";
import {
  BITS,
  formatTable,
  GRANULARITIES,
  measure,
  OBSERVERS,
} from "../../scripts/cost/measure.mjs";
import { loadModel, modelFile } from "../../scripts/cost/model.mjs";
import { measurePlans } from "../../scripts/cost/plans.mjs";
import { gainName, makeSamples } from "../../scripts/cost/samples.mjs";
import { train } from "../../scripts/cost/train.mjs";
import { deepAccuracy } from "../../scripts/cost/train-deep.mjs";
import { isThorough } from "../../scripts/process/run.mjs";
import { sameDeep } from "./support/asserts.mjs";

const split = splitDigits(readDigits());
let rows;
before(async () => {
  rows = measure(await loadModel());
});

const FEWEST = Math.min(...BITS);
const names = Object.keys(GRANULARITIES);

describe("The digits", () => {
  it("are 8,000 for training and 2,000 held out, with all ten digits", () => {
    assert.equal(split.training.labels.length, 8000);
    assert.equal(split.heldOut.labels.length, 2000);
    for (const { labels } of [split.training, split.heldOut]) {
      for (let digit = 0; digit < 10; digit++) {
        const share = labels.filter((label) => label === digit).length / labels.length;
        assert.ok(share > 0.08 && share < 0.12, `share of ${digit}: ${share}`);
      }
    }
  });

  it("held out are used neither for training nor for calibration", () => {
    const images = ({ codes, labels }) =>
      Array.from(labels, (_, i) =>
        Buffer.from(codes.subarray(784 * i, 784 * (i + 1))).toString("hex"),
      );
    const heldOut = new Set(images(split.heldOut));
    const training = new Set(images(split.training));
    assert.equal(heldOut.size, 2000);
    assert.ok(images(split.training).every((image) => !heldOut.has(image)));
    assert.ok(images(split.calibration).every((image) => training.has(image)));
  });

  it("for calibration have every digit in each batch", () => {
    const { labels } = split.calibration;
    assert.equal(labels.length, 200);
    for (let start = 0; start < labels.length; start += 20) {
      assert.equal(new Set(labels.subarray(start, start + 20)).size, 10);
    }
  });
});

describe("The network", () => {
  // Other weights would also change the table that notebook 6 expects, which every run compares.
  const onlyThorough = {
    skip: !isThorough && "only in the thorough run, because training is long",
  };

  it("has the same weights, bit for bit, after another training", onlyThorough, async () => {
    const { layers } = await loadModel();
    const again = train(split.training);
    for (const [i, { weight, bias }] of layers.entries()) {
      sameDeep(again[i].weight, weight.data);
      sameDeep(again[i].bias, bias.data);
    }
  });

  it("is restored from its file, with the digits", async () => {
    await init();
    const { heldOut, calibration } = split;
    const layers = [
      { weight: new Float32Array(64 * 784).fill(0.1), bias: new Float32Array(64).fill(0.2) },
      { weight: new Float32Array(10 * 64).fill(0.3), bias: new Float32Array(10).fill(0.4) },
    ];
    const read = await decode(await encode(heldOut, calibration, layers));
    for (const [i, layer] of layers.entries()) {
      sameDeep(read.layers[i].weight.data, layer.weight);
      sameDeep(read.layers[i].bias.data, layer.bias);
    }
    assert.deepEqual(read.layers[0].weight.shape, [64, 784]);
    sameDeep(read.heldOut.labels, heldOut.labels);
    const codes = (images) => Uint8Array.from(images.data, (grey) => Math.round(15 * grey));
    sameDeep(codes(read.heldOut.images), heldOut.codes);
    sameDeep(codes(read.calibration.images), calibration.codes);
  });

  it("is small enough to load with a page, including the digits", () => {
    assert.ok(readFileSync(modelFile).length < 400_000);
  });
});

describe("The samples of the lab", () => {
  it("hold a network of 25 layers that reads nine of ten held-out digits", async () => {
    await makeSamples();
    const sample = (name) => openModel(join(dirname(modelFile), `digits-deep.${name}`));
    const [gguf, onnx, arrays] = await Promise.all(["gguf", "onnx", "npz"].map(sample));
    const names = [...gguf.tensors.keys()].filter((name) => /(ffn_down|output).weight$/.test(name));
    assert.equal(names.length, 25);
    const layers = [];
    for (const name of names) {
      const bias = name.replace(/weight$/, "bias");
      assert.equal(gguf.tensors.get(name).shape.at(-1), 256);
      for (const each of [name, bias]) {
        sameDeep((await onnx.read(each)).data, (await gguf.read(each)).data);
      }
      const gain = gainName(name.replace(/\.weight$/, ""));
      layers.push({
        weight: (await gguf.read(name)).data,
        bias: (await gguf.read(bias)).data,
        gain: gguf.tensors.has(gain) ? (await gguf.read(gain)).data : undefined,
      });
    }
    assert.equal(layers.filter(({ gain }) => gain).length, 8);
    const accuracy = deepAccuracy(layers, split.heldOut);
    assert.ok(accuracy > 0.9, String(accuracy));
    assert.deepEqual(arrays.tensors.get("image").shape, [1000, 256]);
    const labels = (await arrays.read("labels")).data;
    const shown = split.heldOut.labels.filter((_, i) => i % 2 === 0);
    sameDeep(Uint8Array.from(labels), shown);
    await Promise.all([gguf, onnx, arrays].map((model) => model.close()));
  });

  it("read as many digits by a plan of their layers' outputs as by the mix of its size", async () => {
    await init();
    const sample = (name) => openModel(join(dirname(modelFile), name));
    const [model, inputs] = await Promise.all(
      ["digits-deep.gguf", "digits-deep-layers.npz"].map(sample),
    );
    const results = await measurePlans(model, inputs, split.heldOut);
    // Two standard errors of the difference of two shares of which at most one in 40 digits differs.
    const noise = (2 * Math.sqrt(1 / 40)) / Math.sqrt(split.heldOut.labels.length);
    for (const { name, mix, byWeights, byOutputs } of results) {
      assert.ok(Math.max(byWeights.bytes, byOutputs.bytes) <= mix.bytes, name);
      const shares = `${name}: ${mix.accuracy}, ${byOutputs.accuracy}`;
      assert.ok(byOutputs.accuracy > mix.accuracy - noise, shares);
    }
    const of = (wanted) => results.find(({ name }) => name === wanted);
    // The errors of weights are not enough at four bits: docs/choosing.md has these figures.
    const [q4, mix] = [of("Q4_0"), of("Q4_K_M")];
    assert.deepEqual(
      [q4.mix, q4.byWeights, q4.byOutputs, mix.mix, mix.byWeights, mix.byOutputs].map(
        ({ accuracy }) => (100 * accuracy).toFixed(2),
      ),
      ["92.50", "82.30", "92.25", "85.95", "93.55", "93.60"],
    );
    await Promise.all([model, inputs].map((each) => each.close()));
  });
});

describe("The table", () => {
  const find = (network) => {
    const row = rows.find((one) => one.network === network);
    assert.ok(row, `there is no row of ${network}`);
    return row;
  };
  const weightOnly = (bits, granularity) => find(`${bits} bits, ${granularity}`);

  it("is the same in every run", async () => {
    assert.deepEqual(measure(await loadModel()), rows);
  });

  it("begins with a network that classifies at least 95 % of the digits correctly", () => {
    assert.ok(find("float32").accuracy >= 0.95, `${find("float32").accuracy}`);
  });

  it("loses less than half a percent at 8 bits", () => {
    const { accuracy } = find("float32");
    const eightBits = [
      ...names.map((name) => weightOnly(8, name)),
      find("dynamic"),
      ...Object.keys(OBSERVERS).map((name) => find(`static, ${name}`)),
    ];
    for (const row of eightBits) {
      assert.ok(Math.abs(row.accuracy - accuracy) < 0.005, row.network);
    }
  });

  it("is more accurate the finer the scales, most of all at the fewest bits", () => {
    const [tensor, channel, group] = names.map((name) => weightOnly(FEWEST, name).accuracy);
    assert.ok(group > channel && channel > tensor, `${tensor} ${channel} ${group}`);
    assert.ok(group > 0.85, `${group}`);
    assert.ok(tensor < 0.5, `${tensor}`);
  });

  it("has less noise with every bit and with every finer granularity", () => {
    for (const [i, bits] of BITS.entries()) {
      for (const [j, name] of names.entries()) {
        const { sqnr } = weightOnly(bits, name);
        if (i > 0) assert.ok(sqnr < weightOnly(BITS[i - 1], name).sqnr, `${bits} bits ${name}`);
        if (j > 0) assert.ok(sqnr > weightOnly(bits, names[j - 1]).sqnr, `${bits} bits ${name}`);
      }
    }
  });

  it("counts weights by their bits, scales and biases as four bytes each", () => {
    const weights = 64 * 784 + 10 * 64;
    const biases = 4 * (64 + 10);
    assert.equal(find("float32").bytes, 4 * weights + biases);
    for (const bits of BITS) {
      const scales = { "per tensor": 2, "per channel": 74, "per group of 16": weights / 16 };
      for (const name of names) {
        const expected = (weights * bits) / 8 + 4 * scales[name] + biases;
        assert.equal(weightOnly(bits, name).bytes, expected, `${bits} bits ${name}`);
      }
    }
    const { bytes } = weightOnly(8, "per tensor");
    assert.equal(find("dynamic").bytes, bytes);
    // A static network also stores three scales and zero points: for its input and both layers.
    assert.equal(find("static, MinMax").bytes, bytes + 3 * (8 + 4));
  });

  it("is noisier the larger the quantized part of the network", () => {
    const { sqnr } = weightOnly(8, "per tensor");
    const dynamic = find("dynamic").sqnr;
    assert.ok(dynamic < sqnr, `${dynamic} ${sqnr}`);
    for (const name of Object.keys(OBSERVERS)) {
      const ofStatic = find(`static, ${name}`).sqnr;
      assert.ok(ofStatic < dynamic && ofStatic > 25, `${name}: ${ofStatic}`);
    }
  });
});

describe("Notebook 6", () => {
  const text = readFileSync(
    new URL("../../web/notebooks/6-what-it-costs.md", import.meta.url),
    "utf8",
  );
  const outputs = Array.from(
    text.matchAll(/```output measured\n(.*?)\n```/gs),
    ([, output]) => output,
  );

  it("expects its last cell to print the command's table", () => {
    assert.equal(outputs.at(-1), formatTable(rows));
  });

  it("expects only rows that the command prints", () => {
    const printed = formatTable(rows).split("\n");
    const expected = outputs
      .flatMap((output) => output.split("\n"))
      .filter((line) => / % {1,2}\d+ +\S+$/.test(line));
    assert.ok(expected.length > 20, `${expected.length} rows`);
    for (const row of expected) assert.ok(printed.includes(row), row);
  });
});
