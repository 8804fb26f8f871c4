// The weights of an ONNX model: constants that matrix products, convolutions, recurrent layers and look-ups use, with
// the axes that these sum over.

import { isDecodable } from "../dtypes.js";
import type { FileTensor } from "../source.js";
import type { OnnxAttribute, OnnxModel, OnnxNode } from "./graph.js";
import { type GraphValue, GraphValues, isStandard } from "./scopes.js";

/** The first and the last axis of the inputs of one output, which are neighbours. */
export type InputAxes = readonly [first: number, last: number];

/** Axes of a weight: which are summed over, and which one numbers the outputs. */
export interface Orientation {
  /** The axis of output channels. */
  readonly channelAxis: number;
  readonly inputAxes: InputAxes;
}

/** An operator that uses a weight. */
export interface WeightUse {
  readonly node: OnnxNode;
  /** Index of the weight among the node's inputs. */
  readonly input: number;
  /** Axis i of what the operator takes is axis `axes[i]` of the weight. */
  readonly axes: readonly number[];
}

/** A weight and everything that depends on it directly. */
export interface OnnxWeight {
  readonly tensor: FileTensor;
  readonly value: GraphValue;
  readonly uses: readonly WeightUse[];
  /** Nodes between the weight and its uses: Transpose, Cast, Identity, Reshape, and those that rearrange it. */
  readonly through: readonly OnnxNode[];
  /** Whether Slice, Split, Concat, Squeeze or Unsqueeze are among these nodes. */
  readonly isRearranged: boolean;
  readonly orientation: Orientation;
}

/** What was found of each constant: a weight, or why it is none. */
export interface OnnxWeights {
  readonly values: GraphValues;
  /** By the keys of `OnnxModel.tensors`. */
  readonly weights: ReadonlyMap<string, OnnxWeight>;
  /** Why a tensor is no weight to be rewritten, by key. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** Finds the weights of a model. Reads the short tensors that name shapes, and no others. */
export async function findWeights(model: OnnxModel): Promise<OnnxWeights> {
  const values = new GraphValues(model);
  const keys = new Map<FileTensor, string>();
  for (const [key, tensor] of model.tensors) keys.set(tensor, key);
  const constants = new Map<string, GraphValue>();
  for (const value of values.constants) {
    const key = keys.get(value.tensor as FileTensor);
    if (key !== undefined) constants.set(key, value);
  }
  const weights = new Map<string, OnnxWeight>();
  const reasons = new Map<string, string>();
  for (const [key, tensor] of model.tensors) {
    const value = constants.get(key);
    const found =
      value === undefined ? "in a function" : await describe(model, values, tensor, value);
    if (typeof found === "string") reasons.set(key, found);
    else weights.set(key, found);
  }
  return { values, weights, reasons };
}

/** A weight, or why a constant is none. */
async function describe(
  { irVersion }: OnnxModel,
  values: GraphValues,
  tensor: FileTensor,
  value: GraphValue,
): Promise<OnnxWeight | string> {
  const { shape, dtype } = tensor;
  if (shape.length < 2) return "fewer than two axes";
  if (!/^b?float(16|32|64)$/.test(dtype) || !isDecodable(dtype)) return `${dtype}, no float`;
  if (value.isGraphOutput) return "an output of its graph";
  if (value.isGraphInput && irVersion >= 4) return "a default that callers can replace";
  if (value.uses.length === 0) return "used by no node";
  const uses: WeightUse[] = [];
  const through = new Set<OnnxNode>();
  let isRearranged = false;
  const left: { value: GraphValue; axes: readonly number[] }[] = [
    { value, axes: shape.map((_, axis) => axis) },
  ];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { axes } = next;
    for (const { node, input } of next.value.uses) {
      if (orient(node, input, axes) !== undefined) {
        uses.push({ node, input, axes });
        continue;
      }
      const whole = input === 0 ? await passThrough(values, node, axes, shape) : undefined;
      const passed = whole ?? (await rearrange(values, node, input, axes));
      if (passed === undefined) return `used by ${titleOf(node)}`;
      // Concat joins parts of one weight: its result is followed once.
      if (through.has(node)) continue;
      through.add(node);
      isRearranged ||= whole === undefined;
      for (const result of values.resultsOf(node)) {
        if (result.isGraphOutput) return `${node.opType} of it is an output of its graph`;
        left.push({ value: result, axes: passed });
      }
    }
  }
  const [first] = uses;
  if (first === undefined) return "used by no node";
  const orientation = orient(first.node, first.input, first.axes) as Orientation;
  return { tensor, value, uses, through: [...through], isRearranged, orientation };
}

const titleOf = ({ opType, domain }: OnnxNode): string =>
  domain === "" || domain === "ai.onnx" ? opType : `${domain}.${opType}`;

/** An integer attribute. */
export const intOf = (node: OnnxNode, name: string, otherwise: number): number =>
  Number(node.attributes.get(name)?.int ?? otherwise);

/**
 * The axes of a weight that an operator uses.
 * @param axes  axis i of the operator's input is axis `axes[i]` of the weight
 * @returns undefined if the operator or the input is none that takes weights
 */
