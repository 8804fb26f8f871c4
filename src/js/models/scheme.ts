// Scheme names: how to quantize one tensor, as text ("int4-g32-affine-mse", "q4_k", "float16", "keep").

import { BLOCK_NAMES, type BlockName } from "../base/block-types.js";
import { DTYPES, type DType } from "../base/dtype.js";
import { rangeError, typeError } from "../base/errors.js";
import { show } from "../base/format-value.js";
import type { AnyQuantizeOptions } from "../quantize/options.js";

/** Integer codes with a scale per tensor, channel or group. */
export interface LinearScheme {
  readonly kind: "linear";
  /** The canonical name. */
  readonly name: string;
  readonly dtype: DType;
  /** One scale per tensor, per output channel, or per group of consecutive inputs. */
  readonly granularity: "tensor" | "channel" | "group";
  /** Inputs of a group; undefined unless the granularity is "group". */
  readonly groupSize: number | undefined;
  readonly isAffine: boolean;
  /** How qparams are chosen: from the smallest to the largest value, by least squared error, or half-quadratic. */
  readonly search: "minmax" | "mse" | "hqq";
}

/** How to quantize one tensor. */
export type Scheme =
  | LinearScheme
  | { readonly kind: "block"; readonly name: BlockName }
  | { readonly kind: "half"; readonly name: "float16" | "bfloat16" }
  | { readonly kind: "keep"; readonly name: "keep" };

const LINEAR = /^(u?int\d)-(tensor|channel|g(\d+))(-affine)?(?:-(mse|hqq))?$/;

const FORMS =
  '<dtype>-tensor, -channel or -g<N> with optional -affine and -mse or -hqq ("int4-g32"), ' +
  'a block type ("q4_k"), "float16", "bfloat16" or "keep"';

/**
 * Reads a scheme name; upper and lower case are the same.
 * @param argument  the argument's name in messages
 * @throws {TypeError} `ZP_INVALID_SCHEME` if it is not a string
 * @throws {RangeError} `ZP_INVALID_SCHEME` if no scheme has the name
 */
export function parseScheme(where: string, argument: string, given: unknown): Scheme {
  if (typeof given !== "string") {
    const problem = `${argument} must be the name of a scheme, got ${show(given)}`;
    throw typeError("ZP_INVALID_SCHEME", where, problem);
  }
  const name = given.toLowerCase();
  if (name === "keep") return { kind: "keep", name };
  if (name === "float16" || name === "bfloat16") return { kind: "half", name };
  const block = BLOCK_NAMES.find((each) => each === name);
  if (block !== undefined) return { kind: "block", name: block };
  return parseLinear(where, argument, name, given);
}

function parseLinear(where: string, argument: string, name: string, given: string): LinearScheme {
  const refuse = (problem: string): Error =>
    rangeError("ZP_INVALID_SCHEME", where, `${argument} ${problem}, got ${show(given)}`);
  const [, dtype, unit, size, affine, search = "minmax"] = LINEAR.exec(name) ?? [];
  if (/^u?int\d$/.test(name) && Object.hasOwn(DTYPES, name)) {
    const end = name.startsWith("u") ? "-affine" : "";
    const names = ["channel", "tensor", "g32"].map((slices) => show(`${name}-${slices}${end}`));
    throw refuse(`must say what shares a scale (${names.join(", ")} …)`);
  }
  if (dtype === undefined) throw refuse(`must be ${FORMS}`);
  if (!Object.hasOwn(DTYPES, dtype)) throw refuse(`names a dtype that does not exist, ${dtype}`);
  const isAffine = affine !== undefined;
  if (dtype.startsWith("u") && !isAffine) {
    throw refuse(`names an unsigned dtype, which needs -affine (${dtype}-${unit}-affine)`);
  }
  const groupSize = size === undefined ? undefined : Number(size);
  if (groupSize === 0 || (groupSize ?? 0) > 2 ** 31) throw refuse("must have groups of 1 to 2^31");
  return {
    kind: "linear",
    name,
    dtype: dtype as DType,
    granularity: groupSize === undefined ? (unit as "tensor" | "channel") : "group",
    groupSize,
    isAffine,
    search: search as LinearScheme["search"],
  };
}

/**
 * The options by which `quantize` and `fakeQuantize` quantize a weight [outputs, inputs] as a scheme says.
 *
 * @param name  of a linear scheme; block types are for `quantizeBlocks`
 * @throws {TypeError} `ZP_INVALID_SCHEME` if it is not a string
 * @throws {RangeError} `ZP_INVALID_SCHEME` if it is not the name of a linear scheme
 * @example Object.entries(schemeOptions("int4-g32")).join(" ") // "dtype,int4 scheme,symmetric groupSize,32"
 */
export function schemeOptions(name: string): AnyQuantizeOptions {
  const where = "schemeOptions";
  const scheme = parseScheme(where, "name", name);
  if (scheme.kind !== "linear") {
    const problem = `name must be a dtype with a granularity ("int4-g32"), got ${show(name)}`;
    throw rangeError("ZP_INVALID_SCHEME", where, problem);
  }
  const { dtype, isAffine, granularity, groupSize, search } = scheme;
  return {
    dtype,
    scheme: isAffine ? "affine" : "symmetric",
    ...(granularity === "channel" && { axis: 0 }),
    ...(granularity === "group" && { groupSize }),
    ...(search !== "minmax" && { range: search }),
  };
}
