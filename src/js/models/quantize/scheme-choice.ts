// The second argument of quantizeModel: a scheme's name, a plan, or a function, read once.

import { wrongKind } from "../../base/check.js";
import { rangeError, typeError } from "../../base/errors.js";
import { ownFields } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { checkObject } from "../../base/options.js";
import type { Model, ModelTensor } from "../open/model.js";
import type { Scheme } from "../scheme.js";
import { refusedReason } from "../selection.js";
import type { SchemeChoice } from "./types.js";

/** A plan, as far as `quantizeModel` reads it. */
export interface SchemePlan {
  /** Names of schemes by the names of tensors; tensors that are not in it are kept. */
  readonly schemes: Readonly<Record<string, string>>;
  /** Why a tensor has its scheme. */
  readonly reasons?: Readonly<Record<string, string>> | undefined;
}

/** Chooses the scheme of a tensor, or promises it; undefined is "keep". */
export type SchemeFunction = (
  tensor: ModelTensor,
) => string | undefined | PromiseLike<string | undefined>;

/** Reads the name of a scheme. @param argument  the argument's name in messages */
export type SchemeParser = (argument: string, name: unknown) => Scheme;

/**
 * Reads the choice.
 * @param chosen  a tensor as the choice of its scheme sees it
 * @throws {TypeError} `ZP_INVALID_SCHEME` for another kind of value
 * @throws {RangeError} `ZP_INVALID_SCHEME` for names that no scheme has; `ZP_INVALID_MODEL` for a plan of another model
 */
export async function readSchemeChoice(
  where: string,
  model: Model,
  given: unknown,
  parse: SchemeParser,
  chosen: (tensor: ModelTensor) => ModelTensor,
): Promise<SchemeChoice> {
  if (typeof given === "string") return { kind: "uniform", name: given };
  if (typeof given === "function") {
    return await askEach(where, model, given as SchemeFunction, parse, chosen);
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const wanted = "the name of a scheme, a plan with schemes, or a function";
    throw wrongKind("ZP_INVALID_SCHEME", where, "scheme", wanted, given);
  }
  const { schemes, reasons, version } = ownFields(checkObject(where, "plan", given));
  if (version !== undefined && version !== 1) {
    throw rangeError("ZP_UNSUPPORTED_FILE", where, `plan.version must be 1, got ${show(version)}`);
  }
  return readPlan(where, model, schemes, reasons, parse);
}

function readPlan(
  where: string,
  model: Model,
  given: unknown,
  reasonsGiven: unknown,
  parse: SchemeParser,
): SchemeChoice {
  const schemes = new Map<string, Scheme>();
  for (const [name, scheme] of Object.entries(checkObject(where, "plan.schemes", given))) {
    schemes.set(name, parse(`plan.schemes[${JSON.stringify(name)}]`, scheme));
  }
  const reasons = new Map<string, string>();
  const texts = reasonsGiven === undefined ? {} : checkObject(where, "plan.reasons", reasonsGiven);
  for (const [name, text] of Object.entries(texts)) reasons.set(name, String(text));
  if (schemes.size > 0 && ![...schemes.keys()].some((name) => model.tensors.has(name))) {
    const [first] = schemes.keys();
    const problem = `plan.schemes names no tensor of the model; its first is ${show(first)}`;
    throw rangeError("ZP_INVALID_MODEL", where, problem);
  }
  return { kind: "plan", schemes, reasons };
}

/** Calls the function for each tensor that can be quantized. */
async function askEach(
  where: string,
  model: Model,
  choose: SchemeFunction,
  parse: SchemeParser,
  chosen: (tensor: ModelTensor) => ModelTensor,
): Promise<SchemeChoice> {
  const schemes = new Map<string, Scheme>();
  for (const [name, tensor] of model.tensors) {
    if (refusedReason(chosen(tensor)) !== undefined) continue;
    const answer: unknown = await choose({ ...tensor });
    if (answer === undefined) continue;
    if (typeof answer !== "string") {
      const problem = `the function must return the name of a scheme for ${show(name)}, got ${show(answer)}`;
      throw typeError("ZP_INVALID_SCHEME", where, problem);
    }
    schemes.set(name, parse(`the function's result for ${show(name)}`, answer));
  }
  return { kind: "function", schemes, reasons: new Map() };
}
