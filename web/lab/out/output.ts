// What a plan is written as: a format, and the program that reads it.

import { formatText } from "../format.js";

/** Targets by output format: value, and what it is for. The first is the default. */
export const TARGETS: Record<string, readonly (readonly [target: string, title: string])[]> = {
  safetensors: [
    ["", "zeropoint and Python"],
    ["compressed-tensors", "compressed-tensors: vLLM"],
    ["mlx", "MLX: Macs"],
  ],
  gguf: [["", "GGUF"]],
  onnx: [
    ["web", "ONNX Runtime Web, CPU"],
    ["webgpu", "ONNX Runtime Web, WebGPU"],
    ["node", "ONNX Runtime in Node"],
    ["portable", "ONNX without extensions"],
  ],
};

export type Output = ReturnType<typeof outputOf>;

/**
 * @param model  format of the opened file
 * @param wanted  empty for that of the model, and the first target; names that there are not are ignored
 * @returns chosen: the format, empty if it is that of the model by default; text: the program, or the format
 */
export function outputOf(model: string, wanted: { format: string; target: string }) {
  // ONNX files need a graph, which other formats do not have.
  const isThere =
    Object.hasOwn(TARGETS, wanted.format) && (wanted.format !== "onnx" || model === "onnx");
  const chosen = isThere ? wanted.format : "";
  const format = chosen || (Object.hasOwn(TARGETS, model) ? model : "safetensors");
  const [first] = TARGETS[format];
  const [target, title] = TARGETS[format].find(([name]) => name === wanted.target) ?? first;
  const text = target === "" ? formatText(format) : title.split(":")[0];
  return { chosen, format, target, text };
}
