// Weights of bitsandbytes: NF4 and FP4 by a table of 16 values with a scale for each block, and int8 with a scale for each row.
// Source: bitsandbytes 0.46, QuantState, dequantize_4bit and int8_vectorwise_dequant.

import { fieldOf, recordOf } from "../../../base/fields.js";
import { decodeValues } from "../../dtypes.js";
import { readJson } from "../../json.js";
import {
  misfit,
  roundTo,
  type StoredPart,
  type StoredParts,
  type TensorInfo,
  type ValueDType,
} from "../unpack.js";
import { floats, sizeOf, textOf } from "./parts.js";

/** What a quant_state says of a weight. */
export interface BlockState {
  readonly type: "nf4" | "fp4";
  readonly shape: readonly number[];
  readonly blockSize: number;
  readonly valueDtype: ValueDType;
  /** Of quantized scales: the scales that share one, and what is added to each. */
  readonly nested: { readonly blockSize: number; readonly offset: number } | undefined;
}

/** Names of the parts of a weight of 4 bits, after its own name. */
const PARTS = {
  absmax: ".absmax",
  map: ".quant_map",
  nestedAbsmax: ".nested_absmax",
  nestedMap: ".nested_quant_map",
} as const;

const STATE = /\.quant_state\.bitsandbytes__(nf4|fp4)$/;

/** The tensors of a weight, by their role. */
export interface BlockWeight {
  readonly name: string;
  readonly parts: Readonly<Record<string, string>>;
}

/** Finds weights of 4 bits by the names of their states. */
export function findBlockWeights(tensors: ReadonlyMap<string, TensorInfo>): BlockWeight[] {
  const found: BlockWeight[] = [];
  for (const state of tensors.keys()) {
    const name = STATE.test(state) ? state.replace(STATE, "") : undefined;
    if (name === undefined || !tensors.has(name)) continue;
    const present = Object.entries(PARTS).filter(([, ending]) => tensors.has(name + ending));
    const others = present.map(([role, ending]) => [role, name + ending] as const);
    found.push({ name, parts: recordOf([["codes", name], ...others, ["state", state]]) });
  }
  return found;
}

/** dtypes that bytes of codes may be stored as. */
const STORAGE = ["uint8", "int8", "float16", "bfloat16", "float32", "float64"];

/**
 * The state of a weight whose tensors fit it.
 * @param info  shape and dtype of each part, by its role
 * @param text  the state's JSON
 * @returns undefined if there is a part too many, one missing, or one of another form
 */
export function blockStateOf(
  info: Readonly<Record<string, TensorInfo & { readonly byteLength: number }>>,
  text: Uint8Array,
): BlockState | undefined {
  const given = objectIn(text);
  const { quant_type: type, shape, blocksize: blockSize, dtype: valueDtype } = given;
  const isLength = (length: unknown): length is number =>
    Number.isSafeInteger(length) && (length as number) > 0;
  if ((type !== "nf4" && type !== "fp4") || !isLength(blockSize) || blockSize % 2 !== 0)
    return undefined;
  if (!Array.isArray(shape) || shape.length === 0 || !shape.every(isLength)) return undefined;
  if (valueDtype !== "float32" && valueDtype !== "float16" && valueDtype !== "bfloat16")
    return undefined;
  const count = sizeOf(shape);
  if (!Number.isSafeInteger(count)) return undefined;
  const blocks = Math.ceil(count / blockSize);
  const { codes, absmax, map, nestedAbsmax, nestedMap } = info;
  const is = (part: TensorInfo | undefined, dtype: string, length: number): boolean =>
    part?.dtype === dtype && part.shape.length === 1 && part.shape[0] === length;
  if (!STORAGE.includes(codes.dtype) || !is(map, "float32", 16)) return undefined;
  const width = codes.byteLength / Math.max(1, sizeOf(codes.shape));
  if (codes.byteLength !== width * Math.ceil(Math.ceil(count / 2) / width)) return undefined;
  const state = { type, shape: shape as number[], blockSize, valueDtype } as const;
  const { nested_blocksize: nestedSize, nested_offset: offset, nested_dtype: nestedDtype } = given;
  if (nestedSize === undefined && nestedAbsmax === undefined && nestedMap === undefined) {
    return is(absmax, "float32", blocks) ? { ...state, nested: undefined } : undefined;
  }
  const isNested =
    isLength(nestedSize) &&
    typeof offset === "number" &&
    (nestedDtype === undefined || nestedDtype === "float32") &&
    is(absmax, "uint8", blocks) &&
    is(nestedMap, "float32", 256) &&
    is(nestedAbsmax, "float32", Math.ceil(blocks / (nestedSize as number)));
  return isNested ? { ...state, nested: { blockSize: nestedSize as number, offset } } : undefined;
}

