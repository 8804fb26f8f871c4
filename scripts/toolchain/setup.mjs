// Installs the prerequisites of the other scripts: system packages, npm's packages and Emscripten. Skips
// everything already installed, so that a second run takes no time.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { alone } from "../process/alone.mjs";
import { Failure, follow, root, runAsScript, which } from "../process/run.mjs";
import { downloadEmscripten, provideEmscripten } from "./emscripten.mjs";
import { provideSystemPackages } from "./system.mjs";

/** Error codes by which npm reports that its registry is unreachable. */
const UNREACHED = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|FETCH_ERROR/;

/** Runs `npm ci` unless the lock file is unchanged since the last run. */
async function provideNpmPackages() {
  const modules = join(root, "node_modules");
  const stamp = join(modules, ".zeropoint-lock");
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  console.log("Installing npm packages");
  // An interrupted installation may have left folders that npm refuses to remove.
  rmSync(modules, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  const options = ["--include=dev", "--include=optional", "--prefer-offline", "--loglevel=error"];
  // Under `npm test` the running npm is known; otherwise use the npm on PATH.
  const self = process.env.npm_execpath ?? "";
  const [command, ...args] = /npm-cli\.c?js$/.test(self)
    ? [process.execPath, self]
    : [which("npm") ?? "npm"];
  const { ok, output } = await follow(command, [...args, "ci", ...options], {
    onLine: console.log,
  });
  if (!ok && UNREACHED.test(output)) {
    throw new Failure("npm's registry does not answer: is there a network?");
  }
  if (!ok) throw new Failure("npm ci failed");
  writeFileSync(stamp, lock);
}

/**
 * Installs the prerequisites for the named purposes: `core`, `native`, `chromium` and others of system.mjs.
 * @param {string[]} purposes
 * @param {{ threads?: boolean }} options  threads: whether to build the core's builds with threads, too
 * @returns for `core`, the Emscripten that builds it
 */
export function setUp(purposes, { threads = true } = {}) {
  return alone(async () => {
    await provideSystemPackages(purposes);
    const needsCore = purposes.includes("core");
    // In parallel: both mostly wait for the network.
    const results = await Promise.allSettled([
      provideNpmPackages(),
      needsCore && downloadEmscripten(),
    ]);
    const failure = results.find(({ status }) => status === "rejected");
    if (failure) throw failure.reason;
    return { emscripten: needsCore ? await provideEmscripten({ threads }) : undefined };
  });
}

await runAsScript(import.meta.url, () =>
  setUp(["core", "native", "chromium", "firefox", "engines", "format", "lint"]),
);
