// Peak memory of processes that print what they measured.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The project's folder, in which a program given as text finds the package. */
const cwd = fileURLToPath(new URL("../../..", import.meta.url));

/** The memory that a file of any size is promised to take, in bytes of a process. */
export const LIMIT = 150e6;

/**
 * Runs Node, which prints JSON with the `peak` of its memory in bytes. Runs it once more if that is above the limit:
 * a garbage collector that other jobs delay leaves in memory what nothing holds.
 * @param args  of Node
 */
export async function measureMemory(args) {
  for (let runs = 1; ; runs++) {
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
    const result = JSON.parse(stdout);
    if (result.peak <= LIMIT || runs === 2) return result;
  }
}
