// The kinds of things that files of `save` hold, and the choice between them.

import { define } from "../../base/fields.js";
import { OWN, show } from "../../base/format-value.js";
import { isPlainObject } from "../../base/options.js";
import { Layer } from "../../linear/layer.js";
import { PreparedModel } from "../../nn/prepared-model.js";
import { QuantizedModel } from "../../nn/quantized-model.js";
import { Observer } from "../../observers/observer.js";
import { QConfig } from "../../observers/qconfig.js";
import { QConfigMapping, WeightOnlyQConfig } from "../../observers/qconfig-mapping.js";
import type { AnyQuantizedTensor, QuantizedTensorInput } from "../../quantize/quantized-tensor.js";
import { VectorIndex } from "../../search/vector-index.js";
import { looksQuantized, type TensorInput } from "../../tensor/check.js";
import type { Tensor } from "../../tensor/tensor.js";
import type { IntegerTensor } from "../../torch/integer-tensor.js";
import type { TorchQuantizedTensor, TorchQuantizedTensorInput } from "../../torch/tensor.js";
import type { FileArray } from "../structure/arrays.js";
import { isLayerNode, readLayer, writeLayer } from "../structure/layers.js";
import {
  readPrepared,
  readQuantizedModel,
  writePrepared,
  writeQuantizedModel,
} from "../structure/models.js";
import {
  readMapping,
  readObserver,
  readQConfig,
  writeMapping,
  writeObserver,
  writeQConfig,
} from "../structure/qconfigs.js";
import { readQuantizedNode, readTorchNode, writeQuantized } from "../structure/quantized.js";
import {
  type FileWriter,
  type JSONNode,
  joined,
  type StructureReader,
} from "../structure/structure.js";
import {
  looksLikeTensor,
  type OtherTensor,
  type RawTensor,
  readArrayNode,
  readBytesNode,
  readIntegersNode,
  readTensorNode,
  writeTensor,
} from "../structure/tensors.js";
import {
  type AnyVectorIndex,
  INDEX_KIND,
  readIndex,
  writeIndex,
} from "../structure/vector-index.js";

/** A thing that has the same type before `save` and after `load`. */
type Stored =
  | Layer
  | PreparedModel
  | QuantizedModel
  | QConfig
  | WeightOnlyQConfig
  | QConfigMapping
  | Observer
  | AnyVectorIndex;

/** A thing that `save` takes. */
export type Saveable =
  | Stored
  | TensorInput
  | RawTensor
  | QuantizedTensorInput
  | TorchQuantizedTensorInput
  | { readonly [name: string]: Saveable }
  | readonly Saveable[];

/** A thing that `load` restores. */
export type Loaded =
  | Stored
  | Tensor
  | OtherTensor
  | RawTensor
  | IntegerTensor
  | FileArray
  | AnyQuantizedTensor
  | TorchQuantizedTensor
  | { readonly [name: string]: Loaded }
  | readonly Loaded[];

/** Writes a thing. */
export function writeSaveable(writer: FileWriter, path: string, thing: unknown): JSONNode {
  if (thing instanceof QuantizedModel) return writeQuantizedModel(writer, path, thing);
  if (thing instanceof PreparedModel) return writePrepared(writer, path, thing);
  if (thing instanceof Layer) return writeLayer(writer, path, thing);
  if (thing instanceof QConfig || thing instanceof WeightOnlyQConfig) {
    return writeQConfig(writer, path, thing);
  }
  if (thing instanceof QConfigMapping) return writeMapping(writer, path, thing);
  if (thing instanceof Observer) return writeObserver(writer, path, thing);
  if (thing instanceof VectorIndex) return writeIndex(writer, path, thing as AnyVectorIndex);
  if (looksQuantized(thing)) return writeQuantized(writer, path, thing);
  if (typeof thing === "object" && thing !== null && !(OWN in thing)) {
    if (Array.isArray(thing)) {
      const items = Array.from(thing as unknown[], (item, i) =>
        writer.inside(() => writeSaveable(writer, joined(path, String(i)), item)),
      );
      return { kind: "list", items };
    }
    if (looksLikeTensor(thing)) return writeTensor(writer, path, thing);
    if (isPlainObject(thing)) {
      const items = Object.entries(thing).map(([name, item]) => [
        name,
        writer.inside(() => writeSaveable(writer, joined(path, name), item)),
      ]);
      return { kind: "collection", items } as JSONNode;
    }
  }
  throw writer.refuse(
    path,
    `save takes tensors, quantized tensors, layers, models, observers, indexes, QConfigs and mappings, and ` +
      `plain objects and lists of these, got ${show(thing)}`,
  );
}

type Read = (reader: StructureReader, path: string, value: unknown) => Loaded;

const READERS: Readonly<Record<string, Read>> = {
  "quantized-model": readQuantizedModel,
  prepared: readPrepared,
  qconfig: readQConfig,
  "weight-only": readQConfig,
  mapping: readMapping,
  observer: readObserver,
  [INDEX_KIND]: readIndex,
  quantized: readQuantizedNode,
  torch: readTorchNode,
  tensor: readTensorNode,
  bytes: readBytesNode,
  array: readArrayNode,
  integers: readIntegersNode,
  list: readList,
  collection: readCollection,
};

/** Reads a thing. */
export function readSaveable(reader: StructureReader, path: string, value: unknown): Loaded {
  const kind = (value as { kind?: unknown } | null | undefined)?.kind;
  if (typeof kind !== "string") throw reader.fail(`${path}.kind`, "a kind of things", kind);
  if (isLayerNode(value)) return readLayer(reader, path, value);
  if (Object.hasOwn(READERS, kind)) return READERS[kind](reader, path, value);
  throw reader.fail(`${path}.kind`, "a kind of things", kind);
}

function readList(reader: StructureReader, path: string, value: unknown): readonly Loaded[] {
  const { items } = reader.fields(path, value, ["kind", "items"]);
  return reader.list(`${path}.items`, items).map((item, i) => {
    const at = `${path}.items[${i}]`;
    return reader.inside(at, () => readSaveable(reader, at, item));
  });
}

function readCollection(
  reader: StructureReader,
  path: string,
  value: unknown,
): { readonly [name: string]: Loaded } {
  const { items } = reader.fields(path, value, ["kind", "items"]);
  const things = {};
  for (const [i, entry] of reader.list(`${path}.items`, items).entries()) {
    const at = `${path}.items[${i}]`;
    const [key, item] = reader.list(at, entry);
    const name = reader.text(`${at}[0]`, key);
    if (Object.hasOwn(things, name)) throw reader.fail(at, "every name once", name);
    const thing = reader.inside(at, () => readSaveable(reader, `${at}[1]`, item));
    // Not an assignment: a name may be __proto__.
    const field = { value: thing, enumerable: true, configurable: true, writable: true };
    define(things, name, field);
  }
  return things;
}
