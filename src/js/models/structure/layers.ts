// Layers in files.

import { typeError } from "../../base/errors.js";
import { define } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import type { Layer } from "../../linear/layer.js";
import type { QuantizedLinearOptions } from "../../linear/layer-options.js";
import type { Accumulate } from "../../linear/multiply.js";
import {
  choicesOf,
  packedOf,
  QuantizedLinear,
  restoreChoices,
} from "../../linear/quantized-linear.js";
import { unpackBias } from "../../linear/unpack-linear.js";
import { ReLU, Sigmoid, Tanh } from "../../nn/layers/activations.js";
import { Embedding } from "../../nn/layers/embedding.js";
import { FunctionLayer } from "../../nn/layers/function.js";
import { LayerNorm } from "../../nn/layers/layer-norm.js";
import { Linear } from "../../nn/layers/linear.js";
import { parametersOf, quantizedOf } from "../../nn/layers/parameters.js";
import { Softmax } from "../../nn/layers/softmax.js";
import { type LayerLike, Sequential } from "../../nn/sequential.js";
import { checkQuantizedMeta } from "../../quantize/check.js";
import { qparamsText } from "../../quantize/quantized-tensor.js";
import type { Tensor } from "../../tensor/tensor.js";
import { TILE } from "../../tensor/tiles.js";
import {
  type AnyQuantized,
  readQuantizedNode,
  readTorchNode,
  writeChecked,
  writeQuantized,
} from "./quantized.js";
import {
  type FileWriter,
  fromJSONNumber,
  type JSONNode,
  type JSONValue,
  joined,
  type LayerFunction,
  type StructureReader,
  toJSONNumber,
} from "./structure.js";
import { readOwn, writeOwn } from "./tensors.js";

/** Writes a weight: the name of a float tensor, or the node of a quantized one. */
function writeWeight(writer: FileWriter, path: string, layer: Layer): JSONValue {
  const quantized = quantizedOf(layer);
  const name = joined(path, "weight");
  return quantized === undefined
    ? (writeOwn(writer, name, parametersOf(layer).weight) as string)
    : writeQuantized(writer, name, quantized);
}

/** Reads the precision of sums. */
export const readAccumulate = (reader: StructureReader, path: string, value: unknown): Accumulate =>
  reader.choice(`${path}.accumulate`, value, ["exact", "float32"]);

/** Reads a weight. */
function readWeight(reader: StructureReader, path: string, value: unknown): Tensor | AnyQuantized {
  if (typeof value === "string") return readOwn(reader, path, value) as Tensor;
  return readAnyQuantized(reader, path, value);
}

/** Reads a quantized tensor of either family. */
export const readAnyQuantized = (
  reader: StructureReader,
  path: string,
  value: unknown,
): AnyQuantized =>
  (value as { kind?: unknown } | null)?.kind === "torch"
    ? readTorchNode(reader, path, value)
    : readQuantizedNode(reader, path, value);

/** A kind of layers: its class, and how it is written and read. */
interface LayerKind<L extends Layer> {
  readonly type: abstract new (...args: never) => L;
  readonly write: (writer: FileWriter, path: string, layer: L) => Record<string, unknown>;
  readonly fields: readonly string[];
  readonly read: (
    reader: StructureReader,
    path: string,
    node: Readonly<Record<string, unknown>>,
  ) => LayerLike;
}

const kind = <L extends Layer>(own: LayerKind<L>): LayerKind<Layer> =>
  own as unknown as LayerKind<Layer>;

const withoutFields = (type: new () => Layer): LayerKind<Layer> =>
  kind({ type, write: () => ({}), fields: [], read: () => new type() });

