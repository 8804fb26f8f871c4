// Finds an Emscripten that can build the core, or installs one into .toolchain (which git ignores).
//
//   node scripts/emscripten.mjs     prints the shell lines that put it into the environment
//
// Looked for in this order: emcc on PATH, $EMSDK, what an earlier run installed. Installed in this
// order: emsdk, or on Debian the distribution's newer package, unpacked without touching the system.

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import {
  capture,
  Failure,
  isDebian,
  isExecutable,
  mayInstall,
  root,
  run,
  runAsScript,
  which,
  withNodeTools,
} from "./run.mjs";

/** The version that the project is built and tested with, and the one that is installed. */
export const TESTED_VERSION = "6.0.5";

/** Where a link leads: Emscripten clears its cache when its own path reads differently. */
const realPath = (path) => (existsSync(path) ? realpathSync(path) : path);

const toolchain = join(root, ".toolchain");
const verdicts = join(toolchain, "emscripten-probed.json");
const emsdk = join(toolchain, "emsdk");
const prefix = realPath(join(toolchain, "emscripten"));
/** Debian releases after the stable ones whose package is new enough, the preferred one first. */
const DEBIAN_SUITES = ["forky", "sid"];

// ---- Looking for one -----------------------------------------------------------------------------

/** An Emscripten: its em++ and the variables it needs. */
const inEmsdk = (folder) => ({
  compiler: join(folder, "upstream", "emscripten", "em++"),
  env: { EM_CONFIG: join(folder, ".emscripten") },
});
const inPrefix = () => ({
  compiler: join(prefix, "usr", "share", "emscripten", "em++"),
  env: { EM_CONFIG: join(prefix, "em-config.py"), EM_NODE_JS: process.execPath },
});

function candidates() {
  const onPath = which("em++");
  const all = [
    ...(onPath ? [{ compiler: onPath, env: {} }] : []),
    ...(process.env.EMSDK ? [inEmsdk(process.env.EMSDK)] : []),
    inEmsdk(emsdk),
    inPrefix(),
  ];
  return all.filter(
    ({ compiler, env }) => isExecutable(compiler) && (!env.EM_CONFIG || existsSync(env.EM_CONFIG)),
  );
}

/** Whether there is any Emscripten at all, good enough or not. */
export const emscriptenIsHere = () => candidates().length > 0;

// ---- Is it good enough? --------------------------------------------------------------------------

/** A few lines that use every feature the core uses. */
const PROBE = `
#include <emscripten/bind.h>
#include <wasm_simd128.h>
#include <cstddef>
#include <cstdint>
#include <span>
enum class Status { kOk, kEmpty };
static Status round_all(std::uintptr_t values, std::size_t n, bool keep) {
  if (n == 0 || keep) return Status::kEmpty;
  for (float& x : std::span<float>(reinterpret_cast<float*>(values), n)) {
    v128_t lanes = wasm_f32x4_nearest(wasm_v128_load32_splat(&x));
#ifdef __wasm_relaxed_simd__
    lanes = wasm_f32x4_relaxed_min(lanes, lanes);
#endif
#ifdef __wasm_atomics__
    __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&x), 1);
#endif
    x = wasm_f32x4_extract_lane(lanes, 0);
  }
  return Status::kOk;
}
EMSCRIPTEN_BINDINGS(probe) {
  emscripten::enum_<Status>("Status", emscripten::enum_value_type::string)
      .value("kOk", Status::kOk)
      .value("kEmpty", Status::kEmpty);
  emscripten::function("roundAll(values, n, keep)", &round_all);
}
`;

/** The flags of a build, as CMakeLists.txt reads them: those of all builds and of its sections. */
function flagsOf(sections) {
  const lines = readFileSync(join(root, "scripts", "emcc-flags.txt"), "utf8").split(/\r?\n/);
  const flags = [];
  let section = "all";
  for (const line of lines) {
    section = /^\[(.+)\]$/.exec(line)?.[1] ?? section;
    if (line.startsWith("-") && ["all", ...sections].includes(section)) flags.push(line);
  }
  return flags;
}

/** The sections of the builds with the least and with the most flags. */
const PROBED = [[], ["relaxed", "threads"]];

/** The folder with CMake's toolchain file; some packagers put a script elsewhere on PATH. */
function home({ compiler, env }) {
  const folder = dirname(realpathSync(compiler));
  if (existsSync(join(folder, "cmake"))) return folder;
  return capture(join(dirname(compiler), "em-config"), ["EMSCRIPTEN_ROOT"], { env }).stdout.trim();
}

