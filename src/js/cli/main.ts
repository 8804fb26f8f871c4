#!/usr/bin/env node
// The program `zeropoint`: finds the command, runs it, and ends with its exit code. Loads the code of one command only.

/// <reference types="node" />

import { COMMAND_NAMES, type CommandName, isCommand } from "./names.js";
import { codeOfSignal, signal } from "./signals.js";

/** Loads the code of a command. */
const LOAD: Readonly<Record<CommandName, () => Promise<{ run: Run }>>> = {
  inspect: () => import("./commands/inspect.js"),
  analyze: () => import("./commands/analyze.js"),
  plan: () => import("./commands/plan.js"),
  quantize: () => import("./commands/quantize.js"),
  compare: () => import("./commands/compare.js"),
  verify: () => import("./commands/verify.js"),
  finish: () => import("./commands/finish.js"),
};

/** Runs a command. @returns its exit code */
export type Run = (args: readonly string[], signal: AbortSignal) => Promise<number>;

const isHelp = (arg: string): boolean => arg === "--help" || arg === "-h";

async function main(args: readonly string[]): Promise<number> {
  const [first] = args;
  // Help is wanted unless the option comes after --, which ends the options.
  const end = args.indexOf("--");
  const options = end < 0 ? args : args.slice(0, end);
  if (first === undefined || first === "help" || options.some(isHelp)) {
    const { helpText } = await import("./help.js");
    const topic = first === "help" ? args[1] : first;
    if (topic !== undefined && !isHelp(topic) && !isCommand(topic)) return await unknown(topic);
    const text = helpText(isCommand(topic) ? topic : undefined);
    // Without any argument the help is the answer to an incomplete command.
    const stream = first === undefined ? process.stderr : process.stdout;
    stream.write(text);
    return first === undefined ? 2 : 0;
  }
  if (first === "--version" || first === "-V" || first === "version") {
    const { packageVersion } = await import("./version.js");
    process.stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  if (!isCommand(first)) return await unknown(first);
  return await interruptible(first, args.slice(1));
}

async function unknown(command: string): Promise<number> {
  const { nearest } = await import("./arguments.js");
  const kind = command.startsWith("-") ? "option" : "command";
  const near = kind === "command" ? nearest(command, COMMAND_NAMES) : undefined;
  const hint =
    near === undefined ? `the commands are ${COMMAND_NAMES.join(", ")}` : `did you mean ${near}?`;
  const { printable } = await import("./output/terminal.js");
  const problem = `there is no ${kind} ${JSON.stringify(command)}; ${hint}`;
  process.stderr.write(`zeropoint: ${printable(problem)}\n`);
  return 2;
}

/** Runs a command, which a signal may interrupt. */
async function interruptible(name: CommandName, args: readonly string[]): Promise<number> {
  try {
    const { run } = await LOAD[name]();
    return await run(args, signal);
  } catch (error) {
    const { Failure, report } = await import("./failures.js");
    if (!signal.aborted) return report(name, error);
    const message = error instanceof Failure ? error.message : "interrupted";
    const { printable } = await import("./output/terminal.js");
    process.stderr.write(`zeropoint: ${printable(message)}\n`);
    return codeOfSignal();
  }
}

// The reader of a pipe may end early, as head does.
process.stdout.on("error", async (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  const { EXIT, reasonOf } = await import("./failures.js");
  process.stderr.write(`zeropoint: standard output: ${reasonOf(error)}\n`);
  process.exit(EXIT.output);
});

process.exitCode = await main(process.argv.slice(2));
