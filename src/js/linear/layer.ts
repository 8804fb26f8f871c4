// The base of all layers.

import { refuseClones, refuseJSON } from "../base/cloning.js";
import { INSPECT, OWN } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import type { TensorInput } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";

/** Whether an object was made as a layer. */
export let isLayer: (object: object) => boolean;

/** A layer of a model: from a tensor to a tensor. */
export abstract class Layer {
  /** The name of this class in `QConfigMapping.setObjectType`. */
  static readonly typeName: string = "Layer";
  /** Makes the class nominal, so that objects of similar shape are no layers. */
  readonly #layer = true;

  static {
    isLayer = (object) => #layer in object;
    explainReceivers(Layer, "Layer", isLayer);
  }

  /** @internal */
  constructor() {
    refuseClones(this);
  }

  /** The name of this layer's class in `QConfigMapping.setObjectType`. */
  get typeName(): string {
    return (this.constructor as typeof Layer).typeName;
  }

  /** @internal */
  get [OWN](): true {
    return true;
  }

  /** Computes the layer's output. */
  abstract forward(x: TensorInput): Tensor;

  /** Bytes of the layer's parameters: in float32, or in quantized form with codes packed. */
  get sizeInBytes(): number {
    return 0;
  }

  /** The layer as PyTorch prints it. */
  toString(): string {
    return `${this.typeName}(${this.extraText()})`;
  }

  /** @internal @throws {TypeError} `ZP_NOT_CLONEABLE` */
  toJSON(): never {
    return refuseJSON();
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** @internal */
  protected extraText(): string {
    return "";
  }
}

/** A class of layers. */
type LayerClass<L extends Layer> = (abstract new (...args: never) => L) & { readonly prototype: L };

/** Whether a layer has the `forward` of a class, not that of a subclass that overrides it. */
export function computesAs<L extends Layer>(
  layer: Layer | undefined,
  type: LayerClass<L>,
): layer is L {
  return layer instanceof type && layer.forward === type.prototype.forward;
}
