// SIGINT and SIGTERM. Only an unfinished file needs care: while there is one, a signal aborts the command, which then removes
// or records it. At other times the system's own action ends the process at once, also within a long calculation.

const abort = new AbortController();
let code = 0;
let unfinished = 0;

/** Aborted by the first signal that comes while a file is unfinished. */
export const { signal } = abort;

/** The exit code after such a signal; 0 before. */
export const codeOfSignal = (): number => code;

/** The first signal aborts the command; the second one ends it at once. */
function stop(name: NodeJS.Signals): void {
  if (code !== 0) process.exit(code);
  code = name === "SIGINT" ? 130 : 143;
  abort.abort(new Error(name));
}

/** Call before a file is begun. */
export function beginUnfinished(): void {
  if (unfinished++ > 0) return;
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
}

/** Call when it has its name, or was removed or recorded. */
export function endUnfinished(): void {
  if (--unfinished > 0) return;
  process.off("SIGINT", stop);
  process.off("SIGTERM", stop);
}
