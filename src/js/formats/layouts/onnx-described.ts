// Quantized weights of ONNX models that this library wrote: metadata of the model names each weight's tensors.

import { ownFields } from "../../base/fields.js";
import type { FileDType } from "../dtypes.js";
import { writeJson } from "../json.js";
import type { OnnxModel } from "../onnx/graph.js";
import { type CodeArray, integersOf, type ScaledCodes, scaleCount } from "./scaled.js";
import { misfit, type StoredPart, type StoredParts } from "./unpack.js";

/** A quantized weight of an ONNX model. */
export interface OnnxWeight {
  /** Name of the tensor of its codes. */
  readonly name: string;
  /** Logical shape. */
  readonly shape: readonly number[];
  /** dtype of its codes. */
  readonly dtype: FileDType;
  /** Names of its tensors by their role: codes, scale, zeroPoint. */
  readonly parts: Readonly<Record<string, string>>;
  /** Whether the logical shape is the transpose of the unpacked codes. */
  readonly isTransposed: boolean;
  /** @throws {RangeError} `ZP_INVALID_FILE` if the parts do not fit each other */
  unpack(parts: StoredParts): ScaledCodes<CodeArray | Float32Array>;
}

/** What the metadata say of a weight. */
export interface OnnxWeightNote {
  /** The weight's name in the float model. */
  readonly name: string;
  /** Its shape there. */
  readonly shape: readonly number[];
  /** The name of the scheme it was quantized by, from which `verify` derives it again. */
  readonly schemeName?: string;
  /** Names of its tensors. */
  readonly codes: string;
  readonly scale: string;
  readonly zeroPoint?: string;
  /** Where the graph does not say it: dtype of the codes, and the axis of the scales in `view`. */
  readonly dtype?: FileDType;
  readonly axis?: number;
  readonly blockSize?: number;
  /** The shape in which `axis` counts. */
  readonly view?: readonly number[];
  /** false: rows of outputs are in the order of the weight, also where an operator takes its transpose. */
  readonly isTransposed?: boolean;
  /** Two codes in each byte, signed ones from 0 on. */
  readonly isPacked?: boolean;
}

const PREFIX = "zeropoint.weight.";

/** A metadata entry for a weight. */
export const noteEntry = (note: OnnxWeightNote): readonly [key: string, value: string] => [
  PREFIX + note.codes,
  writeJson(note),
];

/** Reads the notes of a model by the names of codes. Notes of tensors that are not there are passed over. */
export function readNotes({ metadata, tensors }: OnnxModel): Map<string, OnnxWeightNote> {
  const notes = new Map<string, OnnxWeightNote>();
  for (const [key, text] of metadata) {
    if (!key.startsWith(PREFIX)) continue;
    const note = parseNote(text);
    const parts = [note?.codes, note?.scale, note?.zeroPoint].filter((part) => part !== undefined);
    if (note === undefined || !parts.every((part) => tensors.has(part)) || tensors.has(note.name)) {
      continue;
    }
    notes.set(note.codes, note);
  }
  return notes;
}

const isBoolean = (value: unknown): boolean => typeof value === "boolean";

const isLengths = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((length) => Number.isSafeInteger(length) && length >= 0);

function parseNote(text: string): OnnxWeightNote | undefined {
  let given: Partial<Record<keyof OnnxWeightNote, unknown>>;
  try {
    given = ownFields(Object(JSON.parse(text)));
  } catch {
    return undefined;
  }
  const { name, shape, codes, scale, zeroPoint, dtype, axis, blockSize, view } = given;
  const { schemeName } = given;
  const isName = (value: unknown): boolean => typeof value === "string";
  const isOptional = (value: unknown, is: (value: unknown) => boolean): boolean =>
    value === undefined || is(value);
  const isFine =
    [name, codes, scale].every(isName) &&
    isLengths(shape) &&
    [zeroPoint, schemeName].every((value) => isOptional(value, isName)) &&
    isOptional(dtype, (value) => /^u?int[1-8]$/.test(String(value))) &&
    isOptional(axis, Number.isSafeInteger) &&
    isOptional(blockSize, (value) => Number.isSafeInteger(value) && (value as number) > 0) &&
    isOptional(view, isLengths) &&
    [given.isPacked, given.isTransposed].every((value) => isOptional(value, isBoolean));
  return isFine ? (given as OnnxWeightNote) : undefined;
}

/** A weight that its note describes in full. @returns undefined if the note leaves that to the graph */
export function describedWeight(note: OnnxWeightNote): OnnxWeight | undefined {
  const { name, shape, codes, scale, zeroPoint, dtype, axis, blockSize, view, isPacked } = note;
  if (dtype === undefined || view === undefined) return undefined;
  const isSigned = dtype.startsWith("int");
  const parts = { codes, scale, ...(zeroPoint === undefined ? {} : { zeroPoint }) };
  const unpack = (stored: StoredParts): ScaledCodes => {
    const form = { shape: view, axis, blockSize };
    const size = view.reduce((product, length) => product * length, 1);
    const logical = shape.reduce((product, length) => product * length, 1);
    if (size !== logical || (axis !== undefined && !(axis >= 0 && axis < view.length))) {
      const expected = `codes of [${shape.join(", ")}] with axis ${axis}, as its note says`;
      throw misfit(stored.codes, expected, `a view [${view.join(", ")}]`);
    }
    const count = scaleCount(form);
    const checked = (part: StoredPart, bytes: number): Uint8Array => {
      if (part.bytes.length === bytes) return part.bytes;
      throw misfit(part, `${bytes} bytes, as its note says`, part.bytes.length);
    };
    const bytes = checked(stored.codes, isPacked ? Math.ceil(size / 2) : size);
    const scales = checked(stored.scale, 4 * count);
    if (stored.scale.dtype !== "float32") throw misfit(stored.scale, "float32", stored.scale.dtype);
    const zeros = stored.zeroPoint && checked(stored.zeroPoint, count);
    const moved = isPacked && isSigned ? 8 : 0;
    const own = integersOf(isPacked ? "uint4" : isSigned ? "int8" : "uint8", bytes, size);
    const typed =
      zeros && new (isSigned && !isPacked ? Int8Array : Uint8Array)(zeros.slice().buffer);
    return {
      codes:
        moved === 0 ? (own as Uint8Array) : Int8Array.from(own as Uint8Array, (q) => q - moved),
      ...form,
      scale: new Float32Array(scales.slice().buffer),
      zeroPoint: typed && Int32Array.from(typed, (zero) => zero - moved),
      valueDtype: "float32",
    };
  };
  return { name, shape, dtype, parts, isTransposed: false, unpack };
}
