// An opened model file.

import { rangeError } from "../base/errors.js";
import { fixFields } from "../base/fields.js";
import { INSPECT, show, showShape } from "../base/format-value.js";
import { newArray } from "../base/typed-arrays.js";
import type { FileDType } from "../formats/dtypes.js";
import { findQuantizedWeights, unpackWeight } from "../formats/layouts/checkpoints.js";
import { dequantizeValues, type QuantizedValues } from "../formats/layouts/unpack.js";
import type { FileTensor } from "../formats/source.js";
import type { TfjsQuantization, TfjsTensor } from "../formats/tfjs.js";
import { readValues } from "../formats/values.js";
import { dequantize } from "../quantize/dequantize.js";
import type { QuantizedTensor } from "../quantize/quantized-tensor.js";
import { sizeOf } from "../tensor/shape.js";
import { Tensor } from "../tensor/tensor.js";
import type { TorchQuantizedTensor } from "../torch/tensor.js";
import { readAnyQuantized } from "./kinds/layers.js";
import { checkReadable } from "./sources.js";
import { type LoadedTensor, STRUCTURE_KEY, StructureReader } from "./structure.js";

/** A format of model files. */
export type ModelFormat = "safetensors" | "gguf" | "onnx" | "npy" | "npz" | "tfjs";

/** A tensor of a model file. */
export interface ModelTensor {
  /** Its name in the file. */
  readonly name: string;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
  /** As it is stored; of a quantized tensor the dtype of its codes. */
  readonly dtype: FileDType;
  /** Bytes of its values or codes in the file. */
  readonly byteLength: number;
  /** Whether `readQuantized` reads it. */
  readonly isQuantized: boolean;
}

/** How a quantized tensor is stored. */
type Quantization =
  | { readonly kind: "saved"; readonly node: Readonly<Record<string, unknown>> }
  | { readonly kind: "int8"; readonly parts: Readonly<Record<string, string>> }
  | { readonly kind: "tfjs"; readonly how: TfjsQuantization };

/** An opened model file: named tensors, read when they are asked for. Made by `openModel`. */
export class Model {
  /** The format of the file. */
  declare readonly format: ModelFormat;
  /** What the file says about itself, by key. */
  declare readonly metadata: ReadonlyMap<string, unknown>;
  /** The tensors by name, in the order of the file. */
  declare readonly tensors: ReadonlyMap<string, ModelTensor>;
  readonly #files: ReadonlyMap<string, FileTensor>;
  readonly #quantized: ReadonlyMap<string, Quantization>;
  readonly #close: () => Promise<void>;

  /** @internal */
  constructor(
    format: ModelFormat,
    metadata: ReadonlyMap<string, unknown>,
    files: ReadonlyMap<string, FileTensor>,
    close: () => Promise<void>,
  ) {
    this.#files = files;
    this.#close = close;
    this.#quantized = quantizedIn(metadata, files);
    const tensors = new Map<string, ModelTensor>();
    for (const [name, { shape, dtype, byteLength }] of files) {
      const quantization = this.#quantized.get(name);
      const own = { name, shape, dtype, byteLength, isQuantized: quantization !== undefined };
      tensors.set(name, quantization?.kind === "saved" ? { ...own, ...said(quantization) } : own);
    }
    fixFields<Model>(this, { format, metadata, tensors });
  }

