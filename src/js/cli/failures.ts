// Failures of a command: one line on standard error, and an exit code.

import { printable, printableLines } from "./output/terminal.js";

/** Exit codes. */
export const EXIT = {
  ok: 0,
  /**
   * compare: beyond the tolerance, or nothing to compare; finish: files missing or wrong; quantize --verify: the result
   * differs from the source; verify: a tensor is not what the source gives.
   */
  different: 1,
  /** Wrong arguments. */
  usage: 2,
  /** A file cannot be read, or is damaged. */
  input: 3,
  /** A file cannot be written: it exists, there is no room, permission is denied. */
  output: 4,
  /** verify: nothing differs but blocks at ties of rounding. */
  ties: 5,
  /** A bug of this program. */
  bug: 70,
} as const;

/** A failure that is reported by its message alone, without a stack. */
export class Failure extends Error {
  /** @param code  the exit code */
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** A failure of an argument. */
export const usage = (message: string): Failure => new Failure(EXIT.usage, message);

/** Codes of the library's errors about a file that was read. */
const ABOUT_INPUT = /^ZP_(LOAD_FAILED|INVALID_FILE|UNSUPPORTED_FILE|INVALID_MODEL|NON_FINITE)$/;
/** Codes of the library's errors about the engine. */
const ABOUT_ENGINE = /^ZP_(UNSUPPORTED_ENGINE|NOT_INITIALIZED|OUT_OF_MEMORY|DISPOSED)$/;

/** Reasons of errors of the file system. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the device",
  EDQUOT: "the quota is used up",
  ENOENT: "there is no such file or folder",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is no folder",
  EMFILE: "too many open files",
  EFBIG: "the file system holds no file of this size",
  ENAMETOOLONG: "the name is too long",
  EEXIST: "it exists already",
  EIO: "the device reports an error",
};

/** The reason of an error of the file system, in words. */
export const reasonOf = ({ code = "", message }: NodeJS.ErrnoException): string =>
  REASONS[code] ?? message;

/** Prints an error. @returns the exit code */
export function report(command: string, error: unknown): number {
  const { line, code } = describe(error);
  process.stderr.write(`zeropoint ${command}: ${printable(line)}\n`);
  if (code === EXIT.bug) {
    const stack = printableLines(stackOf(error));
    process.stderr.write(`This is a bug of zeropoint. Where it happened:\n${stack}\n`);
  }
  return code;
}

const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** An error in one line, with the exit code. */
export function describe(error: unknown): { readonly line: string; readonly code: number } {
  if (error instanceof Failure) return { line: error.message, code: error.code };
  const { code, message, syscall, path } = Object(error) as Partial<NodeJS.ErrnoException>;
  if (typeof code === "string" && code.startsWith("ZP_")) {
    return { line: plain(String(message)), code: exitCodeOf(code) };
  }
  if (typeof code === "string" && syscall !== undefined) {
    const isWrite = !["open", "stat"].includes(syscall) || code !== "ENOENT";
    const line = `${path ?? "a file"}: ${reasonOf(error as NodeJS.ErrnoException)}`;
    return { line, code: isWrite ? EXIT.output : EXIT.input };
  }
  return { line: String(message ?? error).split("\n")[0], code: EXIT.bug };
}

function exitCodeOf(code: string): number {
  if (ABOUT_INPUT.test(code)) return EXIT.input;
  return ABOUT_ENGINE.test(code) ? EXIT.bug : EXIT.usage;
}

/** A message of the library without the name of its function, in one line. */
function plain(message: string): string {
  const line = message.replaceAll(/\s*\n\s*/g, " ");
  // "ENOENT: no such file or directory, open '/x'" repeats the path.
  const known = /^\w[\w.]*: (.*) could not be opened: (E[A-Z]+): .*$/.exec(line);
  if (known !== null) return `${known[1]}: ${REASONS[known[2]] ?? "it could not be opened"}`;
  return withOptionNames(line.replace(/^[a-z]\w*(\.\w+)*: /i, ""));
}

/** Options of the library that have another name on the command line. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  bytes: "size",
  bitsPerWeight: "size",
  ratio: "size",
};

/** A message with the names of options as the command line has them. */
export const withOptionNames = (message: string): string =>
  message.replaceAll(/\boptions\.(\w+)(\[\d+\])?/g, (_, name: string) => {
    const own =
      OPTION_NAMES[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return `--${own}`;
  });
