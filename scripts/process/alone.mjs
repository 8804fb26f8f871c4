// Lock per checkout: one build at a time. `npm start` and `npm test` in two terminals write the same files,
// and neither CMake nor npm locks its output folder.

import { createHash } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { root } from "./run.mjs";

/**
 * Runs `work` under a named lock shared by all processes, and returns its result. The lock is a socket address
 * made of the name; the system frees it when the process ends.
 * @param {string} name  default: the folder of this checkout
 * @param {string} purpose  of the other command, for the message printed while waiting
 */
export async function alone(work, name = root, purpose = "builds this checkout") {
  const id = `zeropoint-${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
  const address = addressOf(id);
  const waiting = new Set();
  const server = createServer((socket) => {
    waiting.add(socket.on("error", () => {}).on("close", () => waiting.delete(socket)));
    socket.unref();
  });
  for (let isFirst = true; !(await listens(server, address)); isFirst = false) {
    if (isFirst) console.log(`Waiting for another command that ${purpose}`);
    await waitFor(address);
  }
  try {
    return await work();
  } finally {
    server.close();
    for (const socket of waiting) socket.destroy();
  }
}

/** The address to listen at. On Linux and Windows it is not a file, so an ended process leaves nothing behind. */
function addressOf(id) {
  if (process.platform === "win32") return `\\\\.\\pipe\\${id}`;
  return process.platform === "linux" ? `\0${id}` : join(tmpdir(), `${id}.sock`);
}

/** Listens at the address: false if another process does; true otherwise, also if listening is impossible. */
function listens(server, address) {
  return new Promise((done) => {
    server.once("error", (error) => done(error.code !== "EADDRINUSE"));
    server.listen(address, () => done(true)).unref();
  });
}

/** Waits until no process listens at the address. */
async function waitFor(address) {
  const error = await new Promise((done) => {
    connect(address).on("error", done).on("close", done).resume();
  });
  if (error?.code === "ECONNREFUSED" && !address.startsWith("\0")) await removeLeftBehind(address);
}

/**
 * Removes the socket file of a killed process. A young file is kept: its owner may be about to listen, and
 * removing it would let two processes hold the lock.
 */
async function removeLeftBehind(address) {
  const file = statSync(address, { throwIfNoEntry: false });
  if (file && Date.now() - file.mtimeMs > 1000) rmSync(address, { force: true });
  else await setTimeout(50);
}
