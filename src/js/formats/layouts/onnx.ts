// Quantized weights of ONNX models: constants that a node reads with their scales.
// Source: onnx 1.20 (DequantizeLinear, QLinearConv, QLinearMatMul), ONNX Runtime 1.23 (com.microsoft).

import type { FileDType } from "../dtypes.js";
import { decodeValues } from "../dtypes.js";
import type { OnnxGraph, OnnxModel, OnnxNode } from "../onnx/graph.js";
import type { FileTensor } from "../source.js";
import {
  describedWeight,
  type OnnxWeight,
  type OnnxWeightNote,
  readNotes,
} from "./onnx-described.js";
import { type CodeArray, integersOf, type ScaledCodes, scaleCount } from "./scaled.js";
import { misfit, type StoredPart, type StoredParts, type ValueDType } from "./unpack.js";

/** Positions of a weight's inputs, and the axis of its scales. */
interface Operator {
  readonly inputs: readonly [codes: number, scale: number, zeroPoint: number];
  axis(node: OnnxNode): number;
}

const MICROSOFT = "com.microsoft";

const integerOf = (node: OnnxNode, name: string, fallback: number): number => {
  const value = node.attributes.get(name)?.int;
  return typeof value === "number" ? value : fallback;
};

const DEQUANTIZE: Operator = { inputs: [0, 1, 2], axis: (node) => integerOf(node, "axis", 1) };

/** Operators that read codes of the weight's own shape, by domain and type. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  ":DequantizeLinear": DEQUANTIZE,
  [`${MICROSOFT}:DequantizeLinear`]: DEQUANTIZE,
  ":QLinearConv": { inputs: [3, 4, 5], axis: () => 0 },
  ":QLinearMatMul": { inputs: [3, 4, 5], axis: () => -1 },
  [`${MICROSOFT}:QGemm`]: {
    inputs: [3, 4, 5],
    axis: (node) => (integerOf(node, "transB", 0) === 0 ? 1 : 0),
  },
  [`${MICROSOFT}:DynamicQuantizeMatMul`]: { inputs: [1, 2, 3], axis: () => -1 },
  [`${MICROSOFT}:MatMulIntegerToFloat`]: { inputs: [1, 3, 5], axis: () => -1 },
};

/** Operators that multiply codes, whose scale is a factor behind them. */
const INTEGER_OPERATORS: Readonly<Record<string, Operator>> = {
  ":MatMulInteger": { inputs: [1, -1, 3], axis: () => -1 },
  ":ConvInteger": { inputs: [1, -1, 3], axis: () => 0 },
};
/** The constants of a graph and of those around it, by name. */
class Scopes {
  readonly #writers = new Map<OnnxGraph, Map<string, OnnxNode>>();
  readonly #consumers = new Map<OnnxGraph, Map<string, OnnxNode[]>>();
  readonly #constants = new Map<OnnxGraph, Map<string, FileTensor | undefined>>();
  readonly #names: ReadonlyMap<FileTensor, string>;

  constructor({ tensors }: OnnxModel) {
    this.#names = new Map(Array.from(tensors, ([name, tensor]) => [tensor, name]));
  }

  /** The constant that a node reads. @returns undefined for what is computed */
  find(graph: OnnxGraph, name: string): { name: string; tensor: FileTensor } | undefined {
    if (name === "") return undefined;
    for (let each: OnnxGraph | undefined = graph; each; each = each.owner?.node.graph) {
      const own = this.#of(each);
      if (!own.has(name)) continue;
      const tensor = own.get(name);
      const key = tensor && this.#names.get(tensor);
      return tensor === undefined || key === undefined ? undefined : { name: key, tensor };
    }
    return undefined;
  }

  /**
   * The constant factor of a product of codes: Mul(Cast(product), Mul(scale of the input, constant)), or
   * Mul(Mul(Cast(product), scale of the input), constant).
   */
  scaleBehind(graph: OnnxGraph, node: OnnxNode): ReturnType<Scopes["find"]> {
    let name = node.outputs[0];
    for (let steps = 0; steps < 4; steps++) {
      const [next, more] = this.#readers(graph).get(name) ?? [];
      if (next === undefined || more !== undefined) return undefined;
      if (next.opType === "Mul") {
        const other = next.inputs.find((input) => input !== name) ?? "";
        const found = this.find(graph, other) ?? this.#factor(graph, other);
        if (found !== undefined) return found;
      } else if (next.opType !== "Cast") return undefined;
      name = next.outputs[0];
    }
    return undefined;
  }

