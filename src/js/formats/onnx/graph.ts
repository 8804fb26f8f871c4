// ONNX models as objects: graphs, nodes, attributes and values, with their places in the file.
// Source: onnx 1.20, onnx.proto.

import type { FileTensor, Source } from "../source.js";
import type { OnnxTensor } from "./tensor.js";
import type { Field } from "./wire.js";

/** A graph: of the model, of an attribute, or the body of a function. */
export class OnnxGraph {
  name = "";
  readonly nodes: OnnxNode[] = [];
  readonly initializers: OnnxTensor[] = [];
  /** Names of sparse initializers and of text: their values are not read. */
  readonly otherInitializers: string[] = [];
  readonly inputs: OnnxValue[] = [];
  readonly outputs: OnnxValue[] = [];
  readonly valueInfo: OnnxValue[] = [];

  constructor(
    readonly field: Field,
    /** The attribute that holds the graph, and its node. */
    readonly owner?: { readonly node: OnnxNode; readonly attribute: OnnxAttribute },
  ) {}

  /** Names of the graphs and attributes around it: "graph/node.attribute". */
  get path(): string {
    const { owner } = this;
    if (owner === undefined) return this.name;
    return `${owner.node.graph.path}/${owner.node.name}.${owner.attribute.name}`;
  }
}

/** A node of a graph. */
export class OnnxNode {
  name = "";
  opType = "";
  domain = "";
  readonly inputs: string[] = [];
  readonly outputs: string[] = [];
  readonly attributes = new Map<string, OnnxAttribute>();

  constructor(
    readonly field: Field,
    readonly graph: OnnxGraph,
  ) {}
}

/** An attribute of a node. */
export class OnnxAttribute {
  name = "";
  float: number | undefined;
  int: number | bigint | undefined;
  /** Text or bytes, if they are short; long ones stay in the file. */
  string: Uint8Array | undefined;
  tensor: OnnxTensor | undefined;
  graph: OnnxGraph | undefined;
  readonly floats: number[] = [];
  readonly ints: (number | bigint)[] = [];
  readonly graphs: OnnxGraph[] = [];

  constructor(readonly field: Field) {}
}

/** An input, an output, or a value of a graph whose type is known. */
export class OnnxValue {
  name = "";
  /** TensorProto.DataType of a tensor. */
  elementType: number | undefined;
  /** Lengths of a tensor: numbers, names, or unknown. */
  shape: (number | string | undefined)[] | undefined;

  constructor(readonly field: Field) {}
}

/** A function of the model. */
export class OnnxFunction {
  name = "";
  domain = "";
  readonly inputs: string[] = [];
  readonly outputs: string[] = [];
  /** The nodes. Its name is that of the function. */
  readonly body: OnnxGraph;

  constructor(readonly field: Field) {
    this.body = new OnnxGraph(field);
  }
}

/** An ONNX model whose structure was read. */
export interface OnnxModel {
  readonly format: "onnx";
  readonly source: Source;
  readonly irVersion: number;
  /** Versions by domain; "" is ONNX's own. */
  readonly opsets: Map<string, number>;
  /** `metadata_props`. */
  readonly metadata: Map<string, string>;
  /** The places of these entries. */
  readonly metadataFields: ReadonlyMap<string, Field>;
  readonly graph: OnnxGraph;
  readonly functions: readonly OnnxFunction[];
  /**
   * Initializers of the graph by name; those of subgraphs, and tensors of `Constant` nodes anywhere but in the graph,
   * by "path/name".
   */
  readonly tensors: Map<string, FileTensor>;
}
