// Look-ups of codes: Gather takes codes and scales of rows, and only these rows are dequantized.

import { isStandard } from "../../../formats/onnx/scopes.js";
import { intOf } from "../../../formats/onnx/weights.js";
import type { NewNode } from "../../../formats/onnx/write.js";
import {
  bitsOf,
  codeBytes,
  coderOf,
  DATA_TYPE,
  type Form,
  graphOf,
  made,
  noteOf,
  partNames,
} from "./form.js";

/** Embeddings of 8 bits with a scale for the table, or for each row. */
export const lookUpCodes: Form = {
  name: "Gather of codes",

  refuse({ rewriter, weight, scheme }) {
    const isRows = ({ node, axes }: (typeof weight.uses)[number]): boolean =>
      isStandard(node, "Gather") && intOf(node, "axis", 0) === 0 && axes[0] === 0;
    if (!weight.uses.every(isRows) || weight.through.length > 0) return "";
    if (bitsOf(scheme) !== 8 || scheme.granularity === "group") return "only 8 bits, not in groups";
    return rewriter.opset < 7 ? "Mul of shapes needs opset 7" : undefined;
  },

  write(context) {
    const { rewriter, weight, scheme } = context;
    const { coder, codes } = coderOf(context);
    const { shape, dtype } = weight.tensor;
    const graph = graphOf(context);
    const names = partNames(context);
    const isChannel = scheme.granularity === "channel";
    const own = isChannel ? shape.map((length, axis) => (axis === 0 ? length : 1)) : [];
    let bytes = rewriter.addTensor(graph, {
      ...{ name: names.codes, dtype: scheme.dtype as "int8" | "uint8", shape },
      bytes: () => codeBytes(codes(), 8),
    });
    bytes += rewriter.addTensor(
      graph,
      made(names.scale, "float32", own, () => coder.scales()),
    );
    if (scheme.isAffine) {
      const make = async () => Uint8Array.from(await coder.zeroPoints());
      const dtype = scheme.dtype as "int8" | "uint8";
      bytes += rewriter.addTensor(graph, made(names.zeroPoint, dtype, own, make));
    }
    for (const { node } of weight.uses) {
      const [output] = node.outputs;
      const nodes: NewNode[] = [];
      const add = (opType: string, inputs: readonly string[], attributes = {}): string => {
        const made = rewriter.newName(`${output}_${opType.toLowerCase()}`);
        const name = rewriter.newName(`${output}_${opType}`);
        nodes.push({ name, opType, inputs, outputs: [made], attributes });
        return made;
      };
      const rowsOf = (from: string): string =>
        isChannel || from === names.codes ? add("Gather", [from, node.inputs[1]]) : from;
      const float = (from: string): string =>
        add("Cast", [rowsOf(from)], { to: { int: DATA_TYPE.float32 } });
      let values = float(names.codes);
      if (scheme.isAffine) values = add("Sub", [values, float(names.zeroPoint)]);
      add("Mul", [values, rowsOf(names.scale)]);
      if (dtype !== "float32") {
        add("Cast", [nodes.at(-1)?.outputs[0] as string], { to: { int: DATA_TYPE[dtype] } });
      }
      const last = nodes.pop() as NewNode;
      rewriter.replaceNode(node, [...nodes, { ...last, outputs: [output] }]);
    }
    rewriter.removeWeight(weight);
    return { bytes, note: noteOf(context, names, coder) };
  },
};
