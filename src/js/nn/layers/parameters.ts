// Parameters of layers, and the core that a layer with a weight runs on.

import { notItself, rangeError } from "../../base/errors.js";
import { showShape } from "../../base/format-value.js";
import type { Core } from "../../core/core.js";
import { checkMatrix } from "../../linear/weight.js";
import { checkTensor } from "../../tensor/check.js";
import { sameShape } from "../../tensor/shape.js";
import { copyTensor, Tensor } from "../../tensor/tensor.js";
import type { Layer } from "./layer.js";

/** Checks and copies a parameter of a layer: float32 of a given shape. */
export function checkParameter(
  where: string,
  argument: string,
  value: unknown,
  shape: readonly number[],
): Tensor | undefined {
  if (value === undefined || value === null) return undefined;
  const checked = checkTensor(where, argument, value);
  if (!sameShape(checked.shape, shape)) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must have shape ${showShape(shape)}, got ${showShape(checked.shape)}`,
    );
  }
  return copyTensor(where, checked);
}

/** A tensor for users: on the same data, with separate fields that can change without effect on the layer. */
export const shown = ({ data, shape }: Tensor): Tensor => new Tensor(data, [...shape]);

/** The weight of a layer, its core and its bias. */
interface Parameters {
  /** The core that was active when the layer was made. */
  readonly core: Core;
  /** float32 of shape [rows, columns]. */
  readonly weight: Tensor;
  /** float32 of shape [rows]. */
  readonly bias: Tensor | undefined;
}

/** Private to the library; users get other tensors on the same data. */
export const parameters = /* @__PURE__ */ new WeakMap<Layer, Parameters>();

/** The parameters of a layer with a weight. */
export function parametersOf(layer: Layer): Parameters {
  const own = parameters.get(layer);
  if (own === undefined) throw notItself(`${layer.typeName}.forward`);
  return own;
}

/** The core that a layer with a weight runs on. */
export const coreOf = (layer: Layer): Core => parametersOf(layer).core;

/** Bytes of a layer's bias in float32. */
export const biasBytes = (layer: Layer): number => {
  const { weight, bias } = parametersOf(layer);
  return bias === undefined ? 0 : 4 * weight.shape[0];
};

/** Checks and copies a weight. @param axes  names of its axes */
export function checkWeight(where: string, weight: unknown, axes?: string): Tensor {
  const checked = checkTensor(where, "weight", weight);
  checkMatrix(where, checked.shape, axes);
  return copyTensor(where, checked);
}