function objectIn(text: Uint8Array): Record<string, unknown> {
  try {
    // The text is padded with zeros by some writers.
    const end = text.indexOf(0);
    return Object(readJson("quant_state", end < 0 ? text : text.subarray(0, end))) as Record<
      string,
      unknown
    >;
  } catch {
    return {};
  }
}

/** Bytes [begin, end) of each part that values [first, last) need; first is the first value of a block. */
export function blockRanges(
  { blockSize, nested }: BlockState,
  first: number,
  last: number,
): Readonly<Record<"codes" | "absmax" | "nestedAbsmax", readonly [number, number]>> {
  const blocks = [first / blockSize, Math.ceil(last / blockSize)];
  const groups = nested
    ? [Math.floor(blocks[0] / nested.blockSize), Math.ceil(blocks[1] / nested.blockSize)]
    : [0, 0];
  const width = nested ? 1 : 4;
  return {
    codes: [first / 2, Math.ceil(last / 2)],
    absmax: [width * blocks[0], width * blocks[1]],
    nestedAbsmax: [4 * groups[0], 4 * groups[1]],
  };
}

/** Values of a weight, from the bytes that `blockRanges` names. */
export function blockValues(
  { blockSize, valueDtype, nested }: BlockState,
  bytes: Readonly<Record<"codes" | "absmax" | "map" | "nestedAbsmax" | "nestedMap", Uint8Array>>,
  first: number,
  out: Float32Array,
): Float32Array {
  const float = (of: Uint8Array): Float32Array =>
    decodeValues("float32", of, new Float32Array(of.length / 4));
  const table = float(bytes.map);
  const begin = first / blockSize;
  let scales: Float32Array;
  if (nested === undefined) scales = float(bytes.absmax);
  else {
    const nestedTable = float(bytes.nestedMap);
    const nestedScales = float(bytes.nestedAbsmax);
    const group = Math.floor(begin / nested.blockSize);
    const offset = Math.fround(nested.offset);
    scales = Float32Array.from(bytes.absmax, (code, i) => {
      const at = Math.floor((begin + i) / nested.blockSize) - group;
      return Math.fround(nestedTable[code] * nestedScales[at]) + offset;
    });
  }
  for (let i = 0; i < out.length; i++) {
    const byte = bytes.codes[i >> 1];
    // The first of two codes is in the high bits.
    const code = i % 2 === 0 ? byte >> 4 : byte & 15;
    out[i] = roundTo(valueDtype, table[code] * scales[Math.floor(i / blockSize)]);
  }
  return out;
}

/** Whether the tensors of a weight of int8 fit each other: codes, a scale for each row, and the order of rows, if given. */
export function isRowsOfBytes({
  codes,
  scale,
  order,
}: Readonly<Record<string, TensorInfo>>): boolean {
  const { dtype, shape } = scale;
  const isOrder = order === undefined || (order.dtype === "uint8" && sizeOf(order.shape) === 1);
  return dtype === "float32" && shape.length === 1 && shape[0] === codes.shape[0] && isOrder;
}

/** The values of int8 codes with a scale for each row, of 127 steps. */
export function rowValues(parts: StoredParts, out?: Float32Array): Float32Array {
  const { codes, scale } = parts;
  const order = fieldOf(parts, "order");
  if (order !== undefined && order.bytes[0] !== 0)
    throw misfit(order, "0, the order of rows", order.bytes[0]);
  const [rows, columns] = codes.shape;
  if (sizeOf(scale.shape) !== rows) throw misfit(scale, `${rows} scales`, textOf(scale.shape));
  const scales = floats(scale as StoredPart);
  const values = decodeValues("int8", codes.bytes, out ?? new Float32Array(rows * columns));
  for (let row = 0, i = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, i++) {
      values[i] = Math.fround(values[i] * scales[row]) * STEP;
    }
  }
  return values;
}

/** 1 / 127 as bitsandbytes writes it. */
const STEP = /* @__PURE__ */ Math.fround(7.874015718698502e-3);
