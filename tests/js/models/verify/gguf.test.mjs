// verify of GGUF: files of llama-quantize are confirmed, ties of rounding are counted, everything else is named.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, quantizeBlocks } from "zeropoint";
import { openModel, quantizeModel, verify } from "zeropoint/models";
import {
  bytesSource,
  ggufEntry,
  layoutGGUF,
  readGGUF,
  writeGGUF,
} from "../../../internal/formats.mjs";
import { documentOf, tiesOf } from "../../../internal/models.mjs";
import { effort } from "../../support/effort.mjs";
import { collect, sha256 } from "../../support/files/formats.mjs";
import { makeImatrix, makeLlama, splitGGUF } from "../../support/files/llama.mjs";
import { readVectors } from "../../support/vectors.mjs";

await init();

const vectors = readVectors("formats/llama-quantize");

describe("verify of the files that our tests compare with llama-quantize", () => {
  for (const [model, settings] of Object.entries(vectors.models)) {
    it(`confirms every one, and names the tensor of a flipped bit: model ${model}`, async () => {
      const source = await openModel(await makeLlama(settings));
      const matrix = await makeImatrix(settings);
      const own = vectors.cases.filter((each) => each.model === model && each.file !== null);
      assert.ok(own.length > 90, String(own.length));
      // One of ten by default, all in `npm run check`.
      const step = Math.floor(own.length / effort(own.length));
      for (const [i, { type, pure, imatrix, file }] of own.entries()) {
        if (i % step !== 0) continue;
        const label = `${type}${pure ? " pure" : ""}${imatrix ? " imatrix" : ""}`;
        const options = { imatrix: imatrix ? matrix : undefined };
        const result = await quantizeModel(source, type.toLowerCase(), { pure, ...options });
        const bytes = await collect(result.files[0].stream());
        // These are llama-quantize's bytes.
        assert.equal(await sha256(bytes), file.sha256, label);
        const { tensors, equal, ties, different } = await verify(
          await openModel(bytes),
          source,
          options,
        );
        assert.deepEqual([different, equal, ties], [[], tensors, 0], label);
        const all = [...(await readGGUF(bytesSource(bytes))).tensors.values()];
        const { name, span, byteLength } = all[i % all.length];
        bytes[span.offset + (byteLength >> 1)] ^= 4;
        const wrong = await verify(await openModel(bytes), source, options);
        assert.deepEqual(
          [wrong.equal, wrong.different.map((each) => [each.name, each.bytes])],
          [tensors - 1, [[name, 1]]],
          label,
        );
      }
    });
  }
});

/** A GGUF file of tensors by name: [dtype, shape, bytes]. */
const ggufOf = (tensors, keys = []) =>
  collect(
    writeGGUF(
      layoutGGUF(
        Object.entries(tensors).map(([name, [dtype, shape, array]]) => ({
          ...{ name, dtype, shape },
          bytes: () => [new Uint8Array(array.buffer, array.byteOffset, array.byteLength)],
        })),
        new Map([["general.architecture", ggufEntry("string", "llama")], ...keys]),
      ),
    ),
  );

const QUANTIZED = [
  ["general.quantization_version", ggufEntry("uint32", 2)],
  ["general.file_type", ggufEntry("uint32", 2)],
];

