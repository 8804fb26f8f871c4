// The samples of the lab, written by scripts/cost/samples.mjs.

import onnx from "../../build/cost/digits.onnx?url";
import safetensors from "../../build/cost/digits.safetensors?url";
import deepGguf from "../../build/cost/digits-deep.gguf?url";
import deepOnnx from "../../build/cost/digits-deep.onnx?url";

/** @type {Record<string, string>} */
const ADDRESSES = {
  "digits.safetensors": safetensors,
  "digits.onnx": onnx,
  "digits-deep.gguf": deepGguf,
  "digits-deep.onnx": deepOnnx,
};

/**
 * @param {string} name
 * @returns {Promise<File>}
 */
export async function loadSample(name) {
  if (!Object.hasOwn(ADDRESSES, name)) throw new Error(`there is no sample ${name}`);
  const response = await fetch(ADDRESSES[name]);
  if (!response.ok) throw new Error(`the sample could not be loaded: ${response.status}`);
  return new File([await response.blob()], name);
}
