// PyTorch's vectors in every build, on this Node and on Node 24, whose engine computes relaxed SIMD.
//
//   node scripts/engines.mjs

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { capture, Failure, root, run, runAsScript, step, tally, which } from "./run.mjs";

/** The tests that compare with PyTorch's vectors, the builds or threads with one another. */
const TESTS = [
  "dynamic",
  "notebook",
  "notebook-python",
  "notebook-quantization",
  "notebook-tensor",
  "observer",
  "properties",
  "properties-torch",
  "pytorch",
  "staging",
  "threads",
  "torch",
].map((name) => join("tests", "js", `${name}.test.mjs`));

/** npm's package with Node's program for this platform. */
function nodePackage() {
  const { arch, platform } = process;
  const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
  return `${prefix}-${platform === "win32" ? "win" : platform}-${arch}`;
}

/** The program of Node 24: this one, or npm's, kept in build/engines. */
async function node24() {
  if (Number.parseInt(process.versions.node, 10) >= 24) return process.execPath;
  const folder = join(root, "build", "engines");
  const program = join(folder, "node_modules", nodePackage(), "bin", "node");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    const flags = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
    const npm = process.env.npm_execpath ?? "";
    const install = ["install", "--prefix", folder, ...flags, `${nodePackage()}@24`];
    if (/npm-cli\.c?js$/.test(npm)) await run(process.execPath, [npm, ...install]);
    else await run(which("npm") ?? "npm", install);
  }
  return program;
}

/** What an engine says of a build: the build and threads it loads, or why it does not. */
function load(node, build, threads) {
  const code =
    'import { create } from "zeropoint";' +
    `create({ build: "${build}", threads: ${threads} }).then(` +
    "({ build, threads }) => console.log(JSON.stringify({ build, threads }))," +
    "({ code }) => console.log(JSON.stringify({ code }))).finally(() => process.exit());";
  const { stdout, stderr } = capture(node, ["--input-type=module", "--eval", code]);
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Failure(`${node} cannot try ${build}: ${stdout}${stderr}`);
  }
}

/** Runs the tests in every build, on both engines. */
export async function testEngines() {
  const { attempt, finish } = tally();
  for (const node of new Set([process.execPath, await node24()])) {
    const version = capture(node, ["--version"]).stdout.trim();
    for (const build of ["baseline", "relaxed"]) {
      for (const threads of [1, 2]) {
        const title = `${build} on ${threads === 1 ? "one thread" : `${threads} threads`}, ${version}`;
        const loaded = load(node, build, threads);
        if (loaded.code !== undefined) {
          await attempt(title, () => checkAbsence(title, version, build, threads, loaded.code));
          continue;
        }
        const env = { ZEROPOINT_BUILD: build, ZEROPOINT_THREADS: String(threads) };
        const files = TESTS.filter((file) => existsSync(join(root, file)));
        const options = ["--import", "./tests/js/with-build.mjs", "--test", "--test-reporter=dot"];
        await attempt(title, () => step(title, () => run(node, [...options, ...files], { env })));
      }
    }
  }
  finish();
}

/** A build may only be missing where it must be: relaxed SIMD on engines before Node 24's. */
function checkAbsence(title, version, build, threads, code) {
  const isOld = Number(version.slice(1).split(".")[0]) < 24;
  const file = threads === 1 ? build : `${build}-threads`;
  const isShipped = existsSync(join(root, "dist", "core", `${file}.js`));
  if (isShipped && !(build === "relaxed" && isOld)) throw new Failure(`${title}: refused, ${code}`);
  console.log(`\n== ${title}: refused as it must be, ${code}`);
}

await runAsScript(import.meta.url, testEngines);
