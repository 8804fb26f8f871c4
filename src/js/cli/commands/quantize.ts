// zeropoint quantize: a model, by a scheme or a plan -> a file or a folder.

import { basename, join } from "node:path";
import type { Model } from "../../models/open/model.js";
import { defaultFormat, outputFormatsOf } from "../../models/quantize/formats.js";
import { quantizeModel } from "../../models/quantize/quantize-model.js";
import type {
  OutputFormat,
  QuantizeModelResult,
  QuantizeReport,
} from "../../models/quantize/types.js";
import { parseScheme, type Scheme } from "../../models/scheme.js";
import { type Arguments, readArguments } from "../arguments.js";
import { EXIT, usage } from "../failures.js";
import { openInput, startCore } from "../input.js";
import { type Done, type JobOptions, peakMemory } from "../jobs/done.js";
import { hashOfFile, modelOptions, type QuantizeRequest, readRequest } from "../jobs/request.js";
import { filesOf, parsePart } from "../jobs/split-files.js";
import {
  describe,
  isOfFinish,
  plannedWork,
  type Target,
  targetsOf,
  writeRest,
  writeTarget,
} from "../jobs/write.js";
import { chunksOf, isFolder, writeStdout } from "../output/files.js";
import { Progress } from "../output/progress.js";
import { jsonText } from "../output/report.js";
import { printable } from "../output/terminal.js";
import { keptByReason } from "../reasons.js";
import { showBytes, showCount, showPercent, showTime } from "../units.js";
import { mainOf, minSqnrOf, verify } from "../verify.js";

/** Runs the command. @returns the exit code */
export async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const args = readArguments("quantize", argv);
  const [file, scheme] = args.operands;
  const output = args.text("output");
  const isDry = args.has("dry-run");
  if (output === undefined && !isDry) throw usage("-o is missing: the file or folder to write");
  const part = parsePart(args.text("shard"));
  const minSqnr = minSqnrOf(args);
  if (part !== undefined && args.has("verify")) {
    throw usage(
      "--verify reads the whole result: zeropoint finish --verify does it after the last job",
    );
  }
  const request = await readRequest(
    scheme,
    args.text("plan"),
    await optionsOf(args),
    "SCHEME",
    signal,
  );
  await startCore(args);
  const model = await openInput(file, signal, args);
  const others: { imatrix?: Model; original?: Model } = {};
  try {
    for (const name of ["imatrix", "original"] as const) {
      const path = args.text(name);
      if (path !== undefined) others[name] = await openInput(path, signal, args);
    }
    const isQuiet = args.has("quiet");
    const progress = new Progress(`quantizing ${basename(file)}`, isQuiet);
    if (output !== undefined)
      checkEnding(args, output, model, request.options.format ?? defaultFormat(model.format));
    let total = 0;
    let isWritten = false;
    const result = await quantizeModel(model, request.scheme, {
      ...modelOptions(request.options),
      ...others,
      signal,
      onProgress: ({ done, total: all, name }) => {
        // --verify makes the same bytes again, with a progress of its own.
        if (!isWritten) progress.update({ done, total: total || all, name });
      },
    });
    const { files, report } = result;
    if (output === undefined || isDry) {
      tellDry(args, result);
      return EXIT.ok;
    }
    if (output === "-") {
      if (files.length > 1 || part !== undefined) {
        throw usage(`-o - takes one file, and there are ${files.length}: name a folder`);
      }
      await writeStdout(chunksOf(files[0].stream()), signal);
      progress.finish(`${file}: ${summaryOf(report)}`);
      return EXIT.ok;
    }
    const hasFolder = files[0].name.includes("/");
    const isOne = files.length === 1 && !hasFolder;
    const single = isOne && !(await isFolder(output)) && !/[/\\]$/.test(output);
    if (!isOne && ENDING.test(output.toLowerCase())) {
      const names = files.slice(0, 3).map(({ name }) => name);
      throw usage(
        `-o must name a folder for ${files.length === 1 ? "1 file" : `${files.length} files`} (${names.join(", ")} …)`,
      );
    }
    const targets = await targetsOf(model, files, ({ name }) =>
      single ? output : join(output, name),
    );
    const isForced = args.has("force");
    const describes = !single && part === undefined;
    const quiet = { isForced, isQuiet: isQuiet || args.has("json") };
    const description = describes ? await describe(output, file, files, quiet, signal) : undefined;
    const jobs = targets.filter(({ file: each }) => single || !isOfFinish(each));
    const sized = jobs.map((target) => ({
      ...{ name: target.file.name, size: target.source?.size ?? target.file.size, target },
    }));
    const own = filesOf(sized, part).map(({ target }) => target);
    const { todo, done, left } = await plannedWork(own, request, isForced, signal);
    total = jobs.length > 1 ? inputBytes(todo) : 0;
    const written: Done[] = [...done];
    for (const target of todo) written.push(await writeTarget(target, request, file, signal));
    const { seconds } = progress;
    const check = async (): Promise<number> => {
      isWritten = true;
      progress.clear();
      if (!args.has("verify")) return EXIT.ok;
      const main = single ? output : join(output, mainOf(files.map(({ name }) => name)));
      return await verify(
        model,
        { targets, result, main, minSqnr },
        isQuiet || args.has("json"),
        signal,
      );
    };
    const code =
      description === undefined
        ? await check()
        : await writeRest(description, written, signal, check);
    tell(args, report, { written, todo, done, left, seconds, output, request });
    return code;
  } finally {
    for (const each of [model, ...Object.values(others)]) await each.close();
  }
}

