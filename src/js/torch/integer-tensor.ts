// Tensors of integers, printed as by PyTorch.

import { INSPECT } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import { formatTensor } from "../tensor/print.js";

/** Integers in row-major order with a shape, printed as by PyTorch. Plain data. */
export class IntegerTensor<
  Data extends Int8Array | Uint8Array | Int32Array = Int8Array | Uint8Array | Int32Array,
> {
  /** The values, the last axis varying fastest. */
  declare readonly data: Data;
  /** The length of each axis, outermost first. */
  declare readonly shape: readonly number[];
  /** The dtype of PyTorch's tensor; int64 values are stored as int32. */
  declare readonly dtype: "int8" | "uint8" | "int32" | "int64";

  static {
    explainReceivers(IntegerTensor, "IntegerTensor", (object) => Object.hasOwn(object, "data"));
  }

  /** @internal */
  constructor(data: Data, shape: readonly number[], dtype: IntegerTensor["dtype"]) {
    this.data = data;
    this.shape = shape;
    this.dtype = dtype;
  }

  /**
   * The tensor as PyTorch prints it.
   * @example
   * const q = quantizePerTensor(tensor([5.8, 8.6]), 0.1, 0, "qint8");
   * String(intRepr(q)) // "tensor([58, 86], dtype=torch.int8)"
   */
  toString(): string {
    return formatTensor(this);
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}
