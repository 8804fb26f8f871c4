// An opened model file.

import { wrongKind } from "../../base/check.js";
import { rangeError, typeError } from "../../base/errors.js";
import { define, fieldOf, fixFields, OptionsRecord } from "../../base/fields.js";
import { INSPECT, show, showShape } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import { newArray } from "../../base/typed-arrays.js";
import type { FileDType } from "../../formats/dtypes.js";
import { partOf, type StoredPart } from "../../formats/layouts/unpack.js";
import type { FileTensor } from "../../formats/source.js";
import type { AnyQuantizedTensor } from "../../quantize/quantized-tensor.js";
import { sizeOf } from "../../tensor/shape.js";
import { Tensor } from "../../tensor/tensor.js";
import type { TorchQuantizedTensor } from "../../torch/tensor.js";
import { BESIDE_UNKNOWN, type LoadParts, type StoredWeight } from "../stored/weight.js";
import type { ModelDocument } from "./document.js";
import { inputsOf, type ModelInput } from "./graph-inputs.js";
import { checkReadable } from "./sources.js";
import { checkDecodable, readTiles } from "./values.js";

/** A format of model files. */
export type ModelFormat = "safetensors" | "gguf" | "onnx" | "npy" | "npz" | "tfjs" | "pb";

/** A tensor of a model file. */
export interface ModelTensor {
  /** Its name in the file; of a quantized tensor in parts the name of its module with ".weight". */
  readonly name: string;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
  /** The dtype in the file; of a quantized tensor the dtype of its codes. */
  readonly dtype: FileDType;
  /** Bytes of its values or codes in the file. */
  readonly byteLength: number;
  /** Whether it is codes with scales, also such as are not understood. */
  readonly isQuantized: boolean;
  /**
   * Of a quantized tensor of a checkpoint, the layout that holds it: "float8", "mlx" and others. "unknown quantization": there
   * are tensors beside it, or words in the configuration, that are of no known layout; `read` throws and names them.
   * "part of an unknown quantization": such a tensor.
   */
  readonly layout?: string | undefined;
}

/** Reads the private document of a model; undefined if it is no model. */
let readDocument: (model: object) => ModelDocument | undefined;

/** Reads the private names of the tensors of the file that hold a quantized tensor. */
let readParts: (model: Model, name: string) => readonly string[] | undefined;
/** The quantized tensors of a model by their logical names, and how the file holds them. */
export let weightsOf: (model: Model) => ReadonlyMap<string, StoredWeight>;

/** An opened model file: named tensors, read when they are asked for. Made by `openModel`. */
export class Model {
  /** The format of the file. */
  declare readonly format: ModelFormat;
  /** The file's own metadata, by key. */
  declare readonly metadata: ReadonlyMap<string, unknown>;
  /** The tensors by name, in the order of the file. */
  declare readonly tensors: ReadonlyMap<string, ModelTensor>;
  /** Members of an npz or TensorFlow.js model that are no numbers, such as text: what they are, by their names. */
  declare readonly unreadable: ReadonlyMap<string, string>;
  /** The inputs of an ONNX model, which `verifyInputs` names; of other formats none. */
  declare readonly inputs: readonly ModelInput[];
  readonly #files: ReadonlyMap<string, FileTensor>;
  readonly #weights: ReadonlyMap<string, StoredWeight>;
  readonly #document: ModelDocument;
  readonly #close: () => Promise<void>;

