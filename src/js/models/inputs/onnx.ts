// The inputs of weights in an ONNX model, and the model with these values as outputs.

import type { OnnxModel, OnnxNode } from "../../formats/onnx/graph.js";
import { findWeights } from "../../formats/onnx/weights.js";
import { bytesField } from "../../formats/onnx/wire.js";
import { OnnxEditor } from "../../formats/onnx/write.js";
import { type Convolution, convolutionOf } from "./convolution.js";

/** The value that a weight is multiplied with, and the number of its inputs. */
export interface Watched {
  readonly value: string;
  readonly length: number;
  /** Of a convolution: its inputs are patches of the value. */
  readonly convolution?: Convolution;
}

/** The inputs of MatMul and Gemm with a weight on the right, and of Conv, by the name of the weight. */
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
          isConvolution(node) ||
          (node.opType === "Gemm" && !Number(node.attributes.get("transA")?.int ?? 0))),
    );
    const value = use?.node.inputs[0];
    if (value === undefined || initializers.has(value)) continue;
    const [first, last] = orientation.inputAxes;
    const length = tensor.shape.slice(first, last + 1).reduce((product, each) => product * each, 1);
    const isConv = use !== undefined && isConvolution(use.node);
    const convolution = isConv ? { convolution: convolutionOf(use.node, tensor.shape) } : {};
    watched.set(name, { value, length, ...convolution });
  }
  return watched;
}

const isConvolution = ({ opType }: OnnxNode): boolean =>
  opType === "Conv" || opType === "FusedConv";

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

export { patchesOf } from "./convolution.js";
