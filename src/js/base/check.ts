// Checks of single arguments, and their errors.

import { DTYPES, type DType, QDTYPE_NAMES, type QDType } from "./dtype.js";
import { type ErrorCode, rangeError, typeError, type ZeropointError } from "./errors.js";
import { show } from "./format-value.js";

/** One of a list of names; `undefined` means the default, if there is one. */
export function checkChoice<T extends string>(
  where: string,
  argument: string,
  value: unknown,
  choices: readonly T[],
  fallback: T | undefined,
  code: ErrorCode = "ZP_INVALID_OPTION",
): T {
  if (value === undefined && fallback !== undefined) return fallback;
  if (typeof value === "string" && (choices as readonly string[]).includes(value)) {
    return value as T;
  }
  const error = typeof value === "string" ? rangeError : typeError;
  const list = choices.map((choice) => `"${choice}"`);
  const last = list.pop();
  const names = list.length === 0 ? `${last}` : `${list.join(", ")} or ${last}`;
  throw wrongKind(code, where, argument, names, value, error);
}

/** true or false; `undefined` means the default. */
export function checkBoolean(
  where: string,
  argument: string,
  value: unknown,
  fallback: boolean,
): boolean {
  if (value === undefined) return fallback;
  if (typeof value === "boolean") return value;
  throw wrongKind("ZP_INVALID_OPTION", where, argument, "true or false", value);
}

/** A finite number; `undefined` means the default. */
export function checkFinite(
  where: string,
  argument: string,
  value: unknown,
  fallback: number,
): number {
  if (value === undefined) return fallback;
  if (Number.isFinite(value)) return value as number;
  throw wrongNumber("ZP_INVALID_OPTION", where, argument, "a finite number", value);
}

/** An integer of a range; `undefined` means the default. */
export function checkInteger(
  where: string,
  argument: string,
  value: unknown,
  fallback: number,
  low: number,
  high: number,
): number {
  if (value === undefined) return fallback;
  if (isIntegerWithin(value, low, high)) return value;
  const wanted = `an integer from ${low} to ${high}`;
  throw wrongNumber("ZP_INVALID_OPTION", where, argument, wanted, value);
}

/** Checks an option that is to be an abort signal. @throws {TypeError} `ZP_INVALID_OPTION` */
export function checkAbortSignal(where: string, signal: unknown): void {
  if (signal === undefined) return;
  if (typeof (Object(signal) as { throwIfAborted?: unknown }).throwIfAborted === "function") return;
  throw wrongKind("ZP_INVALID_OPTION", where, "options.signal", "an AbortSignal", signal);
}

/** Checks an optional function. @throws {TypeError} `ZP_INVALID_FUNCTION` */
export function checkFunction(where: string, argument: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw wrongKind("ZP_INVALID_FUNCTION", where, argument, "a function", value);
}

/** The error for a wrong kind of value: names the argument, the accepted values and the given one. */
export function wrongKind(
  code: ErrorCode,
  where: string,
  argument: string,
  wanted: string,
  got: unknown,
  error = typeError,
): ZeropointError {
  return error(code, where, `${argument} must be ${wanted}, got ${show(got)}`);
}

/** A RangeError for a number out of range, or a TypeError for a value that is not a number. */
export function wrongNumber(
  code: ErrorCode,
  where: string,
  argument: string,
  wanted: string,
  got: unknown,
): ZeropointError {
  const error = typeof got === "number" ? rangeError : typeError;
  return wrongKind(code, where, argument, wanted, got, error);
}

/** Whether a number is an integer of a range. */
export function isIntegerWithin(value: unknown, low: number, high: number): value is number {
  return Number.isInteger(value) && (value as number) >= low && (value as number) <= high;
}

const DTYPE_NAMES = /* @__PURE__ */ (Object.keys(DTYPES) as DType[]).filter(
  (name) => !isQDType(name),
);

/** Whether a value is the name of one of PyTorch's quantized dtypes. */
export function isQDType(value: unknown): value is QDType {
  return (QDTYPE_NAMES as readonly unknown[]).includes(value);
}

/** The name of a quantized dtype. */
export function checkQDType(where: string, argument: string, value: unknown): QDType {
  return checkChoice(where, argument, value, QDTYPE_NAMES, undefined, "ZP_INVALID_DTYPE");
}

/** The name of a dtype; `undefined` means the default, if there is one. */
export function checkDType(
  where: string,
  argument: string,
  value: unknown,
  fallback?: DType,
): DType {
  return checkChoice(where, argument, value, DTYPE_NAMES, fallback, "ZP_INVALID_DTYPE");
}
