// Codes as MatMulNBits stores them: a row of blocks for each output, each block with a scale and a zero point.
// Source: onnxruntime 1.23, quantize_matmul_4bits and quantize_matmul_8bits.

import type { Core } from "../../../core/core.js";
import { dequantizeScaled } from "../../../formats/layouts/scaled.js";
import type { LinearScheme } from "../../scheme.js";
import { checkFinite } from "../../weights/slabs.js";
import { type FileEncoder, type Groups, groupCount, ownEncoder } from "../../weights/slices.js";
import { roundInPlace, type ScaleDType } from "../halves.js";

/** Rows of outputs, quantized and packed. */
export interface PackedRows {
  /** [rows, blocks, block * bits / 8]: two codes of 4 bits in a byte, the first one low; missing inputs are 0. */
  readonly codes: Uint8Array;
  /** [rows, blocks] */
  readonly scales: Float32Array;
  /** [rows, ceil(blocks * bits / 8)], packed like codes; undefined where all are 2^(bits - 1). */
  readonly zeroPoints: Uint8Array | undefined;
}

/** Quantizes rows of inputs. */
export function packRows(
  encoder: FileEncoder,
  values: Float32Array,
  inputs: number,
  bits: 4 | 8,
  block: number,
  isAffine: boolean,
): PackedRows {
  const rows = values.length / inputs;
  const blocks = Math.ceil(inputs / block);
  const codes = new Uint8Array((rows * blocks * block * bits) / 8);
  const zeroPoints = new Uint8Array(rows * Math.ceil((blocks * bits) / 8));
  const groups = { rows, columns: inputs, groupSize: Math.min(block, inputs) };
  const params = encoder.choose(values, groups);
  const own = encoder.encode(values, groups, params);
  const put = (out: Uint8Array, at: number, code: number): void => {
    if (bits === 8) out[at] = code;
    else out[at >> 1] |= code << (4 * (at & 1));
  };
  const zeroRow = (8 * Math.ceil((blocks * bits) / 8)) / bits;
  for (let row = 0, from = 0; row < rows; row++) {
    const start = row * blocks * block;
    for (let input = 0; input < inputs; input++) put(codes, start + input, own[from++]);
    for (let each = 0; each < blocks; each++) {
      put(zeroPoints, row * zeroRow + each, params.zero[row * blocks + each]);
    }
  }
  return { codes, scales: params.scale, zeroPoints: isAffine ? zeroPoints : undefined };
}

/**
 * The encoder of MatMulNBits: codes and zero points from 0 on.
 * @param rule  "ort": as ONNX Runtime's own tool, whose symmetric scales may be negative; "own": as `quantize`
 * @param dtype  of the scales in the file
 */
export function nbitsEncoder(
  core: Core,
  scheme: LinearScheme,
  bits: 4 | 8,
  rule: "ort" | "own",
  dtype: ScaleDType,
): FileEncoder {
  const encoder =
    rule === "ort" ? ortEncoder(bits, scheme.isAffine) : movedEncoder(core, scheme, bits);
  return {
    ...encoder,
    chooseLong: () => {
      throw new Error("blocks have at most 256 inputs");
    },
    restore: (codes, { rows, columns, groupSize }, { scale, zero }) =>
      dequantizeScaled({
        ...{ codes, shape: [rows, columns], axis: 1, blockSize: groupSize, valueDtype: dtype },
        ...{ scale: roundInPlace(scale.slice(), dtype), zeroPoint: zero },
      }),
  };
}

type BlockEncoder = Pick<FileEncoder, "choose" | "encode">;

/** Quantizes as `quantize` does, with the codes moved to start at 0. */
function movedEncoder(core: Core, scheme: LinearScheme, bits: 4 | 8): BlockEncoder {
  const own = ownEncoder(core, scheme);
  const offset = scheme.dtype.startsWith("u") ? 0 : 2 ** (bits - 1);
  return {
    choose(values, groups) {
      const { scale, zero } = own.choose(values, groups);
      return { scale, zero: Int32Array.from(zero, (each) => each + offset) };
    },
    encode(values, groups, { scale, zero }) {
      const params = { scale, zero: Int32Array.from(zero, (each) => each - offset) };
      return Uint8Array.from(own.encode(values, groups, params), (code) => code + offset);
    },
  };
}

const { fround } = Math;

/** Rounds half away from zero. */
const away = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);

/** The first and the end of the values of each group. */
function* rangesOf(groups: Groups): Generator<[begin: number, end: number, group: number]> {
  const { rows, columns, groupSize } = groups;
  for (let row = 0, group = 0; row < rows; row++) {
    for (let column = 0; column < columns; column += groupSize, group++) {
      const begin = row * columns + column;
      yield [begin, Math.min(begin + groupSize, (row + 1) * columns), group];
    }
  }
}

/**
 * Quantizes in float32, one operation at a time:
 *
 *     symmetric   scale = (|max| > |min| ? max : min) / -2^(bits - 1), zero point 2^(bits - 1)
 *     affine      scale = (max - min) / (2^bits - 1), zero point clamp(away((0 - min) / scale)), 0 if the scale is 0
 *     code        clamp(away(x * (1 / scale) + zero point), 0, 2^bits - 1)
 *
 * with min(x, 0) and max(x, 0) of each block.
 */
function ortEncoder(bits: 4 | 8, isAffine: boolean): BlockEncoder {
  const high = 2 ** bits - 1;
  const middle = 2 ** (bits - 1);
  const clamp = (value: number): number => Math.min(high, Math.max(0, value));
  return {
    choose(values, groups) {
      checkFinite("", values, 0);
      const scale = new Float32Array(groupCount(groups));
      const zero = new Int32Array(scale.length);
      for (const [begin, end, group] of rangesOf(groups)) {
        let min = 0;
        let max = 0;
        for (let i = begin; i < end; i++) {
          if (values[i] < min) min = values[i];
          if (values[i] > max) max = values[i];
        }
        const step = isAffine
          ? fround(fround(max - min) / high)
          : fround((Math.abs(max) > Math.abs(min) ? max : min) / -middle);
        scale[group] = step;
        zero[group] = !isAffine ? middle : step === 0 ? 0 : clamp(away(fround((0 - min) / step)));
      }
      return { scale, zero };
    },
    encode(values, groups, { scale, zero }) {
      const codes = new Uint8Array(values.length);
      for (const [begin, end, group] of rangesOf(groups)) {
        const shift = zero[group];
        const reciprocal = scale[group] === 0 ? 0 : fround(1 / scale[group]);
        for (let i = begin; i < end; i++) {
          codes[i] = clamp(away(fround(fround(values[i] * reciprocal) + shift)));
        }
      }
      return codes;
    },
  };
}
