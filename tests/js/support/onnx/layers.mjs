// Small ONNX models with one weight each, and what quantizing leaves of the weight.

import { dequantize, quantize } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { outputBytes } from "../files/checkpoints.mjs";
import { constant, normals, onnxModel } from "./models.mjs";

const x = { name: "x", shape: ["m", 96] };
const y = { name: "y", shape: ["m", 20] };
const input = (shape, seed = 7) => ({
  shape,
  data: normals(
    shape.reduce((a, b) => a * b, 1),
    seed,
  ),
});

const index = (name, value) => constant(name, [1], BigInt64Array.of(BigInt(value)));

/** Models with one weight each: the graph for a weight's name, the weight's shape, and what the graph is given. */
export const LAYERS = {
  MatMul: {
    shape: [96, 20],
    inputs: { x: input([3, 96]) },
    graph: {
      ...{ inputs: [x], outputs: [y] },
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
    },
    axes: { channel: 1, isTransposed: true },
  },
  "MatMul by a transposed weight": {
    shape: [20, 96],
    inputs: { x: input([3, 96]) },
    graph: {
      ...{ inputs: [x], outputs: [y] },
      nodes: [
        {
          ...{ opType: "Transpose", inputs: ["w"], outputs: ["t"] },
          attributes: { perm: { ints: [1, 0] } },
        },
        { opType: "MatMul", inputs: ["x", "t"], outputs: ["y"] },
      ],
    },
    axes: { channel: 0 },
  },
  "Gemm with transB and a bias": {
    shape: [20, 96],
    inputs: { x: input([3, 96]) },
    graph: {
      ...{ inputs: [x], outputs: [y], initializers: [constant("b", [20], normals(20, 5))] },
      nodes: [
        {
          ...{ opType: "Gemm", inputs: ["x", "w", "b"], outputs: ["y"] },
          attributes: { transB: { int: 1 } },
        },
      ],
    },
    axes: { channel: 0 },
  },
  Conv: {
    shape: [8, 24, 3],
    inputs: { x: input([1, 24, 6]) },
    graph: {
      ...{ inputs: [{ name: "x", shape: [1, 24, 6] }], outputs: [{ name: "y", shape: [1, 8, 4] }] },
      nodes: [{ opType: "Conv", inputs: ["x", "w"], outputs: ["y"] }],
    },
    axes: { channel: 0, inputs: 72 },
  },
  // As PyTorch orders the gates of an LSTM.
  "Conv by parts of a weight": {
    shape: [24, 48],
    inputs: { x: input([1, 48, 6]) },
    graph: {
      inputs: [{ name: "x", shape: [1, 48, 6] }],
      outputs: [{ name: "y", shape: [1, 24, 6] }],
      initializers: [index("zero", 0), index("eight", 8), index("end", 24), index("two", 2)],
      nodes: [
        { opType: "Slice", inputs: ["w", "eight", "end", "zero"], outputs: ["high"] },
        { opType: "Slice", inputs: ["w", "zero", "eight", "zero"], outputs: ["low"] },
        {
          ...{ opType: "Concat", inputs: ["high", "low"], outputs: ["turned"] },
          attributes: { axis: { int: 0 } },
        },
        { opType: "Unsqueeze", inputs: ["turned", "two"], outputs: ["kernel"] },
        { opType: "Conv", inputs: ["x", "kernel"], outputs: ["y"] },
      ],
    },
    axes: { channel: 0 },
  },
  Gather: {
    shape: [30, 64],
    inputs: { x: { shape: [4], data: [0, 29, 7, 7] } },
    graph: {
      inputs: [{ name: "x", shape: [4], dtype: "int64" }],
      outputs: [{ name: "y", shape: [4, 64] }],
      nodes: [{ opType: "Gather", inputs: ["w", "x"], outputs: ["y"] }],
    },
    axes: { channel: 0 },
  },
};

/** Weight values as a scheme leaves them, by the library's own quantize. */
export function dequantized(data, shape, { channel, isTransposed, inputs }, scheme) {
  const [, dtype, unit, affine, mse] = /^(u?int\d)-(\w+?)(-affine)?(-mse)?$/.exec(scheme);
  const own = mse ? { range: "mse" } : {};
  const options = { dtype, scheme: affine ? "affine" : "symmetric", ...own };
  if (unit === "tensor") return dequantize(quantize({ data, shape }, options)).data;
  if (unit === "channel") {
    return dequantize(quantize({ data, shape }, { ...options, axis: channel })).data;
  }
  const groups = { ...options, groupSize: Number(unit.slice(1)) };
  if (!isTransposed) {
    const rows = inputs === undefined ? shape : [shape[0], inputs];
    return dequantize(quantize({ data, shape: rows }, groups)).data;
  }
  const [rows, columns] = shape;
  const turned = (from, r, c) => from.map((_, i) => from[(i % r) * c + Math.floor(i / r)]);
  const q = dequantize(
    quantize({ data: turned(data, rows, columns), shape: [columns, rows] }, groups),
  );
  return turned(q.data, columns, rows);
}

/** The bytes of a layer's model with a weight of the given values. */
export const modelOf = ({ graph, shape }, data, options) =>
  onnxModel(
    { ...graph, initializers: [constant("w", shape, data), ...(graph.initializers ?? [])] },
    options,
  );

/** Quantizes a model, and gives the bytes of its files. */
export async function quantized(bytes, scheme, options) {
  const model = await openModel(bytes);
  const { files, report } = await quantizeModel(model, scheme, options);
  // A Response would replace the error of a stream by its own.
  const written = await Promise.all(files.map(outputBytes));
  return { bytes: written[0], report, files: written };
}
