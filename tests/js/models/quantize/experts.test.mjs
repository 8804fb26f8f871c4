// Stacks of experts for compressed-tensors and MLX: the file of a stack is that of the tensors that are cut from it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import {
  analyze,
  compare,
  openModel,
  plan,
  quantizeModel,
  storedRows,
  verify,
  verifyOutput,
} from "zeropoint/models";
import { outputBytes, safetensorsOf, someValues } from "../../support/files/checkpoints.mjs";

await init();

const [EXPERTS, HIDDEN, INNER] = [3, 256, 128];
const TARGET = "compressed-tensors";
const MODULE = "model.layers.0.mlp.experts";
const json = (value) => new TextEncoder().encode(JSON.stringify(value));

const matrix = (seed, rows, columns) => someValues(rows * columns, seed);
const experts = Array.from({ length: EXPERTS }, (_, i) => ({
  gate_proj: matrix(10 + i, INNER, HIDDEN),
  up_proj: matrix(20 + i, INNER, HIDDEN),
  down_proj: matrix(30 + i, HIDDEN, INNER),
}));
const joined = (arrays) => Float32Array.from(arrays.flatMap((each) => [...each]));

const OTHERS = {
  "model.layers.0.self_attn.q_proj.weight": ["float32", [64, 128], matrix(1, 64, 128)],
  "model.layers.0.mlp.gate.weight": ["float32", [EXPERTS, 128], matrix(2, EXPERTS, 128)],
};
const STACKS = {
  [`${MODULE}.gate_up_proj`]: [
    ...["float32", [EXPERTS, 2 * INNER, HIDDEN]],
    joined(experts.flatMap(({ gate_proj, up_proj }) => [gate_proj, up_proj])),
  ],
  [`${MODULE}.down_proj`]: [
    ...["float32", [EXPERTS, HIDDEN, INNER]],
    joined(experts.map(({ down_proj }) => down_proj)),
  ],
};
const MATRICES = Object.fromEntries(
  experts.flatMap((expert, i) =>
    Object.entries(expert).map(([name, values]) => [
      `${MODULE}.${i}.${name}.weight`,
      ["float32", name === "down_proj" ? [HIDDEN, INNER] : [INNER, HIDDEN], values],
    ]),
  ),
);

/** Opens tensors with a configuration. */
const open = async (tensors, config = { model_type: "qwen3_moe" }) => {
  const beside = { "config.json": json(config) };
  const bytes = await safetensorsOf({ ...OTHERS, ...tensors });
  return openModel(bytes, { externalData: (name) => beside[name] });
};

const filesOf = async ({ files }) => {
  const written = {};
  for (const file of files) written[file.name] = await outputBytes(file);
  return written;
};

const openFiles = (files) =>
  openModel(files["model.safetensors.index.json"], { externalData: (name) => files[name] });

const collect = async (rows) => {
  const list = [];
  for await (const row of rows) list.push(row);
  return list;
};

const SCHEMES = ["W4A16", "W8A8", "int4-g32-affine", "int8-channel-mse", "int4-g32-hqq"];

