// Small models of the llama architecture with random weights, and importance matrices for them, as GGUF files.
// The values are the same on every machine: an LCG and exact arithmetic.

import {
  bytesSource,
  ggufEntry,
  layoutGGUF,
  readGGUF,
  writeGGUF,
} from "../../../internal/formats.mjs";
import { collect } from "./formats.mjs";

/** Random floats, roughly normal: sums of four uniform ones. */
function randomFloats(seed, count, scale) {
  const values = new Float32Array(count);
  let state = seed >>> 0;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  for (let i = 0; i < count; i++) {
    values[i] = scale * (uniform() + uniform() + uniform() + uniform());
    // Outliers, as real weights have them.
    if (state % 1009 === 0) values[i] *= 16;
  }
  return values;
}

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);

/** Rounds a normal float32 to nearest even on its upper 16 bits. */
function toBfloat16(value) {
  float[0] = value;
  return (word[0] + 0x7fff + ((word[0] >>> 16) & 1)) >>> 16;
}

/** Rounds a float32 below 65504 to nearest even float16. */
function toFloat16(value) {
  // Below 2^-14, steps of 2^-24; above, ten bits behind the leading one.
  const exponent = Math.max(-14, Math.floor(Math.log2(Math.abs(value) || 2 ** -20)));
  const step = 2 ** (exponent - 10);
  const ratio = Math.abs(value) / step;
  const below = Math.floor(ratio);
  const rest = ratio - below;
  const steps = below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
  const bits = exponent === -14 ? steps : (exponent + 14) * 1024 + steps;
  return bits | (Object.is(Math.sign(value), -1) ? 0x8000 : 0);
}

const ENCODE = {
  float32: (values) => values,
  float16: (values) => Uint16Array.from(values, toFloat16),
  bfloat16: (values) => Uint16Array.from(values, toBfloat16),
};

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** A GGUF model in several files, as llama-gguf-split writes them: their bytes by name. */
export async function splitGGUF(bytes, name, count) {
  const { metadata, tensors } = await readGGUF(bytesSource(bytes));
  const all = [...tensors.values()];
  const each = Math.ceil(all.length / count);
  const files = {};
  for (let index = 0; index < count; index++) {
    const keys = new Map([
      ...(index === 0 ? metadata : []),
      ["split.no", ggufEntry("uint16", index)],
      ["split.count", ggufEntry("uint16", count)],
      ["split.tensors.count", ggufEntry("int32", all.length)],
    ]);
    const own = all.slice(index * each, (index + 1) * each);
    const [number, total] = [index + 1, count].map((each) => String(each).padStart(5, "0"));
    files[`${name}-${number}-of-${total}.gguf`] = await collect(writeGGUF(layoutGGUF(own, keys)));
  }
  return files;
}

/** A tensor for layoutGGUF. */
const tensorOf = (name, shape, dtype, values) => ({
  name,
  shape,
  dtype,
  bytes: () => [bytesOf(ENCODE[dtype](values()))],
});

/** The tensors of a model: name and row-major shape. */
function* shapesOf({ layers, d, ff, heads, kv, tied, experts, vocabulary, extra }) {
  const dKv = (d / heads) * kv;
  yield ["token_embd.weight", [vocabulary, d]];
  for (let layer = 0; layer < layers; layer++) {
    const name = (part) => `blk.${layer}.${part}.weight`;
    yield [name("attn_norm"), [d]];
    yield [name("attn_q"), [d, d]];
    yield [name("attn_k"), [dKv, d]];
    yield [name("attn_v"), [dKv, d]];
    yield [name("attn_output"), [d, d]];
    yield [name("ffn_norm"), [d]];
    if (experts > 0) yield [name("ffn_gate_inp"), [experts, d]];
    const [ending, matrices] = experts > 0 ? ["_exps", [experts]] : ["", []];
    yield [name(`ffn_gate${ending}`), [...matrices, ff, d]];
    yield [name(`ffn_up${ending}`), [...matrices, ff, d]];
    yield [name(`ffn_down${ending}`), [...matrices, d, ff]];
  }
  yield ["output_norm.weight", [d]];
  if (!tied) yield ["output.weight", [vocabulary, d]];
  yield* extra;
}

/**
 * Settings of a model, with defaults.
 * @param given  layers, d (width), ff (inner width of the feed-forward parts), heads, kv (of keys and values), tied,
 * experts, dtype, seed, vocabulary, alignment, extra (further tensors: name and row-major shape)
 */
