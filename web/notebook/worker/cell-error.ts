// Describes the error of a cell, with its line.

import { str } from "zeropoint/notebook";

export interface CellError {
  name: string;
  message: string;
  /** The exception Python raises in its place. */
  pythonType?: string;
  /** In the cell that was run, from 1. */
  line?: number;
  /** The name that holds a promise where a value was meant. */
  promise?: string;
  /** The name that may have been meant. */
  near?: string;
  /** Another possible meaning, as a sentence. */
  advice?: string;
  /** Whether torch has the name that is missing. */
  inTorch?: boolean;
  /** Where an earlier cell's function failed. */
  inside?: { cell: string; line: number };
}

/**
 * @param file  the name under which the cell was evaluated
 * @param cellOf  the label of the cell evaluated under a name
 */
export function describeError(
  thrown: unknown,
  file: string,
  cellOf: (file: string) => string | undefined,
): CellError {
  if (!(thrown instanceof Error)) {
    return { name: "Thrown", message: safeString(thrown) };
  }
  const { name, message, stack, line, pythonType, near } = thrown as any;
  const error: CellError = { name: safeString(name), message: safeString(message) };
  if (pythonType === "AttributeError") {
    error.name = pythonType;
    const [, told, module, meant] = ATTRIBUTE.exec(error.message) ?? [];
    if (told) Object.assign(error, { message: told, near: module ? `${module}.${meant}` : meant });
  }
  if (isShort(pythonType)) error.pythonType = pythonType;
  if (isShort(near)) error.near = near;
  if (typeof line === "number") return { ...error, line };

  const frames = [...String(stack ?? "").matchAll(/(zeropoint-cell-\d+\.js):(\d+)/g)];
  const here = frames.find(([, where]) => where === file);
  if (here) error.line = Number(here[2]);
  const [innermost] = frames;
  if (innermost && innermost[1] !== file) {
    const cell = cellOf(innermost[1]);
    if (cell !== undefined) error.inside = { cell, line: Number(innermost[2]) };
  }
  return error;
}

/** The message of an AttributeError without the nearest name; its module, if it is one's, and that name. */
const ATTRIBUTE =
  /^((?:module '(\S+)'|'\S+' object) has no attribute '\S+')\. Did you mean: '(\S+)'\?$/;

/** Whether a value is a name. */
const isShort = (value: unknown): value is string =>
  typeof value === "string" && value.length <= NAME_LIMIT;

const NAME_LIMIT = 1000; // characters
const MESSAGE_LIMIT = 5000; // characters: a message is read, not searched

function safeString(value: unknown) {
  try {
    const text = str(value);
    if (text.length <= MESSAGE_LIMIT) return text;
    return `${text.slice(0, MESSAGE_LIMIT)} … the rest of the message is left out`;
  } catch {
    return "a value that cannot be shown";
  }
}
