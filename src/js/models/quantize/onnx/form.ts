// What all forms of quantized weights in ONNX models share.

import { DTYPES } from "../../../base/dtype.js";
import type { KeptCore } from "../../../core/init.js";
import { bytesOf, type FileDType } from "../../../formats/dtypes.js";
import type { OnnxWeightNote } from "../../../formats/layouts/onnx-described.js";
import type { OnnxGraph } from "../../../formats/onnx/graph.js";
import type { OnnxWeight } from "../../../formats/onnx/weights.js";
import type { ByteStream } from "../../../formats/source.js";
import type { LinearScheme } from "../../scheme.js";
import { BitPacker } from "../../structure/bits.js";
import type { FileEncoder } from "../../weights/slices.js";
import type { ValueWatch } from "../watch.js";
import { type CodeArray, WeightCoder } from "./codes.js";
import type { Rewriter } from "./rewrite.js";

/** A weight, its scheme, and the model that is rewritten. */
export interface FormContext {
  /** The core that quantizes. */
  readonly core: KeptCore;
  readonly rewriter: Rewriter;
  readonly weight: OnnxWeight;
  readonly scheme: LinearScheme;
  /** Called with the weight's coder when its codes were written. */
  readonly onWritten: () => void;
  /** Watches what becomes of the values. */
  readonly watch: ValueWatch;
}

/** A way to store a quantized weight, and to compute with it. */
export interface Form {
  /** Its name in reports. */
  readonly name: string;
  /** Why a weight cannot have this form, empty where it is for other operators; undefined if it can. */
  refuse(context: FormContext): string | undefined;
  /** Rewrites the model. */
  write(context: FormContext): WrittenForm;
}

/** What a form made of a weight. */
export interface WrittenForm {
  /** Bytes of the tensors that it added. */
  readonly bytes: number;
  /** How to read them, names of tensors in the weight's graph. */
  readonly note: FormNote;
  /** Its arithmetic, if it is not that of `quantize`. */
  readonly encoder?: FileEncoder;
}

export type FormNote = Omit<OnnxWeightNote, "name" | "shape" | "schemeName">;

/** Notes of codes in the weight's own order, with the scales of its scheme. */
export function noteOf(
  { weight, scheme }: FormContext,
  { codes, scale, zeroPoint }: PartNames,
  coder: WeightCoder,
  isPacked = false,
): FormNote {
  const { shape } = weight.tensor;
  const parts = { codes, scale, ...(scheme.isAffine ? { zeroPoint } : {}) };
  const bits = isPacked ? 4 : 8;
  const dtype = `${scheme.dtype.startsWith("u") ? "uint" : "int"}${bits}` as FileDType;
  const own = { ...parts, dtype, ...(isPacked ? { isPacked } : {}) };
  if (scheme.granularity === "tensor") return { ...own, view: shape };
  const { channelAxis, inputAxes } = weight.orientation;
  if (scheme.granularity === "channel") return { ...own, view: shape, axis: channelAxis };
  const [first, last] = inputAxes;
  const blockSize = coder.groupSize;
  if (first === last) return { ...own, view: shape, axis: first, blockSize };
  const [outer, inputs, inner] = coder.view;
  return { ...own, view: inner === 1 ? [outer, inputs] : coder.view, axis: 1, blockSize };
}

/** Why a form cannot take a weight behind Slice, Split, Concat, Squeeze or Unsqueeze. */
export const REARRANGED = "a weight that is cut, joined or reshaped before its use";

/** Bits of a scheme's codes. */
export const bitsOf = ({ dtype }: LinearScheme): number => DTYPES[dtype].bits;

/** Whether all uses of a weight are in the graph that holds it, as constants of it must be. */
export const graphOf = ({ weight }: FormContext): OnnxGraph => weight.value.graph;

/** The numbers of TensorProto.DataType that Cast names. */
export const DATA_TYPE: { readonly [dtype: string]: number } = {
  float32: 1,
  float16: 10,
  float64: 11,
  bfloat16: 16,
};

/** Names of a weight's parts, by its own name. */
export interface PartNames {
  readonly codes: string;
  readonly scale: string;
  readonly zeroPoint: string;
}

export function partNames({ rewriter, weight }: FormContext): PartNames {
  const { name } = weight.value;
  return {
    codes: rewriter.newName(`${name}_quantized`),
    scale: rewriter.newName(`${name}_scale`),
    zeroPoint: rewriter.newName(`${name}_zero_point`),
  };
}

/** Bytes of an array. */
export const bytesIn = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** A tensor of values that are known. */
export const known = (
  name: string,
  dtype: FileDType,
  shape: readonly number[],
  array: ArrayBufferView,
) => ({ name, dtype, shape, bytes: (): ByteStream => [bytesIn(array)] });

/** A tensor whose bytes are made at once, when it is written. */
export const made = (
  name: string,
  dtype: FileDType,
  shape: readonly number[],
  make: () => Promise<ArrayBufferView>,
) => ({
  name,
  dtype,
  shape,
  async *bytes() {
    yield bytesIn(await make());
  },
});

/** Codes of one byte each, or two in a byte, the first one in its low half. */
export async function* codeBytes(
  codes: AsyncIterable<CodeArray>,
  bits: 4 | 8,
  offset = 0,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (bits === 8 && offset === 0) {
    for await (const piece of codes) yield bytesIn(piece);
    return;
  }
  const packer = new BitPacker(bits, offset);
  for await (const piece of codes) {
    packer.put(piece, 0, piece.length);
    yield packer.take();
  }
  // Half a byte is left of an odd number of codes.
  yield packer.take(true);
}

/** The quantizer of a context. */
export function coderOf({ core, rewriter, weight, scheme, onWritten, watch }: FormContext) {
  const hold = (self: WeightCoder): void => rewriter.hold(self);
  const coder = new WeightCoder(weight, scheme, hold, core("quantizeModel"), watch);
  async function* codes(): AsyncGenerator<CodeArray, void, undefined> {
    yield* coder.codes();
    onWritten();
  }
  return { coder, codes };
}

/** Zero points as bytes: one each, or two in a byte. */
export function zeroBytes(zeros: Int32Array, dtype: FileDType): Uint8Array {
  if (dtype === "int16" || dtype === "uint16") return bytesIn(Uint16Array.from(zeros));
  const bytes = Uint8Array.from(zeros);
  if (bytesOf(dtype, 2) === 2) return bytes;
  const packed = new Uint8Array(Math.ceil(bytes.length / 2));
  for (const [i, code] of bytes.entries()) packed[i >> 1] |= (code & 15) << (4 * (i & 1));
  return packed;
}