describe("verify of GGUF", () => {
  it("asks for the importance matrix that a file was made with, and names one that differs", async () => {
    const settings = { layers: 1, seed: 3 };
    const source = await openModel(await makeLlama(settings));
    const imatrix = await makeImatrix(settings);
    const { files } = await quantizeModel(source, "Q4_0", { imatrix });
    const small = await openModel(await collect(files[0].stream()));
    await assert.rejects(verify(small, source), {
      code: "ZP_INVALID_OPTION",
      message:
        'verify: options.imatrix is missing: the file was made with the importance matrix "imatrix.gguf"',
    });
    const { different, statement } = await verify(small, source, { imatrix });
    assert.deepEqual(different, []);
    assert.equal(statement.predicate.materials.length, 2);
    const other = await makeImatrix({ ...settings, seed: 4 });
    assert.ok((await verify(small, source, { imatrix: other })).different.length > 4);
  });

  it("takes a source and a file in several parts", async () => {
    const bytes = await makeLlama({ layers: 2 });
    const openSplit = async (whole, name) => {
      const files = await splitGGUF(whole, name, 3);
      const [first] = Object.keys(files);
      const { metadata } = await readGGUF(bytesSource(files[first]));
      assert.equal(metadata.get("split.count").value, 3);
      const file = new File([files[first]], first);
      return await openModel(file, { externalData: (path) => files[path] });
    };
    const source = await openSplit(bytes, "big");
    const { files } = await quantizeModel(await openModel(bytes), "Q4_K_M");
    const whole = await collect(files[0].stream());
    const small = await openSplit(whole, "small");
    const { different, tensors, equal, statement } = await verify(small, source);
    assert.deepEqual([different, equal], [[], tensors]);
    const { subject, predicate } = statement;
    assert.deepEqual([subject.length, predicate.materials.length], [3, 3]);
    assert.deepEqual(predicate.derivation.schemes, { keep: 5, q4_k: 13, q6_k: 3 });
  });

  it("names keys that differ, as a chat template, and lets the place of a split pass", async () => {
    const data = new Float32Array(64).fill(1);
    const template = (text) => [["tokenizer.chat_template", ggufEntry("string", text)]];
    const source = await openModel(await ggufOf({ w: ["float32", [2, 32], data] }, template("a")));
    const small = await openModel(
      await ggufOf({ w: ["float32", [2, 32], data] }, [...template("b"), ...QUANTIZED]),
    );
    assert.deepEqual((await verify(small, source)).different, [
      { name: "metadata tokenizer.chat_template", kind: "metadata", expected: "a", found: "b" },
    ]);
  });

  it("names tensors of lattice types, which no writer makes", async () => {
    const source = await openModel(
      await ggufOf({ w: ["float32", [1, 256], new Float32Array(256)] }),
    );
    const small = await openModel(
      await ggufOf({ w: ["iq2_xxs", [1, 256], new Uint8Array(66)] }, QUANTIZED),
    );
    const { different, equal } = await verify(small, source);
    assert.deepEqual(
      [equal, different],
      [
        0,
        [
          {
            ...{ name: "w", kind: "not derived", expected: "nothing" },
            found: "no writer makes iq2_xxs of float32",
          },
        ],
      ],
    );
  });
});

/** q4_0 as ggml computes it where the compiler fuses x * id + 8.5 to one rounding. */
function fusedQ4_0(values) {
  const { fround } = Math;
  const blocks = values.length / 32;
  const bytes = new Uint8Array(18 * blocks);
  // The scales are those of the unfused code.
  const plain = quantizeBlocks({ data: values, shape: [1, values.length] }, "q4_0");
  for (let b = 0; b < blocks; b++) {
    const x = values.subarray(32 * b, 32 * b + 32);
    const max = x.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most), 0);
    const d = fround(max / -8);
    const id = d === 0 ? 0 : fround(1 / d);
    bytes.set(plain.subarray(18 * b, 18 * b + 2), 18 * b);
    // The product of two float32 is exact in double.
    const code = (value) => Math.min(15, Math.trunc(fround(value * id + 8.5)));
    for (let i = 0; i < 16; i++) bytes[18 * b + 2 + i] = code(x[i]) | (code(x[i + 16]) << 4);
  }
  return { bytes, plain };
}

/** Values around the middles of codes, each by a few ulp. */
function middles(count) {
  const values = new Float32Array(count);
  const bits = new Uint32Array(values.buffer);
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (let at = 0; at < count; at += 32) {
    const max = -(1 + random());
    values[at] = max;
    for (let i = 1; i < 32; i++) {
      values[at + i] = (max / -8) * (Math.floor(random() * 14) - 6.5);
      bits[at + i] += Math.floor(random() * 3) - 1;
    }
  }
  return values;
}

