// A model: a sequence of layers.

import { wrongKind } from "../base/check.js";
import { typeError, type ZeropointError } from "../base/errors.js";
import { show } from "../base/format-value.js";
import { isPlainObject } from "../base/options.js";
import { explainReceivers } from "../base/receivers.js";
import { computesAs, isLayer, Layer } from "../linear/layer.js";
import type { TensorInput } from "../tensor/check.js";
import { asTensor, type Tensor } from "../tensor/tensor.js";
import { checkLayer } from "./layers/function.js";

/** A layer, or a function from tensor to tensor. */
export type LayerLike = Layer | ((x: Tensor) => TensorInput);

/** A layer with its name in the model: "fc1", "head.fc1". */
export interface NamedLayer {
  /** Its name, prefixed by the names of the enclosing models, joined by dots. */
  readonly name: string;
  /** The layer itself. */
  readonly layer: Layer;
}

/**
 * A model of layers that run in sequence. A Sequential may be a layer of another one; the names of
 * layers are then joined by dots.
 *
 * Source: torch.nn.Sequential.
 *
 * @example
 * const model = new Sequential({
 *   fc1: new Linear(weight1, { bias: bias1 }),
 *   relu: new ReLU(),
 *   fc2: new Linear(weight2),
 * });
 * const y = model.forward(x);
 */
export class Sequential extends Layer {
  static override readonly typeName = "Sequential";
  readonly #children: readonly NamedLayer[];

  static {
    explainReceivers(Sequential, "Sequential", isLayer);
  }

  /**
   * @param layers  layers by name, in order; or a list or sequence of layers, which are then named
   *   "0", "1" and so on. (In an object, JavaScript orders integer names first.)
   * @throws {TypeError} `ZP_INVALID_MODEL` for anything but layers and functions, or a name with a dot
   */
  constructor(layers: Readonly<Record<string, LayerLike>> | readonly LayerLike[]);
  constructor(...layers: readonly LayerLike[]);
  constructor(...given: readonly unknown[]) {
    super();
    const where = "Sequential";
    const [first] = given;
    const isEach = given.length !== 1 || first instanceof Layer || typeof first === "function";
    const layers = isEach ? given : first;
    const isList = Array.isArray(layers);
    if (!isList && !isPlainObject(layers)) {
      throw wrongKind(
        "ZP_INVALID_MODEL",
        where,
        "layers",
        "an object, a list or layers themselves",
        layers,
      );
    }
    // The spread copy fills holes with undefined, which is then refused.
    this.#children = Object.entries(isList ? [...layers] : layers).map(([name, value]) => {
      if (name === "" || name.includes(".")) {
        throw typeError(
          "ZP_INVALID_MODEL",
          where,
          `a layer's name must not be empty and not contain a dot, got ${show(name)}`,
        );
      }
      const argument = isList ? `layers[${name}]` : `layers.${name}`;
      return { name, layer: checkLayer(where, argument, value) };
    });
  }

  /** @internal The layers as given; inner models are themselves. */
  get children(): readonly NamedLayer[] {
    return this.#children;
  }

  /**
   * All layers with their names; inner models are replaced by their layers. An inner model of a subclass
   * that overrides `forward` is one layer, which stays float32.
   */
  get layers(): readonly NamedLayer[] {
    return this.children.flatMap(({ name, layer }) =>
      computesAs(layer, Sequential)
        ? layer.layers.map((inner) => ({ name: `${name}.${inner.name}`, layer: inner.layer }))
        : [{ name, layer }],
    );
  }

  /**
   * Runs all layers.
   * @param x  input of the first layer
   * @returns output of the last layer
   * @throws errors of layers, with the layer's name at the end of the message
   */
  forward(x: TensorInput): Tensor {
    return outputOf(
      this,
      runLayers(this.layers, x, ({ layer }, input) => layer.forward(input)),
    );
  }

  override get sizeInBytes(): number {
    return this.children.reduce((bytes, { layer }) => bytes + layer.sizeInBytes, 0);
  }

  /** The model as PyTorch prints it. */
  override toString(): string {
    return modelText(
      "Sequential",
      this.children.map(({ name, layer }) => [name, String(layer)]),
    );
  }
}

/** The output of the last layer; in a model without layers, the input. */
export const outputOf = (model: { readonly typeName: string }, x: TensorInput): Tensor =>
  asTensor(`${model.typeName}.forward`, "x", x);

/** A model and its layers as PyTorch prints them. */
export function modelText(
  type: string,
  children: readonly (readonly [name: string, text: string])[],
): string {
  if (children.length === 0) return `${type}()`;
  const lines = children.map(([name, text]) => `  (${name}): ${text.replaceAll("\n", "\n  ")}`);
  return `${type}(\n${lines.join("\n")}\n)`;
}

/**
 * Runs layers in sequence, each on the previous output.
 * @param run  runs one layer; the layer's name is added to errors of this library
 */
export function runLayers<Item extends NamedLayer, Value>(
  layers: readonly Item[],
  x: Value,
  run: (layer: Item, input: Value) => Value,
): Value {
  let value = x;
  // A plain loop keeps the stack short: an error records ten frames, which should include the caller's.
  for (const layer of layers) {
    try {
      value = run(layer, value);
    } catch (error) {
      throw toldIn(layer, error);
    }
  }
  return value;
}

/** The error with the layer's name in its message, if it is of this library. */
export const toldIn = ({ name, layer }: NamedLayer, error: unknown): unknown =>
  told(`in layer "${name}", ${layer.typeName}`, error);

/** The error with a location in its message, if it is of this library. */
export function told(whereabouts: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Reads the stack before it changes the message: some engines build the stack's text on first access.
  const { stack, code, message } = error as Partial<ZeropointError>;
  if (typeof code === "string" && code.startsWith("ZP_")) {
    const longer = `${message} (${whereabouts})`;
    error.message = longer;
    if (stack !== undefined && message !== undefined) {
      error.stack = stack.replace(message, () => longer);
    }
  }
  return error;
}
