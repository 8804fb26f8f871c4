// Elementwise layers.

import { explainReceivers } from "../../base/receivers.js";
import { isLayer, Layer } from "../../linear/layer.js";
import { checkTensor, type TensorInput } from "../../tensor/check.js";
import { copyTensor, type Tensor } from "../../tensor/tensor.js";

/** An elementwise layer. The function is private: a subclass can change only `forward`. */
abstract class Elementwise extends Layer {
  readonly #map: (value: number) => number;

  static {
    explainReceivers(Elementwise, "Layer", isLayer);
  }

  /** @internal */
  constructor(map: (value: number) => number) {
    super();
    this.#map = map;
  }

  /** @param x  float32, any shape. @returns float32 of the same shape */
  forward(x: TensorInput): Tensor {
    const where = `${this.typeName}.forward`;
    const result = copyTensor(where, checkTensor(where, "x", x));
    const { data } = result;
    for (let i = 0; i < data.length; i++) data[i] = this.#map(data[i]);
    return result;
  }
}

/**
 * max(x, 0); NaN and -0 are unchanged.
 *
 * Source: torch.nn.ReLU.
 *
 * @example new ReLU().forward(tensor([-1, 2])).data // Float32Array [0, 2]
 */
export class ReLU extends Elementwise {
  static override readonly typeName = "ReLU";

  constructor() {
    super((value) => (value < 0 ? 0 : value));
  }
}

/**
 * 1 / (1 + e⁻ˣ), in double precision and rounded once. The last bit depends on the engine's Math.exp.
 *
 * Source: torch.nn.Sigmoid.
 *
 * @example new Sigmoid().forward(tensor([0])).data // Float32Array [0.5]
 */
export class Sigmoid extends Elementwise {
  static override readonly typeName = "Sigmoid";

  constructor() {
    super((value) => 1 / (1 + Math.exp(-value)));
  }
}

/**
 * The hyperbolic tangent, in double precision and rounded once, by the engine's Math.tanh.
 *
 * Source: torch.nn.Tanh.
 *
 * @example new Tanh().forward(tensor([0])).data // Float32Array [0]
 */
export class Tanh extends Elementwise {
  static override readonly typeName = "Tanh";

  constructor() {
    super(Math.tanh);
  }
}