const settingsOf = (given) => ({
  ...{ layers: 1, d: 256, ff: 256, heads: 8, kv: 8, tied: false, experts: 0 },
  ...{ dtype: "float32", seed: 1, vocabulary: 261, alignment: undefined, extra: [] },
  ...given,
});

/** Bytes of a model file that llama.cpp loads and runs. */
export async function makeLlama(given) {
  const settings = settingsOf(given);
  const { layers, d, ff, heads, kv, experts, dtype, seed, vocabulary, alignment } = settings;
  const tokens = Array.from({ length: vocabulary }, (_, i) =>
    i < 3
      ? ["<unk>", "<s>", "</s>"][i]
      : i < 259
        ? `<0x${(i - 3).toString(16).toUpperCase().padStart(2, "0")}>`
        : `▁t${i}`,
  );
  const kinds = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));
  const keys = [
    ["general.architecture", ggufEntry("string", "llama")],
    ["general.name", ggufEntry("string", "small")],
    ...(alignment === undefined ? [] : [["general.alignment", ggufEntry("uint32", alignment)]]),
    ["llama.context_length", ggufEntry("uint32", 64)],
    ["llama.embedding_length", ggufEntry("uint32", d)],
    ["llama.block_count", ggufEntry("uint32", layers)],
    ["llama.feed_forward_length", ggufEntry("uint32", ff)],
    ["llama.attention.head_count", ggufEntry("uint32", heads)],
    ["llama.attention.head_count_kv", ggufEntry("uint32", kv)],
    ["llama.rope.dimension_count", ggufEntry("uint32", d / heads)],
    ["llama.attention.layer_norm_rms_epsilon", ggufEntry("float32", 1e-5)],
    ["general.file_type", ggufEntry("uint32", { float32: 0, float16: 1, bfloat16: 32 }[dtype])],
    ["llama.vocab_size", ggufEntry("uint32", vocabulary)],
    ...(experts === 0
      ? []
      : [
          ["llama.expert_count", ggufEntry("uint32", experts)],
          ["llama.expert_used_count", ggufEntry("uint32", 2)],
        ]),
    ["tokenizer.ggml.model", ggufEntry("string", "llama")],
    ["tokenizer.ggml.tokens", ggufEntry("array", tokens, "string")],
    [
      "tokenizer.ggml.scores",
      ggufEntry(
        "array",
        tokens.map((_, i) => -Math.max(0, i - 258)),
        "float32",
      ),
    ],
    ["tokenizer.ggml.token_type", ggufEntry("array", kinds, "int32")],
    ["tokenizer.ggml.bos_token_id", ggufEntry("uint32", 1)],
    ["tokenizer.ggml.eos_token_id", ggufEntry("uint32", 2)],
    ["tokenizer.ggml.unknown_token_id", ggufEntry("uint32", 0)],
  ];
  const tensors = Array.from(shapesOf(settings), ([name, shape], i) => {
    const count = shape.reduce((product, length) => product * length, 1);
    const isNorm = shape.length < 2;
    const random = () => randomFloats(seed * 1000003 + i * 7919, count, isNorm ? 0.1 : 0.12);
    const values = () => (isNorm ? random().map((value) => 1 + value) : random());
    return tensorOf(name, shape, isNorm ? "float32" : dtype, values);
  });
  return await collect(writeGGUF(layoutGGUF(tensors, keys)));
}

/** Bytes of an importance matrix for all matrices of a model but the embedding. */
export async function makeImatrix(given) {
  const settings = settingsOf(given);
  const keys = [
    ["general.type", ggufEntry("string", "imatrix")],
    ["imatrix.datasets", ggufEntry("array", ["random"], "string")],
    ["imatrix.chunk_count", ggufEntry("uint32", 4)],
    ["imatrix.chunk_size", ggufEntry("uint32", 64)],
  ];
  const matrices = Array.from(shapesOf(settings)).filter(
    ([name, shape]) => shape.length > 1 && !name.includes("embd"),
  );
  const tensors = matrices.flatMap(([name, shape], i) => {
    const columns = shape.at(-1);
    const experts = shape.at(-3) ?? 1;
    const sums = () =>
      randomFloats(settings.seed * 31 + i, columns * experts, 64).map((value) => value * value);
    // The second of several experts was never asked.
    const counts = Float32Array.from({ length: experts }, (_, j) => (j === 1 ? 0 : 200 + j));
    return [
      tensorOf(`${name}.in_sum2`, [experts, columns], "float32", sums),
      tensorOf(`${name}.counts`, [experts, 1], "float32", () => counts),
    ];
  });
  return await collect(writeGGUF(layoutGGUF(tensors, keys)));
}
