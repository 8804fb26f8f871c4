// The layers or the graph in a model.json of TensorFlow.js, and the axes over which they sum their weights.
// Source: the weights of Keras' layers by class and name; TensorFlow's operators.

import type { InputAxes } from "./onnx/weights.js";

type Fields = Readonly<Record<string, unknown>>;

/** The axes of the inputs of a weight by its number of axes; undefined if its layer or operator is not known. */
type AxesOfWeight = (name: string, rank: number) => InputAxes | undefined;

/** Layers whose kernels have outputs in their last axis, and inputs in all others. */
const OUTPUTS_LAST = /^(Dense|(Separable)?Conv\dD|ConvLSTM\dD|(SimpleRNN|LSTM|GRU)(Cell)?)$/;

const MATRIX_PRODUCT = /^((_Fused)?MatMul|BatchMatMul(V\d)?)$/;
const CONVOLUTION = /^(_Fused)?Conv[23]D$/;
const DEPTHWISE = /^(Fused)?DepthwiseConv2d(Native)?$/;
const TRANSPOSED_CONVOLUTION = /^Conv[23]DBackpropInput(V2)?$/;

/** Axes of a tensor, if it has them. */
const span = (first: number, last: number): InputAxes | undefined =>
  first < 0 || last < first ? undefined : [first, last];

const fieldsOf = (value: unknown): Fields => Object(value) as Fields;

/** Finds the axes of weights. @param topology  `modelTopology`: any JSON, at most 128 values deep */
export function axesIn(topology: unknown): AxesOfWeight {
  const { node } = fieldsOf(topology);
  return Array.isArray(node) ? axesInGraph(node) : axesInLayers(topology);
}

function axesInLayers(topology: unknown): AxesOfWeight {
  /** Classes by name; empty for a name of several classes. */
  const classes = new Map<string, string>();
  /** Adds the layers in a value. @returns the class of a layer; of a wrapper, such as Bidirectional, that of its layer */
  const add = (value: unknown): unknown => {
    const { class_name, config } = fieldsOf(value);
    let wrapped: unknown;
    for (const [key, each] of Object.entries(fieldsOf(value))) {
      const inner = typeof each === "object" ? add(each) : undefined;
      if (key === "config" || key === "layer") wrapped ??= inner;
    }
    const type = wrapped ?? class_name;
    const { name } = fieldsOf(config);
    if (typeof name === "string" && typeof type === "string") {
      classes.set(name, (classes.get(name) ?? type) === type ? type : "");
    }
    return type;
  };
  add(topology);
  return (name, rank) => {
    const path = name.split("/").reverse();
    // The second weight of a name has a number behind it.
    const weight = path[0].replace(/(_\d+)?(:0)?$/, "");
    const type = classes.get(path.find((each) => classes.has(each)) ?? "") ?? "";
    const isKernel = weight === "kernel";
    if (weight === "depthwise_kernel" || (isKernel && /^DepthwiseConv/.test(type))) {
      return span(0, rank - 3);
    }
    if (isKernel && /^Conv\dDTranspose$/.test(type)) return span(rank - 1, rank - 1);
    const isLast = /^((recurrent|pointwise)_)?kernel$/.test(weight) && OUTPUTS_LAST.test(type);
    return isLast ? span(0, rank - 2) : undefined;
  };
}

function axesInGraph(nodes: readonly unknown[]): AxesOfWeight {
  /** The first use of each value as an operator's left or right input; through Identity, by the value's own name. */
  const uses = new Map<string, { readonly node: Fields; readonly input: number }>();
  for (const each of nodes) {
    const node = fieldsOf(each);
    const inputs = Array.isArray(node.input) ? node.input.slice(0, 2) : [];
    for (const [input, value] of inputs.entries()) {
      const name = String(value).replace(/:0$/, "");
      if (!uses.has(name)) uses.set(name, { node, input });
    }
  }
  return (name, rank) => {
    let use = uses.get(name);
    for (let i = 0; use?.node.op === "Identity" && i < 8; i++) use = uses.get(`${use.node.name}`);
    const { op, attr } = fieldsOf(use?.node);
    const isRight = use?.input === 1;
    const type = String(op);
    if (MATRIX_PRODUCT.test(type) && rank > 1) {
      const names = isRight ? ["transpose_b", "adj_y"] : ["transpose_a", "adj_x"];
      const isTransposed = names.some((each) => fieldsOf(fieldsOf(attr)[each]).b === true);
      const axis = isRight === isTransposed ? rank - 1 : rank - 2;
      return span(axis, axis);
    }
    if (!isRight) return undefined;
    if (CONVOLUTION.test(type)) return span(0, rank - 2);
    if (DEPTHWISE.test(type)) return span(0, rank - 3);
    return TRANSPOSED_CONVOLUTION.test(type) ? span(rank - 1, rank - 1) : undefined;
  };
}
