// npm start: sets up, builds, serves the page and opens it in a browser.
//
//   npm start -- [--no-open] [--port N]

import { spawn } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildCore, buildJs, buildPage } from "./build.mjs";
import { Failure, root, runAsScript, step, which } from "./run.mjs";
import { setUp } from "./setup.mjs";

function options(args) {
  try {
    const { values } = parseArgs({
      args,
      options: { "no-open": { type: "boolean" }, port: { type: "string" } },
    });
    const port = Number(values.port ?? 4173);
    if (!Number.isInteger(port) || port < 0 || port > 65535) {
      throw new Error(`--port takes a number up to 65535, got ${values.port}`);
    }
    return { open: !values["no-open"], port, strictPort: values.port !== undefined };
  } catch (error) {
    throw new Failure(error.message);
  }
}

/** Opens the default browser where there is a screen; a machine without one is fine. */
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

await runAsScript(import.meta.url, async (args) => {
  const { open, port, strictPort } = options(args);
  const { emscripten } = await step("Set-up", () => setUp(["core"]));
  await buildCore(emscripten);
  await buildJs();
  await buildPage();

  // Only now is Vite sure to be installed.
  const { preview } = await import("vite");
  const server = await preview({
    configFile: join(root, "web", "vite.config.mjs"),
    preview: { port, strictPort, open: false },
  }).catch((error) => {
    throw new Failure(error.message);
  });
  const address = server.resolvedUrls.local[0];
  console.log(`\nzeropoint is at ${address}  (Ctrl+C ends it)`);
  if (open) openBrowser(address);
});
