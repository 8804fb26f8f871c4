// DynamicQuantizeLinear and MatMulInteger: activations are quantized to uint8 in each run, products are sums of
// integers.

import { orient } from "../../../formats/onnx/weights.js";
import type { NewNode } from "../../../formats/onnx/write.js";
import { isProduct, removeThrough, withBias } from "./blocks.js";
import {
  codeBytes,
  coderOf,
  DATA_TYPE,
  type Form,
  graphOf,
  known,
  made,
  noteOf,
  partNames,
  REARRANGED,
} from "./form.js";

/** The zero point of codes of int8 that are stored as uint8. */
const ZERO = 128;

/**
 * int8 weights, and activations whose scale is chosen anew for each input. The codes are stored as uint8: on x86 without
 * VNNI, ONNX Runtime adds pairs of products of uint8 and int8 in 16 bits, which saturate.
 */
export const dynamicProduct: Form = {
  name: "DynamicQuantizeLinear and MatMulInteger",

  refuse({ rewriter, weight, scheme }) {
    const { opset } = rewriter;
    const { tensor, uses, through } = weight;
    if (opset < 11) return `DynamicQuantizeLinear needs opset 11, the model has ${opset}`;
    if (scheme.dtype !== "int8" || scheme.granularity === "group" || scheme.isAffine) {
      return "MatMulInteger takes int8 per tensor or channel";
    }
    if (tensor.dtype !== "float32") return `weights of ${tensor.dtype}`;
    if (through.some(({ opType }) => opType === "Cast")) return "a weight that is cast";
    if (weight.isRearranged) return REARRANGED;
    const other = uses.find((use) => !isProduct(use, tensor.shape.length));
    if (other !== undefined) return `a weight of ${other.node.opType} such as this`;
    const { channelAxis } = weight.orientation;
    const isBoth = uses.some(
      ({ node, input, axes }) => orient(node, input, axes)?.channelAxis !== channelAxis,
    );
    return isBoth ? "a weight used in both directions" : undefined;
  },

  write(context) {
    const { rewriter, weight, scheme } = context;
    const { coder, codes } = coderOf(context);
    const { shape } = weight.tensor;
    const graph = graphOf(context);
    const names = partNames(context);
    const { channelAxis } = weight.orientation;
    let bytes = rewriter.addTensor(graph, {
      ...{ name: names.codes, dtype: "uint8", shape },
      bytes: () => codeBytes(codes(), 8, ZERO),
    });
    const scaleShape = scheme.granularity === "tensor" ? [] : [shape[channelAxis]];
    const zeroPoints = new Uint8Array(coder.slices).fill(ZERO);
    bytes += rewriter.addTensor(graph, known(names.zeroPoint, "uint8", scaleShape, zeroPoints));
    bytes += rewriter.addTensor(
      graph,
      made(names.scale, "float32", scaleShape, () => coder.scales()),
    );
    let matrix = names.codes;
    if (channelAxis === 0) {
      matrix = rewriter.newName(`${names.codes}_transposed`);
      rewriter.addFront(graph, {
        ...{ name: rewriter.newName(`${names.codes}_Transpose`), opType: "Transpose" },
        ...{ inputs: [names.codes], outputs: [matrix], attributes: { perm: { ints: [1, 0] } } },
      });
    }
    for (const { node } of weight.uses) {
      const [x] = node.inputs;
      const [y] = node.outputs;
      // Not shared between layers of one input: ONNX Runtime merges equal nodes by itself.
      const product = (output: string): NewNode[] => {
        const [xq, xs, xz, sums, floats, scale] = [
          ...["input_codes", "input_scale", "input_zero_point"],
          ...["sums", "floats", "scale"],
        ].map((part) => rewriter.newName(`${y}_${part}`));
        const name = (opType: string): string => rewriter.newName(`${y}_${opType}`);
        return [
          {
            ...{ name: name("DynamicQuantizeLinear"), opType: "DynamicQuantizeLinear" },
            ...{ inputs: [x], outputs: [xq, xs, xz] },
          },
          {
            ...{ name: name("MatMulInteger"), opType: "MatMulInteger" },
            ...{ inputs: [xq, matrix, xz, names.zeroPoint], outputs: [sums] },
          },
          {
            ...{ name: name("Cast"), opType: "Cast", inputs: [sums], outputs: [floats] },
            attributes: { to: { int: DATA_TYPE.float32 } },
          },
          {
            ...{ name: name("Mul"), opType: "Mul" },
            ...{ inputs: [xs, names.scale], outputs: [scale] },
          },
          {
            ...{ name: name("Mul"), opType: "Mul" },
            ...{ inputs: [floats, scale], outputs: [output] },
          },
        ];
      };
      rewriter.replaceNode(node, withBias(context, node, product));
    }
    removeThrough(context);
    rewriter.removeWeight(weight);
    const note = noteOf(context, names, coder);
    return { bytes, note: { ...note, dtype: "uint8", zeroPoint: names.zeroPoint } };
  },
};
