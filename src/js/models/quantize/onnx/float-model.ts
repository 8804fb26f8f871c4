// An ONNX model in which quantized weights are float: an initializer each, whose values are those of the codes, in the
// place of the nodes and constants that only served the codes. It is never written: the forms rewrite it as any model.

import type { OnnxGraph, OnnxModel, OnnxNode } from "../../../formats/onnx/graph.js";
import { readOnnx } from "../../../formats/onnx/read.js";
import type { GraphValue } from "../../../formats/onnx/scopes.js";
import { OnnxTensor } from "../../../formats/onnx/tensor.js";
import { bytesField, type SplicedPart } from "../../../formats/onnx/wire.js";
import {
  type NewNode,
  nodeMessage,
  OnnxEditor,
  tensorMessage,
} from "../../../formats/onnx/write.js";
import { joinBytes, readBytes, type Source } from "../../../formats/source.js";
import { sizeOf } from "../../../tensor/shape.js";
import type { Model, ModelTensor } from "../../open/model.js";
import { floatsOf, type ValueSource, type Values, valueSourceOf } from "../../weights/values.js";
import { encodeFloats, type ScaleDType } from "../halves.js";
import { type FloatWeight, SiteFinder } from "./float-sites.js";
import { renamed } from "./rewrite.js";

/** The folder of external data that the values of float weights seem to be in. */
const FOLDER = "zeropoint-values-of-codes/";

/** A model with float weights. */
export interface FloatModel {
  readonly onnx: OnnxModel;
  /** Why weights stay quantized, by name. */
  readonly refused: ReadonlyMap<string, string>;
}

/**
 * Makes quantized weights of a model float.
 * @param names  of the weights
 */
export async function floatModel(
  where: string,
  model: Model,
  onnx: OnnxModel,
  names: readonly string[],
  openExternal: (location: string) => Promise<Source>,
): Promise<FloatModel> {
  const refused = new Map<string, string>();
  if (names.length === 0) return { onnx, refused };
  const finder = new SiteFinder(model, onnx);
  const weights = new Map<string, FloatWeight>();
  for (const name of names) {
    const found = finder.find(model.tensors.get(name) as ModelTensor);
    if (typeof found === "string") refused.set(name, found);
    else weights.set(name, found);
  }
  if (weights.size === 0) return { onnx, refused };
  const values = new ValueFiles(where, model);
  const files: Source[] = [];
  const editor = new OnnxEditor(onnx);
  for (const [name, { graph, name: own, dtype, shape }] of weights) {
    const message = tensorMessage(
      { name: own, dtype, shape, bytes: () => [] },
      { location: FOLDER + files.length, offset: 0 },
    );
    editor.append(graph.field, bytesField(5, message));
    files.push(values.fileOf(name, dtype, sizeOf(shape)));
  }
  edit(editor, onnx, finder, [...weights.values()]);
  const { parts, byteLength } = editor.finish();
  const source = splicedSource(where, onnx.source, parts, byteLength);
  const externalData = (location: string): Promise<Source> | Source =>
    location.startsWith(FOLDER)
      ? files[Number(location.slice(FOLDER.length))]
      : openExternal(location);
  return { onnx: await readOnnx(source, { externalData }, where), refused };
}

/** Random access to a file with edits. */
function splicedSource(
  where: string,
  original: Source,
  parts: readonly SplicedPart[],
  size: number,
): Source {
  const ends: number[] = [];
  for (const { byteLength } of parts) ends.push((ends.at(-1) ?? 0) + byteLength);
  const made = new Map<SplicedPart, Uint8Array>();
  const bytesOf = async (part: SplicedPart): Promise<Uint8Array> => {
    const known = made.get(part);
    if (known !== undefined) return known;
    const chunks: Uint8Array[] = [];
    for await (const chunk of part.bytes()) chunks.push(chunk);
    const bytes = joinBytes(chunks);
    made.set(part, bytes);
    return bytes;
  };
  return {
    size,
    async read(offset, length) {
      const bytes = new Uint8Array(length);
      // The first part that ends behind the offset.
      let [low, high] = [0, parts.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (ends[middle] > offset) high = middle;
        else low = middle + 1;
      }
      for (let filled = 0; filled < length; low++) {
        const part = parts[low];
        const at = offset + filled - (ends[low] - part.byteLength);
        const count = Math.min(length - filled, part.byteLength - at);
        const { from } = part;
        const own =
          from === undefined
            ? (await bytesOf(part)).subarray(at, at + count)
            : await readBytes(where, original, from + at, count);
        bytes.set(own, filled);
        filled += count;
      }
      return bytes;
    },
  };
}

