// The one place where this module calls the core: float32 tensors in, tensors out.

import { activeCore } from "../core/init.js";
import { measure } from "../quantize/metrics.js";
import type { NumberStorage } from "./tensor/dtype.js";

/** The arrays of the integer dtypes whose codes the core computes. */
const CODE_ARRAYS = {
  int8: "Int8Array",
  uint8: "Uint8Array",
  int16: "Int16Array",
  uint16: "Uint16Array",
  int32: "Int32Array",
} as const;

/** An integer dtype whose codes the core computes. */
export type CoreDType = keyof typeof CODE_ARRAYS;

/** Whether a dtype is one of these. */
export function isCoreDType(name: string): name is CoreDType {
  return Object.hasOwn(CODE_ARRAYS, name);
}

/** Row-major values and their shape. */
export interface Values<Storage extends NumberStorage = Float32Array> {
  readonly values: Storage;
  readonly shape: readonly number[];
}

const FLOAT_BYTES = 4;

/** @returns the sum in PyTorch's order */
export function sum(where: string, values: Float32Array): number {
  return withValues(where, values, (module, offset) => module.sum(offset, values.length));
}

/** @returns the mean in PyTorch's order; NaN for no values */
export function mean(where: string, values: Float32Array): number {
  return withValues(where, values, (module, offset) => module.mean(offset, values.length));
}

type Module = ReturnType<typeof activeCore>["module"];

function withValues(
  where: string,
  values: Float32Array,
  compute: (module: Module, offset: number) => number,
): number {
  const { module, memory } = activeCore(where);
  const [xAt] = memory.layOut(where, FLOAT_BYTES * values.length);
  try {
    memory.write("Float32Array", xAt, values);
    return compute(module, xAt);
  } finally {
    memory.end();
  }
}

/** @returns the smallest and the largest value; both NaN if any is NaN. There must be one. */
export function minMax(where: string, values: Float32Array): { min: number; max: number } {
  const { module, memory } = activeCore(where);
  const [xAt, outAt] = memory.layOut(where, FLOAT_BYTES * values.length, 2 * FLOAT_BYTES);
  try {
    memory.write("Float32Array", xAt, values);
    module.minMax(xAt, values.length, outAt);
    const range = new Float32Array(2);
    memory.read(outAt, range);
    return { min: range[0], max: range[1] };
  } finally {
    memory.end();
  }
}

/** mean((a - b)^2) or mean(|a - b|). The lengths must agree. */
export function quantizationError(
  where: string,
  metric: "mse" | "mae",
  a: Float32Array,
  b: Float32Array,
): number {
  return measure(activeCore(where), where, a, b, a.length, metric);
}

/**
 * cast(clamp(round(x / scale + zeroPoint))) in float32.
 * @param out  where the codes go: of the shape that all three broadcast to
 */
export function linearQ(
  where: string,
  dtype: CoreDType,
  x: Values,
  scale: Values,
  zeroPoint: Values,
  out: NumberStorage,
): void {
  const { module } = activeCore(where);
  runBroadcast(where, "Float32Array", x, scale, zeroPoint, out, (p) =>
    module.linearQ(
      p.x,
      p.xShape,
      x.shape.length,
      p.scale,
      p.scaleShape,
      scale.shape.length,
      p.zeroPoint,
      p.zeroPointShape,
      zeroPoint.shape.length,
      dtype,
      p.out,
      out.length,
    ),
  );
}

/**
 * scale * (float(codes) - zeroPoint) in float32.
 * @param out  where the values go: of the shape that all three broadcast to
 */
export function linearDequantization(
  where: string,
  dtype: CoreDType,
  codes: Values<NumberStorage>,
  scale: Values,
  zeroPoint: Values,
  out: Float32Array,
): void {
  const { module } = activeCore(where);
  runBroadcast(where, CODE_ARRAYS[dtype], codes, scale, zeroPoint, out, (p) =>
    module.linearDequantization(
      p.x,
      p.xShape,
      codes.shape.length,
      p.scale,
      p.scaleShape,
      scale.shape.length,
      p.zeroPoint,
      p.zeroPointShape,
      zeroPoint.shape.length,
      dtype,
      p.out,
      out.length,
    ),
  );
}

type ElementType = "Float32Array" | (typeof CODE_ARRAYS)[CoreDType];

/** Offsets of a call's operands in the heap. */
interface Offsets {
  readonly x: number;
  readonly xShape: number;
  readonly scale: number;
  readonly scaleShape: number;
  readonly zeroPoint: number;
  readonly zeroPointShape: number;
  readonly out: number;
}

function runBroadcast(
  where: string,
  type: ElementType,
  x: Values<NumberStorage>,
  scale: Values,
  zeroPoint: Values,
  out: NumberStorage,
  call: (offsets: Offsets) => string,
): void {
  const { memory } = activeCore(where);
  const [xAt, xShape, scaleAt, scaleShape, zeroPointAt, zeroPointShape, outAt] = memory.layOut(
    where,
    x.values.byteLength,
    4 * x.shape.length,
    scale.values.byteLength,
    4 * scale.shape.length,
    zeroPoint.values.byteLength,
    4 * zeroPoint.shape.length,
    out.byteLength,
  );
  try {
    memory.write(type, xAt, x.values);
    memory.write("Uint32Array", xShape, x.shape);
    memory.write("Float32Array", scaleAt, scale.values);
    memory.write("Uint32Array", scaleShape, scale.shape);
    memory.write("Float32Array", zeroPointAt, zeroPoint.values);
    memory.write("Uint32Array", zeroPointShape, zeroPoint.shape);
    const at = { x: xAt, scale: scaleAt, zeroPoint: zeroPointAt, out: outAt };
    check(where, call({ ...at, xShape, scaleShape, zeroPointShape }));
    memory.read(outAt, out);
  } finally {
    memory.end();
  }
}

/** The operands of a linear layer. */
export interface LinearOperands {
  /** [m, k] */
  readonly x: Float32Array;
  /** [n, k] */
  readonly w: Float32Array;
  /** [n] */
  readonly bias: Float32Array | undefined;
  readonly m: number;
  readonly k: number;
  readonly n: number;
}

/**
 * x . w^T + bias, accumulated in double precision.
 * @param out  [m, n]
 */
export function linear(where: string, operands: LinearOperands, out: Float32Array): void {
  const { x, w, bias, m, k, n } = operands;
  const { module, memory } = activeCore(where);
  const sizes = [x, w, bias, out].map((array) => array?.byteLength ?? 0);
  const [xAt, wAt, biasAt, outAt] = memory.layOut(where, ...sizes);
  try {
    memory.write("Float32Array", xAt, x);
    memory.write("Float32Array", wAt, w);
    if (bias !== undefined) memory.write("Float32Array", biasAt, bias);
    const biasOr0 = bias === undefined ? 0 : biasAt;
    check(where, module.linear(xAt, m, k, wAt, n, biasOr0, "exact", outAt, n));
    memory.read(outAt, out);
  } finally {
    memory.end();
  }
}

// The arguments were checked before: an error status is a bug of this module.
function check(where: string, status: string): void {
  if (status !== "kOk") throw new Error(`${where}: the core refused a checked call: ${status}`);
}