/** All kinds of layers. */
const KINDS: Readonly<Record<string, LayerKind<Layer>>> = {
  Linear: kind({
    type: Linear,
    write: (writer, path, layer: Linear) => ({
      weight: writeWeight(writer, path, layer),
      bias: writeOwn(writer, joined(path, "bias"), parametersOf(layer).bias),
      accumulate: layer.accumulate,
    }),
    fields: ["weight", "bias", "accumulate"],
    read: (reader, path, { weight, bias, accumulate }) =>
      new Linear(readWeight(reader, `${path}.weight`, weight) as Tensor, {
        bias: readOwn(reader, `${path}.bias`, bias),
        accumulate: readAccumulate(reader, path, accumulate),
      }),
  }),
  Embedding: kind({
    type: Embedding,
    write: (writer, path, layer: Embedding) => ({ weight: writeWeight(writer, path, layer) }),
    fields: ["weight"],
    read: (reader, path, { weight }) =>
      new Embedding(readWeight(reader, `${path}.weight`, weight) as Tensor),
  }),
  LayerNorm: kind({
    type: LayerNorm,
    write: (writer, path, layer: LayerNorm) => ({
      shape: layer.normalizedShape,
      eps: toJSONNumber(layer.eps),
      weight: writeOwn(writer, joined(path, "weight"), layer.weight),
      bias: writeOwn(writer, joined(path, "bias"), layer.bias),
    }),
    fields: ["shape", "eps", "weight", "bias"],
    read: (reader, path, { shape, eps, weight, bias }) =>
      new LayerNorm(reader.shape(`${path}.shape`, shape), {
        eps: fromJSONNumber(reader, `${path}.eps`, eps),
        weight: readOwn(reader, `${path}.weight`, weight),
        bias: readOwn(reader, `${path}.bias`, bias),
      }),
  }),
  Softmax: kind({
    type: Softmax,
    write: (_, _path, { axis }: Softmax) => ({ axis }),
    fields: ["axis"],
    read: (reader, path, { axis }) =>
      new Softmax({ axis: reader.integer(`${path}.axis`, axis, -64, 63) }),
  }),
  ReLU: withoutFields(ReLU),
  Sigmoid: withoutFields(Sigmoid),
  Tanh: withoutFields(Tanh),
  Function: kind({
    type: FunctionLayer,
    write: (writer, path, { function: run }: FunctionLayer) => ({
      name: functionName(writer, path, run as LayerFunction),
    }),
    fields: ["name"],
    read: (reader, path, { name }) => givenFunction(reader, path, name),
  }),
  QuantizedLinear: kind({
    type: QuantizedLinear,
    write: writeQuantizedLinear,
    fields: ["weight", "bias", "activations", "reduceRange", "accumulate", "append"],
    read: readQuantizedLinear,
  }),
  Sequential: kind({
    type: Sequential,
    write: (writer, path, model: Sequential) => ({
      layers: model.children.map(({ name, layer }) => [
        name,
        writer.inside(() => writeLayer(writer, joined(path, name), layer)),
      ]),
    }),
    fields: ["layers"],
    read: readSequential,
  }),
};

/** The kind of a layer that files hold; undefined for a subclass, and for a layer with methods of its own. */
function kindOf(layer: Layer): readonly [string, LayerKind<Layer>] | undefined {
  const prototype: unknown = Object.getPrototypeOf(layer);
  if (Object.hasOwn(layer, "forward")) return undefined;
  return Object.entries(KINDS).find(([, { type }]) => type.prototype === prototype);
}

/** Writes a layer. */
export function writeLayer(writer: FileWriter, path: string, layer: Layer): JSONNode {
  const found = kindOf(layer);
  if (found === undefined) {
    throw writer.refuse(
      path,
      `${show(layer)} has a class or forward of its own; as a function of a name, ` +
        "(x) => layer.forward(x), it can be saved and given to load",
    );
  }
  const [name, { write }] = found;
  const fields = Object.entries(write(writer, path, layer)).filter(([, v]) => v !== undefined);
  return { kind: name, ...(Object.fromEntries(fields) as object) };
}

/** Whether a node is that of a layer. */
export const isLayerNode = (value: unknown): boolean =>
  Object.hasOwn(KINDS, (value as { kind: string }).kind);

/** Reads a layer, or a function that the user has given for it. */
function readLayerLike(reader: StructureReader, path: string, value: unknown): LayerLike {
  const name = (value as { kind?: unknown } | null)?.kind;
  if (typeof name !== "string" || !Object.hasOwn(KINDS, name)) {
    throw reader.fail(`${path}.kind`, "a kind of layers", name);
  }
  const { fields, read } = KINDS[name];
  return read(reader, path, reader.fields(path, value, ["kind", ...fields]));
}

/** Reads a layer. */
export function readLayer(reader: StructureReader, path: string, value: unknown): Layer {
  const layer = readLayerLike(reader, path, value);
  // Sequential makes layers of functions.
  return typeof layer === "function" ? new Sequential([layer]).layers[0].layer : layer;
}

