// Makes safetensors files of any size, with weights like those of a language model, for measurements.
//
//   node scripts/test/large-model.mjs FILE [--size 2GB] [--dtype bfloat16|float32] [--seed 1]
//   node scripts/test/large-model.mjs FOLDER --shards 12 [--size 300MB]
//
// Equal arguments make equal bytes. Weights are normally distributed with a few outliers; each row has its own scale.

import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { Failure, root, runAsScript } from "../process/run.mjs";

const HELP = `
node scripts/test/large-model.mjs FILE [--size 2GB] [--dtype bfloat16|float32] [--seed 1]
node scripts/test/large-model.mjs FOLDER --shards 12 [--size 300MB]

Makes a safetensors file, or a folder of shards with their index, for measuring.
`;

const library = (path) => import(join(root, "dist", path));

/** A generator of random 32-bit integers: xorshift32. */
function xorshift(seed) {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
}

/** A pool of normal values with a few outliers. Each row copies a part of it, so that 2 GB take only seconds. */
function normalPool(seed) {
  const next = xorshift(seed);
  const uniform = () => (next() + 0.5) / 2 ** 32;
  const pool = new Float32Array(1 << 20);
  for (let i = 0; i < pool.length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    pool[i] = radius * Math.cos(angle);
    pool[i + 1] = radius * Math.sin(angle);
  }
  for (let i = 0; i < pool.length; i += 4096) pool[i + (next() % 4096)] *= 8;
  return pool;
}

/** The rows of a weight, as bytes. */
function* rowsOf([rows, columns], dtype, pool, next, deviation) {
  const perChunk = Math.max(1, Math.floor((1 << 18) / columns));
  for (let row = 0; row < rows; row += perChunk) {
    const count = Math.min(perChunk, rows - row);
    const values = new Float32Array(count * columns);
    for (let i = 0; i < count; i++) {
      const scale = deviation * (0.5 + next() / 2 ** 32);
      const from = next() % (pool.length - columns);
      for (let j = 0, at = i * columns; j < columns; j++, at++) values[at] = pool[from + j] * scale;
    }
    if (dtype !== "bfloat16") {
      yield new Uint8Array(values.buffer);
      continue;
    }
    // The upper halves of the words of float32.
    const halves = new Uint16Array(values.buffer);
    const bits = new Uint16Array(values.length);
    for (let i = 0; i < bits.length; i++) bits[i] = halves[2 * i + 1];
    yield new Uint8Array(bits.buffer);
  }
}

/** The tensors of layers of a width, of about `bytes` bytes in total. */
function* layersOf({ bytes, width, dtype, seed, first = 0 }) {
  const size = dtype === "bfloat16" ? 2 : 4;
  const perLayer =
    size * (4 * width * width + 3 * width * Math.floor((width * 11) / 4) + 2 * width);
  const count = Math.max(1, Math.round(bytes / perLayer));
  const pool = normalPool(seed);
  const up = Math.floor((width * 11) / 4);
  for (let i = first; i < first + count; i++) {
    const weights = {
      "self_attn.q_proj": [width, width],
      "self_attn.k_proj": [width, width],
      "self_attn.v_proj": [width, width],
      "self_attn.o_proj": [width, width],
      "mlp.gate_proj": [up, width],
      "mlp.up_proj": [up, width],
      "mlp.down_proj": [width, up],
    };
    for (const [k, [name, shape]] of Object.entries(weights).entries()) {
      const next = xorshift(seed * 1_000_003 + i * 97 + k);
      // Layers differ, so that a plan has something to choose.
      const deviation = 0.02 * (1 + 0.5 * Math.sin(7 * i + k));
      yield {
        name: `model.layers.${i}.${name}.weight`,
        shape,
        dtype,
        bytes: () => rowsOf(shape, dtype, pool, next, deviation),
      };
    }
    for (const name of ["input_layernorm", "post_attention_layernorm"]) {
      const shape = [width];
      yield {
        name: `model.layers.${i}.${name}.weight`,
        shape,
        dtype,
        bytes: () => rowsOf([1, width], dtype, pool, xorshift(seed + i), 1),
      };
    }
  }
}

/** Writes a safetensors file. @returns its bytes */
async function writeLargeModel(path, { bytes, dtype = "bfloat16", seed = 1, width = 2048, first }) {
  const { layoutSafetensors, writeSafetensors } = await library("formats/safetensors.js");
  const layout = layoutSafetensors(layersOf({ bytes, width, dtype, seed, first }), [
    ["format", "pt"],
  ]);
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, "w");
  try {
    for await (const chunk of writeSafetensors(layout)) writeSync(file, chunk);
  } finally {
    closeSync(file);
  }
  return { bytes: layout.byteLength, names: layout.tensors.map(({ tensor }) => tensor.name) };
}

/** Writes a folder of shards of different sizes, with index and config. */
export async function writeShardedModel(
  folder,
  { shards, bytes, dtype = "bfloat16", seed = 1, width = 512 },
) {
  const { shardIndexText } = await library("formats/safetensors.js");
  const five = (i) => String(i).padStart(5, "0");
  const map = [];
  let total = 0;
  for (let i = 0; i < shards; i++) {
    const name = `model-${five(i + 1)}-of-${five(shards)}.safetensors`;
    // From 0.5 to 1.5 times the average.
    const own = (bytes / shards) * (0.5 + ((i * 7) % shards) / (shards - 1 || 1));
    const written = await writeLargeModel(join(folder, name), {
      ...{ bytes: own, dtype, seed: seed + i, width, first: 1000 * i },
    });
    total += written.bytes;
    map.push(...written.names.map((tensor) => [tensor, name]));
  }
  writeFileSync(
    join(folder, "model.safetensors.index.json"),
    shardIndexText({ total_size: total }, map),
  );
  const config = { model_type: "llama", hidden_size: width, torch_dtype: dtype };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config, null, 2));
  return total;
}

await runAsScript(
  import.meta.url,
  async (args) => {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        size: { type: "string" },
        shards: { type: "string" },
        dtype: { type: "string", default: "bfloat16" },
        seed: { type: "string", default: "1" },
      },
    });
    const { parseBytes } = await library("cli/units.js");
    const shards = values.shards === undefined ? undefined : Number(values.shards);
    const size = parseBytes(values.size ?? (shards === undefined ? "2GB" : "300MB"));
    if (positionals.length !== 1 || size === undefined) throw new Failure("see --help");
    const options = { bytes: size, dtype: values.dtype, seed: Number(values.seed) };
    if (shards === undefined) await writeLargeModel(positionals[0], options);
    else await writeShardedModel(positionals[0], { ...options, shards });
  },
  HELP,
);
