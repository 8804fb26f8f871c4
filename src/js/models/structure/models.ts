// Prepared and quantized models in files.

import { isIntegerWithin } from "../../base/check.js";
import { fieldOf } from "../../base/fields.js";
import { activeCore } from "../../core/init.js";
import { writeJson } from "../../formats/json.js";
import type { Layer } from "../../linear/layer.js";
import { type ConvertedLayer, UnchangedLayer } from "../../nn/converted/layer.js";
import { QuantizedEmbedding } from "../../nn/converted/quantized-embedding.js";
import { dynamicLinear, weightOnlyLinear } from "../../nn/converted/quantized-linear.js";
import {
  packedInt8,
  type QuantizedWeight,
  StaticLinear,
} from "../../nn/converted/static-linear.js";
import { ReLU } from "../../nn/layers/activations.js";
import { Embedding } from "../../nn/layers/embedding.js";
import { Linear } from "../../nn/layers/linear.js";
import { type AnyQuantized, parametersOf, quantizedOf } from "../../nn/layers/parameters.js";
import { planModel } from "../../nn/prepare.js";
import { layersOf, PreparedModel } from "../../nn/prepared-model.js";
import { convertedOf, QuantizedModel } from "../../nn/quantized-model.js";
import { Sequential } from "../../nn/sequential.js";
import type { Observer } from "../../observers/observer.js";
import { QConfigMapping } from "../../observers/qconfig-mapping.js";
import { checkScale } from "../../quantize/check.js";
import { listed, type QuantizedTensor } from "../../quantize/quantized-tensor.js";
import type { TensorQParams } from "../../torch/scales.js";
import { TorchQuantizedTensor } from "../../torch/tensor.js";
import { readAccumulate, readAnyQuantized, readLayer, writeLayer } from "./layers.js";
import { readLayerQConfig, readObserver, writeLayerQConfig, writeObserver } from "./qconfigs.js";
import { writeQuantized } from "./quantized.js";
import { type FileWriter, type JSONNode, joined, type StructureReader } from "./structure.js";
import { readOwn, writeOwn } from "./tensors.js";

/** Writes a prepared model: the float model, and the QConfig and observers of each layer. */
export function writePrepared(writer: FileWriter, path: string, prepared: PreparedModel): JSONNode {
  const model = writeLayer(writer, path, prepared.model);
  const planned = layersOf(prepared);
  const layers = planned.map(({ name, plan, input, output }) => {
    const at = joined(path, name);
    const qconfig = plan.method === "float32" ? null : writeLayerQConfig(writer, at, plan.qconfig);
    return {
      qconfig,
      ...(input && { input: writeObserver(writer, at, input) }),
      ...(output && { output: writeObserver(writer, at, output) }),
    };
  });
  return { kind: "prepared", model, fuse: planned.some(({ fused }) => fused), layers };
}

/** Reads a prepared model: plans it anew, and puts the saved observers in the place of the new ones. */
export function readPrepared(reader: StructureReader, path: string, value: unknown): PreparedModel {
  const node = reader.fields(path, value, ["kind", "model", "fuse", "layers"]);
  const model = readLayer(reader, `${path}.model`, node.model);
  if (!(model instanceof Sequential)) {
    throw reader.fail(`${path}.model`, "a Sequential", model.typeName);
  }
  const { layers } = model;
  const nodes = reader.list(`${path}.layers`, node.layers).map((each, i) => {
    return reader.fields(`${path}.layers[${i}]`, each, ["qconfig", "input", "output"]);
  });
  if (nodes.length !== layers.length) {
    throw reader.fail(`${path}.layers`, `${layers.length} layers`, nodes.length);
  }
  const mapping = new QConfigMapping();
  for (const [i, { name }] of layers.entries()) {
    const at = `${path}.layers[${i}].qconfig`;
    mapping.setModuleName(name, readLayerQConfig(reader, at, nodes[i].qconfig));
  }
  const fuse = reader.flag(`${path}.fuse`, node.fuse);
  const planned = layersOf(planModel(reader.where, model, mapping, fuse));
  const restored = planned.map((each, i) => ({
    ...each,
    input: restore(reader, `${path}.layers[${i}].input`, nodes[i].input, each.input),
    output: restore(reader, `${path}.layers[${i}].output`, nodes[i].output, each.output),
  }));
  return new PreparedModel(model, restored);
}