  /** Whether the result of Cast is multiplied by a constant, perhaps after a constant was subtracted. */
  isScaled(graph: OnnxGraph, node: OnnxNode): boolean {
    let [name] = node.outputs;
    for (let steps = 0; steps < 2; steps++) {
      const [next, more] = this.#readers(graph).get(name) ?? [];
      if (next === undefined || more !== undefined) return false;
      const others = next.inputs.filter((input) => input !== name);
      if (!others.some((input) => this.find(graph, input) !== undefined)) return false;
      if (next.opType === "Mul" || next.opType === "Div") return true;
      if (next.opType !== "Sub") return false;
      name = next.outputs[0];
    }
    return false;
  }

  /** The constant of a product of a constant and something else. */
  #factor(graph: OnnxGraph, name: string): ReturnType<Scopes["find"]> {
    const made = this.#producers(graph).get(name);
    if (made?.opType !== "Mul") return undefined;
    for (const input of made.inputs) {
      const found = this.find(graph, input);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Nodes by the names that they read. */
  #readers(graph: OnnxGraph): Map<string, OnnxNode[]> {
    const known = this.#consumers.get(graph);
    if (known !== undefined) return known;
    const readers = new Map<string, OnnxNode[]>();
    for (const node of graph.nodes) {
      for (const input of new Set(node.inputs)) {
        const list = readers.get(input);
        if (list === undefined) readers.set(input, [node]);
        else list.push(node);
      }
    }
    this.#consumers.set(graph, readers);
    return readers;
  }

  /** Nodes by the names that they write. */
  #producers(graph: OnnxGraph): Map<string, OnnxNode> {
    const known = this.#writers.get(graph);
    if (known !== undefined) return known;
    const writers = new Map<string, OnnxNode>();
    for (const node of graph.nodes) for (const output of node.outputs) writers.set(output, node);
    this.#writers.set(graph, writers);
    return writers;
  }

  #of(graph: OnnxGraph): Map<string, FileTensor | undefined> {
    const known = this.#constants.get(graph);
    if (known !== undefined) return known;
    const own = new Map<string, FileTensor | undefined>();
    for (const { name } of graph.inputs) own.set(name, undefined);
    for (const { opType, domain, outputs, attributes } of graph.nodes) {
      const isConstant = opType === "Constant" && domain === "";
      for (const output of outputs) {
        own.set(output, isConstant ? attributes.get("value")?.tensor : undefined);
      }
    }
    for (const tensor of graph.initializers) own.set(tensor.name, tensor);
    this.#constants.set(graph, own);
    return own;
  }
}

/** All graphs of a model: its own, bodies of functions, and graphs within their nodes. */
function graphsOf({ graph, functions }: OnnxModel): OnnxGraph[] {
  const graphs = [graph, ...functions.map(({ body }) => body)];
  for (const each of graphs) {
    for (const { attributes } of each.nodes) {
      for (const attribute of attributes.values()) {
        if (attribute.graph !== undefined) graphs.push(attribute.graph);
        graphs.push(...attribute.graphs);
      }
    }
  }
  return graphs;
}

/** The quantized weights of a model, and constants of codes that are not understood. */
export interface OnnxWeights {
  readonly weights: readonly OnnxWeight[];
  /** The operator that takes the codes, by the name of their tensor. */
  readonly unknown: ReadonlyMap<string, string>;
}

/** Finds the quantized weights of a model. Those that this library wrote have their names in the float model. */
export function findOnnxWeights(model: OnnxModel): OnnxWeights {
  const notes = readNotes(model);
  const scopes = new Scopes(model);
  const found = new Map<string, OnnxWeight>();
  const unknown = new Map<string, string>();
  for (const graph of graphsOf(model)) {
    for (const node of graph.nodes) {
      const weight = weightOf(scopes, graph, node);
      if (weight !== undefined && !found.has(weight.name)) found.set(weight.name, weight);
      if (weight !== undefined) continue;
      for (const name of codesIn(scopes, graph, node)) unknown.set(name, titleOf(node));
    }
  }
  for (const [codes, note] of notes) {
    const weight = found.get(codes);
    const named = weight === undefined ? describedWeight(note) : renamed(weight, note);
    if (named !== undefined) found.set(codes, named);
  }
  for (const { parts } of found.values()) {
    for (const part of Object.values(parts)) unknown.delete(part);
  }
  return { weights: [...found.values()], unknown };
}