/** The name that a function is saved by. */
function functionName(writer: FileWriter, path: string, run: LayerFunction): string {
  const { name } = run;
  if (typeof name !== "string" || name === "") {
    throw writer.refuse(path, "a function is saved by its name, and this one has none");
  }
  const known = writer.functions.get(name);
  if (known !== undefined && known !== run) {
    throw writer.refuse(path, `another function in it has the same name, ${name}`);
  }
  writer.functions.set(name, run);
  return name;
}

function givenFunction(reader: StructureReader, path: string, value: unknown): LayerLike {
  const name = reader.text(`${path}.name`, value);
  const { [name]: given } = reader.functions;
  if (typeof given === "function") return given as LayerLike;
  throw typeError(
    "ZP_INVALID_FUNCTION",
    reader.where,
    `options.functions must have the function ${show(name)}, which is a layer of the file, ` +
      `got ${show(given)}`,
  );
}

function writeQuantizedLinear(writer: FileWriter, path: string, layer: QuantizedLinear) {
  const packed = packedOf(layer);
  const { qparams, inFeatures, outFeatures, activations, reduceRange, accumulate } = layer;
  const bias = unpackBias(writer.where, layer);
  const meta = { ...qparams, shape: [outFeatures, inFeatures] };
  const checked = checkQuantizedMeta(writer.where, qparamsText(qparams), meta, true);
  // Whole rows, eight or a multiple: a multiple of eight codes for any number of bits.
  const width = Math.max(1, inFeatures);
  const rows = 8 * Math.max(1, Math.floor(TILE / (8 * width)));
  const tiles = {
    step: rows * width,
    read: (first: number, end: number) => {
      packed.checkAlive(writer.where);
      return packed.codes(writer.where, first / width, (end - first) / width);
    },
  };
  return {
    weight: writeChecked(writer, joined(path, "weight"), checked, tiles),
    bias: writeOwn(writer, joined(path, "bias"), bias),
    activations,
    reduceRange,
    accumulate,
    append: appendOptions(layer),
  };
}

/** The options by which append quantizes float rows; undefined without any. */
function appendOptions(layer: QuantizedLinear): JSONValue | undefined {
  const given = Object.entries(choicesOf(layer)).filter(([, value]) => value !== undefined);
  return given.length > 0 ? (Object.fromEntries(given) as JSONValue) : undefined;
}

const APPEND_OPTIONS = ["includeZero", "nonFinite", "range"] as const;

function readQuantizedLinear(
  reader: StructureReader,
  path: string,
  { weight, bias, activations, reduceRange, accumulate, append }: Readonly<Record<string, unknown>>,
): QuantizedLinear {
  const how = reader.choice(`${path}.activations`, activations, ["float32", "dynamic"]);
  const isDynamic = how === "dynamic";
  const sums = readAccumulate(reader, path, accumulate);
  // The constructor checks that weight and options go together.
  const options = {
    bias: readOwn(reader, `${path}.bias`, bias),
    activations: how,
    accumulate: sums,
    ...(isDynamic && { reduceRange: reader.flag(`${path}.reduceRange`, reduceRange) }),
  } as QuantizedLinearOptions;
  const codes = readQuantizedNode(reader, `${path}.weight`, weight);
  const layer = new QuantizedLinear(codes, options);
  if (append !== undefined) {
    restoreChoices(reader.where, layer, reader.fields(`${path}.append`, append, APPEND_OPTIONS));
  }
  return layer;
}

function readSequential(
  reader: StructureReader,
  path: string,
  { layers }: Readonly<Record<string, unknown>>,
): Sequential {
  const children: Record<string, LayerLike> = {};
  const names: string[] = [];
  for (const [i, entry] of reader.list(`${path}.layers`, layers).entries()) {
    const at = `${path}.layers[${i}]`;
    const [name, node] = reader.list(at, entry);
    names.push(reader.text(`${at}[0]`, name));
    const value = reader.inside(at, () => readLayerLike(reader, `${at}[1]`, node));
    define(children, names[i], { value, enumerable: true, configurable: true });
  }
  // An object orders integer names first, and holds a name once.
  if (Object.keys(children).some((name, i) => name !== names[i])) {
    throw reader.fail(`${path}.layers`, "names in the order of an object, each once", names);
  }
  return new Sequential(children);
}
