// Contracts of quantizeModel: what it gives, and what the writers of all formats take.

import type { PlatformAbortSignal, PlatformByteStream } from "../../base/platform.js";
import type { KeptCore } from "../../core/init.js";
import type { FileDType } from "../../formats/dtypes.js";
import type { ModelDocument } from "../open/document.js";
import type { Model, ModelTensor } from "../open/model.js";
import type { Scheme } from "../scheme.js";
import type { FileEncoder } from "../weights/slices.js";
import type { RuntimeTensor, SessionFactory } from "./runtime.js";
import type { ValueWatch } from "./watch.js";

/** A format that `quantizeModel` writes. */
export type OutputFormat = "safetensors" | "gguf" | "onnx" | "npz" | "npy";

/** A file that is made while it is read. */
export interface OutputFile {
  /** Its name; for transformers.js with the folder `onnx/` that it asks for. */
  readonly name: string;
  /** Its size in bytes, exact before anything is written. */
  readonly size: number;
  /**
   * The bytes, front to back. Each call makes them anew.
   * @param begin  offset of the first byte, for a file whose beginning is there: tensors before it are not read.
   *   Default: 0
   */
  stream(begin?: number): PlatformByteStream;
}

/** What was done with one tensor. */
export interface QuantizedRow {
  /** The tensor's name in the model. */
  readonly name: string;
  /** Its dtype in the model. */
  readonly from: FileDType;
  /** The scheme, or "keep"; "left out" for scales of activations of a weight that is quantized again. */
  readonly scheme: string;
  /** Bytes of the tensor in the model. */
  readonly bytesBefore: number;
  /** With scales and zero points. */
  readonly bytesAfter: number;
  /** Bytes that it adds to the file otherwise: names, shapes and metadata, in ONNX also nodes. In safetensors at most. */
  readonly headerBytes?: number;
  /** ONNX: the operators that compute with it. */
  readonly form?: string;
  /** Why it is kept, or has another scheme than the one asked for; once its file is streamed, also what became of its values. */
  readonly reason?: string;
  /** Of a weight that was quantized before: both roundings. */
  readonly requantized?: TwoRoundings;
}

/** The roundings of a weight that is quantized again. */
export interface TwoRoundings {
  /** Its dtype, and its layout if that has a name: "uint4 of gptq". */
  readonly from: string;
  /** SQNR in dB of the values that were read, against those of `options.original`. */
  readonly sqnrBefore?: number;
  /** SQNR in dB of the written values against those that were read; there once the file is streamed. */
  readonly sqnr?: number;
}

/** An output of the quantized model beside the same output of the float one. */
export interface OutputDifference {
  /** The name of the output. */
  readonly name: string;
  /** Its shape in this run. */
  readonly shape: readonly number[];
  /** The largest difference of two values. */
  readonly max: number;
  /** Signal to quantization noise in dB; Infinity if all values are equal. */
  readonly sqnr: number;
}

/**
 * What `quantizeModel` did, kept and why: plain data. When a file is streamed to its end, what its values became is added:
 * reasons and notes of weights that are all zero or not finite in it, and errors of weights that are rounded twice.
 */
export interface QuantizeReport {
  /** The format of the files. */
  readonly format: OutputFormat;
  /** The layout or engine that the files are for. */
  readonly target: string;
  /** A row for each tensor of the model. */
  readonly rows: readonly QuantizedRow[];
  /** Bytes of the model: of its main file, and of the tensors that are in other files. */
  readonly bytesBefore: number;
  /** Bytes of all files to write. */
  readonly bytesAfter: number;
  /** Outputs of the quantized model beside those of the float one, if `verifyWith` was given. */
  readonly outputs?: readonly OutputDifference[];
  /** Remarks about the whole file: limits, engines that run it, names of the plan that are not in the model. */
  readonly notes: readonly string[];
}

/** The result of `quantizeModel`. */
export interface QuantizeModelResult {
  /** The files to write, in the order of their names. */
  readonly files: readonly OutputFile[];
  /** What was done, kept and why. */
  readonly report: QuantizeReport;
}

