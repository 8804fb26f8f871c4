// The samples of the page's lab: the network of notebook 6 as safetensors and ONNX, and a network of 25 layers as GGUF and
// ONNX, with digits that were held out from its training, and with inputs of its layers.

import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { float16Bits } from "../../dist/base/halves.js";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../dist/formats/gguf/write.js";
import { writeNpz } from "../../dist/formats/npz/write.js";
import { bytesField, varintField } from "../../dist/formats/onnx/wire.js";
import { nodeMessage, tensorMessage } from "../../dist/formats/onnx/write.js";
import { layoutSafetensors, writeSafetensors } from "../../dist/formats/safetensors.js";
import { root, step } from "../process/run.mjs";
import { PIXELS, readDigits, splitDigits } from "./digits.mjs";
import { loadModel, modelFile } from "./model.mjs";
import { inputsOf, LAYERS, rowOf, SIDE, STATE, statesOf, trainDeep } from "./train-deep.mjs";

const folder = join(root, "build", "cost");
const NAMES = [
  "digits.safetensors",
  "digits.onnx",
  "digits-deep.gguf",
  "digits-deep.onnx",
  "digits-deep.npz",
  "digits-deep-layers.npz",
];

/** Every second of the digits that are held out: 1,000. */
const SHOWN_EVERY = 2;
/** Digits of the calibration of which the inputs of layers are recorded. */
const RECORDED = 16;

const tensor = (name, dtype, shape, data) => ({
  ...{ name, shape: [...shape], dtype, byteLength: data.byteLength },
  bytes: () => [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)],
});

/** Weights, biases and gains as named tensors. */
const tensorsOf = (layers) =>
  layers.flatMap(({ name, weight, bias, gain }) => [
    ...(gain ? [tensor(gainName(name), "float32", [gain.length], gain)] : []),
    tensor(`${name}.weight`, "float32", [bias.length, weight.length / bias.length], weight),
    tensor(`${name}.bias`, "float32", [bias.length], bias),
  ]);

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

const operation = (opType, inputs, outputs, attributes) => ({
  ...{ name: `${opType}_${outputs[0]}`, opType, inputs, outputs, attributes },
});

const gemm = (input, layer, output) =>
  operation("Gemm", [input, `${layer}.weight`, `${layer}.bias`], [output], { transB: { int: 1 } });

/** A model of opset 17 from image to scores. */
function onnxParts(layers, width, nodes) {
  const graph = [
    ...nodes.flatMap((node) => bytesField(1, nodeMessage(node))),
    ...bytesField(2, "digits"),
    ...tensorsOf(layers).flatMap((each) => bytesField(5, tensorMessage(each))),
    ...valueInfo(11, "image", width),
    ...valueInfo(12, "scores", 10),
  ];
  return [
    ...varintField(1, 8),
    ...bytesField(2, "zeropoint"),
    ...bytesField(7, graph),
    ...bytesField(8, [...bytesField(1, ""), ...varintField(2, 17)]),
  ];
}

/** The network of notebook 6: Gemm, Relu, Gemm. */
const shallowNodes = () => [
  gemm("image", "fc1", "hidden"),
  operation("Relu", ["hidden"], ["active"]),
  gemm("active", "fc2", "scores"),
];

/** Each layer joins the rows of the state, multiplies them with its gains, and adds to one of them. */
function deepNodes(layers) {
  const axis = { axis: { int: 1 } };
  const rows = Array.from({ length: SIDE }, (_, row) => `row${row}`);
  const nodes = [operation("Split", ["image"], [...rows], axis)];
  layers.forEach(({ name, gain }, i) => {
    nodes.push(operation("Concat", [...rows], [`state${i}`], axis));
    const input = gain ? `input${i}` : `state${i}`;
    if (gain) nodes.push(operation("Mul", [`state${i}`, gainName(name)], [input], {}));
    if (i === LAYERS) {
      nodes.push(gemm(input, name, "scores"));
      return;
    }
    const [row, added] = [rowOf(i), `row${rowOf(i)}_${i}`];
    nodes.push(
      gemm(input, name, `sum${i}`),
      operation("Relu", [`sum${i}`], [`active${i}`]),
      operation("Add", [rows[row], `active${i}`], [added]),
    );
    rows[row] = added;
  });
  return nodes;
}

