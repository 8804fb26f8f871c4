// Installs Emscripten into the user's cache folder, shared by all checkouts of this user: by emsdk, or on Debian
// from a newer release's package, unpacked without changes to the system.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { capture, Failure, isDebian, run } from "../process/run.mjs";
import { cacheFolder } from "./cache.mjs";
import { filesIn, unpackDebian } from "./debian.mjs";

/** The version that the project is built and tested with; this version is installed. */
export const TESTED_VERSION = "6.0.5";

/** The commit of emsdk's tag for that version. A tag may be moved to other code; a commit cannot. */
const EMSDK_COMMIT = "dfb9d1a46c3bb8f52e1e6324be23123b9d73c190";

/** A path with its links resolved: Emscripten clears its cache if the cache's path is spelled differently. */
const realPath = (path) => (existsSync(path) ? realpathSync(path) : path);

/** The folder of all installations. */
export const toolchain = join(realPath(cacheFolder()), `emscripten-${TESTED_VERSION}`);
const emsdk = join(toolchain, "emsdk");
const prefix = join(toolchain, "debian");

/** A file written last: a folder without it belongs to an interrupted installation. */
const COMPLETE = ".zeropoint-complete";

/** Debian releases whose package is new enough, all later than stable; the preferred one first. */
const DEBIAN_SUITES = ["forky", "sid"];

/** An Emscripten: its em++ and the environment variables it needs. */
export const inEmsdk = (folder) => ({
  compiler: join(folder, "upstream", "emscripten", "em++"),
  env: { EM_CONFIG: join(folder, ".emscripten") },
});
const inPrefix = () => ({
  compiler: join(prefix, "usr", "share", "emscripten", "em++"),
  env: { EM_CONFIG: join(prefix, "em-config.py"), EM_NODE_JS: process.execPath },
});

/** The complete installations in the cache folder. */
export function installed() {
  const isComplete = (folder) => existsSync(join(folder, COMPLETE));
  return [
    ...(isComplete(emsdk) ? [inEmsdk(emsdk)] : []),
    ...(isComplete(prefix) ? [inPrefix()] : []),
  ];
}

/**
 * Quotes `$0` in Emscripten's launchers, which are shell scripts: unquoted, a space in the path breaks them.
 * @param {string} folder  with em++
 */
export function quoteLaunchers(folder) {
  for (const file of filesIn(folder, /^[^.]+$/)) {
    const text = readFileSync(file, "latin1");
    if (!text.startsWith("#!/bin/sh")) continue;
    const quoted = text
      .replaceAll("$(readlink -f $0)", '$(readlink -f "$0")')
      .replace(/\$\(readlink -f \$\(dirname \$0\)(\S*?)\)/g, '$(readlink -f "$(dirname "$0")$1")');
    if (quoted !== text) writeFileSync(file, quoted, "latin1");
  }
}

/**
 * Checks out a commit of a repository, without its history.
 * @param {string} site  the repository's address
 * @param {string} commit  40 hexadecimal digits; git compares them with what it gets
 * @param {string} folder
 */
export async function checkOutCommit(site, commit, folder) {
  const env = { GIT_TERMINAL_PROMPT: "0" };
  await run("git", ["init", "--quiet", folder], { env });
  await run("git", ["-C", folder, "fetch", "--quiet", "--depth", "1", site, commit], { env });
  const detached = ["-c", "advice.detachedHead=false", "checkout", "--quiet", commit];
  await run("git", ["-C", folder, ...detached], { env });
}

