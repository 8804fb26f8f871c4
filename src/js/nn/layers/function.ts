// Functions as layers.

import { typeError } from "../../base/errors.js";
import { kindOf, show } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import { isLayer, Layer } from "../../linear/layer.js";
import type { TensorInput } from "../../tensor/check.js";
import { asTensor, type Tensor } from "../../tensor/tensor.js";

/** A function of a tensor, as a layer. */
export class FunctionLayer extends Layer {
  static override readonly typeName = "Function";
  readonly #run: (x: Tensor) => TensorInput;

  static {
    explainReceivers(FunctionLayer, "Function", isLayer);
  }

  /** @internal */
  constructor(run: (x: Tensor) => TensorInput) {
    super();
    this.#run = run;
  }

  /** The function. */
  get function(): (x: Tensor) => TensorInput {
    return this.#run;
  }

  forward(x: TensorInput): Tensor {
    const where = "Function.forward";
    const result = this.#run(asTensor(where, "x", x));
    if (kindOf(result) === "Promise") {
      const why = "layers are synchronous, and the function returns a Promise";
      throw typeError("ZP_INVALID_MODEL", where, why);
    }
    return asTensor(where, "what the function returns", result);
  }

  protected override extraText(): string {
    return this.#run.name;
  }
}

/** Checks a layer, or wraps a function as one. @throws {TypeError} `ZP_INVALID_MODEL` */
export function checkLayer(where: string, argument: string, value: unknown): Layer {
  if (value instanceof Layer) return value;
  // Detects a class given in the place of an instance or function.
  const isClass = (made: { readonly prototype?: unknown }): boolean =>
    made.prototype instanceof Layer || /^class\b/.test(Function.prototype.toString.call(made));
  if (typeof value === "function" && !isClass(value)) {
    return new FunctionLayer(value as (x: Tensor) => TensorInput);
  }
  const hint = typeof value === "function" ? "a class; new makes a layer of it" : show(value);
  throw typeError(
    "ZP_INVALID_MODEL",
    where,
    `${argument} must be a layer or a function from tensor to tensor, got ${hint}`,
  );
}
