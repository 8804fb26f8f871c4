// DequantizeLinear: codes and scales as initializers, dequantized to a value of the weight's own name, so that nothing
// that uses the weight changes.

import type { FileDType } from "../../../formats/dtypes.js";
import { isStandard } from "../../../formats/onnx/scopes.js";
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
  REARRANGED,
  zeroBytes,
} from "./form.js";

/** The dtype of the codes in the file: 2 and 3 bits as 4. */
function storageOf({ scheme }: FormContext): FileDType {
  const prefix = scheme.dtype.startsWith("u") ? "uint" : "int";
  const bits = bitsOf(scheme);
  return `${prefix}${bits > 8 ? 16 : bits <= 4 ? 4 : 8}` as FileDType;
}

/** Codes, scales and zero points for DequantizeLinear. */
export const dequantizeLinear: Form = {
  name: "DequantizeLinear",

  refuse({ rewriter, weight, scheme }) {
    const { opset } = rewriter;
    // ONNX Runtime moves DequantizeLinear behind operators that rearrange values, with scales of the axes before them.
    if (weight.isRearranged && scheme.granularity !== "tensor") return REARRANGED;
    // ONNX Runtime 1.23 moves scales per channel behind a Transpose by its attribute perm, without asking for it, and
    // joins Transpose and MatMul to one operator, which it has not for float64.
    const transposes = weight.through.filter((node) => isStandard(node, "Transpose"));
    const isUnnamed = transposes.some(({ attributes }) => !attributes.has("perm"));
    if (isUnnamed && scheme.granularity === "channel") return "a Transpose without perm";
    if (transposes.length > 0 && weight.tensor.dtype === "float64") return "a Transpose of float64";
    const needs = (version: number, what: string): string | undefined =>
      opset < version ? `${what} needs opset ${version}, the model has ${opset}` : undefined;
    if (bitsOf(scheme) > 16) return "codes of more than 16 bits";
    if (bitsOf(scheme) > 8) return needs(21, "DequantizeLinear of 16 bits");
    if (scheme.granularity === "group") return needs(21, "DequantizeLinear per group");
    // Other forms store two codes in a byte.
    if (bitsOf(scheme) <= 4 && opset < 21) return needs(21, "DequantizeLinear of 4 bits");
    if (scheme.granularity === "channel") return needs(13, "DequantizeLinear per channel");
    return needs(10, "DequantizeLinear");
  },

  write(context) {
    const { rewriter, weight, scheme } = context;
    const { coder, codes } = coderOf(context);
    const { tensor, orientation } = weight;
    const graph = graphOf(context);
    const names = partNames(context);
    const dtype = storageOf(context);
    const [first, last] = orientation.inputAxes;
    const isGroup = scheme.granularity === "group";
    // Groups run along one axis: those of a convolution along all of its inputs.
    const isFlat = isGroup && first !== last;
    const shape = isFlat ? [...coder.view].slice(0, coder.view[2] === 1 ? 2 : 3) : tensor.shape;
    const axis = isFlat ? 1 : isGroup ? first : orientation.channelAxis;
    const scaleShape =
      scheme.granularity === "tensor"
        ? []
        : isGroup
          ? shape.map((length, i) => (i === axis ? coder.groups : length))
          : [shape[axis]];
    const bits = dtype.endsWith("4") ? 4 : 8;
    let bytes = rewriter.addTensor(graph, {
      ...{ name: names.codes, dtype, shape },
      bytes: () => codeBytes(codes(), bits),
    });
    const inputs = [names.codes, names.scale];
    bytes += rewriter.addTensor(
      graph,
      made(names.scale, "float32", scaleShape, () => coder.scales()),
    );
    // ONNX Runtime 1.23 quantizes values again behind a Transpose or Reshape: to uint8, if there is no zero point.
    const hasZeros = scheme.isAffine || isFlat || weight.through.length > 0;
    if (hasZeros) {
      inputs.push(names.zeroPoint);
      const zeros = async () =>
        scheme.isAffine ? await coder.zeroPoints() : new Int32Array(coder.slices);
      const make = async () => zeroBytes(await zeros(), dtype);
      bytes += rewriter.addTensor(graph, made(names.zeroPoint, dtype, scaleShape, make));
    }
    const steps: Step[] = [
      {
        opType: "DequantizeLinear",
        inputs,
        attributes: {
          ...(scheme.granularity === "tensor" ? {} : { axis: { int: axis } }),
          ...(isGroup ? { block_size: { int: coder.groupSize } } : {}),
        },
      },
    ];
    if (isFlat) steps.push(reshape(context, tensor.shape));
    steps.push(...castTo(tensor.dtype));
    addSteps(context, steps);
    rewriter.removeWeight(weight);
    const note = noteOf(context, names, coder);
    return { bytes, note: hasZeros ? { ...note, zeroPoint: names.zeroPoint } : note };
  },
};

/** A node whose first input is the output of the step before. */
export interface Step {
  readonly opType: string;
  /** All inputs of the first step; those after the first one of the others. */
  readonly inputs: readonly string[];
  readonly attributes?: NonNullable<
    Parameters<FormContext["rewriter"]["addFront"]>[1]["attributes"]
  >;
}

/** A step to the weight's shape. */
export function reshape(context: FormContext, shape: readonly number[]): Step {
  const { rewriter, weight } = context;
  const name = rewriter.newName(`${weight.value.name}_shape`);
  const values = BigInt64Array.from(shape, BigInt);
  rewriter.addTensor(graphOf(context), known(name, "int64", [shape.length], values));
  return { opType: "Reshape", inputs: [name] };
}

/** A step from float32 to the weight's dtype, if that is another one. */
export const castTo = (dtype: FileDType): Step[] =>
  dtype === "float32"
    ? []
    : [{ opType: "Cast", inputs: [], attributes: { to: { int: DATA_TYPE[dtype] } } }];

/** Adds steps before all other nodes; the last one gives the weight. */
export function addSteps(context: FormContext, steps: readonly Step[]): void {
  const { rewriter, weight } = context;
  const { name } = weight.value;
  const result = rewriter.valueName(weight);
  let from: string[] = [];
  for (const [i, { inputs, ...step }] of steps.entries()) {
    const output = i === steps.length - 1 ? result : rewriter.newName(`${name}_step`);
    const named = { name: rewriter.newName(`${name}_${step.opType}`), ...step };
    rewriter.addFront(graphOf(context), {
      ...named,
      inputs: [...from, ...inputs],
      outputs: [output],
    });
    from = [output];
  }
}
