// compare: two models, tensor by tensor, across formats.

import { checkAbortSignal, checkFunction } from "../../base/check.js";
import { showShape } from "../../base/format-value.js";
import { checkOptions } from "../../base/options.js";
import type { PlatformAbortSignal } from "../../base/platform.js";
import { sameShape } from "../../tensor/shape.js";
import { documentOf, type Model, type ModelTensor, weightsOf } from "../open/model.js";
import type { QuantizeProgress } from "../quantize/types.js";
import type { ExpertTensor } from "../weights/experts.js";
import { joinedValues, partOfValues, type ValueSource, valueSourceOf } from "../weights/values.js";
import { viewsOf, type WeightViews } from "../weights/view.js";
import { type CompareRow, compareValues, haveSameBytes, uncompared } from "./row.js";

/** Options of `compare`. */
export interface CompareOptions {
  /** The name in b of a tensor of a, or a promise of it; undefined: b does not have it. Default: the same name. */
  rename?: ((name: string) => string | undefined | PromiseLike<string | undefined>) | undefined;
  /** Rejects with the signal's reason once it is aborted. */
  signal?: PlatformAbortSignal | undefined;
  /** Called while tensors are read, with bytes of a. */
  onProgress?: ((progress: QuantizeProgress) => void) | undefined;
}

/**
 * Compares two models tensor by tensor, in any formats: quantized tensors are dequantized, values are read tile by tile.
 * Tensors that only one of them has are rows, too; b's come last. A stack of experts in a is compared with the tensors
 * that are cut from it in b, if a's config.json tells how.
 *
 * @param a  of `openModel`: the signal of sqnr
 * @param b  of `openModel`
 * @param options.rename  names in b by names in a
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_FUNCTION`
 * @throws {RangeError} `ZP_INVALID_FILE`, as reading
 * @example
 * const w = tensor(new Float32Array(512).fill(0.5), [2, 256]);
 * const a = await openModel(save({ w }));
 * const { files } = await quantizeModel(a, "float16");
 * const b = await openModel(files[0].stream());
 * for await (const { name, max, equal } of compare(a, b)) console.log(`${name} ${max} ${equal}`); // w 0 true
 */
export async function* compare(
  a: Model,
  b: Model,
  options?: CompareOptions,
): AsyncGenerator<CompareRow, void, undefined> {
  const where = "compare";
  const { files: filesOfA, opened } = documentOf(where, "a", a);
  const { opened: openedOfB } = documentOf(where, "b", b);
  const names = ["rename", "signal", "onProgress"];
  const { rename, signal, onProgress } = checkOptions(where, options, names) as CompareOptions;
  checkAbortSignal(where, signal);
  checkFunction(where, "options.rename", rename);
  checkFunction(where, "options.onProgress", onProgress);
  let total = 0;
  for (const { byteLength } of filesOfA.values()) total += byteLength;
  let done = 0;
  const views = await viewsOf(where, documentOf(where, "a", a));
  const seen = new Set<string>();
  for (const tensor of a.tensors.values()) {
    signal?.throwIfAborted();
    const { name } = tensor;
    const other: unknown = rename === undefined ? name : await rename(name);
    const found =
      typeof other === "string" ? counterpartOf(where, b, tensor, other, views) : undefined;
    for (const each of found?.names ?? []) seen.add(each);
    const row = await rowOf(where, a, b, tensor, found, views, (bytes) => {
      signal?.throwIfAborted();
      done += bytes;
      onProgress?.({ done, total, name });
    });
    await opened.checkUnchanged(where);
    await openedOfB.checkUnchanged(where);
    yield row;
  }
  for (const tensor of b.tensors.values()) {
    if (!seen.has(tensor.name)) yield uncompared(tensor, undefined, tensor.dtype, "missing in a");
  }
}

/** What b has of a tensor of a: a tensor or, of a stack of experts, those that are cut from it. */
interface Counterpart {
  readonly names: readonly string[];
  readonly tensor: ModelTensor;
  values(): ValueSource;
}

/**
 * What b has of a tensor of a; undefined if it is missing.
 * @param name  in b
 * @param views  of a
 */
