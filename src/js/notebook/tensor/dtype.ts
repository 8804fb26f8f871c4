// torch.dtype: the type of a tensor's numbers, and the array type for them.

import { define } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import { formatScientific } from "../../tensor/print.js";
import { pythonError } from "../python/errors.js";

/** An array that holds the values of a tensor. */
export type Storage =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | BigInt64Array;

/** A storage whose elements are JavaScript numbers: all but int64's. */
export type NumberStorage = Exclude<Storage, BigInt64Array>;

/** The names of the dtypes, without "torch.". */
export type DTypeName =
  | "bool"
  | "uint8"
  | "int8"
  | "int16"
  | "uint16"
  | "int32"
  | "int64"
  | "float32"
  | "float64";

/** bool < integer < float: of two operands the higher category determines the result. */
export type Category = "bool" | "integer" | "float";

type StorageConstructor = new (length: number) => Storage;

/** A tensor's dtype: torch.int8, torch.float32, ... Compare dtypes with `===`. */
export class DType<Name extends DTypeName = DTypeName> {
  /** The name without "torch.". */
  declare readonly name: Name;
  /** Category in type promotion: bool < integer < float. */
  declare readonly category: Category;
  /** Bytes of one value. */
  declare readonly itemsize: number;
  /** Whether negative values can be held. */
  declare readonly is_signed: boolean;
  /** Whether values are float32 or float64. */
  declare readonly is_floating_point: boolean;
  /** Always false: complex dtypes are not supported. */
  readonly is_complex: boolean = false;
  readonly #storage: StorageConstructor;

