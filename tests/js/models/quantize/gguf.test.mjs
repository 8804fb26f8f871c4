// quantizeModel from GGUF to GGUF: the files of llama-quantize, byte for byte.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import {
  bytesSource,
  ggufEntry,
  layoutGGUF,
  readGGUF,
  writeGGUF,
} from "../../../internal/formats.mjs";
import { chooseTensorTypes, parseFileType } from "../../../internal/models.mjs";
import { collect, sha256 } from "../../support/files/formats.mjs";
import { makeImatrix, makeLlama, splitGGUF } from "../../support/files/llama.mjs";
import { readVectors } from "../../support/vectors.mjs";

const vectors = readVectors("formats/llama-quantize");
const fileOf = async ({ files: [file] }) => await collect(file.stream());

before(() => init());

describe("quantizeModel of GGUF by a type of llama-quantize", () => {
  for (const [model, settings] of Object.entries(vectors.models)) {
    it(`writes llama-quantize's bytes for every type: model ${model}`, async () => {
      const source = await makeLlama(settings);
      assert.equal(await sha256(source), settings.sha256);
      const opened = await openModel(source);
      const matrix = await makeImatrix(settings);
      let compared = 0;
      for (const { type, pure, imatrix, file, ...of } of vectors.cases) {
        if (of.model !== model) continue;
        const label = `${type}${pure ? " pure" : ""}${imatrix ? " imatrix" : ""}`;
        const options = { pure, imatrix: imatrix ? matrix : undefined };
        if (file === null) {
          await assert.rejects(quantizeModel(opened, type, options), RangeError, label);
          continue;
        }
        const result = await quantizeModel(opened, type.toLowerCase(), options);
        assert.equal(result.files[0].size, file.bytes, label);
        assert.equal(await sha256(await fileOf(result)), file.sha256, label);
        compared++;
      }
      assert.ok(compared > 90);
    });
  }

  for (const { id, type, imatrix, layers, gqa, tied, default: plain, exceptions } of vectors.deep) {
    it(`chooses llama-quantize's dtypes in deep models: ${id}`, () => {
      const parts =
        "attn_k attn_norm attn_output attn_q attn_v ffn_down ffn_gate ffn_norm ffn_up".split(" ");
      const names = [...(tied ? [] : ["output.weight"]), "output_norm.weight", "token_embd.weight"];
      for (let i = 0; i < layers; i++)
        names.push(...parts.map((part) => `blk.${i}.${part}.weight`));
      const tensors = names.map((name) => ({
        name,
        shape: name.includes("norm") ? [256] : [256, 256],
        dtype: "float16",
      }));
      const facts = { architecture: "llama", layers, heads: 8, keyHeads: 8 / gqa, experts: 0 };
      const options = { fileType: parseFileType(type), pure: false, hasImportance: imatrix };
      const choices = chooseTensorTypes("test", tensors, facts, options);
      const chosen = names.map((name, i) => [name, choices[i].dtype]);
      const expected = names.map((name) => {
        const dtype = name.includes("norm") ? "float16" : (exceptions[name] ?? plain).toLowerCase();
        return [name, dtype];
      });
      assert.deepEqual(chosen, expected);
    });
  }

  // Counts of dtypes as llama-quantize 0.7 wrote them for models of 80 layers.
  for (const [architecture, keyHeads, type, part, counts] of [
    ["llama", 2, "Q4_K_M", "attn_v", { q6_k: 40, q5_k: 40 }],
    ["llama", 8, "Q4_K_M", "attn_v", { q6_k: 40, q4_k: 40 }],
    ["llama-embed", 2, "Q3_K_M", "attn_v", { q5_k: 80 }],
    ["llama-embed", 8, "Q2_K", "attn_v", { q3_k: 80 }],
    ["qwen2", 8, "Q2_K", "attn_v", { q5_k: 80 }],
    ["qwen2", 2, "Q4_K_M", "attn_v", { q6_k: 40, q5_k: 40 }],
    ["olmo", 8, "Q3_K_M", "attn_v", { q5_k: 80 }],
    ["deci", 2, "Q2_K", "attn_v", { q5_k: 80 }],
    ["qwen3", 2, "Q4_K_M", "attn_v", { q6_k: 40, q4_k: 40 }],
    ["falcon", 8, "Q3_K_M", "ffn_down", { q5_k: 5, q4_k: 35, q3_k: 40 }],
    ["falcon", 8, "Q4_K_M", "ffn_down", { q6_k: 5, q5_k: 35, q4_k: 40 }],
    ["falcon", 8, "Q4_K_S", "ffn_down", { q4_k: 80 }],
    ["falcon", 8, "Q3_K_L", "ffn_down", { q4_k: 80 }],
    ["falcon", 8, "Q3_K_L", "attn_output", { q4_k: 80 }],
    ["falcon", 8, "Q2_K", "attn_output", { q2_k: 80 }],
  ]) {
    it(`gives ${part} of ${architecture} llama-quantize's dtypes: ${type}, ${keyHeads} of 8 heads`, () => {
      const tensors = Array.from({ length: 80 }, (_, i) => ({
        ...{ name: `blk.${i}.${part}.weight`, shape: [2, 256], dtype: "float32" },
      }));
      const facts = { architecture, layers: 80, heads: 8, keyHeads, experts: 0 };
      const options = { fileType: parseFileType(type), pure: false, hasImportance: false };
      const chosen = {};
      for (const { dtype } of chooseTensorTypes("test", tensors, facts, options)) {
        chosen[dtype] = (chosen[dtype] ?? 0) + 1;
      }
      assert.deepEqual(chosen, counts);
    });
  }

  it("says which inputs have an importance of 0, whose values may be lost", async () => {
    const model = await openModel(await makeLlama({}));
    const name = "blk.0.attn_q.weight";
    const columns = model.tensors.get(name).shape[1];
    const sums = Float32Array.from({ length: columns }, (_, i) => (i < 8 ? 0 : 1));
    const chunks = [
      ["imatrix.chunk_count", ggufEntry("uint32", 1)],
      ["imatrix.chunk_size", ggufEntry("uint32", 1)],
      ["imatrix.datasets", ggufEntry("array", ["x"], "string")],
    ];
    const part = (own, shape, values) => ({
      ...{ name: own, shape, dtype: "float32", bytes: () => [new Uint8Array(values.buffer)] },
    });
    const tensors = [
      part(`${name}.in_sum2`, [1, columns], sums),
      part(`${name}.counts`, [1, 1], Float32Array.of(1)),
    ];
    const imatrix = await collect(writeGGUF(layoutGGUF(tensors, chunks, "test")));
    const { report } = await quantizeModel(model, "Q4_0", { imatrix });
    const row = report.rows.find((each) => each.name === name);
    assert.equal(row.reason, `importance 0 for 8 of ${columns} inputs`);
    assert.match(report.notes.join("\n"), /importance 0 for inputs of 1 weight: .* become 0/);
  });

  it("gives embeddings and output the types of the options, with any mix and without", async () => {
    const typesOf = async (settings, type, options) => {
      const model = await openModel(await makeLlama({ vocabulary: 261, ...settings }));
      const { tensors } = await openModel(await fileOf(await quantizeModel(model, type, options)));
      const names = ["token_embd.weight", "output.weight", "blk.0.attn_q.weight"];
      return names.map((name) => tensors.get(name)?.dtype);
    };
    const both = { tokenEmbeddingType: "Q8_0", outputTensorType: "f16" };
    const tied = { outputTensorType: "q5_0" };
    assert.deepEqual(await typesOf({}, "Q4_K_M"), ["q4_k", "q6_k", "q4_k"]);
    assert.deepEqual(await typesOf({}, "Q4_K_M", both), ["q8_0", "float16", "q4_k"]);
    assert.deepEqual(await typesOf({}, "Q4_0", { ...both, pure: true }), [
      ...["q8_0", "float16", "q4_0"],
    ]);
    assert.deepEqual(await typesOf({}, "F16", { outputTensorType: "q6_k" }), [
      ...["float16", "q6_k", "float16"],
    ]);
    assert.deepEqual(await typesOf({ tied: true }, "Q4_K_M", tied), ["q5_0", undefined, "q4_k"]);
    // Without a mix, shared embeddings are no output.
    assert.deepEqual(await typesOf({ tied: true }, "Q4_0", { ...tied, pure: true }), [
      ...["q4_0", undefined, "q4_0"],
    ]);
  });

  it("gives weights the types of tensorTypes: the first expression that matches anywhere decides", async () => {
    const source = await openModel(await makeLlama({ layers: 4, vocabulary: 261 }));
    const typesOf = async (type, tensorTypes, options) => {
      const result = await quantizeModel(source, type, { tensorTypes, ...options });
      const { tensors } = await openModel(await fileOf(result));
      return (part) => tensors.get(part.includes(".") ? part : `blk.1.${part}.weight`).dtype;
    };
    const first = await typesOf("Q4_K_M", {
      "ATTN_(Q|K)": "Q8_0",
      "attn_.*": "q5_k",
      "blk.1.ffn": "f16",
    });
    assert.deepEqual(
      ["attn_q", "attn_k", "attn_output", "ffn_up", "ffn_gate", "attn_norm"].map(first),
      ["q8_0", "q8_0", "q5_k", "float16", "float16", "float32"],
    );
    // Options of single tensors come before, the mix and pure behind.
    const all = await typesOf("Q4_0", { ".*": "q6_k" }, { pure: true, outputTensorType: "q8_0" });
    assert.deepEqual(["output.weight", "token_embd.weight", "ffn_up"].map(all), [
      ...["q8_0", "q6_k", "q6_k"],
    ]);
    // A float type is no mix, and takes no expressions.
    assert.equal((await typesOf("F16", { ".*": "q6_k" }))("ffn_up"), "float16");
  });

  it("does not count weights of a given type among those of the mix, as llama-quantize", async () => {
    const source = await openModel(await makeLlama({ layers: 8, vocabulary: 261 }));
    const valuesOf = async (tensorTypes) => {
      const result = await quantizeModel(source, "Q4_K_M", { tensorTypes });
      const { tensors } = await openModel(await fileOf(result));
      return Array.from({ length: 8 }, (_, i) => tensors.get(`blk.${i}.attn_v.weight`).dtype);
    };
    // Of eight layers the first, the last, and every third one between have more bits.
    const mix = "q6_k q4_k q4_k q6_k q4_k q4_k q6_k q6_k".split(" ");
    assert.deepEqual(await valuesOf({}), mix);
    assert.deepEqual(await valuesOf({ "blk.0.attn_v": "q8_0" }), ["q8_0", ...mix.slice(0, 7)]);
  });

  it("refuses tensorTypes that are no expressions or types, and other sources", async () => {
    const source = await openModel(await makeLlama({ vocabulary: 261 }));
    const refused = (tensorTypes, scheme = "Q4_0", options = {}) =>
      assert.rejects(quantizeModel(source, scheme, { tensorTypes, ...options }), (error) =>
        /^ZP_/.test(error.code),
      );
    await refused({ "(": "q4_0" });
    await refused({ ffn: "q4_9" });
    await refused({ ffn: 4 });
    await refused([["ffn", "q4_0"]]);
    await refused({ ffn: "q4_0" }, { schemes: {} });
    await refused({ ffn: "q4_0" }, "float16", { format: "safetensors" });
  });

  it("refuses types of embeddings and output that it does not have, or that do not fit", async () => {
    const model = await openModel(await makeLlama({ d: 96, ff: 96, heads: 3, kv: 3 }));
    const tokenEmbeddingType = "Q4_K_M";
    await assert.rejects(quantizeModel(model, "Q4_0", { tokenEmbeddingType }), {
      code: "ZP_INVALID_OPTION",
      message: /^quantizeModel: options\.tokenEmbeddingType must be "q8_0", /,
    });
    await assert.rejects(quantizeModel(model, "Q4_0", { outputTensorType: "q4_k" }), {
      code: "ZP_INVALID_SHAPE",
      message: /rows of tensor "output\.weight" have 96 values, .* blocks of q4_k$/,
    });
    for (const [scheme, format] of [
      [{ schemes: { "output.weight": "q8_0" } }, "gguf"],
      ["int8-channel", "safetensors"],
    ]) {
      await assert.rejects(quantizeModel(model, scheme, { format, outputTensorType: "q8_0" }), {
        code: "ZP_CONFLICTING_OPTIONS",
        message: /^quantizeModel: options\.outputTensorType /,
      });
    }
  });

  it("gives the output of falcon 8 bits", () => {
    const tensors = [{ name: "output.weight", shape: [2, 256], dtype: "float32" }];
    const facts = { architecture: "falcon", layers: 1, heads: 1, keyHeads: 1, experts: 0 };
    const options = { fileType: parseFileType("Q4_0"), pure: false, hasImportance: false };
    assert.equal(chooseTensorTypes("test", tensors, facts, options)[0].dtype, "q8_0");
  });

  it("counts no shared heads where the first layer has none of keys", async () => {
    const typesFor = async (keyHeads) => {
      const source = await makeFile(
        [
          ["output.weight", [2, 256]],
          ["blk.1.attn_v.weight", [2, 256]],
        ],
        [
          ["general.architecture", ggufEntry("string", "lfm2")],
          ["lfm2.block_count", ggufEntry("uint32", 2)],
          ["lfm2.attention.head_count", ggufEntry("uint32", 8)],
          ["lfm2.attention.head_count_kv", ggufEntry("array", keyHeads, "int32")],
        ],
      );
      const { report } = await quantizeModel(await openModel(source), "IQ4_XS");
      return report.rows.find(({ name }) => name.includes("attn_v")).scheme;
    };
    assert.equal(await typesFor([0, 2]), "iq4_xs");
    assert.equal(await typesFor([2, 0]), "q5_k");
  });

  it("reports which tensors are kept, which are mixed in, and why", async () => {
    const opened = await openModel(new File([await makeLlama({ ff: 96 })], "small-f32.gguf"));
    const { files, report } = await quantizeModel(opened, "Q4_K_M");
    assert.equal(files[0].name, "small-Q4_K_M.gguf");
    const rows = new Map(report.rows.map(({ name, ...row }) => [name, row]));
    assert.deepEqual(rows.get("output_norm.weight"), {
      from: "float32",
      scheme: "keep",
      bytesBefore: 1024,
      bytesAfter: 1024,
      reason: "a vector",
    });
    assert.deepEqual(rows.get("blk.0.attn_q.weight"), {
      from: "float32",
      scheme: "q4_k",
      bytesBefore: 262144,
      bytesAfter: 36864,
    });
    assert.equal(rows.get("output.weight").reason, "mix of Q4_K_M");
    assert.equal(rows.get("output.weight").scheme, "q6_k");
    const { scheme, reason } = rows.get("blk.0.ffn_down.weight");
    assert.equal(scheme, "q8_0");
    assert.equal(reason, "rows of 96 values are not blocks of 256 (q6_k)");
    assert.deepEqual(report.notes, ["llama-quantize's Q4_K_M"]);
  });

  it("records the importance matrix by the name of its file", async () => {
    const settings = { d: 32, ff: 32, heads: 1, kv: 1 };
    const opened = await openModel(await makeLlama(settings));
    const matrix = new File([await makeImatrix(settings)], "own.gguf");
    const nameOf = async (imatrix) => {
      const bytes = await fileOf(await quantizeModel(opened, "Q4_0", { imatrix }));
      const { metadata } = await readGGUF(bytesSource(bytes));
      return metadata.get("quantize.imatrix.file").value;
    };
    assert.equal(await nameOf(matrix), "own.gguf");
    assert.equal(await nameOf(await openModel(matrix)), "own.gguf");
    assert.equal(await nameOf(new Uint8Array(await matrix.arrayBuffer())), "imatrix.gguf");
  });

  it("names the importance matrix as the file that is none", async () => {
    const opened = await openModel(await makeLlama({ d: 32, ff: 32, heads: 1, kv: 1 }));
    const text = new TextEncoder().encode("imatrix of another program");
    for (const imatrix of [text, await makeLlama({}), new Uint8Array(0)]) {
      await assert.rejects(quantizeModel(opened, "Q4_0", { imatrix }), {
        code: "ZP_INVALID_MODEL",
        message:
          /^quantizeModel: options\.imatrix must be a GGUF file of llama-imatrix: (at byte|imatrix)/,
      });
    }
  });

  it("keeps an alignment other than 32, for which llama-quantize writes a file that llama.cpp refuses", async () => {
    const source = await makeLlama({ alignment: 64, d: 96, ff: 96, heads: 3, kv: 3 });
    const bytes = await fileOf(await quantizeModel(await openModel(source), "Q5_0"));
    const { alignment, tensors } = await readGGUF(bytesSource(bytes));
    assert.equal(alignment, 64);
    assert.equal(bytes.length % 64, 0);
    assert.equal(tensors.size, 12);
  });
});

