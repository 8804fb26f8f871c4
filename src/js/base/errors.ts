// Every error of this library: a class, a stable code, and a message written at the throw site.

/**
 * The `code` of every error this library throws.
 *
 * | code | class | thrown when |
 * | --- | --- | --- |
 * | `ZP_INVALID_TENSOR` | TypeError, RangeError | an argument is not a tensor, or its data is of an unsupported kind; an index is outside a table |
 * | `ZP_DETACHED` | TypeError | the memory of an array is gone: transferred, or shrunk below its extent |
 * | `ZP_INVALID_SHAPE` | TypeError, RangeError | a shape is not a list of lengths; nested numbers are ragged |
 * | `ZP_SHAPE_MISMATCH` | RangeError | shapes do not fit each other, or the data |
 * | `ZP_SIZE_OVERFLOW` | RangeError | a size does not fit in 32 bits |
 * | `ZP_OUT_OF_MEMORY` | RangeError | a call needs more memory than is available |
 * | `ZP_EMPTY` | RangeError | qparams are chosen for a slice without a (finite) value |
 * | `ZP_NON_FINITE` | RangeError | qparams are chosen for NaN or an infinity |
 * | `ZP_INVALID_OPTIONS` | TypeError | options are not an object |
 * | `ZP_UNKNOWN_OPTION` | TypeError | an option has no such name |
 * | `ZP_CONFLICTING_OPTIONS` | TypeError | two options exclude each other, or one needs another |
 * | `ZP_INVALID_OPTION` | TypeError, RangeError | an option is of the wrong kind, or not one of its values |
 * | `ZP_INVALID_DTYPE` | TypeError, RangeError | a dtype is not one of the known names, or not that of the data |
 * | `ZP_UNSUPPORTED_DTYPE` | RangeError | the function does not take this dtype |
 * | `ZP_INVALID_SCHEME` | TypeError, RangeError | a scheme is unknown, or symmetric with an unsigned dtype |
 * | `ZP_INVALID_AXIS` | TypeError, RangeError | an axis is not one of the tensor's |
 * | `ZP_INVALID_GROUP_SIZE` | TypeError, RangeError | a group size is not a positive integer, or the tensor has no axes |
 * | `ZP_INVALID_SCALE` | TypeError, RangeError | a scale is not a finite float32 > 0 |
 * | `ZP_INVALID_ZERO_POINT` | TypeError, RangeError | a zero point is not an integer the dtype holds |
 * | `ZP_INVALID_OFFSET` | TypeError, RangeError | an offset is not a finite float32 |
 * | `ZP_INVALID_CODES` | TypeError, RangeError | codes are in the wrong array or out of the dtype's range |
 * | `ZP_INVALID_BYTES` | TypeError, RangeError | packed bytes are not a Uint8Array of the right length |
 * | `ZP_INVALID_OUT` | TypeError, RangeError | `out` has the wrong type or length, or overlaps an input |
 * | `ZP_INVALID_QSCHEME` | TypeError, RangeError | a qscheme is unknown, or not one that the observer or the tensor has |
 * | `ZP_INVALID_QUANT_RANGE` | TypeError, RangeError | quantMin and quantMax are not a range of codes |
 * | `ZP_INVALID_FUNCTION` | TypeError | a function is expected |
 * | `ZP_INVALID_STATE` | TypeError, RangeError | saved state does not have the form that `toJSON` returns; an index was changed while its file was made |
 * | `ZP_INVALID_QCONFIG` | TypeError, RangeError | a QConfig is not a pair of observer classes or factories |
 * | `ZP_UNSUPPORTED_QCONFIG` | RangeError | a QConfig is for training, or asks for a feature that a layer lacks |
 * | `ZP_INVALID_MODEL` | TypeError, RangeError | a model is not a Sequential of layers, or has no such layer; a method is called on another object than its own |
 * | `ZP_INVALID_ROW` | TypeError, RangeError | a row of an analysis lacks a field, or contradicts another row |
 * | `ZP_IMPOSSIBLE_BUDGET` | RangeError | no plan fits the budget; the message has the smallest that one fits |
 * | `ZP_INVALID_ID` | TypeError, RangeError | an id of a vector is not a string or a finite number |
 * | `ZP_NO_QPARAMS` | TypeError | qparams are requested from an observer that has none |
 * | `ZP_NOT_CLONEABLE` | TypeError | JSON.stringify or structuredClone of a layer or model, which `save` of zeropoint/models writes |
 * | `ZP_DISPOSED` | TypeError | an object or instance is used after `dispose()` |
 * | `ZP_NOT_INITIALIZED` | Error | the core is needed before `await init()` |
 * | `ZP_ALREADY_INITIALIZED` | Error | a later `init` has different options |
 * | `ZP_BUILD_UNAVAILABLE` | RangeError | `options.wasm` is of another version or build |
 * | `ZP_UNSUPPORTED_ENGINE` | Error | the engine lacks a feature that the build needs, or computes wrongly |
 * | `ZP_LOAD_FAILED` | Error | the core, or the code of the asynchronous functions, could not be loaded; `cause` says why |
 * | `ZP_INVALID_FILE` | RangeError | a file breaks its format; `offset`, `expected` and `found` say where and how |
 * | `ZP_UNSUPPORTED_FILE` | RangeError | a file is well-formed, but uses an unsupported part of its format; same properties |
 * | `ZP_ENGINE_FAILED` | Error | an engine that runs ONNX models failed; `cause` is its error |
 * | `ZP_WORKER_LOST` | Error | the worker of an asynchronous function ended before the call completed |
 */
