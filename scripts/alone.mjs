// One build of a checkout at a time: `npm start` in one terminal and `npm test` in another write the same
// files, and neither CMake nor npm keeps two of itself apart.

import { createHash } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { root } from "./run.mjs";

/**
 * Does a work when no other process does one of that name, and gives what it gives. Who works listens
 * at an address made of the name, which the system frees with its process, however that ends.
 */
export async function alone(work, name = root) {
  const id = `zeropoint-${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
  const address = addressOf(id);
  const waiting = new Set();
  const server = createServer((socket) => {
    waiting.add(socket.on("error", () => {}).on("close", () => waiting.delete(socket)));
    socket.unref();
  });
  for (let isFirst = true; !(await listens(server, address)); isFirst = false) {
    if (isFirst) console.log("Waiting for another command that builds this checkout");
    await waitFor(address);
  }
  try {
    return await work();
  } finally {
    server.close();
    for (const socket of waiting) socket.destroy();
  }
}

/** Where whoever works listens: in Linux and Windows a name that is no file, so that none stays behind. */
function addressOf(id) {
  if (process.platform === "win32") return `\\\\.\\pipe\\${id}`;
  return process.platform === "linux" ? `\0${id}` : join(tmpdir(), `${id}.sock`);
}

/** Whether nobody else listens at the address, so that the server does; or that nobody can. */
function listens(server, address) {
  return new Promise((done) => {
    server.once("error", (error) => done(error.code !== "EADDRINUSE"));
    server.listen(address, () => done(true)).unref();
  });
}

/** Waits until nobody listens at the address any more. */
async function waitFor(address) {
  const error = await new Promise((done) => {
    connect(address).on("error", done).on("close", done).resume();
  });
  if (error?.code === "ECONNREFUSED" && !address.startsWith("\0")) await removeLeftBehind(address);
}

/**
 * Removes the file of a process that ended by force. A young one is let be: whoever made it may be about
 * to listen, and to remove it would let two of them work.
 */
async function removeLeftBehind(address) {
  const file = statSync(address, { throwIfNoEntry: false });
  if (file && Date.now() - file.mtimeMs > 1000) rmSync(address, { force: true });
  else await setTimeout(50);
}
