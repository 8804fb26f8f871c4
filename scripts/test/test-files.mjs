// Runs test files with Node's test runner, each in a separate process with a time limit.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { endTree, startChild } from "../process/children.mjs";
import { Failure, root } from "../process/run.mjs";

/** Duration of each file's last successful run in seconds; the longest are started first. */
const timesFile = join(root, "build", "test-times.json");
const readTimes = () => (existsSync(timesFile) ? JSON.parse(readFileSync(timesFile, "utf8")) : {});

/** The *.test.mjs files of a folder, as paths from the root; without the files of its subfolder `except`. */
export function testFilesIn(folder, { except, tree = root } = {}) {
  const files = readdirSync(join(tree, folder), { recursive: true })
    .filter((name) => name.endsWith(".test.mjs"))
    .filter((name) => except === undefined || !name.startsWith(`${except}${sep}`))
    .map((name) => join(folder, name))
    .sort();
  if (files.length === 0) throw new Failure(`there are no tests in ${folder}`);
  return files;
}

/** The count that the spec reporter prints at the end, as "ℹ pass 12". */
const countOf = (output, word) =>
  Number(new RegExp(`^ℹ ${word} ([\\d.]+)$`, "m").exec(output)?.[1] ?? 0);

/** What Node's test runner prints: the tests, then the CPU-seconds. */
const REPORTERS = [
  "spec",
  pathToFileURL(join(root, "scripts", "test", "cpu-reporter.mjs")).href,
].flatMap((reporter) => [`--test-reporter=${reporter}`, "--test-reporter-destination=stdout"]);

/** Runs one file: its output, its times in seconds, and its problem if it fails. */
export async function runFile(file, { seconds, env, node, options, tree = root }) {
  const start = performance.now();
  const args = [...options, ...REPORTERS, file];
  const child = startChild(node, args, {
    cwd: tree,
    // Without NODE_TEST_CONTEXT: a nested run would report to the outer one in Node's internal format.
    env: { ...process.env, NO_COLOR: "1", NODE_TEST_CONTEXT: undefined, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  let problem;
  const timer = setTimeout(() => {
    problem = `stopped: it took longer than its limit of ${seconds} s`;
    endTree(child);
  }, seconds * 1000);
  const code = await new Promise((done) => {
    child.on("error", (error) => done(error.message));
    child.on("close", (exit, signal) => done(signal ?? exit));
  });
  clearTimeout(timer);
  const passed = countOf(output, "pass");
  const skipped = countOf(output, "skipped");
  if (code !== 0) problem ??= `failed (${code}): ${countOf(output, "fail")} tests`;
  else if (passed + skipped === 0) problem = "failed: there are no tests in it";
  const took = (performance.now() - start) / 1000;
  return { output, problem, passed, skipped, took, cpu: countOf(output, "cpu") };
}

/**
 * Runs test files in parallel; prints a line for each, and the whole output of a file that fails.
 * @param {string[]} files  paths from the root
 * @param {{ seconds?: number, concurrency?: number, env?: Record<string, string>, node?: string,
 *   options?: string[], name?: string, budget?: number,
 *   startHelper?: () => Promise<{ env: object, end: () => unknown, cpu: () => number | undefined }> }} settings
 *   seconds: the limit of each file; node: the program that runs it; name: key under which the durations of
 *   this run are stored; budget: CPU-seconds that a file should take; a run names the files over it, and does not fail
 *   for them; startHelper: starts a helper for several files, such as a browser, whose CPU-seconds count as the file's;
 *   restarted after a file that failed
 */
export async function runTestFiles(files, settings = {}) {
  const { concurrency = availableParallelism(), name = "", budget, startHelper } = settings;
  const label = name && `${name}: `;
  const given = { seconds: 180, env: {}, node: process.execPath, options: [], ...settings };
  const times = readTimes();
  const sizeOf = (file) => statSync(join(root, file)).size / 1e4;
  const expected = (file) => times[`${name} ${file}`] ?? sizeOf(file);
  const queue = [...files].sort((a, b) => expected(b) - expected(a));
  const failed = [];
  const totals = { passed: 0, skipped: 0 };
  /** @type {[string, number][]} */
  const over = [];
  const worker = async () => {
    let helper;
    const attempt = async (file) => {
      try {
        helper ??= await startHelper?.();
      } catch (error) {
        return { output: error.stack, problem: "not run", passed: 0, skipped: 0, took: 0, cpu: 0 };
      }
      const before = helper?.cpu() ?? 0;
      const result = await runFile(file, { ...given, env: { ...given.env, ...helper?.env } });
      return { ...result, cpu: result.cpu + (helper?.cpu() ?? 0) - before };
    };
    for (let file = queue.shift(); file; file = queue.shift()) {
      const { output, problem, passed, skipped, took, cpu } = await attempt(file);
      if (cpu > budget) over.push([file, cpu]);
      totals.passed += passed;
      totals.skipped += skipped;
      times[`${name} ${file}`] = Math.round(took * 10) / 10;
      if (problem) {
        failed.push(file);
        await helper?.end();
        helper = undefined;
        console.log(`${output}\n✖ ${label}${file}: ${problem}`);
      } else {
        const more = skipped > 0 ? `, ${skipped} skipped` : "";
        const times = `${took.toFixed(1)} s${cpu > 0 ? `, ${cpu.toFixed(1)} CPU-seconds` : ""}`;
        console.log(`✔ ${label}${file}: ${passed} passed${more}, ${times}`);
      }
    }
    await helper?.end();
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, files.length) }, worker));
  mkdirSync(join(root, "build"), { recursive: true });
  writeFileSync(timesFile, JSON.stringify({ ...readTimes(), ...times }, null, 1));
  console.log(
    `${label}${totals.passed} passed, ${totals.skipped} skipped, ${failed.length} files failed`,
  );
  for (const [file, cpu] of over.sort((a, b) => b[1] - a[1])) {
    console.log(`OVER BUDGET: ${label}${file}: ${cpu.toFixed(1)} of ${budget} CPU-seconds`);
  }
  if (failed.length > 0) throw new Failure(`failed: ${failed.join(", ")}`);
}
