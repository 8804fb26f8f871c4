// Replaces node:assert/strict in browsers. assert.test.mjs compares each verdict with Node's.
//
// No library fits: the npm package assert 2.1 matches Node 14 and brings 39 packages. It ignores the `cause` of
// errors, takes 1.4 s for two arrays of a million floats, and needs a global `process`, whose absence identifies
// tests that need Node.

import { isNodeOnly } from "./node-only.js";

export class AssertionError extends Error {
  name = "AssertionError";
  code = "ERR_ASSERTION";
}

/** @param {unknown} value */
function show(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    const seen = JSON.stringify(value, (_, item) => {
      if (typeof item === "bigint") return `${item}n`;
      if (typeof item === "number" && !Number.isFinite(item)) return String(item);
      return ArrayBuffer.isView(item) ? Array.from(/** @type {any} */ (item), String) : item;
    });
    return seen.length > 2000 ? `${seen.slice(0, 2000)}…` : seen;
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** @param {unknown} message @param {() => string} usual @returns {never} */
function complain(message, usual) {
  if (message instanceof Error) throw message;
  throw new AssertionError(message === undefined ? usual() : String(message));
}

/** @param {any} a @param {any} b */
function sameBytes(a, b) {
  const view = (/** @type {any} */ value) =>
    ArrayBuffer.isView(value)
      ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : new Uint8Array(value);
  const [left, right] = [view(a), view(b)];
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

/** The value of a boxed primitive, or undefined. */
function unboxed(value) {
  for (const type of [Number, String, Boolean, BigInt, Symbol]) {
    try {
      return [type.prototype.valueOf.call(value)];
    } catch {
      // Another type.
    }
  }
  return undefined;
}

/** The own enumerable keys; without an array's indices if `places` is false. */
function keysOf(value, places) {
  const symbols = Object.getOwnPropertySymbols(value).filter((key) =>
    Object.prototype.propertyIsEnumerable.call(value, key),
  );
  const names = Object.keys(value);
  const isPlace = (/** @type {string} */ key) => /^(0|[1-9]\d*)$/.test(key);
  return [...(places ? names : names.filter((key) => !isPlace(key))), ...symbols];
}

/**
 * @param {any} a
 * @param {any} b
 * @param {Map<object, object>} seen  pairs being compared, to stop at cycles
 * @returns {boolean}
 */
function isDeepEqual(a, b, seen) {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const tag = Object.prototype.toString.call(a);
  if (tag !== Object.prototype.toString.call(b)) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b) || (Array.isArray(a) && a.length !== b.length)) {
    return false;
  }
  if (["[object WeakMap]", "[object WeakSet]", "[object Promise]"].includes(tag)) return false;
  const isBinary = ArrayBuffer.isView(a) || /^\[object (Shared)?ArrayBuffer\]$/.test(tag);
  if (isBinary && !sameBytes(a, b)) return false;
  if (a instanceof Date && a.getTime() !== b.getTime()) return false;
  if (a instanceof RegExp && (String(a) !== String(b) || a.lastIndex !== b.lastIndex)) return false;
  if (a instanceof Error) {
    if (a.message !== b.message || a.name !== b.name) return false;
    if (Object.hasOwn(a, "cause") !== Object.hasOwn(b, "cause")) return false;
    if (!isDeepEqual(a.cause, b.cause, seen)) return false;
  }
  const [boxA, boxB] = [unboxed(a), unboxed(b)];
  if ((boxA === undefined) !== (boxB === undefined)) return false;
  if (boxA && !Object.is(boxA[0], boxB[0])) return false;

  if (seen.get(a) === b) return true;
  const pairs = new Map(seen).set(a, b);
  const places = !isBinary && boxA === undefined;
  const keys = keysOf(a, places);
  if (keys.length !== keysOf(b, places).length) return false;
  for (const key of keys) {
    if (!Object.prototype.propertyIsEnumerable.call(b, key)) return false;
    if (!isDeepEqual(a[key], b[key], pairs)) return false;
  }
  if (a instanceof Set || a instanceof Map) {
    if (a.size !== b.size) return false;
    const others = [...b];
    for (const item of a) {
      const found = others.findIndex((other) => isDeepEqual(item, other, pairs));
      if (found < 0) return false;
      others.splice(found, 1);
    }
  }
  return true;
}

/** @param {unknown} value @param {unknown} [message] */
function ok(value, message) {
  if (!value) complain(message, () => `${show(value)} is not truthy`);
}

/** @param {unknown} actual @param {unknown} expected @param {unknown} [message] */
function equal(actual, expected, message) {
  if (Object.is(actual, expected)) return;
  complain(message, () => `got ${show(actual)}, expected ${show(expected)}`);
}