/**
 * @param format  of the result; the library refuses a name that is none
 * @throws {Failure} if the name of the output is that of a file of another format
 */
function checkEnding(args: Arguments, output: string, model: Model, format: string): void {
  if (/\.(json|csv|html)$/i.test(output)) {
    throw usage(`-o ${output} must name the model file to write; --json prints the report as JSON`);
  }
  const formats = outputFormatsOf(model);
  const own = formats.find((each) => each === format);
  const [, ending = format] = ENDING.exec(output.toLowerCase()) ?? [];
  if (own === undefined || ending === own) return;
  const asked = formats.find((each) => each === ending);
  const wanted = asked ?? own;
  const name = asked === undefined ? output.replace(/\w+$/, own) : output;
  const [file, scheme] = args.operands;
  const words = ["zeropoint", "quantize", file, schemeFor(wanted, scheme), "--format", wanted];
  const command = [...words, "-o", name].map(shellWord).join(" ");
  throw usage(
    `-o ${output} has the ending of ${ending}, but the result is ${own}. This ${model.format} model ` +
      `can be written as ${formats.join(", ")}: ${command}`,
  );
}

/** Kinds of schemes that a format holds, and one of them. */
const HELD: Readonly<Record<OutputFormat, [kinds: readonly Scheme["kind"][], scheme: string]>> = {
  safetensors: [["linear", "half", "keep"], "int8-channel"],
  onnx: [["linear", "half", "keep"], "int8-channel"],
  gguf: [["block", "half", "keep"], "q8_0"],
  npz: [["keep"], "float16"],
  npy: [["keep"], "float16"],
};

/** The scheme itself if the format holds it, else one that it holds. */
function schemeFor(format: OutputFormat, scheme: string | undefined): string {
  const [kinds, other] = HELD[format];
  try {
    return kinds.includes(parseScheme("", "", scheme).kind) ? (scheme as string) : other;
  } catch {
    return other;
  }
}

/** A word of a command for a shell. */
const shellWord = (word: string): string =>
  /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The endings of model files. */
const ENDING = /\.(safetensors|gguf|onnx|npz|npy)$/;

const inputBytes = (targets: readonly Target[]): number =>
  targets.reduce((sum, { source, file }) => sum + (source?.size ?? file.size), 0);

async function optionsOf(args: Arguments): Promise<JobOptions> {
  const [format, target, activations, imatrix] = [
    ...["format", "target", "activations", "imatrix"].map((name) => args.text(name)),
  ];
  const tokenEmbeddingType = args.text("token-embedding-type");
  const outputTensorType = args.text("output-tensor-type");
  return {
    ...(format !== undefined && { format }),
    ...(target !== undefined && { target }),
    ...(activations !== undefined && { activations }),
    ...(args.has("pure") && { pure: true }),
    ...(args.has("requantize") && { requantize: true }),
    ...(tokenEmbeddingType !== undefined && { tokenEmbeddingType }),
    ...(outputTensorType !== undefined && { outputTensorType }),
    ...tensorTypesOf(args),
    ...(imatrix !== undefined && { imatrix: await hashOfFile(imatrix) }),
  };
}

