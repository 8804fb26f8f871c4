// MatMulNBits and GatherBlockQuantized: ONNX Runtime's operators that multiply with, and look up, packed codes of
// 4 or 8 bits in blocks of inputs.

import { newArray } from "../../../base/typed-arrays.js";
import type { OnnxNode } from "../../../formats/onnx/graph.js";
import { isStandard } from "../../../formats/onnx/scopes.js";
import { intOf, orient, type WeightUse } from "../../../formats/onnx/weights.js";
import type { NewNode } from "../../../formats/onnx/write.js";
import { HELD_BYTES, SLAB_VALUES } from "../../weights/memory.js";
import { transposed } from "../../weights/rows.js";
import { allValues, gatherRuns, type Run, type Values } from "../../weights/values.js";
import { type Axes3, viewOfOnnx } from "../../weights/view.js";
import { encodeFloats, type ScaleDType } from "../halves.js";
import { watchedEncoder } from "../watch.js";
import { MOST_SCALES, valuesOfWeight } from "./codes.js";
import {
  bitsOf,
  type Form,
  type FormContext,
  graphOf,
  known,
  partNames,
  REARRANGED,
} from "./form.js";
import { nbitsEncoder, type PackedRows, packRows } from "./nbits.js";
import { MICROSOFT } from "./rewrite.js";

/** Whether a use is the right-hand side of a product, x [M, inputs] times w, that operators of two inputs can do. */
export function isProduct({ node, input }: WeightUse, rank: number): boolean {
  if (rank !== 2 || input !== 1) return false;
  if (isStandard(node, "MatMul")) return true;
  if (!isStandard(node, "Gemm") || intOf(node, "transA", 0) !== 0) return false;
  const alpha = node.attributes.get("alpha")?.float ?? 1;
  const beta = node.attributes.get("beta")?.float ?? 1;
  return alpha === 1 && (beta === 1 || (node.inputs[2] ?? "") === "");
}

/** Whether a use looks rows of a matrix up. */
const isLookUp = ({ node, axes }: WeightUse): boolean =>
  isStandard(node, "Gather") && intOf(node, "axis", 0) === 0 && axes[0] === 0 && axes.length === 2;

/** Nodes for y = x · w + bias, of a node for x · w whose output they name. */
export function withBias(
  { rewriter }: FormContext,
  node: OnnxNode,
  product: (output: string) => readonly NewNode[],
): NewNode[] {
  const [output] = node.outputs;
  const bias = isStandard(node, "Gemm") ? (node.inputs[2] ?? "") : "";
  if (bias === "") return [...product(output)];
  const between = rewriter.newName(`${output}_product`);
  return [
    ...product(between),
    {
      ...{ name: rewriter.newName(`${output}_Add`), opType: "Add" },
      ...{ inputs: [between, bias], outputs: [output] },
    },
  ];
}

/** Removes the nodes between a weight and its uses, which all were replaced. */
export function removeThrough({ rewriter, weight }: FormContext): void {
  for (const node of weight.through) rewriter.replaceNode(node, []);
}

/** Why a weight and its uses do not fit operators of packed rows; undefined if they do. */
function refuseUses({ weight, scheme }: FormContext, groupSize: number): string | undefined {
  const { tensor, uses, through, orientation } = weight;
  const { shape, dtype } = tensor;
  if (dtype !== "float32" && dtype !== "float16") return `weights of ${dtype}`;
  if (through.some((node) => isStandard(node, "Cast"))) return "a weight that is cast";
  if (weight.isRearranged) return REARRANGED;
  for (const use of uses) {
    const { node, input, axes } = use;
    const own = orient(node, input, axes);
    if (own?.channelAxis !== orientation.channelAxis) return "a weight used in both directions";
    if (isLookUp(use)) {
      if (shape[1] % groupSize !== 0) return "rows that are not whole blocks";
      // ONNX Runtime 1.23 reads packed zero points as if rows began within bytes.
      const isOdd = (shape[1] / groupSize) % 2 === 1;
      if (scheme.isAffine && bitsOf(scheme) <= 4 && isOdd) {
        return "rows of an odd number of blocks with zero points";
      }
    } else if (!isProduct(use, shape.length)) return `a weight of ${node.opType} such as this`;
  }
  return undefined;
}

