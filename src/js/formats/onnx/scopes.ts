// Values of an ONNX model: which nodes use a name, through subgraphs and their shadowing.

import type { FileTensor } from "../source.js";
import type { OnnxGraph, OnnxModel, OnnxNode } from "./graph.js";

/** An input of a node that takes a value. */
export interface ValueUse {
  readonly node: OnnxNode;
  /** Index among the node's inputs. */
  readonly input: number;
}

/** A value: an initializer, an input of a graph, or an output of a node. */
export class GraphValue {
  /** The values, if the file holds them. */
  tensor: FileTensor | undefined;
  /** The node that gives it. */
  producer: OnnxNode | undefined;
  isGraphInput = false;
  isGraphOutput = false;
  readonly uses: ValueUse[] = [];

  constructor(
    readonly name: string,
    readonly graph: OnnxGraph,
  ) {}
}

/** The values of a graph by name, and the scope around it. */
interface Scope {
  readonly outer: Scope | undefined;
  readonly values: Map<string, GraphValue>;
}

/** All values of a model, functions left out. */
export class GraphValues {
  /** Values whose tensors the file holds, in the order of the graphs. */
  readonly constants: GraphValue[] = [];
  /** Every name of a value or node in the model. */
  readonly names = new Set<string>();
  readonly #results = new Map<OnnxNode, GraphValue[]>();
  readonly #defined = new Map<string, number>();

  constructor({ graph, functions }: OnnxModel) {
    this.#walk(graph, undefined);
    for (const { body } of functions) {
      for (const node of body.nodes) this.#addNames(node);
    }
  }

  /** All nodes. */
  get nodes(): Iterable<OnnxNode> {
    return this.#results.keys();
  }

  /** Whether a graph has a value of a name. */
  isDefined(name: string): boolean {
    return this.#defined.has(name);
  }

  /** The values of a node's outputs. */
  resultsOf(node: OnnxNode): readonly GraphValue[] {
    return this.#results.get(node) ?? [];
  }

  /** Whether several graphs have values of a name. Outputs of nodes must not. */
  isShadowed(name: string): boolean {
    return (this.#defined.get(name) ?? 0) > 1;
  }

  /** A name that no value and no node has. */
  newName(wanted: string): string {
    let name = wanted;
    for (let i = 2; this.names.has(name); i++) name = `${wanted}_${i}`;
    this.names.add(name);
    return name;
  }

  #addNames({ name, inputs, outputs }: OnnxNode): void {
    for (const each of [name, ...inputs, ...outputs]) this.names.add(each);
  }

  /** The reader bounds the depth of graphs in graphs. */
  #walk(graph: OnnxGraph, outer: Scope | undefined): void {
    const values = new Map<string, GraphValue>();
    const scope: Scope = { outer, values };
    const define = (name: string): GraphValue => {
      const known = values.get(name);
      if (known !== undefined) return known;
      const value = new GraphValue(name, graph);
      values.set(name, value);
      this.names.add(name);
      this.#defined.set(name, (this.#defined.get(name) ?? 0) + 1);
      return value;
    };
    for (const { name } of graph.inputs) define(name).isGraphInput = true;
    for (const tensor of graph.initializers) {
      const value = define(tensor.name);
      value.tensor = tensor;
      this.constants.push(value);
    }
    for (const name of graph.otherInitializers) define(name);
    for (const node of graph.nodes) {
      this.#addNames(node);
      const results = node.outputs.map(define);
      for (const value of results) value.producer = node;
      this.#results.set(node, results);
      const { tensor } = node.attributes.get("value") ?? {};
      if (isStandard(node, "Constant") && tensor !== undefined && results[0] !== undefined) {
        results[0].tensor = tensor;
        this.constants.push(results[0]);
      }
    }
    for (const node of graph.nodes) {
      for (const [input, name] of node.inputs.entries()) {
        find(scope, name)?.uses.push({ node, input });
      }
      for (const { graph: inner, graphs } of node.attributes.values()) {
        for (const each of inner === undefined ? graphs : [inner, ...graphs]) {
          this.#walk(each, scope);
        }
      }
    }
    for (const { name } of graph.outputs) {
      const value = find(scope, name);
      if (value !== undefined) value.isGraphOutput = true;
    }
  }
}

function find(scope: Scope, name: string): GraphValue | undefined {
  if (name === "") return undefined;
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const value = at.values.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Whether a node is one of ONNX's own operators of this name. */
export const isStandard = ({ domain, opType }: OnnxNode, name: string): boolean =>
  opType === name && (domain === "" || domain === "ai.onnx");
