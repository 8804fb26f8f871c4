// The inputs of weights in an ONNX model, and the model with these values as outputs.

import type { OnnxModel, OnnxNode } from "../../formats/onnx/read.js";
import { findWeights } from "../../formats/onnx/weights.js";
import { bytesField } from "../../formats/onnx/wire.js";
import { OnnxEditor } from "../../formats/onnx/write.js";

/** The value that a weight is multiplied with, and the number of its inputs. */
export interface Watched {
  readonly value: string;
  readonly length: number;
}

/** The inputs of MatMul and Gemm with a weight on the right, by its name. */
export async function watchedOf(onnx: OnnxModel): Promise<ReadonlyMap<string, Watched>> {
  const { weights } = await findWeights(onnx);
  const inGraph = new Set<OnnxNode>(onnx.graph.nodes);
  const initializers = new Set(onnx.graph.initializers.map(({ name }) => name));
  const watched = new Map<string, Watched>();
  for (const [name, { tensor, uses, orientation }] of weights) {
    const use = uses.find(
      ({ node, input }) =>
        input === 1 &&
        inGraph.has(node) &&
        (node.opType === "MatMul" ||
          (node.opType === "Gemm" && !Number(node.attributes.get("transA")?.int ?? 0))),
    );
    const value = use?.node.inputs[0];
    if (value === undefined || initializers.has(value)) continue;
    watched.set(name, { value, length: tensor.shape[orientation.inputAxes[0]] });
  }
  return watched;
}

/** The model with more outputs: values of its graph. */
export async function withOutputs(
  onnx: OnnxModel,
  values: ReadonlySet<string>,
): Promise<Uint8Array> {
  const present = new Set(onnx.graph.outputs.map(({ name }) => name));
  const editor = new OnnxEditor(onnx);
  // Without a type, which the engine infers.
  const added = [...values]
    .filter((name) => !present.has(name))
    .flatMap((name) => bytesField(12, bytesField(1, name)));
  editor.append(onnx.graph.field, added);
  const spliced = editor.finish();
  const bytes = new Uint8Array(spliced.byteLength);
  let at = 0;
  for await (const chunk of spliced.bytes()) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