/** Other operators of ONNX Runtime that take codes, whose layouts are not read. */
const UNKNOWN_OPERATORS =
  /^(MatMulBnb4|MatMulFpQ4|QMoE|QAttention|QLinear\w+|QOrdered\w+|QEmbedLayerNormalization|DynamicQuantizeLSTM|\w*Quantized?\w*|MatMulNBits\w*)$/;

const titleOf = ({ domain, opType }: OnnxNode): string =>
  domain === "" || domain === "ai.onnx" ? opType : `${domain}.${opType}`;

/** Those whose codes are a list of bytes. */
const FLAT_OPERATORS = /^(MatMulBnb4|MatMulFpQ4)$/;

/** Operators of other domains that take codes: TensorRT's, Quark's, Vitis AI's and others. */
const FOREIGN_OPERATORS = /quant|nbits|bnb4|fp[48]|int[48]/i;

/** The constants of codes of a node whose weight is not understood: matrices of integers, or of small floats. */
function codesIn(scopes: Scopes, graph: OnnxGraph, node: OnnxNode): string[] {
  const { domain, opType, inputs } = node;
  const isOwn = domain === "" || domain === "ai.onnx";
  const isKnown = isOwn
    ? [":DequantizeLinear", ":QLinearConv", ":QLinearMatMul"].includes(`:${opType}`) ||
      Object.hasOwn(INTEGER_OPERATORS, `:${opType}`) ||
      (opType === "Cast" && scopes.isScaled(graph, node))
    : domain === MICROSOFT
      ? UNKNOWN_OPERATORS.test(opType) || Object.hasOwn(OPERATORS, `${domain}:${opType}`)
      : FOREIGN_OPERATORS.test(opType);
  if (!isKnown) return [];
  const rank = !isOwn && FLAT_OPERATORS.test(opType) ? 1 : 2;
  return inputs.flatMap((input) => {
    const { name, tensor } = scopes.find(graph, input) ?? {};
    const isCodes =
      tensor !== undefined &&
      tensor.shape.length >= rank &&
      (/^u?int[248]$/.test(tensor.dtype) || isSmallFloat(tensor.dtype));
    return isCodes && name !== undefined ? [name] : [];
  });
}

/** A weight under the name and in the shape that it had in the float model. */
function renamed(weight: OnnxWeight, { name, shape, isTransposed }: OnnxWeightNote): OnnxWeight {
  if (sizeOf(weight.shape) !== sizeOf(shape)) return weight;
  return { ...weight, name, shape, isTransposed: weight.isTransposed && isTransposed !== false };
}

