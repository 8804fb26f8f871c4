// Edits of an ONNX model on the way to its quantized form: nodes and tensors to add, to replace and to remove.

import { fieldOf } from "../../../base/fields.js";
import { bytesOf, type FileDType } from "../../../formats/dtypes.js";
import type { OnnxGraph, OnnxModel, OnnxNode, OnnxValue } from "../../../formats/onnx/graph.js";
import { OnnxTensor } from "../../../formats/onnx/tensor.js";
import type { OnnxWeight, OnnxWeights } from "../../../formats/onnx/weights.js";
import { bytesField, lengthOf, type Part, type Spliced } from "../../../formats/onnx/wire.js";
import {
  type ExternalPlace,
  metadataField,
  type NewNode,
  nodeMessage,
  OnnxEditor,
  tensorMessage,
} from "../../../formats/onnx/write.js";
import {
  type ByteStream,
  type FileTensor,
  readChunks,
  type WritableTensor,
} from "../../../formats/source.js";
import { sizeOf } from "../../../tensor/shape.js";

/** Microsoft's operators, which ONNX Runtime has. */
export const MICROSOFT = "com.microsoft";

/** The largest model in one file, in bytes: protocol buffers end at 2 GiB. */
const MAX_INLINE = 1.9e9;

/** Tensors below stay in the model even if others go to the file of external data, in bytes. */
const MIN_EXTERNAL = 1024;
const EXTERNAL_ALIGNMENT = 64;

/** A tensor to add; its values are made when the file is written. */
export interface AddedTensor {
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  bytes(): ByteStream;
}

/** The files of an edited model. */
export interface RewrittenModel {
  readonly model: Spliced;
  /** The file of external data; without parts if there is none. */
  readonly external: Pick<Spliced, "byteLength" | "parts">;
}

/** A tensor in the file of external data. */
interface PlacedTensor {
  readonly tensor: WritableTensor;
  readonly offset: number;
  readonly byteLength: number;
}

/** Something that keeps a weight's values or scales in memory. */
export interface Holder {
  release(): void;
}

const byteLengthOf = ({ dtype, shape }: AddedTensor): number =>
  bytesOf(dtype, sizeOf(shape)) as number;

/** Collects edits; `finish` makes the new model of them. */
export class Rewriter {
  readonly #added: { readonly graph: OnnxGraph; readonly tensor: AddedTensor }[] = [];
  readonly #front = new Map<OnnxGraph, NewNode[]>();
  readonly #replaced = new Map<OnnxNode, readonly NewNode[]>();
  /** New names of inputs of nodes. */
  readonly #renamed = new Map<OnnxNode, Map<string, string>>();
  readonly #removed = new Set<OnnxWeight>();
  readonly #domains = new Set<string>();
  readonly #metadata: (readonly [key: string, value: string])[] = [];
  #holder: Holder | undefined;
  #addedBytes = 0;

  constructor(
    readonly model: OnnxModel,
    readonly found: OnnxWeights,
  ) {}

  /** Version of ONNX's own operators. */
  get opset(): number {
    return this.model.opsets.get("") ?? 0;
  }

  /** Bytes that all edits so far add to the model; of what they remove, the values of weights do not count. */
  get addedBytes(): number {
    return this.#addedBytes;
  }

