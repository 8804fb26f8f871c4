// A model: layers one after the other.

import {
  type AsyncOptions,
  type AsyncSettings,
  changes,
  checkAsyncOptions,
  type Progress,
  throwIfAborted,
} from "../async/background.js";
import { isPlainObject, type TensorInput, wrongKind } from "../check.js";
import { typeError, type ZeropointError } from "../errors.js";
import { show } from "../show.js";
import { asTensor, type Tensor } from "../tensor.js";
import { checkLayer, computesAs, Layer } from "./layer.js";

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
   * @param layers  layers by name, in their order; or a list, or the layers themselves, whose names are
   *   "0", "1" and so on. (JavaScript puts names that are whole numbers first.)
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
    // A copy of a list has no holes.
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

  /**
   * All layers with their names, those of inner models in their place. A model of a subclass with a
   * `forward` of its own is one layer, which stays float32.
   */
  get layers(): readonly NamedLayer[] {
    return this.#children.flatMap(({ name, layer }) =>
      computesAs(layer, Sequential)
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
    return outputOf(
      this,
      runLayers(this.layers, x, ({ layer }, input) => layer.forward(input)),
    );
  }

  /**
   * `forward`, off this thread as far as its layers are: see their `forwardAsync`. The values are the
   * same, to the bit.
   * @param x  what the first layer takes; leave it as it is until the promise settles
   * @param options.signal      stops the work: the promise is rejected with the signal's reason
   * @param options.onProgress  called after every piece of a layer's work; `total` is the number of
   *   layers, and `done` how many have run, the one at work by the part of it that is done
   * @returns a promise of what `forward` returns
   * @throws (as a rejection) what a layer throws, with the layer's name at the end of the message
   * @example const y = await model.forwardAsync(x, { signal: AbortSignal.timeout(1000) });
   */
  override async forwardAsync(x: TensorInput, options?: AsyncOptions): Promise<Tensor> {
    if (changes(this, Sequential, "forward")) return await super.forwardAsync(x, options);
    const { settings } = checkAsyncOptions("Sequential.forwardAsync", options);
    return outputOf(
      this,
      await runLayersAsync(this.layers, x as TensorInput, settings, ({ layer }, input, own) =>
        layer.forwardAsync(input, own),
      ),
    );
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

/** What the last layer gives; a model without layers gives its input. */
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
 * Runs layers one after the other, each on what the one before gave.
 * @param run  runs one of them; errors of this library then say which one it was
 */
export function runLayers<Step extends NamedLayer, Value>(
  steps: readonly Step[],
  x: Value,
  run: (step: Step, input: Value) => Value,
): Value {
  let value = x;
  // A plain loop: an error's stack has room for ten calls, and the caller's should be among them.
  for (const step of steps) {
    try {
      value = run(step, value);
    } catch (error) {
      throw toldIn(step, error);
    }
  }
  return value;
}

/** The same of layers that run asynchronously, with options for each. */
export async function runLayersAsync<Step extends NamedLayer, Value>(
  steps: readonly Step[],
  x: Value,
  { signal, onProgress }: AsyncSettings,
  run: (step: Step, input: Value, own: AsyncSettings) => Promise<Value>,
): Promise<Value> {
  throwIfAborted(signal);
  const total = steps.length;
  let value = x;
  for (const [index, step] of steps.entries()) {
    const own =
      onProgress &&
      ((part: Progress) => onProgress({ ...part, done: index + part.done / part.total, total }));
    try {
      value = await run(step, value, { signal, onProgress: own });
    } catch (error) {
      throw toldIn(step, error);
    }
  }
  return value;
}

/** An error that says in which layer it happened, if it is of this library. */
export const toldIn = ({ name, layer }: NamedLayer, error: unknown): unknown =>
  told(`in layer "${name}", ${layer.typeName}`, error);

/** An error that says where it happened, if it is of this library. */
export function told(whereabouts: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // The stack before the message: an engine may not make its text until it is read.
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
