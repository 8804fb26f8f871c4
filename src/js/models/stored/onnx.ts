// Quantized weights of ONNX models.

import { findOnnxWeights } from "../../formats/layouts/onnx.js";
import type { OnnxWeight } from "../../formats/layouts/onnx-described.js";
import { dequantizeScaled } from "../../formats/layouts/scaled.js";
import type { OnnxModel } from "../../formats/onnx/graph.js";
import { type FileTensor, renamedTensor } from "../../formats/source.js";
import { quantizedTensorOf, transposed } from "./quantized.js";
import { notExpressible, type StoredWeight, unknownWeight } from "./weight.js";

/** Finds the quantized weights of a model, and constants of codes that are not understood. */
export function findWeightsOfOnnx(model: OnnxModel): StoredWeight[] {
  const { weights, unknown } = findOnnxWeights(model);
  return [
    ...weights.map(storedOf),
    ...Array.from(unknown, ([name, operator]) =>
      unknownWeight(
        renamedTensor(model.tensors.get(name) as FileTensor, name),
        [`its operator ${operator}`],
        [],
      ),
    ),
  ];
}

const storedOf = ({
  name,
  shape,
  dtype,
  parts,
  isTransposed,
  unpack,
}: OnnxWeight): StoredWeight => ({
  ...{ name, shape, dtype, parts },
  async read(load) {
    const q = unpack(await load(parts));
    const values = dequantizeScaled(q);
    return isTransposed ? transposed(values, q.shape) : values;
  },
  async readQuantized(load) {
    const q = unpack(await load(parts));
    const { codes } = q;
    if (codes instanceof Float32Array) throw notExpressible(name, `has codes of ${dtype}`);
    return quantizedTensorOf(name, { ...q, codes }, dtype, Number(/\d+$/.exec(dtype)?.[0]));
  },
});
