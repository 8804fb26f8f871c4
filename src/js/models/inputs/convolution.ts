// The inputs of a convolution's weight: the patches of values that it is multiplied with.
// Source: onnx 1.20, Conv.

import { rangeError } from "../../base/errors.js";
import { showShape } from "../../base/format-value.js";
import type { OnnxNode } from "../../formats/onnx/graph.js";

/** How a convolution moves over its input. Lists have an entry for each axis behind batch and channels. */
export interface Convolution {
  readonly group: number;
  /** Channels of the weight: of one group. */
  readonly channels: number;
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** Zeros before and behind each axis. */
  readonly pads: readonly number[];
  readonly autoPad: string;
}

/** Values of patches that are made at a time, at least one patch. */
const PIECE_VALUES = 2 ** 18;

/** Reads a Conv. @param shape  of its weight: outputs, channels, kernel */
export function convolutionOf(node: OnnxNode, shape: readonly number[]): Convolution {
  const [, channels, ...kernel] = shape;
  const listOf = (name: string, length: number, otherwise: number): number[] => {
    const given = node.attributes.get(name)?.ints ?? [];
    return given.length === length ? given.map(Number) : new Array(length).fill(otherwise);
  };
  const axes = kernel.length;
  return {
    group: Number(node.attributes.get("group")?.int ?? 1),
    ...{ channels, kernel },
    strides: listOf("strides", axes, 1),
    dilations: listOf("dilations", axes, 1),
    pads: listOf("pads", 2 * axes, 0),
    autoPad: new TextDecoder().decode(node.attributes.get("auto_pad")?.string),
  };
}

/** The first index of the padded input along an axis, and the number of positions of the kernel. */
function placesOf(conv: Convolution, axis: number, length: number): readonly [number, number] {
  const { kernel, strides, dilations, pads, autoPad } = conv;
  const stride = strides[axis];
  const extent = (kernel[axis] - 1) * dilations[axis] + 1;
  if (autoPad.startsWith("SAME")) {
    const count = Math.ceil(length / stride);
    const zeros = Math.max(0, (count - 1) * stride + extent - length);
    return [autoPad === "SAME_LOWER" ? -Math.ceil(zeros / 2) : -Math.floor(zeros / 2), count];
  }
  const isPadded = autoPad !== "VALID";
  const before = isPadded ? pads[axis] : 0;
  const after = isPadded ? pads[axis + kernel.length] : 0;
  return [-before, Math.floor((length + before + after - extent) / stride) + 1];
}

/**
 * The patches of an input, row by row: for each batch, position and group, the values of all channels of the group under the
 * kernel, in the order of the weight's inputs. Patches of one array are valid until the next one is requested.
 * @throws {RangeError} `ZP_SHAPE_MISMATCH` if the input is not [batch, channels, ...] for this weight
 */
export function* patchesOf(
  where: string,
  conv: Convolution,
  dims: readonly number[],
  data: ArrayLike<number>,
): Generator<Float32Array, void, undefined> {
  const { group, channels, kernel, strides, dilations } = conv;
  const [batches, all, ...lengths] = dims;
  const size = dims.reduce((product, length) => product * length, 1);
  if (lengths.length !== kernel.length || all !== channels * group || data.length !== size) {
    const problem = `the input of a convolution must be [batch, ${channels * group}, ...] with ${kernel.length} axes behind, got ${showShape(dims)}`;
    throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
  }
  const places = lengths.map((length, axis) => placesOf(conv, axis, length));
  const counts = places.map(([, count]) => Math.max(0, count));
  const taps = kernel.reduce((product, length) => product * length, 1);
  const positions = counts.reduce((product, count) => product * count, 1);
  const area = lengths.reduce((product, length) => product * length, 1);
  const length = channels * taps;
  const most = Math.max(1, Math.floor(PIECE_VALUES / length));
  const piece = new Float32Array(most * length);
  let rows = 0;
  /** Offsets in a channel of the values under the kernel at a position; -1 outside. */
  const offsets = new Int32Array(taps);
  for (let position = 0; position < positions; position++) {
    const starts: number[] = [];
    for (let axis = counts.length - 1, rest = position; axis >= 0; axis--) {
      starts[axis] = places[axis][0] + (rest % counts[axis]) * strides[axis];
      rest = Math.floor(rest / counts[axis]);
    }
    for (let tap = 0; tap < taps; tap++) {
      let [offset, scale] = [0, 1];
      for (let axis = kernel.length - 1, rest = tap; axis >= 0; axis--) {
        const at = starts[axis] + (rest % kernel[axis]) * dilations[axis];
        rest = Math.floor(rest / kernel[axis]);
        if (at < 0 || at >= lengths[axis]) offset = Number.NEGATIVE_INFINITY;
        offset += at * scale;
        scale *= lengths[axis];
      }
      offsets[tap] = offset >= 0 ? offset : -1;
    }
    for (let each = 0; each < batches * group; each++) {
      const first = each * channels * area;
      let out = rows * length;
      for (let channel = 0; channel < channels; channel++) {
        const begin = first + channel * area;
        for (let tap = 0; tap < taps; tap++) {
          const offset = offsets[tap];
          piece[out++] = offset < 0 ? 0 : data[begin + offset];
        }
      }
      if (++rows < most) continue;
      yield piece;
      rows = 0;
    }
  }
  if (rows > 0) yield piece.subarray(0, rows * length);
}
