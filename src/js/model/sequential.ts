// A model: layers one after the other.

import { checkTensor, type TensorInput } from "../check.js";
import { typeError, type ZeropointError } from "../errors.js";
import { show } from "../show.js";
import { Tensor } from "../tensor.js";
import { checkLayer, Layer } from "./layer.js";

/** A layer, or a function from tensor to tensor that serves as one. */
export type LayerLike = Layer | ((x: Tensor) => TensorInput);

/** A layer with its name in the model: "fc1", "head.fc1". */
export interface NamedLayer {
  /** Its name, after those of the models that it is in, joined by dots. */
  readonly name: string;
  /** The layer itself. */
  readonly layer: Layer;
}

/**
 * A model of layers that run one after the other. A Sequential may be a layer of another one; the
 * layers' names are then joined by dots.
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

  /**
   * @param layers  layers by name, in their order; or a list, whose names are "0", "1" and so on.
   *   (JavaScript puts names that are whole numbers first.)
   * @throws {TypeError} `ZP_INVALID_MODEL` for anything but layers and functions, or a name with a dot
   */
  constructor(layers: Readonly<Record<string, LayerLike>> | readonly LayerLike[]) {
    super();
    const where = "Sequential";
    if (typeof layers !== "object" || layers === null || layers instanceof Layer) {
      throw typeError(
        "ZP_INVALID_MODEL",
        `${where}: layers must be an object or a list of layers, got ${show(layers)}`,
      );
    }
    this.#children = Object.entries(layers).map(([name, value]) => {
      if (name === "" || name.includes(".")) {
        throw typeError(
          "ZP_INVALID_MODEL",
          `${where}: a layer's name must not be empty and not contain a dot, got ${show(name)}`,
        );
      }
      return { name, layer: checkLayer(where, `layers.${name}`, value) };
    });
  }

  /** All layers with their names, those of inner models in their place. */
  get layers(): readonly NamedLayer[] {
    return this.#children.flatMap(({ name, layer }) =>
      layer instanceof Sequential
        ? layer.layers.map((inner) => ({ name: `${name}.${inner.name}`, layer: inner.layer }))
        : [{ name, layer }],
    );
  }

  /**
   * Runs all layers.
   * @param x  what the first layer takes
   * @returns what the last layer gives
   * @throws what a layer throws, with the layer's name at the end of the message
   */
  forward(x: TensorInput): Tensor {
    let value: TensorInput = x;
    for (const { name, layer } of this.layers) {
      const input = value;
      value = inLayer(name, layer.typeName, () => layer.forward(input));
    }
    return value instanceof Tensor ? value : copied(value);
  }

  override get sizeInBytes(): number {
    return this.#children.reduce((bytes, { layer }) => bytes + layer.sizeInBytes, 0);
  }

  /** The model as PyTorch prints it. */
  override toString(): string {
    return modelText(
      "Sequential",
      this.#children.map(({ name, layer }) => [name, String(layer)]),
    );
  }
}

/** A model without layers gives its input. */
function copied(x: TensorInput): Tensor {
  const { data, shape } = checkTensor("Sequential.forward", "x", x);
  return new Tensor(Float32Array.from(data), shape);
}

/** A model and its layers as PyTorch prints them. */
export function modelText(
  type: string,
  children: readonly (readonly [name: string, text: string])[],
): string {
  if (children.length === 0) return `${type}()`;
  const lines = children.map(([name, text]) => `  (${name}): ${text.replaceAll("\n", "\n  ")}`);
  return `${type}(\n${lines.join("\n")}\n)`;
}

/** Runs a layer; errors of this library then say which layer it was. */
export function inLayer<T>(name: string, type: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code, message } = error as Partial<ZeropointError>;
    if (error instanceof Error && typeof code === "string" && code.startsWith("ZP_")) {
      const told = `${message} (in layer "${name}", ${type})`;
      error.message = told;
      if (error.stack !== undefined && message !== undefined) {
        error.stack = error.stack.replace(message, () => told);
      }
    }
    throw error;
  }
}