describe("a stack of experts for compressed-tensors", () => {
  for (const scheme of SCHEMES) {
    it(`gives the file of its matrices: ${scheme}`, async () => {
      const options = { target: TARGET };
      const stacked = await quantizeModel(await open(STACKS), scheme, options);
      const single = await quantizeModel(await open(MATRICES), scheme, options);
      const [a, b] = [await filesOf(stacked), await filesOf(single)];
      assert.deepEqual(Object.keys(a), Object.keys(b));
      for (const name of Object.keys(a)) assert.deepEqual(a[name], b[name], name);
      const size = Object.values(a).reduce((sum, { length }) => sum + length, 0);
      assert.equal(stacked.report.bytesAfter, size);
      const rows = stacked.report.rows.filter(({ name }) => name.startsWith(MODULE));
      assert.deepEqual(
        rows.map(({ scheme }) => scheme === "keep"),
        [false, false],
      );
    });

    it(`is compared and verified with the matrices in its place: ${scheme}`, async () => {
      const model = await open(STACKS);
      const result = await quantizeModel(model, scheme, { target: TARGET });
      const files = await filesOf(result);
      const small = await openFiles(files);
      const rows = await collect(compare(model, small));
      const missing = rows.filter(({ reason }) => reason !== undefined);
      assert.deepEqual(missing, []);
      assert.equal(rows.length, 4);
      const stack = rows.find(({ name }) => name.endsWith("gate_up_proj"));
      assert.ok(stack.sqnr > 10 && stack.sqnr < 60, String(stack.sqnr));
      const { problems } = await verifyOutput(model, result);
      assert.deepEqual(problems, []);
      const verified = await verify(small, model);
      assert.deepEqual(verified.different, []);
      const name = Object.keys(files).find((each) => each.endsWith(".safetensors"));
      files[name] = files[name].slice();
      files[name][files[name].length - 40] ^= 1;
      const broken = await verify(await openFiles(files), model);
      assert.equal(broken.different.length, 1);
    });
  }

  it("has rows of an analysis and a plan as its file has them", async () => {
    const model = await open(STACKS);
    const schemes = ["int8-channel", "int4-g32"];
    const rows = await collect(analyze(model, { schemes, target: TARGET }));
    for (const scheme of schemes) {
      const result = await quantizeModel(model, scheme, { target: TARGET });
      const compared = await collect(compare(model, await openFiles(await filesOf(result))));
      for (const name of Object.keys(STACKS)) {
        const row = rows.find((each) => each.name === name && each.scheme === scheme);
        const { mse, max, sqnr, cosine } = compared.find((each) => each.name === name);
        assert.deepEqual([row.mse, row.max, row.sqnr, row.cosine], [mse, max, sqnr, cosine]);
        const { bytesAfter } = result.report.rows.find((each) => each.name === name);
        assert.equal(row.bytes, bytesAfter);
      }
    }
    const stored = await storedRows(model, rows, { target: TARGET });
    const small = plan(stored, { ratio: 0.25 });
    const { report, files } = await quantizeModel(model, small, { target: TARGET });
    const { fileBytes } = small;
    assert.ok(report.bytesAfter <= fileBytes && fileBytes - report.bytesAfter < 2048);
    assert.equal(
      files.reduce((sum, { size }) => sum + size, 0),
      report.bytesAfter,
    );
  });

  it("has a scale for each row of each expert in zeropoint's own layout", async () => {
    const model = await open(STACKS);
    const { files } = await quantizeModel(model, "int8-channel");
    const small = await openModel(await outputBytes(files[0]));
    const stack = await small.read(`${MODULE}.down_proj`);
    assert.deepEqual([...stack.shape], [EXPERTS, HIDDEN, INNER]);
    const [row] = (await collect(compare(model, small))).filter(({ name }) => /down/.test(name));
    assert.ok(row.sqnr > 40, String(row.sqnr));
  });

  it("is kept with a note where its order is not known", async () => {
    const transposed = {
      [`${MODULE}.gate_up_proj`]: [
        ...["float32", [EXPERTS, HIDDEN, 2 * INNER]],
        STACKS[`${MODULE}.gate_up_proj`][2],
      ],
      [`${MODULE}.down_proj`]: [
        ...["float32", [EXPERTS, INNER, HIDDEN]],
        STACKS[`${MODULE}.down_proj`][2],
      ],
    };
    for (const [tensors, config] of [
      [STACKS, { model_type: "gpt_oss" }],
      [STACKS, {}],
      [STACKS, { text_config: { model_type: ["qwen3_moe"] } }],
      [transposed, undefined],
      [{ [`${MODULE}.gate_up_proj`]: STACKS[`${MODULE}.gate_up_proj`] }, undefined],
    ]) {
      const { report } = await quantizeModel(await open(tensors, config), "W4A16", {
        target: TARGET,
      });
      const rows = report.rows.filter(({ name }) => name.startsWith(MODULE));
      assert.ok(rows.every(({ scheme }) => scheme === "keep"));
      assert.match(report.notes.join("\n"), /a stack is cut as \[experts, outputs, inputs\]/);
    }
  });

  it("is known by the configuration of the text model, too", async () => {
    const config = { model_type: "x", text_config: { model_type: "qwen3_5_moe_text" } };
    const { report } = await quantizeModel(await open(STACKS, config), "W4A16", { target: TARGET });
    assert.ok(report.rows.some(({ name, scheme }) => /gate_up/.test(name) && scheme !== "keep"));
  });

  it("is named if the values of one expert become all zero", async () => {
    const values = matrix(5, EXPERTS * HIDDEN, INNER).fill(1e-44, 0, HIDDEN * INNER);
    const stacks = {
      ...STACKS,
      [`${MODULE}.down_proj`]: ["float32", [EXPERTS, HIDDEN, INNER], values],
    };
    const result = await quantizeModel(await open(stacks), "W8A8", { target: TARGET });
    await filesOf(result);
    const { reason } = result.report.rows.find(({ name }) => /down/.test(name));
    assert.match(reason, /all values are 0 in the file/);
  });

  it("is refused where the model has a matrix of its name", async () => {
    const name = `${MODULE}.0.gate_proj.weight`;
    const model = await open({ ...STACKS, [name]: MATRICES[name] });
    await assert.rejects(quantizeModel(model, "W8A8", { target: TARGET }), {
      code: "ZP_INVALID_MODEL",
    });
  });
});

