// Quantized weights of ONNX models.

import { findOnnxWeights } from "../../formats/layouts/onnx.js";
import { dequantizeScaled } from "../../formats/layouts/scaled.js";
import type { OnnxModel } from "../../formats/onnx/read.js";
import { quantizedTensorOf, transposed } from "./quantized.js";
import type { StoredWeight } from "./weight.js";

/** Finds the quantized weights of a model. */
export const findWeightsOfOnnx = (model: OnnxModel): StoredWeight[] =>
  findOnnxWeights(model).map(({ name, shape, dtype, parts, isTransposed, unpack }) => ({
    name,
    shape,
    dtype,
    parts,
    async read(load) {
      const q = unpack(await load(parts));
      const values = dequantizeScaled(q);
      return isTransposed ? transposed(values, q.shape) : values;
    },
    async readQuantized(load) {
      const q = unpack(await load(parts));
      return quantizedTensorOf(name, q, dtype, Number(/\d+$/.exec(dtype)?.[0]));
    },
  }));
