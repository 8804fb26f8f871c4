// The samples of the lab, written by scripts/cost/samples.mjs.

import onnx from "../../build/cost/digits.onnx?url";
import safetensors from "../../build/cost/digits.safetensors?url";
import deepGguf from "../../build/cost/digits-deep.gguf?url";
import deepInputs from "../../build/cost/digits-deep.npz?url";
import deepOnnx from "../../build/cost/digits-deep.onnx?url";

/** @type {Record<string, string>} */
const ADDRESSES = {
  "digits.safetensors": safetensors,
  "digits.onnx": onnx,
  "digits-deep.gguf": deepGguf,
  "digits-deep.onnx": deepOnnx,
  "digits-deep.npz": deepInputs,
};

/** Inputs by the model that they are for. @type {Record<string, string>} */
const INPUTS = { "digits-deep.onnx": "digits-deep.npz" };

/** @param {string} name */
export const isSample = (name) => Object.hasOwn(ADDRESSES, name);

/** The files of inputs of a sample. @param {string} name */
export const loadInputs = async (name) =>
  Object.hasOwn(INPUTS, name) ? [await loadSample(INPUTS[name])] : [];

/**
 * @param {string} name
 * @returns {Promise<File>}
 */
export async function loadSample(name) {
  if (!isSample(name)) throw new Error(`there is no sample ${name}`);
  const response = await fetch(ADDRESSES[name]);
  if (!response.ok) throw new Error(`the sample could not be loaded: ${response.status}`);
  return new File([await response.blob()], name);
}