/** Gives the values of weights as files: the weight that was read last is open. */
class ValueFiles {
  #name: string | undefined;
  #cursor: ReturnType<ValueSource["open"]> | undefined;
  /** One read at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly where: string,
    readonly model: Model,
  ) {}

  /** The values of a weight as a file of their bytes. */
  fileOf(name: string, dtype: ScaleDType, count: number): Source {
    const width = dtype === "float32" ? 4 : 2;
    return {
      size: count * width,
      read: (offset, length) => {
        const begin = Math.floor(offset / width);
        const end = Math.ceil((offset + length) / width);
        const bytes = this.#last.then(async () => {
          const values = floatsOf(await this.#read(name, begin, end));
          const start = offset - begin * width;
          return encodeFloats(values.slice(), dtype).subarray(start, start + length);
        });
        this.#last = bytes.catch(() => {});
        return bytes;
      },
    };
  }

  async #read(name: string, begin: number, end: number): Promise<Values> {
    if (this.#cursor === undefined || this.#name !== name) {
      this.#name = name;
      this.#cursor = valueSourceOf(this.where, this.model, name).open();
    }
    return (await this.#cursor.read({ begin, end })).values;
  }
}

/** Puts float weights in the place of codes, and removes what only served these. */
function edit(
  editor: OnnxEditor,
  onnx: OnnxModel,
  finder: SiteFinder,
  weights: readonly FloatWeight[],
): void {
  const replaced = new Map<OnnxNode, readonly NewNode[]>();
  const names = new Map<OnnxNode, Map<string, string>>();
  const dead = new Set<OnnxNode>();
  const left: GraphValue[] = [];
  const kill = (node: OnnxNode): void => {
    if (dead.has(node)) return;
    dead.add(node);
    left.push(...finder.inputsOf(node));
  };
  const constants = new Set<GraphValue>();
  for (const { name, codes, sites } of weights) {
    // All that took them takes the float weight, which may have their name.
    if (codes.producer === undefined) constants.add(codes);
    else kill(codes.producer);
    for (const site of sites) {
      if ("node" in site) {
        replaced.set(site.node, site.nodes);
        left.push(...finder.inputsOf(site.node));
        continue;
      }
      const { value } = site;
      for (const { node } of value.name === name ? [] : value.uses) {
        names.set(node, (names.get(node) ?? new Map<string, string>()).set(value.name, name));
      }
      kill(value.producer as OnnxNode);
    }
  }
  const isUsedAnew = new Set([...replaced.values()].flat().flatMap(({ inputs }) => inputs));
  const codes = new Set(weights.map((weight) => weight.codes));
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    const { producer } = value;
    if (codes.has(value)) continue;
    const results = producer === undefined ? [value] : finder.values.resultsOf(producer);
    const isUsed = ({ isGraphOutput, name, uses }: GraphValue): boolean =>
      isGraphOutput ||
      isUsedAnew.has(name) ||
      uses.some(({ node }) => !dead.has(node) && !replaced.has(node));
    if (results.some(isUsed)) continue;
    if (producer !== undefined) kill(producer);
    else if (value.tensor !== undefined) constants.add(value);
  }
  for (const { graph, name, tensor } of constants) {
    if (tensor instanceof OnnxTensor) editor.remove(tensor.field);
    const input = graph.inputs.find((each) => each.name === name);
    if (input !== undefined) editor.remove(input.field);
  }
  for (const node of dead) if (!replaced.has(node)) editor.remove(node.field);
  for (const [node, nodes] of replaced) {
    for (const each of nodes.slice(0, -1)) editor.insertBefore(node.field, nodeMessage(each));
    editor.replace(node.field, nodeMessage(nodes.at(-1) as NewNode));
  }
  for (const [node, own] of names) {
    if (dead.has(node) || replaced.has(node)) continue;
    editor.replace(node.field, renamed(onnx, node, own));
  }
  // Types of values that are gone, or have another one now.
  const gone = new Map<OnnxGraph, Set<string>>();
  const forget = (graph: OnnxGraph, name: string): void => {
    gone.set(graph, (gone.get(graph) ?? new Set()).add(name));
  };
  for (const { graph, name } of weights) forget(graph, name);
  for (const node of dead) for (const name of node.outputs) forget(node.graph, name);
  for (const [graph, own] of gone) {
    for (const { name, field } of graph.valueInfo) if (own.has(name)) editor.remove(field);
  }
  for (const key of finder.stale(weights)) {
    const field = onnx.metadataFields.get(key);
    if (field !== undefined) editor.remove(field);
  }
}
