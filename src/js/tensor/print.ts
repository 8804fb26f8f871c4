// Text of a tensor, character for character as printed by PyTorch.

import { ownFields } from "../base/fields.js";

/** Properties of a tensor for printing. */
interface PrintableTensor {
  /** The values, or a larger array that contains them (then with `strides` and `offset`). */
  readonly data: ArrayLike<number> | ArrayLike<bigint>;
  readonly shape: readonly number[];
  /** The dtype's name without "torch.": "float32", "int8", "bool", ... */
  readonly dtype: string;
  /** Distance in `data` between neighbours along each axis. Default: row-major. */
  readonly strides?: readonly number[];
  /** Index in `data` of the first value. Default: 0. */
  readonly offset?: number;
  /** The value to print for an index of `data`, called for printed values only. Default: the element. */
  readonly valueAt?: (at: number) => number | bigint;
}

// PyTorch's default print options.
const PRECISION = 4;

const THRESHOLD = 1000;

const EDGE_ITEMS = 3;

const LINE_WIDTH = 80;

/** Whether a dtype is printed without a suffix, since the values imply it. */
const DEFAULT_DTYPES: ReadonlySet<string> = new Set(["float32", "int64", "bool"]);

/**
 * Formats a tensor.
 *
 * Floats take four decimals, or the form "1." if all are whole numbers, or scientific notation if
 * max/min > 1000 or max > 1e8 or (not all whole) min < 1e-4, over the magnitudes of the finite
 * values other than 0. Lines hold 80 columns. A tensor of more than 1000 values shows the first and
 * last three indices of every axis, and the format follows these values alone.
 *
 * Source: torch.Tensor.__repr__ (torch/_tensor_str.py), PyTorch 2.6, default print options.
 *
 * @param tensor  any shape, empty and 0-d too
 * @returns e.g. "tensor([[1, 2],\n        [3, 4]], dtype=torch.int8)"
 */
export function formatTensor(tensor: PrintableTensor): string {
  const { shape, dtype } = tensor;
  const suffixes: string[] = [];
  const isEmpty = shape.includes(0);
  if (isEmpty && shape.length !== 1) suffixes.push(`size=${formatShape(shape)}`);
  // Without values, int64 and bool cannot be told from float32.
  if (isEmpty ? dtype !== "float32" : !DEFAULT_DTYPES.has(dtype)) {
    suffixes.push(`dtype=torch.${dtype}`);
  }
  return formatWithSuffixes(tensor, suffixes);
}

/**
 * Formats a tensor with custom suffixes, as PyTorch does for quantized tensors:
 * "tensor([0.5000], size=(1,), dtype=torch.qint8, ...)".
 */
export function formatWithSuffixes(tensor: PrintableTensor, suffixes: readonly string[]): string {
  const {
    data,
    shape,
    dtype,
    strides = rowMajorStrides(shape),
    offset = 0,
    valueAt = (at) => data[at] as number | bigint,
  } = ownFields(tensor) as unknown as PrintableTensor;
  const prefix = "tensor(";
  const count = shape.reduce((product, size) => product * size, 1);
  const body = { shape, strides, valueAt };
  const contents =
    count === 0 ? "[]" : formatValues(body, offset, dtype, count > THRESHOLD, prefix.length);
  return appendSuffixes(prefix + contents, suffixes, prefix.length);
}

/** A shape as Python prints a tuple: "()", "(3,)", "(3, 1)". */
export function formatShape(shape: readonly number[]): string {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

type Body = Required<Pick<PrintableTensor, "shape" | "strides" | "valueAt">>;

function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= shape[axis] as number;
  }
  return strides;
}

function formatValues(
  body: Body,
  offset: number,
  dtype: string,
  summarize: boolean,
  indent: number,
): string {
  const values: (number | bigint)[] = [];
  collectShown(body, 0, offset, summarize, values);
  // Elements of transferred or shrunk memory read as undefined.
  if ((values as unknown[]).includes(undefined)) {
    return `<detached, size=${formatShape(body.shape)}>`;
  }
  const format = dtype === "bool" ? boolFormat(values) : numberFormat(values, dtype);
  return nest(body, 0, offset, summarize, indent, format);
}

/** The indices of an axis that are shown, and whether some between them are left out. */
function shownIndices(size: number, summarize: boolean): { indices: number[]; elided: boolean } {
  const elided = summarize && size > 2 * EDGE_ITEMS;
  const indices: number[] = [];
  for (let index = 0; index < size; index++) {
    if (elided && index === EDGE_ITEMS) index = size - EDGE_ITEMS;
    indices.push(index);
  }
  return { indices, elided };
}

function collectShown(
  body: Body,
  axis: number,
  offset: number,
  summarize: boolean,
  values: (number | bigint)[],
): void {
  if (axis === body.shape.length) {
    values.push(body.valueAt(offset));
    return;
  }
  const stride = body.strides[axis] as number;
  for (const index of shownIndices(body.shape[axis] as number, summarize).indices) {
    collectShown(body, axis + 1, offset + index * stride, summarize, values);
  }
}

