// packed weight -> codes.

import { wrongKind } from "../base/check.js";
import { newArray } from "../base/typed-arrays.js";
import type { AnyQuantizedTensor } from "../quantize/quantized-tensor.js";
import { Tensor } from "../tensor/tensor.js";
import { packedOf, QuantizedLinear } from "./quantized-linear.js";

/** The bias of a layer, if it has one; a copy. */
export function unpackBias(where: string, layer: QuantizedLinear): Tensor | undefined {
  const packed = packedOf(layer);
  packed.checkAlive(where);
  if (packed.biasAt === 0) return undefined;
  const bias = newArray(where, Float32Array, packed.outFeatures);
  packed.core.memory.read(packed.biasAt, bias);
  return new Tensor(bias, [packed.outFeatures]);
}

/** The parameters of a `QuantizedLinear`. */
export interface UnpackedLinear {
  /** Codes, shape and qparams, as `dequantize` takes them. */
  readonly weight: AnyQuantizedTensor;
  /** float32 of shape [outFeatures]; undefined without one. */
  readonly bias: Tensor | undefined;
}

/**
 * Gives out the weight and bias of a layer, as copies: the codes that it has packed, bit for bit.
 * @throws {TypeError} `ZP_INVALID_MODEL` if it is no `QuantizedLinear`; `ZP_DISPOSED`
 * @example unpackLinear(new QuantizedLinear(tensor([[1, 2]]))).weight.data // Int8Array [64, 127]
 */
export function unpackLinear(layer: QuantizedLinear): UnpackedLinear {
  const where = "unpackLinear";
  if (!(layer instanceof QuantizedLinear)) {
    throw wrongKind("ZP_INVALID_MODEL", where, "layer", "a QuantizedLinear", layer);
  }
  const { inFeatures, outFeatures, qparams } = layer;
  const packed = packedOf(layer);
  packed.checkAlive(where);
  const data = packed.codes(where, 0, outFeatures);
  const weight = { data, shape: [outFeatures, inFeatures], ...qparams } as AnyQuantizedTensor;
  return { weight, bias: unpackBias(where, layer) };
}
