// Files as transformers.js looks for them: onnx/NAME_SUFFIX.onnx, by its name of a dtype.
// Source: @huggingface/transformers 4.3 (utils/dtypes.js, utils/model-loader.js).

import { rangeError } from "../../../base/errors.js";
import { show } from "../../../base/format-value.js";
import type { Scheme } from "../../scheme.js";
import type { Job, QuantizedRow } from "../types.js";
import { TRANSFORMERS_DTYPES as DTYPES } from "./dtypes.js";

/**
 * The end of a file's name.
 * @param rows  what was done with each tensor
 * @throws {RangeError} `ZP_INVALID_SCHEME` for schemes that have no name there, and for more than one
 */
export function suffixOf(
  { where, choice, model }: Job,
  rows: readonly QuantizedRow[],
  schemes: ReadonlyMap<string, Scheme>,
): string {
  const asked = choice.kind === "uniform" ? choice.name.toLowerCase() : "";
  const isHalf = [...model.tensors.values()].some(({ dtype }) => dtype === "float16");
  if (asked === "q4f16" && !isHalf) {
    const problem =
      'scheme "q4f16" needs a model in float16, whose products have inputs of float16; "q4" is for float32';
    throw rangeError("ZP_INVALID_SCHEME", where, problem);
  }
  if (Object.hasOwn(DTYPES, asked)) return DTYPES[asked].suffix;
  const suffixes = new Map<string, string>();
  for (const { name, scheme: label } of rows) {
    const scheme = schemes.get(name);
    if (label === "keep" || scheme === undefined) continue;
    const suffix = suffixOfScheme(scheme, isHalf);
    if (suffix === undefined) {
      const problem = `transformers.js has no name for a file of scheme ${show(label)}; it has int8, uint8, int4 or uint4 in groups, and float16`;
      throw rangeError("ZP_INVALID_SCHEME", where, `options.target: ${problem}`);
    }
    suffixes.set(suffix, label);
  }
  if (suffixes.size > 1) {
    const some = [...suffixes.values()].map((each) => show(each)).join(" and ");
    const problem = `transformers.js has no name for a file of ${some} together`;
    throw rangeError("ZP_INVALID_SCHEME", where, `options.target: ${problem}`);
  }
  return [...suffixes.keys()][0] ?? "";
}

function suffixOfScheme(scheme: Scheme, isHalf: boolean): string | undefined {
  if (scheme.kind === "half") return scheme.name === "float16" ? DTYPES.fp16.suffix : undefined;
  if (scheme.kind !== "linear") return undefined;
  const { dtype, granularity } = scheme;
  if (dtype === "int8" || dtype === "uint8") return DTYPES[dtype].suffix;
  if (!/^u?int4$/.test(dtype) || granularity !== "group") return undefined;
  return isHalf ? DTYPES.q4f16.suffix : DTYPES.q4.suffix;
}

const stemOf = (fileName: string | undefined): string =>
  (fileName ?? "model.onnx").replace(/\.onnx$/i, "");

/** How a file is loaded whose name is none of those that transformers.js looks for by itself. */
export function nameNotes(fileName: string | undefined): string[] {
  const stem = stemOf(fileName);
  // model, decoder_model_merged, vision_encoder, embed_tokens and others: each architecture has its own.
  if (/model|encoder|decoder|embed/i.test(stem)) return [];
  return [
    `transformers.js looks for names such as model: this file is loaded with model_file_name: ${show(stem)}`,
  ];
}

/** Names of the files: of the model, and of its external data as the model names it. */
export function namesFor(
  fileName: string | undefined,
  suffix: string,
): { readonly folder: string; readonly model: string; readonly external: string } {
  const stem = stemOf(fileName);
  return {
    folder: "onnx/",
    model: `${stem}${suffix}.onnx`,
    external: `${stem}${suffix}.onnx_data`,
  };
}