describe("ties of rounding", () => {
  const values = middles(64 * 512);
  const { bytes, plain } = fusedQ4_0(values);
  const blocks = values.length / 32;
  const differs = (b) =>
    !Buffer.from(bytes.subarray(18 * b, 18 * b + 18)).equals(plain.subarray(18 * b, 18 * b + 18));
  const expected = Array.from({ length: blocks }, (_, b) => b).filter(differs).length;
  const sourceOf = () => ggufOf({ "w.weight": ["float32", [64, 512], values] });

  it("of a build with fused multiply-add are counted, and count as neither equal nor different", async () => {
    assert.ok(expected > 20 && expected < blocks, String(expected));
    const source = await openModel(await sourceOf());
    const small = await openModel(
      await ggufOf({ "w.weight": ["q4_0", [64, 512], bytes] }, QUANTIZED),
    );
    const { tensors, equal, different, ties, tied, statement } = await verify(small, source);
    assert.deepEqual([tensors, equal, different, ties], [1, 0, [], expected]);
    assert.deepEqual(
      tied.map(({ name, blocks, total }) => [name, blocks, total]),
      [["w.weight", expected, blocks]],
    );
    assert.ok(tied[0].values >= expected);
    assert.equal(statement.predicate.result.verdict, "ties");
  });

  it("are differences beside any other one, in a code or in a scale", async () => {
    const source = await openModel(await sourceOf());
    for (const [at, bit] of [
      [5, 0x40],
      [0, 1],
    ]) {
      const wrong = bytes.slice();
      wrong[18 * 100 + at] ^= bit;
      const small = await openModel(
        await ggufOf({ "w.weight": ["q4_0", [64, 512], wrong] }, QUANTIZED),
      );
      const { different, ties, statement } = await verify(small, source);
      assert.deepEqual([different.length, different[0].block, ties], [1, 100, 0]);
      assert.equal(statement.predicate.result.verdict, "different");
    }
  });

  it("are told from codes that are two steps away, in every type", async () => {
    const data = Float32Array.from({ length: 1024 }, (_, i) => Math.sin(i * i + 1));
    const types = "q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs tq2_0 mxfp4";
    const source = await openModel(await ggufOf({ "w.weight": ["float32", [4, 256], data] }));
    for (const type of types.split(" ")) {
      const own = quantizeBlocks({ data, shape: [4, 256] }, type);
      for (let at = 0; at < own.length; at += 13) {
        own[at] ^= 2;
        const small = await openModel(
          await ggufOf({ "w.weight": [type, [4, 256], own] }, QUANTIZED),
        );
        const { ties, different } = await verify(small, source);
        assert.deepEqual([ties, different.length], [0, 1], `${type} byte ${at}`);
        own[at] ^= 2;
      }
    }
  });

  it("are told from values that are a step away, and not halfway", async () => {
    const source = await openModel(await ggufOf({ w: ["float32", [1], new Float32Array(1)] }));
    const { core } = documentOf("test", "source", source);
    const values = Float32Array.from({ length: 32 }, (_, i) => i - 16);
    values[31] = 127;
    const own = quantizeBlocks({ data: values, shape: [1, 32] }, "q8_0");
    for (let i = 2; i < 33; i++) {
      const other = own.slice();
      other[i] += other[i] < 127 ? 1 : 255;
      assert.equal(tiesOf(core, "q8_0", own, other, values), undefined);
      const halfway = values.slice();
      halfway[i - 2] = (values[i - 2] + ((other[i] << 24) >> 24)) / 2;
      assert.equal(tiesOf(core, "q8_0", own, other, halfway), 1);
    }
    assert.equal(tiesOf(core, "q8_0", own, own.subarray(1), values), undefined);
  });
});
