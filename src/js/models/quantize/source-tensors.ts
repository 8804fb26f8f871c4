// The tensors of a model as a writer takes them: to quantize, or to copy.

import { fieldOf } from "../../base/fields.js";
import { isBlockType, isDecodable } from "../../formats/dtypes.js";
import { writeJson } from "../../formats/json.js";
import { isOfActivations, splitName } from "../../formats/layouts/checkpoints/neighbours.js";
import type { FileTensor } from "../../formats/source.js";
import type { SafetensorsDocument } from "../open/document.js";
import { type ModelTensor, weightsOf } from "../open/model.js";
import type { StoredWeight } from "../stored/weight.js";
import { type ValueSource, valueSourceOf, valuesOfFile } from "../weights/values.js";
import { isScalar } from "./lost-metadata.js";
import { asFloat, floatTypeOf, isReadableQuantized } from "./requantize.js";
import type { Job } from "./types.js";

/** The name of a model by that of its file, or of its index. */
const titleOf = (fileName: string | undefined): string =>
  fileName?.replace(/\.[^.]*$/, "").replace(/\.safetensors\.index$/, "") || "model";

/** A tensor of the source: what it is for the model, and the tensor of the file to copy. */
export interface SourceTensor {
  readonly tensor: ModelTensor;
  readonly file: FileTensor;
  /** Its values; undefined for a part of a quantized tensor, which is copied. */
  readonly values: ValueSource | undefined;
  /** Bytes of the tensor with its scales; undefined for parts, which have no row in the report. */
  readonly bytesBefore: number | undefined;
}

/** A file to write, with the tensors of the source that go into it. */
export interface SourceFile {
  /** Its name; without an extension, if the source is of another format. */
  readonly file: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: readonly SourceTensor[];
}

/** Bytes of all parts of a quantized tensor. */
const sizeOfParts = (files: ReadonlyMap<string, FileTensor>, weight: StoredWeight): number =>
  Object.values(weight.parts).reduce((sum, part) => sum + (files.get(part)?.byteLength ?? 0), 0);

/** The source's own files, and what becomes of weights that are quantized again. */
export interface SourceShards {
  readonly files: readonly SourceFile[];
  /** Names of weights that are written from their values. */
  readonly rewritten: ReadonlySet<string>;
  /** Tensors that are left out: scales of the activations of rewritten weights. */
  readonly leftOut: readonly FileTensor[];
  /** Whether weights of the source keep their quantization. */
  readonly isAnyLeft: boolean;
}

/** A tensor that tells readers how float8 is scaled in a whole file. */
const FILE_MARKER = /(^|\.)scaled_fp8$/;

/**
 * The source's own files. Parts of quantized tensors are copied.
 * @param isRewritten  whether a quantized weight is written from its values, in place of its parts
 */
