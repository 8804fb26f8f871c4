// Quantized embedding tables, with rows dequantized on lookup.

import { float16Bits, halfValue } from "../../base/halves.js";
import { type NumberArray, newArray } from "../../base/typed-arrays.js";
import { runOn } from "../../core/init.js";
import { dequantize } from "../../quantize/dequantize.js";
import {
  type AnyQuantizedTensor,
  qparamsText,
  storedBytes,
} from "../../quantize/quantized-tensor.js";
import { Tensor } from "../../tensor/tensor.js";
import { TorchQuantizedTensor } from "../../torch/tensor.js";
import { checkIndices, type Embedding, quantizedRows } from "../layers/embedding.js";
import { coreOf } from "../layers/parameters.js";
import { ConvertedLayer, type Flow } from "./layer.js";

/** A quantized embedding table. Rows are dequantized on lookup. */
export class QuantizedEmbedding extends ConvertedLayer<Embedding> {
  readonly #q: AnyQuantizedTensor | TorchQuantizedTensor;
  readonly #bits: number;
  readonly #text: string;

  /** @param bits  bits per code, at most the dtype's */
  constructor(
    name: string,
    layer: Embedding,
    q: AnyQuantizedTensor | TorchQuantizedTensor,
    bits: number,
  ) {
    const isTorch = q instanceof TorchQuantizedTensor;
    // Packed codes, and per row a scale and a bias, float32 or float16.
    const sizeInBytes = isTorch
      ? Math.ceil((q.data.length * bits) / 8) + bits * layer.numEmbeddings
      : storedBytes(q, bits);
    super(coreOf(layer), { name, layer, method: "weight-only", sizeInBytes, q, bits });
    this.#q = q;
    this.#bits = bits;
    this.#text = isTorch
      ? `dtype=torch.${bits === 4 ? "quint4x2" : q.dtype}, qscheme=torch.${q.qscheme}`
      : qparamsText(q);
  }

  run(flow: Flow): Flow {
    const where = "Embedding.forward";
    const { numEmbeddings, embeddingDim } = this.layer;
    const { data, shape } = checkIndices(where, this.toFloats(flow), numEmbeddings);
    const q = this.#q;
    const out =
      q instanceof TorchQuantizedTensor
        ? lookUp(where, q, data, embeddingDim, this.#bits === 4 ? toHalf : Math.fround)
        : runOn(this.core, () => dequantize(quantizedRows(where, q, data, embeddingDim))).data;
    return new Tensor(out, [...shape, embeddingDim]);
  }

  toString(): string {
    const { numEmbeddings, embeddingDim } = this.layer;
    return (
      `QuantizedEmbedding(num_embeddings=${numEmbeddings}, embedding_dim=${embeddingDim}, ` +
      `${this.#text})`
    );
  }
}

/**
 * Selected rows of a table with a float scale and zero point per row, as in
 * torch.ops.quantized.embedding_byte and embedding_4bit: scale · code + bias, rounded once; the bias is
 * -scale · zeroPoint, rounded. With 4-bit codes scale and bias are float16, with the limit 65504.
 * @param store  rounds scale and bias to their stored type
 */
function lookUp(
  where: string,
  { data, scale, zeroPoint }: TorchQuantizedTensor,
  indices: NumberArray,
  length: number,
  store: (value: number) => number,
): Float32Array {
  const [scales, zeroPoints] = [scale, zeroPoint].map((each) => (each as Tensor).data);
  const out = newArray(where, Float32Array, indices.length * length);
  for (let i = 0, at = 0; i < indices.length; i++) {
    const row = indices[i];
    const step = store(scales[row]);
    const bias = store(-Math.fround(scales[row] * zeroPoints[row]));
    const end = (row + 1) * length;
    // Exact in double precision; rounded once, by the store into out.
    for (let code = row * length; code < end; code++) out[at++] = step * data[code] + bias;
  }
  return out;
}

/** The nearest float16 of a float32, for engines without Math.f16round. */
const toHalf = (value: number): number => halfValue(float16Bits(value), "float16");
