// Inputs by drop: arrays of .npy and .npz files, named as weights of the model, or as inputs of an ONNX model.

import { analyze, InputMoments, openModel } from "zeropoint/models";
import { escapeGlob } from "../names.js";
import { activations, feeds, opened } from "./opened.js";

/** Arrays of the dtypes that ONNX Runtime takes as they are; float32 is read from any float. */
const ARRAYS = {
  float16: Uint16Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
};

/**
 * @typedef {object} Taken  an array of a file, and what it is for
 * @property {string} file  that it is in
 * @property {string} name  of the array
 * @property {readonly number[]} [shape]
 * @property {string} [weight]  whose inputs these are
 * @property {string} [input]  of the model
 * @property {string} [problem]  why it is not used
 */

/**
 * Takes files of inputs.
 * @param {{ files: File[] }} argument
 * @returns {Promise<Taken[]>}
 */
export async function addInputs({ files }) {
  /** @type {Taken[]} */
  const taken = [];
  for (const file of files) {
    try {
      taken.push(...(await addFile(file)));
    } catch (error) {
      taken.push({
        file: file.name,
        name: file.name,
        problem: /** @type {Error} */ (error).message,
      });
    }
  }
  return taken;
}

/** Forgets all inputs. @returns the weights that had some */
export function removeInputs() {
  const weights = [...activations.keys()];
  activations.clear();
  feeds.clear();
  return weights;
}

/** @param {File} file */
async function addFile(file) {
  const arrays = await openModel(file);
  try {
    if (arrays.format !== "npy" && arrays.format !== "npz") {
      throw new Error(`inputs are .npy or .npz files, not ${arrays.format}`);
    }
    const taken = [];
    for (const { name: own, shape } of arrays.tensors.values()) {
      // The array of an npy file is named as the file.
      const name = arrays.format === "npy" ? file.name.replace(/\.npy$/i, "") : own;
      const use = await useOf(arrays, own, name).catch((error) => ({ problem: error.message }));
      taken.push({ file: file.name, name, shape, ...use });
    }
    return taken;
  } finally {
    await arrays.close();
  }
}

/**
 * Takes an array for the weight or the input that it names.
 * @param {import("zeropoint/models").Model} arrays
 * @param {string} own  name in the file
 * @param {string} name
 */
async function useOf(arrays, own, name) {
  const { tensors, inputs } = opened();
  const input = inputs.find((each) => each.name === name);
  if (input) {
    feeds.set(name, await feedOf(arrays, own, input.dtype));
    return { input: name };
  }
  const weight = [name, `${name}.weight`].find((each) => tensors.has(each));
  if (!weight) throw new Error("no layer and no input of the model has this name");
  const { shape } = /** @type {any} */ (arrays.tensors.get(own));
  const given = new InputMoments(shape.at(-1)).add(await arrays.read(own));
  await tryInputs(weight, given);
  activations.set(weight, given);
  return { weight };
}

/** Refuses inputs that do not fit a weight. @param {string} name @param {InputMoments} given */
async function tryInputs(name, given) {
  const options = { schemes: ["float16"], include: [escapeGlob(name)], sample: 1 };
  for await (const row of analyze(opened(), { ...options, activations: { [name]: given } })) {
    if (row.name !== name || row.scheme !== "keep") continue;
    throw new Error(`${name} is kept as it is: ${row.reason}`);
  }
}

/**
 * An input of the model, in the dtype that it declares.
 * @param {import("zeropoint/models").Model} arrays
 * @param {string} name
 * @param {string | undefined} declared
 */
async function feedOf(arrays, name, declared) {
  const { dtype, shape } = /** @type {any} */ (arrays.tensors.get(name));
  if (declared === "float32" && /^(b?float|u?int)/.test(dtype)) {
    const { data } = await arrays.read(name);
    return { dtype: declared, shape, data };
  }
  const Values = ARRAYS[/** @type {keyof typeof ARRAYS} */ (dtype)];
  if (dtype !== declared || !Values) {
    throw new Error(`the model takes ${declared ?? "another type"}, and this array has ${dtype}`);
  }
  const { buffer } = await arrays.readBytes(name);
  return { dtype, shape, data: new Values(/** @type {ArrayBuffer} */ (buffer)) };
}
