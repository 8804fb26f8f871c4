// The axes of weights: which are summed over, which number the outputs, and which values share a scale by a scheme in a
// format. Everything that measures, plans, writes or compares weights asks here.

import { BLOCKS } from "../../base/block-types.js";
import { readJson } from "../../formats/json.js";
import type { InputAxes, OnnxWeight } from "../../formats/onnx/weights.js";
import { sizeOf } from "../../tensor/shape.js";
import { loadModule } from "../load-module.js";
import type { ModelDocument } from "../open/document.js";
import type { LinearScheme, Scheme } from "../scheme.js";
import { type ExpertStack, stacksOf } from "./experts.js";

/** A tensor as three axes. */
export type Axes3 = readonly [outer: number, middle: number, inner: number];

/** A weight in the order of the file, with the inputs of each output in the middle. */
export interface Outputs {
  /** Outputs, numbered along the outer and the inner axes: outer * inner. */
  readonly rows: number;
  /** Inputs of one output. */
  readonly rowLength: number;
  /** Number of outputs whose values are interleaved: 1 if the inputs of an output are neighbours. */
  readonly inner: number;
}

/** The values of a weight that share a scale. */
export interface Slices {
  /** The weight in the order of the file. */
  readonly axes: Axes3;
  /** Consecutive indices of the middle axis that share a scale; the last ones may be fewer. */
  readonly groupSize: number;
  /** Whether all outer and inner indices share it, too. */
  readonly isShared: boolean;
  /** Scales of the weight. */
  readonly count: number;
}

/** The axes first to last as the middle one. */
export function axesAround(shape: readonly number[], first: number, last: number): Axes3 {
  const part = (from: number, to: number): number => sizeOf(shape.slice(from, to));
  return [part(0, first), part(first, last + 1), part(last + 1, shape.length)];
}

function slicesOf(axes: Axes3, groupSize: number, isShared = false): Slices {
  const [outer, length, inner] = axes;
  const groups = Math.ceil(length / Math.max(1, groupSize));
  return { axes, groupSize, isShared, count: isShared ? groups : outer * groups * inner };
}

/** A weight's axes. */
export class WeightView {
  /** The first and the last axis of the inputs of an output. */
  readonly inputAxes: InputAxes;

  /**
   * @param inputAxes  as the format tells; undefined if only the shape does: all axes but the first one
   * @param channelAxis  the axis along which ONNX has the scales of a scheme per channel
   */
  constructor(
    readonly shape: readonly number[],
    inputAxes?: InputAxes,
    readonly channelAxis?: number,
  ) {
    this.isTold = inputAxes !== undefined;
    this.inputAxes = inputAxes ?? [1, shape.length - 1];
  }

  /** Whether the format tells the axes, more than the shape. */
  readonly isTold: boolean;

  /** The weight with its inputs in the middle. */
  get aroundInputs(): Axes3 {
    return axesAround(this.shape, ...this.inputAxes);
  }

  get outputs(): Outputs {
    const [outer, rowLength, inner] = this.aroundInputs;
    return { rows: outer * inner, rowLength, inner };
  }

  /** The axis of the outputs beside those of the inputs; 0 if only the shape tells, and for several axes. */
  get outputAxis(): number {
    const [first, last] = this.inputAxes;
    return this.isTold && first === 0 && last === this.shape.length - 2 ? last + 1 : 0;
  }

  /** Whether the outputs are columns: the first axis is one of inputs. */
  get hasColumns(): boolean {
    return this.inputAxes[0] === 0;
  }

  /** The axes that groups and blocks run along in a format: the inputs in ONNX, the last axis in the others. */
  groupAxes(format: string): Axes3 {
    const last = Math.max(0, this.shape.length - 1);
    return format === "onnx" && this.isTold
      ? this.aroundInputs
      : axesAround(this.shape, last, last);
  }

  /** Whether groups and blocks in a format are not of inputs. */
  isAcross(format: string): boolean {
    return this.outputs.inner > 1 && this.groupAxes(format)[2] === 1;
  }

