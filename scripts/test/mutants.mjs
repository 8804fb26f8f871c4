// npm run mutants: applies each mutant of tests/mutants/mutants.json to a copy of the tree, and runs tests until one fails.

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { capture, Failure, root, run, runAsScript, step } from "../process/run.mjs";
import { findBrowser } from "../toolchain/browser.mjs";
import { isByDefault } from "./test.mjs";
import { runFile, testFilesIn } from "./test-files.mjs";

const HELP = `
npm run mutants [-- [--tree FOLDER] [--record] [--recorded] [--unrecorded] [--summary] [--stale] text ...]

Applies one-token mutants, one after the other, to a copy of the tree in build/mutants, and runs the test that killed
the mutant before, then the tests of its room, until one of them fails. A mutant that passes them all survives, and the
command fails. With text: only the mutants whose file contains one of the texts. Every killer has to pass on the tree
without a mutant, too.

  --tree FOLDER   use this copy of any commit, with node_modules and dist, instead of build/mutants
  --record        write into tests/mutants/mutants.json which test killed each mutant
  --recorded      run the recorded killer of each mutant alone; a mutant without one survives
  --unrecorded    only the mutants that have no killer on record
  --summary       only print how many mutants have a killer on record, and how many one that npm test runs
  --stale         only report mutants whose line is no longer in its file
`;

const listFile = join(root, "tests", "mutants", "mutants.json");

/** Seconds for one test file. */
const LIMIT = 170;

/** A fresh copy of the checkout's files; its folder build stays, so that only changed files are compiled again. */
function copyTree(tree) {
  const { stdout } = capture("git", [
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
  ]);
  for (const file of stdout.split("\0").filter(Boolean)) {
    const [from, to] = [join(root, file), join(tree, file)];
    if (!existsSync(from)) continue;
    mkdirSync(dirname(to), { recursive: true });
    // An equal file keeps its time, so that it is not compiled again.
    if (!existsSync(to) || !readFileSync(to).equals(readFileSync(from))) cpSync(from, to);
  }
  cpSync(join(root, "dist"), join(tree, "dist"), { recursive: true });
  if (!existsSync(join(tree, "node_modules"))) {
    symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  }
}

