// Safetensors files of a model: shard by shard, each tensor kept, cast, or in the parts of a layout.

import { checkChoice } from "../../../base/check.js";
import { rangeError } from "../../../base/errors.js";
import { fieldOf, ownFields } from "../../../base/fields.js";
import {
  bytesOfEntries,
  isSafetensorsDType,
  layoutSafetensors,
  type SafetensorsLayout,
  shardIndexText,
} from "../../../formats/safetensors.js";
import { exactBytes, type FileTensor, type WritableTensor } from "../../../formats/source.js";
import { sizeOf } from "../../../tensor/shape.js";
import type { ModelTensor } from "../../open/model.js";
import type { LinearScheme, Scheme } from "../../scheme.js";
import type { ExpertTensor } from "../../weights/experts.js";
import { type Advance, HeldParams, isReadTwice } from "../../weights/slabs.js";
import { type Encoder, type FileEncoder, type Groups, groupsOf } from "../../weights/slices.js";
import { joinedValues, partOfValues, type ValueSource } from "../../weights/values.js";
import { viewsOf, type WeightView, type WeightViews } from "../../weights/view.js";
import { lostMetadata } from "../lost-metadata.js";
import { bytesSection } from "../output.js";
import { type OutputTensor, sizeInFile } from "../output-tensor.js";
import { asFloat, floatTypeOf, LEFT_OUT } from "../requantize.js";
import { type SourceFile, type SourceTensor, shardsOf, sourceFileOf } from "../source-tensors.js";
import type {
  Assignment,
  FileParts,
  Job,
  OutputFile,
  QuantizedRow,
  Section,
  Writer,
  Written,
} from "../types.js";
import { convert, keep, restarting, toHalf } from "../unquantized.js";
import { type ValueWatch, watchedEncoder } from "../watch.js";
import { compressedLayout, dynamicSchemes } from "./compressed-tensors.js";
import { addToConfig, configText, readConfig, removeQuantization } from "./config-text.js";
import { mlxLayout } from "./mlx.js";
import { type Entry, isAnyQuantized, type Layout } from "./weight-layout.js";
import { zeropointLayout } from "./zeropoint.js";

const INDEX = "model.safetensors.index.json";

function layoutOf({ where, core: kept, target, activations, choice }: Job): Layout {
  const targets = ["zeropoint", "compressed-tensors", "mlx"] as const;
  const name = checkChoice(where, "options.target", target, targets, "zeropoint");
  const core = kept(where);
  if (name === "compressed-tensors") {
    const isDynamic = activations === "dynamic" ? dynamicSchemes(choice) : () => false;
    return compressedLayout(core, isDynamic);
  }
  return name === "mlx" ? mlxLayout(where, core) : zeropointLayout(core);
}

/** Writes safetensors files. */
export const writeSafetensorsModel: Writer = async (job) => {
  const { document } = job;
  const layout = layoutOf(job);
  const views = await viewsOf(job.where, document);
  const floatType = floatTypeOf(job.model);
  const isRewritten = (tensor: ModelTensor): boolean => {
    if (!job.requantize) return false;
    return decide(job, layout, views, asFloat(tensor, floatType), false).kind !== "keep";
  };
  const {
    files: sources,
    rewritten,
    leftOut,
    isAnyLeft,
  } = document.format === "safetensors"
    ? shardsOf(job, document, isRewritten)
    : { files: [foreignOf(job)], rewritten: new Set<string>(), leftOut: [], isAnyLeft: false };
  const names = new Set(sources.flatMap(({ tensors }) => tensors.map(({ file }) => file.name)));
  const claim = (name: string): string => claimName(layout, names, name);
  const rows: QuantizedRow[] = leftOut.map(({ name, dtype, byteLength }) => ({
    ...{ name, from: dtype, scheme: LEFT_OUT, bytesBefore: byteLength, bytesAfter: 0 },
    reason: "of a weight that is quantized again",
  }));
  const encoders = new Map<string, FileEncoder>();
  const made: Made = { rows, encoders, held: new HeldParams() };
  const plans = sources.map(({ file, metadata, tensors }) => {
    const entries = tensors.flatMap((given) => entriesOf(job, layout, views, given, claim, made));
    return { file, metadata, entries };
  });
  const files: OutputFile[] = [];
  const weightMap: [string, string][] = [];
  let totalSize = 0;
  for (const { file, metadata, entries } of plans) {
    const parts = entries.flatMap((entry) => entry.parts);
    const laidOut = layoutSafetensors(parts.map(writable), layout.metadata(metadata, entries));
    files.push(job.file(filePartsOf(file, laidOut, parts)));
    for (const { name } of parts) weightMap.push([name, file]);
    totalSize += laidOut.byteLength - laidOut.header.length;
  }
  const entries = plans.flatMap((plan) => plan.entries);
  const hadQuantization = rewritten.size > 0 || isAnyLeft;
  const old = { hadQuantization, isAnyLeft };
  const { files: texts, notes } = await textsOf(job, layout, entries, weightMap, totalSize, old);
  files.push(...texts);
  notes.push(...notesOf(layout, entries, views));
  if (document.format !== "safetensors") notes.push(...lostMetadata(job.model));
  return { target: layout.target, files, rows, notes, encoders } satisfies Written;
};

