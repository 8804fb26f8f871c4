// What verify does: derive a file, compare every byte, state the result.

import { BLOCK_NAMES, BLOCKS, type BlockName } from "../../base/block-types.js";
import { checkAbortSignal, checkFunction } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { hasField } from "../../base/fields.js";
import { show, showShape } from "../../base/format-value.js";
import { checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import { bytesOf } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import { sameShape, sizeOf } from "../../tensor/shape.js";
import { documentOf, Model, weightsOf } from "../open/model.js";
import { openModel } from "../open/open.js";
import { gatherRuns, valueSourceOf } from "../weights/values.js";
import { compareBytes, type ExamineUnit } from "./bytes.js";
import { type Derived, type DerivedTensor, deriveByWriter, deriveGguf } from "./derive.js";
import type { Difference } from "./difference.js";
import { RANGES, type Range, unrecordedRanges } from "./ranges.js";
import { type Recorded, recordedIn } from "./recorded.js";
import {
  type DerivationStatement,
  differencesOfStatement,
  filesOf,
  readStatement,
  statementOf,
} from "./statement.js";
import { tiesOf } from "./ties.js";
import type { TiedTensor, Verification, VerifyOptions } from "./types.js";

/** Checks the options, derives the file, compares it, and states the result. */
export async function run(
  where: string,
  quantized: Model,
  source: Model,
  options: VerifyOptions | undefined,
): Promise<Verification> {
  const own = documentOf(where, "quantized", quantized);
  const origin = documentOf(where, "source", source);
  const names = ["imatrix", "statement", "signal", "onProgress"];
  const given = checkOptions(where, options, names) as VerifyOptions;
  const { signal, onProgress } = given;
  checkAbortSignal(where, signal);
  checkFunction(where, "options.onProgress", onProgress);
  const earlier =
    given.statement === undefined
      ? undefined
      : readStatement(where, "options.statement", given.statement);
  checkPair(where, quantized, source);
  signal?.throwIfAborted();
  const imatrix = await openImatrix(given.imatrix, signal);
  try {
    const progress = new Advances([quantized, source], signal, onProgress);
    const recorded = await recordedIn(quantized, source);
    const { ranges, ...found } =
      own.format === "gguf" && origin.format === "gguf"
        ? await compareOnce(
            ...([where, quantized, source] as const),
            await deriveGguf(where, own, origin, imatrix),
            progress,
          )
        : await compareByRanges(where, quantized, source, recorded, progress, (rangeOf) =>
            deriveByWriter(where, quantized, source, recorded, { imatrix, signal, rangeOf }),
          );
    const different = [...found.different];
    const advance = (bytes: number, name: string): void => progress.add(bytes, name);
    const subject = await filesOf(where, "quantized", quantized, advance);
    const materials = [
      ...(await filesOf(where, "source", source, advance)),
      ...(imatrix ? await filesOf(where, "options.imatrix", imatrix, () => {}) : []),
    ];
    await own.opened.checkUnchanged(where);
    await origin.opened.checkUnchanged(where);
    const { format } = recorded;
    const { target = null, activations } = found;
    const { requantize } = recorded;
    const how = { format, target, activations, requantize };
    const schemes = countSchemes(quantized, source, recorded, ranges);
    const state = (): DerivationStatement => {
      const { tensors, equal, ties } = found;
      const isDifferent = different.length > 0;
      const verdict = isDifferent ? "different" : ties > 0 ? "ties" : "equal";
      const result = { tensors, equal, ties, different: different.length, verdict } as const;
      return statementOf(subject, materials, { ...how, schemes }, result);
    };
    if (earlier !== undefined) different.push(...differencesOfStatement(earlier, state()));
    const { tensors, equal, ties, tied } = found;
    const result = { tensors, equal, different, ties, tied };
    return { ...result, statement: state(), notes: notesOf(ranges) };
  } finally {
    if (imatrix !== given.imatrix) await imatrix?.close();
  }
}

/** @throws {RangeError} if no file of this format is written from the source, or if they have no name in common */
function checkPair(where: string, quantized: Model, source: Model): void {
  const { format } = quantized;
  if (format === "tfjs" || (format === "onnx" && source.format !== "onnx")) {
    const problem = `quantized is a file of ${format}, which is not written from one of ${source.format}`;
    throw rangeError("ZP_UNSUPPORTED_FILE", where, problem);
  }
  const { files } = documentOf(where, "quantized", quantized);
  const isThere = (name: string): boolean => quantized.tensors.has(name) || files.has(name);
  if (files.size === 0 || [...source.tensors.keys()].some(isThere)) return;
  const [first] = quantized.tensors.keys();
  const hint =
    format === "gguf" && source.format !== "gguf"
      ? ": llama.cpp's converter renames and permutes tensors, and its GGUF file is the source of llama-quantize's"
      : "";
  const problem = `no tensor of quantized, such as ${show(first)}, has a name of source${hint}`;
  throw rangeError("ZP_INVALID_MODEL", where, problem);
}

/** Opens the importance matrix. */
async function openImatrix(
  given: VerifyOptions["imatrix"],
  signal: PlatformAbortSignal | undefined,
): Promise<Model | undefined> {
  if (given === undefined || given instanceof Model) return given;
  return await openModel(given, { signal });
}

/** Progress in bytes, which an abort ends. */
class Advances {
  #done = 0;
  readonly #total: number;

  constructor(
    models: readonly Model[],
    readonly signal: PlatformAbortSignal | undefined,
    readonly report: VerifyOptions["onProgress"],
  ) {
    // The tensors of the first are compared; the files of all are hashed.
    const [first] = models;
    let total = 0;
    for (const { byteLength } of documentOf("verify", "", first).files.values())
      total += byteLength;
    for (const model of models) {
      for (const { source } of documentOf("verify", "", model).opened.list()) total += source.size;
    }
    this.#total = total;
  }

  add(bytes: number, name: string): void {
    this.signal?.throwIfAborted();
    this.#done += bytes;
    this.report?.({ done: Math.min(this.#done, this.#total), total: this.#total, name });
  }
}

type Compared = Pick<Verification, "tensors" | "equal" | "different" | "ties" | "tied"> &
  Pick<Derived, "target" | "activations"> & {
    /** Ranges of weights that the file does not record, other than the default. */
    readonly ranges: ReadonlyMap<string, Range>;
  };

/** Compares a file that records how it was made. */
async function compareOnce(
  where: string,
  quantized: Model,
  source: Model,
  derived: Derived,
  progress: Advances,
): Promise<Compared> {
  try {
    const found = await compareTensors(where, quantized, source, derived, progress);
    return totalsOf(quantized, found, derived, await derived.rest(), new Map());
  } finally {
    await derived.close();
  }
}

/**
 * Compares a file that may not record how ranges were chosen: weights that differ are derived again by the other ways,
 * and that of the fewest different bytes is taken.
 */
async function compareByRanges(
  where: string,
  quantized: Model,
  source: Model,
  recorded: Recorded,
  progress: Advances,
  derive: (rangeOf: (name: string) => Range) => Promise<Derived>,
): Promise<Compared> {
  const ranges = new Map<string, Range>();
  const rangeOf = (name: string): Range => ranges.get(name) ?? "minmax";
  let derived = await derive(rangeOf);
  try {
    const found = await compareTensors(where, quantized, source, derived, progress);
    const partsOf = unrecordedRanges(quantized, recorded);
    const bytesOf = (name: string, results: Results): number => {
      const parts = partsOf.get(name) as readonly string[];
      return parts.reduce((sum, part) => sum + bytesIn(results.get(part)), 0);
    };
    for (const range of RANGES) {
      const open = [...partsOf.keys()].filter((name) => {
        const bytes = bytesOf(name, found);
        return bytes > 0 && Number.isFinite(bytes);
      });
      if (open.length === 0) break;
      const own = await derive((name) => (open.includes(name) ? range : rangeOf(name)));
      try {
        const only = new Set(open.flatMap((name) => partsOf.get(name) as readonly string[]));
        const again = await compareTensors(where, quantized, source, own, progress, only);
        for (const name of open) {
          if (bytesOf(name, again) >= bytesOf(name, found)) continue;
          ranges.set(name, range);
          for (const part of partsOf.get(name) as readonly string[]) {
            found.set(part, again.get(part));
          }
        }
      } finally {
        await own.close();
      }
    }
    if (ranges.size > 0) {
      await derived.close();
      derived = await derive(rangeOf);
    }
    return totalsOf(quantized, found, derived, await derived.rest(), ranges);
  } finally {
    await derived.close();
  }
}

/** What was found of each tensor, by name; undefined if it is equal. */
type Results = Map<string, Difference | TiedTensor | undefined>;

const isTie = (result: Difference | TiedTensor): result is TiedTensor => hasField(result, "total");

/** The bytes of a tensor that differ; Infinity where more than values does. */
const bytesIn = (result: Difference | TiedTensor | undefined): number =>
  result === undefined || isTie(result) ? 0 : (result.bytes ?? Number.POSITIVE_INFINITY);

function totalsOf(
  quantized: Model,
  found: Results,
  { target, activations }: Derived,
  rest: readonly Difference[],
  ranges: ReadonlyMap<string, Range>,
): Compared {
  const results = [...found.values()];
  const others = results.filter((result) => result !== undefined);
  const tied = others.filter(isTie);
  const isDifference = (result: Difference | TiedTensor): result is Difference => !isTie(result);
  const different = [...others.filter(isDifference), ...rest];
  const ties = tied.reduce((sum, { blocks }) => sum + blocks, 0);
  const { size: tensors } = documentOf("verify", "quantized", quantized).files;
  const equal = results.length - others.length;
  return { tensors, equal, different, ties, tied, target, activations, ranges };
}

/** Compares tensors of a file. @param only  names of those to compare; default: all */
async function compareTensors(
  where: string,
  quantized: Model,
  source: Model,
  derived: Derived,
  progress: Advances,
  only?: ReadonlySet<string>,
): Promise<Results> {
  const { files } = documentOf(where, "quantized", quantized);
  const results: Results = new Map();
  const skipped = new Set<string>();
  for (const [name, reason] of derived.underivable) {
    skipped.add(name);
    for (const part of Object.values(weightsOf(quantized).get(name)?.parts ?? {}))
      skipped.add(part);
    results.set(name, { name, kind: "not derived", expected: "nothing", found: reason });
  }
  const known = new Set<string>();
  for (const tensor of derived.tensors) {
    const { name } = tensor;
    known.add(name);
    if (skipped.has(name) || only?.has(name) === false) continue;
    results.set(name, await compareTensor(where, source, tensor, files.get(name), progress));
  }
  for (const [name, file] of files) {
    if (known.has(name) || skipped.has(name)) continue;
    results.set(name, { name, kind: "extra", expected: "nothing", found: textOf(file) });
  }
  return results;
}

const textOf = ({ dtype, shape }: Pick<FileTensor, "dtype" | "shape">): string =>
  `${dtype} ${showShape(shape)}`;

/** Compares a tensor with the one of the file. @returns undefined if it is equal */
async function compareTensor(
  where: string,
  source: Model,
  derived: DerivedTensor,
  found: FileTensor | undefined,
  progress: Advances,
): Promise<Difference | TiedTensor | undefined> {
  const { name, dtype, shape } = derived;
  if (found === undefined) {
    return { name, kind: "missing", expected: textOf(derived), found: "nothing" };
  }
  if (found.dtype !== dtype) return { name, kind: "dtype", expected: dtype, found: found.dtype };
  if (!sameShape(shape, found.shape)) {
    return { name, kind: "shape", expected: showShape(shape), found: showShape(found.shape) };
  }
  const isBlock = (BLOCK_NAMES as readonly string[]).includes(dtype);
  const type = dtype as BlockName;
  const rowBytes = bytesOf(dtype, shape.at(-1) ?? 1) ?? found.byteLength;
  const unit = isBlock ? BLOCKS[type][1] : Math.max(1, Math.ceil(rowBytes));
  const ties = { blocks: 0, values: 0 };
  let isTied = isBlock;
  const examine: ExamineUnit = async (block, expected, own) => {
    // One difference that is no tie decides.
    if (!isTied) return false;
    const values = await valuesAt(where, source, name, block * BLOCKS[type][0], BLOCKS[type][0]);
    const { core } = documentOf(where, "source", source);
    const count = values && tiesOf(core, type, expected, own, values);
    if (count === undefined) {
      isTied = false;
      return false;
    }
    ties.blocks++;
    ties.values += count;
    return true;
  };
  const advance = (bytes: number): void => progress.add(bytes, name);
  const difference = await compareBytes(
    derived.bytes(),
    found.bytes(),
    unit,
    isBlock ? examine : undefined,
    advance,
  );
  if (difference !== undefined) {
    const { byte, bytes, units, expected, found: own } = difference;
    const block = Math.floor(byte / unit);
    return { name, kind: "values", block, byte, bytes, blocks: units, expected, found: own };
  }
  if (ties.blocks === 0) return undefined;
  return { name, ...ties, total: sizeOf(shape) / BLOCKS[type][0] };
}

/** Values of a tensor of the source. @returns undefined if there are fewer */
async function valuesAt(
  where: string,
  source: Model,
  name: string,
  first: number,
  count: number,
): Promise<Float32Array | undefined> {
  if (!source.tensors.has(name)) return undefined;
  const values = valueSourceOf(where, source, name);
  if (first + count > values.size) return undefined;
  return await gatherRuns(values, [{ begin: first, end: first + count }], new Float32Array(count));
}

/** How many tensors have each scheme; those of GGUF by their types. */
function countSchemes(
  quantized: Model,
  source: Model,
  { schemes }: Recorded,
  ranges: ReadonlyMap<string, Range>,
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { name, dtype } of quantized.tensors.values()) {
    const isKept = source.tensors.get(name)?.dtype === dtype;
    const isGguf = quantized.format === "gguf" && !isKept;
    const recorded = schemes.get(name) ?? (isGguf ? dtype : "keep");
    const range = ranges.get(name);
    const scheme = range === undefined ? recorded : `${recorded}-${range}`;
    counts.set(scheme, (counts.get(scheme) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What was found by trial. */
function notesOf(ranges: ReadonlyMap<string, Range>): string[] {
  if (ranges.size === 0) return [];
  const found = RANGES.map((range) => {
    const count = [...ranges.values()].filter((each) => each === range).length;
    return count === 0 ? [] : [`${range} (${count})`];
  });
  const weights = ranges.size === 1 ? "1 weight" : `${ranges.size} weights`;
  return [
    `the file does not record how ranges of ${weights} were chosen: by trial, ${found.flat().join(", ")}`,
  ];
}
