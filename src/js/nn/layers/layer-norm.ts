// Layer normalization.

import { checkFinite } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { fixFields } from "../../base/fields.js";
import { showShape } from "../../base/format-value.js";
import { checkOptions } from "../../base/options.js";
import { explainReceivers } from "../../base/receivers.js";
import { checkStillThere, subarrayOf } from "../../base/typed-arrays.js";
import { isLayer, Layer } from "../../linear/layer.js";
import { checkTensor, type TensorInput } from "../../tensor/check.js";
import { formatShape } from "../../tensor/print.js";
import { floatRepr } from "../../tensor/python-repr.js";
import { checkShape, sameShape, sizeOf } from "../../tensor/shape.js";
import { copyTensor, type Tensor } from "../../tensor/tensor.js";
import { checkParameter, shown } from "./parameters.js";

/** Whether a shape ends with the given axes. */
const endsWith = (shape: readonly number[], own: readonly number[]): boolean =>
  sameShape(shape.slice(-own.length), own);

/** Options of `LayerNorm`. */
export interface LayerNormOptions {
  /** float32 of the normalized shape. Default: ones. */
  weight?: TensorInput | null | undefined;
  /** float32 of the normalized shape. Default: zeros. */
  bias?: TensorInput | null | undefined;
  /** Added to the variance. Default: 1e-5. */
  eps?: number | undefined;
}

/**
 * (x − mean) / √(variance + eps) · weight + bias over the last axes, in double precision and rounded
 * once.
 *
 * Source: torch.nn.LayerNorm.
 *
 * @example
 * new LayerNorm(2).forward(tensor([[1, 3]])).data
 * // Float32Array [-0.9999949932098389, 0.9999949932098389]
 */
export class LayerNorm extends Layer {
  static override readonly typeName = "LayerNorm";
  /** The lengths of the last axes of the input, over which it is normalized. */
  declare readonly normalizedShape: readonly number[];
  /** float32 of shape `normalizedShape`, the factor; a copy of the argument, on which the layer computes. */
  declare readonly weight: Tensor | undefined;
  /** float32 of shape `normalizedShape`, the summand; a copy of the argument, on which the layer computes. */
  declare readonly bias: Tensor | undefined;
  /** Added to the variance. */
  declare readonly eps: number;
  readonly #weight: Tensor | undefined;
  readonly #bias: Tensor | undefined;

  static {
    explainReceivers(LayerNorm, "LayerNorm", isLayer);
  }

  /**
   * @param normalizedShape  the lengths of the last axes (at least one), or a number for one axis
   * @throws {TypeError|RangeError} `ZP_INVALID_SHAPE`, `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OPTION`
   */
  constructor(normalizedShape: number | readonly number[], options?: LayerNormOptions) {
    super();
    const where = "LayerNorm";
    const { weight, bias, eps } = checkOptions(where, options, ["weight", "bias", "eps"]);
    const lengths = typeof normalizedShape === "number" ? [normalizedShape] : normalizedShape;
    const shape = Object.freeze(checkShape(where, "normalizedShape", lengths));
    if (shape.length === 0) {
      throw rangeError("ZP_INVALID_SHAPE", where, "normalizedShape must have lengths, got []");
    }
    this.#weight = checkParameter(where, "options.weight", weight, shape);
    this.#bias = checkParameter(where, "options.bias", bias, shape);
    fixFields<LayerNorm>(this, {
      normalizedShape: shape,
      weight: this.#weight && shown(this.#weight),
      bias: this.#bias && shown(this.#bias),
      eps: checkFinite(where, "options.eps", eps, 1e-5),
    });
  }

  /**
   * @param x  float32 of shape [..., …normalizedShape]. @returns float32 of the same shape
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   */
  forward(x: TensorInput): Tensor {
    const where = "LayerNorm.forward";
    const checked = checkTensor(where, "x", x);
    const { shape } = checked;
    const own = this.normalizedShape;
    if (!endsWith(shape, own)) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        where,
        `x must have ${showShape(own)} for its last axes, got shape ${showShape(shape)}`,
      );
    }
    const result = copyTensor(where, checked);
    const { data } = result;
    const count = sizeOf(own);
    for (const each of [this.#weight, this.#bias]) {
      if (each !== undefined) checkStillThere(where, each.data, count);
    }
    for (let start = 0; start < data.length; start += count) {
      this.#normalize(subarrayOf(data, start, start + count));
    }
    return result;
  }

  #normalize(row: Float32Array): void {
    const { eps } = this;
    const weight = this.#weight;
    const bias = this.#bias;
    let sum = 0;
    for (let i = 0; i < row.length; i++) sum += row[i];
    const mean = sum / row.length;
    let squares = 0;
    for (let i = 0; i < row.length; i++) squares += (row[i] - mean) ** 2;
    const scale = 1 / Math.sqrt(squares / row.length + eps);
    for (let i = 0; i < row.length; i++) {
      row[i] = (row[i] - mean) * scale * (weight?.data[i] ?? 1) + (bias?.data[i] ?? 0);
    }
  }

  override get sizeInBytes(): number {
    const given = [this.#weight, this.#bias].filter((each) => each !== undefined);
    return given.length * 4 * sizeOf(this.normalizedShape);
  }

  protected override extraText(): string {
    const { normalizedShape, eps, weight } = this;
    const affine = weight === undefined ? "False" : "True";
    return `${formatShape(normalizedShape)}, eps=${floatRepr(eps)}, elementwise_affine=${affine}`;
  }
}
