// What takes the codes of quantized ONNX weights, and the float nodes in its place.

import type { FileDType } from "../../../formats/dtypes.js";
import { type OnnxWeightNote, readNotes } from "../../../formats/layouts/onnx-described.js";
import type { OnnxAttribute, OnnxGraph, OnnxModel, OnnxNode } from "../../../formats/onnx/graph.js";
import { type GraphValue, GraphValues, isStandard } from "../../../formats/onnx/scopes.js";
import { dtypeOf } from "../../../formats/onnx/tensor.js";
import { intOf } from "../../../formats/onnx/weights.js";
import type { NewAttribute, NewNode } from "../../../formats/onnx/write.js";
import { type Model, type ModelTensor, weightsOf } from "../../open/model.js";
import type { ScaleDType } from "../halves.js";
import { MICROSOFT } from "./rewrite.js";

/** What takes the codes of a weight: a value that is the float weight, or nodes to be put in the place of one. */
export type Site =
  | { readonly dtype: FileDType; readonly value: GraphValue }
  | { readonly dtype: FileDType; readonly node: OnnxNode; readonly nodes: readonly NewNode[] };

/** A weight, as a float one. */
export interface FloatWeight {
  readonly graph: OnnxGraph;
  /** The name of its initializer: that of the weight in the model, within its graph. */
  readonly name: string;
  readonly dtype: ScaleDType;
  readonly shape: readonly number[];
  readonly codes: GraphValue;
  readonly sites: readonly Site[];
}

/** Finds what takes the codes of weights. */
export class SiteFinder {
  readonly values: GraphValues;
  readonly #notes: ReadonlyMap<string, OnnxWeightNote>;
  readonly #inputs = new Map<OnnxNode, GraphValue[]>();
  readonly #constants = new Map<string, GraphValue>();

  constructor(
    readonly model: Model,
    readonly onnx: OnnxModel,
  ) {
    this.values = new GraphValues(onnx);
    // New names are none of weights, which notes use.
    for (const name of model.tensors.keys()) this.values.names.add(name);
    this.#notes = readNotes(onnx);
    const keys = new Map(Array.from(onnx.tensors, ([key, tensor]) => [tensor, key]));
    const take = (value: GraphValue): void => {
      for (const { node } of value.uses) {
        const own = this.#inputs.get(node) ?? [];
        own.push(value);
        this.#inputs.set(node, own);
      }
    };
    for (const value of this.values.constants) {
      const key = value.tensor && keys.get(value.tensor as never);
      if (key !== undefined) this.#constants.set(key, value);
      if (value.producer === undefined) take(value);
    }
    for (const node of this.values.nodes)
      for (const value of this.values.resultsOf(node)) take(value);
  }

  /** The values of the model that a node takes; without inputs of graphs. */
  inputsOf(node: OnnxNode): readonly GraphValue[] {
    return this.#inputs.get(node) ?? [];
  }

