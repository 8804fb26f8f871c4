// Notes of ONNX reports on what was asked for and not done: dynamic activations, and bits that ONNX does not store.

import assert from "node:assert/strict";
import { before, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { LAYERS, modelOf } from "../../support/onnx/layers.mjs";
import { normals } from "../../support/onnx/models.mjs";

before(() => init());

const reportOf = async (scheme, options, opset = 21) => {
  const layer = LAYERS["Gemm with transB and a bias"];
  const opsets = { irVersion: 10, opsets: { "": opset } };
  const model = await openModel(await modelOf(layer, normals(20 * 96, 3), opsets));
  const { report } = await quantizeModel(model, scheme, options);
  return { ...report, row: report.rows.find(({ name }) => name === "w") };
};

it("activations that apply to no weight are a note, and the row has the reason", async () => {
  const dynamic = { activations: "dynamic" };
  const { notes, row } = await reportOf("int4-g32", dynamic);
  assert.ok(notes.some((note) => /^activations "dynamic" apply to no weight/.test(note)));
  assert.equal(row.reason, "inputs stay float32: MatMulInteger takes int8 per tensor or channel");
  const old = await reportOf("int8-channel", { ...dynamic, target: "web" }, 10);
  assert.match(old.row.reason ?? "", /DynamicQuantizeLinear needs opset 11, the model has 10/);
  const applied = await reportOf("int8-channel", dynamic);
  assert.ok(!applied.notes.some((note) => note.includes("apply to no weight")));
  assert.equal(applied.row.reason, undefined);
});

for (const [scheme, target, text] of [
  ["int6-channel", "portable", "6 bits are stored as 8"],
  ["int5-g32", "webgpu", "5 bits are stored as 8"],
  ["int2-g16", "portable", "2 bits are stored as 4"],
  ["int3-g32", "webgpu", "3 bits are stored as 4"],
  ["int4-g32", "portable", undefined],
  ["int8-channel", "portable", undefined],
]) {
  it(`${scheme} for ${target} says that ${text ?? "nothing is wider"}`, async () => {
    const { notes, row } = await reportOf(scheme, { target });
    assert.equal(row.scheme, scheme);
    assert.equal(row.reason, text);
    const wider = notes.filter((note) => note.includes("are stored as"));
    assert.deepEqual(
      wider,
      text === undefined
        ? []
        : [`1 weight: ${text} in ONNX, so the file is larger than the scheme's name says`],
    );
  });
}
