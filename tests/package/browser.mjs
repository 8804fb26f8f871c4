// Serves folders, and records a page's output and downloads in a real browser.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";
import { findBrowser } from "../../scripts/toolchain/browser.mjs";
import { hasCore } from "./core.mjs";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

const ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"];

/** Headers for cross-origin isolation, which shared memory requires. */
export const ISOLATED = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

export function launchBrowser() {
  const executablePath = process.env.ZEROPOINT_CHROMIUM || findBrowser();
  if (!executablePath) throw new Error("no Chromium found: set ZEROPOINT_CHROMIUM to its path");
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

/** Serves the files of a folder. */
export async function serveFolder(folder, headers = {}) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = join(folder, normalize(path.endsWith("/") ? `${path}index.html` : path));
    if (!file.startsWith(folder) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found");
      return;
    }
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, ...headers }).end(readFileSync(file));
  });
  return listening(server);
}

async function listening(server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Proxy: serves another server's responses with additional headers. */
export async function serveThrough(address, headers) {
  const server = createServer(async (request, response) => {
    try {
      const answer = await fetch(new URL(request.url ?? "/", address));
      const type = answer.headers.get("content-type") ?? "application/octet-stream";
      response.writeHead(answer.status, { "content-type": type, ...headers });
      response.end(Buffer.from(await answer.arrayBuffer()));
    } catch (error) {
      response.writeHead(502).end(String(error));
    }
  });
  return listening(server);
}

/**
 * Opens a page and waits until it has printed a number of lines.
 * @returns {Promise<{ printed: string[], problems: string[], cores: string[] }>}
 *   problems: errors and warnings on the console, uncaught exceptions, failed and foreign requests;
 *   cores: the addresses of the downloads that contain a core
 */
export async function openPage(browser, address, lineCount) {
  const context = await browser.newContext();
  const printed = [];
  const problems = [];
  const cores = [];
  const reading = [];
  let settle = () => {};
  const done = new Promise((resolve) => {
    settle = resolve;
  });
  context.on("console", (message) => {
    if (message.type() === "log") printed.push(message.text());
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
    if (printed.length >= lineCount) settle();
  });
  context.on("weberror", (error) => {
    problems.push(`uncaught: ${error.error().stack ?? error.error()}`);
    settle();
  });
  context.on("request", (request) => {
    const { origin } = new URL(address);
    if (!request.url().startsWith(origin)) problems.push(`foreign request: ${request.url()}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    reading.push(
      response.body().then(
        (body) => hasCore(body) && cores.push(response.url()),
        () => {}, // a redirect or a request that the browser dropped
      ),
    );
  });
  try {
    const page = await context.newPage();
    await page.goto(address);
    const timeout = new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    await Promise.race([done, timeout]);
    await page.waitForLoadState("networkidle");
    await Promise.all(reading);
    return { printed, problems, cores };
  } finally {
    await context.close();
  }
}
