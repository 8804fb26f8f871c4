// Inputs by drop: arrays of .npy and .npz files, named as weights of the model, or as inputs of an ONNX model.

import type { ModelTensor } from "zeropoint/models";
import { library } from "../../shell/library.js";
import { messageOf } from "../../shell/message-of.js";
import { escapeGlob } from "../names.js";
import { addImportance, isImportance } from "./importance.js";
import {
  activations,
  feeds,
  importance,
  labels,
  type ModelHandle,
  ofSquares,
  opened,
  partOf,
} from "./opened.js";

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

/** An array of a file, and what it is for. */
export interface Taken {
  /** That it is in. */
  file: string;
  /** Of the array. */
  name: string;
  shape?: readonly number[];
  /** Whose inputs these are. */
  weight?: string;
  /** Of the model. */
  input?: string;
  /** Whose importance this is, of an importance matrix. */
  weights?: string[];
  /** Whether these are the right classes of the inputs. */
  areLabels?: boolean;
  /** Why it is not used. */
  problem?: string;
}

/** Takes files of inputs. */
export async function addInputs(files: File[]): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (const file of files) {
    try {
      taken.push(...(await addFile(file)));
    } catch (error) {
      taken.push({
        file: file.name,
        name: file.name,
        problem: messageOf(error),
      });
    }
  }
  return taken;
}

/** Forgets all inputs. @returns the weights that had some */
export function removeInputs() {
  const weights = [...activations.keys()];
  for (const moments of activations.values()) moments.dispose();
  importance.get("matrix")?.dispose();
  for (const each of [activations, feeds, labels, importance, ofSquares]) each.clear();
  return weights;
}

async function addFile(file: File): Promise<Taken[]> {
  const zp = await library();
  const arrays = await zp.openModel(file);
  let isKept = false;
  try {
    if (await isImportance(arrays)) {
      const weights = await addImportance(arrays);
      isKept = true;
      return [{ file: file.name, name: file.name, weights }];
    }
    const format = await arrays.format;
    if (format !== "npy" && format !== "npz") {
      throw new Error(`inputs are .npy or .npz files, or importance matrices, not ${format}`);
    }
    const taken = [];
    for (const tensor of (await arrays.tensors).values()) {
      const { name: own, shape } = tensor;
      // The array of an npy file is named as the file.
      const name = format === "npy" ? file.name.replace(/\.npy$/i, "") : own;
      const use = await useOf(arrays, tensor, name).catch((error) => ({ problem: error.message }));
      taken.push({ file: file.name, name, shape, ...use });
    }
    return taken;
  } finally {
    if (!isKept) arrays.dispose();
  }
}

/**
 * Takes an array for the weight or the input that it names.
 * @param tensor  of the file
 */
async function useOf(arrays: ModelHandle, tensor: ModelTensor, name: string) {
  const [tensors, inputs] = await Promise.all([opened().tensors, opened().inputs]);
  const input = inputs.find((each) => each.name === name);
  if (input) {
    feeds.set(name, await feedOf(arrays, tensor, input.dtype));
    return { input: name };
  }
  const weight = [name, `${name}.weight`].find((each) => tensors.has(each));
  if (name === "labels" && !weight && tensor.shape.length === 1) {
    labels.set("labels", [...(await arrays.read(tensor.name)).data]);
    return { areLabels: true };
  }
  if (!weight) throw new Error("no layer and no input of the model has this name");
  const { zp } = await partOf(weight);
  const given = await zp.inputMoments(tensor.shape.at(-1) ?? 1);
  await given.add(await arrays.read(tensor.name));
  await tryInputs(weight, given);
  activations.get(weight)?.dispose();
  activations.set(weight, given);
  ofSquares.delete(weight);
  return { weight };
}

/**
 * Refuses inputs that do not fit a weight.
 * @param given  their moments
 */
async function tryInputs(name: string, given: any) {
  const { zp, model } = await partOf(name);
  const options = { schemes: ["float16"], include: [escapeGlob(name)], sample: 1 };
  for await (const row of zp.analyze(model, { ...options, activations: { [name]: given } })) {
    if (row.name !== name || row.scheme !== "keep") continue;
    throw new Error(`${name} is kept as it is: ${row.reason}`);
  }
}

/** An input of the model, in the dtype that it declares. */
async function feedOf(
  arrays: ModelHandle,
  { name, dtype, shape: dims }: ModelTensor,
  declared: string | undefined,
) {
  if (declared === "float32" && /^(b?float|u?int)/.test(dtype)) {
    const { data } = await arrays.read(name);
    return { type: declared, dims, data };
  }
  const Values = ARRAYS[dtype as keyof typeof ARRAYS];
  if (dtype !== declared || !Values) {
    throw new Error(`the model takes ${declared ?? "another type"}, and this array has ${dtype}`);
  }
  const { buffer } = await arrays.readBytes(name);
  return { type: dtype, dims, data: new Values(buffer as ArrayBuffer) };
}
