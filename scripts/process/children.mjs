// Child processes that end with this process: by Ctrl-C, by a signal, or when npm, its parent, ends.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Time in milliseconds between SIGTERM and SIGKILL. */
const GRACE = 5000;

const isWindows = process.platform === "win32";
const children = new Set();

/** Starts a command in its own process group, so that its children can be ended with it. */
export function startChild(command, args, options) {
  const child = spawn(command, args, { ...options, detached: !isWindows });
  children.add(child);
  child.on("error", () => children.delete(child));
  child.on("close", () => children.delete(child));
  return child;
}

function signalGroup(child, signal) {
  try {
    if (isWindows) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The child has already ended.
  }
}

/** Ends all children and waits for them: SIGTERM, then SIGKILL after the grace period. */
async function endChildren() {
  const running = [...children];
  const ended = running.map((child) => new Promise((done) => child.once("close", done)));
  for (const child of running) signalGroup(child, "SIGTERM");
  const kill = () => {
    for (const child of running) signalGroup(child, "SIGKILL");
  };
  const timer = setTimeout(kill, GRACE);
  await Promise.all(ended);
  clearTimeout(timer);
}

/** All descendants of a process, on Linux; browsers leave the process group they were started in. */
export function descendants(pid) {
  let pids = [];
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    pids = tasks.flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean),
    );
  } catch {
    // Not Linux, or the process has ended.
  }
  return pids.flatMap((child) => [...descendants(child), Number(child)]);
}

/** Kills a child and all its descendants, also those in other process groups. */
export function endTree(child) {
  const below = descendants(child.pid);
  signalGroup(child, "SIGKILL");
  for (const pid of below) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process ended with its group.
    }
  }
}

let isEnding = false;

/** Ends the children, then this process. */
async function endAll(code) {
  if (isEnding) return;
  isEnding = true;
  await endChildren();
  process.exit(code);
}

/** Whether this process is ending because of a signal; failures of its children are then not reported. */
export const isInterrupted = () => isEnding;

/** The parent of a process on Linux; undefined on other systems, or if the process has ended. */
function parentOf(pid) {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

/** The parent and, on Linux, the grandparent: npm may run a shell between itself and the script. */
function parents() {
  return `${process.ppid} ${parentOf(process.ppid)}`;
}

/** Ends everything on SIGINT, SIGTERM and SIGHUP, and when npm, the parent of this process, ends. */
export function endWithParent() {
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
  for (const [signal, code] of Object.entries(codes)) process.on(signal, () => endAll(code));
  if (process.env.npm_lifecycle_event === undefined) return;
  const atStart = parents();
  setInterval(() => {
    if (parents() !== atStart) endAll(143);
  }, 500).unref();
}