  /** The keys of metadata about codes that are gone. */
  stale(weights: readonly FloatWeight[]): string[] {
    const codes = new Set(weights.map((weight) => weight.codes));
    const own = [...this.#constants].filter(([, value]) => codes.has(value));
    return own.map(([key]) => `${NOTE_PREFIX}${key}`);
  }

  /** A weight as a float one, or why it stays quantized. */
  find({ name: key, shape }: ModelTensor): FloatWeight | string {
    const parts = weightsOf(this.model).get(key)?.parts ?? {};
    const codes = this.#constants.get(parts.codes);
    if (this.onnx.irVersion < 4) return "quantized, in a model of an IR version below 4";
    if (codes === undefined) return "quantized in a function";
    if (codes.isGraphInput || codes.isGraphOutput) return "codes that callers see";
    const { graph } = codes;
    const prefix = graph === this.onnx.graph ? "" : `${graph.path}/`;
    const name = key.slice(prefix.length);
    if (!key.startsWith(prefix) || this.values.isShadowed(name))
      return "quantized under a name that others have";
    const note = this.#notes.get(parts.codes);
    const made = this.#resultIn(graph, name);
    const scale = this.onnx.tensors.get(parts.scale)?.dtype ?? "float32";
    const own = { graph, name, shape, codes };
    if (made !== undefined && made !== codes) {
      if (made.isGraphOutput || !this.#isConstant(made)) return "its values are computed otherwise";
      const dtype = dtypeOfValue(made, scale);
      return isFloat(dtype)
        ? { ...own, dtype, sites: [{ dtype, value: made }] }
        : `values of ${dtype}`;
    }
    const isFree = name === codes.name || !this.values.isDefined(name);
    if (!isFree) return "quantized under a name that others have";
    const sites: Site[] = [];
    for (const value of this.#reshaped(codes)) {
      for (const { node, input } of value.uses) {
        if (this.#isReshape(node)) continue;
        const site = this.#siteOf(node, input, name, shape, scale, note);
        if (typeof site === "string") return site;
        sites.push(site);
      }
    }
    const [first] = sites;
    if (first === undefined) return "codes that no node takes";
    if (sites.some(({ dtype }) => dtype !== first.dtype)) return "values of several dtypes";
    return isFloat(first.dtype)
      ? { ...own, dtype: first.dtype, sites }
      : `values of ${first.dtype}`;
  }

  /** The result of a node of a graph by its name. */
  #resultIn({ nodes }: OnnxGraph, name: string): GraphValue | undefined {
    const node = nodes.find(({ outputs }) => outputs.includes(name));
    return node && this.values.resultsOf(node).find((value) => value.name === name);
  }

  /** Whether a value depends on constants alone. */
  #isConstant({ tensor, producer }: GraphValue): boolean {
    if (tensor !== undefined) return true;
    if (producer === undefined) return false;
    const inputs = this.inputsOf(producer);
    const given = producer.inputs.filter((name) => name !== "").length;
    return inputs.length === given && inputs.every((value) => this.#isConstant(value));
  }

  #isReshape = (node: OnnxNode): boolean => isStandard(node, "Reshape");

  /** Codes, and what Reshape makes of them for operators. */
  #reshaped(codes: GraphValue): GraphValue[] {
    const reshapes = codes.uses.map(({ node }) => node).filter(this.#isReshape);
    return [codes, ...reshapes.flatMap((node) => this.values.resultsOf(node))];
  }

  #siteOf(
    node: OnnxNode,
    input: number,
    name: string,
    shape: readonly number[],
    scale: FileDType,
    note: OnnxWeightNote | undefined,
  ): Site | string {
    const { opType, domain, inputs, outputs } = node;
    const isMicrosoft = domain === MICROSOFT;
    const title = isMicrosoft ? `${MICROSOFT}.${opType}` : opType;
    const unknown = `quantized for ${title}, whose codes are kept`;
    const [output] = outputs;
    const add = (wanted: string, rest: Omit<NewNode, "name">): NewNode => ({
      name: this.values.newName(`${output}_${wanted}`),
      ...rest,
    });
    const at = (i: number): string => inputs[i] ?? "";
    const withBias = (bias: string, make: (to: string) => NewNode): NewNode[] => {
      if (bias === "") return [make(output)];
      const between = this.values.newName(`${output}_product`);
      const sum = { opType: "Add", inputs: [between, bias], outputs: [output] };
      return [make(between), add("Add", sum)];
    };
    const product = (x: string, w: string, bias: string): NewNode[] =>
      withBias(bias, (to) => add("MatMul", { opType: "MatMul", inputs: [x, w], outputs: [to] }));
    if (opType === "DequantizeLinear" && input === 0) {
      const [value] = this.values.resultsOf(node);
      if (value === undefined || value.isGraphOutput) return "an output of its graph";
      return { dtype: dtypeOfValue(value, scale), value };
    }
    if (isMicrosoft && opType === "MatMulNBits" && input === 1) {
      const [columns, rows] = [intOf(node, "K", 0), intOf(node, "N", 0)];
      const isRows = note?.isTransposed === false;
      const wanted = isRows ? [rows, columns] : [columns, rows];
      if (shape.join() !== wanted.join()) return unknown;
      const nodes = isRows ? this.#transpose(name, output) : [];
      const w = nodes[0]?.outputs[0] ?? name;
      return { dtype: scale, node, nodes: [...nodes, ...product(at(0), w, at(5))] };
    }
    if (isMicrosoft && opType === "GatherBlockQuantized" && input === 0) {
      const gather = {
        ...{ opType: "Gather", inputs: [name, at(1)], outputs: [output] },
        attributes: { axis: { int: intOf(node, "gather_axis", 0) } },
      };
      return { dtype: scale, node, nodes: [add("Gather", gather)] };
    }
    if (isStandard(node, "Gather") && input === 0 && intOf(node, "axis", 0) === 0) {
      const last = this.#endOfLookUp(node);
      if (last === undefined) return unknown;
      const [to] = last.outputs;
      const gather = { opType: "Gather", inputs: [name, at(1)], outputs: [to] };
      return { dtype: "float32", node: last, nodes: [add("Gather", gather)] };
    }
    if (isMicrosoft && opType === "DynamicQuantizeMatMul" && input === 1) {
      return { dtype: "float32", node, nodes: product(at(0), name, at(4)) };
    }
    if (isMicrosoft && opType === "MatMulIntegerToFloat" && input === 1) {
      const [x, ...nodes] = this.#floatInput(node, at(0), at(2), at(4));
      return { dtype: scale, node, nodes: [...nodes, ...product(x, name, at(6))] };
    }
    if (isStandard(node, "QLinearMatMul") && input === 3) {
      const [x, ...nodes] = this.#floatInput(node, at(0), at(1), at(2));
      const quantized = this.#quantized(node, at(6), at(7), (to) =>
        add("MatMul", { opType: "MatMul", inputs: [x, name], outputs: [to] }),
      );
      return { dtype: scale, node, nodes: [...nodes, ...quantized] };
    }
    if (isStandard(node, "QLinearConv") && input === 3) {
      const [x, ...nodes] = this.#floatInput(node, at(0), at(1), at(2));
      const bias = at(8) === "" ? [] : this.#floatBias(at(1), at(4), at(8));
      const given = [x, name, ...(bias.at(-1)?.outputs ?? [])];
      const quantized = this.#quantized(node, at(6), at(7), (to) =>
        add("Conv", { ...copied(node), opType: "Conv", inputs: given, outputs: [to] }),
      );
      return { dtype: scale, node, nodes: [...nodes, ...bias, ...quantized] };
    }
    const isInteger = isStandard(node, "MatMulInteger") || isStandard(node, "ConvInteger");
    if (isInteger && input === 1) return this.#integerSite(node, name) ?? unknown;
    if (isStandard(node, "Transpose")) {
      const [transposed] = this.values.resultsOf(node);
      const [use, ...more] = transposed?.uses ?? [];
      const isOne = more.length === 0 && use !== undefined && isStandard(use.node, "MatMulInteger");
      const [first] = isOne && use.input === 1 ? this.#transpose(name, output) : [];
      const site = first && this.#integerSite(use.node, first.outputs[0]);
      if (site === undefined || first === undefined || !("node" in site)) return unknown;
      return { ...site, nodes: [first, ...site.nodes] };
    }
    return unknown;
  }

  /** The transpose of a matrix. */
  #transpose(name: string, near: string): NewNode[] {
    const transposed = this.values.newName(`${near}_transposed`);
    return [
      {
        ...{ name: this.values.newName(`${near}_Transpose`), opType: "Transpose" },
        ...{ inputs: [name], outputs: [transposed], attributes: { perm: { ints: [1, 0] } } },
      },
    ];
  }

  /** The last node of Gather, Cast, Sub and Mul, which dequantize rows. */
  #endOfLookUp(gather: OnnxNode): OnnxNode | undefined {
    let node = gather;
    for (let steps = 0; steps < 3; steps++) {
      const [value] = this.values.resultsOf(node);
      const [use, ...more] = value?.uses ?? [];
      if (use === undefined || more.length > 0 || value.isGraphOutput) return undefined;
      node = use.node;
      if (isStandard(node, "Mul")) return node;
      if (!isStandard(node, "Cast") && !isStandard(node, "Sub")) return undefined;
    }
    return undefined;
  }

  /** The producer of an input of a node. */
  #producerOf(node: OnnxNode, name: string): OnnxNode | undefined {
    return this.inputsOf(node).find((value) => value.name === name)?.producer;
  }

  /** The float input that codes are of, and the nodes that make it. */
  #floatInput(
    node: OnnxNode,
    codes: string,
    scale: string,
    zeroPoint: string,
  ): [name: string, ...nodes: NewNode[]] {
    const producer = this.#producerOf(node, codes);
    if (producer !== undefined && isStandard(producer, "DynamicQuantizeLinear")) {
      return [producer.inputs[0]];
    }
    const made = this.values.newName(`${codes}_float`);
    return [
      made,
      {
        ...{ name: this.values.newName(`${codes}_DequantizeLinear`), opType: "DequantizeLinear" },
        inputs: zeroPoint === "" ? [codes, scale] : [codes, scale, zeroPoint],
        outputs: [made],
      },
    ];
  }

  /** A bias of int32 as floats: its scale is that of the input times that of the weight. */
  #floatBias(x: string, w: string, bias: string): NewNode[] {
    const [scale, made] = ["scale", "float"].map((part) => this.values.newName(`${bias}_${part}`));
    const name = (opType: string): string => this.values.newName(`${bias}_${opType}`);
    return [
      { name: name("Mul"), opType: "Mul", inputs: [x, w], outputs: [scale] },
      {
        ...{ name: name("DequantizeLinear"), opType: "DequantizeLinear" },
        ...{ inputs: [bias, scale], outputs: [made], attributes: { axis: { int: 0 } } },
      },
    ];
  }

  /** A node and QuantizeLinear behind it. */
  #quantized(
    { outputs: [output] }: OnnxNode,
    scale: string,
    zeroPoint: string,
    make: (to: string) => NewNode,
  ): NewNode[] {
    const made = this.values.newName(`${output}_float`);
    return [
      make(made),
      {
        ...{ name: this.values.newName(`${output}_QuantizeLinear`), opType: "QuantizeLinear" },
        inputs: zeroPoint === "" ? [made, scale] : [made, scale, zeroPoint],
        outputs: [output],
      },
    ];
  }

  /** The product of floats in the place of DynamicQuantizeLinear, a product of integers, Cast, and one or two Mul. */
  #integerSite(node: OnnxNode, weight: string): Site | undefined {
    const producer = this.#producerOf(node, node.inputs[0]);
    if (producer === undefined || !isStandard(producer, "DynamicQuantizeLinear")) return undefined;
    const [x] = producer.inputs;
    const [, inputScale] = producer.outputs;
    const factorsOf = (at: OnnxNode, name: string): string[] => {
      const made = this.#producerOf(at, name);
      return made !== undefined && isStandard(made, "Mul") ? [...made.inputs] : [name];
    };
    let last = node;
    const factors: string[] = [];
    for (let steps = 0; steps < 3 && factors.length < 2; steps++) {
      const [value] = this.values.resultsOf(last);
      const [use, ...more] = value?.uses ?? [];
      if (use === undefined || more.length > 0 || value.isGraphOutput) return undefined;
      last = use.node;
      if (isStandard(last, "Cast")) continue;
      if (!isStandard(last, "Mul")) return undefined;
      const other = last.inputs[use.input === 0 ? 1 : 0];
      factors.push(...factorsOf(last, other));
    }
    if (factors.length !== 2 || !factors.includes(inputScale)) return undefined;
    const isConv = isStandard(node, "ConvInteger");
    const [output] = last.outputs;
    const opType = isConv ? "Conv" : "MatMul";
    const product: NewNode = {
      ...{ name: this.values.newName(`${output}_${opType}`), opType },
      ...{ inputs: [x, weight], outputs: [output], ...(isConv ? copied(node) : {}) },
    };
    return { dtype: "float32", node: last, nodes: [product] };
  }
}

