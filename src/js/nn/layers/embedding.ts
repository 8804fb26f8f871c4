// Embedding: rows of a table, selected by index.

import type { Codes } from "../../base/dtype.js";
import { rangeError } from "../../base/errors.js";
import { fixFields } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import {
  checkStillThere,
  copyOf,
  type NumberArray,
  newArrayLike,
  setArray,
  subarrayOf,
} from "../../base/typed-arrays.js";
import { activeCore } from "../../core/init.js";
import { type CheckedTensor, checkTensor, type TensorInput } from "../../tensor/check.js";
import { Tensor } from "../../tensor/tensor.js";
import { Layer } from "./layer.js";
import { checkWeight, parameters, parametersOf, shown } from "./parameters.js";

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

/**
 * Rows of a table, selected by index.
 *
 * Source: torch.nn.Embedding, with the weight given.
 *
 * @example
 * const table = new Embedding(tensor([[1, 2], [3, 4]]));
 * table.forward(Int32Array.of(1, 1, 0)).shape; // [3, 2]
 */
export class Embedding extends Layer {
  static override readonly typeName = "Embedding";
  /** float32 of shape [numEmbeddings, embeddingDim]; a copy of the argument. */
  declare readonly weight: Tensor;
  /** The number of rows of the table. */
  declare readonly numEmbeddings: number;
  /** The number of values of a row. */
  declare readonly embeddingDim: number;

  /**
   * @param weight  float32 of shape [numEmbeddings, embeddingDim]
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   * @throws {TypeError} `ZP_INVALID_TENSOR`
   */
  constructor(weight: TensorInput) {
    super();
    const where = "Embedding";
    const core = activeCore(where);
    const own = checkWeight(where, weight, "numEmbeddings, embeddingDim");
    const [numEmbeddings, embeddingDim] = own.shape as [number, number];
    parameters.set(this, { core, weight: own, bias: undefined });
    fixFields<Embedding>(this, { weight: shown(own), numEmbeddings, embeddingDim });
  }

  /**
   * @param x  indices of any shape: integers from 0 to numEmbeddings − 1
   * @returns float32 of shape [...x.shape, embeddingDim]
   * @throws {RangeError} `ZP_INVALID_TENSOR` for an index that is out of range or no integer
   */
  forward(x: TensorInput): Tensor {
    const where = "Embedding.forward";
    const { weight } = parametersOf(this);
    const [numEmbeddings, embeddingDim] = weight.shape;
    const { data, shape } = checkIndices(where, x, numEmbeddings);
    checkStillThere(where, weight.data, numEmbeddings * embeddingDim);
    const rows = rowsOf(where, weight.data, embeddingDim, data);
    return new Tensor(rows, [...shape, embeddingDim]);
  }

  override get sizeInBytes(): number {
    return 4 * this.numEmbeddings * this.embeddingDim;
  }

  protected override extraText(): string {
    return `${this.numEmbeddings}, ${this.embeddingDim}`;
  }
}