describe("quantizeModel of GGUF in several files", () => {
  const [first, second, third] = [1, 2, 3].map((i) => `tiny-f16-0000${i}-of-00003.gguf`);
  const openFirst = async (files) =>
    await openModel(new File([files[first]], first), { externalData: (name) => files[name] });
  let whole;
  let files;
  before(async () => {
    whole = await makeLlama({ ...vectors.models.tiny, dtype: "float16" });
    files = await splitGGUF(whole, "tiny-f16", 3);
  });

  it("opens all files by the first one, and writes the bytes of the model in one file", async () => {
    const model = await openFirst(files);
    assert.deepEqual(Object.keys(files), [first, second, third]);
    assert.deepEqual([...model.tensors.keys()], [...(await openModel(whole)).tensors.keys()]);
    const result = await quantizeModel(model, "Q4_K_M");
    assert.equal(result.files[0].name, "tiny-Q4_K_M.gguf");
    const sizes = Object.values(files).map(({ length }) => length);
    assert.equal(
      result.report.bytesBefore,
      sizes.reduce((sum, size) => sum + size),
    );
    const expected = await quantizeModel(await openModel(whole), "Q4_K_M");
    assert.deepEqual(await fileOf(result), await fileOf(expected));
  });

  const refused = [
    [
      "another file than the first",
      { first: "second" },
      /the first of 3 files of a model, found file 2/,
    ],
    [
      "files in another order",
      { second: "third", third: "second" },
      /file 2 of 3, found file 3 of 3/,
    ],
    [
      "a file that is missing",
      { third: "none" },
      /options\.externalData gives no file for "tiny-f16-00003-of-00003\.gguf"/,
    ],
  ];
  for (const [title, order, message] of refused) {
    it(`refuses ${title}`, async () => {
      const byWord = { first: files[first], second: files[second], third: files[third] };
      const given = (word) => byWord[order[word] ?? word];
      await assert.rejects(
        openFirst({ [first]: given("first"), [second]: given("second"), [third]: given("third") }),
        message,
      );
    });
  }

  it("refuses a first file of another name, and files without all tensors", async () => {
    const renamed = openModel(new File([files[first]], "model.gguf"), {
      externalData: (name) => files[name],
    });
    await assert.rejects(
      renamed,
      /a name that ends with -00001-of-00003\.gguf, found "model\.gguf"/,
    );
    const others = await splitGGUF(await makeFile([["own", [4, 32]]]), "tiny-f16", 3);
    await assert.rejects(
      openFirst({ ...files, [third]: others[third] }),
      /\d+ tensors in 3 files, found \d+/,
    );
    await assert.rejects(
      openFirst({ ...files, [second]: (await splitGGUF(files[first], "tiny-f16", 3))[second] }),
      /every tensor once/,
    );
  });
});

