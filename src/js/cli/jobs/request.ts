// The order for a quantized model: a scheme or a plan, and options; with the hash of all of it.

import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { QuantizeModelOptions } from "../../models/quantize/quantize-model.js";
import type { SchemePlan } from "../../models/quantize/scheme-choice.js";
import { EXIT, Failure, usage } from "../failures.js";
import { readText } from "../input.js";
import { noteInputPath } from "../output/places.js";
import { packageVersion } from "../version.js";
import type { JobOptions } from "./done.js";
import { hasFields, parseJson } from "./json.js";
import { hashOf } from "./sources.js";

/** The order for a quantized model. */
export interface QuantizeRequest {
  readonly scheme: string | SchemePlan;
  readonly options: JobOptions;
  /** Hash of the plan's schemes, or of the scheme's name. */
  readonly plan: string;
  /** Hash of everything that the bytes depend on. */
  readonly job: string;
}

/** @param planPath  instead of a scheme @throws {Failure} unless there is exactly one of the two */
export async function readRequest(
  scheme: string | undefined,
  planPath: string | undefined,
  options: JobOptions,
  names: string,
  signal: AbortSignal,
): Promise<QuantizeRequest> {
  if ((scheme === undefined) === (planPath === undefined)) {
    const problem = scheme === undefined ? "one of them is needed" : "both are given";
    throw usage(`${names} and --plan say how to quantize: ${problem}`);
  }
  const chosen = scheme ?? (await readPlan(planPath as string, signal));
  const plan = hashOf(typeof chosen === "string" ? chosen.toLowerCase() : chosen.schemes);
  const all = typeof chosen === "string" ? options : { ...plannedOptions(chosen), ...options };
  return { scheme: chosen, options: all, plan, job: hashOf([packageVersion(), plan, all]) };
}

/** The format and the target that a plan was made for. */
function plannedOptions(plan: SchemePlan): JobOptions {
  const { format, target } = Object((plan as { readonly options?: unknown }).options) as JobOptions;
  return {
    ...(typeof format === "string" && { format }),
    ...(typeof target === "string" && { target }),
  };
}

/** Reads the file of --plan. @throws {Failure} if it is no plan */
export async function readPlan(path: string, signal: AbortSignal): Promise<SchemePlan> {
  await noteInputPath(path);
  const text = await readText("--plan", path, signal);
  const plan = parseJson(`--plan ${path}`, text);
  if (hasFields(plan, {}) && hasFields(plan.schemes, {})) return plan as unknown as SchemePlan;
  throw new Failure(
    EXIT.input,
    `--plan ${path}: it has no schemes; zeropoint plan -o writes plans`,
  );
}

/** The hash of a file, which is read again later. @throws {Failure} for a pipe */
export async function hashOfFile(path: string): Promise<string> {
  await noteInputPath(path);
  const found = await stat(path);
  if (!found.isFile() && !found.isDirectory()) throw new Failure(EXIT.input, `${path} is no file`);
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

/** Options for `quantizeModel`. */
export function modelOptions(options: JobOptions): QuantizeModelOptions {
  const { format, target, activations, pure, tokenEmbeddingType, outputTensorType } = options;
  const { requantize, tensorTypes } = options;
  return {
    // The library checks the names.
    ...(format !== undefined && { format: format as QuantizeModelOptions["format"] }),
    ...(activations !== undefined && {
      activations: activations as QuantizeModelOptions["activations"],
    }),
    ...(target !== undefined && { target }),
    ...(pure !== undefined && { pure }),
    ...(requantize !== undefined && { requantize }),
    ...(tokenEmbeddingType !== undefined && { tokenEmbeddingType }),
    ...(outputTensorType !== undefined && { outputTensorType }),
    ...(tensorTypes !== undefined && { tensorTypes }),
  };
}
