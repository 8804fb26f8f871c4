// Builds the core again from scratch, in a folder with another name, with another time zone, language and number
// of jobs, and compares the result with the build in dist/, byte for byte.
//
//   npm run reproduce

import { createHash } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure, isThorough, root, run, runAsScript, step } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";
import { buildCore } from "./build.mjs";

/** All inputs of a build of the core. */
const SOURCES = [
  "CMakeLists.txt",
  "CMakePresets.json",
  "include",
  "package-lock.json",
  "package.json",
  "scripts",
  "src",
];

/** Shared by all builds: the packages. The compiler is in the user's cache folder. */
const TOOLS = ["node_modules"];

/** Location and environment of the build, which must not affect the result. */
const FOLDER = join("a folder with a longer name", "zeropoint");
const ENVIRONMENT = { TZ: "Asia/Kathmandu", LC_ALL: "C.UTF-8", CMAKE_BUILD_PARALLEL_LEVEL: "3" };

/**
 * The builds that are compared: all of them with ZEROPOINT_THOROUGH=1, as in `npm run release-check`; else two,
 * which have every source, flag and kernel of the four.
 */
const BUILDS = isThorough ? undefined : ["baseline", "relaxed-threads"];

/** Whether a file of dist/wasm is compared: types come with all builds only. */
const isCompared = (name) =>
  BUILDS === undefined ||
  /^version\./.test(name) ||
  BUILDS.some((build) => [`${build}.js`, `${build}.wasm`].includes(name));

/** The files of a folder and the SHA-256 of each. */
export function hashes(folder) {
  return new Map(
    readdirSync(folder)
      .sort()
      .map((name) => [
        name,
        createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest("hex"),
      ]),
  );
}

/** The names of files that differ between the two. */
export function differences(a, b) {
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].filter((name) => a.get(name) !== b.get(name)).sort();
}

/** Builds a copy of the sources in a separate folder. */
async function buildCopy(folder) {
  mkdirSync(folder, { recursive: true });
  for (const name of SOURCES) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of TOOLS) symlinkSync(join(root, name), join(folder, name), "junction");
  const options = { cwd: folder, env: ENVIRONMENT };
  await run(process.execPath, ["scripts/build/reproduce.mjs", "copy"], options);
  return hashes(join(folder, "dist", "wasm"));
}

/** Compares the build in dist/ with that of a copy. */
async function compareWithCopy(emscripten) {
  await buildCore(emscripten);
  const all = hashes(join(root, "dist", "wasm"));
  const parent = mkdtempSync(join(tmpdir(), "zeropoint-reproduce-"));
  try {
    const folder = join(parent, FOLDER);
    const got = await step(`Another build in ${folder}`, () => buildCopy(folder));
    const expected = new Map([...all].filter(([name]) => isCompared(name)));
    const differing = differences(expected, got);
    if (differing.length > 0) throw new Failure(`the builds differ in ${differing.join(", ")}`);
    console.log("\nTwo builds, the same bytes (SHA-256):");
    for (const [name, hash] of expected) console.log(`${hash}  dist/wasm/${name}`);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

await runAsScript(import.meta.url, async ([place]) => {
  const { emscripten } = await setUp(["core"]);
  if (place === "copy") await buildCore(emscripten, BUILDS);
  else await compareWithCopy(emscripten);
});
