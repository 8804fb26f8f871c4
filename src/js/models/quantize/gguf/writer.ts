// The writer of GGUF for quantizeModel.

import { rangeError, typeError } from "../../../base/errors.js";
import { fieldOf, ownFields } from "../../../base/fields.js";
import { show } from "../../../base/format-value.js";
import { checkObject } from "../../../base/options.js";
import { bytesOf, type FileDType } from "../../../formats/dtypes.js";
import { type GGUFLayout, ggufTensors } from "../../../formats/gguf/write.js";
import type { FileTensor } from "../../../formats/source.js";
import { sizeOf } from "../../../tensor/shape.js";
import { documentOf, Model, type ModelTensor, weightsOf } from "../../open/model.js";
import { openModel } from "../../open/open.js";
import type { FileSource } from "../../open/sources.js";
import { parseScheme } from "../../scheme.js";
import { lostMetadata } from "../lost-metadata.js";
import { bytesSection } from "../output.js";
import { isReadableQuantized, valuesTensor } from "../requantize.js";
import type { Assignment, Job, QuantizedRow, Section, Writer, Written } from "../types.js";
import { containerKeys } from "./container.js";
import { storedType } from "./convert.js";
import { FILE_TYPE_NAMES, type FileType, parseFileType, parseTensorType } from "./file-types.js";
import { type Importance, readImportance } from "./importance.js";
import {
  type ConvertedTensor,
  convertGGUF,
  type GGUFConversion,
  llamaQuantize,
} from "./quantize-gguf.js";
import { fits, float32Reason, type TensorChoice, type TypeOverride } from "./tensor-types.js";

/** The name that llama.cpp's own examples give an importance matrix. */
const DEFAULT_IMATRIX = "imatrix.gguf";

/**
 * Writes GGUF: from GGUF by a type of llama-quantize what that program writes, else each tensor by its scheme; from
 * other formats a container of weights.
 */
export const writeGguf: Writer = async (job) => {
  const { where, core, document, choice, target, pure } = job;
  const { tokenEmbeddingType, outputTensorType, tensorTypes } = job;
  if (target !== undefined) {
    throw rangeError(
      "ZP_INVALID_OPTION",
      where,
      `options.target must be absent for GGUF, got ${show(target)}`,
    );
  }
  const fileType = choice.kind === "uniform" ? parseFileType(choice.name) : undefined;
  const isLlama = document.format === "gguf" && fileType !== undefined;
  const ofLlama = { pure: pure || undefined, tokenEmbeddingType, outputTensorType, tensorTypes };
  for (const [name, value] of Object.entries(ofLlama)) {
    if (isLlama || value === undefined) continue;
    const problem = `options.${name} needs a GGUF model and a type of llama-quantize as scheme`;
    throw typeError("ZP_CONFLICTING_OPTIONS", where, problem);
  }
  if (document.format === "gguf" && choice.kind === "uniform")
    checkName(where, choice.name, fileType);
  const importance = await openImportance(job);
  if (!isLlama) return writePlain(job, importance);
  const typeOf = (name: string, given: unknown): FileDType | undefined =>
    given === undefined ? undefined : parseTensorType(where, `options.${name}`, given);
  const conversion = llamaQuantize(where, core, document.gguf, fileType, {
    ...{ pure, importance, requantize: job.requantize, watch: (name) => job.watch(name) },
    tokenEmbedding: typeOf("tokenEmbeddingType", tokenEmbeddingType),
    output: typeOf("outputTensorType", outputTensorType),
    overrides: readOverrides(where, tensorTypes),
  });
  return written(job, fileType.name, conversion, [`llama-quantize's ${fileType.name}`]);
};

/**
 * Reads options.tensorTypes.
 * @throws {TypeError | RangeError} `ZP_INVALID_OPTION` for what is no expression, or no type
 */
function readOverrides(where: string, given: unknown): TypeOverride[] {
  if (given === undefined) return [];
  const entries = Object.entries(checkObject(where, "options.tensorTypes", given));
  return entries.map(([text, type]) => {
    const argument = `options.tensorTypes[${JSON.stringify(text)}]`;
    const dtype = parseTensorType(where, argument, type);
    try {
      // llama-quantize takes expressions in lower case, and names are.
      return [new RegExp(text.toLowerCase()), dtype];
    } catch {
      const problem = `the names of options.tensorTypes must be regular expressions, got ${show(text)}`;
      throw rangeError("ZP_INVALID_OPTION", where, problem);
    }
  });
}