export type ErrorCode =
  | "ZP_INVALID_TENSOR"
  | "ZP_DETACHED"
  | "ZP_INVALID_SHAPE"
  | "ZP_SHAPE_MISMATCH"
  | "ZP_SIZE_OVERFLOW"
  | "ZP_OUT_OF_MEMORY"
  | "ZP_EMPTY"
  | "ZP_NON_FINITE"
  | "ZP_INVALID_OPTIONS"
  | "ZP_UNKNOWN_OPTION"
  | "ZP_CONFLICTING_OPTIONS"
  | "ZP_INVALID_OPTION"
  | "ZP_INVALID_DTYPE"
  | "ZP_UNSUPPORTED_DTYPE"
  | "ZP_INVALID_SCHEME"
  | "ZP_INVALID_AXIS"
  | "ZP_INVALID_GROUP_SIZE"
  | "ZP_INVALID_SCALE"
  | "ZP_INVALID_ZERO_POINT"
  | "ZP_INVALID_OFFSET"
  | "ZP_INVALID_CODES"
  | "ZP_INVALID_BYTES"
  | "ZP_INVALID_OUT"
  | "ZP_INVALID_QSCHEME"
  | "ZP_INVALID_QUANT_RANGE"
  | "ZP_INVALID_FUNCTION"
  | "ZP_INVALID_STATE"
  | "ZP_INVALID_QCONFIG"
  | "ZP_UNSUPPORTED_QCONFIG"
  | "ZP_INVALID_MODEL"
  | "ZP_INVALID_ROW"
  | "ZP_IMPOSSIBLE_BUDGET"
  | "ZP_INVALID_ID"
  | "ZP_NO_QPARAMS"
  | "ZP_NOT_CLONEABLE"
  | "ZP_DISPOSED"
  | "ZP_NOT_INITIALIZED"
  | "ZP_ALREADY_INITIALIZED"
  | "ZP_BUILD_UNAVAILABLE"
  | "ZP_UNSUPPORTED_ENGINE"
  | "ZP_LOAD_FAILED"
  | "ZP_INVALID_FILE"
  | "ZP_UNSUPPORTED_FILE"
  | "ZP_ENGINE_FAILED"
  | "ZP_WORKER_LOST";

/** An error of this library: the class gives the kind of mistake, `code` the exact one. */
export type ZeropointError = Error & { readonly code: ErrorCode };

/** Gives an error its code. Its stack begins where the error was made: engines record ten frames. */
function coded<E extends Error>(error: E, code: ErrorCode, make: unknown): E & ZeropointError {
  (Error as { captureStackTrace?: (error: Error, below: unknown) => void }).captureStackTrace?.(
    error,
    make,
  );
  return Object.assign(error, { code });
}

/** The error for a value of the wrong kind. @param where  the function that was called */
export function typeError(code: ErrorCode, where: string, problem: string): ZeropointError {
  return coded(new TypeError(`${where}: ${problem}`), code, typeError);
}

/** The error for a wrong value of the right kind. */
export function rangeError(code: ErrorCode, where: string, problem: string): ZeropointError {
  return coded(new RangeError(`${where}: ${problem}`), code, rangeError);
}

/** The error for a call whose arguments are valid, but not in the present state. */
export function stateError(
  code: ErrorCode,
  where: string,
  problem: string,
  cause?: unknown,
): ZeropointError {
  const options = cause === undefined ? undefined : { cause };
  return coded(new Error(`${where}: ${problem}`, options), code, stateError);
}

/** The error for an instance used after `dispose()`. */
export function disposed(where: string): ZeropointError {
  return typeError("ZP_DISPOSED", where, "this instance was disposed");
}

/** The error for a core status that the checks before the call should have prevented: a bug of this library. */
export function refused(where: string, status: string): ZeropointError {
  // kNonFinite is ZP_NON_FINITE.
  const named = `ZP${status.slice(1).replaceAll(/[A-Z]/g, "_$&").toUpperCase()}` as ErrorCode;
  return rangeError(OTHER_NAMES[status] ?? named, where, `the core says ${status}`);
}

/** Checks the status that the core returned. @throws {RangeError} unless it is kOk */
export function checkStatus(where: string, status: string): void {
  if (status !== "kOk") throw refused(where, status);
}

const OTHER_NAMES: Record<string, ErrorCode> = {
  kUnsignedSymmetric: "ZP_INVALID_SCHEME",
  kUnsupportedDType: "ZP_UNSUPPORTED_DTYPE",
};

/**
 * The error for a method or accessor that is called on something else than an object of its class: on undefined, as
 * after `const { forward } = layer`, or on a proxy, which has none of the private fields.
 */
export const notItself = (where: string): ZeropointError =>
  typeError(
    "ZP_INVALID_MODEL",
    where,
    `it must be called on the object itself, as object.${where.split(".")[1] ?? "method"}, got another ` +
      "object, a proxy or none; in Vue, markRaw(object) or shallowRef(object) keeps an object from becoming a proxy",
  );
