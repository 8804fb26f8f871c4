// The format's knowledge of its weights beyond their shapes: the axes that are summed over, and tensors that are no weights.

import { loadModule } from "../load-module.js";
import type { ModelDocument } from "../open/document.js";
import type { InputAxes } from "./layout.js";

/** The weights of a model. */
export interface Orientations {
  /** Axes of the inputs of an output; undefined if only the shape determines them. */
  axesOf(name: string): InputAxes | undefined;
  /** The reason why a tensor is no weight; undefined without one. */
  reasonOf(name: string): string | undefined;
}

/** Finds the axes of the weights of a model: of an ONNX model by the operators that use them. */
export async function orientationsOf(document: ModelDocument): Promise<Orientations> {
  if (document.format !== "onnx") return { axesOf: () => undefined, reasonOf: () => undefined };
  const { findWeights } = await loadModule("analyze", import("../../formats/onnx/weights.js"));
  const { weights, reasons } = await findWeights(document.onnx);
  return {
    axesOf: (name) => weights.get(name)?.orientation.inputAxes,
    reasonOf: (name) => reasons.get(name),
  };
}