/** A saved observer, which may differ from a new one only in its state. */
function restore(
  reader: StructureReader,
  path: string,
  value: unknown,
  planned: Observer | undefined,
): Observer | undefined {
  if (value === undefined && planned === undefined) return undefined;
  if (value === undefined || planned === undefined) {
    throw reader.fail(path, planned === undefined ? "no observer" : "an observer", value);
  }
  const observer = readObserver(reader, path, value);
  const same =
    Object.getPrototypeOf(observer) === Object.getPrototypeOf(planned) &&
    writeJson(observer.options) === writeJson(planned.options);
  if (same) return observer;
  throw reader.fail(path, `an observer as its QConfig makes it, ${planned}`, String(observer));
}

/** Writes a quantized model: its layers, without the float model. */
export function writeQuantizedModel(
  writer: FileWriter,
  path: string,
  model: QuantizedModel,
): JSONNode {
  const layers = convertedOf(model).map((converted): JSONNode => {
    const { name, layer, method, q, bits, fused, input, output, reduceRange } = converted.parts;
    const at = joined(path, name);
    if (q === undefined) return { kind: "unchanged", name, layer: writeLayer(writer, at, layer) };
    const bias = writeOwn(writer, joined(at, "bias"), parametersOf(layer).bias);
    const node = {
      kind: method,
      name,
      ...(method === "weight-only" && { type: layer.typeName }),
      weight: writeQuantized(writer, joined(at, "weight"), q),
      ...(bias !== undefined && { bias }),
      ...(bits !== undefined && { bits }),
      ...(layer instanceof Linear && { accumulate: layer.accumulate }),
      ...(reduceRange !== undefined && { reduceRange }),
      ...(input && { input: { ...input } }),
      ...(output && { output: { ...output } }),
      ...(fused !== undefined && { fused }),
    };
    return node as JSONNode;
  });
  return { kind: "quantized-model", layers };
}

const LAYER_FIELDS = [
  "kind",
  "name",
  "type",
  "layer",
  "weight",
  "bias",
  "bits",
  "accumulate",
  "reduceRange",
  "input",
  "output",
  "fused",
] as const;

/** The fields of a layer's node. */
type LayerNode = Readonly<Partial<Record<(typeof LAYER_FIELDS)[number], unknown>>>;

/** Reads a quantized model. */
export function readQuantizedModel(
  reader: StructureReader,
  path: string,
  value: unknown,
): QuantizedModel {
  const { layers } = reader.fields(path, value, ["kind", "layers"]);
  const made: ConvertedLayer[] = [];
  // Qparams of the codes that the next layer gets, if the previous one gives codes.
  let codes: TensorQParams | undefined;
  try {
    for (const [i, each] of reader.list(`${path}.layers`, layers).entries()) {
      const at = `${path}.layers[${i}]`;
      const node = reader.fields(at, each, LAYER_FIELDS);
      const converted = readConverted(reader, at, node, codes);
      const { layer, output } = converted.parts;
      codes = layer instanceof ReLU ? codes : output;
      made.push(converted);
    }
    return new QuantizedModel(activeCore(reader.where), undefined, made);
  } catch (error) {
    for (const each of made) each.dispose();
    throw error;
  }
}