/** Names as llama.cpp has them, because the mixes of GGUF go by names. */
export const deepName = (layer) => (layer < LAYERS ? `blk.${layer}.ffn_down` : "output");

/** The gains of the inputs of a layer. */
export const gainName = (name) => name.replace("ffn_down", "ffn_norm.weight");

const deepMetadata = [
  ["general.architecture", ggufEntry("string", "digits")],
  ["general.name", ggufEntry("string", "Network of 25 layers that reads digits")],
  ["digits.block_count", ggufEntry("uint32", LAYERS)],
];

/** Held-out digits as inputs of the deep network, and their labels. */
function shownDigits({ codes, labels }) {
  const shown = Array.from(labels.keys()).filter((i) => i % SHOWN_EVERY === 0);
  const images = new Uint16Array(shown.length * STATE);
  shown.forEach((i, row) => {
    const [state] = statesOf(codes.subarray(i * PIXELS, (i + 1) * PIXELS));
    images.set(Array.from(state, float16Bits), row * STATE);
  });
  return [
    tensor("image", "float16", [shown.length, STATE], images),
    tensor(
      "labels",
      "uint8",
      [shown.length],
      Uint8Array.from(shown, (i) => labels[i]),
    ),
  ];
}

/** The network's layers with their names. */
export const named = (layers) => layers.map((layer, i) => ({ name: deepName(i), ...layer }));

/** The network as GGUF. @param layers  of named */
export const ggufOf = (layers) => collect(writeGGUF(layoutGGUF(tensorsOf(layers), deepMetadata)));

/** Inputs of the layers for a few digits, by the names of the weights. @param layers  of named */
export async function layerInputs(layers, { codes }) {
  const inputs = inputsOf(layers, statesOf(codes.subarray(0, RECORDED * PIXELS)));
  const arrays = layers.map(({ name }, i) =>
    tensor(
      `${name}.weight`,
      "float16",
      [RECORDED, STATE],
      Uint16Array.from(inputs[i], float16Bits),
    ),
  );
  return await collect(writeNpz(arrays, { compressed: true }));
}

/** Writes the samples, unless they are newer than the network and the scripts. */
export async function makeSamples() {
  const { layers } = await loadModel();
  const scripts = ["samples.mjs", "train-deep.mjs"].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  const time = Math.max(...[modelFile, ...scripts].map((file) => statSync(file).mtimeMs));
  const isFresh = (name) => {
    const path = join(folder, name);
    return existsSync(path) && statSync(path).mtimeMs > time;
  };
  if (NAMES.every(isFresh)) return;
  const shallow = layers.map(({ weight, bias }, i) => ({
    ...{ name: `fc${i + 1}`, weight: weight.data, bias: bias.data },
  }));
  await step("Training a network of 25 layers", async () => {
    const { training, heldOut, calibration } = splitDigits(readDigits());
    const deep = named(trainDeep(training));
    const contents = [
      writeSafetensors(layoutSafetensors(tensorsOf(shallow), new Map([["format", "pt"]]))),
      bytesOfParts(onnxParts(shallow, PIXELS, shallowNodes())),
      [await ggufOf(deep)],
      bytesOfParts(onnxParts(deep, STATE, deepNodes(deep))),
      writeNpz(shownDigits(heldOut), { compressed: true }),
      [await layerInputs(deep, calibration)],
    ];
    for (const [i, name] of NAMES.entries()) {
      writeFileSync(join(folder, name), await collect(contents[i]));
    }
  });
}
