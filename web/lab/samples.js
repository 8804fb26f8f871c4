// The samples of the lab: the network of notebook 6 in three formats, written by scripts/cost/samples.mjs.

import gguf from "../../build/cost/digits.gguf?url";
import onnx from "../../build/cost/digits.onnx?url";
import safetensors from "../../build/cost/digits.safetensors?url";

const ADDRESSES = {
  "digits.safetensors": safetensors,
  "digits.onnx": onnx,
  "digits.gguf": gguf,
};

/**
 * @param {string} name
 * @returns {Promise<File>}
 */
export async function loadSample(name) {
  if (!Object.hasOwn(ADDRESSES, name)) throw new Error(`there is no sample ${name}`);
  const address = ADDRESSES[/** @type {keyof typeof ADDRESSES} */ (name)];
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the sample could not be loaded: ${response.status}`);
  return new File([await response.blob()], name);
}