/** @param {unknown} actual @param {unknown} expected @param {unknown} [message] */
function notEqual(actual, expected, message) {
  if (Object.is(actual, expected)) complain(message, () => `got ${show(actual)}`);
}

/** @param {unknown} actual @param {unknown} expected @param {unknown} [message] */
function deepEqual(actual, expected, message) {
  if (isDeepEqual(actual, expected, new Map())) return;
  complain(message, () => `got ${show(actual)}, expected ${show(expected)}`);
}

/** @param {unknown} actual @param {unknown} expected @param {unknown} [message] */
function notDeepEqual(actual, expected, message) {
  if (isDeepEqual(actual, expected, new Map())) complain(message, () => `got ${show(actual)}`);
}

/** @param {unknown} [message] */
function fail(message) {
  complain(message, () => "failed");
}

/** @param {unknown} text @param {RegExp} pattern @param {unknown} [message] */
function match(text, pattern, message) {
  if (typeof text === "string" && pattern.exec(text) !== null) return;
  complain(message, () => `${show(text)} does not match ${pattern}`);
}

/** @param {unknown} text @param {RegExp} pattern @param {unknown} [message] */
function doesNotMatch(text, pattern, message) {
  if (typeof text === "string" && pattern.exec(text) === null) return;
  complain(message, () => `${show(text)} matches ${pattern}`);
}

/** Checks a thrown error against the expectation. */
function checkThrown(error, expected, message) {
  // No test expects NodeOnly: pass it on to the runner.
  if (isNodeOnly(error)) throw error;
  if (expected === undefined) return;
  if (expected instanceof RegExp) {
    if (expected.exec(String(error)) === null) {
      complain(message, () => `${error} does not match ${expected}`);
    }
  } else if (typeof expected === "function") {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (expected === Error || Object.prototype.isPrototypeOf.call(Error, expected)) {
      complain(message, () => `${error} is no ${expected.name}`);
    }
    if (expected.call({}, error) !== true) {
      complain(message, () => `the validation function did not return true for ${error}`);
    }
  } else {
    if (typeof error !== "object" || error === null) {
      complain(message, () => `${show(error)} is no object`);
    }
    const keys = Object.keys(expected);
    if (expected instanceof Error) keys.push("name", "message");
    else if (keys.length === 0) throw new TypeError("the expectation must not be empty");
    for (const key of keys) {
      const [actual, wanted] = [error[key], expected[key]];
      const isMatch =
        wanted instanceof RegExp && typeof actual === "string"
          ? wanted.exec(actual) !== null
          : key in error && isDeepEqual(actual, wanted, new Map());
      if (isMatch) continue;
      complain(message, () => `its ${key} is ${show(actual)}, expected ${show(wanted)}: ${error}`);
    }
  }
}

/** @param {any} expected @param {unknown} message */
function expectation(expected, message) {
  return typeof expected === "string" ? [undefined, expected] : [expected, message];
}

/** @param {() => unknown} work @param {any} [expected] @param {unknown} [message] */
function throws(work, expected, message) {
  const [wanted, text] = expectation(expected, message);
  let error;
  try {
    work();
  } catch (thrown) {
    error = { thrown };
  }
  if (!error) complain(text, () => "nothing was thrown");
  checkThrown(error.thrown, wanted, text);
}

/** @param {() => unknown} work @param {unknown} [message] */
function doesNotThrow(work, message) {
  try {
    work();
  } catch (error) {
    complain(typeof message === "function" ? undefined : message, () => `${error} was thrown`);
  }
}

/** @param {any} work @param {any} [expected] @param {unknown} [message] */
async function rejects(work, expected, message) {
  const [wanted, text] = expectation(expected, message);
  const promise = typeof work === "function" ? work() : work;
  if (typeof promise?.then !== "function") throw new TypeError("this is no promise");
  let error;
  try {
    await promise;
  } catch (thrown) {
    error = { thrown };
  }
  if (!error) complain(text, () => "the promise was not rejected");
  checkThrown(error.thrown, wanted, text);
}

/** @param {any} work @param {unknown} [message] */
async function doesNotReject(work, message) {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    complain(typeof message === "function" ? undefined : message, () => `rejected with ${error}`);
  }
}

function assert(value, message) {
  ok(value, message);
}

export default Object.assign(assert, {
  AssertionError,
  deepEqual,
  deepStrictEqual: deepEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  equal,
  fail,
  match,
  notDeepEqual,
  notDeepStrictEqual: notDeepEqual,
  notEqual,
  notStrictEqual: notEqual,
  ok,
  rejects,
  strict: assert,
  strictEqual: equal,
  throws,
});
