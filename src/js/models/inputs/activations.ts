// Inputs of weights in the forms that users have -> their second moments.

import { wrongKind } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { hasField } from "../../base/fields.js";
import { arrayName } from "../../base/typed-arrays.js";
import { readValues } from "../../formats/values.js";
import type { TensorInput } from "../../tensor/check.js";
import { tensor } from "../../tensor/tensor.js";
import { loadModule } from "../load-module.js";
import { type FileSource, openSource } from "../open/sources.js";
import { checkDecodable } from "../open/values.js";
import { InputMoments } from "./moments.js";

/**
 * Inputs of a weight: a .npy file (its path, address, Blob or bytes), a tensor or nested numbers of shape
 * [..., inputs], batches of these, or what `recordInputs` and `recordOnnxInputs` give.
 */
export type Activations =
  | InputMoments
  | FileSource
  | TensorInput
  | Iterable<TensorInput>
  | AsyncIterable<TensorInput>;

/**
 * The second moments of inputs.
 * @param length  inputs of an output
 * @throws {TypeError | RangeError} as `InputMoments.add`; `ZP_INVALID_FILE`; `ZP_INVALID_OPTION` for no sample
 */
export async function momentsOf(
  where: string,
  argument: string,
  given: unknown,
  length: number,
): Promise<InputMoments> {
  const moments = await read(where, argument, given, length);
  if (moments.length !== length) {
    const problem = `${argument} must have ${length} inputs, got ${moments.length}`;
    throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
  }
  if (moments.samples > 0) return moments;
  throw rangeError("ZP_INVALID_OPTION", where, `${argument} must have a sample, got none`);
}

async function read(
  where: string,
  argument: string,
  given: unknown,
  length: number,
): Promise<InputMoments> {
  if (given instanceof InputMoments) return given;
  if (typeof given !== "string" && (typeof given !== "object" || given === null)) {
    throw wrongKind("ZP_INVALID_OPTION", where, argument, FORMS, given);
  }
  const moments = new InputMoments(length);
  const value = given as object;
  if (isFile(value)) return await readFile(where, value as FileSource, moments);
  const isTensor = arrayName(value) !== undefined || hasField(value, "data");
  if (isTensor) return moments.add(rowsOf(value as TensorInput, length));
  if (Array.isArray(value) && (typeof value[0] === "number" || Array.isArray(value[0]))) {
    return moments.add(tensor(value as number[]));
  }
  if (Symbol.asyncIterator in value || Symbol.iterator in value) {
    for await (const batch of value as AsyncIterable<TensorInput>) {
      moments.add(rowsOf(batch, length));
    }
    return moments;
  }
  throw wrongKind("ZP_INVALID_OPTION", where, argument, FORMS, given);
}

const FORMS = "a .npy file, a tensor, or batches";

/** A bare array of one axis as samples. */
function rowsOf(batch: TensorInput, length: number): TensorInput {
  if (!(batch instanceof Float32Array) || batch.length % length !== 0) return batch;
  return { data: batch, shape: [batch.length / length, length] };
}

const isFile = (value: string | object): boolean =>
  typeof value === "string" ||
  value instanceof URL ||
  value instanceof ArrayBuffer ||
  arrayName(value) === "Uint8Array" ||
  /^\[object (Blob|File|Response|ReadableStream)\]$/.test(Object.prototype.toString.call(value)) ||
  (hasField(value, "read") && hasField(value, "size"));

/** Values of a file in tiles of whole samples. */
async function readFile(
  where: string,
  given: FileSource,
  moments: InputMoments,
): Promise<InputMoments> {
  const source = await openSource(where, given);
  try {
    const { readNpy } = await loadModule(where, import("../../formats/npy.js"));
    const { tensors } = await readNpy(source, where);
    const { length } = moments;
    for (const file of tensors.values()) {
      if (file.shape[file.shape.length - 1] !== length) {
        const problem = `the last axis of the file must have length ${length}, got shape [${file.shape.join(", ")}]`;
        throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
      }
      checkDecodable(where, file);
      for await (const values of readValues(file, 256 * length)) {
        moments.add({ data: values, shape: [values.length / length, length] });
      }
    }
    return moments;
  } finally {
    await source.close();
  }
}