function weightOf(scopes: Scopes, graph: OnnxGraph, node: OnnxNode): OnnxWeight | undefined {
  const type = `${node.domain === "ai.onnx" ? "" : node.domain}:${node.opType}`;
  const isMatMul = type === `${MICROSOFT}:MatMulNBits`;
  const isGather = type === `${MICROSOFT}:GatherBlockQuantized`;
  const operator = Object.hasOwn(OPERATORS, type)
    ? OPERATORS[type]
    : Object.hasOwn(INTEGER_OPERATORS, type)
      ? INTEGER_OPERATORS[type]
      : undefined;
  const inputs = isMatMul ? [1, 2, 3] : isGather ? [0, 2, 3] : operator?.inputs;
  if (inputs === undefined) return undefined;
  const [codes, direct, zeroPoint] = inputs.map((at) => scopes.find(graph, node.inputs[at] ?? ""));
  const scale = Object.hasOwn(INTEGER_OPERATORS, type) ? scopes.scaleBehind(graph, node) : direct;
  const isComputed = zeroPoint === undefined && (node.inputs[inputs[2]] ?? "") !== "";
  if (codes === undefined || scale === undefined || isComputed) return undefined;
  const names = { codes: codes.name, scale: scale.name };
  const parts = zeroPoint === undefined ? names : { ...names, zeroPoint: zeroPoint.name };
  const { shape, dtype } = codes.tensor;
  if (isMatMul) return matMulNBits(node, shape, dtype, parts);
  if (isGather) return gatherBlockQuantized(node, shape, dtype, parts);
  const axis = (operator as Operator).axis(node);
  const blockSize = integerOf(node, "block_size", 0);
  const output = OUTPUTS[integerOf(node, "output_dtype", 0)];
  return linear(shape, dtype, parts, axis < 0 ? axis + shape.length : axis, blockSize, output);
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

function floats({ dtype, shape, bytes }: StoredPart): Float32Array {
  return decodeValues(dtype, bytes, new Float32Array(sizeOf(shape)));
}

const FLOATS = ["float32", "float16", "bfloat16"];

/** Numbers of `output_dtype`, by which DequantizeLinear names the type of values. */
const OUTPUTS: { readonly [type: number]: ValueDType } = {
  1: "float32",
  10: "float16",
  16: "bfloat16",
};

/** Scales, and the type of values: that of the scales, or float32 where these are powers of two. */
function scalesOf(part: StoredPart, count: number) {
  const { dtype, shape } = part;
  const isPower = dtype === "float8_e8m0fnu";
  if (!FLOATS.includes(dtype) && !isPower) {
    throw misfit(part, `scales of ${FLOATS.join(", ")}`, dtype);
  }
  if (sizeOf(shape) !== count) throw misfit(part, `${count} scales`, sizeOf(shape));
  return { scale: floats(part), valueDtype: isPower ? "float32" : (dtype as ValueDType) };
}

function codesOf(part: StoredPart): CodeArray | Float32Array {
  const { dtype, shape, bytes } = part;
  if (isSmallFloat(dtype)) return floats(part);
  const codes = integersOf(dtype, bytes, sizeOf(shape));
  if (codes === undefined) throw misfit(part, "integers of at most 32 bits", dtype);
  return codes;
}

const isSmallFloat = (dtype: FileDType): boolean => /^float[468]_/.test(dtype);

/** dtypes of codes. */
const isCode = (dtype: FileDType): boolean =>
  /^u?int(2|4|8|16|32)$/.test(dtype) || isSmallFloat(dtype);

/** A weight whose codes have its own shape. */
function linear(
  shape: readonly number[],
  dtype: FileDType,
  parts: OnnxWeight["parts"],
  axis: number,
  blockSize: number,
  output?: ValueDType,
): OnnxWeight | undefined {
  if (!isCode(dtype)) return undefined;
  const { codes: name } = parts;
  const unpack = ({
    codes,
    scale,
    zeroPoint,
  }: StoredParts): ScaledCodes<CodeArray | Float32Array> => {
    const isOne = sizeOf(scale.shape) === 1 && blockSize === 0 && scale.shape.length < 2;
    if (!isOne && !(axis >= 0 && axis < shape.length)) {
      throw misfit(codes, `codes with an axis ${axis}`, `[${shape.join(", ")}]`);
    }
    const form = {
      shape,
      axis: isOne ? undefined : axis,
      blockSize: blockSize > 0 ? blockSize : undefined,
    };
    const count = scaleCount(form);
    const scales = scalesOf(scale, count);
    let zeros: Int32Array | undefined;
    if (zeroPoint !== undefined) {
      zeros = Int32Array.from(codesOf(zeroPoint));
      if (zeros.length === 1 && count > 1) zeros = new Int32Array(count).fill(zeros[0]);
      if (zeros.length !== count) throw misfit(zeroPoint, `${count} zero points`, zeros.length);
    }
    const own = { codes: codesOf(codes), ...form, ...scales, zeroPoint: zeros };
    return output === undefined ? own : { ...own, valueDtype: output };
  };
  return { name, shape, dtype, parts, isTransposed: false, unpack };
}

/** Unpacks rows of codes of 2, 4 or 8 bits, low bits first, each row from a byte of its own. */
function unpackRows(bytes: Uint8Array, rows: number, columns: number, bits: number): Uint8Array {
  const perRow = bytes.length / rows;
  const codes = new Uint8Array(rows * columns);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const bit = column * bits;
      codes[at++] = (bytes[row * perRow + (bit >>> 3)] >>> (bit & 7)) & (2 ** bits - 1);
    }
  }
  return codes;
}

