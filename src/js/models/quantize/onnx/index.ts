// ONNX models with quantized weights: every weight in the form that the target runs fastest, everything else byte for
// byte.

import { DTYPES } from "../../../base/dtype.js";
import { fieldOf, ownFields } from "../../../base/fields.js";
import { noteEntry, type OnnxWeightNote } from "../../../formats/layouts/onnx-described.js";
import type { OnnxModel } from "../../../formats/onnx/graph.js";
import { findWeights, type OnnxWeight, type OnnxWeights } from "../../../formats/onnx/weights.js";
import { unsupported } from "../../../formats/source.js";
import { sizeOf } from "../../../tensor/shape.js";
import type { ModelDocument } from "../../open/document.js";
import type { ModelTensor } from "../../open/model.js";
import type { Scheme } from "../../scheme.js";
import type { FileEncoder } from "../../weights/slices.js";
import { outputFormatsOf } from "../formats.js";
import { isReadableQuantized, LEFT_OUT } from "../requantize.js";
import type { Assignment, Job, OutputFile, QuantizedRow, Written } from "../types.js";
import { CAST, refuseHalf, writeHalf } from "./cast.js";
import { checkTarget, chooseForm, formsFor, notesOf, type OnnxTarget } from "./choose.js";
import { TRANSFORMERS_JS } from "./dtypes.js";
import { dynamicProduct } from "./dynamic.js";
import { floatModel } from "./float-model.js";
import type { Form, FormContext, FormNote } from "./form.js";
import { Rewriter, type RewrittenModel } from "./rewrite.js";
import { nameNotes, namesFor, suffixOf } from "./transformers-js.js";
import { verifyOutputs } from "./verify.js";

/** Progress of the streams at hand: codes report the weight that they were made of. */
interface StreamProgress {
  advance: ((bytes: number, name: string) => void) | undefined;
}

/** Writes an ONNX model as one that is quantized. */
export async function writeOnnxModel(job: Job): Promise<Written> {
  const { where, model, document } = job;
  const target = checkTarget(where, job.target);
  if (document.format !== "onnx") {
    const found = `a file of ${document.format}, which has no graph`;
    const others = `options.format can be ${outputFormatsOf(model).join(", ")}`;
    throw unsupported(where, 0, "an ONNX model to write one", `${found}; ${others}`);
  }
  // Weights that are quantized again are float first; those that no form takes stay as they are.
  const refused = new Map<string, string>();
  for (;;) {
    const again = againOf(job).filter((name) => !refused.has(name));
    const given = [where, model, document.onnx, again, document.openExternal] as const;
    const float = await floatModel(...given);
    for (const [name, reason] of float.refused) refused.set(name, reason);
    const written = await rewriteModel(job, target, float.onnx, refused);
    const kept = written.rows.filter(
      ({ name, scheme }) => scheme === "keep" && again.includes(name),
    );
    const isNew = kept.filter(({ name }) => !refused.has(name));
    for (const { name, reason = "" } of isNew) refused.set(name, reason);
    if (isNew.length === 0) return await finish(job, target, document.onnx, written);
  }
}

/** Names of the weights that are to be quantized again. */
function againOf({ model, requantize, assign }: Job): string[] {
  if (!requantize) return [];
  const own = [...model.tensors.values()].filter(isReadableQuantized);
  return own.filter((tensor) => assign(tensor).scheme.kind !== "keep").map(({ name }) => name);
}

/** A job whose model is one of ONNX. */
type OnnxJob = Job & { readonly document: Extract<ModelDocument, { format: "onnx" }> };

/** A model whose weights have their forms. */
interface Rewritten {
  readonly onnx: OnnxModel;
  readonly rewriter: Rewriter;
  readonly rows: readonly QuantizedRow[];
  readonly encoders: ReadonlyMap<string, FileEncoder>;
  readonly schemes: ReadonlyMap<string, Scheme>;
  /** How many weights have each form. */
  readonly used: ReadonlyMap<string, number>;
  readonly progress: StreamProgress;
}

