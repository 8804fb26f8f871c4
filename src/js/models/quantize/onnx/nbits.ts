// Codes as MatMulNBits stores them: a row of blocks for each output, each block with a scale and a zero point.
// Source: onnxruntime 1.23, quantize_matmul_4bits and quantize_matmul_8bits.

import type { Core } from "../../../core/core.js";
import { dequantizeScaled } from "../../../formats/layouts/scaled.js";
import type { LinearScheme } from "../../scheme.js";
import { BitPacker } from "../../structure/bits.js";
import { checkFinite } from "../../weights/slabs.js";
import { type FileEncoder, groupCount, ownEncoder } from "../../weights/slices.js";
import { floatsOf, type Values } from "../../weights/values.js";
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
  values: Values,
  inputs: number,
  bits: 4 | 8,
  block: number,
  isAffine: boolean,
): PackedRows {
  const rows = values.length / inputs;
  const blocks = Math.ceil(inputs / block);
  const groups = { rows, columns: inputs, groupSize: Math.min(block, inputs) };
  const params = encoder.choose(values, groups);
  const codes = encoder.encode(values, groups, params);
  return {
    codes: packedRows(codes, inputs, blocks * block, bits),
    scales: params.scale,
    zeroPoints: isAffine
      ? packedRows(
          Uint8Array.from(params.zero),
          blocks,
          blocks + (bits === 4 ? blocks % 2 : 0),
          bits,
        )
      : undefined,
  };
}

/** Packs rows of codes, each followed by zeros up to a length. */
function packedRows(
  codes: Uint8Array | Int8Array,
  length: number,
  padded: number,
  bits: 4 | 8,
): Uint8Array {
  const packer = new BitPacker(bits);
  const zeros = new Uint8Array(padded - length);
  const step = zeros.length === 0 ? codes.length : length;
  for (let at = 0; at < codes.length; at += step) {
    packer.put(codes, at, at + step);
    packer.put(zeros, 0, zeros.length);
  }
  return packer.take();
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

/** Rounds half away from zero, and clamps to the codes [0, high]. */
const codeOf = (value: number, high: number): number =>
  value > 0 ? (value < high ? Math.floor(value + 0.5) : high) : 0;

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
  // Of codes, which are packed before the next ones are made.
  let memory = new Uint8Array(0);
  return {
    choose(given, groups) {
      const values = floatsOf(given);
      const { columns, groupSize } = groups;
      const scale = new Float32Array(groupCount(groups));
      const zero = new Int32Array(scale.length);
      let nothing = 0;
      for (let group = 0, begin = 0; group < scale.length; group++) {
        const end = Math.min(begin + groupSize, begin - (begin % columns) + columns);
        let min = 0;
        let max = 0;
        for (let i = begin; i < end; i++) {
          const value = values[i];
          if (value < min) min = value;
          if (value > max) max = value;
          nothing += value * 0;
        }
        const step = isAffine
          ? fround(fround(max - min) / high)
          : fround((Math.abs(max) > Math.abs(min) ? max : min) / -middle);
        scale[group] = step;
        zero[group] = !isAffine ? middle : step === 0 ? 0 : codeOf(fround((0 - min) / step), high);
        begin = end;
      }
      // NaN, if a value is not finite.
      if (nothing !== 0) checkFinite("", values, 0);
      return { scale, zero };
    },
    encode(given, { columns, groupSize }, { scale, zero }) {
      const values = floatsOf(given);
      if (memory.length < values.length) memory = new Uint8Array(values.length);
      const codes = memory.subarray(0, values.length);
      for (let group = 0, begin = 0; group < scale.length; group++) {
        const end = Math.min(begin + groupSize, begin - (begin % columns) + columns);
        const shift = zero[group];
        const reciprocal = scale[group] === 0 ? 0 : fround(1 / scale[group]);
        for (let i = begin; i < end; i++) {
          const value = fround(fround(values[i] * reciprocal) + shift);
          codes[i] = value > 0 ? (value < high ? value + 0.5 : high) : 0;
        }
        begin = end;
      }
      return codes;
    },
  };
}
