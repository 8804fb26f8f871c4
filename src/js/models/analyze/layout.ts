// A weight as rows: one row of inputs for each output.

import { BLOCKS } from "../../base/block-types.js";
import type { InputAxes } from "../../formats/onnx/weights.js";
import { sizeOf } from "../../tensor/shape.js";
import type { Scheme } from "../scheme.js";

/** How a tensor's values form rows. */
export interface RowLayout {
  /** Outputs. */
  readonly rows: number;
  /** Inputs of one output. */
  readonly rowLength: number;
  /** Consecutive values whose end groups and blocks do not cross. */
  readonly runLength: number;
  /**
   * Number of outputs whose values are interleaved: 1 if a row is contiguous. Values are in the file as
   * [rows / inner, rowLength, inner].
   */
  readonly inner: number;
  /** Whether a run is of outputs, of which `inner` is a multiple; else it is of inputs, and divides the row. */
  readonly isAcross: boolean;
}

/**
 * The rows of a tensor. Without axes, the first one numbers the outputs.
 * @param axes  of the inputs, where the format says more than the shape
 * @param isAlongInputs  whether groups run along these axes, as in ONNX; else they run along the last axis of the tensor
 */
export function layoutOf(
  shape: readonly number[],
  axes: InputAxes | undefined,
  isAlongInputs: boolean,
): RowLayout {
  const [first, last] = axes ?? [Math.min(1, shape.length - 1), shape.length - 1];
  const inner = sizeOf(shape.slice(last + 1));
  const rowLength = sizeOf(shape.slice(first, last + 1));
  const isRow = axes !== undefined && isAlongInputs;
  return {
    rows: sizeOf(shape.slice(0, first)) * inner,
    rowLength,
    runLength: isRow ? rowLength : (shape.at(-1) ?? 1),
    inner,
    isAcross: !isRow && inner > 1,
  };
}

/** The axis of the outputs beside those of the inputs; 0 if only the shape decides, and for several axes. */
export function outputAxisOf(shape: readonly number[], axes: InputAxes | undefined): number {
  if (axes === undefined) return 0;
  const [first, last] = axes;
  return first === 0 && last === shape.length - 2 ? last + 1 : 0;
}

/** Rows of a weight whose outputs share a scale with those of other batches, directions or places of a kernel. */
export interface SharedChannels {
  /** Scales of the weight. */
  readonly count: number;
  /** The scale of a row. */
  channelOf(row: number): number;
}

/**
 * The scales of a weight per index of one axis, as ONNX has them.
 * @returns undefined if each row has its own
 */
export function sharedChannelsOf(
  shape: readonly number[],
  [first, last]: InputAxes,
  channelAxis: number,
): SharedChannels | undefined {
  const isInput = (axis: number): boolean => axis >= first && axis <= last;
  const lengths = (from: number): number[] =>
    shape.slice(from).filter((_, i) => !isInput(from + i));
  const count = shape[channelAxis];
  const step = sizeOf(lengths(channelAxis + 1));
  if (sizeOf(lengths(0)) === count) return undefined;
  return { count, channelOf: (row) => Math.floor(row / step) % count };
}

/** Values of a group or a block; undefined for schemes with neither. */
const groupOf = (scheme: Scheme): number | undefined =>
  scheme.kind === "block"
    ? BLOCKS[scheme.name][0]
    : scheme.kind === "linear"
      ? scheme.groupSize
      : undefined;

/** Whether a scheme's groups or blocks are of outputs. */
export const isAcross = (scheme: Scheme, layout: RowLayout): boolean =>
  layout.isAcross && groupOf(scheme) !== undefined;

/** The number of neighbouring rows that whole groups or blocks of a scheme are in. */
export function rowsOfGroups(scheme: Scheme, { rows, runLength, isAcross }: RowLayout): number {
  const group = isAcross ? Math.min(groupOf(scheme) ?? 1, runLength) : 1;
  // Groups that do not divide their run end with it.
  return runLength % group === 0 || runLength === rows ? group : runLength;
}

/** The number of rows that tiles are multiples of, so that they have whole groups and blocks of all schemes. */
export const stepOf = (schemes: readonly Scheme[], layout: RowLayout): number =>
  schemes
    .map((scheme) => rowsOfGroups(scheme, layout))
    .reduce((step, rows) => Math.min(leastCommonMultiple(step, rows), layout.runLength), 1);

function leastCommonMultiple(a: number, b: number): number {
  let [divisor, rest] = [a, b];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
}
