// What a format knows of its weights beyond their shapes: the axes that are summed over, and what is no weight.

import type { ModelDocument } from "../document.js";
import { loadModule } from "../load-module.js";
import type { InputAxes } from "./layout.js";

/** The weights of a model. */
export interface Orientations {
  /** Axes of the inputs of an output; undefined for those by the shape alone. */
  axesOf(name: string): InputAxes | undefined;
  /** Why a tensor is no weight; undefined if nothing is known against it. */
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
