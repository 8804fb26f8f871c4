// npm start: sets up, builds, serves the page and opens it in a browser.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildCore, buildPageAlone, transpileJs } from "./build/build.mjs";
import { isInterrupted, startChild } from "./process/children.mjs";
import { Failure, root, runAsScript, step, which } from "./process/run.mjs";
import { setUp } from "./toolchain/setup.mjs";

const HELP = `
npm start [-- [--no-open] [--port N]]

Sets up what is missing, builds the page, serves it and opens it in a browser.

  --no-open   opens no browser
  --port N    serves at this port and no other; 0 takes any. Default: 4937, or the next one that is free

The first run downloads about 345 MB and takes 1.6 GB of disk; ZEROPOINT_NO_INSTALL=1 makes it say what is
missing instead of installing it.
`;

/**
 * A port that no common tool has as its default: the page's service worker stays with its origin, and would answer
 * other projects there.
 */
const PORT = 4937;

/** The builds of the core that the served page can load: without shared memory, it uses one thread. */
const PAGE_BUILDS = ["baseline", "relaxed"];

/** Builds the rest in the background at low priority: builds with threads, types, and the API reference. */
function completeBuild(address) {
  mkdirSync(join(root, "build"), { recursive: true });
  const logFile = join(root, "build", "start-background.log");
  const log = openSync(logFile, "w");
  const script = join(root, "scripts", "build", "build.mjs");
  const child = startChild(process.execPath, [script, "core", "js", "api"], {
    cwd: root,
    stdio: ["ignore", log, log],
  });
  setPriority(child.pid, constants.priority.PRIORITY_LOW);
  child.on("close", (code) => {
    if (code === 0) console.log(`The API reference is at ${address}api/`);
    else if (!isInterrupted()) {
      console.log(`The API reference could not be made: see ${logFile}`);
    }
  });
}

function options(args) {
  try {
    const { values } = parseArgs({
      args,
      options: { "no-open": { type: "boolean" }, port: { type: "string" } },
    });
    const port = Number(values.port ?? PORT);
    if (!Number.isInteger(port) || port < 0 || port > 65535) {
      throw new Error(`--port takes a number up to 65535, got ${values.port}`);
    }
    return { open: !values["no-open"], port, strictPort: values.port !== undefined };
  } catch (error) {
    throw new Failure(error.message);
  }
}

/** Throws if the port is already in use: checked before the build rather than after. */
async function checkPort(port) {
  const server = createServer().listen({ port, host: "localhost" });
  try {
    await once(server, "listening");
  } catch (error) {
    if (error.code === "EADDRINUSE")
      throw new Failure(`port ${port} is in use; --port N takes another`);
    if (error.code === "EACCES")
      throw new Failure(`port ${port} needs other rights; --port N takes another`);
    throw error;
  }
  await new Promise((done) => server.close(done));
}

/** Opens the default browser if there is a display; does nothing otherwise. */
function openBrowser(address) {
  const hasScreen = process.env.DISPLAY || process.env.WAYLAND_DISPLAY;
  const opener = {
    darwin: ["open", address],
    win32: ["cmd", "/c", "start", "", address],
    linux: hasScreen && which("xdg-open") ? ["xdg-open", address] : undefined,
  }[process.platform];
  if (!opener || process.env.CI) return;
  const child = spawn(opener[0], opener.slice(1), { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}

await runAsScript(
  import.meta.url,
  async (args) => {
    const { open, port, strictPort } = options(args);
    if (strictPort) await checkPort(port);
    const { emscripten } = await step("Set-up", () => setUp(["core"], { threads: false }));
    await buildCore(emscripten, PAGE_BUILDS);
    await transpileJs();
    await buildPageAlone();

    // Imported late: an earlier step installs Vite.
    const { preview } = await import("vite");
    const server = await preview({
      configFile: join(root, "web", "vite.config.mjs"),
      // A request for a missing file gets 404, not the first page.
      appType: "mpa",
      preview: { port, strictPort, open: false },
    }).catch((error) => {
      throw new Failure(error.message);
    });
    const address = server.resolvedUrls.local[0];
    console.log(`\nzeropoint is at ${address}  (Ctrl+C ends it)`);
    if (open) openBrowser(address);
    completeBuild(address);
  },
  HELP,
);