  static {
    explainReceivers(DType, "dtype", (object) => #storage in object);
  }

  /** @internal */
  constructor(name: Name, category: Category, itemsize: number, storage: StorageConstructor) {
    this.name = name;
    this.category = category;
    this.itemsize = itemsize;
    this.is_signed = category === "float" || name.startsWith("int");
    this.is_floating_point = category === "float";
    this.#storage = storage;
    Object.freeze(this);
  }

  /** @internal A storage of zeros. */
  allocate(length: number): Storage {
    try {
      return new this.#storage(length);
    } catch {
      const bytes = length * this.itemsize;
      throw pythonError(
        "RuntimeError",
        `not enough memory for a ${this.name} tensor of ${length} values (${bytes} bytes)`,
      );
    }
  }

  /** As Python prints it: "torch.int8". */
  toString(): string {
    return `torch.${this.name}`;
  }

  get [Symbol.toStringTag](): string {
    return "torch.dtype";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** All dtypes, by name. */
export const dtypes = {
  bool: new DType("bool", "bool", 1, Uint8Array),
  uint8: new DType("uint8", "integer", 1, Uint8Array),
  int8: new DType("int8", "integer", 1, Int8Array),
  int16: new DType("int16", "integer", 2, Int16Array),
  uint16: new DType("uint16", "integer", 2, Uint16Array),
  int32: new DType("int32", "integer", 4, Int32Array),
  int64: new DType("int64", "integer", 8, BigInt64Array),
  float32: new DType("float32", "float", 4, Float32Array),
  float64: new DType("float64", "float", 8, Float64Array),
} as const;

/** An argument that must be a dtype. @throws {TypeError} */
export function checkDType(where: string, value: unknown): DType {
  if (value instanceof DType) return value;
  throw pythonError(
    "TypeError",
    `${where}: dtype must be a dtype such as torch.int8, got ${show(value)}`,
  );
}

/** The limits of an integer dtype. */
export interface IInfo<Limit extends number | bigint = number | bigint> {
  /** The smallest value. */
  readonly min: Limit;
  /** The largest value. */
  readonly max: Limit;
  /** Bits of one value. */
  readonly bits: number;
  /** The dtype's name without "torch.". */
  readonly dtype: string;
}

/** The limits of a floating dtype. */
export interface FInfo {
  /** The smallest finite value. */
  readonly min: number;
  /** The largest finite value. */
  readonly max: number;
  /** The distance from 1 to the next larger value. */
  readonly eps: number;
  /** The smallest positive value that is not subnormal. */
  readonly tiny: number;
  /** The same as `tiny`. */
  readonly smallest_normal: number;
  /** The decimal precision. */
  readonly resolution: number;
  /** Bits of one value. */
  readonly bits: number;
  /** The dtype's name without "torch.". */
  readonly dtype: string;
}

/** Freezes an object that prints as `text`. The text is not a field, so copies lose it. */
export function withText<T extends object>(object: T, text: () => string): T {
  define(object, "toString", { value: text });
  define(object, Symbol.for("nodejs.util.inspect.custom"), { value: text });
  return Object.freeze(object);
}

/**
 * The limits of an integer dtype.
 *
 * int64's are BigInts, because no number equals 2^63 - 1. `Number(...)` rounds them, as Python does
 * where it mixes them with floats.
 *
 * Source: `torch.iinfo`.
 *
 * @throws {TypeError} for bool and floating dtypes
 * @example torch.iinfo(torch.int8).max // 127
 */
export function iinfo<Name extends DTypeName>(
  type: DType<Name>,
): IInfo<"int64" extends Name ? number | bigint : number> {
  if (!(type instanceof DType) || type.category !== "integer") {
    const got = (type as unknown) instanceof DType ? String(type) : show(type);
    throw pythonError(
      "TypeError",
      `torch.iinfo: takes an integer dtype such as torch.int8, got ${got}`,
    );
  }
  const { min, max } = integerLimits(type);
  const wide = type.name === "int64";
  const info = {
    min: wide ? min : Number(min),
    max: wide ? max : Number(max),
    bits: 8 * type.itemsize,
    dtype: type.name,
  };
  const text = `iinfo(min=${shortNumber(min)}, max=${shortNumber(max)}, dtype=${type.name})`;
  return withText(info as IInfo<number>, () => text);
}

/** C++'s default format for doubles: six significant digits. */
function shortNumber(value: bigint): string {
  const text = value.toString();
  return text.length <= 6 ? text : formatScientific(Number(value), 5);
}

/** The limits of an integer dtype, exactly. */
export function integerLimits(type: DType): { min: bigint; max: bigint } {
  const bits = BigInt(8 * type.itemsize);
  const span = 1n << (type.is_signed ? bits - 1n : bits);
  return { min: type.is_signed ? -span : 0n, max: span - 1n };
}

const FLOAT32_INFO: FInfo = {
  min: -(2 - 2 ** -23) * 2 ** 127,
  max: (2 - 2 ** -23) * 2 ** 127,
  eps: 2 ** -23,
  tiny: 2 ** -126,
  smallest_normal: 2 ** -126,
  resolution: 1e-6,
  bits: 32,
  dtype: "float32",
};

const FLOAT64_INFO: FInfo = {
  min: -Number.MAX_VALUE,
  max: Number.MAX_VALUE,
  eps: Number.EPSILON,
  tiny: 2 ** -1022,
  smallest_normal: 2 ** -1022,
  resolution: 1e-15,
  bits: 64,
  dtype: "float64",
};

/**
 * The limits of a floating dtype.
 *
 * Source: `torch.finfo`.
 *
 * @param type  default: torch.float32
 * @throws {TypeError} for integers and bool
 */
export function finfo(type: DType = dtypes.float32): FInfo {
  if (type === dtypes.float32) return describeFloats(FLOAT32_INFO);
  if (type === dtypes.float64) return describeFloats(FLOAT64_INFO);
  const got = (type as unknown) instanceof DType ? String(type) : show(type);
  throw pythonError("TypeError", `torch.finfo: takes torch.float32 or torch.float64, got ${got}`);
}

function describeFloats(info: FInfo): FInfo {
  const short = (value: number): string => formatScientific(value, 5);
  const text =
    `finfo(resolution=${formatScientific(info.resolution, 0)}, min=${short(info.min)}, ` +
    `max=${short(info.max)}, eps=${short(info.eps)}, ` +
    `smallest_normal=${short(info.smallest_normal)}, tiny=${short(info.tiny)}, ` +
    `dtype=${info.dtype})`;
  return withText({ ...info }, () => text);
}