const NOTE_PREFIX = "zeropoint.weight.";

const isFloat = (dtype: FileDType): dtype is ScaleDType =>
  dtype === "float32" || dtype === "float16" || dtype === "bfloat16";

/** The dtype of the result of Cast or DequantizeLinear; float32 of other nodes. */
function dtypeOfValue({ producer }: GraphValue, scale: FileDType): FileDType {
  const { opType } = producer as OnnxNode;
  if (opType === "Cast") return dtypeOf(intOf(producer as OnnxNode, "to", 1)) ?? "float32";
  if (opType !== "DequantizeLinear") return "float32";
  const named = dtypeOf(intOf(producer as OnnxNode, "output_dtype", 0));
  return named ?? (scale === "float8_e8m0fnu" ? "float32" : scale);
}

/** The attributes of a node, for one of another operator. */
function copied({ attributes }: OnnxNode): Pick<NewNode, "attributes"> {
  const own = Array.from(attributes.values(), (each) => [each.name, attributeOf(each)] as const);
  return { attributes: Object.fromEntries(own) };
}

function attributeOf({ int, float, string, ints }: OnnxAttribute): NewAttribute {
  if (int !== undefined) return { int: Number(int) };
  if (float !== undefined) return { float };
  if (string !== undefined) return { string: new TextDecoder().decode(string) };
  return { ints: ints.map(Number) };
}
