// Codes as MatMulNBits stores them: a row of blocks for each output, each block with a scale and a zero point.
// Source: onnxruntime 1.23, quantize_matmul_4bits and quantize_matmul_8bits.

import { rangeError } from "../../../base/errors.js";
import type { Core } from "../../../core/core.js";
import type { LinearScheme } from "../../scheme.js";
import { arraysOf, quantizeAs } from "./codes.js";

/** Rows of outputs, quantized and packed. */
export interface PackedRows {
  /** [rows, blocks, block * bits / 8]: two codes of 4 bits in a byte, the first one low; missing inputs are 0. */
  readonly codes: Uint8Array;
  /** [rows, blocks] */
  readonly scales: Float32Array;
  /** [rows, ceil(blocks * bits / 8)], packed like codes; undefined where all are 2^(bits - 1). */
  readonly zeroPoints: Uint8Array | undefined;
}

/**
 * Quantizes rows of inputs.
 * @param rule  "ort": as ONNX Runtime's own tool, whose symmetric scales may be negative; "own": as `quantize`
 */
export function packRows(
  core: Core,
  values: Float32Array,
  inputs: number,
  bits: 4 | 8,
  block: number,
  scheme: LinearScheme,
  rule: "ort" | "own",
): PackedRows {
  const rows = values.length / inputs;
  const blocks = Math.ceil(inputs / block);
  const codes = new Uint8Array((rows * blocks * block * bits) / 8);
  const zeroPoints = new Uint8Array(rows * Math.ceil((blocks * bits) / 8));
  const { isAffine } = scheme;
  const made =
    rule === "ort"
      ? quantizeAsOrt(values, inputs, bits, block, isAffine)
      : quantizeAsOwn(core, values, inputs, bits, block, scheme);
  const put = (out: Uint8Array, at: number, code: number): void => {
    if (bits === 8) out[at] = code;
    else out[at >> 1] |= code << (4 * (at & 1));
  };
  const zeroRow = (8 * Math.ceil((blocks * bits) / 8)) / bits;
  for (let row = 0, from = 0; row < rows; row++) {
    const start = row * blocks * block;
    for (let input = 0; input < inputs; input++) put(codes, start + input, made.codes[from++]);
    for (let each = 0; each < blocks; each++) {
      put(zeroPoints, row * zeroRow + each, made.zeroPoints[row * blocks + each]);
    }
  }
  return { codes, scales: made.scales, zeroPoints: isAffine ? zeroPoints : undefined };
}

interface Unpacked {
  /** [rows, inputs], from 0 on */
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
  readonly zeroPoints: Uint8Array;
}

/** Quantizes as `quantize` does, with the codes moved to start at 0. */
function quantizeAsOwn(
  core: Core,
  values: Float32Array,
  inputs: number,
  bits: 4 | 8,
  block: number,
  scheme: LinearScheme,
): Unpacked {
  const shape = [values.length / inputs, inputs];
  const { codes, scales, zeroPoints } = arraysOf(
    quantizeAs(scheme, values, shape, { groupSize: Math.min(block, inputs) }, core),
  );
  const offset = codes instanceof Int8Array ? 2 ** (bits - 1) : 0;
  return {
    codes: Uint8Array.from(codes, (code) => code + offset),
    scales: scales as Float32Array,
    zeroPoints: Uint8Array.from(zeroPoints, (zero) => zero + offset),
  };
}

const { fround } = Math;

/** Rounds half away from zero. */
const away = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);

/**
 * Quantizes in float32, one operation at a time:
 *
 *     symmetric   scale = (|max| > |min| ? max : min) / -2^(bits - 1), zero point 2^(bits - 1)
 *     affine      scale = (max - min) / (2^bits - 1), zero point clamp(away((0 - min) / scale)), 0 if the scale is 0
 *     code        clamp(away(x * (1 / scale) + zero point), 0, 2^bits - 1)
 *
 * with min(x, 0) and max(x, 0) of each block.
 */
function quantizeAsOrt(
  values: Float32Array,
  inputs: number,
  bits: 4 | 8,
  block: number,
  isAffine: boolean,
): Unpacked {
  const rows = values.length / inputs;
  const blocks = Math.ceil(inputs / block);
  const high = 2 ** bits - 1;
  const middle = 2 ** (bits - 1);
  const codes = new Uint8Array(values.length);
  const scales = new Float32Array(rows * blocks);
  const zeroPoints = new Uint8Array(rows * blocks);
  for (let slice = 0; slice < rows * blocks; slice++) {
    const begin = Math.floor(slice / blocks) * inputs + (slice % blocks) * block;
    const end = Math.min(begin + block, (Math.floor(slice / blocks) + 1) * inputs);
    let min = 0;
    let max = 0;
    for (let i = begin; i < end; i++) {
      if (!Number.isFinite(values[i])) {
        const problem = `the weight must be finite, got ${values[i]}`;
        throw rangeError("ZP_NON_FINITE", "quantizeModel", problem);
      }
      if (values[i] < min) min = values[i];
      if (values[i] > max) max = values[i];
    }
    const scale = isAffine
      ? fround(fround(max - min) / high)
      : fround((Math.abs(max) > Math.abs(min) ? max : min) / -middle);
    const clamp = (value: number): number => Math.min(high, Math.max(0, value));
    const zero = !isAffine ? middle : scale === 0 ? 0 : clamp(away(fround((0 - min) / scale)));
    const reciprocal = scale === 0 ? 0 : fround(1 / scale);
    for (let i = begin; i < end; i++) {
      codes[i] = clamp(away(fround(fround(values[i] * reciprocal) + zero)));
    }
    scales[slice] = scale;
    zeroPoints[slice] = zero;
  }
  return { codes, scales, zeroPoints };
}