/** What a probe's verdict holds for: this installation, these flags, these lines. */
function identity({ compiler }) {
  const folder = dirname(realpathSync(compiler));
  const versionFile = join(folder, "emscripten-version.txt");
  const version = existsSync(versionFile) ? readFileSync(versionFile, "utf8").trim() : "";
  const inputs = [folder, version, PROBE, ...PROBED.flatMap(flagsOf)].join("\n");
  return createHash("sha256").update(inputs).digest("hex").slice(0, 16);
}

/** Builds the probe as those builds are built: undefined, or what went wrong. */
function probe({ compiler, env }) {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-probe-"));
  try {
    writeFileSync(join(folder, "probe.cpp"), PROBE);
    for (const sections of PROBED) {
      const output = ["-o", "probe.js", "--emit-tsd", join(folder, "probe.d.ts")];
      const flags = ["-std=c++20", "-Wall", "-Werror", ...flagsOf(sections), ...output];
      const built = capture(compiler, ["probe.cpp", ...flags], {
        cwd: folder,
        env: withNodeTools(env),
      });
      if (!built.ok) return built.stderr.trim() || "no reason given";
      const types = readFileSync(join(folder, "probe.d.ts"), "utf8");
      if (!types.includes("'kOk'")) return "its types do not name the values of a string enum";
    }
    return undefined;
  } catch (error) {
    return error.message;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The line of the compiler's output that says most. */
function mainPoint(output) {
  const lines = output.split("\n").filter(Boolean);
  return lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
}

/** Probed once for each installation and set of flags; later runs read the verdict. */
function isGoodEnough(candidate) {
  const known = existsSync(verdicts) ? JSON.parse(readFileSync(verdicts, "utf8")) : {};
  const key = identity(candidate);
  if (key in known) return known[key];
  console.log(`Trying ${candidate.compiler} (the first time can take a minute)`);
  const problem = probe(candidate);
  if (problem) console.log(`It cannot build zeropoint: ${mainPoint(problem)}`);
  mkdirSync(toolchain, { recursive: true });
  writeFileSync(verdicts, JSON.stringify({ ...known, [key]: !problem }));
  return !problem;
}

// ---- Installing one ------------------------------------------------------------------------------

/** Emscripten's own installer, if its site answers within ten seconds. */
async function installEmsdk() {
  const site = "https://github.com/emscripten-core/emsdk";
  const env = { GIT_TERMINAL_PROMPT: "0" };
  if (!capture("git", ["ls-remote", site, "HEAD"], { env, timeout: 10_000 }).ok) {
    console.log("The site of emsdk does not answer.");
    return false;
  }
  try {
    rmSync(emsdk, { recursive: true, force: true });
    await run("git", ["clone", "--depth", "1", site, emsdk], { env });
    await run("python3", ["emsdk.py", "install", TESTED_VERSION], { cwd: emsdk });
    await run("python3", ["emsdk.py", "activate", TESTED_VERSION], { cwd: emsdk });
    return true;
  } catch (error) {
    console.log(`emsdk: ${error.message}`);
    rmSync(emsdk, { recursive: true, force: true });
    return false;
  }
}

/** The site that this Debian installs its packages from, as apt knows it. */
function debianSite() {
  const targets = capture("apt-get", ["indextargets", "--format", "$(RELEASE) $(SITE)"]).stdout;
  const line = targets
    .split("\n")
    .find((line) => line && !/-(security|updates|backports)/.test(line));
  return line?.split(" ")[1];
}

/**
 * Downloads the newer package and all it depends on, the C library too, with apt in a state of its
 * own. It installs nothing: the system's packages are not looked at and not changed.
 */
async function downloadFromDebian(suite, folder) {
  for (const path of ["lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, "status"), "");
  const keyring = ["gpg", "pgp"]
    .map((ending) => `/usr/share/keyrings/debian-archive-keyring.${ending}`)
    .find(existsSync);
  const signed = keyring ? `[signed-by=${keyring}] ` : "";
  writeFileSync(join(folder, "sources.list"), `deb ${signed}${debianSite()} ${suite} main\n`);
  const options = [
    `Dir::Etc::sourcelist=${folder}/sources.list`,
    "Dir::Etc::sourceparts=/dev/null",
    `Dir::State::status=${folder}/status`,
    `Dir::State::lists=${folder}/lists`,
    `Dir::Cache=${folder}/cache`,
    "APT::Install-Recommends=0",
    "APT::Sandbox::User=root",
  ].flatMap((option) => ["-o", option]);
  await run("apt-get", ["-q", ...options, "update"]);
  await run("apt-get", [
    "-q",
    ...options,
    "install",
    "-y",
    "--download-only",
    "emscripten",
    "patchelf",
  ]);
  const archives = join(folder, "cache", "archives");
  return readdirSync(archives)
    .filter((name) => name.endsWith(".deb"))
    .map((name) => join(archives, name));
}

/** Files of a folder whose name fits; no links. */
function filesIn(folder, pattern) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => join(folder, entry.name));
}

/** Debian's newer package, unpacked into a prefix whose programs use the prefix's own libraries. */
async function installFromDebian(suite) {
  rmSync(prefix, { recursive: true, force: true });
  const downloads = join(prefix, "apt");
  try {
    console.log(
      `Unpacking Emscripten of Debian ${suite} into .toolchain (about 170 MB to download)`,
    );
    for (const archive of await downloadFromDebian(suite, downloads)) {
      await run("dpkg-deb", ["--extract", archive, prefix]);
    }
  } catch (error) {
    console.log(`Debian ${suite}: ${error.message}`);
    rmSync(prefix, { recursive: true, force: true });
    return false;
  }
  rmSync(downloads, { recursive: true, force: true });

  const usr = join(prefix, "usr");
  const lib = readdirSync(join(usr, "lib")).find((name) => /-linux-gnu/.test(name));
  const libraries = join(usr, "lib", lib);
  const [loader] = filesIn(libraries, /^ld-linux.*\.so\.\d+$/);
  const llvm = readdirSync(join(usr, "lib")).find((name) => /^llvm-\d+$/.test(name));
  const llvmTools = join(usr, "lib", llvm, "bin");

  // patchelf comes from the prefix as well, so it is started by the prefix's own loader.
  const patchelf = (args) =>
    capture(loader, ["--library-path", libraries, join(usr, "bin", "patchelf"), ...args]);
  const usePrefix = ["--force-rpath", "--set-rpath", libraries];
  for (const program of [...filesIn(llvmTools, /./), ...filesIn(join(usr, "bin"), /^wasm-/)]) {
    // Scripts among them are not patched: they are not programs of their own.
    patchelf(["--set-interpreter", loader, ...usePrefix, program]);
  }
  for (const library of filesIn(libraries, /^lib(LLVM|clang-cpp)\b.*\.so/)) {
    patchelf([...usePrefix, library]);
  }

  // Without a package.json of its own, Emscripten's scripts would be taken for ES modules, as ours are.
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
  return true;
}

async function install() {
  console.log(`No Emscripten here that can build zeropoint; installing ${TESTED_VERSION}.`);
  // A verdict on what is replaced must not stand for the new one.
  rmSync(verdicts, { force: true });
  if ((await installEmsdk()) && isGoodEnough(inEmsdk(emsdk))) return inEmsdk(emsdk);
  if (isDebian()) {
    for (const suite of DEBIAN_SUITES) {
      if (await installFromDebian(suite)) return isGoodEnough(inPrefix()) ? inPrefix() : undefined;
    }
  }
  return undefined;
}

/**
 * An Emscripten that can build the core: `{ env, identity }`, the environment that CMake needs and
 * what tells this installation from another.
 */
export async function provideEmscripten() {
  const advice = `please install Emscripten ${TESTED_VERSION} (emcc on PATH, or $EMSDK)`;
  let found = candidates().find(isGoodEnough);
  if (!found && mayInstall()) found = await install();
  if (!found) {
    // The next run tries again: what was wrong may have been put right by then.
    rmSync(verdicts, { force: true });
    throw new Failure(advice);
  }
  const env = withNodeTools({ ...found.env, EMSCRIPTEN_ROOT: home(found) });
  return { env, identity: identity(found) };
}

await runAsScript(import.meta.url, async () => {
  const log = console.log;
  console.log = console.error;
  const { env } = await provideEmscripten();
  const folders = env.PATH.split(delimiter).slice(0, 1).concat(env.EMSCRIPTEN_ROOT).join(delimiter);
  for (const [name, value] of Object.entries(env)) {
    if (name !== "PATH") log(`export ${name}='${value}'`);
  }
  log(`export PATH='${folders}'"${delimiter}$PATH"`);
});
