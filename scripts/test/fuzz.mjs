// npm run fuzz: searches for input that makes the library fail, for a given time.
//
//   npm run fuzz -- [--minutes N] [--keep] [name ...]
//
// The names are those of tests/native/fuzz/<name>_fuzz.cpp (C++, by libFuzzer), and three of JavaScript, by fast-check
// with a new seed each time: `properties` (the whole interface), `formats` (the readers and writers of model files) and
// `cli` (the JSON files of the command line). Without a name, all of them share the time, 10 minutes by default.
// libFuzzer keeps its corpus in build/native-fuzz/corpus and failing inputs in build/native-fuzz/found. --keep writes the
// fewest inputs that reach all that the corpus reaches into tests/native/fuzz/corpus, from which every run begins.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { buildCore, buildJs, buildNative } from "../build/build.mjs";
import { Failure, root, run, runAsScript, sideBySide, step } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";

const PRESET = "native-fuzz";

/** Test files whose properties fast-check runs for the given time. */
const PROPERTIES = {
  properties: ["tests/js/quantize/properties.test.mjs"],
  cli: ["tests/js/cli/fuzz.test.mjs"],
  formats: [
    ...["dtypes", "gguf", "npy", "onnx", "safetensors", "tfjs"].map((name) => `formats/${name}`),
    "models/fuzz",
  ].map((name) => `tests/js/${name}.test.mjs`),
};
const folder = join(root, "build", PRESET);

/** The programs of tests/native/fuzz, without the file extension. */
const targets = readdirSync(join(root, "tests", "native", "fuzz"))
  .filter((file) => file.endsWith("_fuzz.cpp"))
  .map((file) => file.slice(0, -"_fuzz.cpp".length))
  .sort();

/** The kept inputs of a target: one in base64 on each line. */
const keptFile = (target) => join(root, "tests", "native", "fuzz", "corpus", `${target}.txt`);

/** A folder of initial inputs, the same in each run: bytes of every length, and the kept ones. */
function makeSeeds(target, corpus) {
  mkdirSync(corpus, { recursive: true });
  const kept = existsSync(keptFile(target)) ? readFileSync(keptFile(target), "utf8") : "";
  for (const [i, line] of kept.split("\n").filter(Boolean).entries()) {
    writeFileSync(join(corpus, `kept-${i}`), Buffer.from(line, "base64"));
  }
  let state = 1;
  for (let i = 0; i < 48; i++) {
    const bytes = Uint8Array.from({ length: 8 << (i % 7) }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 24;
    });
    writeFileSync(join(corpus, `seed-${i}`), bytes);
  }
}

/** Runs one program on a corpus. */
async function fuzz(target, corpus, limits) {
  const found = join(folder, "found");
  makeSeeds(target, corpus);
  mkdirSync(found, { recursive: true });
  const program = join(folder, `${target}_fuzz`);
  // Inputs are short and useful at full length: growing them gradually gains nothing.
  const options = ["-len_control=0", "-max_len=512", "-timeout=20", "-verbosity=0"];
  try {
    await run(program, [...options, `-artifact_prefix=${found}/${target}-`, ...limits, corpus]);
  } catch (error) {
    console.log(`${target}: the input is in ${found}; to run it alone: ${program} <file>`);
    throw error;
  }
}

/** Writes the fewest inputs of a corpus that reach all that it reaches into the repository. */
async function keep(target, corpus) {
  const least = join(folder, "least", target);
  rmSync(least, { recursive: true, force: true });
  mkdirSync(least, { recursive: true });
  await run(join(folder, `${target}_fuzz`), ["-set_cover_merge=1", "-max_len=512", least, corpus], {
    stderr: "ignore",
  });
  const lines = readdirSync(least).map((name) => readFileSync(join(least, name), "base64"));
  mkdirSync(dirname(keptFile(target)), { recursive: true });
  writeFileSync(keptFile(target), `${lines.sort().join("\n")}\n`);
}

/** Runs every program on the kept inputs and a fixed number of further ones, for CI and `npm run check`. */
export function fuzzBriefly() {
  return step("Fuzz targets", () => {
    rmSync(join(folder, "brief"), { recursive: true, force: true });
    return sideBySide(
      targets.map((target) => [
        `fuzzing of ${target}`,
        () => fuzz(target, join(folder, "brief", target), ["-runs=3000", "-seed=1"]),
      ]),
    );
  });
}

function parse(args) {
  const names = [];
  let minutes = 10;
  let keeps = false;
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--minutes") minutes = Number(args[++i]);
    else if (args[i] === "--keep") keeps = true;
    else names.push(args[i]);
  }
  const known = [...targets, ...Object.keys(PROPERTIES)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined || !(minutes > 0)) {
    throw new Failure(
      `fuzz takes --minutes N, --keep and any of ${known.join(", ")}; got ${args.join(" ")}`,
    );
  }
  return { minutes, keeps, names: names.length > 0 ? names : known };
}

await runAsScript(import.meta.url, async (args) => {
  const { minutes, keeps, names } = parse(args);
  const native = names.filter((name) => !Object.hasOwn(PROPERTIES, name));
  const needsJs = names.length > native.length;
  const purposes = [...(needsJs ? ["core"] : []), ...(native.length > 0 ? ["fuzz"] : [])];
  const { emscripten } = await setUp(purposes);
  if (native.length > 0) await buildNative(PRESET);
  if (needsJs) {
    await buildCore(emscripten);
    await buildJs();
  }
  const seconds = Math.ceil(
    (60 * minutes * Math.min(availableParallelism(), names.length)) / names.length,
  );
  const corpus = (target) => join(folder, "corpus", target);
  await sideBySide(
    names.map((name) => [
      name,
      Object.hasOwn(PROPERTIES, name)
        ? () =>
            // One file after the other, because the files share the time.
            run(process.execPath, ["--test", "--test-concurrency=1", ...PROPERTIES[name]], {
              env: { ZEROPOINT_FUZZ_SECONDS: String(Math.ceil(seconds / PROPERTIES[name].length)) },
            })
        : async () => {
            await fuzz(name, corpus(name), [`-max_total_time=${seconds}`]);
            if (keeps) await keep(name, corpus(name));
          },
    ]),
  );
  console.log(`\nNo failures: ${names.join(", ")}, ${seconds} s each`);
});