export function shardsOf(
  { where, core, model, document }: Job,
  own: SafetensorsDocument,
  isRewritten: (weight: ModelTensor) => boolean,
): SourceShards {
  const byPart = new Map<string, { readonly weight: StoredWeight; readonly isFirst: boolean }>();
  const rewritten = new Set<string>();
  const modules = new Set<string>();
  let isAnyLeft = false;
  let hasFloat8 = false;
  for (const weight of weightsOf(model).values()) {
    Object.values(weight.parts).forEach((part, i) => {
      byPart.set(part, { weight, isFirst: i === 0 });
    });
    const tensor = model.tensors.get(weight.name) as ModelTensor;
    if (isReadableQuantized(tensor) && isRewritten(tensor)) {
      rewritten.add(weight.name);
      modules.add(weight.name.replace(/\.?weight$/, ""));
    } else {
      isAnyLeft = true;
      hasFloat8 ||= weight.dtype.startsWith("float8");
    }
  }
  const floatType = floatTypeOf(model);
  const leftOut: FileTensor[] = [];
  const isLeftOut = (name: string): boolean => {
    const [module, last] = splitName(name);
    if (modules.has(module) && isOfActivations(last)) return true;
    return rewritten.size > 0 && !hasFloat8 && FILE_MARKER.test(name);
  };
  const sourceTensorsOf = (each: FileTensor): readonly SourceTensor[] => {
    const part = byPart.get(each.name);
    if (part === undefined) {
      if (isLeftOut(each.name)) {
        leftOut.push(each);
        return [];
      }
      const tensor = model.tensors.get(each.name) ?? plain(each);
      const values = isDecodable(each.dtype) ? valuesOfFile(where, core, each) : undefined;
      return [{ tensor, file: each, values, bytesBefore: each.byteLength }];
    }
    const { name, layout } = part.weight;
    const bytesBefore = sizeOfParts(document.files, part.weight);
    if (rewritten.has(name)) {
      if (!part.isFirst) return [];
      const tensor = asFloat(model.tensors.get(name) as ModelTensor, floatType);
      const { shape, dtype } = part.weight;
      const file = { ...each, name, shape, dtype, bytes: () => each.bytes() };
      return [{ tensor, file, values: valueSourceOf(where, model, name), bytesBefore }];
    }
    const tensor = { ...plain(each), isQuantized: true, ...(layout !== undefined && { layout }) };
    if (!part.isFirst) return [{ tensor, file: each, values: undefined, bytesBefore: undefined }];
    return [{ tensor: { ...tensor, name }, file: each, values: undefined, bytesBefore }];
  };
  const files = own.shards.map(({ file, metadata, tensors }) => ({
    ...{ file, metadata: withoutModules(metadata, modules) },
    tensors: [...tensors.values()].flatMap(sourceTensorsOf),
  }));
  return { files, rewritten, leftOut, isAnyLeft };
}

/** ComfyUI's text about the quantization of modules. */
const QUANTIZATION_KEY = "_quantization_metadata";

/** Metadata that describe no quantization of some modules. */
function withoutModules(
  metadata: ReadonlyMap<string, string>,
  modules: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const text = metadata.get(QUANTIZATION_KEY);
  if (text === undefined || modules.size === 0) return metadata;
  const given = JSON.parse(text) as { readonly layers?: Readonly<Record<string, unknown>> };
  const layers = Object.entries(given.layers ?? {}).filter(([name]) => !modules.has(name));
  const rest = new Map(metadata);
  if (layers.length === 0) rest.delete(QUANTIZATION_KEY);
  else rest.set(QUANTIZATION_KEY, writeJson({ ...given, layers: Object.fromEntries(layers) }));
  return rest;
}

/** All tensors for one file of another format; quantized ones as float32. */
export function sourceFileOf({ where, model, document }: Job): SourceFile {
  const name = titleOf(document.fileName);
  const metadata = new Map<string, string>();
  for (const [key, value] of model.metadata) {
    if (isScalar(value)) metadata.set(key, String(value));
  }
  const weights = weightsOf(model);
  const tensors = Array.from(model.tensors.values(), (tensor): SourceTensor => {
    const weight = weights.get(tensor.name);
    const refusal = weight && fieldOf(weight, "refusal");
    if (refusal !== undefined) throw refusal(where);
    const { name, shape } = tensor;
    const file =
      document.files.get(name) ?? document.files.get(Object.values(weight?.parts ?? {})[0]);
    const bytesBefore = weight ? sizeOfParts(document.files, weight) : tensor.byteLength;
    const isFloat = weight === undefined && !isBlockType(tensor.dtype);
    const hasValues = !isFloat || isDecodable(tensor.dtype);
    const values = hasValues ? valueSourceOf(where, model, name) : undefined;
    if (isFloat) return { tensor, file: file as FileTensor, values, bytesBefore };
    const dtype = "float32" as const;
    const own = { ...tensor, dtype, isQuantized: false };
    const recoded = { ...(file as FileTensor), name, shape, dtype: tensor.dtype };
    return { tensor: own, file: recoded, values, bytesBefore };
  });
  return { file: name, metadata, tensors };
}

const plain = ({ name, shape, dtype, byteLength }: FileTensor): ModelTensor => ({
  ...{ name, shape, dtype, byteLength, isQuantized: false },
});
