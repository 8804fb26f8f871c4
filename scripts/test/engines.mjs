// Reference values and properties in several builds, on this Node and on Node 24, whose engine supports relaxed
// SIMD.
//
//   node scripts/test/engines.mjs

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  capture,
  Failure,
  isThorough,
  root,
  run,
  runAsScript,
  step,
  tally,
  which,
} from "../process/run.mjs";
import { runTestFiles, testFilesIn } from "./test-files.mjs";

/** Tests whose results could depend on the build or the engine: reference values, properties and threads. */
export const testsOfResults = () =>
  testFilesIn(join("tests", "js")).filter(
    (file) =>
      /threads|staging|kernels/.test(file) ||
      /["/](vectors|arbitraries)\.mjs"|\/vectors\//.test(readFileSync(join(root, file), "utf8")),
  );

/** npm's package with the Node program for this platform. */
function nodePackage() {
  const { arch, platform } = process;
  const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
  return `${prefix}-${platform === "win32" ? "win" : platform}-${arch}`;
}

/** The Node 24 program: the running one, or npm's, kept in build/engines. */
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

/** Loads a build in an engine: the build and thread count it reports, or the reason why it fails. */
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

/**
 * The builds and thread counts of `npm run check`, in addition to the baseline build with one thread on this
 * Node, which `npm test` runs. With ZEROPOINT_THOROUGH=1, as in `npm run release-check`: all of them
 * on both engines.
 */
function isChosen(build, threads, isNewest) {
  if (isThorough) return true;
  return isNewest ? build === "relaxed" : build === "baseline" && threads === 2;
}

/** Runs the tests in several builds, on this Node and on Node 24. */
export async function testEngines() {
  const { attempt, finish } = tally();
  const newest = await node24();
  const variants = [...new Set([process.execPath, newest])].flatMap((node) =>
    ["baseline", "relaxed"].flatMap((build) => [1, 2].map((threads) => ({ node, build, threads }))),
  );
  for (const { node, build, threads } of variants) {
    if (!isChosen(build, threads, node === newest)) continue;
    const version = capture(node, ["--version"]).stdout.trim();
    const title = `${build} on ${threads === 1 ? "one thread" : `${threads} threads`}, ${version}`;
    const loaded = load(node, build, threads);
    if (loaded.code !== undefined) {
      await attempt(title, () => checkAbsence(title, version, build, threads, loaded.code));
      continue;
    }
    const env = { ZEROPOINT_BUILD: build, ZEROPOINT_THREADS: String(threads) };
    const options = ["--import", "./tests/js/support/processes/with-build.mjs"];
    const settings = { name: title, node, env, options };
    await attempt(title, () => step(title, () => runTestFiles(testsOfResults(), settings)));
  }
  finish();
}

/** Throws, unless the build is missing in dist/ or the engine lacks relaxed SIMD, as before Node 24. */
function checkAbsence(title, version, build, threads, code) {
  const isOld = Number(version.slice(1).split(".")[0]) < 24;
  const file = threads === 1 ? build : `${build}-threads`;
  const isShipped = existsSync(join(root, "dist", "wasm", `${file}.js`));
  if (isShipped && !(build === "relaxed" && isOld)) throw new Failure(`${title}: refused, ${code}`);
  console.log(`\n== ${title}: refused as expected, ${code}`);
}

await runAsScript(import.meta.url, testEngines);
