// The types of files that llama-quantize makes, by its names.
// Source: llama.cpp 0.7 (tools/quantize/quantize.cpp, llama_ftype_get_default_type, llama_model_loader).

import { BLOCK_NAMES } from "../../../base/block-types.js";
import { checkChoice } from "../../../base/check.js";
import { fieldOf } from "../../../base/fields.js";
import type { FileDType } from "../../../formats/dtypes.js";

/** A type of files: which dtype most weights get, and by which mix the others. */
export interface FileType {
  /** llama-quantize's name. */
  readonly name: string;
  /** `general.file_type`; undefined for COPY, which keeps the source's. */
  readonly number: number | undefined;
  /** The dtype of most weights; undefined for COPY. */
  readonly dtype: FileDType | undefined;
}

const type = (name: string, number: number, dtype: FileDType): FileType => ({
  name,
  number,
  dtype,
});

/** llama-quantize's types, without those of the lattice types (IQ1, IQ2, IQ3). */
const FILE_TYPES: readonly FileType[] = [
  type("F32", 0, "float32"),
  type("F16", 1, "float16"),
  type("BF16", 32, "bfloat16"),
  type("Q8_0", 7, "q8_0"),
  type("Q4_0", 2, "q4_0"),
  type("Q4_1", 3, "q4_1"),
  type("Q5_0", 8, "q5_0"),
  type("Q5_1", 9, "q5_1"),
  type("Q2_K", 10, "q2_k"),
  type("Q2_K_S", 21, "q2_k"),
  type("Q3_K_S", 11, "q3_k"),
  type("Q3_K_M", 12, "q3_k"),
  type("Q3_K_L", 13, "q3_k"),
  type("Q4_K_S", 14, "q4_k"),
  type("Q4_K_M", 15, "q4_k"),
  type("Q5_K_S", 16, "q5_k"),
  type("Q5_K_M", 17, "q5_k"),
  type("Q6_K", 18, "q6_k"),
  type("IQ4_NL", 25, "iq4_nl"),
  type("IQ4_XS", 30, "iq4_xs"),
  type("TQ1_0", 36, "tq1_0"),
  type("TQ2_0", 37, "tq2_0"),
  type("MXFP4_MOE", 38, "mxfp4"),
  type("Q1_0", 40, "q1_0"),
  type("Q2_0", 41, "q2_0"),
  { name: "COPY", number: undefined, dtype: undefined },
];

/** Short names of mixes. */
const ALIASES: { readonly [name: string]: string } = {
  Q3_K: "Q3_K_M",
  Q4_K: "Q4_K_M",
  Q5_K: "Q5_K_M",
};

/** The names that `parseFileType` knows. */
export const FILE_TYPE_NAMES: readonly string[] = FILE_TYPES.map(({ name }) => name);

/** The type of a name in upper or lower case. @returns undefined if llama-quantize has none, or a lattice type */
export function parseFileType(name: string): FileType | undefined {
  const upper = name.toUpperCase();
  const full = Object.hasOwn(ALIASES, upper) ? ALIASES[upper] : upper;
  return FILE_TYPES.find((each) => each.name === full);
}

/** ggml's names of floats, and the names that schemes have. */
const FLOAT_TYPES: { readonly [name: string]: FileDType } = {
  f32: "float32",
  f16: "float16",
  bf16: "bfloat16",
};

/**
 * The dtype of a single tensor by ggml's name of its type, or by a scheme's name, in upper or lower case.
 * @throws {TypeError | RangeError} `ZP_INVALID_OPTION`
 */
export function parseTensorType(where: string, argument: string, given: unknown): FileDType {
  const name = typeof given === "string" ? given.toLowerCase() : given;
  if (typeof name === "string" && Object.hasOwn(FLOAT_TYPES, name)) return FLOAT_TYPES[name];
  const names = [...BLOCK_NAMES, "float32", "float16", "bfloat16"] as const;
  return checkChoice(where, argument, name, names, undefined);
}

/** `general.file_type` by the dtype of most tensors; of mixes the medium one. */
const NUMBERS: { readonly [dtype: string]: number } = {
  ...Object.fromEntries(FILE_TYPES.map(({ dtype, number }) => [dtype, number])),
  q2_k: 10,
  q3_k: 12,
  q4_k: 15,
  q5_k: 17,
  iq2_xxs: 19,
  iq2_xs: 20,
  iq2_s: 28,
  iq3_xxs: 23,
  iq3_s: 26,
  iq1_s: 24,
  iq1_m: 31,
  nvfp4: 39,
};

/**
 * `general.file_type` of a file of mixed dtypes, as llama.cpp's loader guesses it: by the dtype of most tensors, the
 * first one to reach their number.
 */
export function guessFileType(dtypes: Iterable<FileDType>): number {
  const counts = new Map<FileDType, number>();
  let most = 0;
  let dtype: FileDType = "float32";
  for (const each of dtypes) {
    const count = (counts.get(each) ?? 0) + 1;
    counts.set(each, count);
    if (count > most) {
      most = count;
      dtype = each;
    }
  }
  return fieldOf(NUMBERS, dtype) ?? 0;
}
