// analyze: a model -> a row for every tensor and scheme.

import { rangeError } from "../../base/errors.js";
import { show } from "../../base/format-value.js";
import type { Core } from "../../core/core.js";
import { activeCore } from "../../core/init.js";
import type { FileTensor } from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";
import { momentsOf } from "../inputs/activations.js";
import { loadModule } from "../load-module.js";
import type { ModelDocument } from "../open/document.js";
import {
  documentOf,
  type Model,
  type ModelFormat,
  type ModelTensor,
  partsOf,
} from "../open/model.js";
import { copyRow } from "../plan/rows.js";
import { type Range, searchHalfQuadratic, searchRange } from "../range-search.js";
import type { LinearScheme, Scheme } from "../scheme.js";
import { keptReason } from "../selection.js";
import { SharedBytes } from "../weights/held.js";
import { passesOfRows } from "../weights/rows.js";
import { viewsOf, type WeightView, type WeightViews } from "../weights/view.js";
import {
  Evaluation,
  type RangedScheme,
  type SharedQParams,
  type WrittenArithmetic,
} from "./evaluate.js";
import { layoutOf, type RowLayout, stepOf } from "./layout.js";
import { type AnalyzeOptions, checkSettings, type Settings } from "./options.js";
import { TensorPasses } from "./passes.js";
import { histogramOf, rangeOf } from "./ranges.js";
import type { AnalysisRow } from "./row.js";
import { sampleOf } from "./sample.js";
import { bytesOfScheme, fits } from "./schemes.js";
import { sha256 } from "./sha256.js";
import { ratio, type Totals } from "./totals.js";
import { WrittenFiles, type WrittenWeight } from "./written.js";

/**
 * Measures what each scheme costs each tensor of a model: a row for every weight and scheme, in the order of the file,
 * and a row of scheme "keep" with the reason for every other tensor (norms, biases, small ones). Block types whose
 * blocks do not fit into the rows of a weight have no row of it.
 *
 * The errors are errors of the weights, and with `activations` also of the outputs; weight error is not accuracy.
 * They are exact and have the same bits on every machine,
 * in every build and with any number of threads: sums are double, value i of an output's inputs goes to partial sum
 * i % 4, the sum of an output is (p0 + p2) + (p1 + p3), and outputs are added in their order. Tensors of up to 16 MiB
 * are read once. Larger ones are read once more for schemes with one scale for the tensor, whose range comes first, and
 * for a histogram, and 21 times more for `int8-tensor-hqq` and its like; those whose outputs are columns, once for every
 * 4 million values in place of once. Memory stays below 150 MB, unless a single output has millions of inputs, or in
 * groups of outputs a whole group.
 *
 * With `sample` a few rows of each weight represent all of them: estimates within seconds, before the exact rows.
 *
 * @param model  of `openModel`; leave it open until the last row
 * @param options.schemes  names of schemes
 * @param options.format  of the file to write, which decides along which axis groups run
 * @param options.include  patterns of names; other tensors have no rows
 * @param options.exclude  patterns of names that have no rows
 * @param options.activations  inputs of weights by name: their rows then show the error of outputs on these inputs
 * @param options.sample  number of values of each weight to look at
 * @param options.known  rows of an interrupted analysis, whose tensors are not read again
 * @returns rows, for `plan` and for tables
 * @throws {TypeError} `ZP_INVALID_OPTION`, `ZP_INVALID_SCHEME`, `ZP_INVALID_MODEL`, `ZP_INVALID_FUNCTION`
 * @throws {RangeError} `ZP_INVALID_SCHEME` for an unknown scheme; while rows are made, `ZP_INVALID_FILE`
 * @throws {Error} `ZP_NOT_INITIALIZED`; `ZP_LOAD_FAILED` if the file cannot be read
 * @example
 * // opened: a file with a weight of shape [64, 128], and its bias
 * const found = [];
 * for await (const row of analyze(opened, { schemes: ["int8-channel", "int4-g32"] })) found.push(row);
 * found.map(({ scheme, bytes }) => [scheme, bytes]); // [["keep", 256], ["int8-channel", 8448], ["int4-g32", 5120]]
 * found.map(({ sqnr }) => Math.round(sqnr)); // [Infinity, 50, 25]
 */
