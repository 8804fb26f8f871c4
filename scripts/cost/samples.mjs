// The network that reads digits as model files, the samples of the page's lab: safetensors, ONNX and GGUF.

import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../dist/formats/gguf/write.js";
import { bytesField, varintField } from "../../dist/formats/onnx/wire.js";
import { nodeMessage, tensorMessage } from "../../dist/formats/onnx/write.js";
import { layoutSafetensors, writeSafetensors } from "../../dist/formats/safetensors.js";
import { root } from "../process/run.mjs";
import { loadModel, modelFile } from "./model.mjs";

const folder = join(root, "build", "cost");
const NAMES = ["digits.safetensors", "digits.onnx", "digits.gguf"];

/** Weights and biases as named tensors. */
function tensorsOf(layers) {
  return layers.flatMap(({ weight, bias }, i) =>
    Object.entries({ weight, bias }).map(([part, { data, shape }]) => ({
      name: `fc${i + 1}.${part}`,
      shape: [...shape],
      dtype: "float32",
      bytes: () => [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)],
    })),
  );
}

const [IMAGE, FRAMED] = [28, 32];

/**
 * The network for images of 32 × 32 pixels, with weights of 0 for the frame around the digit: blocks of GGUF have 32 or
 * 256 values, and do not fit into rows of 28 × 28.
 */
function framed([first, ...others]) {
  const { data, shape } = first.weight;
  const border = (FRAMED - IMAGE) / 2;
  const weights = new Float32Array(shape[0] * FRAMED ** 2);
  for (let i = 0; i < data.length; i++) {
    const [output, pixel] = [Math.floor(i / IMAGE ** 2), i % IMAGE ** 2];
    const [y, x] = [Math.floor(pixel / IMAGE), pixel % IMAGE];
    weights[output * FRAMED ** 2 + (y + border) * FRAMED + x + border] = data[i];
  }
  return [{ ...first, weight: { data: weights, shape: [shape[0], FRAMED ** 2] } }, ...others];
}

/** All bytes of a stream, with messages of unknown length resolved. */
async function collect(chunks) {
  const parts = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** The bytes of a message's parts. */
async function* bytesOfParts(parts) {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else yield* part.bytes();
  }
}

/** A graph's input or output: float32 of a shape whose first axis has a name. */
function valueInfo(field, name, width) {
  const dimensions = [
    ...bytesField(1, bytesField(2, "batch")),
    ...bytesField(1, varintField(1, width)),
  ];
  const type = bytesField(1, [...varintField(1, 1), ...bytesField(2, dimensions)]);
  return bytesField(field, [...bytesField(1, name), ...bytesField(2, type)]);
}

/** ONNX: Gemm, Relu, Gemm, at opset 17. */
function onnxParts(layers) {
  const gemm = (input, i, output) => ({
    name: `fc${i}`,
    opType: "Gemm",
    inputs: [input, `fc${i}.weight`, `fc${i}.bias`],
    outputs: [output],
    attributes: { transB: { int: 1 } },
  });
  const nodes = [
    gemm("image", 1, "hidden"),
    { name: "relu", opType: "Relu", inputs: ["hidden"], outputs: ["active"] },
    gemm("active", 2, "scores"),
  ];
  const graph = [
    ...nodes.flatMap((node) => bytesField(1, nodeMessage(node))),
    ...bytesField(2, "digits"),
    ...tensorsOf(layers).flatMap((tensor) => bytesField(5, tensorMessage(tensor))),
    ...valueInfo(11, "image", 784),
    ...valueInfo(12, "scores", 10),
  ];
  return [
    ...varintField(1, 8),
    ...bytesField(2, "zeropoint"),
    ...bytesField(7, graph),
    ...bytesField(8, [...bytesField(1, ""), ...varintField(2, 17)]),
  ];
}

/** Writes the samples, unless they are newer than the network. */
export async function makeSamples() {
  const { layers } = await loadModel();
  const time = Math.max(
    statSync(modelFile).mtimeMs,
    statSync(fileURLToPath(import.meta.url)).mtimeMs,
  );
  const isFresh = (name) => {
    const path = join(folder, name);
    return existsSync(path) && statSync(path).mtimeMs > time;
  };
  if (NAMES.every(isFresh)) return;
  const tensors = tensorsOf(layers);
  const safetensors = layoutSafetensors(tensors, new Map([["format", "pt"]]));
  const gguf = layoutGGUF(tensorsOf(framed(layers)), [
    ["general.architecture", ggufEntry("string", "digits")],
    ["general.name", ggufEntry("string", "Network of notebook 6, for images of 32 × 32 pixels")],
  ]);
  const contents = [
    writeSafetensors(safetensors),
    bytesOfParts(onnxParts(layers)),
    writeGGUF(gguf),
  ];
  for (const [i, name] of NAMES.entries()) {
    writeFileSync(join(folder, name), await collect(contents[i]));
  }
}
