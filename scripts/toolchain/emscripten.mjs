// Finds an Emscripten that can build the core, or installs one.
//
//   node scripts/toolchain/emscripten.mjs     prints the shell lines that put it into the environment
//
// Search order: em++ on PATH, $EMSDK, the user's cache folder, into which scripts/toolchain/emscripten-install.mjs
// installs.

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { alone } from "../process/alone.mjs";
import {
  capture,
  Failure,
  follow,
  isExecutable,
  mayInstall,
  root,
  runAsScript,
  which,
  withNodeTools,
} from "../process/run.mjs";
import {
  inEmsdk,
  installEmscripten,
  installed,
  TESTED_VERSION,
  toolchain,
} from "./emscripten-install.mjs";

const verdicts = join(toolchain, "probed");

// ---- Search --------------------------------------------------------------------------------------

function candidates() {
  const onPath = which("em++");
  const all = [
    ...(onPath ? [{ compiler: onPath, env: {} }] : []),
    ...(process.env.EMSDK ? [inEmsdk(process.env.EMSDK)] : []),
    ...installed(),
  ];
  return all.filter(
    ({ compiler, env }) => isExecutable(compiler) && (!env.EM_CONFIG || existsSync(env.EM_CONFIG)),
  );
}

/** Whether any Emscripten is installed, usable or not. */
export const emscriptenIsHere = () => candidates().length > 0;

// ---- Probe ---------------------------------------------------------------------------------------

/** A small program that uses every feature the core uses. */
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

/** The flags of a build, read as CMakeLists.txt does: flags of all builds and of the build's sections. */
function flagsOf(sections) {
  const lines = readFileSync(join(root, "scripts", "build", "emcc-flags.txt"), "utf8").split(
    /\r?\n/,
  );
  const flags = [];
  let section = "all";
  for (const line of lines) {
    section = /^\[(.+)\]$/.exec(line)?.[1] ?? section;
    if (line.startsWith("-") && ["all", ...sections].includes(section)) flags.push(line);
  }
  return flags;
}

/** The folder with CMake's toolchain file; some packages put only a script on PATH. */
function home({ compiler, env }) {
  const folder = dirname(realpathSync(compiler));
  if (existsSync(join(folder, "cmake"))) return folder;
  return capture(join(dirname(compiler), "em-config"), ["EMSCRIPTEN_ROOT"], { env }).stdout.trim();
}

/** Identifies an installation: its folder and version. */
function identity({ compiler }) {
  const folder = dirname(realpathSync(compiler));
  const versionFile = join(folder, "emscripten-version.txt");
  const version = existsSync(versionFile) ? readFileSync(versionFile, "utf8").trim() : "";
  return createHash("sha256").update([folder, version].join("\n")).digest("hex").slice(0, 16);
}

/**
 * Reports each system library that Emscripten builds, once, and the time it takes.
 * @returns a function for each line Emscripten prints, and one that ends the report
 */
function libraryReport() {
  let library;
  let start = Date.now();
  const seconds = () => Math.round((Date.now() - start) / 1000);
  const timer = setInterval(() => {
    if (library) console.log(`  still building ${library}, ${seconds()} s`);
  }, 15_000).unref();
  return {
    onLine: (line) => {
      const path = /generating system (?:library|asset|headers?): (\S+?)\.\.\./.exec(line)?.[1];
      if (!path) return;
      library = basename(path);
      start = Date.now();
      console.log(`  Emscripten builds its ${library}`);
    },
    end: () => clearInterval(timer),
  };
}

/**
 * Builds the probe with the flags of these sections, so that Emscripten also builds the system libraries for
 * them.
 * @returns {Promise<string | undefined>} the problem, if any
 */
