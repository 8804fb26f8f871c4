// What only Node has: importing it is harmless, using it says so.

/** Thrown where a test uses what browsers lack; the runner tells such tests from failures. */
export class NodeOnly extends Error {
  name = "NodeOnly";
}

/**
 * Stands in for an export of one of Node's modules.
 * @param {string} name  as "node:fs readFileSync"
 */
export function nodeOnly(name) {
  const refuse = () => {
    throw new NodeOnly(`${name} is Node's`);
  };
  return new Proxy(function stub() {}, { apply: refuse, construct: refuse, get: refuse });
}

/**
 * Whether an error comes from something that only Node has, by itself or by what caused it.
 * @param {any} error
 * @returns {boolean}
 */
export function isNodeOnly(error) {
  if (!(error instanceof Error)) return false;
  if (error instanceof NodeOnly) return true;
  if (error instanceof ReferenceError && /^(Buffer|process) is not defined/.test(error.message)) {
    return true;
  }
  return isNodeOnly(error.cause);
}
