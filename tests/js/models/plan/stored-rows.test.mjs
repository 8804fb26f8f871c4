// storedRows: plans follow the target, and their bytes are those of the written file.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  analyze,
  frontier,
  openModel,
  plan,
  quantizeModel,
  save,
  storedRows,
} from "zeropoint/models";
import { Random, rejects } from "../../support/asserts.mjs";

before(() => init());

const random = new Random(34);
const matrix = (rows, columns) =>
  tensor(
    Float32Array.from({ length: rows * columns }, () => random.between(-0.5, 0.5)),
    [rows, columns],
  );

/** A model with matrices, among them one whose rows are no whole groups, and a bias. */
const opened = () =>
  openModel(
    save({
      "layers.0.weight": matrix(64, 128),
      "layers.1.weight": matrix(32, 64),
      "layers.2.weight": matrix(24, 40),
      "layers.0.bias": tensor(new Float32Array(64), [64]),
    }),
  );

async function rowsOf(model, options) {
  const rows = [];
  for await (const row of analyze(model, options)) rows.push(row);
  return rows;
}

/** Formats and targets of a model of safetensors. */
const OUTPUTS = [
  {},
  { target: "mlx" },
  { target: "compressed-tensors" },
  { format: "gguf" },
  { format: "npz" },
];

describe("storedRows", () => {
  for (const output of OUTPUTS) {
    const name = Object.values(output).join(" ") || "zeropoint";
    it(`gives rows whose plans the writer of ${name} writes as planned, within their bytes`, async () => {
      const model = await opened();
      const { format } = output;
      const all = await rowsOf(model, { format });
      const stored = await storedRows(model, all, output);
      const planFormat = format === "npz" ? "safetensors" : format;
      const points = frontier(stored, { format: planFormat });
      // npz holds none of the schemes: every plan keeps all tensors.
      assert.ok(format === "npz" ? points.length === 1 : points.length > 2);
      for (const { bytes } of [points[0], points[points.length >> 1], points.at(-1)]) {
        const planned = plan(stored, { bytes, format: planFormat });
        const { report } = await quantizeModel(model, planned, output);
        for (const row of report.rows) assert.equal(row.scheme, planned.schemes[row.name]);
        assert.ok(report.bytesAfter <= planned.fileBytes && planned.fileBytes <= bytes);
        // The rest is of numbers of fewer digits in headers, and of fewer schemes in config.json.
        assert.ok(planned.fileBytes - report.bytesAfter < 2048);
      }
      await model.close();
    });
  }

  it("keeps a ratio and bits per weight for the file, headers included", async () => {
    const model = await opened();
    const stored = await storedRows(model, await rowsOf(model), {});
    const tensors = [...model.tensors.values()];
    const before = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const all = tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
    for (const [budget, bytes] of [
      [{ ratio: 0.5 }, before / 2],
      [{ bitsPerWeight: 12 }, (12 * all) / 8],
    ]) {
      const planned = plan(stored, budget);
      assert.ok(planned.fileBytes <= bytes, `${planned.fileBytes} of ${bytes}`);
      assert.deepEqual(planned.schemes, plan(stored, { bytes }).schemes);
    }
    await model.close();
  });

  it("marks schemes that MLX does not have, which no plan contains", async () => {
    const model = await opened();
    const all = await rowsOf(model);
    const { rows, target } = await storedRows(model, all, { target: "mlx" });
    assert.equal(target, "mlx");
    const refused = rows.filter(({ isWritten }) => isWritten === false);
    assert.ok(refused.some(({ scheme }) => scheme === "int8-tensor"));
    for (const { bytes } of frontier(rows)) {
      const { schemes } = plan(rows, { bytes });
      for (const { name, scheme } of refused) assert.notEqual(schemes[name], scheme);
    }
    await model.close();
  });

  it("lets a plan keep a weight whose schemes the target does not have, with the reason", async () => {
    const model = await opened();
    const all = await rowsOf(model, { schemes: ["int8-tensor"] });
    const { rows } = await storedRows(model, all, { target: "mlx" });
    const { schemes, reasons } = plan(rows, { ratio: 1 });
    assert.equal(schemes["layers.0.weight"], "keep");
    assert.equal(reasons["layers.0.weight"], "no scheme among its rows that the target stores");
    await model.close();
  });

  it("refuses other things than rows, unknown options and unknown targets", async () => {
    const model = await opened();
    const rows = await rowsOf(model, { schemes: ["int8-channel"] });
    await rejects(storedRows(model, [1]), TypeError, "ZP_INVALID_ROW", /row/);
    await rejects(storedRows(model, 1), TypeError, "ZP_INVALID_ROW", /row/);
    await rejects(storedRows(model, rows, { shape: 1 }), TypeError, "ZP_UNKNOWN_OPTION", /shape/);
    await rejects(
      storedRows(model, rows, { target: "abacus" }),
      RangeError,
      "ZP_INVALID_OPTION",
      /must|option/,
    );
    await model.close();
  });
});
