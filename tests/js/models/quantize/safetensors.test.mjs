import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantize } from "zeropoint";
import { load, openModel, quantizeModel } from "zeropoint/models";
import { rejects, sameDeep } from "../../support/asserts.mjs";
import { outputBytes, safetensorsOf, someValues } from "../../support/files/checkpoints.mjs";
import { fromBase64 } from "../../support/files/formats.mjs";
import { openBytes } from "../../support/files/saved.mjs";
import { readVectors } from "../../support/vectors.mjs";

await init();

const { cases } = readVectors("formats/quantized");
const of = (layout) => cases.filter((each) => each.layout === layout);
const DTYPES = { F32: "float32", F16: "float16", BF16: "bfloat16" };

const schemeOf = ({ num_bits: bits, strategy, group_size: size, symmetric }) =>
  `int${bits}-${strategy === "group" ? `g${size}` : strategy}${symmetric ? "" : "-affine"}`;

describe("quantizeModel to safetensors", () => {
  /** Quantizes the input of a case, and compares all tensors. */
  async function sameAsReference({ name, input, tensors }, scheme, options) {
    const { dtype, shape, data } = input;
    const file = await safetensorsOf({ "m.weight": [DTYPES[dtype], shape, fromBase64(data)] });
    const model = await openModel(file);
    const { files } = await quantizeModel(model, () => scheme, options);
    const { tensors: written, dataOf } = openBytes(await outputBytes(files[0]));
    const names = Object.keys(tensors).map((part) => `m.${part}`);
    assert.deepEqual(Object.keys(written).sort(), names.sort(), name);
    for (const [part, expected] of Object.entries(tensors)) {
      const { dtype: own, shape: lengths } = written[`m.${part}`];
      assert.deepEqual([own, lengths], [expected.dtype, expected.shape], `${name} ${part}`);
      sameDeep(dataOf(`m.${part}`), fromBase64(expected.data), `${name} ${part}`);
    }
  }

  it("writes the bits of compressed-tensors", async () => {
    let compared = 0;
    for (const each of of("compressed-tensors")) {
      const { weights, format } = each;
      const isDynamic = format !== "pack-quantized";
      if (weights.actorder) continue;
      const activations = isDynamic ? "dynamic" : "float32";
      const options = { target: "compressed-tensors", activations };
      await sameAsReference(each, schemeOf(weights), options);
      compared++;
    }
    assert.ok(compared >= 30, `${compared} cases`);
  });

  it("writes the bits of MLX", async () => {
    let compared = 0;
    for (const each of of("mlx")) {
      await sameAsReference(each, `int${each.bits}-g${each.group_size}`, { target: "mlx" });
      compared++;
    }
    assert.ok(compared >= 14, `${compared} cases`);
  });

  /**
   * The quantization in a config.json, without targets and with its groups in order: targets are written as names of
   * modules, where the user of the reference gave patterns.
   */
  function withoutTargets(bytes) {
    const { quantization_config: config } = JSON.parse(new TextDecoder().decode(bytes));
    const groups = Object.values(config.config_groups).map(({ targets, ...group }) =>
      JSON.stringify(group),
    );
    return { ...config, config_groups: groups.sort() };
  }

  for (const { name, in: given, out, plan } of of("checkpoint")) {
    it(`writes the files of llm-compressor: ${name}`, async () => {
      const schemes = Object.fromEntries(
        Object.entries(plan).map(([tensor, weights]) => [tensor, schemeOf(weights)]),
      );
      const main = given["model.safetensors.index.json"] ?? given["model.safetensors"];
      const externalData = (path) => fromBase64(given[path]);
      const model = await openModel(fromBase64(main), { externalData });
      const isDynamic = Object.values(plan).some(({ format }) => format === "int-quantized");
      const activations = isDynamic ? "dynamic" : "float32";
      const options = { target: "compressed-tensors", activations };
      const { files } = await quantizeModel(model, { schemes }, options);
      const named = Object.fromEntries(files.map((file) => [file.name, file]));
      assert.deepEqual(Object.keys(named).sort(), Object.keys(out).sort());
      for (const [file, expected] of Object.entries(out)) {
        const bytes = await outputBytes(named[file]);
        const wanted = fromBase64(expected);
        if (file === "config.json" && name.startsWith("mixed")) {
          assert.deepEqual(withoutTargets(bytes), withoutTargets(wanted));
        } else if (file.endsWith(".safetensors")) {
          // llm-compressor writes no metadata.
          const [own, reference] = [openBytes(bytes), openBytes(wanted)];
          assert.deepEqual([own.metadata, reference.metadata], [{ format: "pt" }, undefined]);
          assert.deepEqual(own.tensors, reference.tensors);
          assert.deepEqual(Object.keys(own.tensors), Object.keys(reference.tensors));
          sameDeep(bytes.slice(8 + own.length), wanted.slice(8 + reference.length), file);
        } else sameDeep(bytes, wanted, file);
      }
    });
  }

  const w = someValues(40 * 24);
  const norm = someValues(24);
  const steps = BigInt64Array.of(7n);
  const tensors = {
    "a.weight": ["float32", [40, 24], w],
    "norm.weight": ["float32", [24], norm],
    steps: ["int64", [1], steps],
  };

  const quantizedTo = async (scheme) =>
    quantizeModel(await openModel(await safetensorsOf(tensors, [["note", "kept"]])), scheme);

  for (const scheme of [
    ...["int8-tensor", "int8-channel", "int4-g8", "int4-g10", "int2-channel", "uint4-g8-affine"],
    ...["int8-channel-affine", "uint8-tensor-affine", "int4-channel-mse", "uint2-g24-affine-mse"],
  ]) {
    it(`writes codes and scales of quantize for ${scheme}, which load and Model.read read`, async () => {
      const { files } = await quantizedTo(scheme);
      assert.equal(files.length, 1);
      const [dtype, unit, ...rest] = scheme.split("-");
      const slices = unit === "channel" ? { axis: 0 } : { groupSize: Number(unit.slice(1)) };
      const expected = quantize(
        { data: w, shape: [40, 24] },
        {
          dtype,
          scheme: rest.includes("affine") ? "affine" : "symmetric",
          range: rest.includes("mse") ? "mse" : "minmax",
          ...(unit === "tensor" ? {} : slices),
        },
      );
      const bytes = await outputBytes(files[0]);
      const { "a.weight": q } = await load(bytes);
      sameDeep(q.data, expected.data);
      if (unit === "tensor") assert.equal(q.scale, Math.fround(expected.scale));
      else {
        sameDeep(q.scale.data, expected.scale.data);
        sameDeep([...q.scale.shape], [...expected.scale.shape]);
      }
      const out = await openModel(bytes);
      sameDeep((await out.read("a.weight")).data, dequantize(q).data);
    });
  }

  it("keeps metadata, norms and integers, and reports why", async () => {
    const { files, report } = await quantizedTo("int8-channel");
    const bytes = await outputBytes(files[0]);
    sameDeep((await load(bytes))["norm.weight"].data, norm);
    assert.equal((await openModel(bytes)).metadata.get("note"), "kept");
    assert.deepEqual(
      report.rows
        .filter(({ scheme }) => scheme === "keep")
        .map(({ name, reason }) => [name, reason]),
      [
        ["steps", "int64, not float32, float16, bfloat16 or float64"],
        ["norm.weight", "a norm"],
      ],
    );
  });

  it("reports the scheme of a tensor and its bytes before", async () => {
    const { report } = await quantizedTo("int4-g8");
    const { scheme, bytesBefore } = report.rows.find(({ name }) => name === "a.weight");
    assert.deepEqual([scheme, bytesBefore], ["int4-g8", 40 * 24 * 4]);
  });

  it("keeps weights whose scales take up what the codes save, unless a function asks for them", async () => {
    const depthwise = ["float32", [3, 3, 64, 1], w.slice(0, 576)];
    const model = await openModel(await safetensorsOf({ depthwise }));
    const rowsOf = async (scheme) => (await quantizeModel(model, scheme)).report.rows;
    const [kept] = await rowsOf("int4-g32");
    assert.equal(kept.scheme, "keep");
    assert.equal(kept.reason, "not smaller as int4-g32, with a scale for each value");
    assert.equal((await rowsOf("int8-channel"))[0].scheme, "int8-channel");
    const [asked] = await rowsOf(() => "int4-g32");
    assert.equal(asked.scheme, "int4-g32");
    assert.equal(asked.bytesAfter, 576 / 2 + 576 * 4);
  });

  it("copies kept tensors byte for byte, and casts to half floats", async () => {
    const model = await openModel(await safetensorsOf(tensors));
    const { files } = await quantizeModel(model, { schemes: { "a.weight": "bfloat16" } });
    const { dataOf, tensors: written } = openBytes(await outputBytes(files[0]));
    assert.equal(written["a.weight"].dtype, "BF16");
    sameDeep(dataOf("steps"), new Uint8Array(steps.buffer));
    sameDeep(dataOf("norm.weight"), new Uint8Array(norm.buffer));
    const halves = new Uint16Array(dataOf("a.weight").buffer);
    assert.ok(
      halves.every((half, i) => {
        const value = new Float32Array(Uint32Array.of(half << 16).buffer)[0];
        return Math.abs(value - w[i]) <= Math.abs(w[i]) * 2 ** -8;
      }),
    );
  });

  it("gives a stream that can be made again, with progress in bytes of input", async () => {
    const model = await openModel(await safetensorsOf(tensors));
    const seen = [];
    const onProgress = (progress) => seen.push(progress);
    const { files } = await quantizeModel(model, "int4-g8", { onProgress });
    sameDeep(await outputBytes(files[0]), await outputBytes(files[0]));
    const { done, total, name } = seen.at(-1);
    assert.equal(done, total);
    assert.equal(typeof name, "string");
    assert.ok(seen.every(({ done, total }) => done > 0 && done <= total));
  });

  it("names tensor and index of a NaN when it is met", async () => {
    const values = w.slice();
    values[77] = Number.NaN;
    const file = await safetensorsOf({ "a.weight": ["float32", [40, 24], values] });
    for (const [scheme, target] of [
      ["int4-g8", "zeropoint"],
      ["int8-tensor", "zeropoint"],
      ["int4-g8", "compressed-tensors"],
    ]) {
      const { files } = await quantizeModel(await openModel(file), scheme, { target });
      const problem = /tensor "a.weight" has NaN at index 77/;
      await rejects(() => outputBytes(files[0]), RangeError, "ZP_NON_FINITE", problem);
    }
  });

  it("stops when the signal is aborted, also in the midst of a stream", async () => {
    const controller = new AbortController();
    const model = await openModel(await safetensorsOf(tensors));
    const { files } = await quantizeModel(model, "int4-g8", { signal: controller.signal });
    const reader = files[0].stream().getReader();
    await reader.read();
    controller.abort(new Error("enough"));
    await assert.rejects(async () => {
      for (;;) if ((await reader.read()).done) return;
    }, /enough/);
  });

  it("refuses schemes that a target does not have, before anything is written", async () => {
    const model = await openModel(await safetensorsOf(tensors));
    const refuse = (scheme, options, code, text) =>
      rejects(() => quantizeModel(model, scheme, options), RangeError, code, text);
    await refuse("int8-channel", { target: "mlx" }, "ZP_INVALID_SCHEME", /mlx takes groups of 32/);
    await refuse("q4_k", {}, "ZP_INVALID_SCHEME", /safetensors has no block types/);
    await refuse("int9-g8", {}, "ZP_INVALID_SCHEME", /a dtype that does not exist, int9/);
    await refuse("int4", {}, "ZP_INVALID_SCHEME", /scheme must say what shares a scale/);
    await refuse("int4-row", {}, "ZP_INVALID_SCHEME", /scheme must be/);
    await refuse("int4-g8", { target: "vllm" }, "ZP_INVALID_OPTION", /"zeropoint"/);
    const plan = { schemes: { other: "int4-g8" } };
    await refuse(plan, {}, "ZP_INVALID_MODEL", /names no tensor of the model/);
  });
});
