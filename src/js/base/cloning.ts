// Objects that neither JSON nor structuredClone can copy: both would make {} of their private state.

import { typeError } from "./errors.js";
import { define } from "./fields.js";

/** The body of `toJSON` of such objects. @throws {TypeError} `ZP_NOT_CLONEABLE` */
export function refuseJSON(): never {
  throw typeError(
    "ZP_NOT_CLONEABLE",
    "zeropoint",
    "layers, models and indexes are copied by save(…) of zeropoint/models, not by JSON or structuredClone",
  );
}

/** One object for all, so that deep comparisons find it equal without reading it. */
const GUARD = {
  get zeropoint(): never {
    return refuseJSON();
  },
};

/**
 * Makes structuredClone and postMessage of an object throw instead of copying its public fields alone.
 * Both read enumerable fields, so the object gets one with a field that throws.
 */
export function refuseClones(object: object): void {
  define(object, "structuredClone", { value: GUARD, enumerable: true });
}