/** Installs by emsdk, if its site answers within ten seconds. @returns the problem, if any */
async function installEmsdk() {
  const site = "https://github.com/emscripten-core/emsdk";
  const env = { GIT_TERMINAL_PROMPT: "0" };
  if (!capture("git", ["ls-remote", site, "HEAD"], { env, timeout: 10_000 }).ok) {
    return `${site} does not answer`;
  }
  try {
    rmSync(emsdk, { recursive: true, force: true });
    await checkOutCommit(site, EMSDK_COMMIT, emsdk);
    await run("python3", ["emsdk.py", "install", TESTED_VERSION], { cwd: emsdk });
    await run("python3", ["emsdk.py", "activate", TESTED_VERSION], { cwd: emsdk });
    quoteLaunchers(join(emsdk, "upstream", "emscripten"));
    writeFileSync(join(emsdk, COMPLETE), "");
    return undefined;
  } catch (error) {
    rmSync(emsdk, { recursive: true, force: true });
    return `emsdk: ${error.message}`;
  }
}

/** Patches the unpacked programs to use the libraries of the prefix. */
function patchPrograms(usr, llvmTools) {
  const lib = readdirSync(join(usr, "lib")).find((name) => /-linux-gnu/.test(name));
  const libraries = join(usr, "lib", lib);
  const [loader] = filesIn(libraries, /^ld-linux.*\.so\.\d+$/);
  // patchelf is from the prefix too, so the loader of the prefix starts it.
  const patchelf = (args) =>
    capture(loader, ["--library-path", libraries, join(usr, "bin", "patchelf"), ...args]);
  const usePrefix = ["--force-rpath", "--set-rpath", libraries];
  for (const program of [...filesIn(llvmTools, /./), ...filesIn(join(usr, "bin"), /^wasm-/)]) {
    // Scripts have no interpreter to patch.
    patchelf(["--set-interpreter", loader, ...usePrefix, program]);
  }
  for (const library of filesIn(libraries, /^lib(LLVM|clang-cpp)\b.*\.so/)) {
    patchelf([...usePrefix, library]);
  }
}

/** Unpacks Debian's newer package into a separate prefix. @returns the problem, if any */
async function installFromDebian(suite) {
  rmSync(prefix, { recursive: true, force: true });
  const downloads = join(prefix, "apt");
  try {
    console.log(
      `Installing Emscripten of Debian ${suite} into ${toolchain} (170 MB to download, 850 MB on the disk)`,
    );
    await unpackDebian(suite, ["emscripten", "patchelf"], downloads, prefix);
  } catch (error) {
    rmSync(prefix, { recursive: true, force: true });
    return `Debian ${suite}: ${error.message}`;
  }
  rmSync(downloads, { recursive: true, force: true });

  const usr = join(prefix, "usr");
  const llvm = readdirSync(join(usr, "lib")).find((name) => /^llvm-\d+$/.test(name));
  patchPrograms(usr, join(usr, "lib", llvm, "bin"));
  quoteLaunchers(join(usr, "share", "emscripten"));
  // Without this package.json, Node would take Emscripten's scripts for ES modules, as in this package.
  writeFileSync(join(prefix, "package.json"), '{ "private": true, "type": "commonjs" }\n');
  writeFileSync(
    join(prefix, "em-config.py"),
    [
      "import os",
      "prefix = os.path.dirname(os.path.abspath(__file__))",
      `LLVM_ROOT = os.path.join(prefix, 'usr', 'lib', '${llvm}', 'bin')`,
      "BINARYEN_ROOT = os.path.join(prefix, 'usr')",
      "NODE_JS = 'node'",
      "CACHE = os.path.join(prefix, 'cache')",
      "",
    ].join("\n"),
  );
  writeFileSync(join(prefix, COMPLETE), "");
  return undefined;
}

/** Installs Emscripten from the first source that works. */
export async function installEmscripten() {
  mkdirSync(toolchain, { recursive: true });
  const ways = [installEmsdk];
  if (isDebian()) ways.push(...DEBIAN_SUITES.map((suite) => () => installFromDebian(suite)));
  const problems = [];
  for (const way of ways) {
    const problem = await way();
    if (!problem) return;
    console.log(problem);
    problems.push(problem);
  }
  throw new Failure(
    `Emscripten ${TESTED_VERSION} could not be downloaded (${problems[0]}): is there a network? ` +
      "Another one is used if em++ is on PATH, or $EMSDK is set",
  );
}
