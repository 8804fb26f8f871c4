import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { init } from "zeropoint";
import { openModel, quantizeModel, verifyOutput } from "zeropoint/models";
import { readOutput } from "../../../internal/models.mjs";
import { rejects, sameDeep } from "../../support/asserts.mjs";
import {
  bfloat16Of,
  outputBytes,
  safetensorsOf,
  someValues,
} from "../../support/files/checkpoints.mjs";

await init();

const w = someValues(24 * 32);
const file = await safetensorsOf({
  ["__proto__"]: ["float32", [24, 32], w],
  constructor: ["float32", [24, 32], w],
  "": ["float32", [24, 32], w],
  "a.weight": ["float32", [24, 32], w],
});

describe("quantizeModel", () => {
  it("takes names such as __proto__ and an empty one, in plans and models", async () => {
    const model = await openModel(file);
    const schemes = JSON.parse('{"__proto__":"int8-channel","constructor":"int4-g8","":"int2-g8"}');
    const result = await quantizeModel(model, { schemes });
    const named = result.report.rows.map(({ name, scheme }) => [name, scheme]).sort();
    assert.deepEqual(named, [
      ["", "int2-g8"],
      ["__proto__", "int8-channel"],
      ["a.weight", "keep"],
      ["constructor", "int4-g8"],
    ]);
    const { read, problems } = await verifyOutput(model, result);
    assert.deepEqual([read, problems], [4, []]);
  });

  it("reads own fields of a plan alone", async () => {
    const plan = Object.assign(Object.create({ schemes: { "a.weight": "int8-channel" } }), {});
    await rejects(
      () => openModel(file).then((model) => quantizeModel(model, plan)),
      TypeError,
      "ZP_INVALID_OPTIONS",
      /plan.schemes must be an object/,
    );
  });

  for (const [what, answer, type] of [
    ["a number", 4, TypeError],
    ["a promise of a number", Promise.resolve(4), TypeError],
    ["an unknown scheme", "int9-g8", RangeError],
    ["null", null, TypeError],
  ]) {
    it(`names the tensor for which the function returns ${what}`, async () => {
      const model = await openModel(file);
      const choose = ({ name }) => (name === "a.weight" ? answer : "keep");
      await rejects(() => quantizeModel(model, choose), type, "ZP_INVALID_SCHEME", /a\.weight/);
    });
  }

  it("gives functions copies, whose changes have no effect", async () => {
    const model = await openModel(file);
    const { files } = await quantizeModel(model, (tensor) => {
      tensor.shape = [1];
      return "int8-channel";
    });
    assert.ok((await outputBytes(files[0])).length > 0);
  });

  it("passes errors of the function and of onProgress on", async () => {
    const model = await openModel(file);
    const fail = () => {
      throw new Error("mine");
    };
    await assert.rejects(() => quantizeModel(model, fail), /mine/);
    const { files } = await quantizeModel(model, "int8-channel", { onProgress: fail });
    await assert.rejects(() => outputBytes(files[0]), /mine/);
  });

  it("fails with an error of the file when the source has become shorter or fails", async () => {
    for (const [read, code] of [
      [() => new Uint8Array(0), "ZP_INVALID_FILE"],
      [() => new Uint8Array(2 ** 20), "ZP_INVALID_FILE"],
      [() => "text", "ZP_INVALID_OPTION"],
    ]) {
      let isOpen = false;
      const model = await openModel({
        size: file.length,
        read: (offset, length) => (isOpen ? read() : file.slice(offset, offset + length)),
      });
      isOpen = true;
      for (const scheme of ["int8-channel", "keep", "int8-tensor"]) {
        const { files } = await quantizeModel(model, scheme);
        await assert.rejects(() => outputBytes(files[0]), { code }, `${scheme} ${read}`);
      }
    }
  });

  it("fails when the model is closed before the files are written", async () => {
    const model = await openModel(file);
    const { files } = await quantizeModel(model, "int8-channel");
    await model.close();
    await assert.rejects(() => outputBytes(files[0]), { code: "ZP_DISPOSED" });
  });

  const cases = fc.record({
    scheme: fc.constantFrom(
      ...["int8-tensor", "int8-channel", "int4-g8", "int4-g5-affine", "int2-channel", "bfloat16"],
      ...["uint4-g16-affine", "uint8-tensor-affine", "int4-g8-mse", "keep"],
    ),
    shape: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 3 }),
    seed: fc.nat(),
    isHalf: fc.boolean(),
  });

  /** A model of two tensors of a case, and the result of quantizeModel. */
  async function quantizeCase({ scheme, shape, seed, isHalf }) {
    const count = shape.reduce((product, length) => product * length, 1);
    const values = someValues(count, seed);
    const x = isHalf ? ["bfloat16", shape, bfloat16Of(values)] : ["float32", shape, values];
    const model = await openModel(await safetensorsOf({ x, y: x }));
    return { model, result: await quantizeModel(model, () => scheme) };
  }

  it("makes the same bytes in any order of reading, for any shape and scheme", async () => {
    const property = fc.asyncProperty(cases, async (each) => {
      const [output] = (await quantizeCase(each)).result.files;
      const bytes = await outputBytes(output);
      const reader = readOutput("test", output);
      for (const [from, to] of [
        [40, 90],
        [0, 60],
        [bytes.length - 9, bytes.length],
      ]) {
        const begin = Math.min(from, bytes.length);
        const end = Math.min(to, bytes.length);
        sameDeep(await reader.read(begin, end - begin), bytes.slice(begin, end));
      }
      await reader.close();
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it("makes files that verifyOutput reads without problems, for any shape and scheme", async () => {
    const property = fc.asyncProperty(cases, async (each) => {
      const { model, result } = await quantizeCase(each);
      const { read, total, problems } = await verifyOutput(model, result);
      assert.deepEqual([read, total, problems], [2, 2, []]);
    });
    await fc.assert(property, { numRuns: 60 });
  });
});