/** A GGUF file of tensors of random values: [name, shape, dtype]. */
async function makeFile(shapes, keys = []) {
  const tensors = shapes.map(([name, shape, dtype = "float32", value]) => {
    const count = shape.reduce((product, length) => product * length, 1);
    const values = Float32Array.from({ length: count }, (_, i) => value ?? Math.sin(i));
    const bytes = () => [new Uint8Array(values.buffer)];
    return { name, shape, dtype, bytes };
  });
  return await collect(writeGGUF(layoutGGUF(tensors, keys)));
}

describe("quantizeModel of GGUF by tensor", () => {
  const makeModel = () =>
    makeFile(
      [
        ["z.weight", [4, 256]],
        ["a.weight", [4, 64]],
        ["n", [1, 1, 3]],
      ],
      [
        ["general.file_type", ggufEntry("uint32", 0)],
        ["own.list", ggufEntry("array", ["a", "b"], "string")],
        ["split.count", ggufEntry("uint16", 1)],
      ],
    );
  const schemes = { "z.weight": "q4_k", "a.weight": "float16" };
  const byName = (tensor) => schemes[tensor.name];

  /** The model with the named tensors quantized, and the report. */
  async function quantizedByName() {
    const result = await quantizeModel(await openModel(await makeModel()), byName);
    return { ...(await readGGUF(bytesSource(await fileOf(result)))), report: result.report };
  }

  it("quantizes the named tensors, in their order", async () => {
    const { tensors, report } = await quantizedByName();
    assert.deepEqual(
      Array.from(tensors.values(), ({ name, dtype }) => [name, dtype]),
      [
        ["z.weight", "q4_k"],
        ["a.weight", "float16"],
        ["n", "float32"],
      ],
    );
    assert.deepEqual(
      report.rows.map(({ scheme }) => scheme),
      ["q4_k", "float16", "keep"],
    );
  });

  it("keeps keys, and says the version and the dtype of most weights", async () => {
    const { metadata } = await quantizedByName();
    assert.deepEqual(
      Array.from(metadata, ([key, { value }]) => [key, value]),
      [
        ["own.list", ["a", "b"]],
        ["general.quantization_version", 2],
        // The first dtype of most weights, here each has one: Q4_K_M.
        ["general.file_type", 15],
      ],
    );
  });

  it("keeps the bytes of all other tensors", async () => {
    const { tensors } = await quantizedByName();
    const original = await readGGUF(bytesSource(await makeModel()));
    assert.deepEqual(
      await collect(tensors.get("n").bytes()),
      await collect(original.tensors.get("n").bytes()),
    );
  });

  it("writes the same bytes by a plan as by a function", async () => {
    const model = await openModel(await makeModel());
    const plan = await quantizeModel(model, { version: 1, schemes });
    const expected = await quantizeModel(model, byName);
    assert.deepEqual(await fileOf(plan), await fileOf(expected));
  });

  it("keeps a tensor whose rows are not whole blocks, and says so", async () => {
    const model = await openModel(await makeFile([["w.weight", [8, 48]]]));
    const { report } = await quantizeModel(model, { schemes: { "w.weight": "q8_0" } });
    const [{ scheme, reason }] = report.rows;
    assert.deepEqual([scheme, reason], ["keep", "rows of 48 values are not whole blocks of q8_0"]);
  });

  it("keeps vectors and norms, which llama.cpp takes in float32 alone, and says so", async () => {
    const model = await openModel(
      await makeFile([
        ["blk.0.attn_norm.weight", [256]],
        ["blk.0.attn_q_norm.weight", [2, 256]],
      ]),
    );
    const { report } = await quantizeModel(model, () => "float16");
    assert.deepEqual(
      report.rows.map(({ scheme, reason }) => [scheme, reason]),
      [
        ["keep", "a vector: llama.cpp takes these in float32 alone"],
        ["keep", "a norm: llama.cpp takes these in float32 alone"],
      ],
    );
  });

  it("refuses schemes that GGUF does not have, and options that do not apply", async () => {
    const model = await openModel(await makeFile([["w.weight", [8, 64]]]));
    const invalid = { name: "RangeError", code: "ZP_INVALID_SCHEME" };
    await assert.rejects(quantizeModel(model, "int4-g32"), invalid);
    await assert.rejects(quantizeModel(model, "Q9_K"), invalid);
    await assert.rejects(quantizeModel(model, "Q8_0", { target: "web" }), {
      code: "ZP_INVALID_OPTION",
    });
    const schemes = { "w.weight": "q8_0" };
    await assert.rejects(quantizeModel(model, { schemes }, { pure: true }), {
      code: "ZP_CONFLICTING_OPTIONS",
    });
    const imatrix = await makeFile([["x", [1]]]);
    await assert.rejects(quantizeModel(model, "Q4_0", { imatrix }), { code: "ZP_INVALID_MODEL" });
    await assert.rejects(quantizeModel(model, "Q4_0", { imatrix: 7 }), TypeError);
    const other = quantizeModel(model, "int8-channel", { imatrix, format: "safetensors" });
    await assert.rejects(other, { code: "ZP_CONFLICTING_OPTIONS" });
  });

  it("names the tensor and the value that is not finite", async () => {
    const file = await makeFile([
      ["a.weight", [8, 64]],
      ["b.weight", [8, 64], "float32", Number.NaN],
    ]);
    const { files } = await quantizeModel(await openModel(file), "Q8_0");
    await assert.rejects(collect(files[0].stream()), {
      code: "ZP_NON_FINITE",
      message: /^quantizeModel: tensor "b\.weight" must be finite, but value 0 is NaN$/,
    });
  });

  it("refuses values whose scale float16 cannot hold, as llama-quantize does", async () => {
    const model = await openModel(await makeFile([["w.weight", [8, 256], "float32", 1e30]]));
    for (const type of ["F16", "Q8_0", "Q4_K_M", "TQ1_0"]) {
      const { files } = await quantizeModel(model, type);
      await assert.rejects(collect(files[0].stream()), { code: "ZP_NON_FINITE" }, type);
    }
  });

  it("writes rows that are not whole blocks of 32 values in float16, as llama-quantize does", async () => {
    const model = await openModel(await makeFile([["w.weight", [8, 48]]]));
    const { report } = await quantizeModel(model, "Q4_0");
    assert.equal(report.rows[0].scheme, "float16");
    await assert.rejects(quantizeModel(model, "Q1_0"), { code: "ZP_INVALID_SHAPE" });
  });

  it("refuses to quantize what is quantized already, unless it has the wanted dtype", async () => {
    const source = await openModel(await makeFile([["w.weight", [8, 64]]]));
    const quantized = await openModel(await fileOf(await quantizeModel(source, "Q8_0")));
    const code = "ZP_UNSUPPORTED_DTYPE";
    await assert.rejects(quantizeModel(quantized, "Q4_0"), { code });
    const again = await quantizeModel(quantized, "Q8_0");
    assert.deepEqual(
      await (await openModel(await fileOf(again))).readBytes("w.weight"),
      await quantized.readBytes("w.weight"),
    );
  });
});