export function analyze(model: Model, options?: AnalyzeOptions): AsyncIterable<AnalysisRow> {
  const where = "analyze";
  const core = activeCore(where);
  const document = documentOf(where, "model", model);
  const settings = checkSettings(where, options, model.format);
  for (const name of settings.activations.keys()) {
    if (model.tensors.has(name)) continue;
    const problem = `options.activations names ${show(name)}, which is no tensor of the model`;
    throw rangeError("ZP_INVALID_OPTION", where, problem);
  }
  return rowsOf(core, model, document, settings);
}

async function* rowsOf(
  core: Core,
  model: Model,
  document: ModelDocument,
  settings: Settings,
): AsyncGenerator<AnalysisRow, void, undefined> {
  const tensors = [...model.tensors.values()].filter(({ name }) => settings.isIncluded(name));
  const parameters = tensors.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const sizes = tensors.map(({ name }) => sizeOfParts(partsOf(model, name)));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const views = await viewsOf("analyze", document);
  const { format } = model;
  const { target, signal } = settings;
  const output = { format: settings.format, target, signal };
  const written = await WrittenFiles.of(core, model, settings.schemes, settings.isIncluded, output);
  const shared = new SharedBytes();
  let done = 0;
  for (const [i, tensor] of tensors.entries()) {
    const { name, shape } = tensor;
    const start = done;
    const onRead = async (bytes: number): Promise<void> => {
      settings.signal?.throwIfAborted();
      done += bytes;
      await settings.onProgress?.({ done: Math.min(Math.floor(done), total), total, name });
      settings.signal?.throwIfAborted();
    };
    const known = settings.known.get(name);
    if (known !== undefined) {
      yield* known.map(copyRow);
      await onRead(sizes[i]);
      continue;
    }
    const share = parameters === 0 ? 0 : sizeOf(shape) / parameters;
    const parts = partsOf(model, name);
    const rows = await analyzeTensor({
      core,
      tensor,
      parts,
      views,
      view: views.of(tensor),
      written,
      format,
      settings,
      share,
      shared,
      onRead,
    });
    await document.opened.checkUnchanged("analyze");
    yield* rows;
    done = start + sizes[i];
  }
}

const sizeOfParts = (parts: readonly FileTensor[]): number =>
  parts.reduce((sum, { byteLength }) => sum + byteLength, 0);

/** The data behind the rows of a tensor. */
interface Job {
  readonly core: Core;
  readonly tensor: ModelTensor;
  /** The tensors of the file that hold it: several for a quantized one. */
  readonly parts: readonly FileTensor[];
  readonly views: WeightViews;
  readonly view: WeightView;
  readonly written: WrittenFiles;
  readonly format: ModelFormat;
  readonly settings: Settings;
  readonly share: number;
  readonly shared: SharedBytes;
  /** Must be called with bytes as they are read; all passes together cover the tensor's bytes. */
  readonly onRead: (bytes: number) => Promise<void>;
}