/** Types of tensors by expressions: PATTERN=TYPE, cut at the first =. @throws {Failure} for another form */
function tensorTypesOf(args: Arguments): { tensorTypes?: Record<string, string> } {
  const given = args.list("tensor-type");
  if (given.length === 0) return {};
  const pairs = given.map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
    throw usage(
      `--tensor-type takes PATTERN=TYPE, such as ffn_down=q6_k, got ${JSON.stringify(text)}`,
    );
  });
  const patterns = pairs.map(([pattern]) => pattern);
  const twice = patterns.find((pattern, i) => patterns.indexOf(pattern) < i);
  if (twice !== undefined) throw usage(`--tensor-type has ${JSON.stringify(twice)} twice`);
  return { tensorTypes: Object.fromEntries(pairs) };
}

/** Prints what would be written: files with their sizes, tensors by scheme, notes. */
function tellDry(args: Arguments, { files, report }: QuantizeModelResult): void {
  if (args.has("json")) {
    const own = files.map(({ name, size }) => ({ name, size }));
    process.stdout.write(`${jsonText({ files: own, report })}\n`);
    return;
  }
  const groups = new Map<string, { count: number; bytes: number }>();
  for (const { scheme, form, bytesAfter } of report.rows) {
    const key = form === undefined ? scheme : `${scheme} (${form})`;
    const { count, bytes } = groups.get(key) ?? { count: 0, bytes: 0 };
    groups.set(key, { count: count + 1, bytes: bytes + bytesAfter });
  }
  const lines = [
    ...files.map(({ name, size }) => `would write ${name}: ${size} bytes`),
    ...Array.from(groups, ([scheme, { count, bytes }]) => {
      const tensors = count === 1 ? "1 tensor" : `${count} tensors`;
      return `${scheme}: ${tensors}, ${showBytes(bytes)}`;
    }),
    ...[summaryOf(report), ...keptLines(report), ...report.notes],
  ];
  process.stdout.write(lines.map((line) => `${printable(line)}\n`).join(""));
}

/** The result, for the last lines. */
interface Result {
  readonly written: readonly Done[];
  readonly todo: readonly Target[];
  readonly done: readonly Done[];
  readonly left: number;
  readonly seconds: number;
  readonly output: string;
  readonly request: QuantizeRequest;
}

function tell(args: Arguments, report: QuantizeReport, result: Result): void {
  const { written, todo, done, left, seconds, output } = result;
  if (args.has("json")) {
    const files = written.map(({ output: each }) => each);
    process.stdout.write(
      `${jsonText({ output, files, report, seconds, peakMemory: peakMemory() })}\n`,
    );
    return;
  }
  if (args.has("quiet")) return;
  const lines: string[] = [];
  if (todo.length === 0) {
    lines.push(
      done.length === 0
        ? `${output}: nothing to do, there are more jobs than files`
        : `${output}: done already, nothing was written again`,
    );
  } else {
    const bytes = todo.reduce((sum, { file }) => sum + file.size, 0);
    const skipped = done.length === 0 ? "" : `, ${done.length} were done already`;
    const before = left === 0 ? "" : `, ${showBytes(left)} were there from an interrupted run`;
    const count = todo.length === 1 ? "" : `${todo.length} files, `;
    lines.push(
      `${output}: ${count}${showBytes(bytes)} in ${showTime(seconds)}${skipped}${before}, ` +
        `at most ${showBytes(peakMemory())} of memory`,
    );
  }
  lines.push(summaryOf(report), ...keptLines(report), ...report.notes);
  process.stdout.write(lines.map((line) => `${printable(line)}\n`).join(""));
}

function summaryOf({ rows, bytesBefore, bytesAfter, target }: QuantizeReport): string {
  const quantized = rows.filter(({ scheme }) => scheme !== "keep").length;
  const share = bytesBefore === 0 ? 1 : bytesAfter / bytesBefore;
  const sizes = `${showBytes(bytesBefore)} became ${showBytes(bytesAfter)} (${showPercent(share)})`;
  return `${sizes}; ${quantized} of ${rows.length} tensors quantized, for ${target}`;
}

function keptLines({ rows }: QuantizeReport): string[] {
  const kept = rows.filter(({ scheme }) => scheme === "keep");
  return keptByReason(kept.map(({ reason, bytesAfter }) => ({ reason, bytes: bytesAfter })))
    .slice(0, 6)
    .map(({ reason, count, bytes }) => `kept ${showCount(count)}: ${reason} (${showBytes(bytes)})`);
}