async function probe({ compiler, env }, sections) {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-probe-"));
  const { onLine, end } = libraryReport();
  try {
    writeFileSync(join(folder, "probe.cpp"), PROBE);
    const output = ["-o", "probe.js", "--emit-tsd", join(folder, "probe.d.ts")];
    const flags = ["-std=c++20", "-Wall", "-Werror", ...flagsOf(sections), ...output];
    const built = await follow(compiler, ["probe.cpp", ...flags], {
      cwd: folder,
      env: withNodeTools(env),
      onLine,
    });
    if (!built.ok) return built.output.trim() || "no reason given";
    const types = readFileSync(join(folder, "probe.d.ts"), "utf8");
    if (!types.includes("'kOk'")) return "its types do not name the values of a string enum";
    return undefined;
  } catch (error) {
    return error.message;
  } finally {
    end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The most informative line of the compiler's output. */
function mainPoint(output) {
  const lines = output.split("\n").filter(Boolean);
  return lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
}

/** The file that stores the result of a probe of an installation with these flags, for later runs. */
function verdictFile(candidate, sections) {
  const inputs = [identity(candidate), PROBE, ...flagsOf(sections)].join("\n");
  const hash = createHash("sha256").update(inputs).digest("hex").slice(0, 16);
  return join(verdicts, hash);
}

async function isGoodEnough(candidate, sections) {
  const file = verdictFile(candidate, sections);
  if (existsSync(file)) return readFileSync(file, "utf8") === "good";
  const kind = sections.length > 0 ? `the ${sections.join(" and ")} builds` : "the baseline build";
  console.log(
    `Trying ${candidate.compiler} for ${kind}; the first time it builds its system libraries, ` +
      "about half a minute on two cores",
  );
  const problem = await probe(candidate, sections);
  if (problem) console.log(`It cannot build zeropoint: ${mainPoint(problem)}`);
  mkdirSync(verdicts, { recursive: true });
  writeFileSync(file, problem ? "bad" : "good");
  return !problem;
}

async function isGoodForAll(candidate, kinds) {
  for (const sections of kinds) if (!(await isGoodEnough(candidate, sections))) return false;
  return true;
}

/** The sections of two builds: with the fewest and with the most flags. */
const PROBED = [[], ["relaxed", "threads"]];

/** Downloads an Emscripten if none is installed; no compiler is probed. */
export async function downloadEmscripten() {
  if (emscriptenIsHere() || !mayInstall()) return;
  await alone(
    async () => {
      if (!emscriptenIsHere()) await installEmscripten();
    },
    toolchain,
    "installs Emscripten",
  );
}

/** Sets Python's program for Emscripten's launchers: a version manager's shim would slow down each call. */
function pythonItself() {
  const { ok, stdout } = capture("python3", ["-c", "import sys; print(sys.executable)"]);
  return ok && stdout.trim() ? { EMSDK_PYTHON: stdout.trim() } : {};
}

/**
 * An Emscripten that can build the core: `{ env, identity }`, the environment for CMake and a string that
 * identifies this installation.
 * @param {{ threads?: boolean }} options  threads: whether the builds for threads are to be made as well
 */
export async function provideEmscripten({ threads = true } = {}) {
  const kinds = threads ? PROBED : PROBED.slice(0, 1);
  const find = async () => {
    for (const candidate of candidates()) {
      if (await isGoodForAll(candidate, kinds)) return candidate;
    }
    return undefined;
  };
  const found = await alone(
    async () => {
      const here = await find();
      if (here || !mayInstall()) return here;
      rmSync(verdicts, { recursive: true, force: true });
      await installEmscripten();
      return find();
    },
    toolchain,
    "installs or tries Emscripten",
  );
  if (!found) {
    // The next run probes again: the cause may be fixed by then.
    rmSync(verdicts, { recursive: true, force: true });
    throw new Failure(
      `no Emscripten here can build zeropoint: please install version ${TESTED_VERSION} ` +
        "(em++ on PATH, or $EMSDK)",
    );
  }
  const env = withNodeTools({ ...found.env, ...pythonItself(), EMSCRIPTEN_ROOT: home(found) });
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