async function analyzeTensor(job: Job): Promise<AnalysisRow[]> {
  const { core, tensor, parts, views, view, settings, onRead } = job;
  const { name } = tensor;
  const where = `analyze(${name})`;
  const layout = layoutOf(view, settings.format);
  const schemes = settings.schemes.filter((scheme) => fits(scheme, layout));
  const reason = keptReason(tensor) ?? views.reasonOf(name) ?? unfitReason(schemes, layout);
  const hash = sha256();
  if (reason !== undefined) {
    if (settings.sample > 0) return [keepRow(job, undefined, reason)];
    for (const part of parts) {
      for await (const bytes of part.bytes()) {
        hash.update(bytes);
        await onRead(bytes.length);
      }
    }
    return [keepRow(job, hash.digest(), reason)];
  }
  const [whole] = parts;
  const step = stepOf(schemes, layout);
  const sample =
    settings.sample > 0 ? await sampleOf(where, whole, layout, step, settings.sample) : undefined;
  const { file, layout: own } = sample ?? { file: whole, layout };
  const count = passesOf(core, schemes, settings, file, own);
  const passes = new TensorPasses(
    where,
    () => core,
    file,
    job.shared,
    (bytes) => hash.update(bytes),
    (bytes) => onRead((bytes / file.byteLength) * (whole.byteLength / count)),
  );
  const digest = () => (sample === undefined ? hash.digest() : undefined);
  const given = settings.activations.get(name);
  const argument = `options.activations[${show(name)}]`;
  const moments =
    given === undefined ? undefined : await momentsOf("analyze", argument, given, layout.rowLength);
  const needsRange = settings.bins > 0 || schemes.some(isPerTensor);
  const range: Range = needsRange ? await rangeOf(core, passes) : [0, 0];
  if (!range.every(Number.isFinite)) return [keepRow(job, digest(), NOT_FINITE)];
  const slice = { length: passes.size, parts: () => passes.values() };
  const ranged: RangedScheme[] = [];
  for (const scheme of schemes) {
    if (scheme.kind === "keep") continue;
    const encoder = job.written.of(scheme.name, name)?.encoder;
    if (encoder !== undefined) {
      const written: WrittenArithmetic = {
        encoder,
        params: isPerTensor(scheme)
          ? await encoder.chooseLong({ ...slice, min: range[0], max: range[1] })
          : undefined,
      };
      ranged.push({ scheme, range, written });
    } else if (isPerTensor(scheme) && scheme.search === "mse") {
      ranged.push({ scheme, range: await searchRange(core, where, scheme, slice, range) });
    } else if (isPerTensor(scheme) && scheme.search === "hqq") {
      const qparams = await searchHalfQuadratic(core, where, scheme, slice, range);
      ranged.push({ scheme, range, qparams });
    } else if (isShared(job, scheme) && sample === undefined) {
      const shared = await sharedQParamsOf(core, job, scheme);
      if (shared === undefined) {
        for await (const _ of passes.values());
        return [keepRow(job, digest(), NOT_FINITE)];
      }
      ranged.push({ scheme, range, shared });
    } else ranged.push({ scheme, range });
  }
  const evaluation = new Evaluation(core, where, own, ranged, moments, settings.worstRows);
  let last = performance.now();
  for await (const slab of passes.rows(own, step)) {
    if (evaluation.isFinite) evaluation.add(slab);
    if (performance.now() - last < LONGEST_TURN) continue;
    await new Promise((resolve) => setTimeout(resolve));
    last = performance.now();
  }
  if (!evaluation.isFinite) return [keepRow(job, digest(), NOT_FINITE)];
  const histogram =
    settings.bins > 0 ? await histogramOf(core, passes, range, settings.bins) : undefined;
  const sha = digest();
  return schemes.map((scheme) => {
    const at = ranged.findIndex((each) => each.scheme === scheme);
    const row =
      at < 0
        ? keepRow(job, sha)
        : quantizedRow(job, sha, scheme, layout, evaluation, evaluation.totals[at]);
    return histogram === undefined ? row : copyRow({ ...row, histogram });
  });
}

/** Milliseconds after which other work of the thread gets a turn. */
const LONGEST_TURN = 50;

const NOT_FINITE = "values that are NaN or infinite";

const isPerTensor = (scheme: Scheme): scheme is LinearScheme =>
  scheme.kind === "linear" && scheme.granularity === "tensor";

/** Whether several outputs share each scale. */
const isShared = ({ view, settings }: Job, scheme: Scheme): scheme is LinearScheme =>
  scheme.kind === "linear" && view.slices(scheme, settings.format).isShared;

