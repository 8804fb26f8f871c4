// Softmax.

import { checkInteger } from "../../base/check.js";
import { fixFields } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import { explainReceivers } from "../../base/receivers.js";
import { isLayer, Layer } from "../../linear/layer.js";
import { checkTensor, type TensorInput } from "../../tensor/check.js";
import { axisOf } from "../../tensor/granularity.js";
import { aroundAxis } from "../../tensor/shape.js";
import { copyTensor, type Tensor } from "../../tensor/tensor.js";

/** Options of `Softmax`. */
export interface SoftmaxOptions {
  /** The axis along which values add up to 1; negative counts from the end. Default: -1. */
  axis?: number | undefined;
}

/**
 * eˣ / Σ eˣ along an axis, in double precision and rounded once.
 *
 * Source: torch.nn.Softmax.
 *
 * @example new Softmax().forward(tensor([0, 0])).data // Float32Array [0.5, 0.5]
 */
export class Softmax extends Layer {
  static override readonly typeName = "Softmax";
  /** The axis along which values add up to 1. */
  declare readonly axis: number;

  static {
    explainReceivers(Softmax, "Softmax", isLayer);
  }

  /** @throws {TypeError|RangeError} `ZP_INVALID_OPTION`, `ZP_UNKNOWN_OPTION` */
  constructor(options?: SoftmaxOptions) {
    super();
    const { axis } = checkOptions("Softmax", options, ["axis"]);
    fixFields<Softmax>(this, {
      axis: checkInteger("Softmax", "options.axis", axis, -1, -64, 63),
    });
  }

  /**
   * @param x  float32 of a shape that has the axis. @returns float32 of the same shape
   * @throws {RangeError} `ZP_INVALID_AXIS`
   */
  forward(x: TensorInput): Tensor {
    const where = "Softmax.forward";
    const checked = checkTensor(where, "x", x);
    const { shape } = checked;
    const axis = axisOf(where, "axis", this.axis, shape);
    const result = copyTensor(where, checked);
    if (checked.size === 0) return result;
    const [outer, length, inner] = aroundAxis(shape, axis);
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        softmax(result.data, o * length * inner + i, length, inner);
      }
    }
    return result;
  }

  protected override extraText(): string {
    return `dim=${this.axis}`;
  }
}

function softmax(data: Float32Array, start: number, length: number, stride: number): void {
  const end = start + length * stride;
  let max = -Infinity;
  for (let i = start; i < end; i += stride) max = Math.max(max, data[i]);
  let sum = 0;
  for (let i = start; i < end; i += stride) sum += Math.exp(data[i] - max);
  for (let i = start; i < end; i += stride) data[i] = Math.exp(data[i] - max) / sum;
}