/** Notes on groups that are not of inputs, and on weights that are read twice. */
function notesOf(layout: Layout, entries: readonly Entry[], views: WeightViews): string[] {
  const across = entries.filter(
    ({ tensor, scheme }) =>
      scheme?.granularity === "group" && views.of(tensor).inputAxes[1] < tensor.shape.length - 1,
  );
  const notes: string[] = [];
  if (across.length > 0) {
    notes.push(
      `groups of ${countOf(across)} run along the last axis, over outputs: safetensors has none along the inputs of such weights`,
    );
  }
  const isTwice = ({ tensor, scheme }: Entry): boolean =>
    scheme !== undefined &&
    (fieldOf(layout, "hasScalesFirst") === true ||
      isReadTwice(groupsOf(views.of(tensor).slices(scheme, "safetensors"))));
  const twice = entries.filter(isTwice);
  if (twice.length > 0) {
    notes.push(
      `${countOf(twice)} ${twice.length === 1 ? "is" : "are"} read twice: their scales are written before their codes, or are of more values than are held`,
    );
  }
  notes.push(...(fieldOf(layout, "notes")?.(entries) ?? []));
  return notes;
}

const countOf = ({ length }: readonly Entry[]): string =>
  length === 1 ? "1 weight" : `${length} weights`;

/** One file for the tensors of another format. */
function foreignOf(job: Job): SourceFile {
  const { file, ...others } = sourceFileOf(job);
  return { file: `${file}.safetensors`, ...others };
}

/** A name that no tensor has. Other engines know a part by its exact name. */
function claimName({ target }: Layout, names: Set<string>, name: string): string {
  let free = name;
  for (let i = 2; names.has(free); i++) free = `${name}_${i}`;
  if (free !== name && target !== "zeropoint") {
    const problem = `the model has a tensor ${JSON.stringify(name)}, which target ${target} needs`;
    throw rangeError("ZP_INVALID_MODEL", "quantizeModel", problem);
  }
  names.add(free);
  return free;
}

/** What the entries of a file add up to. */
interface Made {
  readonly rows: QuantizedRow[];
  /** The arithmetic of weights that are not quantized as `quantize` does. */
  readonly encoders: Map<string, FileEncoder>;
  readonly held: HeldParams;
}

const isOfFile = (encoder: Encoder): encoder is FileEncoder => Object.hasOwn(encoder, "restore");

