// The format's knowledge of its weights beyond their shapes: the axes that are summed over, and tensors that are no weights.

import { readJson } from "../../formats/json.js";
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
  const isColumns = document.format === "safetensors" ? await columnWeights(document) : () => false;
  return {
    axesOf: (name) => (isColumns(name) ? [0, 0] : tensors?.get(name)?.inputAxes),
    reasonOf: () => undefined,
    onnxWeightOf: () => undefined,
  };
}

/** Architectures whose layers are transformers' Conv1D: their weights are [inputs, outputs]. */
const CONV1D_MODELS = ["gpt2", "openai-gpt", "imagegpt", "decision_transformer"];

/** Names of these layers' weights. */
const CONV1D_WEIGHTS = /(^|\.)(c_attn|q_attn|c_proj|c_fc)\.weight$/;

/**
 * Whether weights of a checkpoint have their outputs in columns, as its config.json tells.
 * @throws {RangeError} `ZP_INVALID_FILE` if that is no JSON
 */
async function columnWeights({ readBeside }: ModelDocument): Promise<(name: string) => boolean> {
  const bytes = await readBeside("config.json");
  if (bytes === undefined) return () => false;
  const config = readJson("config.json", bytes) as { readonly model_type?: unknown } | null;
  const isOf = CONV1D_MODELS.includes(String(config?.model_type));
  return (name) => isOf && CONV1D_WEIGHTS.test(name);
}