/** Brackets around axis `axis` and all that follow it; `indent` is the column of the bracket. */
function nest(
  body: Body,
  axis: number,
  offset: number,
  summarize: boolean,
  indent: number,
  format: Format,
): string {
  const left = body.shape.length - axis;
  if (left === 0) return format.text(body.valueAt(offset));
  const stride = body.strides[axis] as number;
  const { indices, elided } = shownIndices(body.shape[axis] as number, summarize);
  const margin = " ".repeat(indent + 1);
  const parts = indices.map((index) =>
    nest(body, axis + 1, offset + index * stride, summarize, indent + 1, format),
  );
  if (left > 1) {
    if (elided) parts.splice(EDGE_ITEMS, 0, "...");
    return `[${parts.join(`,${"\n".repeat(left - 1)}${margin}`)}]`;
  }
  if (elided) parts.splice(EDGE_ITEMS, 0, " ...");
  const perLine = Math.max(1, Math.floor((LINE_WIDTH - indent) / (format.width + 2)));
  const lines: string[] = [];
  for (let start = 0; start < parts.length; start += perLine) {
    lines.push(parts.slice(start, start + perLine).join(", "));
  }
  return `[${lines.join(`,\n${margin}`)}]`;
}

/** The suffixes follow on the last line as long as they fit into 80 columns. */
function appendSuffixes(text: string, suffixes: readonly string[], indent: number): string {
  let result = text;
  // The + 1 is PyTorch's: it counts one column more than the last line has.
  let column = text.length - text.lastIndexOf("\n") + 1;
  for (const suffix of suffixes) {
    if (column + suffix.length + 2 > LINE_WIDTH) {
      result += `,\n${" ".repeat(indent)}${suffix}`;
      column = indent + suffix.length;
    } else {
      result += `, ${suffix}`;
      column += suffix.length + 2;
    }
  }
  return `${result})`;
}

/** The number format of a tensor. */
interface Format {
  readonly width: number;
  text(value: number | bigint): string;
}

function makeFormat(width: number, text: (value: number | bigint) => string): Format {
  return { width, text: (value) => text(value).padStart(width) };
}

function widest(values: readonly (number | bigint)[], text: (v: number | bigint) => string) {
  return values.reduce<number>((width, value) => Math.max(width, text(value).length), 1);
}

function boolFormat(values: readonly (number | bigint)[]): Format {
  const text = (value: number | bigint): string => (value ? "True" : "False");
  return makeFormat(widest(values, text), text);
}

function numberFormat(values: readonly (number | bigint)[], dtype: string): Format {
  if (!dtype.startsWith("float")) {
    const text = (value: number | bigint): string => String(value);
    return makeFormat(widest(values, text), text);
  }
  return floatFormat(values.map(Number));
}

// The format and its width follow the finite values other than 0. Other values may be wider, as in
// PyTorch.
function floatFormat(values: readonly number[]): Format {
  const telling = values.filter((value) => Number.isFinite(value) && value !== 0);
  let min = Infinity;
  let max = 0;
  for (const value of telling) {
    min = Math.min(min, Math.abs(value));
    max = Math.max(max, Math.abs(value));
  }
  const whole = telling.every(Number.isInteger);
  const scientific =
    telling.length > 0 && (max / min > 1000 || max > 1e8 || (!whole && min < 1e-4));
  let text: (value: number | bigint) => string;
  if (scientific) {
    text = (value) => formatScientific(Number(value), PRECISION);
  } else if (whole) {
    text = (value) => formatFixed(Number(value), 0) + (Number.isFinite(value) ? "." : "");
  } else {
    text = (value) => formatFixed(Number(value), PRECISION);
  }
  return makeFormat(widest(telling, text), text);
}

/**
 * Python's "%.{digits}f" of a value below 1e21.
 * Examples: formatFixed(0.03125, 4) is "0.0312", formatFixed(-0, 1) is "-0.0".
 */
function formatFixed(value: number, digits: number): string {
  if (!Number.isFinite(value)) return formatNonFinite(value);
  const size = Math.abs(value);
  const rounded = size.toFixed(digits);
  return sign(value) + (mayBeTie(size) ? halfToEven(rounded, size.toFixed(99)) : rounded);
}

/**
 * Python's "%.{digits}e": one digit, the decimals, an exponent of at least two digits.
 * Examples: formatScientific(1234.5, 2) is "1.23e+03", formatScientific(0, 1) is "0.0e+00".
 */
export function formatScientific(value: number, digits: number): string {
  if (!Number.isFinite(value)) return formatNonFinite(value);
  const size = Math.abs(value);
  const [rounded, exponent] = size.toExponential(digits).split("e");
  const text = mayBeTie(size) ? halfToEven(rounded, size.toExponential(99)) : rounded;
  return `${sign(value)}${text}e${formatExponent(Number(exponent))}`;
}

/** Whether a magnitude may be a tie between two decimals: its shortest decimal form ends in 5. */
function mayBeTie(size: number): boolean {
  return /5e/.test(size.toExponential());
}

/**
 * Digits as Python rounds them, where JavaScript rounds exact ties up: half to even.
 * @param exact  the same number with all its digits
 */
function halfToEven(rounded: string, exact: string): string {
  const kept = exact.slice(0, rounded.length);
  const isTie = /^\.?50*(e|$)/.test(exact.slice(rounded.length));
  return isTie && /[02468]\.?$/.test(kept) ? kept : rounded;
}

/** A decimal exponent as C and Python write it: a sign and at least two digits. */
export function formatExponent(exponent: number): string {
  return (exponent < 0 ? "-" : "+") + Math.abs(exponent).toString().padStart(2, "0");
}

/** "nan", "inf" or "-inf". */
export function formatNonFinite(value: number): string {
  return Number.isNaN(value) ? "nan" : `${sign(value)}inf`;
}

/** "-" or nothing. */
export function sign(value: number): string {
  return value < 0 || Object.is(value, -0) ? "-" : "";
}