  static {
    readDocument = (model) => (#document in model ? model.#document : undefined);
    readParts = (model, name) => {
      const weight = model.#weights.get(name);
      return weight && Object.values(weight.parts);
    };
    weightsOf = (model) => model.#weights;
    explainReceivers(Model, "Model", (object) => #document in object);
  }

  /** @internal */
  constructor(
    document: ModelDocument,
    metadata: () => ReadonlyMap<string, unknown>,
    weights: readonly StoredWeight[],
    close: () => Promise<void>,
  ) {
    const { format, files } = document;
    this.#document = document;
    this.#files = files;
    this.#close = close;
    this.#weights = new Map(weights.map((weight) => [weight.name, weight]));
    const tensors = fixedMap("Model.tensors", tensorsOf(files, weights));
    const inputs = document.format === "onnx" ? inputsOf(document.onnx) : Object.freeze([]);
    fixFields<Model>(this, {
      ...{ format, tensors, inputs },
      unreadable: fixedMap("Model.unreadable", document.unreadable),
    });
    // Made when it is asked for: texts of a tokenizer take many times their bytes in the file.
    let made: ReadonlyMap<string, unknown> | undefined;
    const get = () => (made ??= fixedMap("Model.metadata", metadata()));
    define(this, "metadata", { get, enumerable: true });
  }

  #file(where: string, name: string): FileTensor {
    const tensor = this.#files.get(name);
    if (tensor !== undefined) return tensor;
    const weight = this.#weights.get(name);
    if (weight !== undefined) {
      const held = Object.values(weight.parts).map((part) => show(part));
      const problem = `${show(name)} is held by the tensors ${held.join(", ")}`;
      throw rangeError("ZP_INVALID_MODEL", where, problem);
    }
    const kind = this.#document.unreadable.get(name);
    if (kind !== undefined) {
      throw rangeError("ZP_UNSUPPORTED_FILE", where, `${show(name)} is not read: ${kind}`);
    }
    throw rangeError("ZP_INVALID_MODEL", where, `the model has no tensor ${show(name)}`);
  }

  /**
   * Reads a tensor as float32: each stored value is rounded once, and quantized ones are dequantized as their
   * layout defines it, in the rounding of its own float type. Parts of quantized tensors, such as scales, are read by
   * their own names.
   * @throws {RangeError} `ZP_INVALID_MODEL` if there is none of this name; `ZP_UNSUPPORTED_FILE` for a tensor whose
   *   quantization is not known, with the names of what was not understood; `ZP_UNSUPPORTED_DTYPE` for complex numbers; `ZP_INVALID_FILE`
   */
  async read(name: string): Promise<Tensor> {
    const where = "Model.read";
    const weight = this.#weights.get(name);
    if (weight !== undefined) {
      return new Tensor(await weight.read(this.#loader(where)), [...weight.shape]);
    }
    const file = this.#file(where, name);
    checkDecodable(where, file);
    const data = newArray(where, Float32Array, sizeOf(file.shape));
    let at = 0;
    for await (const tile of readTiles(where, this.#document.core, file)) {
      data.set(tile, at);
      at += tile.length;
    }
    return new Tensor(data, [...file.shape]);
  }

  /**
   * Reads the codes and qparams of a quantized tensor: of a file of `save`, of compressed-tensors, MLX (with `offset` in
   * place of the zero point), GPTQ and AWQ (whose matrices are transposed in the file), int8 with scales beside it,
   * TensorFlow.js, and of ONNX weights with scales. A matrix whose groups run along its first axis, as in ONNX's
   * MatMul, comes out transposed. `dequantize` computes in float32; `read` rounds as the layout does.
   * @throws {RangeError} `ZP_INVALID_MODEL` if there is none of this name, it is not quantized, or no quantized tensor
   *   holds its values (groups that are not runs of neighbours, codes of float8 or float4)
   */
  async readQuantized(name: string): Promise<AnyQuantizedTensor | TorchQuantizedTensor> {
    const where = "Model.readQuantized";
    const weight = this.#weights.get(name);
    if (weight !== undefined) return await weight.readQuantized(this.#loader(where));
    this.#file(where, name);
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

  /** Reads the parts of a quantized tensor. */
  #loader(where: string): LoadParts {
    return async (names) => {
      const parts = new OptionsRecord() as Record<string, StoredPart>;
      for (const [role, name] of Object.entries(names)) {
        parts[role] = partOf(this.#file(where, name), await this.readBytes(name));
      }
      return parts;
    };
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

/**
 * The file's document, for writers.
 * @throws {TypeError} `ZP_INVALID_MODEL` if it is no model
 */
export function documentOf(where: string, argument: string, model: unknown): ModelDocument {
  const document = Object(model) === model ? readDocument(model as object) : undefined;
  if (document !== undefined) return document;
  throw wrongKind("ZP_INVALID_MODEL", where, argument, "a Model of openModel", model);
}

/** The tensors of the file that hold a tensor of the model: itself, or codes, scales and zero points. */
export function partsOf(model: Model, name: string): readonly FileTensor[] {
  const { files } = documentOf("partsOf", "model", model);
  const names = readParts(model, name) ?? [name];
  return names.flatMap((part) => files.get(part) ?? []);
}

/** A map that describes a file, so that its reader cannot change it. */
function fixedMap<V>(where: string, entries: Iterable<readonly [string, V]>): Map<string, V> {
  const map = new Map(entries);
  const refuse = (): never => {
    const problem = "it describes the file and cannot be changed; new Map(…) copies it";
    throw typeError("ZP_INVALID_MODEL", where, problem);
  };
  for (const name of ["set", "delete", "clear"]) {
    define(map, name, { value: refuse });
  }
  return map;
}

/** A description of a tensor, whose fields and shape cannot be changed. */
function fixedTensor(tensor: ModelTensor): ModelTensor {
  return Object.freeze({ ...tensor, shape: Object.freeze([...tensor.shape]) });
}

/** The tensors of a model: quantized ones as one each, at the place of their codes, without their parts. */
function tensorsOf(
  files: ReadonlyMap<string, FileTensor>,
  weights: readonly StoredWeight[],
): Map<string, ModelTensor> {
  const byCodes = new Map<string, StoredWeight>();
  const parts = new Set<string>();
  const beside = new Set<string>();
  for (const weight of weights) {
    const names = Object.values(weight.parts);
    byCodes.set(names[0], weight);
    for (const part of names) parts.add(part);
    for (const other of fieldOf(weight, "beside") ?? []) beside.add(other);
  }
  const tensors = new Map<string, ModelTensor>();
  for (const [file, { shape, dtype, byteLength }] of files) {
    const weight = byCodes.get(file);
    if (weight !== undefined) {
      const { name } = weight;
      const layout = fieldOf(weight, "layout");
      const own = { name, shape: weight.shape, dtype: weight.dtype };
      const how = layout === undefined ? {} : { layout };
      tensors.set(name, fixedTensor({ ...own, byteLength, isQuantized: true, ...how }));
    } else if (!parts.has(file)) {
      const own = { name: file, shape, dtype };
      const how = beside.has(file) ? { layout: BESIDE_UNKNOWN } : {};
      tensors.set(file, fixedTensor({ ...own, byteLength, isQuantized: false, ...how }));
    }
  }
  return tensors;
}