/** @param refused  why weights stay quantized, by name */
async function rewriteModel(
  job: Job,
  target: OnnxTarget,
  onnx: OnnxModel,
  refused: ReadonlyMap<string, string>,
): Promise<Rewritten> {
  const { model, document, activations } = job as OnnxJob;
  const found = await findWeights(onnx);
  const rewriter = new Rewriter(onnx, found);
  // Notes use the names of all weights.
  for (const name of model.tensors.keys()) found.values.names.add(name);
  const forms = formsFor(target, activations, floatBytes(found));
  const progress: StreamProgress = { advance: undefined };
  const rows: QuantizedRow[] = [];
  const used = new Map<string, number>();
  const encoders = new Map<string, FileEncoder>();
  const schemes = new Map<string, Scheme>();
  for (const [name, tensor] of model.tensors) {
    const { dtype: from, byteLength: bytesBefore } = tensor;
    const keep = (reason: string): QuantizedRow => ({
      ...{ name, from, scheme: "keep", bytesBefore, bytesAfter: bytesBefore, reason },
    });
    if (document.onnx.tensors.has(name) && !onnx.tensors.has(name)) {
      const left = { name, from, scheme: LEFT_OUT, bytesBefore, bytesAfter: 0 };
      rows.push({ ...left, reason: "of a weight that is quantized again" });
      continue;
    }
    const assigned = planned(job, found, tensor, refused);
    if (typeof assigned === "string") {
      rows.push(keep(assigned));
      continue;
    }
    const { weight, scheme } = assigned;
    const reason = fieldOf(assigned, "reason");
    const onWritten = (): void => progress.advance?.(bytesBefore, name);
    const addedBefore = rewriter.addedBytes;
    const context = { core: job.core, rewriter, weight, onWritten, watch: job.watch(name) };
    const written = rewriteWeight(context, scheme, forms);
    if (typeof written === "string") {
      rows.push(keep(written));
      continue;
    }
    const { form, bytesAfter, note } = written;
    const encoder = fieldOf(written, "encoder");
    if (encoder !== undefined) encoders.set(name, encoder);
    if (note !== undefined)
      rewriter.addMetadata(...noteEntry(namedIn(onnx, weight, name, scheme.name, note)));
    used.set(form, (used.get(form) ?? 0) + 1);
    schemes.set(name, scheme);
    const remarks = [reason, fieldOf(written, "float"), storedAs(scheme, bytesAfter, weight)];
    const why = remarks.filter((each) => each !== undefined).join("; ");
    const told = why === "" ? {} : { reason: why };
    const headerBytes = rewriter.addedBytes - addedBefore - bytesAfter;
    const own = { name, from, scheme: scheme.name, bytesBefore, bytesAfter, headerBytes, form };
    rows.push({ ...own, ...told });
  }
  return { onnx, rewriter, rows, encoders, schemes, used, progress };
}

/** The files of a model. */
async function finish(
  job: Job,
  target: OnnxTarget,
  original: OnnxModel,
  { onnx, rewriter, rows, encoders, schemes, used, progress }: Rewritten,
): Promise<Written> {
  const { where, document, activations } = job;
  const names = namesOf(job, document.fileName, target, rows, schemes);
  const rewritten = rewriter.finish(names.external);
  const files = filesOf(job, onnx, names, rewritten, progress);
  const notes = [
    ...notesOf(target, used, activations),
    ...(target === TRANSFORMERS_JS ? nameNotes(document.fileName) : []),
    ...widerNotes(rows),
  ];
  const written = { target, files, rows, notes, encoders };
  if (job.verifyWith === undefined) return written;
  const { verifyWith, verifyInputs, verifySizes } = job;
  const outputs = await verifyOutputs(
    where,
    original,
    files,
    verifyWith,
    verifyInputs,
    verifySizes,
  );
  return { ...written, outputs };
}

/** The names of the model's file and of its external data, and their folder. */
interface FileNames {
  readonly folder: string;
  readonly model: string;
  /** As the model names it, relative to its own folder. */
  readonly external: string;
}

function namesOf(
  job: Job,
  fileName: string | undefined,
  target: OnnxTarget,
  rows: readonly QuantizedRow[],
  schemes: ReadonlyMap<string, Scheme>,
): FileNames {
  if (target === TRANSFORMERS_JS) return namesFor(fileName, suffixOf(job, rows, schemes));
  const model = fileName ?? "model.onnx";
  return { folder: "", model, external: `${model.replace(/\.onnx$/i, "")}.onnx.data` };
}

/** Rewrites a weight in the first form that it fits. @returns why it fits none */
function rewriteWeight(
  given: Omit<FormContext, "scheme">,
  scheme: WeightScheme,
  forms: readonly Form[],
): RewrittenWeight | string {
  const { rewriter, weight, core, onWritten, watch } = given;
  if (scheme.kind === "half") {
    const refused = refuseHalf(rewriter, weight, scheme.name);
    if (refused !== undefined) return refused;
    const bytesAfter = writeHalf(rewriter, weight, scheme.name, core, onWritten, watch);
    return { form: CAST, bytesAfter };
  }
  const context: FormContext = { ...given, scheme };
  const form = chooseForm(forms, context);
  if (typeof form === "string") return form;
  const isDynamic = forms[0] === dynamicProduct;
  const refused = isDynamic && form !== dynamicProduct ? dynamicProduct.refuse(context) : undefined;
  const float = refused === undefined ? {} : { float: `inputs stay float32: ${refused}` };
  const { bytes, ...rest } = form.write(context);
  return { form: form.name, bytesAfter: bytes, ...rest, ...float };
}

