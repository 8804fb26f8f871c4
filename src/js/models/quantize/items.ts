// The tensors of a model as a writer takes them: to quantize, or to copy.

import { isBlockType, isDecodable } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import type { SafetensorsDocument } from "../open/document.js";
import { type ModelTensor, weightsOf } from "../open/model.js";
import { type ValueSource, valueSourceOf, valuesOfFile } from "../open/value-source.js";
import type { StoredWeight } from "../weights/weight.js";
import type { Job } from "./types.js";

/** A tensor of the source: what it is for the model, and the tensor of the file to copy. */
export interface Item {
  readonly tensor: ModelTensor;
  readonly file: FileTensor;
  /** Its values; undefined for a part of a quantized tensor, which is copied. */
  readonly values: ValueSource | undefined;
  /** Bytes of the tensor with its scales; undefined for parts, which have no row in the report. */
  readonly bytesBefore: number | undefined;
}

/** A file to write, with the tensors of the source that go into it. */
export interface FileItems {
  /** Its name; without an extension, if the source is of another format. */
  readonly file: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly items: readonly Item[];
}

/** Bytes of all parts of a quantized tensor. */
const sizeOfParts = (files: ReadonlyMap<string, FileTensor>, weight: StoredWeight): number =>
  Object.values(weight.parts).reduce((sum, part) => sum + (files.get(part)?.byteLength ?? 0), 0);

/** The source's own files. Parts of quantized tensors are copied. */
export function shardsOf(
  { where, core, model, document }: Job,
  own: SafetensorsDocument,
): FileItems[] {
  const byPart = new Map<string, { readonly weight: StoredWeight; readonly isFirst: boolean }>();
  for (const weight of weightsOf(model).values()) {
    Object.values(weight.parts).forEach((part, i) => {
      byPart.set(part, { weight, isFirst: i === 0 });
    });
  }
  return own.shards.map(({ file, metadata, tensors }) => ({
    file,
    metadata,
    items: Array.from(tensors.values(), (each): Item => {
      const part = byPart.get(each.name);
      if (part === undefined) {
        const tensor = model.tensors.get(each.name) ?? plain(each);
        const values = isDecodable(each.dtype) ? valuesOfFile(where, core, each) : undefined;
        return { tensor, file: each, values, bytesBefore: each.byteLength };
      }
      const { layout } = part.weight;
      const tensor = { ...plain(each), isQuantized: true, ...(layout !== undefined && { layout }) };
      if (!part.isFirst) return { tensor, file: each, values: undefined, bytesBefore: undefined };
      const { name } = part.weight;
      const bytesBefore = sizeOfParts(document.files, part.weight);
      return { tensor: { ...tensor, name }, file: each, values: undefined, bytesBefore };
    }),
  }));
}

/** All tensors for one file of another format; quantized ones as float32. */
export function itemsOf({ where, model, document }: Job): FileItems {
  const name = document.fileName?.replace(/\.[^.]*$/, "") || "model";
  const metadata = new Map<string, string>();
  for (const [key, value] of model.metadata) {
    if (["string", "number", "boolean", "bigint"].includes(typeof value)) {
      metadata.set(key, String(value));
    }
  }
  const weights = weightsOf(model);
  const items = Array.from(model.tensors.values(), (tensor): Item => {
    const weight = weights.get(tensor.name);
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
  return { file: name, metadata, items };
}

const plain = ({ name, shape, dtype, byteLength }: FileTensor): ModelTensor => ({
  ...{ name, shape, dtype, byteLength, isQuantized: false },
});
