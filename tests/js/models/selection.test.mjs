import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keptReason, refusedReason } from "../../internal/models.mjs";

const tensorOf = (name, shape = [64, 64], dtype = "float32", isQuantized = false) => ({
  ...{ name, shape, dtype, isQuantized },
});

describe("keptReason", () => {
  for (const name of [
    "model.layers.0.self_attn.q_proj.weight",
    "model.embed_tokens.weight",
    "blk.0.ffn_down.weight",
    "token_embd.weight",
    "onnx::MatMul_312",
    "decoder.block.0.layer.1.DenseReluDense.wi.weight",
    "model.layers.0.mlp.gate_proj.weight",
    "positive.weight",
  ]) {
    it(`quantizes ${name}`, () => assert.equal(keptReason(tensorOf(name)), undefined));
  }

  for (const [name, reason] of [
    ["model.layers.0.input_layernorm.weight", "a norm"],
    ["blk.0.attn_norm.weight", "a norm"],
    ["h.0.ln_1.weight", "a norm"],
    ["bert.embeddings.LayerNorm.gamma", "a norm"],
    ["encoder.layer.0.bias", "a bias"],
    ["wpe.weight", "a table of positions or token types"],
    ["bert.embeddings.position_embeddings.weight", "a table of positions or token types"],
    ["token_types.weight", "a table of positions or token types"],
    ["block.0.attention.relative_attention_bias.weight", "a table of positions or token types"],
    ["model.layers.0.rotary_emb.inv_freq", "a table of frequencies"],
    ["blk.0.ffn_gate_inp.weight", "a router"],
    ["model.layers.3.block_sparse_moe.gate.weight", "a router"],
  ]) {
    it(`keeps ${name}: ${reason}`, () => assert.equal(keptReason(tensorOf(name)), reason));
  }

  it("keeps tensors of one axis and of fewer than 256 values", () => {
    assert.equal(keptReason(tensorOf("w", [4096])), "one axis: a bias or a norm");
    assert.equal(keptReason(tensorOf("w", [15, 17])), "fewer than 256 values");
    assert.equal(keptReason(tensorOf("w", [16, 16])), undefined);
  });

  it("keeps quantized tensors, and other dtypes", () => {
    const blocks = tensorOf("w", [64, 64], "q4_0");
    assert.equal(keptReason(blocks), "already quantized (q4_0)");
    const codes = tensorOf("w", [64, 64], "int8", true);
    assert.equal(keptReason(codes), "already quantized (int8)");
    const ids = tensorOf("w", [64, 64], "int64");
    assert.equal(keptReason(ids), "int64, not float32, float16, bfloat16 or float64");
  });
});

describe("refusedReason", () => {
  it("lets a plan quantize a bias, but no number without axes and nothing empty", () => {
    assert.equal(refusedReason(tensorOf("bias", [4])), undefined);
    assert.equal(refusedReason(tensorOf("w", [])), "a single number");
    assert.equal(refusedReason(tensorOf("w", [0, 4])), "no values");
  });
});
