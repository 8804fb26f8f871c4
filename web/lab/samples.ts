// The samples of the lab, written by scripts/cost/samples.mjs.

import onnx from "../../build/cost/digits.onnx?url";
import safetensors from "../../build/cost/digits.safetensors?url";
import deepGguf from "../../build/cost/digits-deep.gguf?url";
import deepInputs from "../../build/cost/digits-deep.npz?url";
import deepOnnx from "../../build/cost/digits-deep.onnx?url";
import deepLayers from "../../build/cost/digits-deep-layers.npz?url";

const ADDRESSES: Record<string, string> = {
  "digits.safetensors": safetensors,
  "digits.onnx": onnx,
  "digits-deep.gguf": deepGguf,
  "digits-deep.onnx": deepOnnx,
  "digits-deep.npz": deepInputs,
  "digits-deep-layers.npz": deepLayers,
};

/** Inputs of layers and of models by the model that they are for. */
const INPUTS: Record<string, string[]> = {
  "digits-deep.gguf": ["digits-deep-layers.npz"],
  "digits-deep.onnx": ["digits-deep-layers.npz", "digits-deep.npz"],
};

export const isSample = (name: string) => Object.hasOwn(ADDRESSES, name);

/** The files of inputs of a sample. */
export const loadInputs = async (name: string) =>
  await Promise.all(Object.hasOwn(INPUTS, name) ? INPUTS[name].map(loadSample) : []);

export async function loadSample(name: string): Promise<File> {
  if (!isSample(name)) throw new Error(`there is no sample ${name}`);
  const response = await fetch(ADDRESSES[name]);
  if (!response.ok) throw new Error(`the sample could not be loaded: ${response.status}`);
  return new File([await response.blob()], name);
}