/** The names of the suites in a native test file. */
const suitesOf = (path) =>
  new Set(
    [...readFileSync(path, "utf8").matchAll(/^(?:TYPED_)?TEST(?:_[PF])?\((\w+),/gm)].map(
      ([, name]) => name,
    ),
  );

/** Builds the part of the tree that a file belongs to; scripts and manifests belong to none. */
async function build(tree, { file, tests = [] }) {
  const inTree = (code) =>
    run(process.execPath, ["--input-type=module", "--eval", code], { cwd: tree, stdout: "ignore" });
  if (file.startsWith("src/js/")) {
    await inTree('import { transpileJs } from "./scripts/build/build.mjs"; await transpileJs();');
  } else if (file.startsWith("src/bindings/")) {
    await run(process.execPath, ["scripts/build/build.mjs", "core"], {
      cwd: tree,
      stdout: "ignore",
    });
  } else if (file.startsWith("web/")) {
    if (tests.every((test) => test.includes("in-node"))) return;
    await run("npx", ["vite", "build", "--config", "web/vite.config.mjs", "--logLevel", "error"], {
      cwd: tree,
      stdout: "ignore",
    });
  } else if (/^(include|src)\//.test(file)) {
    const quiet = { cwd: tree, stdout: "ignore" };
    if (!existsSync(join(tree, "build", "native")))
      await run("cmake", ["--preset", "native"], quiet);
    const target = ["--target", "zeropoint_tests"];
    await run("cmake", ["--build", "--preset", "native", ...target], quiet);
  }
}

/** The tests to try, in their order: the recorded killer, the named ones, those of the same name, those of the room. */
function testsOf(tree, { file, killedBy, tests = [] }) {
  const name = basename(file).replace(/\.\w+$/, "");
  const first = [killedBy, ...tests].filter(Boolean);
  if (/^(include|src\/(core|kernels))\//.test(file)) {
    const same = [`tests/native/kernels/${name}_test.cpp`, `tests/native/${name}_test.cpp`];
    return [
      ...new Set([
        ...first,
        ...same.filter((path) => existsSync(join(tree, path))),
        "tests/native",
      ]),
    ];
  }
  if (!file.startsWith("src/js/")) return [...new Set(first)];
  const room = dirname(file).replace("src/js", "tests/js");
  const near = [];
  for (let folder = room; folder !== "tests/js"; folder = dirname(folder)) {
    if (existsSync(join(tree, folder))) near.push(...testFilesIn(folder, { tree }));
  }
  const isSame = (path) => basename(path).startsWith(`${name}.`);
  near.sort((a, b) => Number(isSame(b)) - Number(isSame(a)));
  return [...new Set([...first, ...near])];
}

/** The native test file of a suite; a suite of several types has a number behind its name. */
const fileOfSuite = (tree, suite) =>
  ["tests/native", "tests/native/kernels"]
    .flatMap((folder) => readdirSync(join(tree, folder)).map((name) => `${folder}/${name}`))
    .find((file) => file.endsWith("_test.cpp") && suitesOf(join(tree, file)).has(suite));

/** Runs a test on the tree as it is. @returns the file that failed, or undefined */
async function failureOf(tree, test) {
  if (test.startsWith("tests/native")) {
    const path = join(tree, test);
    const isAll = !test.endsWith(".cpp");
    const filter = isAll ? "*" : [...suitesOf(path)].map((suite) => `*${suite}*`).join(":");
    const options = ["--gtest_brief=1", "--gtest_fail_fast", `--gtest_filter=${filter}`];
    const program = join(tree, "build", "native", "zeropoint_tests");
    const { ok, stdout } = capture("timeout", [String(LIMIT), program, ...options]);
    if (ok) return undefined;
    const [, suite] = /^\[ {2}FAILED {2}\] (?:\w+\/)?(\w+)/m.exec(stdout) ?? [];
    return (isAll && suite && fileOfSuite(tree, suite)) || test;
  }
  const isInBrowser = /^tests\/web\/(?!in-node)/.test(test);
  const { problem } = await runFile(test, {
    seconds: LIMIT,
    node: process.execPath,
    options: [],
    env: isInBrowser ? { ZEROPOINT_BROWSER: "chromium", ZEROPOINT_CHROMIUM: findBrowser() } : {},
    tree,
  });
  return problem === undefined ? undefined : test;
}

/** The recorded killer of a mutant, in a list. */
const recordedOf = ({ killedBy }) => (killedBy === undefined ? [] : [killedBy]);

/** Prints the state on record, and the mutants without a killer that `npm test` runs. */
function printSummary(mutants) {
  const killed = mutants.filter((mutant) => recordedOf(mutant).length > 0);
  const byDefault = killed.filter(({ killedBy }) => killedBy === "build" || isByDefault(killedBy));
  const share = (count) =>
    `${count} of ${mutants.length} (${((100 * count) / mutants.length).toFixed(1)} %)`;
  console.log(
    `${share(killed.length)} have a killer on record, ${share(byDefault.length)} one that npm test runs`,
  );
  for (const mutant of mutants.filter((each) => !byDefault.includes(each))) {
    console.log(`${mutant.killedBy ?? "none"}: ${mutant.file}: ${mutant.to.trim().split("\n")[0]}`);
  }
}

/** Applies a mutant, builds, runs tests, and takes it back. @returns the test that failed; "build"; or undefined */
async function tryMutant(tree, mutant, isRecorded) {
  const path = join(tree, mutant.file);
  const original = readFileSync(path, "utf8");
  writeFileSync(
    path,
    original.replace(mutant.from, () => mutant.to),
  );
  try {
    try {
      await build(tree, mutant);
    } catch {
      return "build";
    }
    const tests = isRecorded ? recordedOf(mutant) : testsOf(tree, mutant);
    for (const test of tests) {
      const failed = await failureOf(tree, test);
      if (failed !== undefined) return failed;
    }
    return undefined;
  } finally {
    writeFileSync(path, original);
  }
}

/** The mutants whose line is not exactly once in its file. */
const staleOf = (tree, mutants) =>
  mutants.filter(({ file, from }) => {
    const path = join(tree, file);
    return !existsSync(path) || readFileSync(path, "utf8").split(from).length !== 2;
  });

async function main(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      tree: { type: "string" },
      record: { type: "boolean" },
      recorded: { type: "boolean" },
      unrecorded: { type: "boolean" },
      summary: { type: "boolean" },
      stale: { type: "boolean" },
    },
  });
  const all = JSON.parse(readFileSync(listFile, "utf8"));
  const isChosen = ({ file, killedBy }) =>
    (positionals.length === 0 || positionals.some((text) => file.includes(text))) &&
    !(values.unrecorded && killedBy !== undefined);
  const mutants = all.filter(isChosen);
  if (mutants.length === 0)
    throw new Failure(`no mutant is in a file like ${positionals.join(", ")}`);
  const tree = values.tree ?? join(root, "build", "mutants");
  const stale = staleOf(values.tree ?? root, mutants);
  if (stale.length > 0) {
    const lines = stale.map(({ file, from }) => `${file}: ${JSON.stringify(from)}`);
    throw new Failure(`mutants whose line is not exactly once in its file:\n${lines.join("\n")}`);
  }
  if (values.summary) printSummary(mutants);
  if (values.stale || values.summary) return;
  if (!values.tree) copyTree(tree);

  const survivors = [];
  const killers = new Map();
  for (const [i, mutant] of mutants.entries()) {
    const start = performance.now();
    const killer = await tryMutant(tree, mutant, values.recorded);
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    const text = `${mutant.file}: ${mutant.to.trim().split("\n")[0]}`;
    console.log(`${i + 1}/${mutants.length} ${killer ?? "SURVIVED"} (${seconds} s)  ${text}`);
    if (killer === undefined) survivors.push(text);
    else killers.set(killer, mutant);
    if (values.record) {
      mutant.killedBy = killer;
      // Read again, because another run may have written meanwhile.
      const now = JSON.parse(readFileSync(listFile, "utf8"));
      const place = now.findIndex(({ file, from }) => file === mutant.file && from === mutant.from);
      now[place].killedBy = killer;
      writeFileSync(listFile, `${JSON.stringify(now, null, 2)}\n`);
    }
  }

  // A test that always fails kills nothing.
  const broken = [];
  await step("The killers without a mutant", async () => {
    const kinds = new Map(
      [...killers.values()].map((mutant) => [mutant.file.split("/", 2).join("/"), mutant]),
    );
    for (const mutant of kinds.values()) await build(tree, mutant);
    for (const killer of killers.keys()) {
      if (killer !== "build" && (await failureOf(tree, killer))) broken.push(killer);
    }
  });
  if (broken.length > 0)
    throw new Failure(`tests that fail without a mutant: ${broken.join(", ")}`);
  console.log(`${mutants.length - survivors.length} of ${mutants.length} mutants killed`);
  if (survivors.length > 0) throw new Failure(`survived:\n${survivors.join("\n")}`);
}

await runAsScript(import.meta.url, main, HELP);
