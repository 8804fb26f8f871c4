// System packages that npm cannot install: finds the missing ones and installs them.

import { devNull } from "node:os";
import { capture, Failure, isDebian, mayInstall, run, which } from "../process/run.mjs";
import { findBrowser } from "./browser.mjs";
import { emscriptenIsHere } from "./emscripten.mjs";
import { TESTED_VERSION } from "./emscripten-install.mjs";

const runs = (name) => which(name) !== undefined;

/** The project's presets need CMake 3.25. */
function cmakeIsNewEnough() {
  const version = /version (\d+)\.(\d+)/.exec(
    runs("cmake") ? capture("cmake", ["--version"]).stdout : "",
  );
  return version !== null && Number(version[1]) * 1000 + Number(version[2]) >= 3025;
}

/** The C++ compiler that CMake would choose. */
function compiler() {
  return [process.env.CXX, "c++", "g++", "clang++"].find(
    (name) => name && runs(name.split(" ")[0]),
  );
}

/** Whether the C++ compiler finds a header; it does not search Homebrew's folder by default. */
function hasHeader(header) {
  const name = compiler();
  if (!name) return false;
  const [command, ...options] = name.split(" ");
  const source = `#if !__has_include(<${header}>)\n#error missing\n#endif\n`;
  const folders = ["-I/usr/local/include", "-I/opt/homebrew/include"];
  return capture(command, [...options, ...folders, "-std=c++20", "-E", "-x", "c++", "-"], {
    input: source,
  }).ok;
}

/** Whether Clang is installed with libFuzzer, which some systems package separately. */
function hasFuzzer() {
  if (!runs("clang++")) return false;
  const source = 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }';
  const options = ["-fsanitize=fuzzer,address", "-x", "c++", "-", "-o", devNull];
  return capture("clang++", options, { input: source }).ok;
}

/** Debian's Clang, and the run-time libraries of the same version. */
function clangPackages() {
  const depends = capture("apt-cache", ["depends", "clang"]).stdout;
  const version = /\bclang-(\d+)/.exec(depends)?.[1] ?? "14";
  return `clang libclang-rt-${version}-dev`;
}

/** Whether the newest Node from npm finds the library that it is linked with, which Debian has apart from its own Node. */
const hasAtomic = () =>
  !isDebian() || capture("/sbin/ldconfig", ["-p"]).stdout.includes("libatomic.so.1");

/** The needs of each purpose: display name, Debian package, and whether it is installed. */
const NEEDS = {
  core: [
    { what: "CMake 3.25 or newer", debian: "cmake", isHere: cmakeIsNewEnough },
    { what: "Ninja", debian: "ninja-build", isHere: () => runs("ninja") },
    { what: "Python 3", debian: "python3", isHere: () => runs("python3") },
  ],
  native: [
    { what: "a C++20 compiler", debian: "g++", isHere: () => hasHeader("span") },
    { what: "GoogleTest", debian: "libgtest-dev", isHere: () => hasHeader("gtest/gtest.h") },
    { what: "SIMDe", debian: "libsimde-dev", isHere: () => hasHeader("simde/wasm/simd128.h") },
    {
      what: "nlohmann-json",
      debian: "nlohmann-json3-dev",
      isHere: () => hasHeader("nlohmann/json.hpp"),
    },
  ],
  chromium: [
    {
      what: "Chromium or Chrome",
      debian: "chromium",
      isHere: () => findBrowser("chromium") !== undefined,
    },
  ],
  firefox: [
    {
      what: "Firefox",
      debian: "firefox-esr",
      isHere: () => findBrowser("firefox") !== undefined,
    },
  ],
  format: [{ what: "clang-format", debian: "clang-format", isHere: () => runs("clang-format") }],
  fuzz: [
    { what: "CMake 3.25 or newer", debian: "cmake", isHere: cmakeIsNewEnough },
    { what: "Ninja", debian: "ninja-build", isHere: () => runs("ninja") },
    { what: "SIMDe", debian: "libsimde-dev", isHere: () => hasHeader("simde/wasm/simd128.h") },
    { what: "Clang with libFuzzer", debian: clangPackages, isHere: hasFuzzer },
  ],
  engines: [{ what: "libatomic, for the newest Node", debian: "libatomic1", isHere: hasAtomic }],
  valgrind: [{ what: "valgrind", debian: "valgrind", isHere: () => runs("valgrind") }],
  lint: [{ what: "clang-tidy", debian: "clang-tidy", isHere: () => runs("clang-tidy") }],
};

/**
 * Provides the programs and headers for the named purposes: installs missing ones on Debian as root; otherwise
 * throws with one line that names them.
 */
export async function provideSystemPackages(purposes) {
  const missing = purposes.flatMap((purpose) => NEEDS[purpose]).filter((need) => !need.isHere());
  const wanted = missing.map((need) => need.what);
  if (purposes.includes("core") && !mayInstall() && !emscriptenIsHere()) {
    wanted.push(`Emscripten ${TESTED_VERSION} (emcc on PATH, or $EMSDK)`);
  }
  if (wanted.length === 0) return;

  const packageOf = ({ debian }) => (typeof debian === "function" ? debian() : debian);
  const packages = missing.map(packageOf).join(" ");
  const isRoot = process.getuid?.() === 0;
  if (!mayInstall() || !isDebian() || !isRoot) {
    const command =
      isDebian() && packages
        ? `; as root: apt-get install --no-install-recommends ${packages}`
        : "";
    throw new Failure(`please install ${wanted.join(", ")}${command}`);
  }

  console.log(`Installing missing system packages: ${packages}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  try {
    await run("apt-get", ["-q", "-o", "APT::Update::Error-Mode=any", "update"], { env });
  } catch {
    throw new Failure(`cannot install ${packages}: apt's sites do not answer; is there a network?`);
  }
  const install = ["-q", "install", "-y", "--no-install-recommends", ...packages.split(" ")];
  await run("apt-get", install, { env });
  const stillMissing = missing.filter((need) => !need.isHere()).map((need) => need.what);
  if (stillMissing.length > 0) {
    throw new Failure(`installed ${packages}, but still missing: ${stillMissing.join(", ")}`);
  }
}
