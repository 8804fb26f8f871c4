// A checkpoint as a folder, for tests in Node.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bfloat16Of, safetensorsOf, someValues } from "./checkpoints.mjs";

/** Writes a folder as language models have it: two shards in bfloat16 with their index, and config.json. */
export async function writeCheckpoint(folder, { hidden = 256, layers = 2, words = 512 } = {}) {
  const shapes = { "model.embed_tokens.weight": [words, hidden] };
  for (let i = 0; i < layers; i++) {
    const layer = `model.layers.${i}`;
    for (const part of ["q", "k", "v", "o"]) {
      shapes[`${layer}.self_attn.${part}_proj.weight`] = [hidden, hidden];
    }
    shapes[`${layer}.mlp.gate_proj.weight`] = [2 * hidden, hidden];
    shapes[`${layer}.mlp.up_proj.weight`] = [2 * hidden, hidden];
    shapes[`${layer}.mlp.down_proj.weight`] = [hidden, 2 * hidden];
    shapes[`${layer}.input_layernorm.weight`] = [hidden];
    shapes[`${layer}.post_attention_layernorm.weight`] = [hidden];
  }
  shapes["model.norm.weight"] = [hidden];
  shapes["lm_head.weight"] = [words, hidden];
  const names = Object.keys(shapes);
  const weightMap = {};
  let totalSize = 0;
  for (const part of [1, 2]) {
    const file = `model-0000${part}-of-00002.safetensors`;
    const tensors = {};
    for (const [i, name] of names.entries()) {
      if (2 * i < names.length !== (part === 1)) continue;
      const shape = shapes[name];
      const count = shape.reduce((product, length) => product * length, 1);
      tensors[name] = ["bfloat16", shape, bfloat16Of(someValues(count, i + 1))];
      weightMap[name] = file;
      totalSize += 2 * count;
    }
    writeFileSync(join(folder, file), await safetensorsOf(tensors, [["format", "pt"]]));
  }
  const index = { metadata: { total_size: totalSize }, weight_map: weightMap };
  writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify(index, undefined, 2));
  const config =
    '{\n  "architectures": ["LlamaForCausalLM"],\n  "model_type": "llama",\n  "rms_norm_eps": 1e-05,\n  "rope_theta": 10000.0\n}\n';
  writeFileSync(join(folder, "config.json"), config);
}
