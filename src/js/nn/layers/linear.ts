// The linear layer.

import { fixFields } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import { activeCore } from "../../core/init.js";
import { checkAccumulate, runLinear } from "../../linear/linear.js";
import type { Accumulate } from "../../linear/multiply.js";
import type { TensorInput } from "../../tensor/check.js";
import type { Tensor } from "../../tensor/tensor.js";
import { Layer } from "./layer.js";
import {
  biasBytes,
  checkParameter,
  checkWeight,
  parameters,
  parametersOf,
  shown,
} from "./parameters.js";

/** Options of `Linear`. */
export interface LinearLayerOptions {
  /** float32 of shape [outFeatures]. Default: none. */
  bias?: TensorInput | null | undefined;
  /** The precision of sums, as in `linear`; also of the layer that is made of it by weight-only quantization. Default: `"exact"`. */
  accumulate?: Accumulate | undefined;
}

/**
 * input · weightᵀ + bias, as `linear` computes it.
 *
 * Source: torch.nn.Linear, with the weight given.
 *
 * @example new Linear(tensor([[1, 2], [3, 4]]), { bias: tensor([0, 1]) })
 */
export class Linear extends Layer {
  static override readonly typeName = "Linear";
  /** float32 of shape [outFeatures, inFeatures]; a copy of the argument. */
  declare readonly weight: Tensor;
  /** float32 of shape [outFeatures]; a copy of the argument. */
  declare readonly bias: Tensor | undefined;
  /** Values per row of input. */
  declare readonly inFeatures: number;
  /** Values per row of output. */
  declare readonly outFeatures: number;
  /** The precision of sums. */
  declare readonly accumulate: Accumulate;

  /**
   * @param weight  float32 of shape [outFeatures, inFeatures]
   * @param options.bias  float32 of shape [outFeatures]; default: none
   * @param options.accumulate  `"exact"` (default) or `"float32"`, see `linear`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_UNKNOWN_OPTION`
   */
  constructor(weight: TensorInput, options?: LinearLayerOptions) {
    super();
    const where = "Linear";
    const core = activeCore(where);
    const own = checkWeight(where, weight);
    const [outFeatures, inFeatures] = own.shape as [number, number];
    const { bias, accumulate } = checkOptions(where, options, ["bias", "accumulate"]);
    const precision = checkAccumulate(where, accumulate);
    const ownBias = checkParameter(where, "options.bias", bias, [outFeatures]);
    parameters.set(this, { core, weight: own, bias: ownBias });
    fixFields<Linear>(this, { weight: shown(own), bias: ownBias && shown(ownBias) });
    fixFields<Linear>(this, { inFeatures, outFeatures, accumulate: precision });
  }

  /**
   * @param input  float32 of shape [..., inFeatures]
   * @returns float32 of shape [..., outFeatures]
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   */
  forward(input: TensorInput): Tensor {
    const { core, weight, bias } = parametersOf(this);
    const { accumulate } = this;
    return runLinear(core, "Linear.forward", input, weight, bias, { accumulate });
  }

  override get sizeInBytes(): number {
    return 4 * this.inFeatures * this.outFeatures + biasBytes(this);
  }

  protected override extraText(): string {
    const { inFeatures, outFeatures, bias } = this;
    const hasBias = bias === undefined ? "False" : "True";
    return `in_features=${inFeatures}, out_features=${outFeatures}, bias=${hasBias}`;
  }
}