/** How far a stream has come, in bytes of input. */
export interface QuantizeProgress {
  /** Bytes of input that were read. */
  readonly done: number;
  /** Bytes of input in all. */
  readonly total: number;
  /** The tensor at hand. */
  readonly name: string;
}

/** What a tensor gets: the scheme, who chose it, and a reason where it is kept. */
export interface Assignment {
  readonly scheme: Scheme;
  /** Whether a plan or a function named this tensor's scheme. */
  readonly isExplicit: boolean;
  /** Why it is kept. */
  readonly reason?: string;
}

/** The choice of the user, as far as it can be read without knowing the format. */
export type SchemeChoice =
  /** One name for the whole model. A GGUF writer reads it as a type of llama-quantize. */
  | { readonly kind: "uniform"; readonly name: string }
  /** From a plan or a function: names of schemes by tensor, and reasons of a plan. */
  | {
      readonly kind: "plan" | "function";
      readonly schemes: ReadonlyMap<string, Scheme>;
      readonly reasons: ReadonlyMap<string, string>;
    };

/** A file to write: what `Job.file` needs to make an `OutputFile` of it. */
export interface FileParts {
  readonly name: string;
  readonly size: number;
  /** Its parts, front to back. */
  readonly sections: readonly Section[];
}

/** A run of bytes of a file that can be made without those before it. */
export interface Section {
  readonly byteLength: number;
  /** Bytes of input that making it reads, for the progress. */
  readonly inputBytes: number;
  /** Makes the bytes. @param advance  to be called with bytes of input as they are read */
  chunks(advance: (bytes: number, name: string) => void): AsyncIterable<Uint8Array>;
}

/** Inputs of one run by name, or of several runs. */
export type VerifyInputs =
  | Readonly<Record<string, RuntimeTensor>>
  | readonly Readonly<Record<string, RuntimeTensor>>[];

/** All that a writer needs. */
export interface Job {
  /** For error messages. */
  readonly where: "quantizeModel";
  /** The core that quantizes: of the instance on which the model is quantized, else that of the model. */
  readonly core: KeptCore;
  readonly model: Model;
  readonly document: ModelDocument;
  readonly choice: SchemeChoice;
  readonly target: string | undefined;
  /** What inputs of layers become while the model runs: "dynamic" is for compressed-tensors and ONNX. */
  readonly activations: "float32" | "dynamic";
  readonly pure: boolean;
  /** Whether weights that are quantized already are quantized again, from their values. */
  readonly requantize: boolean;
  /** Types of single tensors, as the user gave them: the GGUF writer checks them. */
  readonly tokenEmbeddingType: unknown;
  readonly outputTensorType: unknown;
  readonly tensorTypes: unknown;
  /** Importance of inputs by tensor name, as the user gave it: the GGUF writer checks it. */
  readonly imatrix: unknown;
  /** ONNX: makes sessions that run the float and the quantized model, and what they are given. */
  readonly verifyWith: SessionFactory | undefined;
  readonly verifyInputs: VerifyInputs | undefined;
  readonly verifySizes: Readonly<Record<string, number>> | undefined;
  readonly signal: PlatformAbortSignal | undefined;
  /** Watches what becomes of the values of a weight, for the report. */
  watch(name: string): ValueWatch;
  /**
   * The scheme of a tensor by the choice and by selection.ts. A uniform name is read as a scheme name at the first call.
   * @throws {RangeError} `ZP_INVALID_SCHEME`
   */
  assign(tensor: ModelTensor): Assignment;
  /** An output file with progress, signal, and a check that it becomes as long as it says. */
  file(parts: FileParts): OutputFile;
}

/** What a writer gives; quantizeModel adds sizes and the notes about the plan. */
export interface Written {
  readonly target: string;
  readonly files: readonly OutputFile[];
  readonly rows: readonly QuantizedRow[];
  readonly notes: readonly string[];
  readonly outputs?: readonly OutputDifference[];
  /** The arithmetic of weights that are not quantized as `quantize` does, by name. */
  readonly encoders?: ReadonlyMap<string, FileEncoder>;
}

/** Writes a model in one format. Reads headers only: values are read while files are streamed. */
export type Writer = (job: Job) => Promise<Written>;
