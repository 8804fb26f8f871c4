// Running commands and telling the person at the terminal what goes on.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The root of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A problem that needs no stack trace: its message says all. */
export class Failure extends Error {}

/** Runs a command in the open; its output is the terminal's, its input is empty. */
export function run(command, args, { env = {}, cwd = root, stderr = "inherit" } = {}) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", stderr],
    });
    child.on("error", (error) => fail(new Failure(`${command}: ${error.message}`)));
    child.on("close", (code, signal) => {
      if (code === 0) done();
      else fail(new Failure(`failed (${signal ?? code}): ${[command, ...args].join(" ")}`));
    });
  });
}

/** Runs a command quietly: whether it succeeded, and all it printed. */
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

/** Whether a path names a file that may be run. */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Whether this is Debian or made from it, and so has its packages. */
export function isDebian() {
  try {
    const release = readFileSync("/etc/os-release", "utf8");
    return /^ID(_LIKE)?=.*\bdebian\b/m.test(release) && which("apt-get") !== undefined;
  } catch {
    return false;
  }
}

/** Installing is a decision for whoever runs this: one variable forbids it. */
export const mayInstall = () => !process.env.ZEROPOINT_NO_INSTALL;

/** An environment that finds the tools npm installed here. */
export function withNodeTools(env = {}) {
  const path = [join(root, "node_modules", ".bin"), env.PATH ?? process.env.PATH].join(delimiter);
  return { ...env, PATH: path };
}

/** Runs one titled step and prints how long it took. */
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

/** Runs works one by one, none kept from running by another's failure; `finish` tells of those. */
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

/** Runs works, each a name and a function, side by side: as many at a time as there are processors. */
export async function sideBySide(works) {
  const { attempt, finish } = tally();
  const queue = [...works];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await attempt(...next);
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), works.length) }, worker));
  finish();
}

/** Runs `main` if the module is the script that was started; a Failure becomes one line and exit code 1. */
export async function runAsScript(moduleUrl, main) {
  if (moduleUrl !== pathToFileURL(process.argv[1] ?? "").href) return;
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Failure ? `zeropoint: ${error.message}` : error);
    process.exitCode = 1;
  }
}
