// Arrays whose memory was transferred or shrunk away, as arguments of functions of model files.

import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  analyze,
  frontier,
  load,
  openModel,
  plan,
  quantizeModel,
  recordInputs,
  recordOnnxInputs,
  save,
} from "zeropoint/models";
import { Linear, Sequential } from "zeropoint/torch";
import { rejects } from "../support/asserts.mjs";
import { LAYERS, modelOf } from "../support/onnx/layers.mjs";
import { normals } from "../support/onnx/models.mjs";

await init();

const bytes = new Uint8Array(
  await new Response(save({ w: tensor(new Float32Array(1024).fill(1), [32, 32]) })).arrayBuffer(),
);
const onnx = await modelOf(LAYERS.MatMul, normals(96 * 20));
const network = new Sequential({ fc: new Linear(tensor([[1, 2]])) });
const transfer = (buffer) => structuredClone(buffer, { transfer: [buffer] });

/** Arrays without memory. */
const lost = {
  transferred: (Type) => {
    const array = new Type(8);
    transfer(array.buffer);
    return array;
  },
  "out of bounds": (Type) => {
    const size = 8 * Type.BYTES_PER_ELEMENT;
    const array = new Type(new ArrayBuffer(size, { maxByteLength: size }), 0, 8);
    array.buffer.resize(Type.BYTES_PER_ELEMENT);
    return array;
  },
};

async function analyzeAll(model, options) {
  for await (const row of analyze(model, options)) void row;
}

/** Functions by the name of their argument. */
const calls = {
  "rows of plan": (make) => plan(make(Float32Array), { ratio: 0.5 }),
  "rows of frontier": (make) => frontier(make(Float32Array)),
  "batches of recordInputs": (make) => recordInputs(network, make(Float32Array)),
  "batches of recordOnnxInputs": async (make) =>
    recordOnnxInputs(await openModel(onnx), () => {}, make(Float32Array)),
  "options.known of analyze": async (make) =>
    analyzeAll(await openModel(bytes), { known: make(Float32Array) }),
  "source of activations of analyze": async (make) =>
    analyzeAll(await openModel(bytes), { activations: { w: make(Uint8Array) } }),
  "source of openModel": (make) => openModel(make(Uint8Array)),
  "source of load": (make) => load(make(Uint8Array)),
  "source of options.imatrix of quantizeModel": async (make) =>
    quantizeModel(await openModel(bytes), "q4_0", { format: "gguf", imatrix: make(Uint8Array) }),
};

describe("Functions of model files refuse arrays without memory", () => {
  for (const [how, make] of Object.entries(lost)) {
    for (const [name, call] of Object.entries(calls)) {
      it(`${how} as ${name}`, async () => {
        const [argument] = name.split(" ");
        const message = new RegExp(`: the memory of ${argument}, of type .* is detached`);
        await rejects((async () => call(make))(), TypeError, "ZP_DETACHED", message);
      });
    }
  }

  it("transferred as an ArrayBuffer that is opened", async () => {
    const { buffer } = new Uint8Array(bytes);
    transfer(buffer);
    const message =
      "openModel: the memory of source, of type ArrayBuffer, is detached (transferred or shrunk away)";
    await rejects(openModel(buffer), TypeError, "ZP_DETACHED", message);
  });

  it("transferred after the model was opened", async () => {
    const own = new Uint8Array(bytes);
    const model = await openModel(own);
    transfer(own.buffer);
    const message =
      "openModel: the memory of source, of type Uint8Array, is detached (transferred or shrunk away)";
    await rejects(model.read("w"), TypeError, "ZP_DETACHED", message);
    await rejects(analyzeAll(model), TypeError, "ZP_DETACHED", message);
  });
});
