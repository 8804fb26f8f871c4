// Runs commands and reports progress on the terminal.

import { spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { endWithParent, isInterrupted, startChild } from "./children.mjs";

/** The root of the repository. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A problem whose message is enough: printed without a stack trace. */
export class Failure extends Error {}

/** Runs a command with its output on the terminal and an empty input. */
export function run(
  command,
  args,
  { env = {}, cwd = root, stdout = "inherit", stderr = "inherit" } = {},
) {
  return new Promise((done, fail) => {
    const child = startChild(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", stdout, stderr],
    });
    child.on("error", (error) => fail(new Failure(`${command}: ${error.message}`)));
    child.on("close", (code, signal) => {
      if (code === 0) done();
      // On an interrupt this process is about to end: leave the promise pending, report no failure.
      else if (!isInterrupted())
        fail(new Failure(`failed (${signal ?? code}): ${[command, ...args].join(" ")}`));
    });
  });
}

/**
 * Runs a command and passes on each line that it prints.
 * @returns {Promise<{ ok: boolean, output: string }>} ok: exit code 0; output: all lines
 */
export function follow(command, args, { env = {}, cwd = root, onLine = () => {} } = {}) {
  return new Promise((done, fail) => {
    const child = startChild(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        output += `${line}\n`;
        onLine(line);
      });
    }
    child.on("error", (error) => fail(new Failure(`${command}: ${error.message}`)));
    child.on("close", (code) => {
      // As in run: what follows a failure, such as a new installation, must not begin on an interrupt.
      if (!isInterrupted()) done({ ok: code === 0, output });
    });
  });
}

/** Runs a command quietly: whether it succeeded, and its output. */
export function capture(command, args, { env = {}, cwd = root, input = "", timeout } = {}) {
  const result = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    input,
    timeout,
    encoding: "utf8",
    maxBuffer: 64 * 2 ** 20,
  });
  return {
    ok: result.status === 0,
    stdout: result.stdout ?? "",
    stderr: result.stderr ?? result.error?.message ?? "",
  };
}

/** The path of an executable file on PATH, or undefined. */
export function which(name) {
  const endings = process.platform === "win32" ? [".exe", ".cmd", ".bat"] : [""];
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const ending of endings) {
      const path = join(folder || ".", name + ending);
      if (isExecutable(path)) return resolve(path);
    }
  }
  return undefined;
}

/** Whether a path names an executable file. */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Whether this is Debian or a derivative, with Debian's packages. */
export function isDebian() {
  try {
    const release = readFileSync("/etc/os-release", "utf8");
    return /^ID(_LIKE)?=.*\bdebian\b/m.test(release) && which("apt-get") !== undefined;
  } catch {
    return false;
  }
}

/** Whether scripts may install system software; the environment variable forbids it. */
export const mayInstall = () => !process.env.ZEROPOINT_NO_INSTALL;

/** Whether to test in every build, engine and size, as before a release. */
export const isThorough = process.env.ZEROPOINT_THOROUGH === "1";

/** Whether to test with all runs, sizes and files, as `npm run check` does; `npm test` takes about a tenth. */
export const isFull = isThorough || process.env.ZEROPOINT_FULL === "1";

/** An environment whose PATH includes the tools that npm installed in this checkout. */
export function withNodeTools(env = {}) {
  const path = [join(root, "node_modules", ".bin"), env.PATH ?? process.env.PATH].join(delimiter);
  return { ...env, PATH: path };
}

/** Runs one titled step and prints its duration. */
export async function step(title, work) {
  const start = performance.now();
  const seconds = () => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  console.log(`\n== ${title}`);
  try {
    const result = await work();
    console.log(`== ${title}: done in ${seconds()}`);
    return result;
  } catch (error) {
    console.log(`== ${title}: FAILED after ${seconds()}`);
    throw error;
  }
}

/** Runs tasks one after the other, all of them even if some fail; `finish` reports the failures. */
export function tally() {
  const failures = [];
  const attempt = async (name, work) => {
    try {
      await work();
      return true;
    } catch (error) {
      console.error(error instanceof Failure ? error.message : error);
      failures.push(name);
      return false;
    }
  };
  const finish = () => {
    if (failures.length > 0) throw new Failure(`FAILED: ${failures.join(", ")}`);
  };
  return { attempt, finish };
}

/** Runs tasks, each a name and a function, in parallel: at most one per processor. */
export async function sideBySide(works) {
  const { attempt, finish } = tally();
  const queue = [...works];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await attempt(...next);
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), works.length) }, worker));
  finish();
}

/** A one-line message for an error of the file system that the user can fix, or undefined. */
function fileProblem({ code, path, syscall }) {
  const reason = {
    EACCES: "permission denied",
    EPERM: "not permitted",
    EROFS: "the file system is read-only",
    ENOSPC: "no space left on the device",
    EDQUOT: "the quota is used up",
  }[code];
  return reason && syscall && `cannot write ${path ?? "a file"}: ${reason}`;
}

/**
 * Runs `main` if the module is the script that was started. A Failure, or a file that cannot be written,
 * becomes one line and exit code 1; `--help` prints the help instead.
 * @param {string} moduleUrl  import.meta.url
 * @param {(args: string[]) => unknown} main
 * @param {string} [help]  the text for `--help`
 */
export async function runAsScript(moduleUrl, main, help) {
  if (!process.argv[1] || moduleUrl !== pathToFileURL(realpathSync(process.argv[1])).href) return;
  const args = process.argv.slice(2);
  if (help && args.some((arg) => arg === "--help" || arg === "-h")) {
    console.log(help.trim());
    return;
  }
  endWithParent();
  try {
    await main(args);
  } catch (error) {
    if (isInterrupted()) return;
    const line = error instanceof Failure ? error.message : fileProblem(error);
    console.error(line ? `zeropoint: ${line}` : error);
    process.exitCode = 1;
  }
}
