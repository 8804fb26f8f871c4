// The inputs of weights while a model runs: of a Sequential, and of an ONNX model in its engine.

import { wrongKind } from "../../base/check.js";
import { rangeError, stateError, typeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { checkAttached } from "../../base/typed-arrays.js";
import { Linear } from "../../nn/layers/linear.js";
import { runLayers, Sequential } from "../../nn/sequential.js";
import type { TensorInput } from "../../tensor/check.js";
import { loadModule } from "../load-module.js";
import { documentOf, type Model } from "../open/model.js";
import type { RuntimeSession, RuntimeTensor, SessionFactory } from "../quantize/runtime.js";
import { InputMoments } from "./moments.js";

/** Second moments of inputs by the name of their weight, for `activations` of `analyze`. */
export type RecordedInputs = Record<string, InputMoments>;

/**
 * Runs a float model and records the inputs of its linear layers, by the names that their weights have in a file of
 * `save`: "fc1.weight".
 * @param batches  inputs of the model
 * @throws {TypeError} `ZP_INVALID_MODEL` if it is no Sequential, and errors of layers
 * @example
 * const recorded = await recordInputs(model, [x]);
 * recorded["fc1.weight"].samples; // 2
 */
export async function recordInputs(
  model: Sequential,
  batches: Iterable<TensorInput> | AsyncIterable<TensorInput>,
): Promise<RecordedInputs> {
  const where = "recordInputs";
  if (!(model instanceof Sequential)) {
    throw wrongKind("ZP_INVALID_MODEL", where, "model", "a Sequential", model);
  }
  const recorded = new Map<string, InputMoments>();
  for await (const batch of checkBatches(where, batches) as AsyncIterable<TensorInput>) {
    runLayers(model.layers, batch, ({ name, layer }, input) => {
      if (layer instanceof Linear) {
        const key = `${name}.weight`;
        const moments = recorded.get(key) ?? new InputMoments(layer.weight.shape[1]);
        recorded.set(key, moments.add(input));
      }
      return layer.forward(input);
    });
  }
  return Object.fromEntries(recorded);
}

/** Runs a part of the engine. @throws {Error} `ZP_ENGINE_FAILED` with the engine's error as cause */
async function inEngine<T>(
  where: string,
  what: string,
  work: () => T | PromiseLike<T>,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const reason = String((Object(cause) as { message?: unknown }).message ?? cause).split("\n")[0];
    throw stateError("ZP_ENGINE_FAILED", where, `the engine does not ${what}: ${reason}`, cause);
  }
}

function checkBatches(where: string, batches: unknown): object {
  checkAttached(where, "batches", batches);
  const isIterable =
    typeof batches === "object" &&
    batches !== null &&
    (Symbol.asyncIterator in batches || Symbol.iterator in batches);
  if (isIterable) return batches;
  throw wrongKind("ZP_INVALID_OPTION", where, "batches", "a list of inputs of the model", batches);
}

/**
 * Runs an ONNX model in its engine and records the inputs of its matrix products and convolutions, by the names of their
 * weights. Those of a convolution are the patches under its kernel, of all groups together.
 * @param model  of `openModel`; all of it is in memory while it runs
 * @param createSession  for example `(bytes) => InferenceSession.create(bytes)`
 * @param batches  inputs by name, as the session takes them
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_FUNCTION`
 * @throws {RangeError} `ZP_INVALID_MODEL` if the model is not of ONNX or has no weight whose inputs can be recorded
 * @throws {Error} `ZP_ENGINE_FAILED` if the engine fails
 */
export async function recordOnnxInputs(
  model: Model,
  createSession: SessionFactory,
  batches: Iterable<object> | AsyncIterable<object>,
): Promise<RecordedInputs> {
  const where = "recordOnnxInputs";
  const document = documentOf(where, "model", model);
  if (document.format !== "onnx") {
    throw rangeError("ZP_INVALID_MODEL", where, `the model must be of ONNX, got ${model.format}`);
  }
  if (typeof createSession !== "function") {
    const wanted = "a function that makes a session";
    throw wrongKind("ZP_INVALID_FUNCTION", where, "createSession", wanted, createSession);
  }
  checkBatches(where, batches);
  const { onnx } = document;
  const { watchedOf, withOutputs, patchesOf } = await loadModule(where, import("./onnx.js"));
  const watched = await watchedOf(onnx);
  if (watched.size === 0) {
    throw rangeError(
      "ZP_INVALID_MODEL",
      where,
      "the model has no matrix product or convolution with a weight",
    );
  }
  const bytes = await withOutputs(onnx, new Set([...watched.values()].map(({ value }) => value)));
  const session = (await inEngine(where, "load the model", () => createSession(bytes, {}))) as
    | RuntimeSession
    | undefined;
  if (typeof session?.run !== "function") {
    const problem = `createSession must return a session with run, got ${show(session)}`;
    throw typeError("ZP_INVALID_FUNCTION", where, problem);
  }
  const recorded = new Map<string, InputMoments>();
  try {
    for await (const feeds of batches as AsyncIterable<Record<string, never>>) {
      const outputs = await inEngine(where, "run the model on a batch", () => session.run(feeds));
      for (const [name, own] of watched) {
        const { value, length } = own;
        const convolution = fieldOf(own, "convolution");
        const { dims, data } = outputs[value] as RuntimeTensor;
        const moments = recorded.get(name) ?? new InputMoments(length);
        recorded.set(name, moments);
        if (convolution === undefined) {
          moments.add({ data: data as Float32Array, shape: [...dims] });
          continue;
        }
        for (const patches of patchesOf(where, convolution, dims, data as Float32Array)) {
          moments.add({ data: patches, shape: [patches.length / length, length] });
        }
      }
    }
  } finally {
    await session.release?.();
  }
  return Object.fromEntries(recorded);
}