/** Refuses a name that is neither a type of llama-quantize nor a scheme. */
function checkName(where: string, name: string, fileType: FileType | undefined): void {
  if (fileType !== undefined || isScheme(where, name)) return;
  const types = FILE_TYPE_NAMES.join(", ");
  const problem = `scheme must be a type of llama-quantize (${types}; not the lattice types IQ1, IQ2 and IQ3) or the name of a scheme, got ${show(name)}`;
  throw rangeError("ZP_INVALID_SCHEME", where, problem);
}

function isScheme(where: string, name: string): boolean {
  try {
    parseScheme(where, "scheme", name);
    return true;
  } catch {
    return false;
  }
}

/** An error of opening options.imatrix; one of the file's bytes says which file. */
function imatrixError(where: string, error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message: string };
  if (code !== "ZP_INVALID_FILE" && code !== "ZP_UNSUPPORTED_FILE") return error;
  const problem = message.replace(/^openModel: /, "");
  const whole = `options.imatrix must be a GGUF file of llama-imatrix: ${problem}`;
  return Object.assign(rangeError("ZP_INVALID_MODEL", where, whole), { cause: error });
}

/** Opens options.imatrix. */
async function openImportance({ where, imatrix, signal }: Job): Promise<Importance | undefined> {
  if (imatrix === undefined) return undefined;
  if (imatrix instanceof Model) {
    const { fileName = DEFAULT_IMATRIX } = documentOf(where, "options.imatrix", imatrix);
    return await readImportance(where, imatrix, fileName);
  }
  const model = await openModel(imatrix as FileSource, { signal }).catch((error) => {
    throw imatrixError(where, error);
  });
  try {
    const { fileName = DEFAULT_IMATRIX } = documentOf(where, "options.imatrix", model);
    return await readImportance(where, model, fileName);
  } finally {
    await model.close();
  }
}

/** Writes every tensor by its scheme. */
function writePlain(job: Job, importance: Importance | undefined): Written {
  const { where, core, document, model } = job;
  const choose = ({ name }: FileTensor): TensorChoice =>
    choiceOf(job, model.tensors.get(name) as ModelTensor);
  const isContainer = document.format !== "gguf";
  const tensors = isContainer ? containerTensors(job) : document.files;
  const title = titleOf(document.fileName);
  const metadata = isContainer
    ? containerKeys(model.format, title, model.metadata)
    : document.gguf.metadata;
  const conversion = convertGGUF(
    where,
    core,
    { metadata, tensors },
    choose,
    importance,
    job.requantize,
    (name) => job.watch(name),
  );
  const notes = isContainer
    ? ["A container of weights: no engine runs it as a language model.", ...lostMetadata(model)]
    : [];
  const { choice } = job;
  return written(
    job,
    choice.kind === "uniform" ? choice.name.toLowerCase() : "quantized",
    conversion,
    notes,
  );
}

/**
 * The tensors of a model of another format, quantized ones as their values.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for quantized ones unless these are quantized again
 */
function containerTensors({ where, document, model, requantize }: Job): Map<string, FileTensor> {
  const tensors = new Map<string, FileTensor>();
  for (const [name, tensor] of model.tensors) {
    if (!tensor.isQuantized) {
      tensors.set(name, document.files.get(name) as FileTensor);
      continue;
    }
    const refusal = weightsOf(model).get(name)?.refusal;
    if (refusal !== undefined) throw refusal(where);
    if (!requantize || !isReadableQuantized(tensor)) {
      const problem = `tensor ${show(name)} is quantized already (${tensor.dtype}), and only GGUF's own types are kept in GGUF`;
      const hint = 'requantize: true quantizes its values again; format "npz" writes its values';
      throw rangeError("ZP_UNSUPPORTED_DTYPE", where, `${problem}; ${hint}`);
    }
    tensors.set(name, valuesTensor(where, model, tensor));
  }
  return tensors;
}

