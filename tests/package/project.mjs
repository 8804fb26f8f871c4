// Empty projects that install the package as users do: the tarball of `npm pack`, unchanged, with pinned
// versions of the tools.

import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Date of the tools: all of them and their dependencies are installed as of this date, so that a commit is always
 * tested with the same versions. Change it in a separate commit.
 * ZEROPOINT_TOOLS_AS_OF=2030-01-31 tries another date.
 */
const AS_OF = process.env.ZEROPOINT_TOOLS_AS_OF || "2026-11-21";

const MINUTE = 60_000;

/** All files of this process, outside the repository so that no lookup finds its packages. */
const folder = mkdtempSync(join(tmpdir(), "zeropoint-package-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

/** A failed installation: the message has the command and the reason in one line. */
class InstallFailure extends Error {}

/** Runs npm: the npm that runs the tests, if any, else the npm on PATH. */
function npm(args, cwd) {
  const self = process.env.npm_execpath ?? "";
  const options = { cwd, encoding: "utf8", timeout: 10 * MINUTE, maxBuffer: 2 ** 26 };
  if (/npm-cli\.c?js$/.test(self)) return spawnSync(process.execPath, [self, ...args], options);
  return spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
}

let packed;

/** The result of `npm pack`: the path of the tarball, and its files with their bytes. */
export function tarball() {
  if (packed) return packed;
  const result = npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], root);
  if (result.status !== 0) throw new Error(`npm pack failed: ${result.stderr}`);
  const [{ filename, files, unpackedSize, size }] = JSON.parse(result.stdout);
  packed = { path: join(folder, filename), files, unpackedSize, size };
  return packed;
}

/**
 * Makes a project of the given files and installs the tarball and tools into it.
 * @param {string} name
 * @param {{ tools?: string[], files?: Record<string, string>, type?: "module" | "commonjs" }} options
 *   tools are npm's specifiers
 * @returns the project's folder
 * @throws {InstallFailure}
 */
export function makeProject(name, { tools = [], files = {}, type = "module" } = {}) {
  const project = join(folder, name);
  mkdirSync(project);
  writeFiles(project, { "package.json": JSON.stringify({ name, private: true, type }), ...files });
  if (tools.length > 0) install(project, [tarball().path, ...tools]);
  else
    cpSync(installedAlone(), join(project, "node_modules"), {
      recursive: true,
      verbatimSymlinks: true,
    });
  return project;
}

let alone;

/** The packages of a project that installed nothing but the tarball; npm takes a second for each. */
function installedAlone() {
  if (alone) return alone;
  const project = join(folder, "alone");
  mkdirSync(project);
  writeFiles(project, { "package.json": JSON.stringify({ name: "alone", private: true }) });
  install(project, [tarball().path]);
  alone = join(project, "node_modules");
  return alone;
}

/** Writes files of a project, given by their paths in it. */
export function writeFiles(project, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
}

function install(project, packages) {
  // None of the tools needs its install scripts; cached packages are used without a request.
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const args = ["install", ...quiet, "--prefer-offline", `--before=${AS_OF}`, ...packages];
  const result = npm(args, project);
  if (result.status === 0) return;
  const output = `${result.stderr}\n${result.stdout}`.split("\n").filter(Boolean);
  const reason = output.find((line) => /error/i.test(line)) ?? output.at(-1) ?? result.error;
  throw new InstallFailure(`npm ${args.join(" ")}: ${reason}`);
}

/**
 * Makes a project, or skips the test with the failing command if its tools cannot be installed. For runtimes not
 * available on every platform; all other projects fail instead.
 */
export function makeProjectOrSkip(t, name, options) {
  try {
    return makeProject(name, options);
  } catch (error) {
    if (!(error instanceof InstallFailure)) throw error;
    t.skip(error.message);
    return undefined;
  }
}

/** The installed version of a package in a project. */
export function versionOf(project, name) {
  return JSON.parse(readFileSync(join(project, "node_modules", name, "package.json"), "utf8"))
    .version;
}

/** Runs a program in a project until it ends: its exit code and its output. */
export function run(project, command, args, { env = {}, input } = {}) {
  const result = spawnSync(command, args, {
    cwd: project,
    env: { ...cleanEnvironment(), ...env },
    input,
    encoding: "utf8",
    timeout: 2 * MINUTE,
  });
  const stderr = result.error ? `${result.stderr}\n${result.error}` : result.stderr;
  return { code: result.status, stdout: result.stdout ?? "", stderr };
}

/** Starts a server in a project and waits until it prints its address. */
export async function serve(project, command, args, pattern) {
  const child = spawn(command, args, { cwd: project, env: cleanEnvironment(), stdio: "pipe" });
  let output = "";
  const address = await new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no address within a minute: ${output}`)),
      MINUTE,
    );
    const read = (chunk) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours
      output += String(chunk).replace(/\u001b\[[0-9;]*m/g, "");
      const found = pattern.exec(output);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[1]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`${command} ${args.join(" ")} ended with ${code}: ${output}`));
    });
  });
  return {
    address,
    output: () => output,
    close: () =>
      new Promise((resolve) => {
        child.on("exit", resolve);
        child.kill("SIGKILL");
      }),
  };
}

/** The environment without the variables that npm and the test runner set for their children. */
function cleanEnvironment() {
  const entries = Object.entries(process.env);
  return {
    ...Object.fromEntries(
      entries.filter(([name]) => !/^(npm_|NODE_OPTIONS$|NODE_TEST_CONTEXT$|INIT_CWD$)/i.test(name)),
    ),
    NO_COLOR: "1",
  };
}
