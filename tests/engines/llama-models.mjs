// Models for the engines, and quantizeModel over them.

import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { collect } from "../js/support/files/formats.mjs";

/** All types of llama-quantize that quantizeModel knows. */
export const TYPES =
  "F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q2_K_S Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ4_NL " +
  "IQ4_XS TQ1_0 TQ2_0 MXFP4_MOE Q1_0 Q2_0 COPY";

/** Tensors with names and shapes that llama-quantize has rules for. */
const EXTRA = [
  ["number.weight", []],
  ["row.weight", [1, 3]],
  ["column.weight", [3, 1]],
  ["one-matrix.weight", [1, 1, 2, 32]],
  ["short-rows.weight", [2, 48]],
  ["position_embd.weight", [2, 32]],
  ["token_types.weight", [2, 32]],
  ["per_layer_token_embd.weight", [2, 256]],
  ["blk.0.attn_qkv.weight", [2, 256]],
  ["blk.0.attn_kv_b.weight", [2, 256]],
  ["blk.0.ffn_gate_inp.weight", [2, 32]],
  ["blk.0.ffn_down_shexp.weight", [2, 256]],
  ["blk.0.ssm_conv1d.weight", [2, 32]],
  ["blk.0.time_mix_w1.weight", [2, 32]],
  ["blk.0.x_norm.weight", [2, 32]],
  ["blk.10.x.weight", [2, 32]],
  ["blk.2.x.weight", [2, 32]],
  ["Z.weight", [2, 32]],
  ["é.weight", [2, 32]],
  ["v.position_embd.weight", [2, 32]],
  ["v.patch_embd.weight", [2, 32]],
];

/** Settings of makeLlama by name. */
export const MODELS = {
  "float32, grouped queries": { layers: 2, kv: 1, seed: 11 },
  "rows of 96 and 160, tied embeddings": { d: 96, ff: 160, heads: 3, kv: 3, tied: true, seed: 12 },
  float16: { dtype: "float16", heads: 4, kv: 2, ff: 512, tied: true, seed: 13 },
  bfloat16: { dtype: "bfloat16", d: 160, ff: 96, heads: 5, kv: 1, seed: 14 },
  "8 experts": { experts: 8, ff: 32, kv: 4, seed: 15 },
  "4 experts": { experts: 4, layers: 9, ff: 32, d: 32, heads: 1, kv: 1, seed: 16 },
  "33 layers": { layers: 33, d: 32, ff: 256, heads: 1, kv: 1, seed: 17, dtype: "float16" },
  "80 layers, grouped queries": { layers: 80, d: 64, ff: 64, heads: 2, kv: 1, seed: 18 },
  "unusual names and shapes": { extra: EXTRA, seed: 19 },
};

/** The bytes of the file that quantizeModel makes of a file. */
export async function quantize(bytes, scheme, options) {
  await init();
  const model = await openModel(bytes);
  const { files } = await quantizeModel(model, scheme, options);
  return await collect(files[0].stream());
}