  /** The slices of a scheme in a format. */
  slices(scheme: LinearScheme, format: string): Slices {
    const { shape, channelAxis } = this;
    if (scheme.granularity === "tensor") {
      const size = sizeOf(shape);
      return slicesOf([1, size, 1], size);
    }
    if (scheme.granularity === "group") {
      const axes = this.groupAxes(format);
      return slicesOf(axes, Math.min(axes[1], scheme.groupSize as number));
    }
    const axes = this.aroundInputs;
    if (format !== "onnx" || channelAxis === undefined) return slicesOf(axes, axes[1]);
    const channels = axesAround(shape, channelAxis, channelAxis);
    // Batches, directions and places of a kernel share the scales of their channels.
    if (channels[1] !== axes[0] * axes[2]) return slicesOf(channels, 1, true);
    return slicesOf(axes, axes[1]);
  }

  /** The scale of an output, of slices that are shared. */
  sharedSliceOf(row: number): number {
    const { shape, inputAxes, channelAxis = 0 } = this;
    const [first, last] = inputAxes;
    const behind = shape.filter((_, axis) => axis > channelAxis && (axis < first || axis > last));
    return Math.floor(row / sizeOf(behind)) % shape[channelAxis];
  }

  /** The shape of a scale for each output: length 1 in the axes of inputs. */
  get scaleShape(): number[] {
    const [first, last] = this.inputAxes;
    return this.shape.map((length, axis) => (axis >= first && axis <= last ? 1 : length));
  }
}

/** The view of a weight in an ONNX graph. */
export const viewOfOnnx = ({ tensor, orientation }: OnnxWeight): WeightView =>
  new WeightView(tensor.shape, orientation.inputAxes, orientation.channelAxis);

/** Values of a group or a block; undefined for schemes with neither. */
export const groupOf = (scheme: Scheme): number | undefined =>
  scheme.kind === "block"
    ? BLOCKS[scheme.name][0]
    : scheme.kind === "linear"
      ? scheme.groupSize
      : undefined;

/** The weights of a model. */
export interface WeightViews {
  of(tensor: { readonly name: string; readonly shape: readonly number[] }): WeightView;
  /** The reason why a tensor is no weight; undefined without one. */
  reasonOf(name: string): string | undefined;
  /** The weight in the graph of an ONNX model; undefined in other formats. */
  onnxWeightOf(name: string): OnnxWeight | undefined;
  /** How a stack of experts is cut; undefined for other tensors. */
  stackOf(name: string): ExpertStack | undefined;
}

/** Finds the axes of the weights of a model: of ONNX and TensorFlow.js by the operators or layers that use them. */
export async function viewsOf(where: string, document: ModelDocument): Promise<WeightViews> {
  if (document.format === "onnx") {
    const { findWeights } = await loadModule(where, import("../../formats/onnx/weights.js"));
    const { weights, reasons } = await findWeights(document.onnx);
    return {
      of({ name, shape }) {
        const weight = weights.get(name);
        return weight === undefined ? new WeightView(shape) : viewOfOnnx(weight);
      },
      reasonOf: (name) => reasons.get(name),
      onnxWeightOf: (name) => weights.get(name),
      stackOf: () => undefined,
    };
  }
  const tensors = document.format === "tfjs" ? document.tfjs.tensors : undefined;
  const config = document.format === "safetensors" ? await configOf(document) : undefined;
  const isConv1D = CONV1D_MODELS.includes(String(config?.model_type));
  const stacks = stacksOf(config, document.files);
  const inputAxesOf = (name: string): InputAxes | undefined => {
    if (isConv1D && CONV1D_WEIGHTS.test(name)) return [0, 0];
    return stacks.has(name) ? [2, 2] : tensors?.get(name)?.inputAxes;
  };
  return {
    of: ({ name, shape }) => new WeightView(shape, inputAxesOf(name)),
    reasonOf: () => undefined,
    onnxWeightOf: () => undefined,
    stackOf: (name) => stacks.get(name),
  };
}

/** Architectures whose layers are transformers' Conv1D: their weights are [inputs, outputs]. */
const CONV1D_MODELS = ["gpt2", "openai-gpt", "imagegpt", "decision_transformer"];

/** Names of these layers' weights. */
const CONV1D_WEIGHTS = /(^|\.)(c_attn|q_attn|c_proj|c_fc)\.weight$/;

/**
 * config.json beside a checkpoint.
 * @throws {RangeError} `ZP_INVALID_FILE` if that is no JSON
 */
async function configOf({
  readBeside,
}: ModelDocument): Promise<{ readonly model_type?: unknown } | undefined> {
  const bytes = await readBeside("config.json");
  return bytes && (Object(readJson("config.json", bytes)) as { readonly model_type?: unknown });
}