export function orient(
  node: OnnxNode,
  input: number,
  axes: readonly number[],
): Orientation | undefined {
  const rank = axes.length;
  const made = (channel: number, from: number): Orientation | undefined =>
    axes[channel] < 0 || axes[from] < 0
      ? undefined
      : { channelAxis: axes[channel], inputAxes: [axes[from], axes[from]] };
  const is = (name: string): boolean => isStandard(node, name);
  if (is("MatMul") && rank >= 2) {
    return input === 1 ? made(rank - 1, rank - 2) : made(rank - 2, rank - 1);
  }
  if (isFused(node, "FusedMatMul", "TransposeMatMul") && rank >= 2 && input < 2) {
    // Batches that move behind the matrices have no axes of neighbours.
    if (["transBatchA", "transBatchB"].some((name) => intOf(node, name, 0) !== 0)) return undefined;
    const isTransposed = intOf(node, input === 0 ? "transA" : "transB", 0) !== 0;
    return (input === 1) === isTransposed ? made(rank - 2, rank - 1) : made(rank - 1, rank - 2);
  }
  if ((is("Gemm") || isFused(node, "FusedGemm")) && rank === 2 && input < 2) {
    const isTransposed = intOf(node, input === 0 ? "transA" : "transB", 0) !== 0;
    return (input === 1) === isTransposed ? made(0, 1) : made(1, 0);
  }
  const isConv = is("Conv") || isFused(node, "FusedConv");
  if (isConv && input === 1 && rank >= 3) return withRest(axes, 0) ?? made(0, 1);
  if (is("ConvTranspose") && input === 1 && rank >= 3) return made(1, 0);
  if (is("Gather") && input === 0) {
    const axis = intOf(node, "axis", 0);
    return withRest(axes, axis < 0 ? axis + rank : axis);
  }
  const isRecurrent = is("LSTM") || is("GRU") || is("RNN");
  if (isRecurrent && rank === 3 && (input === 1 || input === 2)) return made(1, 2);
  return undefined;
}

/** Whether a node is one of those that ONNX Runtime's optimizer makes of ONNX's own operators. */
const isFused = ({ domain, opType }: OnnxNode, ...names: readonly string[]): boolean =>
  domain === "com.microsoft" && names.includes(opType);

/** One axis of outputs, all others of inputs, if these are neighbours in the weight. */
function withRest(axes: readonly number[], axis: number): Orientation | undefined {
  const channelAxis = axes[axis];
  const last = Math.max(...axes);
  if (last < 1) return undefined;
  if (channelAxis === 0) return { channelAxis, inputAxes: [1, last] };
  if (channelAxis === last) return { channelAxis, inputAxes: [0, last - 1] };
  return undefined;
}

/** The axes behind an operator that only moves values. @returns undefined if it does more, or cannot be followed */
async function passThrough(
  values: GraphValues,
  node: OnnxNode,
  axes: readonly number[],
  shape: readonly number[],
): Promise<readonly number[] | undefined> {
  if (isStandard(node, "Identity")) return axes;
  if (isStandard(node, "Cast")) return isFloat(node.attributes.get("to")) ? axes : undefined;
  if (isStandard(node, "Transpose")) {
    const perm = node.attributes.get("perm")?.ints.map(Number);
    const order = perm ?? axes.map((_, axis) => axes.length - 1 - axis);
    if (order.length !== axes.length) return undefined;
    const moved = order.map((axis) => axes[axis]);
    return new Set(moved).size === axes.length && !moved.includes(undefined as never)
      ? moved
      : undefined;
  }
  if (isStandard(node, "Reshape")) {
    const wanted = await shapeFrom(values, node);
    const isSame =
      wanted?.length === axes.length &&
      wanted.every((length, i) => length === 0 || length === -1 || length === shape[axes[i]]);
    return isSame ? axes : undefined;
  }
  return undefined;
}

/** No axis of the weight: one of length 1 that Unsqueeze adds. */
const NEW_AXIS = -1;

/**
 * The axes behind an operator that takes parts of a weight, joins them, or adds and removes axes of length 1, as
 * PyTorch orders the gates of recurrent layers. @returns undefined for other operators
 */
async function rearrange(
  values: GraphValues,
  node: OnnxNode,
  input: number,
  axes: readonly number[],
): Promise<readonly number[] | undefined> {
  if (isStandard(node, "Concat")) return axes;
  if (input !== 0) return undefined;
  if (isStandard(node, "Slice") || isStandard(node, "Split")) return axes;
  const isAdding = isStandard(node, "Unsqueeze");
  if (!isAdding && !isStandard(node, "Squeeze")) return undefined;
  const named = node.attributes.get("axes")?.ints.map(Number) ?? (await shapeFrom(values, node));
  if (named === undefined) return undefined;
  const rank = axes.length + (isAdding ? named.length : 0);
  const places = new Set(named.map((axis) => (axis < 0 ? axis + rank : axis)));
  if (!isAdding) return axes.filter((_, i) => !places.has(i));
  const rest = [...axes];
  return Array.from({ length: rank }, (_, i) =>
    places.has(i) ? NEW_AXIS : (rest.shift() ?? NEW_AXIS),
  );
}

const isFloat = (to: OnnxAttribute | undefined): boolean =>
  [1, 10, 11, 16].includes(Number(to?.int));

/** The shape that a Reshape asks for, or the axes of Squeeze and Unsqueeze, if a constant names them. */
async function shapeFrom(values: GraphValues, node: OnnxNode): Promise<number[] | undefined> {
  const named = values.constants.find(({ uses }) =>
    uses.some((use) => use.node === node && use.input === 1),
  );
  const tensor = named?.tensor;
  if (tensor === undefined || tensor.dtype !== "int64" || tensor.byteLength > 64) return undefined;
  const bytes = new Uint8Array(tensor.byteLength);
  let at = 0;
  for await (const chunk of tensor.bytes()) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return Array.from(new BigInt64Array(bytes.buffer), Number);
}
