// An importance matrix of llama-imatrix: mean squares of the inputs of weights, by which GGUF files are rounded.

import { type Library, library } from "../../shell/library.js";
import { activations, importance, type ModelHandle, ofSquares, opened, partOf } from "./opened.js";

/** Inputs up to which moments hold the products of all pairs: MOST_FULL of src/js/models/inputs/moments.ts. */
const MOST_FULL = 512;

/** Whether an opened file is an importance matrix. */
export const isImportance = async (model: ModelHandle) =>
  (await model.format) === "gguf" && (await model.metadata).has("imatrix.datasets");

/** Whether files are an importance matrix and no model. */
export async function areImportance(files: readonly File[]) {
  if (files.length !== 1 || !/\.gguf$/i.test(files[0].name)) return false;
  const zp = await library();
  let model: ModelHandle | undefined;
  try {
    model = await zp.openModel(files[0]);
    return await isImportance(model);
  } catch {
    // Opening it as a model says what is wrong with it.
    return false;
  } finally {
    model?.dispose();
  }
}

/**
 * Takes an importance matrix for GGUF files of the model, and as inputs of the weights that it has.
 * @param matrix  closed with the model, or when there is another one
 * @returns the weights
 */
export async function addImportance(matrix: ModelHandle): Promise<string[]> {
  const zp = await library();
  const model = opened();
  if ((await model.format) !== "gguf") {
    throw new Error("an importance matrix is for GGUF files, whose names of weights it has");
  }
  // Lays the file out only, and throws if the matrix does not fit.
  await zp.quantizeModel(model, "Q8_0", { imatrix: matrix });
  const [tensors, given] = await Promise.all([model.tensors, matrix.tensors]);
  const weights: string[] = [];
  for (const { name, shape } of tensors.values()) {
    const [sums, counts] = [`${name}.in_sum2`, `${name}.counts`];
    // Experts have inputs of their own each.
    if (shape.length !== 2 || !given.has(sums) || !given.has(counts)) continue;
    const [{ data: squares }, { data: samples }] = await Promise.all(
      [sums, counts].map((each) => matrix.read(each)),
    );
    if (squares.length !== shape[1] || !(samples[0] > 0)) continue;
    activations.get(name)?.dispose();
    const { zp: own } = await partOf(name);
    activations.set(
      name,
      await momentsOf(
        own,
        squares.map((sum) => sum / samples[0]),
      ),
    );
    ofSquares.add(name);
    weights.push(name);
  }
  if (weights.length === 0) throw new Error("it has none of the model's weights");
  importance.get("matrix")?.dispose();
  importance.set("matrix", matrix);
  return weights;
}

/** Moments of uncorrelated inputs with these mean squares. */
async function momentsOf(zp: Library, means: Float32Array) {
  const { length } = means;
  const moments = await zp.inputMoments(length);
  // Of products of different inputs, which are to be 0, as many samples as inputs: each has one of them.
  const samples = length <= MOST_FULL ? length : 1;
  const data = new Float32Array(samples * length);
  for (const [i, mean] of means.entries()) {
    data[(samples === 1 ? 0 : i * length) + i] = Math.sqrt(mean * samples);
  }
  await moments.add({ data, shape: [samples, length] });
  return moments;
}
