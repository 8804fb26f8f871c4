// Python's exceptions as JavaScript's errors.

/** The `code` of each of Python's exceptions. */
const CODES = {
  AttributeError: "ZP_PYTHON_ATTRIBUTE_ERROR",
  AssertionError: "ZP_PYTHON_ASSERTION_ERROR",
  Exception: "ZP_PYTHON_EXCEPTION",
  IndexError: "ZP_PYTHON_INDEX_ERROR",
  NotImplementedError: "ZP_PYTHON_NOT_IMPLEMENTED_ERROR",
  OverflowError: "ZP_PYTHON_OVERFLOW_ERROR",
  RuntimeError: "ZP_PYTHON_RUNTIME_ERROR",
  TypeError: "ZP_PYTHON_TYPE_ERROR",
  ValueError: "ZP_PYTHON_VALUE_ERROR",
  ZeroDivisionError: "ZP_PYTHON_ZERO_DIVISION_ERROR",
} as const;

/** The Python exceptions that this module maps to JavaScript's errors. */
export type PythonExceptionName = keyof typeof CODES;

/** An error with the name of the exception that Python raises in its place. */
export type PythonError = Error & {
  /** For example "ZeroDivisionError". */
  readonly pythonType: PythonExceptionName;
  /** For example "ZP_PYTHON_ZERO_DIVISION_ERROR". */
  readonly code: (typeof CODES)[PythonExceptionName];
};

/**
 * Makes the error for a Python exception: a TypeError for TypeError, AttributeError and
 * NotImplementedError, a RangeError for all others.
 */
export function pythonError(pythonType: PythonExceptionName, message: string): PythonError {
  const isTypeError = ["TypeError", "AttributeError", "NotImplementedError"].includes(pythonType);
  const error = isTypeError ? new TypeError(message) : new RangeError(message);
  return Object.assign(error, { pythonType, code: CODES[pythonType] });
}
