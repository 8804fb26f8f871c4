// Linear layers with quantized weights, float32 input and float32 output.

import { runOn } from "../../core/init.js";
import type { QuantizedLinearOptions } from "../../linear/layer-options.js";
import { QuantizedLinear } from "../../linear/quantized-linear.js";
import { type QuantizedTensor, qparamsText, storedBytes } from "../../quantize/quantized-tensor.js";
import type { Linear } from "../layers/linear.js";
import { biasBytes, coreOf, parametersOf } from "../layers/parameters.js";
import { ConvertedLayer, type Flow, type Parts } from "./layer.js";
import { featuresText, int8Bytes, perOutputText, type QuantizedWeight } from "./static-linear.js";

/** A linear layer with quantized weights and float input. */
class QuantizedWeightLinear extends ConvertedLayer<Linear> {
  readonly #quantized: QuantizedLinear;
  readonly #text: string;

  constructor(parts: Parts<Linear>, quantized: QuantizedLinear, text: string) {
    super(coreOf(parts.layer), parts);
    this.#quantized = quantized;
    this.#text = text;
  }

  run(flow: Flow): Flow {
    return this.#quantized.forward(this.toFloats(flow));
  }

  override dispose(): void {
    this.#quantized.dispose();
  }

  toString(): string {
    return this.#text;
  }
}

/** A linear layer that quantizes its input on the fly. */
export function dynamicLinear(
  name: string,
  layer: Linear,
  weight: QuantizedWeight,
  reduceRange: boolean,
): ConvertedLayer {
  const sizeInBytes = int8Bytes(weight, layer);
  const { q } = weight;
  const parts = { name, layer, method: "dynamic", sizeInBytes, q, reduceRange } as const;
  const text = `dtype=torch.qint8, ${perOutputText(weight)}`;
  const options = { activations: "dynamic", reduceRange } as const;
  return quantizedWeightLinear(parts, options, "DynamicQuantizedLinear", text);
}

/**
 * A linear layer with quantized weights and float32 activations.
 * @param bits  bits per code, at most the dtype's
 */
export function weightOnlyLinear(
  name: string,
  layer: Linear,
  q: QuantizedTensor,
  bits: number,
): ConvertedLayer {
  const sizeInBytes = storedBytes(q, bits) + biasBytes(layer);
  const parts = { name, layer, method: "weight-only", sizeInBytes, q, bits } as const;
  const { accumulate } = layer;
  return quantizedWeightLinear(parts, { accumulate }, "WeightOnlyLinear", qparamsText(q));
}

/** @param text  printed after the layer's features */
function quantizedWeightLinear(
  parts: Parts<Linear> & Pick<Required<Parts<Linear>>, "q">,
  options: QuantizedLinearOptions,
  type: string,
  text: string,
): ConvertedLayer {
  const { layer, q } = parts;
  const own = { ...options, bias: parametersOf(layer).bias };
  const quantized = runOn(coreOf(layer), () => new QuantizedLinear(q as QuantizedTensor, own));
  return new QuantizedWeightLinear(parts, quantized, `${type}(${featuresText(layer)}, ${text})`);
}