/** The dtype of a tensor by its scheme. */
function choiceOf(job: Job, tensor: ModelTensor): TensorChoice {
  const { where } = job;
  const { scheme, reason } = ownFields(job.assign(tensor)) as unknown as Assignment;
  if (scheme.kind === "linear") {
    const problem = `GGUF holds block types ("q4_k"), float16 and bfloat16; it has no scheme ${show(scheme.name)}`;
    throw rangeError("ZP_INVALID_SCHEME", where, problem);
  }
  if (scheme.kind === "keep") {
    // A container has the values of quantized tensors.
    if (tensor.isQuantized && job.document.format !== "gguf") {
      return { dtype: "float32", ...(reason !== undefined && { reason }) };
    }
    return storedChoice(where, tensor, reason);
  }
  const kept = job.document.format === "gguf" ? float32Reason(tensor) : undefined;
  if (kept !== undefined) return storedChoice(where, tensor, kept);
  if (fits(tensor, scheme.name)) return { dtype: scheme.name };
  const misfit = `rows of ${tensor.shape.at(-1)} values are not whole blocks of ${scheme.name}`;
  return storedChoice(where, tensor, misfit);
}

/** A tensor as it is, or in a wider dtype. */
function storedChoice(
  where: string,
  { name, dtype }: ModelTensor,
  reason: string | undefined,
): TensorChoice {
  const stored = storedType(dtype);
  if (stored === undefined) {
    const problem = `tensor ${show(name)} has dtype ${dtype}, which GGUF does not have`;
    throw rangeError("ZP_UNSUPPORTED_DTYPE", where, problem);
  }
  if (stored !== dtype) return { dtype: stored, reason: `GGUF has no ${dtype}` };
  return { dtype, ...(reason !== undefined && { reason }) };
}

/** A file's name without its ending, its number among several files, and the dtype of its values. */
const titleOf = (fileName: string | undefined): string =>
  (fileName ?? "model")
    .replace(/(-\d{5}-of-\d{5})?\.[a-z]+$/i, "")
    .replace(/\.safetensors\.index$/, "")
    .replace(/[-._](f32|f16|bf16)$/i, "") || "model";

function written(
  job: Job,
  suffix: string,
  { layout, tensors }: GGUFConversion,
  notes: readonly string[],
): Written {
  const file = job.file({
    name: `${titleOf(job.document.fileName)}-${suffix}.gguf`,
    size: layout.byteLength,
    sections: [bytesSection(layout.header), ...sectionsOf(layout, tensors)],
  });
  const unimportant = tensors.filter((each) => fieldOf(each, "unimportant") !== undefined);
  const weights = unimportant.length === 1 ? "1 weight" : `${unimportant.length} weights`;
  const lost =
    unimportant.length === 0
      ? []
      : [`options.imatrix has importance 0 for inputs of ${weights}: values of these may become 0`];
  const rows = tensors.map((each) => rowOf(each, job.model.tensors.get(each.source.name)));
  return { target: "llama.cpp", files: [file], rows, notes: [...notes, ...lost] };
}

/** @param origin  the tensor of the model */
function rowOf(converted: ConvertedTensor, origin: ModelTensor | undefined): QuantizedRow {
  const { source, tensor } = converted;
  const texts = [fieldOf(converted, "reason"), fieldOf(converted, "unimportant")];
  const reason = texts.filter((text) => text !== undefined).join("; ") || undefined;
  const isKept = source.dtype === tensor.dtype;
  return {
    name: source.name,
    from: origin?.dtype ?? source.dtype,
    scheme: isKept ? "keep" : tensor.dtype,
    bytesBefore: origin?.byteLength ?? source.byteLength,
    bytesAfter: bytesOf(tensor.dtype, sizeOf(tensor.shape)) as number,
    ...(reason !== undefined && { reason }),
  };
}

/** The tensors of a file, which report how much of their sources was read. */
const sectionsOf = (layout: GGUFLayout, converted: readonly ConvertedTensor[]): Section[] =>
  ggufTensors(layout).map(({ byteLength, bytes }, i) => {
    const { name, byteLength: inputBytes } = converted[i].source;
    return {
      byteLength,
      inputBytes,
      async *chunks(advance) {
        let [given, told] = [0, 0];
        for await (const chunk of bytes()) {
          yield chunk;
          given += chunk.length;
          const read = Math.floor((inputBytes * given) / byteLength);
          advance(read - told, name);
          told = read;
        }
      },
    };
  });
