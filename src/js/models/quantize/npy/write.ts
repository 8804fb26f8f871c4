// npz and npy files of a model: its values as plain arrays, in half floats if that is asked for.

import { rangeError } from "../../../base/errors.js";
import { isNpyDType, npyHeader, writeNpy } from "../../../formats/npy.js";
import { sizeOfNpz, writeNpz } from "../../../formats/npz/write.js";
import type { WritableTensor } from "../../../formats/source.js";
import { STRUCTURE_KEY } from "../../structure/structure.js";
import type { Advance } from "../../weights/slabs.js";
import { lostMetadata } from "../lost-metadata.js";
import { type OutputTensor, sizeInFile } from "../output-tensor.js";
import { type SourceTensor, sourceFileOf } from "../source-tensors.js";
import type { Job, OutputFile, QuantizedRow, Section, Writer } from "../types.js";
import { convert, keep, toHalf } from "../unquantized.js";

/** Whether an entry of metadata describes the tensors that `save` wrote, not the model. */
const isStructure = (_: unknown, key: string): boolean => key === STRUCTURE_KEY;

/** Writes one npz file of all tensors. */
export const writeNpzModel: Writer = async (job) => {
  const { file, tensors } = sourceFileOf(job);
  const { parts, rows } = partsOf(job, "npz", tensors);
  const written = (advance: Advance): WritableTensor[] =>
    parts.map((part) => ({ ...part, bytes: () => part.stream(advance) }));
  const size = sizeOfNpz(written(() => {}));
  // One section: the checksums of all arrays are at the end.
  const section: Section = {
    byteLength: size,
    inputBytes: parts.reduce((sum, { inputBytes }) => sum + inputBytes, 0),
    chunks: (advance) => writeNpz(written(advance)),
  };
  const files = [job.file({ name: `${file}.npz`, size, sections: [section] })];
  return { target: "npz", files, rows, notes: lostMetadata(job.model, isStructure) };
};

/** Writes an npy file of a model's only tensor. */
export const writeNpyModel: Writer = async (job) => {
  const { file, tensors } = sourceFileOf(job);
  if (tensors.length !== 1) {
    const problem = `npy holds one tensor, and the model has ${tensors.length}; npz holds any number`;
    throw rangeError("ZP_INVALID_OPTION", job.where, `options.format: ${problem}`);
  }
  const { parts, rows } = partsOf(job, "npy", tensors);
  const [part] = parts;
  const written = (advance: Advance): WritableTensor => ({
    ...part,
    bytes: () => part.stream(advance),
  });
  const size =
    npyHeader(
      job.where,
      written(() => {}),
    ).length + sizeInFile(part);
  const { inputBytes } = part;
  const chunks = (advance: Advance) => writeNpy(written(advance));
  const sections = [{ byteLength: size, inputBytes, chunks }];
  const files: OutputFile[] = [job.file({ name: `${file}.npy`, size, sections })];
  return { target: "npy", files, rows, notes: lostMetadata(job.model, isStructure) };
};

/** The arrays to write. */
function partsOf(
  job: Job,
  format: string,
  tensors: readonly SourceTensor[],
): { parts: OutputTensor[]; rows: QuantizedRow[] } {
  const rows: QuantizedRow[] = [];
  const parts = tensors.map(({ tensor, file, values, bytesBefore = 0 }) => {
    const { name } = tensor;
    const { scheme, reason } = job.assign(tensor);
    if (scheme.kind === "linear" || scheme.kind === "block") {
      const problem = `${format} holds plain values: the scheme must be float16 or keep, got ${JSON.stringify(scheme.name)}`;
      throw rangeError("ZP_INVALID_SCHEME", job.where, `${problem} for ${JSON.stringify(name)}`);
    }
    const isPlain = file.dtype === tensor.dtype && isNpyDType(file.dtype);
    const isHalf = scheme.kind === "half" && values !== undefined && file.dtype !== "float16";
    if (isHalf && scheme.name === "bfloat16") {
      const problem = `${format} has no bfloat16; float16 is another half float`;
      throw rangeError("ZP_INVALID_SCHEME", job.where, problem);
    }
    const part = isHalf
      ? toHalf(file, values, "float16", job.watch(name))
      : isPlain
        ? keep(file)
        : convert(file, values, tensor.dtype);
    const widened = isPlain || isHalf ? undefined : `written as ${part.dtype}`;
    const why = [reason, widened].filter((each) => each !== undefined).join("; ");
    const row = {
      ...{ name, from: file.dtype, scheme: isHalf ? scheme.name : "keep", bytesBefore },
      bytesAfter: sizeInFile(part),
    };
    rows.push(why === "" ? row : { ...row, reason: why });
    return part;
  });
  return { parts, rows };
}
