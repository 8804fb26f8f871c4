// Embedding: rows of a table, selected by index.

import type { Codes } from "../../base/dtype.js";
import { rangeError } from "../../base/errors.js";
import { define, fieldsOf, fixFields } from "../../base/fields.js";
import { show, showShape } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import {
  checkStillThere,
  copyOf,
  type NumberArray,
  newArrayLike,
  setArray,
  subarrayOf,
} from "../../base/typed-arrays.js";
import { activeCore, runOn } from "../../core/init.js";
import { isLayer, Layer } from "../../linear/layer.js";
import { dequantize } from "../../quantize/dequantize.js";
import {
  type AnyQuantizedTensor,
  type QuantizedTensor,
  type QuantizedTensorInput,
  qparamsText,
} from "../../quantize/quantized-tensor.js";
import {
  type CheckedTensor,
  checkTensor,
  looksQuantized,
  type TensorInput,
} from "../../tensor/check.js";
import { Tensor } from "../../tensor/tensor.js";
import type { TorchQuantizedTensor, TorchQuantizedTensorInput } from "../../torch/tensor.js";
import {
  type AnyQuantized,
  checkQuantizedWeight,
  checkWeight,
  parameters,
  parametersOf,
  quantizedOf,
  setQuantized,
  shown,
  showQuantized,
  weightBytes,
} from "./parameters.js";

/**
 * Checks indices into the rows of a table.
 * @throws {RangeError} `ZP_INVALID_TENSOR` for an index that is out of range or no integer
 */
export function checkIndices(where: string, value: unknown, rows: number): CheckedTensor {
  const { data: given, shape, size } = checkTensor(where, "indices", value, Float64Array);
  // A copy: another thread may write to the given array.
  const data = copyOf(where, given, Float64Array, size);
  for (let i = 0; i < size; i++) {
    if (Number.isInteger(data[i]) && data[i] >= 0 && data[i] < rows) continue;
    const allowed = rows === 0 ? "none, for there are no rows" : `integers from 0 to ${rows - 1}`;
    throw rangeError(
      "ZP_INVALID_TENSOR",
      where,
      `indices must be ${allowed}, but value ${i} is ${show(data[i])}`,
    );
  }
  return { data, shape, size };
}

/** Selected rows of a table, each of `width` values. */
export function rowsOf<A extends Codes | Float32Array | Float64Array>(
  where: string,
  table: A,
  width: number,
  indices: NumberArray,
): A {
  const out = newArrayLike(where, table, indices.length * width);
  for (let i = 0; i < indices.length; i++) {
    const start = indices[i] * width;
    setArray(out, subarrayOf(table, start, start + width), i * width);
  }
  return out;
}

/** Scales, zero points or offsets. */
type Numbers = number | { readonly data: Codes | Float32Array | Float64Array };

/** Selected rows of a quantized table, with their codes and qparams. */
export function quantizedRows(
  where: string,
  q: AnyQuantized,
  indices: NumberArray,
  length: number,
): QuantizedTensorInput {
  const { data, dtype, scale } = q;
  const { axis, groupSize, qscheme, zeroPoint, offset } = fieldsOf(q) as {
    axis?: number;
    groupSize?: number;
    qscheme?: string;
    zeroPoint?: Numbers;
    offset?: Numbers;
  };
  const width = groupSize === undefined ? 1 : Math.ceil(length / groupSize);
  const pick = (each: Numbers | undefined) =>
    typeof each !== "object"
      ? each
      : axis === 1 || (axis === undefined && groupSize === undefined)
        ? each.data
        : rowsOf(where, each.data, width, indices);
  return {
    data: rowsOf(where, data, length, indices),
    shape: [indices.length, length],
    dtype,
    scale: pick(scale),
    zeroPoint: pick(zeroPoint),
    offset: pick(offset),
    axis,
    groupSize,
    qscheme,
  } as unknown as QuantizedTensorInput;
}

