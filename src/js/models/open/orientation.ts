// The format's knowledge of its weights beyond their shapes: the axes that are summed over, and tensors that are no weights.

import type { InputAxes, OnnxWeight } from "../../formats/onnx/weights.js";
import { loadModule } from "../load-module.js";
import type { ModelDocument } from "./document.js";

/** The weights of a model. */
export interface Orientations {
  /** Axes of the inputs of an output; undefined if only the shape determines them: all but the first one. */
  axesOf(name: string): InputAxes | undefined;
  /** The reason why a tensor is no weight; undefined without one. */
  reasonOf(name: string): string | undefined;
  /** The weight in the graph of an ONNX model; undefined in other formats. */
  onnxWeightOf(name: string): OnnxWeight | undefined;
}

/** Finds the axes of the weights of a model: of ONNX and TensorFlow.js by the operators or layers that use them. */
export async function orientationsOf(
  where: string,
  document: ModelDocument,
): Promise<Orientations> {
  if (document.format === "onnx") {
    const { findWeights } = await loadModule(where, import("../../formats/onnx/weights.js"));
    const { weights, reasons } = await findWeights(document.onnx);
    return {
      axesOf: (name) => weights.get(name)?.orientation.inputAxes,
      reasonOf: (name) => reasons.get(name),
      onnxWeightOf: (name) => weights.get(name),
    };
  }
  const tensors = document.format === "tfjs" ? document.tfjs.tensors : undefined;
  return {
    axesOf: (name) => tensors?.get(name)?.inputAxes,
    reasonOf: () => undefined,
    onnxWeightOf: () => undefined,
  };
}
