// Target "transformers.js": the names and folders that it looks for, and refusals of what it has no name for.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel, verify, verifyOutput } from "zeropoint/models";
import { outputBytes } from "../../support/files/checkpoints.mjs";
import { LAYERS, modelOf } from "../../support/onnx/layers.mjs";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";

const target = "transformers.js";
let model;

before(async () => {
  await init();
  const layer = LAYERS["Gemm with transB and a bias"];
  model = await openModel(
    await modelOf(layer, normals(20 * 96, 3), { irVersion: 10, opsets: { "": 21 } }),
  );
});

describe("quantizeModel for transformers.js", () => {
  for (const [scheme, name, form] of [
    ["q8", "onnx/model_quantized.onnx", "DynamicQuantizeLinear and MatMulInteger"],
    ["int8", "onnx/model_int8.onnx", "DynamicQuantizeLinear and MatMulInteger"],
    ["uint8", "onnx/model_uint8.onnx", undefined],
    ["Q4", "onnx/model_q4.onnx", "MatMulNBits"],
    ["fp16", "onnx/model_fp16.onnx", undefined],
    ["int8-tensor", "onnx/model_int8.onnx", undefined],
    ["uint4-g32-affine", "onnx/model_q4.onnx", undefined],
    ["float16", "onnx/model_fp16.onnx", undefined],
    ["keep", "onnx/model.onnx", undefined],
  ]) {
    it(`writes ${name} for ${scheme}, which can be verified`, async () => {
      const result = await quantizeModel(model, scheme, { target });
      const [file, ...others] = result.files;
      assert.deepEqual([file.name, others, result.report.target], [name, [], target]);
      if (form !== undefined) {
        assert.equal(result.report.rows.find((row) => row.scheme !== "keep").form, form);
      }
      assert.deepEqual((await verifyOutput(model, result)).problems, []);
      const small = await openModel(await outputBytes(file));
      assert.deepEqual((await verify(small, model)).different, []);
    });
  }

  it("keeps the stem of the model's file, and takes a plan of one kind", async () => {
    const bytes = await outputBytes((await quantizeModel(model, "keep", {})).files[0]);
    const decoder = await openModel(new File([bytes], "decoder_model_merged.onnx"));
    const { files } = await quantizeModel(decoder, { schemes: { w: "int4-g32" } }, { target });
    assert.equal(files[0].name, "onnx/decoder_model_merged_q4.onnx");
  });

  it("says how a file of another name is loaded", async () => {
    const bytes = await outputBytes((await quantizeModel(model, "keep", {})).files[0]);
    const notesFor = async (name) => {
      const named = await openModel(new File([bytes], name));
      return (await quantizeModel(named, "q8", { target })).report.notes;
    };
    const isOnNames = (note) => note.includes("model_file_name");
    const [note] = (await notesFor("digits.onnx")).filter(isOnNames);
    assert.match(note, /loaded with model_file_name: "digits"$/);
    assert.deepEqual((await notesFor("text_encoder.onnx")).filter(isOnNames), []);
  });

  it("refuses a plan of two kinds", async () => {
    const names = ["v", "w"];
    const bytes = await onnxModel(
      {
        inputs: [{ name: "x", shape: ["m", 64] }],
        outputs: names.map((name) => ({ name: `y${name}`, shape: ["m", 64] })),
        nodes: names.map((name) => ({
          opType: "MatMul",
          inputs: ["x", name],
          outputs: [`y${name}`],
        })),
        initializers: names.map((name) => constant(name, [64, 64], normals(64 * 64, 1))),
      },
      { irVersion: 10, opsets: { "": 21 } },
    );
    const two = await openModel(bytes);
    await assert.rejects(
      quantizeModel(two, { schemes: { v: "int4-g32", w: "int8-channel" } }, { target }),
      /transformers\.js has no name for a file of "int4-g32" and "int8-channel" together/,
    );
  });

  for (const [scheme, message] of [
    ["int4-channel", /transformers\.js has no name for a file of scheme "int4-channel"/],
    ["int2-g32", /transformers\.js has no name for a file of scheme "int2-g32"/],
    ["bfloat16", /transformers\.js has no name for a file of scheme "bfloat16"/],
    ["q2", /scheme must be a dtype that is written for transformers\.js \(fp16, q8, .*got "q2"/],
    ["bnb4", /scheme must be a dtype that is written for transformers\.js/],
    ["q4f16", /"q4f16" needs a model in float16/],
  ]) {
    it(`refuses ${JSON.stringify(scheme)} by name`, async () => {
      await assert.rejects(quantizeModel(model, scheme, { target }), {
        ...{ code: "ZP_INVALID_SCHEME", message },
      });
    });
  }
});
