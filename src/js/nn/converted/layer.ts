// The base of converted layers, the values between them, and layers that stay float32.

import { ownFields } from "../../base/fields.js";
import { copyOf } from "../../base/typed-arrays.js";
import type { Core } from "../../core/core.js";
import { runOn } from "../../core/init.js";
import { computesAs, type Layer } from "../../linear/layer.js";
import { QuantizedLinear } from "../../linear/quantized-linear.js";
import { dequantize } from "../../quantize/dequantize.js";
import type { AnyQuantizedTensor } from "../../quantize/quantized-tensor.js";
import { readQuantized, type TensorInput } from "../../tensor/check.js";
import type { Tensor } from "../../tensor/tensor.js";
import { areOfChannels, type TensorQParams } from "../../torch/scales.js";
import {
  checkQTensor,
  looksTorchQuantized,
  perTensorTensor,
  type TorchQuantizedTensor,
} from "../../torch/tensor.js";
import { ReLU } from "../layers/activations.js";
import { quantizedOf } from "../layers/parameters.js";

/** Quint8 codes with one scale, passed from one layer to the next. Internal: never returned to users. */
export class CodesFlow {
  declare readonly codes: Uint8Array;
  declare readonly shape: readonly number[];
  declare readonly qparams: TensorQParams;

  constructor(codes: Uint8Array, shape: readonly number[], qparams: TensorQParams) {
    this.codes = codes;
    this.shape = shape;
    this.qparams = qparams;
  }
}

/** Input or output of a layer. User input and custom layers may provide any of PyTorch's quantized tensors. */
export type Flow = TensorInput | Tensor | CodesFlow;

/** The float values of a layer's input. */
export function floatsOf(core: Core, flow: Flow): TensorInput {
  if (flow instanceof CodesFlow) {
    const { codes, shape, qparams } = flow;
    const q = perTensorTensor(codes, shape, "quint8", qparams);
    return runOn(core, () => dequantize(q));
  }
  const given = readQuantized(flow);
  if (!looksTorchQuantized(given)) return given as TensorInput;
  return runOn(core, () => dequantize(given as TorchQuantizedTensor));
}

/**
 * A layer's input as codes, if they are quint8 with one scale; else undefined.
 * @param flow  result of `readQuantized`
 */
export function codesOf(where: string, flow: unknown): CodesFlow | undefined {
  if (flow instanceof CodesFlow) return flow;
  if (!looksTorchQuantized(flow)) return undefined;
  const { codes, shape, dtype, qparams } = checkQTensor(where, "input", flow);
  if (dtype !== "quint8" || areOfChannels(qparams)) return undefined;
  return new CodesFlow(codes as Uint8Array, shape, qparams);
}

/** The arithmetic of a layer of a converted model. */
export type LayerMethod = "float32" | "static" | "dynamic" | "weight-only";

/** Properties of a converted layer. */
export interface Parts<L extends Layer> {
  readonly name: string;
  /** The float layer. */
  readonly layer: L;
  readonly method: LayerMethod;
  /** Bytes of the parameters in stored form. */
  readonly sizeInBytes: number;
  /** The quantized weight, if any. */
  readonly q?: AnyQuantizedTensor | TorchQuantizedTensor;
  /** Whether the following ReLU is part of the layer. */
  readonly fused?: boolean;
  /** Bits per code, at most those of the dtype. */
  readonly bits?: number;
  /** Dynamic layers: whether 7 bits are used for activations. */
  readonly reduceRange?: boolean;
  /** Static layers: qparams of a float input, unless the previous layer is static. */
  readonly input?: TensorQParams | undefined;
  /** Static layers: qparams of the output. */
  readonly output?: TensorQParams;
}

/** A layer of a converted model. */
export abstract class ConvertedLayer<L extends Layer = Layer> {
  declare readonly parts: Parts<L>;
  declare readonly core: Core;

  constructor(core: Core, parts: Parts<L>) {
    this.core = core;
    this.parts = ownFields(parts) as unknown as Parts<L>;
  }

  get name(): string {
    return this.parts.name;
  }

  /** The float layer. */
  get layer(): L {
    return this.parts.layer;
  }

  abstract run(flow: Flow): Flow;

  /** The float values of a layer's input. */
  toFloats(flow: Flow): TensorInput {
    return floatsOf(this.core, flow);
  }

  dispose(): void {}

  abstract toString(): string;
}

/** The method of a layer that a model holds as it is. */
const methodOf = (layer: Layer): LayerMethod =>
  layer instanceof QuantizedLinear && layer.activations === "dynamic"
    ? "dynamic"
    : layer instanceof QuantizedLinear || quantizedOf(layer) !== undefined
      ? "weight-only"
      : "float32";

/** A layer that stays as it is. A ReLU also maps codes to codes. */
export class UnchangedLayer extends ConvertedLayer {
  constructor(core: Core, name: string, layer: Layer) {
    super(core, { name, layer, method: methodOf(layer), sizeInBytes: layer.sizeInBytes });
  }

  run(flow: Flow): Flow {
    const given = readQuantized(flow) as Flow;
    const isReLU = computesAs(this.layer, ReLU);
    const codes = isReLU ? codesOf("ReLU.forward", given) : undefined;
    return codes ? reluOfCodes(codes) : this.layer.forward(this.toFloats(given));
  }

  toString(): string {
    return String(this.layer);
  }
}

/** max(q, zero point): the codes of max(x, 0), with the same qparams. Source: torch.relu. */
function reluOfCodes({ codes, shape, qparams }: CodesFlow): CodesFlow {
  const out = copyOf("ReLU.forward", codes, Uint8Array);
  const { zeroPoint } = qparams;
  for (let i = 0; i < out.length; i++) out[i] = Math.max(out[i], zeroPoint);
  return new CodesFlow(out, shape, qparams);
}