/** The tensors of mlx-lm that a stack is cut into. */
const kindOf = (name, rows, columns) => [
  `model.layers.0.mlp.switch_mlp.${name}.weight`,
  ["float32", [EXPERTS, rows, columns], joined(experts.map((expert) => expert[name]))],
];
const SWITCHES = Object.fromEntries([
  kindOf("gate_proj", INNER, HIDDEN),
  kindOf("up_proj", INNER, HIDDEN),
  kindOf("down_proj", HIDDEN, INNER),
]);

describe("a stack of experts for MLX", () => {
  const options = { target: "mlx" };
  for (const scheme of ["int4-g64", "int8-g32", "int3-g128-mse"]) {
    it(`gives the file of mlx-lm's stacks, which is compared and verified: ${scheme}`, async () => {
      const model = await open(STACKS);
      const result = await quantizeModel(model, scheme, options);
      const single = await quantizeModel(await open(SWITCHES), scheme, options);
      const [a, b] = [await filesOf(result), await filesOf(single)];
      assert.deepEqual(Object.keys(a), Object.keys(b));
      for (const name of Object.keys(a)) assert.deepEqual(a[name], b[name], name);
      assert.deepEqual(result.report.notes, single.report.notes);
      const small = await openFiles(a);
      const rows = await collect(compare(model, small));
      assert.equal(rows.length, 4);
      const stacks = rows.filter(({ name }) => name.startsWith(MODULE));
      assert.ok(stacks.every(({ reason, sqnr }) => reason === undefined && sqnr > 10));
      const { problems } = await verifyOutput(model, result);
      assert.deepEqual(problems, []);
      assert.deepEqual((await verify(small, model)).different, []);
      const name = Object.keys(a).find((each) => each.endsWith(".safetensors"));
      a[name] = a[name].slice();
      a[name][a[name].length - 40] ^= 1;
      assert.equal((await verify(await openFiles(a), model)).different.length, 1);
    });
  }

  it("is not made of the matrices of single experts, and a note says so", async () => {
    const { report } = await quantizeModel(await open(MATRICES), "int4-g64", options);
    assert.match(report.notes.join("\n"), /^9 weights are matrices of one expert each: mlx-lm /m);
    const stacked = await quantizeModel(await open(STACKS), "int4-g64", options);
    assert.doesNotMatch(stacked.report.notes.join("\n"), /one expert each/);
  });

  it("is kept with a note where mlx-lm has other names, or reads other tensors by them", async () => {
    const elsewhere = Object.fromEntries(
      Object.entries(STACKS).map(([name, tensor]) => [name.replace("mlp", "moe"), tensor]),
    );
    for (const [tensors, model_type] of [
      [STACKS, "qwen3_next"],
      [STACKS, "dots1"],
      [STACKS, "gpt_oss"],
      [elsewhere, "qwen3_moe"],
    ]) {
      const model = await open(tensors, { model_type });
      const { report } = await quantizeModel(model, "int4-g64", options);
      const rows = report.rows.filter(({ name }) => name.includes("experts"));
      assert.ok(rows.length === 2 && rows.every(({ scheme }) => scheme === "keep"));
      assert.match(report.notes.join("\n"), /mlx-lm loads stacks of its own/);
    }
  });
});