/** What becomes of a tensor of the source: an entry, or one for each expert of a stack. */
function entriesOf(
  job: Job,
  layout: Layout,
  views: WeightViews,
  given: SourceTensor,
  claim: (name: string) => string,
  { rows, encoders, held }: Made,
): Entry[] {
  const { tensor, file, values, bytesBefore } = given;
  const { name } = tensor;
  const { dtype } = file;
  const done = (entries: Entry[], scheme: string, reason: string | undefined): Entry[] => {
    if (bytesBefore !== undefined) {
      const parts = entries.flatMap((entry) => entry.parts);
      const bytesAfter =
        values === undefined && scheme === "keep"
          ? bytesBefore
          : parts.reduce((sum, part) => sum + sizeInFile(part), 0);
      const row = { name, from: dtype, scheme, bytesBefore, bytesAfter };
      const isLinear = isAnyQuantized(entries);
      const header = isLinear && { headerBytes: headerBytesOf(layout, name, file, parts) };
      rows.push({ ...row, ...header, ...(reason !== undefined && { reason }) });
    }
    return entries;
  };
  const single = (part: OutputTensor, scheme: string, reason: string | undefined): Entry[] =>
    done([{ tensor, scheme: undefined, parts: [part] }], scheme, reason);
  const isForeign = dtype !== tensor.dtype && values !== undefined;
  const kept = (reason: string | undefined): Entry[] => {
    if (!isForeign && isSafetensorsDType(dtype)) return single(keep(file), "keep", reason);
    const part = convert(file, values, tensor.dtype);
    const why = reason === undefined ? "" : `${reason}; `;
    return single(part, "keep", `${why}written as ${part.dtype}`);
  };
  if (bytesBefore === undefined) return single(keep(file), "keep", undefined);
  const decision = decide(job, layout, views, tensor, isForeign);
  const { kind, reason } = decision;
  if (kind === "keep" || values === undefined) return kept(reason);
  if (kind === "half") {
    const { scheme } = decision;
    if (dtype === scheme.name) return kept(`${dtype} already`);
    return single(toHalf(file, values, scheme.name, job.watch(name)), scheme.name, reason);
  }
  const { scheme, groups, view, cut } = decision;
  const encoder = layout.encoderOf(tensor, scheme);
  if (isOfFile(encoder)) encoders.set(name, encoder);
  const watch = job.watch(name);
  const entryOf = (own: ModelTensor, values: ValueSource, groups: Groups, watch: ValueWatch) => {
    const watched = watchedEncoder(encoder, watch);
    const source = { values, groups, encoder: watched, held, inputBytes: own.byteLength };
    const [codes, ...others] = layout.parts({ tensor: own, scheme, view, source }, claim);
    return { tensor: own, scheme, parts: [restarting(codes, watch), ...others] };
  };
  const entries = cut?.map(({ name, shape, begins }) => {
    const size = sizeOf(shape);
    const byteLength = tensor.byteLength * (size / sizeOf(tensor.shape));
    const own = { ...tensor, name: claim(name), shape, byteLength };
    const rows = { ...groups, rows: sizeOf(shape.slice(0, -1)) };
    const pieces = begins.map((begin) => partOfValues(values, begin, size / begins.length));
    const piece = pieces.length === 1 ? pieces[0] : joinedValues(job.where, name, pieces);
    return entryOf(own, piece, rows, watch.part());
  });
  return done(entries ?? [entryOf(tensor, values, groups, watch)], scheme.name, reason);
}

type HalfScheme = Extract<Scheme, { kind: "half" }>;

/** What becomes of a tensor by its scheme and the layout. */
type Decision = { readonly reason: string | undefined } & (
  | { readonly kind: "keep" }
  | { readonly kind: "half"; readonly scheme: HalfScheme }
  | {
      readonly kind: "linear";
      readonly scheme: LinearScheme;
      readonly groups: Groups;
      readonly view: WeightView;
      /** Of a stack of experts: the tensors that are written in its place. */
      readonly cut: readonly ExpertTensor[] | undefined;
    }
);

/** @param isForeign  whether it is written from its values anyway */
function decide(
  job: Job,
  layout: Layout,
  views: WeightViews,
  tensor: ModelTensor,
  isForeign: boolean,
): Decision {
  const { name } = tensor;
  const { scheme, isExplicit, reason } = ownFields(job.assign(tensor)) as unknown as Assignment;
  const { kind } = scheme;
  if (kind === "keep") return { kind, reason };
  if (kind === "block") {
    const problem = `safetensors has no block types, got ${JSON.stringify(scheme.name)} for ${JSON.stringify(name)}`;
    throw rangeError("ZP_INVALID_SCHEME", job.where, problem);
  }
  if (kind === "half") return { kind, reason, scheme };
  const view = views.of(tensor);
  const groups = groupsOf(view.slices(scheme, "safetensors"));
  const form = fieldOf(layout, "splitsExperts");
  const cut = form && views.stackOf(name)?.[form];
  const written = cut === undefined ? tensor : { ...tensor, ...cut[0] };
  const refused =
    layout.refuse(written, scheme, isExplicit, groups) ??
    (cut && scheme.granularity === "tensor" ? ONE_SCALE : undefined) ??
    (layout.target !== "zeropoint" && view.hasColumns ? OUTPUTS_ARE_COLUMNS : undefined) ??
    (isExplicit || isForeign ? undefined : views.reasonOf(name));
  if (refused !== undefined) return { kind: "keep", reason: refused };
  return { kind, reason, scheme, groups, view, cut };
}

