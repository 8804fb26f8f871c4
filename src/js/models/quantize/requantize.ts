// Weights that are quantized already, as float weights to be quantized again.

import { isReadableBlock } from "../../base/block-types.js";
import type { FileTensor } from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";
import type { Model, ModelTensor } from "../open/model.js";
import { BESIDE_UNKNOWN, UNKNOWN } from "../stored/weight.js";
import { floatsOf, readRuns, runsWithin, valueSourceOf } from "../weights/values.js";
import { encodeFloats, type ScaleDType } from "./halves.js";

/** The scheme of a row of a tensor that is not written. */
export const LEFT_OUT = "left out";

/** Whether a tensor is quantized, and its values can be read. */
export const isReadableQuantized = ({ isQuantized, dtype, layout }: ModelTensor): boolean =>
  layout !== UNKNOWN && layout !== BESIDE_UNKNOWN && (isQuantized || isReadableBlock(dtype));

/** The float dtype of most bytes of a model's tensors that are not quantized. */
export function floatTypeOf(model: Model): ScaleDType {
  const bytes = new Map<ScaleDType, number>([["float32", 0]]);
  for (const { dtype, isQuantized, byteLength } of model.tensors.values()) {
    if (isQuantized) continue;
    if (dtype !== "float32" && dtype !== "float16" && dtype !== "bfloat16") continue;
    bytes.set(dtype, (bytes.get(dtype) ?? 0) + byteLength);
  }
  const [[most]] = [...bytes].sort(([, a], [, b]) => b - a);
  return most;
}

/** A quantized tensor as a float one. */
export const asFloat = (
  { name, shape, byteLength }: ModelTensor,
  dtype: ScaleDType,
): ModelTensor => ({ name, shape, dtype, byteLength, isQuantized: false });

/** The values of a tensor of a model as a tensor of float32. */
export function valuesTensor(where: string, model: Model, tensor: ModelTensor): FileTensor {
  const { name, shape } = tensor;
  const values = valueSourceOf(where, model, name);
  const byteLength = 4 * sizeOf(shape);
  return {
    ...{ name, shape, dtype: "float32", byteLength },
    async *bytes(begin = 0, end = byteLength) {
      // Ranges begin and end at whole values.
      for await (const run of readRuns(values, runsWithin(begin / 4, end / 4))) {
        yield encodeFloats(floatsOf(run.values), "float32");
      }
    },
  };
}