/** Scales and zero points as the writer of ONNX chooses them. @returns undefined for values that are not finite */
async function sharedQParamsOf(
  core: Core,
  { tensor: { name }, views, view }: Job,
  scheme: LinearScheme,
): Promise<SharedQParams | undefined> {
  const weight = views.onnxWeightOf(name);
  if (weight === undefined) return undefined;
  const module = import("../quantize/onnx/codes.js");
  const { WeightCoder } = await loadModule("analyze", module);
  try {
    const coder = new WeightCoder(weight, scheme, () => {}, core);
    const [scales, zeroPoints] = [await coder.scales(), await coder.zeroPoints()];
    return { sliceOf: (row) => view.sharedSliceOf(row), scales, zeroPoints };
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ZP_NON_FINITE") throw error;
    return undefined;
  }
}

/** The reason why no scheme is left. */
const unfitReason = (schemes: readonly Scheme[], { runLength }: RowLayout): string | undefined =>
  schemes.length > 0 ? undefined : `rows of ${runLength} values, which no scheme fits`;

/** How often the bytes of a tensor are passed. */
function passesOf(
  core: Core,
  schemes: readonly Scheme[],
  { bins }: Settings,
  file: FileTensor,
  layout: RowLayout,
): number {
  const perTensor = schemes.filter(isPerTensor);
  const passes = { minmax: 0, mse: 1, hqq: core.module.halfQuadraticPasses() };
  const searches = perTensor.reduce((sum, { search }) => sum + passes[search], 0);
  const ranges = bins > 0 || perTensor.length > 0 ? 1 : 0;
  return (
    ranges + searches + passesOfRows({ size: sizeOf(file.shape) }, layout) + (bins > 0 ? 1 : 0)
  );
}

/** The fields that all rows of a tensor share. */
function common({ tensor, parts, view, format, share }: Job, sha256: string | undefined) {
  const { name, shape, dtype } = tensor;
  const { outputAxis } = view;
  const parameters = sizeOf(shape);
  return {
    name,
    shape,
    format,
    dtype,
    parameters,
    share,
    ...(outputAxis > 0 && { outputAxis }),
    ...(sha256 !== undefined && { sha256 }),
    bytesBefore: sizeOfParts(parts),
  } as const;
}

function keepRow(job: Job, sha256: string | undefined, reason?: string): AnalysisRow {
  const row = common(job, sha256);
  return {
    ...row,
    ...{ scheme: "keep", bytes: row.bytesBefore, shows: "weights" },
    ...{ mse: 0, max: 0, sqnr: Number.POSITIVE_INFINITY, cosine: 1, relative: 0 },
    ...{ norm1: 0, norm2: 0 },
    ...(reason === undefined ? {} : { reason }),
  };
}

function quantizedRow(
  job: Job,
  sha256: string | undefined,
  scheme: Scheme,
  whole: RowLayout,
  { layout, signal, moments }: Evaluation,
  totals: Totals,
): AnalysisRow {
  const { byteLength, name } = job.tensor;
  const written: WrittenWeight | undefined = job.written.of(scheme.name, name);
  const { decibels } = job.core.module;
  const row = common(job, sha256);
  const { noise, energy, product, largest, absolute, square, weighted } = totals;
  // Each sum of n doubles is off by at most n roundings, and so is less than the true one by at most that part.
  const up = 1 + (layout.rowLength + 8) * 2 ** -52;
  return {
    ...row,
    scheme: scheme.name,
    bytes:
      written?.bytes ?? bytesOfScheme(scheme, whole, job.view, job.settings.format, byteLength),
    ...(written !== undefined && written.bytes === undefined && { isWritten: false }),
    mse: noise / (layout.rows * layout.rowLength),
    max: largest,
    sqnr: decibels(signal.noise, noise),
    cosine: product / Math.sqrt(signal.noise * energy),
    relative: ratio(noise, signal.noise),
    norm1: absolute * up,
    norm2: Math.sqrt(square) * up,
    shows: moments === undefined ? "weights" : "outputs",
    ...(moments !== undefined && {
      outputMse: weighted / layout.rows,
      outputRelative: ratio(weighted, signal.weighted),
      outputSqnr: decibels(signal.weighted, weighted),
      moments: moments.kind,
    }),
    ...(job.settings.worstRows && { worstRows: totals.worst }),
    ...(layout.rows < whole.rows && { isEstimate: true }),
  };
}
