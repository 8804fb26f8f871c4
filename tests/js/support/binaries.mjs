// The core's binaries from a server that gives right and wrong answers: in Node its own server, in a page
// the page's server (tests/web/serve.mjs).

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const folder = new URL("../../../dist/wasm/", import.meta.url);

/** Address of a binary. */
export const addressOf = (file) => new URL(file, folder);

/** The bytes of a binary. */
export const bytesOf = (file) => readFile(addressOf(file));

/**
 * Answers of the server to "how/file": `right` with the MIME type of WebAssembly, `parameter` with
 * that and a parameter, `wrong` with another, `page` with a page instead, `missing` with status 404.
 * @returns {Promise<{ status: number, type: string, body: Uint8Array | string }>}
 */
export async function answerBinary(path) {
  const [how, file] = path.split("/");
  if (how === "missing") return { status: 404, type: "text/plain", body: "nothing here" };
  if (how === "page") return { status: 200, type: "text/html", body: "<!doctype html>" };
  const types = { right: "application/wasm", parameter: "application/wasm; charset=utf-8" };
  return { status: 200, type: types[how] ?? "text/plain", body: await bytesOf(file) };
}

/** Starts the server. @returns {Promise<{ site: string, close: () => void }>} */
export async function serveBinaries() {
  if (globalThis.process === undefined) {
    return { site: `${globalThis.location.origin}/binaries`, close: () => {} };
  }
  const server = createServer(async (request, response) => {
    const { status, type, body } = await answerBinary(request.url.slice(1));
    response.writeHead(status, { "content-type": type }).end(body);
  });
  await new Promise((done) => server.listen(0, "localhost", done));
  return { site: `http://localhost:${server.address().port}`, close: () => server.close() };
}
