// One build of a checkout at a time: `npm start` in one terminal and `npm test` in another write the same
// files, and neither CMake nor npm keeps two of itself apart.

import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./run.mjs";

/**
 * Does a work when no other process does one of that name, and gives what it gives. Who works listens
 * at an address made of the name, which the system frees with its process, however that ends.
 */
export async function alone(work, name = root) {
  const id = `zeropoint-${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
  const isWindows = process.platform === "win32";
  const address = isWindows ? `\\\\.\\pipe\\${id}` : join(tmpdir(), `${id}.sock`);
  const waiting = new Set();
  const server = createServer((socket) => {
    waiting.add(socket.on("error", () => {}).on("close", () => waiting.delete(socket)));
    socket.unref();
  });
  for (let isFirst = true; !(await listens(server, address)); isFirst = false) {
    if (isFirst) console.log("Waiting for another command that builds this checkout");
    // What a process left behind that ended by force.
    if (!(await waitFor(address)) && !isWindows) rmSync(address, { force: true });
  }
  try {
    return await work();
  } finally {
    server.close();
    for (const socket of waiting) socket.destroy();
  }
}

/** Whether nobody else listens at the address, so that the server does; or that nobody can. */
function listens(server, address) {
  return new Promise((done) => {
    server.once("error", (error) => done(error.code !== "EADDRINUSE"));
    server.listen(address, () => done(true)).unref();
  });
}

/** Waits until nobody listens at the address any more: whether somebody did. */
function waitFor(address) {
  return new Promise((done) => {
    let isThere = false;
    connect(address)
      .on("connect", () => {
        isThere = true;
      })
      .on("error", () => {})
      .on("close", () => done(isThere))
      .resume();
  });
}
