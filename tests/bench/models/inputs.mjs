// Model files to convert: matrices of normal values, so that all schemes have their usual work.

import { open } from "node:fs/promises";
import { join } from "node:path";
import {
  ggufEntry,
  layoutGGUF,
  layoutSafetensors,
  writeGGUF,
  writeSafetensors,
} from "../../internal/formats.mjs";
import { constant, onnxModel } from "../../js/support/onnx/models.mjs";
import { normalValues } from "../random.mjs";

const MIB = 2 ** 20;

/** Normal values, rounded to a dtype. */
function valuesOf(dtype, count) {
  const values = normalValues(count, 61).map((value) => value / 64);
  if (dtype === "float32") return values;
  const words = new Uint32Array(values.buffer);
  // To the nearest, ties up: the rounding of inputs does not matter.
  if (dtype === "bfloat16") return Uint16Array.from(words, (word) => (word + 0x8000) >>> 16);
  return Uint16Array.from(words, (word) => {
    const exponent = ((word >>> 23) & 255) - 112;
    const half = exponent <= 0 ? 0 : (exponent << 10) | ((word >>> 13) & 1023);
    return ((word >>> 16) & 0x8000) | half;
  });
}

/** Square matrices of about so many bytes in all; they share their values. */
function matrices(nameOf, dtype, width, bytes) {
  const values = valuesOf(dtype, width * width);
  const chunk = new Uint8Array(values.buffer);
  const count = Math.max(1, Math.round(bytes / chunk.length));
  return Array.from({ length: count }, (_, i) => ({
    ...{ name: nameOf(i), shape: [width, width], dtype, values },
    bytes: () => [chunk],
  }));
}

async function write(path, chunks) {
  const file = await open(path, "w");
  for await (const chunk of chunks) await file.write(chunk);
  await file.close();
  return path;
}

const MAKERS = {
  safetensors(path, width, bytes) {
    const name = (i) => `model.layers.${i}.mlp.up_proj.weight`;
    const tensors = matrices(name, "bfloat16", width, bytes);
    return write(path, writeSafetensors(layoutSafetensors(tensors, new Map())));
  },
  gguf(path, width, bytes) {
    const name = (i) => `blk.${i}.ffn_up.weight`;
    const tensors = matrices(name, "float16", width, bytes);
    const keys = [["general.architecture", ggufEntry("string", "llama")]];
    return write(path, writeGGUF(layoutGGUF(tensors, keys)));
  },
  async onnx(path, width, bytes) {
    const weights = matrices((i) => `w${i}`, "float32", width, bytes);
    const nodes = weights.map(({ name }, i) => ({
      opType: "MatMul",
      inputs: [i === 0 ? "x" : `y${i - 1}`, name],
      outputs: [`y${i}`],
    }));
    const model = await onnxModel({
      nodes,
      initializers: weights.map(({ name, shape, values }) => constant(name, shape, values)),
      inputs: [{ name: "x", shape: [1, width] }],
      outputs: [{ name: `y${weights.length - 1}`, shape: [1, width] }],
    });
    return write(path, [model]);
  },
};

/**
 * Writes a model file.
 * @param {string} folder
 * @param {"safetensors" | "gguf" | "onnx"} format
 * @param {number} mebibytes  of the file, about
 * @returns {Promise<string>} its path
 */
export function makeInput(folder, format, mebibytes) {
  const width = mebibytes < 32 ? 256 : 2048;
  return MAKERS[format](join(folder, `model.${format}`), width, mebibytes * MIB);
}
