// The formats that a model can be written in.

import type { Model, ModelFormat } from "../open/model.js";
import type { OutputFormat } from "./types.js";

/** All formats that are written. */
export const OUTPUT_FORMATS: readonly OutputFormat[] = [
  "safetensors",
  "gguf",
  "onnx",
  "npz",
  "npy",
];

/** The format that a model is written in by default. */
export const defaultFormat = (format: ModelFormat): OutputFormat =>
  format === "tfjs" ? "safetensors" : format === "pb" ? "npy" : format;

/** The formats that a model can be written in: ONNX needs a graph, and npy files hold one tensor. */
export const outputFormatsOf = ({ format, tensors }: Model): OutputFormat[] =>
  OUTPUT_FORMATS.filter((each) =>
    each === "onnx" ? format === "onnx" : each !== "npy" || tensors.size === 1,
  );