  #file(where: string, name: string): FileTensor {
    const tensor = this.#files.get(name);
    if (tensor !== undefined) return tensor;
    throw rangeError("ZP_INVALID_MODEL", where, `the model has no tensor ${show(name)}`);
  }

  /**
   * Reads a tensor as float32, however it is stored: each value rounded once, quantized ones dequantized.
   * @throws {RangeError} `ZP_INVALID_MODEL` if there is none of this name; `ZP_UNSUPPORTED_DTYPE` for complex numbers,
   *   6-bit floats and ggml's block types; `ZP_INVALID_FILE`
   */
  async read(name: string): Promise<Tensor> {
    const where = "Model.read";
    const file = this.#file(where, name);
    const quantization = this.#quantized.get(name);
    if (quantization?.kind === "saved") {
      const q = await this.#readSaved(where, quantization.node);
      const { data, shape } = dequantize(q as QuantizedTensor);
      return new Tensor(data, shape);
    }
    if (quantization?.kind === "int8") {
      const values = dequantizeValues(await this.#unpack(where, quantization.parts));
      return new Tensor(values, [...file.shape]);
    }
    const data = newArray(where, Float32Array, sizeOf(file.shape));
    let at = 0;
    for await (const tile of readValues(file)) {
      data.set(tile, at);
      at += tile.length;
    }
    if (quantization !== undefined) spread(data, quantization.how);
    return new Tensor(data, [...file.shape]);
  }

  /**
   * Reads the codes and qparams of a quantized tensor of a file of `save`, or of one with codes of int8 and scales
   * beside them.
   * @throws {RangeError} `ZP_INVALID_MODEL` if there is none of this name, or it is not quantized so
   */
  async readQuantized(name: string): Promise<QuantizedTensor | TorchQuantizedTensor> {
    const where = "Model.readQuantized";
    this.#file(where, name);
    const quantization = this.#quantized.get(name);
    if (quantization?.kind === "saved") return await this.#readSaved(where, quantization.node);
    if (quantization?.kind === "int8") {
      return quantizedOf(await this.#unpack(where, quantization.parts));
    }
    throw rangeError("ZP_INVALID_MODEL", where, `${show(name)} is not quantized: read reads it`);
  }

  /**
   * Reads the bytes of a tensor: little-endian, row-major, codes below 8 bits packed.
   * @throws {RangeError} `ZP_INVALID_MODEL` if there is none of this name; `ZP_INVALID_FILE`
   */
  async readBytes(name: string): Promise<Uint8Array> {
    const where = "Model.readBytes";
    const file = this.#file(where, name);
    checkReadable(where, file.byteLength);
    const bytes = newArray(where, Uint8Array, file.byteLength);
    let at = 0;
    for await (const chunk of file.bytes()) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }

  /** Reads a quantized tensor that save wrote. */
  async #readSaved(where: string, node: Readonly<Record<string, unknown>>) {
    const parts = new Map<string, LoadedTensor>();
    for (const field of ["codes", "scale", "zeroPoint"]) {
      const { [field]: name } = node;
      if (typeof name === "string" && this.#files.has(name)) {
        parts.set(name, await this.#load(name));
      }
    }
    const reader = new StructureReader(where, parts, 0, {});
    return readAnyQuantized(reader, "", node);
  }

  async #unpack(where: string, names: Readonly<Record<string, string>>): Promise<QuantizedValues> {
    const parts: Record<string, LoadedTensor> = {};
    for (const [role, name] of Object.entries(names)) {
      this.#file(where, name);
      parts[role] = await this.#load(name);
    }
    return unpackWeight("int8", parts);
  }

  async #load(name: string): Promise<LoadedTensor> {
    const { dtype, shape } = this.#files.get(name) as FileTensor;
    return { dtype, shape, bytes: await this.readBytes(name) };
  }

  /** Closes the file. Later reads throw `ZP_DISPOSED`; a second call does nothing. */
  async close(): Promise<void> {
    await this.#close();
  }

  /** The format and the tensors, one a line. */
  toString(): string {
    const lines = Array.from(
      this.tensors.values(),
      ({ name, shape, dtype }) => `\n  ${name}: ${dtype} ${showShape(shape)}`,
    );
    return `Model(${this.format}, ${lines.length} tensors)${lines.slice(0, 100).join("")}`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/** Shape and dtype that save wrote of a tensor whose codes may be packed. */
function said({ node }: Extract<Quantization, { kind: "saved" }>): Partial<ModelTensor> {
  const { dtype, shape } = node as { dtype: string; shape?: readonly number[] };
  // qint8 is int8 in a file.
  return { dtype: dtype.replace(/^q/, "") as FileDType, ...(shape && { shape }) };
}

/** The quantized tensors of a file by the name of their codes. */
function quantizedIn(
  metadata: ReadonlyMap<string, unknown>,
  files: ReadonlyMap<string, FileTensor>,
): Map<string, Quantization> {
  const found = new Map<string, Quantization>();
  for (const { layout, parts } of findQuantizedWeights(files)) {
    if (layout === "int8") found.set(parts.codes, { kind: "int8", parts });
  }
  for (const [name, { quantization }] of files as ReadonlyMap<string, TfjsTensor>) {
    if (quantization !== undefined) found.set(name, { kind: "tfjs", how: quantization });
  }
  for (const node of savedNodes(metadata.get(STRUCTURE_KEY))) {
    const { codes, dtype, shape } = node;
    const isShape = shape === undefined || (Array.isArray(shape) && shape.every(Number.isInteger));
    if (typeof codes !== "string" || typeof dtype !== "string" || !isShape) continue;
    if (files.has(codes)) found.set(codes, { kind: "saved", node });
  }
  return found;
}

/** The nodes of quantized tensors in the structure that save wrote, if it did. */
function savedNodes(text: unknown): Readonly<Record<string, unknown>>[] {
  const nodes: Readonly<Record<string, unknown>>[] = [];
  try {
    JSON.parse(String(text), (_, value: unknown) => {
      const { kind } = Object(value) as { kind?: unknown };
      if (kind === "quantized" || kind === "torch") nodes.push(value as (typeof nodes)[number]);
      return value;
    });
  } catch {
    // Not of save: the tensors are read as they are.
  }
  return nodes;
}

/** A quantized tensor of unpacked codes. */
function quantizedOf(values: QuantizedValues): QuantizedTensor {
  const { codes, shape, granularity, groupSize, scale, zeroPoint } = values;
  const zeros = zeroPoint ?? new Int32Array(scale.length);
  const scheme = zeros.some((zero) => zero !== 0) ? "affine" : "symmetric";
  const q = { data: codes, shape: [...shape], dtype: "int8", scheme } as const;
  if (granularity === "tensor") {
    return { ...q, scale: scale[0], zeroPoint: zeros[0] } as QuantizedTensor;
  }
  const own = [scale.length, 1];
  const qparams = {
    scale: { data: scale, shape: own },
    zeroPoint: { data: zeros, shape: [...own] },
  };
  const slices = granularity === "channel" ? { axis: 0 } : { groupSize };
  return { ...q, ...qparams, ...slices } as QuantizedTensor;
}

/** Codes of a TensorFlow.js tensor to values. */
function spread(data: Float32Array, { scale, min, dtype }: TfjsQuantization): void {
  for (let i = 0; i < data.length; i++) {
    const value = data[i] * scale + min;
    data[i] = dtype === "int32" ? Math.round(value) : value;
  }
}