export const packedBlocks: Form = {
  name: "MatMulNBits",

  refuse(context) {
    const { scheme } = context;
    const { groupSize } = scheme;
    if (groupSize === undefined) return "MatMulNBits takes groups";
    const isPower = groupSize >= 16 && groupSize <= 256 && Number.isInteger(Math.log2(groupSize));
    if (!isPower) return "MatMulNBits takes groups of 16, 32, 64, 128 or 256";
    if (bitsOf(scheme) > 8) return "MatMulNBits takes 4 or 8 bits";
    return refuseUses(context, groupSize);
  },

  write(context) {
    const { rewriter, weight, scheme } = context;
    const { tensor, uses } = weight;
    const core = context.core("quantizeModel");
    const graph = graphOf(context);
    const names = partNames(context);
    const bits = bitsOf(scheme) <= 4 ? 4 : 8;
    const block = scheme.groupSize as number;
    const view = viewOfOnnx(weight).aroundInputs;
    const [outer, inputs, inner] = view;
    const outputs = outer * inner;
    const blocks = Math.ceil(inputs / block);
    const looksUp = uses.some(isLookUp);
    const isOnlyLookUp = uses.every(isLookUp);
    const isNative = bitsOf(scheme) === bits && scheme.search === "minmax";
    const rule = isNative && !isOnlyLookUp ? "ort" : "own";
    const encoder = nbitsEncoder(core, scheme, bits, rule, tensor.dtype as ScaleDType);
    const watched = watchedEncoder(encoder, context.watch);
    const pack = (): AsyncGenerator<PackedRows, void, undefined> =>
      packed(context, bits, block, (values, columns) =>
        packRows(watched, values, columns, bits, block, scheme.isAffine),
      );

    // Scales are written behind the codes, unless they are too many to be held.
    let held: QParamRows[] | undefined;
    const holder = {
      release: (): void => {
        held = undefined;
      },
    };
    const qparams = (): AsyncIterable<QParamRows> | Iterable<QParamRows> => {
      rewriter.hold(holder);
      return held ?? pack();
    };
    const rowBytes = (blocks * block * bits) / 8;
    const codeShape = looksUp ? [outputs, rowBytes] : [outputs, blocks, (block * bits) / 8];
    let bytes = rewriter.addTensor(graph, {
      ...{ name: names.codes, dtype: "uint8", shape: codeShape },
      bytes: async function* () {
        rewriter.hold(holder);
        context.watch.restart();
        const own: QParamRows[] = [];
        const isHeld = outputs * blocks <= MOST_SCALES;
        for await (const { codes, scales, zeroPoints } of pack()) {
          if (isHeld) own.push({ scales, zeroPoints });
          yield codes;
        }
        if (isHeld) held = own;
        context.onWritten();
      },
    });
    bytes += rewriter.addTensor(graph, {
      ...{ name: names.scale, dtype: tensor.dtype, shape: [outputs, blocks] },
      bytes: async function* () {
        const dtype = tensor.dtype as ScaleDType;
        for await (const { scales } of qparams()) yield encodeFloats(scales, dtype);
      },
    });
    if (scheme.isAffine) {
      const shape = [outputs, Math.ceil((blocks * bits) / 8)];
      bytes += rewriter.addTensor(graph, {
        ...{ name: names.zeroPoint, dtype: "uint8", shape },
        bytes: async function* () {
          for await (const { zeroPoints } of qparams()) yield zeroPoints as Uint8Array;
        },
      });
    }
    const zeroPoint = scheme.isAffine ? [names.zeroPoint] : [];
    let matrix = names.codes;
    if (looksUp && !isOnlyLookUp) {
      // The rows of the look-up are the blocks of the product.
      const shape = rewriter.newName(`${weight.value.name}_blocks_shape`);
      const values = BigInt64Array.from([outputs, blocks, (block * bits) / 8], BigInt);
      rewriter.addTensor(graph, known(shape, "int64", [3], values));
      matrix = rewriter.newName(`${weight.value.name}_blocks`);
      rewriter.addFront(graph, {
        ...{ name: rewriter.newName(`${matrix}_Reshape`), opType: "Reshape" },
        ...{ inputs: [names.codes, shape], outputs: [matrix] },
      });
    }
    for (const use of uses) {
      const { node } = use;
      if (isLookUp(use)) {
        rewriter.replaceNode(node, [
          {
            ...{ name: node.name, opType: "GatherBlockQuantized", domain: MICROSOFT },
            inputs: [names.codes, node.inputs[1], names.scale, ...zeroPoint],
            outputs: node.outputs,
            attributes: {
              ...{ gather_axis: { int: 0 }, quantize_axis: { int: 1 } },
              ...{ block_size: { int: block }, bits: { int: bits } },
            },
          },
        ]);
        continue;
      }
      const product = (output: string): NewNode[] => [
        {
          ...{ name: node.name, opType: "MatMulNBits", domain: MICROSOFT },
          inputs: [node.inputs[0], matrix, names.scale, ...zeroPoint],
          outputs: [output],
          attributes: {
            ...{ K: { int: inputs }, N: { int: outputs } },
            ...{ bits: { int: bits }, block_size: { int: block } },
          },
        },
      ];
      rewriter.replaceNode(node, withBias(context, node, product));
    }
    removeThrough(context);
    rewriter.removeWeight(weight);
    const { codes, scale } = names;
    const parts = { codes, scale, ...(scheme.isAffine ? { zeroPoint: names.zeroPoint } : {}) };
    return { bytes, note: { ...parts, isTransposed: inner > 1 }, encoder };
  },
};

