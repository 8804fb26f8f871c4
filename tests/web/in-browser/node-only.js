// Features that only Node has: importing them is harmless, using them throws NodeOnly.

/** Thrown when a test uses a feature that browsers lack; the runner does not count it as a failure. */
export class NodeOnly extends Error {
  name = "NodeOnly";
}

/**
 * Replaces an export of a Node module.
 * @param {string} name  as "node:fs readFileSync"
 */
export function nodeOnly(name) {
  const refuse = () => {
    throw new NodeOnly(`${name} is Node's`);
  };
  return new Proxy(function stub() {}, { apply: refuse, construct: refuse, get: refuse });
}

/**
 * Whether an error is a NodeOnly error, or is caused by one.
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