export function counterpartOf(
  where: string,
  b: Model,
  { name: own, shape }: ModelTensor,
  name: string,
  views: WeightViews,
): Counterpart | undefined {
  const tensor = b.tensors.get(name);
  if (tensor !== undefined) {
    return { names: [name], tensor, values: () => valueSourceOf(where, b, name) };
  }
  const stack = name === own ? views.stackOf(own) : undefined;
  const isThere = (each: ExpertTensor): boolean =>
    sameShape(b.tensors.get(each.name)?.shape ?? [], each.shape);
  const cut = [stack?.matrices, stack?.stacks].find((tensors) => tensors?.every(isThere));
  if (cut === undefined) return undefined;
  const names = cut.map((each) => each.name);
  const found = names.map((each) => b.tensors.get(each) as ModelTensor);
  const byteLength = found.reduce((sum, each) => sum + each.byteLength, 0);
  return {
    ...{ names, tensor: { ...found[0], shape, byteLength } },
    values: () =>
      joinedValues(
        where,
        name,
        piecesOf(cut, (each) => valueSourceOf(where, b, each)),
      ),
  };
}

/** The pieces of a stack in its order, by the tensors that are cut from it. */
function piecesOf(
  cut: readonly ExpertTensor[],
  valuesOf: (name: string) => ValueSource,
): ValueSource[] {
  const pieces = cut.flatMap(({ name, begins }) => {
    const values = valuesOf(name);
    const size = values.size / begins.length;
    return begins.map((begin, i) => ({ begin, values: partOfValues(values, i * size, size) }));
  });
  return pieces.sort((a, b) => a.begin - b.begin).map(({ values }) => values);
}

/** Compares a tensor of a with what b has of it. @param views  of a */
export async function rowOf(
  where: string,
  a: Model,
  b: Model,
  tensor: ModelTensor,
  found: Counterpart | undefined,
  views: WeightViews,
  advance: (bytes: number) => void,
): Promise<CompareRow> {
  const { name, shape, dtype: from } = tensor;
  if (found === undefined) return uncompared(tensor, from, undefined, "missing in b");
  const { tensor: other } = found;
  const { dtype: to } = other;
  if (!sameShape(shape, other.shape)) {
    const reason = `shape ${showShape(shape)} in a, ${showShape(other.shape)} in b`;
    return uncompared(tensor, from, to, reason);
  }
  const file = documentOf(where, "a", a).files.get(name);
  const otherFile = documentOf(where, "b", b).files.get(other.name);
  const isStored = weightsOf(a).has(name) || found.names.length > 1 || weightsOf(b).has(other.name);
  const isSame = !isStored && from === to && file !== undefined && otherFile !== undefined;
  // float32 cannot hold all values of the wide types, and some types have no values.
  const isExact = ["float32", "float16", "bfloat16"].includes(from);
  if (isSame && !isExact) {
    const equal = await haveSameBytes(file, otherFile, advance);
    if (equal) return sameRow(tensor, to);
  }
  let sources: ValueSource[];
  try {
    sources = [valueSourceOf(where, a, name), found.values()];
  } catch (error) {
    if ((error as { code?: string }).code !== "ZP_UNSUPPORTED_DTYPE") throw error;
    return uncompared(tensor, from, to, "the bytes differ; the dtype has no values to compare");
  }
  const [first, second] = sources;
  const { decibels } = documentOf(where, "a", a).core(where).module;
  const view = views.of(tensor);
  const row = await compareValues(where, tensor, to, first, second, view, decibels, advance);
  // Wide values may become equal when they are rounded to float32.
  return isSame && !isExact ? { ...row, equal: false } : row;
}

/** The row of a tensor whose bytes are the same. */
function sameRow({ name, shape, dtype: from }: ModelTensor, to: ModelTensor["dtype"]): CompareRow {
  const parameters = shape.reduce((count, length) => count * length, 1);
  const errors = { equal: true, max: 0, mse: 0, sqnr: Infinity, cosine: 1 };
  return { name, shape: [...shape], from, to, parameters, ...errors };
}
