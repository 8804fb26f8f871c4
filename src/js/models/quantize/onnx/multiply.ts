// Cast and Mul: dequantization in the oldest operators. ONNX Runtime computes it once, when a session starts, and
// then multiplies with float weights; DequantizeLinear it computes in every run.

import type { NewNode } from "../../../formats/onnx/write.js";
import { sizeOf } from "../../../tensor/shape.js";
import { addSteps, castTo, reshape, type Step } from "./dequantize.js";
import {
  bitsOf,
  codeBytes,
  coderOf,
  DATA_TYPE,
  type Form,
  type FormContext,
  graphOf,
  known,
  made,
  noteOf,
  partNames,
} from "./form.js";

/** Codes that are cast, moved by the zero point and multiplied with the scale. */
export const castAndMultiply: Form = {
  name: "Cast and Mul",

  refuse({ rewriter, scheme }) {
    if (bitsOf(scheme) > 8) return "codes of more than 8 bits";
    if (rewriter.opset < 7) return `Mul of shapes needs opset 7, the model has ${rewriter.opset}`;
    return undefined;
  },

  write(context) {
    const { rewriter, weight, scheme } = context;
    const { coder, codes } = coderOf(context);
    const { tensor, orientation } = weight;
    const graph = graphOf(context);
    const names = partNames(context);
    const [outer, inputs, inner] = coder.view;
    const isSigned = !scheme.dtype.startsWith("u");
    const isPacked = bitsOf(scheme) <= 4 && sizeOf(tensor.shape) % 2 === 0;
    const isGroup = scheme.granularity === "group";
    // Where the last group of inputs is short, scales are repeated for each input.
    const isSpread = isGroup && inputs % coder.groupSize !== 0;
    const groupAxes = isSpread ? [inputs] : [coder.groups, coder.groupSize];
    // The shape in which codes are multiplied, and that of the scales.
    const shape = isGroup ? [outer, ...groupAxes, inner] : tensor.shape;
    const scaleShape = isGroup
      ? [outer, coder.groups, ...(isSpread ? [] : [1]), inner]
      : scheme.granularity === "tensor"
        ? []
        : tensor.shape.map((length, axis) => (axis === orientation.channelAxis ? length : 1));

    // Signed codes of 4 bits are stored from 0 on.
    const offset = isPacked && isSigned ? 8 : 0;
    const byteType = isSigned && !isPacked ? "int8" : "uint8";
    let bytes = rewriter.addTensor(graph, {
      ...{ name: names.codes, dtype: byteType },
      shape: isPacked ? [sizeOf(tensor.shape) / 2, 1] : shape,
      bytes: () => codeBytes(codes(), isPacked ? 4 : 8, offset),
    });
    bytes += rewriter.addTensor(
      graph,
      made(names.scale, "float32", scaleShape, () => coder.scales()),
    );
    const steps: Step[] = isPacked
      ? [unpack(context, names.codes), reshape(context, shape)]
      : [{ ...TO_FLOAT, inputs: [names.codes] }];
    const spread = (from: string): string => {
      if (!isSpread) return from;
      const index = rewriter.newName(`${names.codes}_groups`);
      const groups = Int32Array.from({ length: inputs }, (_, i) => Math.floor(i / coder.groupSize));
      const small = coder.groups <= 256 ? Uint8Array.from(groups) : groups;
      const dtype = coder.groups <= 256 ? "uint8" : "int32";
      bytes += rewriter.addTensor(graph, known(index, dtype, [inputs], small));
      const wide = addNode(context, { opType: "Cast", inputs: [index], attributes: TO_INT32 });
      return addNode(context, {
        ...{ opType: "Gather", inputs: [from, wide] },
        attributes: { axis: { int: 1 } },
      });
    };
    if (scheme.isAffine) {
      const make = async (): Promise<Uint8Array> =>
        Uint8Array.from(await coder.zeroPoints(), (zero) => zero + offset);
      bytes += rewriter.addTensor(graph, made(names.zeroPoint, byteType, scaleShape, make));
      const zero = addNode(context, { ...TO_FLOAT, inputs: [names.zeroPoint] });
      steps.push({ opType: "Sub", inputs: [spread(zero)] });
    } else if (offset !== 0) {
      steps.push({ opType: "Sub", inputs: [addNumber(context, offset)] });
    }
    steps.push({ opType: "Mul", inputs: [spread(names.scale)] });
    if (isGroup) steps.push(reshape(context, tensor.shape));
    steps.push(...castTo(tensor.dtype));
    addSteps(context, steps);
    rewriter.removeWeight(weight);
    return { bytes, note: noteOf(context, names, coder, isPacked) };
  },
};

const TO_FLOAT = { opType: "Cast", attributes: { to: { int: DATA_TYPE.float32 } } };

/** Indices of Gather. */
const TO_INT32 = { to: { int: 6 } };

/** Adds a node before all others. @returns its output */
function addNode(
  { rewriter, weight }: FormContext,
  node: Pick<NewNode, "opType" | "inputs" | "attributes">,
): string {
  const name = rewriter.newName(`${weight.value.name}_${node.opType}`);
  const output = rewriter.newName(`${weight.value.name}_${node.opType.toLowerCase()}`);
  rewriter.addFront(weight.value.graph, { ...node, name, outputs: [output] });
  return output;
}

/** Adds a number. @returns its name */
function addNumber(context: FormContext, value: number): string {
  const name = context.rewriter.newName(`${context.weight.value.name}_number`);
  context.rewriter.addTensor(graphOf(context), known(name, "float32", [], Float32Array.of(value)));
  return name;
}

/** Both codes of each byte: high = floor(byte / 16), low = byte - 16 high, one behind the other. */
function unpack(context: FormContext, codes: string): Step {
  const bytes = addNode(context, { ...TO_FLOAT, inputs: [codes] });
  const share = addNode(context, { opType: "Mul", inputs: [bytes, addNumber(context, 1 / 16)] });
  const high = addNode(context, { opType: "Floor", inputs: [share] });
  const whole = addNode(context, { opType: "Mul", inputs: [high, addNumber(context, 16)] });
  const low = addNode(context, { opType: "Sub", inputs: [bytes, whole] });
  return { opType: "Concat", inputs: [low, high], attributes: { axis: { int: 1 } } };
}
