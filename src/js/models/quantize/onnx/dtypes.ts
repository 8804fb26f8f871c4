// dtypes of transformers.js, which name files and schemes.
// Source: @huggingface/transformers 4.3 (utils/dtypes.js).

import { rangeError } from "../../../base/errors.js";
import { show } from "../../../base/format-value.js";

/** The target's name. */
export const TRANSFORMERS_JS = "transformers.js";

/** dtypes of transformers.js that are written: the scheme, and the end of the file's name. */
export const TRANSFORMERS_DTYPES: {
  readonly [dtype: string]: { readonly scheme: string; readonly suffix: string };
} = {
  fp16: { scheme: "float16", suffix: "_fp16" },
  q8: { scheme: "int8-channel", suffix: "_quantized" },
  int8: { scheme: "int8-channel", suffix: "_int8" },
  uint8: { scheme: "uint8-channel-affine", suffix: "_uint8" },
  q4: { scheme: "int4-g32", suffix: "_q4" },
  q4f16: { scheme: "int4-g32", suffix: "_q4f16" },
};

/** dtypes of transformers.js that have no scheme here. */
const UNWRITTEN = ["q2", "q2f16", "q1", "q1f16", "bnb4"];

/** The scheme of a dtype of transformers.js; other names as they are. */
export function schemeOfDType(where: string, argument: string, given: unknown): unknown {
  const name = typeof given === "string" ? given.toLowerCase() : "";
  if (Object.hasOwn(TRANSFORMERS_DTYPES, name)) return TRANSFORMERS_DTYPES[name].scheme;
  if (!UNWRITTEN.includes(name)) return given;
  const names = Object.keys(TRANSFORMERS_DTYPES).join(", ");
  const problem = `${argument} must be a dtype that is written for transformers.js (${names}), got ${show(given)}`;
  throw rangeError("ZP_INVALID_SCHEME", where, problem);
}

/** Whether a dtype's products quantize their inputs, which MatMulInteger does with int8 weights. */
export const isDynamicDType = (scheme: unknown): boolean =>
  typeof scheme === "string" && /^(q8|int8)$/i.test(scheme);
