// The schemes that the files of each format hold.

import { BLOCK_NAMES } from "../../base/block-types.js";
import { checkChoice } from "../../base/check.js";

/** Formats that plans are made for. */
export type PlanFormat = "safetensors" | "gguf" | "onnx";

const FORMATS: readonly PlanFormat[] = ["safetensors", "gguf", "onnx"];

/** Whether files of a format hold a scheme. Names that are no schemes of this library are the caller's. */
function isHeld(format: PlanFormat, scheme: string): boolean {
  if ((BLOCK_NAMES as readonly string[]).includes(scheme)) return format === "gguf";
  return format !== "gguf" || !/^u?int\d/.test(scheme);
}

/** The format of a plan. */
export interface ChosenFormat {
  readonly name: PlanFormat | undefined;
  holds(scheme: string): boolean;
}

/**
 * Reads the option.
 * @param given  undefined for the format of all rows, if they name one; rows of other formats are for safetensors
 */
export function checkFormat(where: string, given: unknown, rows: readonly unknown[]): ChosenFormat {
  const name =
    given === undefined
      ? formatOfRows(rows)
      : checkChoice(where, "options.format", given, FORMATS, undefined);
  return { name, holds: (scheme) => name === undefined || isHeld(name, scheme) };
}

function formatOfRows(rows: readonly unknown[]): PlanFormat | undefined {
  let common: string | undefined;
  for (const row of rows) {
    if (typeof row !== "object" || row === null || !Object.hasOwn(row, "format")) return undefined;
    const { format } = row as { readonly format?: unknown };
    if (typeof format !== "string" || (common !== undefined && common !== format)) return undefined;
    common = format;
  }
  if (common === undefined) return undefined;
  return FORMATS.find((format) => format === common) ?? "safetensors";
}