  /** Gives back the memory of the weight before: one is written at a time. */
  hold(holder: Holder): void {
    if (this.#holder === holder) return;
    this.#holder?.release();
    this.#holder = holder;
  }

  newName(wanted: string): string {
    return this.found.values.newName(wanted);
  }

  /** Adds a tensor to a graph. @returns its bytes */
  addTensor(graph: OnnxGraph, tensor: AddedTensor): number {
    this.#added.push({ graph, tensor });
    this.#addedBytes += lengthOf(bytesField(5, tensorMessage(tensor)));
    return byteLengthOf(tensor);
  }

  /** Adds a node before all others of a graph. */
  addFront(graph: OnnxGraph, node: NewNode): void {
    const nodes = this.#front.get(graph) ?? [];
    nodes.push(node);
    this.#front.set(graph, nodes);
    this.#addedBytes += lengthOf(bytesField(1, nodeMessage(node)));
    this.#use(node);
  }

  /** Puts nodes in the place of one; none removes it. */
  replaceNode(node: OnnxNode, nodes: readonly NewNode[]): void {
    if (!this.#replaced.has(node)) this.#addedBytes -= node.field.end - node.field.start;
    this.#replaced.set(node, nodes);
    for (const each of nodes) {
      this.#addedBytes += lengthOf(bytesField(1, nodeMessage(each)));
      this.#use(each);
    }
  }

  /**
   * The name of a weight's values behind new nodes: its own, so that nothing that uses it changes, or a new one where
   * another graph has a value of that name.
   */
  valueName(weight: OnnxWeight): string {
    const { name } = weight.value;
    return this.found.values.isShadowed(name) ? this.renameUses(weight, name) : name;
  }

  /** Gives the value that the uses of a weight take a name of its own. @returns the name */
  renameUses({ value: { name, uses } }: OnnxWeight, wanted: string): string {
    const own = this.newName(wanted);
    for (const { node } of uses) {
      const names = this.#renamed.get(node) ?? new Map<string, string>();
      names.set(name, own);
      this.#renamed.set(node, names);
      this.#addedBytes += own.length - name.length;
    }
    return own;
  }

  /** Removes a weight: its initializer, or its Constant node. */
  removeWeight(weight: OnnxWeight): void {
    this.#removed.add(weight);
    const { tensor, value } = weight;
    const field =
      value.producer?.field ?? (tensor instanceof OnnxTensor ? tensor.field : undefined);
    if (field === undefined) return;
    const isOutside = tensor instanceof OnnxTensor && tensor.stored === "external";
    this.#addedBytes -= field.end - field.start - (isOutside ? 0 : tensor.byteLength);
  }

  /** Adds an entry to the metadata of the model. */
  addMetadata(key: string, value: string): void {
    this.#metadata.push([key, value]);
    this.#addedBytes += lengthOf(metadataField(key, value));
  }

  #use(node: NewNode): void {
    const domain = fieldOf(node, "domain");
    if (domain !== undefined && !this.model.opsets.has(domain)) this.#domains.add(domain);
  }

  /**
   * The edited model.
   * @param externalName  name of the file of external data, if the model is too large for one file
   */
  finish(externalName: string): RewrittenModel {
    const external = this.#isLarge() ? new ExternalFile(externalName) : undefined;
    const editor = new OnnxEditor(this.model);
    // Constants before the nodes that use them.
    for (const { graph, tensor } of this.#added) this.#writeAdded(editor, graph, tensor, external);
    this.#writeNodes(editor);
    this.#writeKept(editor, external);
    for (const domain of this.#domains) editor.addOpset(domain, 1);
    for (const [key, value] of this.#metadata) editor.addMetadata(key, value);
    return {
      model: editor.finish(),
      external: { byteLength: external?.size ?? 0, parts: partsOf(external?.tensors ?? []) },
    };
  }

  /** Bytes of the model if it were one file. */
  #isLarge(): boolean {
    let size = this.model.source.size;
    for (const tensor of this.model.tensors.values()) {
      if (tensor instanceof OnnxTensor && tensor.stored === "external") size += tensor.byteLength;
    }
    for (const { value, tensor } of this.#removed) {
      if (value.tensor !== undefined) size -= tensor.byteLength;
    }
    for (const { tensor } of this.#added) size += byteLengthOf(tensor) + 200;
    return size > MAX_INLINE;
  }

  #writeNodes(editor: OnnxEditor): void {
    for (const [graph, nodes] of this.#front) {
      const first = graph.nodes[0].field;
      for (const node of nodes) editor.insertBefore(first, nodeMessage(node));
    }
    for (const { value } of this.#removed) {
      if (value.producer !== undefined) editor.remove(value.producer.field);
    }
    for (const [node, names] of this.#renamed) {
      if (!this.#replaced.has(node)) editor.replace(node.field, renamed(this.model, node, names));
    }
    for (const [node, given] of this.#replaced) {
      const names = this.#renamed.get(node);
      const nodes = given.map((each) => ({ ...each, inputs: newNames(each.inputs, names) }));
      for (const each of nodes.slice(0, -1)) editor.insertBefore(node.field, nodeMessage(each));
      const last = nodes.at(-1);
      if (last === undefined) editor.remove(node.field);
      else editor.replace(node.field, nodeMessage(last));
    }
  }

  /** Removes the tensors of weights; moves kept ones into the file of external data, or out of those of the model. */
  #writeKept(editor: OnnxEditor, external: ExternalFile | undefined): void {
    const removed = new Set<FileTensor>();
    for (const { tensor, value } of this.#removed) {
      removed.add(tensor);
      // Below IR 4 every initializer is an input, too.
      if (value.producer !== undefined) continue;
      if (tensor instanceof OnnxTensor) editor.remove(tensor.field);
      const input = value.graph.inputs.find(({ name }: OnnxValue) => name === value.name);
      if (input !== undefined) editor.remove(input.field);
    }
    const initializers = new Set<FileTensor>(
      this.found.values.constants
        .filter(({ producer }) => producer === undefined)
        .flatMap(({ tensor }) => tensor ?? []),
    );
    for (const tensor of this.model.tensors.values()) {
      if (!(tensor instanceof OnnxTensor) || removed.has(tensor)) continue;
      const isMovable = initializers.has(tensor) && tensor.byteLength >= MIN_EXTERNAL;
      if (external !== undefined && isMovable) {
        editor.replace(tensor.field, tensorMessage(tensor, external.add(tensor)));
      } else if (tensor.stored === "external") editor.replace(tensor.field, tensorMessage(tensor));
    }
  }

  #writeAdded(
    editor: OnnxEditor,
    graph: OnnxGraph,
    tensor: AddedTensor,
    external: ExternalFile | undefined,
  ): void {
    if (this.model.irVersion < 4) {
      // An initializer would have to be an input of the graph.
      const node = {
        opType: "Constant",
        inputs: [],
        outputs: [tensor.name],
        attributes: { value: { tensor } },
      };
      editor.insertBefore(graph.nodes[0].field, nodeMessage(node));
      return;
    }
    const isFar = external !== undefined && byteLengthOf(tensor) >= MIN_EXTERNAL;
    const place = isFar ? external.add(tensor) : undefined;
    editor.append(graph.field, bytesField(5, tensorMessage(tensor, place)));
  }
}

const newNames = (
  inputs: readonly string[],
  names: ReadonlyMap<string, string> | undefined,
): readonly string[] => inputs.map((name) => names?.get(name) ?? name);

/** A node with other names of inputs. Its attributes keep their bytes. */
export function renamed(
  { source }: OnnxModel,
  node: OnnxNode,
  names: ReadonlyMap<string, string>,
): readonly Part[] {
  const { name, opType, domain, outputs, attributes } = node;
  const inputs = newNames(node.inputs, names);
  const own = { name, opType, outputs, inputs, ...(domain === "" ? {} : { domain }) };
  const copied = Array.from(attributes.values(), ({ field: { start, end } }) => ({
    byteLength: end - start,
    bytes: () => readChunks("quantizeModel", source, start, end),
  }));
  return [...nodeMessage(own), ...copied];
}

/** Offsets in the file of external data. */
class ExternalFile {
  readonly tensors: PlacedTensor[] = [];
  size = 0;

  constructor(readonly location: string) {}

  add(tensor: WritableTensor): ExternalPlace {
    const byteLength = byteLengthOf(tensor);
    const offset = Math.ceil(this.size / EXTERNAL_ALIGNMENT) * EXTERNAL_ALIGNMENT;
    this.tensors.push({ tensor, offset, byteLength });
    this.size = offset + byteLength;
    return { location: this.location, offset };
  }
}

/** The tensors of the file of external data, each with the padding before it. */
function partsOf(tensors: readonly PlacedTensor[]): Spliced["parts"] {
  let at = 0;
  return tensors.map(({ tensor, offset, byteLength }) => {
    const padding = offset - at;
    at = offset + byteLength;
    return {
      byteLength: padding + byteLength,
      async *bytes() {
        if (padding > 0) yield new Uint8Array(padding);
        yield* tensor.bytes() as AsyncIterable<Uint8Array>;
      },
    };
  });
}