const ONE_SCALE = "the matrices of a stack of experts have scales of their own";
const OUTPUTS_ARE_COLUMNS = "its outputs are columns, and the layout takes rows";

/** Bytes that the parts of a weight take in the header, less those of the weight itself. */
function headerBytesOf(
  layout: Layout,
  name: string,
  file: FileTensor,
  parts: readonly OutputTensor[],
): number {
  const size = file.span?.source.size ?? file.byteLength;
  const before = isSafetensorsDType(file.dtype)
    ? bytesOfEntries([writable({ ...file, name })], size)
    : 0;
  return (
    bytesOfEntries(parts.map(writable), size) - before + (fieldOf(layout, "noteBytes")?.(name) ?? 0)
  );
}

/** A tensor for the layout of a file, which asks for names, dtypes and shapes only. */
const writable = ({ name, dtype, shape }: OutputTensor | FileTensor): WritableTensor => ({
  ...{ name, dtype, shape },
  bytes: () => [],
});

/** A safetensors file to write. */
function filePartsOf(
  name: string,
  laidOut: SafetensorsLayout,
  parts: readonly OutputTensor[],
): FileParts {
  const byName = new Map(parts.map((part) => [part.name, part]));
  const sections = laidOut.tensors.map(({ tensor, byteLength }): Section => {
    const part = byName.get(tensor.name) as OutputTensor;
    const { inputBytes } = part;
    const chunks = (advance: Advance): AsyncIterable<Uint8Array> =>
      exactBytes("quantizeModel", { ...tensor, bytes: () => part.stream(advance) }, byteLength);
    return { byteLength, inputBytes, chunks };
  });
  const header = bytesSection(laidOut.header);
  return { name, size: laidOut.byteLength, sections: [header, ...sections] };
}

/** config.json and the index, as far as the layout has them. */
async function textsOf(
  job: Job,
  layout: Layout,
  entries: readonly Entry[],
  weightMap: readonly (readonly [string, string])[],
  totalSize: number,
  old: { readonly hadQuantization: boolean; readonly isAnyLeft: boolean },
): Promise<{ files: OutputFile[]; notes: string[] }> {
  const { document } = job;
  const files: OutputFile[] = [];
  const notes: string[] = [];
  const { indent, sorted } = layout.style;
  const config = fieldOf(layout, "config");
  if (config !== undefined && !isAnyQuantized(entries)) {
    notes.push("no weight was quantized, so no config.json is written");
  }
  const fields = config?.(entries);
  const isWritten =
    fields !== undefined || (job.requantize && old.hadQuantization && !old.isAnyLeft);
  const bytes = isWritten ? await document.readBeside("config.json") : undefined;
  if (fields !== undefined || bytes !== undefined) {
    const text = bytes === undefined ? new Map() : readConfig(bytes);
    if (document.format === "safetensors" && !old.isAnyLeft) removeQuantization(text);
    addToConfig(text, fields ?? {});
    files.push(textFile(job, "config.json", configText(text, indent, sorted)));
    if (bytes === undefined) {
      notes.push("no config.json beside the model: the one written has the quantization only");
    }
  }
  if (fields !== undefined && old.isAnyLeft) {
    notes.push(
      `weights that keep their quantization are not described by the new config.json: engines of target ${layout.target} do not read them`,
    );
  }
  const given = document.format === "safetensors" ? document.index : undefined;
  if (given !== undefined || layout.isAlwaysIndexed) {
    const metadata = new Map<string, string | number>([
      ...(document.format === "safetensors" ? (document.indexMetadata ?? []) : []),
      ["total_size", totalSize],
      ...Object.entries(fieldOf(layout, "indexed")?.(entries) ?? {}),
    ]);
    files.push(textFile(job, given ?? INDEX, shardIndexText(metadata, weightMap, indent)));
  }
  if (fields !== undefined && document.format !== "safetensors") {
    notes.push(
      `tensors have the names of the ${document.format} file; engines of target ${layout.target} look for those of ` +
        "their own checkpoints",
    );
  }
  return { files, notes };
}

function textFile(job: Job, name: string, text: string): OutputFile {
  const bytes = new TextEncoder().encode(text);
  return job.file({ name, size: bytes.length, sections: [bytesSection(bytes)] });
}