type QParamRows = Omit<PackedRows, "codes">;

/**
 * Packed rows of all outputs, some at a time. Where outputs are columns of the file, blocks are packed as they come,
 * and held until the rows are complete.
 * @param pack  packs rows of some whole blocks, or of the rest of a row
 */
async function* packed(
  { weight, core }: FormContext,
  bits: number,
  block: number,
  pack: (values: Values, inputs: number) => PackedRows,
): AsyncGenerator<PackedRows, void, undefined> {
  const values = valuesOfWeight(weight, core("quantizeModel"));
  const view = viewOfOnnx(weight).aroundInputs;
  const [, inputs, inner] = view;
  if (inner === 1) {
    const rows = Math.max(1, Math.floor(SLAB_VALUES / inputs));
    for await (const slab of allValues(values, undefined, rows * inputs)) yield pack(slab, inputs);
    return;
  }
  const blocks = Math.ceil(inputs / block);
  const rowBytes = (blocks * block * bits) / 8;
  const width = Math.min(inner, Math.max(1, Math.floor(HELD_BYTES / 4 / rowBytes)));
  const most = Math.min(inputs * width, Math.max(SLAB_VALUES, 2 * block * width));
  const scratch = [0, 1].map(() => newArray("quantizeModel", Float32Array, most));
  const codes = newArray("quantizeModel", Uint8Array, width * rowBytes);
  for (let left = 0; left < inner; left += width) {
    const right = Math.min(inner, left + width);
    const rows = new RowBuffer(codes, right - left, blocks, block, bits);
    // An even number of blocks, so that zero points of 4 bits are whole bytes.
    const step = 2 * block * Math.max(1, Math.floor(SLAB_VALUES / (2 * block * (right - left))));
    for (let top = 0; top < inputs; top += step) {
      const bottom = Math.min(inputs, top + step);
      const runs = runsOfPart(view, top, bottom, left, right);
      const part = await gatherRuns(values, runs, scratch[0]);
      const turned = scratch[1].subarray(0, part.length);
      rows.put(
        pack(transposed(part, bottom - top, right - left, turned), bottom - top),
        top / block,
      );
    }
    yield rows;
  }
}

/** Columns [left, right) of rows [top, bottom) of a matrix. */
function* runsOfPart(
  [, , columns]: Axes3,
  top: number,
  bottom: number,
  left: number,
  right: number,
): Generator<Run> {
  if (right - left === columns) yield { begin: top * columns, end: bottom * columns };
  else {
    for (let row = top; row < bottom; row++) {
      yield { begin: row * columns + left, end: row * columns + right };
    }
  }
}

/** Packed rows that are filled from the first block to the last one, with codes in memory that is given. */
class RowBuffer implements PackedRows {
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
  readonly zeroPoints: Uint8Array;

  constructor(
    memory: Uint8Array,
    readonly rows: number,
    blocks: number,
    readonly block: number,
    readonly bits: number,
  ) {
    this.codes = memory.subarray(0, (rows * blocks * block * bits) / 8);
    this.scales = new Float32Array(rows * blocks);
    this.zeroPoints = new Uint8Array(rows * Math.ceil((blocks * bits) / 8));
  }

  put({ codes, scales, zeroPoints }: PackedRows, first: number): void {
    const { rows, block, bits } = this;
    const place = <T extends Uint8Array | Float32Array>(to: T, from: T, at: number): void => {
      const [whole, part] = [to.length / rows, from.length / rows];
      for (let row = 0; row < rows; row++) {
        // Some bytes of a row: a loop is faster than set.
        const start = row * whole + at;
        for (let i = 0; i < part; i++) to[start + i] = from[row * part + i];
      }
    };
    place(this.codes, codes, (first * block * bits) / 8);
    place(this.scales, scales, first);
    if (zeroPoints !== undefined) place(this.zeroPoints, zeroPoints, (first * bits) / 8);
  }
}
