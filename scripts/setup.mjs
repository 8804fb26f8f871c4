// Gets ready what the other scripts need: system packages, npm's packages and Emscripten. What is
// there already is left alone, so that a second run takes no time.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { alone } from "./alone.mjs";
import { provideEmscripten } from "./emscripten.mjs";
import { Failure, root, run, runAsScript, which } from "./run.mjs";
import { provideSystemPackages } from "./system.mjs";

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 16)) {
    throw new Failure(`Node 20.16 or newer is needed, this is ${process.versions.node}`);
  }
}

/** Runs `npm ci` unless the lock file is the one that the last run installed. */
async function provideNpmPackages() {
  const stamp = join(root, "node_modules", ".zeropoint-lock");
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  console.log("Installing npm packages");
  const ci = ["ci", "--include=dev", "--include=optional", "--loglevel=error"];
  // Under `npm test` this npm is known; otherwise the one on PATH is used.
  const npm = process.env.npm_execpath ?? "";
  if (/npm-cli\.c?js$/.test(npm)) await run(process.execPath, [npm, ...ci]);
  else await run(which("npm") ?? "npm", ci);
  writeFileSync(stamp, lock);
}

/**
 * Gets ready for the named purposes, of `core`, `native`, `browser`, `format` and `lint`.
 * @returns for `core`, the Emscripten that builds it
 */
export function setUp(purposes) {
  checkNode();
  return alone(async () => {
    await provideSystemPackages(purposes);
    await provideNpmPackages();
    return { emscripten: purposes.includes("core") ? await provideEmscripten() : undefined };
  });
}

await runAsScript(import.meta.url, () => setUp(["core", "native", "browser", "format", "lint"]));