function readConverted(
  reader: StructureReader,
  path: string,
  node: LayerNode,
  codes: TensorQParams | undefined,
): ConvertedLayer {
  const name = reader.text(`${path}.name`, node.name);
  const kinds = ["unchanged", "static", "dynamic", "weight-only"] as const;
  const kind = reader.choice(`${path}.kind`, node.kind, kinds);
  if (kind === "unchanged") {
    const layer: Layer = readLayer(reader, `${path}.layer`, node.layer);
    return new UnchangedLayer(activeCore(reader.where), name, layer);
  }
  const weight = readAnyQuantized(reader, `${path}.weight`, node.weight);
  if (kind === "weight-only") return readWeightOnly(reader, path, name, node, weight);
  const bias = readOwn(reader, `${path}.bias`, node.bias);
  const accumulate = readAccumulate(reader, path, node.accumulate);
  const layer = new Linear(weight as QuantizedTensor, { bias, accumulate });
  const own = int8Weight(reader, path, layer);
  if (kind === "dynamic") {
    const reduceRange = reader.flag(`${path}.reduceRange`, node.reduceRange);
    return dynamicLinear(name, layer, own, reduceRange);
  }
  const input = node.input === undefined ? codes : readQParams(reader, `${path}.input`, node.input);
  if (input === undefined) throw reader.fail(`${path}.input`, "qparams of a float input", input);
  const output = readQParams(reader, `${path}.output`, node.output);
  const fused = reader.flag(`${path}.fused`, node.fused);
  const owns = node.input !== undefined;
  const packed = packedInt8(reader.where, layer, own);
  return new StaticLinear(name, layer, own, packed, input, output, owns, fused);
}

/** The weight of a layer with quantized activations, copied from the Linear that was made of it. */
function int8Weight(reader: StructureReader, path: string, layer: Linear): QuantizedWeight {
  const q = quantizedOf(layer) as AnyQuantized;
  const zeros = listed<ArrayLike<number>>(q.zeroPoint ?? 0);
  const hasZeros = Array.from(zeros).some((zero) => zero !== 0);
  const isInt8 =
    q instanceof TorchQuantizedTensor && q.dtype === "qint8" && (fieldOf(q, "axis") ?? 0) === 0;
  if (!isInt8 || hasZeros) {
    throw reader.fail(`${path}.weight`, "qint8 with zero points 0, by tensor or output", q.dtype);
  }
  const scales = Float32Array.from(listed<ArrayLike<number>>(q.scale));
  return { q: q as TorchQuantizedTensor<"qint8">, scales };
}

function readWeightOnly(
  reader: StructureReader,
  path: string,
  name: string,
  node: LayerNode,
  weight: AnyQuantized,
): ConvertedLayer {
  const bits = reader.integer(`${path}.bits`, node.bits, 1, 32);
  const type = reader.choice(`${path}.type`, node.type, ["Linear", "Embedding"]);
  if (type === "Linear") {
    const bias = readOwn(reader, `${path}.bias`, node.bias);
    const accumulate = readAccumulate(reader, path, node.accumulate);
    const layer = new Linear(weight as QuantizedTensor, { bias, accumulate });
    return weightOnlyLinear(name, layer, quantizedOf(layer) as QuantizedTensor, bits);
  }
  if (
    weight instanceof TorchQuantizedTensor &&
    (fieldOf(weight, "axis") !== 0 || weight.dtype !== "quint8")
  ) {
    throw reader.fail(`${path}.weight`, "quint8 with qparams of each row", weight.dtype);
  }
  const layer = new Embedding(weight as QuantizedTensor);
  return new QuantizedEmbedding(name, layer, quantizedOf(layer) as AnyQuantized, bits);
}

/** Scale and zero point of quint8 activations. */
function readQParams(reader: StructureReader, path: string, value: unknown): TensorQParams {
  const { scale, zeroPoint } = reader.fields(path, value, ["scale", "zeroPoint"]);
  checkScale(reader.where, `${path}.scale`, scale);
  if (isIntegerWithin(zeroPoint, 0, 255)) return { scale: scale as number, zeroPoint };
  throw reader.fail(`${path}.zeroPoint`, "an integer from 0 to 255", zeroPoint);
}
