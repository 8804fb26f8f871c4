// The linear layer.

import { define, fixFields } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import { explainReceivers } from "../../base/receivers.js";
import { activeCore, runOn } from "../../core/init.js";
import { isLayer, Layer } from "../../linear/layer.js";
import { checkAccumulate, runLinear } from "../../linear/linear.js";
import type { Accumulate } from "../../linear/multiply.js";
import { QuantizedLinear } from "../../linear/quantized-linear.js";
import { fromTorch, weightCodes } from "../../linear/weight.js";
import { checkQuantized } from "../../quantize/check.js";
import {
  type AnyQuantizedTensor,
  type QuantizedTensor,
  type QuantizedTensorInput,
  qparamsText,
} from "../../quantize/quantized-tensor.js";
import { looksQuantized, type TensorInput } from "../../tensor/check.js";
import type { Tensor } from "../../tensor/tensor.js";
import type { TorchQuantizedTensor, TorchQuantizedTensorInput } from "../../torch/tensor.js";
import {
  biasBytes,
  checkParameter,
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
 * A quantized weight stays quantized: `forward` runs on its codes, packed at the first call, and
 * `prepare` and `quantizeDynamic` leave the layer as it is.
 *
 * Source: torch.nn.Linear, with the weight given.
 *
 * @example new Linear(tensor([[1, 2], [3, 4]]), { bias: tensor([0, 1]) })
 * @example new Linear(quantize(weight, { dtype: "int4", groupSize: 32 }))
 */
export class Linear extends Layer {
  static override readonly typeName = "Linear";
  /**
   * float32 of shape [outFeatures, inFeatures]; a copy of the argument, on which the layer computes: writing to its
   * values changes the layer. Of a quantized weight its values, dequantized on each access.
   */
  declare readonly weight: Tensor;
  /** The weight as given, if it is quantized; a copy on each access. */
  declare readonly quantizedWeight: AnyQuantizedTensor | TorchQuantizedTensor<"qint8"> | undefined;
  /** float32 of shape [outFeatures]; a copy of the argument, on which the layer computes. */
  declare readonly bias: Tensor | undefined;
  /** Values per row of input. */
  declare readonly inFeatures: number;
  /** Values per row of output. */
  declare readonly outFeatures: number;
  /** The precision of sums. */
  declare readonly accumulate: Accumulate;

  #packed: QuantizedLinear | undefined;

  static {
    explainReceivers(Linear, "Linear", isLayer);
  }

  /**
   * @param weight  float32 of shape [outFeatures, inFeatures], or a quantized tensor of that shape, as
   *   `linear` takes it
   * @param options.bias  float32 of shape [outFeatures]; default: none
   * @param options.accumulate  `"exact"` (default) or `"float32"`, see `linear`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_UNKNOWN_OPTION`
   */
  constructor(
    weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
    options?: LinearLayerOptions,
  ) {
    super();
    const where = "Linear";
    const core = activeCore(where);
    const isQuantized = looksQuantized(weight);
    const own = isQuantized ? checkQuantizedWeight(where, weight) : checkWeight(where, weight);
    const [outFeatures, inFeatures] = own.shape as [number, number];
    const { bias, accumulate } = checkOptions(where, options, ["bias", "accumulate"]);
    const precision = checkAccumulate(where, accumulate);
    const ownBias = checkParameter(where, "options.bias", bias, [outFeatures]);
    if (isQuantized) {
      const quantized = own as AnyQuantizedTensor | TorchQuantizedTensor<"qint8">;
      weightCodes(where, checkQuantized(where, "weight", fromTorch(where, quantized), false));
      const get = setQuantized(this, core, quantized, ownBias);
      define(this, "weight", { get });
    } else {
      const weight = own as Tensor;
      parameters.set(this, { core, weight, quantized: undefined, bias: ownBias });
      fixFields<Linear>(this, { weight: shown(own as Tensor) });
    }
    showQuantized(this, quantizedOf(this));
    fixFields<Linear>(this, { bias: ownBias && shown(ownBias) });
    fixFields<Linear>(this, { inFeatures, outFeatures, accumulate: precision });
  }

  /**
   * @param input  float32 of shape [..., inFeatures]
   * @returns float32 of shape [..., outFeatures]
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`
   */
  forward(input: TensorInput): Tensor {
    const { core, quantized, bias } = parametersOf(this);
    const { accumulate } = this;
    if (quantized === undefined) {
      const { weight } = parametersOf(this);
      return runLinear(core, "Linear.forward", input, weight, bias, { accumulate });
    }
    const weight = quantized as QuantizedTensor;
    this.#packed ??= runOn(core, () => new QuantizedLinear(weight, { bias, accumulate }));
    return this.#packed.forward(input);
  }

  override get sizeInBytes(): number {
    return weightBytes(this, this.inFeatures * this.outFeatures) + biasBytes(this);
  }

  protected override extraText(): string {
    const { inFeatures, outFeatures, bias } = this;
    const hasBias = bias === undefined ? "False" : "True";
    const quantized = quantizedOf(this);
    const how = quantized ? `, ${qparamsText(quantized as QuantizedTensor)}` : "";
    return `in_features=${inFeatures}, out_features=${outFeatures}, bias=${hasBias}${how}`;
  }
}