/**
 * Rows of a table, selected by index. A quantized table stays quantized: `forward` dequantizes
 * the selected rows.
 *
 * Source: torch.nn.Embedding, with the weight given.
 *
 * @example
 * const table = new Embedding(tensor([[1, 2], [3, 4]]));
 * table.forward(Int32Array.of(1, 1, 0)).shape; // [3, 2]
 */
export class Embedding extends Layer {
  static override readonly typeName = "Embedding";
  /**
   * float32 of shape [numEmbeddings, embeddingDim]; a copy of the argument, on which the layer computes: writing to
   * its values changes the layer. Of a quantized table its values, dequantized on each access.
   */
  declare readonly weight: Tensor;
  /** The table as given, if it is quantized; a copy on each access. */
  declare readonly quantizedWeight: AnyQuantizedTensor | TorchQuantizedTensor | undefined;
  /** The number of rows of the table. */
  declare readonly numEmbeddings: number;
  /** The number of values of a row. */
  declare readonly embeddingDim: number;

  static {
    explainReceivers(Embedding, "Embedding", isLayer);
  }

  /**
   * @param weight  float32 of shape [numEmbeddings, embeddingDim], or a quantized tensor of that shape
   *   with one scale, or one per row, column or group
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   * @throws {TypeError} `ZP_INVALID_TENSOR`
   */
  constructor(weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput) {
    super();
    const where = "Embedding";
    const core = activeCore(where);
    const axes = "numEmbeddings, embeddingDim";
    const isQuantized = looksQuantized(weight);
    const own = isQuantized
      ? checkTable(where, checkQuantizedWeight(where, weight, axes))
      : checkWeight(where, weight, axes);
    const [numEmbeddings, embeddingDim] = own.shape as [number, number];
    if (isQuantized) {
      const get = setQuantized(this, core, own as AnyQuantized, undefined);
      define(this, "weight", { get });
    } else {
      const weight = own as Tensor;
      parameters.set(this, { core, weight, quantized: undefined, bias: undefined });
      fixFields<Embedding>(this, { weight: shown(own as Tensor) });
    }
    showQuantized(this, quantizedOf(this));
    fixFields<Embedding>(this, { numEmbeddings, embeddingDim });
  }

  /**
   * @param x  indices of any shape: integers from 0 to numEmbeddings − 1
   * @returns float32 of shape [...x.shape, embeddingDim]
   * @throws {RangeError} `ZP_INVALID_TENSOR` for an index that is out of range or no integer
   */
  forward(x: TensorInput): Tensor {
    const where = "Embedding.forward";
    const { numEmbeddings, embeddingDim } = this;
    const { data, shape } = checkIndices(where, x, numEmbeddings);
    const { core, quantized } = parametersOf(this);
    if (quantized !== undefined) {
      const rows = quantizedRows(where, quantized, data, embeddingDim);
      return new Tensor(runOn(core, () => dequantize(rows)).data, [...shape, embeddingDim]);
    }
    const { weight } = parametersOf(this);
    checkStillThere(where, weight.data, numEmbeddings * embeddingDim);
    const rows = rowsOf(where, weight.data, embeddingDim, data);
    return new Tensor(rows, [...shape, embeddingDim]);
  }

  override get sizeInBytes(): number {
    return weightBytes(this, this.numEmbeddings * this.embeddingDim);
  }

  protected override extraText(): string {
    const { numEmbeddings, embeddingDim } = this;
    const quantized = quantizedOf(this);
    const how = quantized ? `, ${qparamsText(quantized as QuantizedTensor)}` : "";
    return `${numEmbeddings}, ${embeddingDim}${how}`;
  }
}

/** Refuses scales that are not one for all, or one per row, column or group. */
function checkTable(where: string, q: AnyQuantized): AnyQuantized {
  const { axis, groupSize } = fieldsOf(q);
  const isOne = typeof q.scale === "number" || q.scale.data.length === 1;
  if (isOne || axis !== undefined || groupSize !== undefined) return q;
  throw rangeError(
    "ZP_SHAPE_MISMATCH",
    where,
    `weight.axis or weight.groupSize must say which values share a scale, for scales of shape ` +
      showShape(q.scale.shape),
  );
}
