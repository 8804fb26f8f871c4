// Arguments of a command: options by name, checked against the list of the command.

import { parseArgs } from "node:util";
import { editDistance } from "../base/edit-distance.js";
import { COMMANDS, COMMON_OPTIONS, type CommandOption } from "./commands.js";
import { usage } from "./failures.js";
import type { CommandName } from "./names.js";
import { STANDARD_OUTPUT } from "./output/places.js";

/** Parsed arguments. */
export interface Arguments {
  /** Arguments that are no options. */
  readonly operands: readonly string[];
  /** The value of an option; undefined if it was not given. */
  text(name: string): string | undefined;
  /** All values of an option that may be given several times. */
  list(name: string): readonly string[];
  /** Whether an option without a value was given. */
  has(name: string): boolean;
}

/**
 * Reads the arguments of a command.
 * @throws {Failure} for an unknown option, a missing value, a value that takes none, or too few or many operands
 */
export function readArguments(command: CommandName, args: readonly string[]): Arguments {
  const { operands: wanted, options } = COMMANDS[command];
  const known = [...options, ...COMMON_OPTIONS];
  const config = known.map(
    ({ name, short, value }) =>
      [
        name,
        { type: value === undefined ? "boolean" : "string", ...(short && { short }) },
      ] as const,
  );
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(config) as NonNullable<
      Parameters<typeof parseArgs>[0]
    >["options"] as Record<string, { type: "string" | "boolean" }>,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const operands: string[] = [];
  const values = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") operands.push(token.value);
    if (token.kind !== "option") continue;
    const option = known.find(({ name }) => name === token.name);
    if (option === undefined) throw unknownOption(token.rawName, known);
    const value = checkValue(option, token.rawName, token.value, token.inlineValue);
    const given = values.get(option.name) ?? [];
    if (given.length > 0 && option.value !== undefined && option.isList !== true) {
      throw usage(`${token.rawName} is given twice`);
    }
    values.set(option.name, [...given, value]);
  }
  checkOperands(command, operands, wanted);
  return {
    operands,
    text: (name) => {
      const given = values.get(name)?.[0];
      return name === "output" && STANDARD_OUTPUT.includes(given ?? "") ? "-" : given;
    },
    list: (name) => values.get(name) ?? [],
    has: (name) => values.has(name),
  };
}

function checkValue(
  option: CommandOption,
  rawName: string,
  value: string | undefined,
  isInline: boolean | undefined,
): string {
  if (option.value === undefined) {
    if (value === undefined) return "";
    throw usage(`${rawName} takes no value, got ${JSON.stringify(value)}`);
  }
  if (value === undefined || value === "") throw usage(`${rawName} takes ${option.value}`);
  if (isInline !== true && /^-./.test(value) && Number.isNaN(Number(value))) {
    throw usage(`${rawName} takes ${option.value}, got ${value}; ${rawName}=${value} if it is one`);
  }
  return value;
}

function unknownOption(rawName: string, known: readonly CommandOption[]): Error {
  const names = known.map(({ name }) => name);
  const near = nearest(rawName.replace(/^-+/, ""), names);
  const hint = near === undefined ? "--help lists the options" : `did you mean --${near}?`;
  return usage(`there is no option ${rawName}; ${hint}`);
}

function checkOperands(
  command: CommandName,
  operands: readonly string[],
  wanted: readonly string[],
): void {
  const form = `zeropoint ${command} ${wanted.join(" ")} [options]`;
  const needed = wanted.filter((name) => !name.startsWith("["));
  if (operands.length < needed.length) {
    throw usage(`${needed[operands.length]} is missing; usage: ${form}`);
  }
  const empty = operands.indexOf("");
  if (empty >= 0 && empty < wanted.length) {
    throw usage(`${wanted[empty]} is empty; usage: ${form}`);
  }
  if (operands.length > wanted.length) {
    const extra = JSON.stringify(operands[wanted.length]);
    throw usage(`${extra} is one argument too many; usage: ${form}`);
  }
}

/** The name that a misspelled one most likely means: up to two edits, less than half of it. */
export function nearest(text: string, names: readonly string[]): string | undefined {
  const given = text.toLowerCase().slice(0, 32);
  let best: string | undefined;
  let least = Math.min(3, Math.ceil(given.length / 2));
  for (const name of names) {
    const distance = name.startsWith(given) && given.length > 2 ? 0 : editDistance(given, name);
    if (distance < least) {
      best = name;
      least = distance;
    }
  }
  return best;
}
