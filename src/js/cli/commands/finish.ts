// zeropoint finish: checks the output of all jobs, then writes the files that describe the whole model.

import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { quantizeModel } from "../../models/quantize/quantize-model.js";
import { readArguments } from "../arguments.js";
import { EXIT, Failure } from "../failures.js";
import { openInput, startCore } from "../input.js";
import { type Done, donePath, firstDone, hashOfOutput, isThere, readDone } from "../jobs/done.js";
import { modelOptions, type QuantizeRequest, readRequest } from "../jobs/request.js";
import { describe, isOfFinish, pathsOf, type Target, targetsOf, writeRest } from "../jobs/write.js";
import { isFolder } from "../output/files.js";
import { isPartialOf } from "../output/partial.js";
import { Progress } from "../output/progress.js";
import { printable } from "../output/terminal.js";
import { showBytes, showTime } from "../units.js";
import { mainOf, minSqnrOf, verify } from "../verify.js";

/** Runs the command. @returns the exit code */
export async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const args = readArguments("finish", argv);
  const [output] = args.operands;
  const isQuiet = args.has("quiet");
  const minSqnr = minSqnrOf(args);
  const first = await someDone(output);
  const request = await readRequest(
    args.text("scheme"),
    args.text("plan"),
    first.options,
    "--scheme",
    signal,
  );
  if (first.plan !== request.plan) {
    const problem = `the jobs had another ${args.has("plan") ? "plan" : "scheme"}`;
    throw new Failure(EXIT.different, `${output}: ${problem} (${basename(first.output.name)})`);
  }
  await startCore(args);
  const source = args.text("source") ?? (await sourceOf(first));
  const model = await openInput(source, signal, args);
  try {
    const options = { ...modelOptions(request.options), signal };
    const result = await quantizeModel(model, request.scheme, options);
    const { files } = result;
    const targets = await targetsOf(model, files, ({ name }) => join(output, name));
    const jobs = targets.filter(({ file }) => !isOfFinish(file));
    const choices = { isForced: args.has("force"), isQuiet };
    const description = await describe(output, source, files, choices, signal);
    if (!isQuiet && !args.has("verify") && jobs.some(({ version }) => version === undefined)) {
      const problem = "has no version (ETag, time): whether it has changed since the jobs read it";
      process.stderr.write(`${printable(`${source} ${problem} is found by --verify alone`)}\n`);
    }
    const progress = new Progress(`checking ${output}`, isQuiet);
    const checked = await checkAll(jobs, request, args.has("sizes-only"), progress, signal);
    progress.clear();
    const problems = checked.filter((each) => typeof each === "string");
    if (problems.length > 0) {
      for (const problem of problems)
        process.stderr.write(`zeropoint finish: ${printable(problem)}\n`);
      const count = `${problems.length} of ${jobs.length} files are missing or wrong`;
      throw new Failure(EXIT.different, `${count}; run their jobs again. Nothing was written`);
    }
    const done = checked.filter((each) => typeof each !== "string");
    const main = join(output, mainOf(files.map(({ name }) => name)));
    const check = args.has("verify")
      ? () => verify(model, { targets, result, main, minSqnr }, isQuiet, signal)
      : undefined;
    const code = await writeRest(description, done, signal, check);
    if (code !== EXIT.ok) return code;
    await removePartials(pathsOf(targets, description));
    if (!isQuiet) process.stdout.write(`${printable(`${output}: ${summaryOf(done)}`)}\n`);
    return EXIT.ok;
  } finally {
    await model.close();
  }
}

/** The done-file of any job. */
async function someDone(output: string): Promise<Done> {
  if (!(await isFolder(output)))
    throw new Failure(EXIT.input, `${output}: there is no such folder`);
  const done = await firstDone(output);
  if (done !== undefined) return done;
  throw new Failure(EXIT.input, `${output}: no job of quantize --shard has written here`);
}

/** The model that the jobs read: by its full path, or as the command named it. */
async function sourceOf({ source }: Done): Promise<string> {
  if (/^https?:/i.test(source.model)) return source.model;
  return (await isFolder(source.path)) ? source.path : source.model;
}

/** Checks the file of each job. @returns done-files, and the problem of each file that is missing or wrong */
async function checkAll(
  jobs: readonly Target[],
  request: QuantizeRequest,
  isSizesOnly: boolean,
  progress: Progress,
  signal: AbortSignal,
): Promise<(Done | string)[]> {
  const total = jobs.reduce((sum, { file }) => sum + file.size, 0);
  const results: (Done | string)[] = [];
  let read = 0;
  for (const { file, path, headerSha256, version } of jobs) {
    const done = await readDone(path);
    if (done === undefined) results.push(`${path}: its job has not finished`);
    else if (done.job !== request.job)
      results.push(`${path}: made by another plan, option or version`);
    else if (done.source.headerSha256 !== headerSha256)
      results.push(`${path}: made of another source`);
    else if (version !== undefined && done.source.version !== version)
      results.push(`${path}: its source has changed since its job read it, or is a copy`);
    else if (done.output.size !== file.size || !(await isThere(path, done))) {
      results.push(`${path}: missing, or not ${showBytes(file.size)}`);
    } else if (isSizesOnly) results.push(done);
    else {
      const sha256 = await hashOfOutput(path, signal, (bytes) => {
        read += bytes;
        progress.update({ done: read, total, name: file.name });
      });
      const isRight = sha256 === done.output.sha256;
      results.push(
        isRight
          ? done
          : `${path}: damaged since its job wrote it (sha256 ${sha256 ?? "of no file"})`,
      );
    }
  }
  return results;
}

/** Removes unfinished files of killed jobs, and no others. All jobs have finished, so that no process writes to them. */
async function removePartials(paths: readonly string[]): Promise<void> {
  for (const path of [...paths, ...paths.map(donePath)]) {
    const folder = dirname(path);
    const names = await readdir(folder).catch(() => []);
    for (const name of names) {
      if (isPartialOf(path, name)) await rm(join(folder, name), { force: true });
    }
  }
}

function summaryOf(done: readonly Done[]): string {
  const bytes = done.reduce((sum, { output }) => sum + output.size, 0);
  const seconds = done.reduce((sum, each) => sum + each.seconds, 0);
  const peak = Math.max(0, ...done.map(({ peakMemory }) => peakMemory));
  return (
    `${done.length} files, ${showBytes(bytes)}, all as their jobs wrote them; index, config and SHA256SUMS written. ` +
    `The jobs took ${showTime(seconds)} together, and at most ${showBytes(peak)} of memory each`
  );
}