/** How a weight was written. */
interface RewrittenWeight {
  readonly form: string;
  readonly bytesAfter: number;
  readonly note?: FormNote;
  readonly encoder?: FileEncoder;
  /** Why its inputs are not quantized, although that was asked for. */
  readonly float?: string;
}

/** What the file takes for codes of bits that ONNX does not store; undefined if it takes no more. */
function storedAs(
  scheme: WeightScheme,
  bytesAfter: number,
  { tensor }: OnnxWeight,
): string | undefined {
  if (scheme.kind !== "linear") return undefined;
  const { bits } = DTYPES[scheme.dtype];
  if (bits >= 8 || bits === 4) return undefined;
  const stored = bits < 4 && bytesAfter < sizeOf(tensor.shape) ? 4 : 8;
  return `${bits} bits are stored as ${stored}`;
}

/** A note on weights whose codes take more bits than their scheme has. */
function widerNotes(rows: readonly QuantizedRow[]): string[] {
  const wider = new Map<string, number>();
  for (const row of rows) {
    const [text] = /\d bits are stored as \d/.exec(fieldOf(row, "reason") ?? "") ?? [];
    if (text !== undefined) wider.set(text, (wider.get(text) ?? 0) + 1);
  }
  return Array.from(
    wider,
    ([text, count]) =>
      `${count === 1 ? "1 weight" : `${count} weights`}: ${text} in ONNX, so the file is larger than the scheme's name says`,
  );
}

/** A note with the keys that its tensors have in the model. */
function namedIn(
  { graph }: OnnxModel,
  { tensor, value }: OnnxWeight,
  name: string,
  schemeName: string,
  note: FormNote,
): OnnxWeightNote {
  const key = (part: string): string =>
    value.graph === graph ? part : `${value.graph.path}/${part}`;
  const { codes, scale, zeroPoint, ...rest } = ownFields(note) as unknown as FormNote;
  const parts = { codes: key(codes), scale: key(scale) };
  const zero = zeroPoint === undefined ? {} : { zeroPoint: key(zeroPoint) };
  return { name, shape: tensor.shape, schemeName, ...parts, ...zero, ...rest };
}

/** Schemes that ONNX has a form for. */
type WeightScheme = Extract<Scheme, { kind: "linear" | "half" }>;

/** A weight with its scheme, or why the tensor is kept. */
function planned(
  job: Job,
  { weights, reasons }: OnnxWeights,
  tensor: ModelTensor,
  refused: ReadonlyMap<string, string>,
): { weight: OnnxWeight; scheme: WeightScheme; reason?: string } | string {
  const { scheme, reason } = ownFields(job.assign(tensor)) as unknown as Assignment;
  if (scheme.kind === "keep") return reason ?? "scheme keep";
  const weight = weights.get(tensor.name);
  const kept = refused.get(tensor.name);
  if (kept !== undefined) return kept;
  if (weight === undefined) return reasons.get(tensor.name) ?? "no weight";
  if (scheme.kind === "block") return `ONNX has no blocks of ${scheme.name}`;
  return reason === undefined ? { weight, scheme } : { weight, scheme, reason };
}

/** Bytes of all weights in float32. */
function floatBytes({ weights }: OnnxWeights): number {
  let bytes = 0;
  for (const { tensor } of weights.values()) bytes += 4 * sizeOf(tensor.shape);
  return bytes;
}

/** The model's file, and one of external data if it is large. */
function filesOf(
  job: Job,
  { source }: OnnxModel,
  { folder, model: name, external: externalName }: FileNames,
  { model, external }: RewrittenModel,
  progress: StreamProgress,
): OutputFile[] {
  const fileOf = (file: string, inputBytes: number, { byteLength, parts }: FileContent) =>
    job.file({
      ...{ name: folder + file, size: byteLength },
      sections: parts.map((part) => ({
        byteLength: part.byteLength,
        inputBytes: Math.floor((inputBytes * part.byteLength) / byteLength),
        chunks(advance) {
          progress.advance = advance;
          return part.bytes();
        },
      })),
    });
  const files = [fileOf(name, source.size, model)];
  if (external.parts.length === 0) return files;
  return [...files, fileOf(externalName, external.byteLength, external)];
}

/** A file in parts. */
type FileContent = RewrittenModel["external"];