/** Zero points of rows of blocks: packed like codes, or as floats; by default half of the codes' range. */
function zerosOf(
  part: StoredPart | undefined,
  rows: number,
  blocks: number,
  bits: number,
): Int32Array | Float32Array {
  const count = rows * blocks;
  if (part === undefined) return new Int32Array(count).fill(2 ** (bits - 1));
  const size = sizeOf(part.shape);
  if (FLOATS.includes(part.dtype) && size === count) return floats(part);
  if (part.dtype !== "uint8" || size !== rows * Math.ceil((blocks * bits) / 8)) {
    const expected = `zero points of ${rows} rows of ${blocks} blocks`;
    throw misfit(part, expected, `${part.dtype} [${part.shape.join(", ")}]`);
  }
  return Int32Array.from(unpackRows(part.bytes, rows, blocks, bits));
}

/** B of MatMulNBits: [N, blocks, bytes of a block]. Its logical shape is that of MatMul's right operand, [K, N]. */
function matMulNBits(
  node: OnnxNode,
  stored: readonly number[],
  dtype: FileDType,
  parts: OnnxWeight["parts"],
): OnnxWeight | undefined {
  const [k, n, bits, blockSize] = ["K", "N", "bits", "block_size"].map((name) =>
    integerOf(node, name, name === "bits" ? 4 : 0),
  );
  const blocks = Math.ceil(k / blockSize);
  const blockBytes = (blockSize * bits) / 8;
  const isKnown = dtype === "uint8" && [2, 4, 8].includes(bits) && k > 0 && n > 0;
  // Scales gathered by g_idx use another zero point than the stored one in ONNX Runtime.
  const hasIndex = (node.inputs[4] ?? "") !== "";
  if (!isKnown || hasIndex || !(blockSize > 0) || sizeOf(stored) !== n * blocks * blockBytes) {
    return undefined;
  }
  const { codes: name } = parts;
  const unpack = ({ codes, scale, zeroPoint }: StoredParts): ScaledCodes => {
    // Blocks are whole bytes, and the last one of a row may be partial.
    const all = unpackRows(codes.bytes, n, blocks * blockSize, bits);
    const own = new Uint8Array(n * k);
    for (let row = 0; row < n; row++) {
      own.set(all.subarray(row * blocks * blockSize, row * blocks * blockSize + k), row * k);
    }
    return {
      codes: own,
      shape: [n, k],
      axis: 1,
      blockSize,
      ...scalesOf(scale, n * blocks),
      zeroPoint: zerosOf(zeroPoint, n, blocks, bits),
    };
  };
  const codeType = `uint${bits}` as FileDType;
  return { name, shape: [k, n], dtype: codeType, parts, isTransposed: true, unpack };
}

function gatherBlockQuantized(
  node: OnnxNode,
  stored: readonly number[],
  dtype: FileDType,
  parts: OnnxWeight["parts"],
): OnnxWeight | undefined {
  const rank = stored.length;
  const bits = integerOf(node, "bits", 4);
  const blockSize = integerOf(node, "block_size", 128);
  const given = integerOf(node, "quantize_axis", 1);
  const axis = given < 0 ? given + rank : given;
  if (!(axis >= 0 && axis < rank) || !(blockSize > 0)) return undefined;
  if (dtype !== "uint8") return linear(stored, dtype, parts, axis, blockSize);
  // Bytes hold values that are neighbours along the last axis.
  if (![2, 4, 8].includes(bits) || axis !== rank - 1) return undefined;
  const columns = (stored[axis] * 8) / bits;
  const rows = sizeOf(stored.slice(0, -1));
  const blocks = Math.ceil(columns / blockSize);
  const shape = [...stored.slice(0, -1), columns];
  const { codes: name } = parts;
  const unpack = ({ codes, scale, zeroPoint }: StoredParts): ScaledCodes => ({
    codes: unpackRows(codes.bytes, rows, columns, bits),
    shape,
    axis,
    blockSize,
    ...scalesOf(scale, rows * blocks),
    zeroPoint: zerosOf(zeroPoint, rows, blocks, bits),
  });
  const codeType = `uint${bits}` as FileDType;
  return { name, shape, dtype: codeType, parts, isTransposed: false, unpack };
}
