// The quantized model beside the float one: both run on the same inputs in the engine that the user gives.

import { checkInteger, wrongKind } from "../../../base/check.js";
import { rangeError, stateError, typeError } from "../../../base/errors.js";
import { fieldOf } from "../../../base/fields.js";
import { show } from "../../../base/format-value.js";
import { Halves } from "../../../base/halves.js";
import type { FileDType } from "../../../formats/dtypes.js";
import type { OnnxModel } from "../../../formats/onnx/graph.js";
import { findWeights } from "../../../formats/onnx/weights.js";
import { inputsOf } from "../../open/graph-inputs.js";
import { floatsOf } from "../../weights/values.js";
import type { ExternalData, RuntimeSession, RuntimeTensor, SessionFactory } from "../runtime.js";
import type { OutputDifference, OutputFile } from "../types.js";
import { Rewriter } from "./rewrite.js";

/** Name of the external data of a float model that is too large for one file. */
const FLOAT_DATA = "model.onnx.data";

/** Lengths of axes that the model leaves open. */
const OPEN_BATCH = 1;
const OPEN_LENGTH = 8;
const MOST_LENGTH = 2 ** 24;

/** Inputs that can be made up, by dtype, and how ONNX Runtime stores them. */
const INPUT_TYPES: Readonly<
  Partial<Record<FileDType, (values: number[]) => RuntimeTensor["data"]>>
> = {
  float32: (values) => Float32Array.from(values),
  uint8: (values) => Uint8Array.from(values, bit),
  int8: (values) => Int8Array.from(values, bit),
  int32: (values) => Int32Array.from(values, bit),
  int64: (values) => BigInt64Array.from(values, (value) => BigInt(bit(value))),
  bool: (values) => Uint8Array.from(values, bit),
  float64: (values) => Float64Array.from(values),
};

const bit = (value: number): number => (value > 0 ? 1 : 0);

/** Inputs by name. */
type Feeds = Readonly<Record<string, RuntimeTensor>>;

/** The inputs of a run, and the names of those that were made up. */
interface Run {
  readonly feeds: Feeds;
  readonly random: readonly string[];
}

/** Lengths of free axes by their names, or by INPUT[AXIS]. */
type Sizes = Readonly<Record<string, unknown>>;

/**
 * The inputs of a run: given ones, and for the others random values by the types and shapes that the model declares,
 * floats of a normal distribution, integers 0 and 1. Open axes are as long as those of the same name in given inputs, or as
 * the sizes say.
 * @throws {RangeError} `ZP_INVALID_OPTION` for inputs of unknown shape or other types that are not given, and for given
 *   ones that the model does not have
 */
function feedsOf(where: string, model: OnnxModel, given: Feeds, sizes: Sizes): Run {
  const inputs = inputsOf(model);
  const lengths = sizesOf(where, inputs, sizes);
  const feeds: [string, RuntimeTensor][] = Object.entries(given);
  const made: string[] = [];
  for (const [name, tensor] of feeds) {
    if (typeof tensor !== "object" || tensor === null) {
      const argument = `options.verifyInputs[${show(name)}]`;
      throw wrongKind("ZP_INVALID_OPTION", where, argument, "a tensor of the engine", tensor);
    }
    const { dims } = tensor;
    const input = inputs.find((each) => each.name === name);
    if (input === undefined) {
      const names = inputs.map((each) => show(each.name)).join(", ");
      const problem = `options.verifyInputs names ${show(name)}, which is none of the model's inputs ${names}`;
      throw rangeError("ZP_INVALID_OPTION", where, problem);
    }
    for (const [axis, length] of (input.shape ?? []).entries()) {
      if (typeof length === "string" && dims?.[axis] !== undefined) lengths.set(length, dims[axis]);
    }
  }
  let state = 1;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
  for (const { name, dtype, shape } of inputs) {
    if (Object.hasOwn(given, name)) continue;
    const type = dtype && fieldOf(INPUT_TYPES, dtype);
    if (type === undefined || shape === undefined) {
      const problem = `options.verifyInputs must give input ${show(name)}, whose type or shape cannot be made up`;
      throw rangeError("ZP_INVALID_OPTION", where, problem);
    }
    const dims = shape.map((length, axis) => {
      if (typeof length === "number") return length;
      const open = lengths.get(`${name}[${axis}]`) ?? (axis === 0 ? OPEN_BATCH : OPEN_LENGTH);
      if (length === undefined) return open;
      const known = lengths.get(length) ?? open;
      lengths.set(length, known);
      return known;
    });
    const size = dims.reduce((product, length) => product * length, 1);
    const values = Array.from({ length: size }, normal);
    feeds.push([name, tensorOf(dtype as FileDType, dims, type(values))]);
    made.push(name);
  }
  return { feeds: Object.fromEntries(feeds), random: made };
}

/** Reads options.verifySizes. @throws {RangeError} `ZP_INVALID_OPTION` */
function sizesOf(
  where: string,
  inputs: ReturnType<typeof inputsOf>,
  sizes: Sizes,
): Map<string, number> {
  const free = inputs.flatMap(({ name, shape }) =>
    (shape ?? []).flatMap((length, axis) => {
      if (typeof length === "number") return [];
      return length === undefined ? [`${name}[${axis}]`] : [length, `${name}[${axis}]`];
    }),
  );
  const lengths = new Map<string, number>();
  for (const [name, size] of Object.entries(sizes)) {
    if (!free.includes(name)) {
      const some = [...new Set(free)].map((each) => show(each)).join(", ") || "none";
      const problem = `options.verifySizes names ${show(name)}, which is none of the free axes ${some}`;
      throw rangeError("ZP_INVALID_OPTION", where, problem);
    }
    const argument = `options.verifySizes[${show(name)}]`;
    lengths.set(name, checkInteger(where, argument, size ?? null, 0, 0, MOST_LENGTH));
  }
  return lengths;
}

/** A tensor with the fields that engines read of their own tensors. */
function tensorOf(type: string, dims: number[], data: RuntimeTensor["data"]): RuntimeTensor {
  const size = data.length;
  return Object.assign({ type, dims, data }, { size, location: "cpu" });
}

/**
 * Runs the float and the quantized model.
 * @param inputs  tensors by name, of one run or of several; the others are random
 * @param sizes  lengths of free axes
 * @returns a row for each output: over all runs
 * @throws {TypeError} `ZP_INVALID_FUNCTION` if the factory gives no session
 * @throws {Error} `ZP_ENGINE_FAILED` if the engine fails: with the float model, with its inputs, or with the quantized model
 */
export async function verifyOutputs(
  where: string,
  model: OnnxModel,
  files: readonly OutputFile[],
  factory: SessionFactory,
  inputs: Feeds | readonly Feeds[] = {},
  sizes: Sizes = {},
): Promise<OutputDifference[]> {
  const list = Array.isArray(inputs) ? (inputs as readonly Feeds[]) : [inputs as Feeds];
  if (list.length === 0) {
    const problem = "options.verifyInputs must have the inputs of at least one run, got []";
    throw rangeError("ZP_INVALID_OPTION", where, problem);
  }
  const runs = list.map((given) => feedsOf(where, model, given, sizes));
  const floats = new Rewriter(model, await findWeights(model)).finish(FLOAT_DATA);
  const bytes = await gather(floats.model.byteLength, floats.model.bytes());
  const { byteLength, parts } = floats.external;
  const far = (async function* () {
    for (const part of parts) yield* part.bytes();
  })();
  const data = byteLength > 0 ? [{ path: FLOAT_DATA, data: await gather(byteLength, far) }] : [];
  const before = await runAll(where, factory, bytes, data, runs, "float");
  const [main, ...others] = files;
  const quantized = await gather(main.size, chunksOf(main.stream()));
  const after = await runAll(where, factory, quantized, await dataOf(others), runs, "quantized");
  return Object.entries(before[0]).map(([name, tensor]) => {
    const differences = before.map((outputs, i) =>
      differenceOf(valuesOf(outputs[name]), valuesOf(after[i][name])),
    );
    const max = Math.max(...differences.map((each) => each.max));
    const [signal, noise] = (["signal", "noise"] as const).map((key) =>
      differences.reduce((sum, each) => sum + each[key], 0),
    );
    const sqnr = noise === 0 ? Infinity : 10 * Math.log10(signal / noise);
    return { name, shape: [...tensor.dims], max, sqnr };
  });
}

/** Runs a model on all inputs. */
async function runAll(
  where: string,
  factory: SessionFactory,
  bytes: Uint8Array,
  externalData: readonly ExternalData[],
  runs: readonly Run[],
  kind: "float" | "quantized",
): Promise<Readonly<Record<string, RuntimeTensor>>[]> {
  const options = externalData.length > 0 ? { externalData } : {};
  const loading = (async () => await factory(bytes, options))();
  const session = await loading.catch((cause: unknown) => {
    throw engineFailed(where, `the engine does not load the ${kind} model`, cause);
  });
  if (typeof (session as Partial<RuntimeSession> | undefined)?.run !== "function") {
    const problem = `options.verifyWith must return a session with run, got ${show(session)}`;
    throw typeError("ZP_INVALID_FUNCTION", where, problem);
  }
  const release = async (): Promise<void> => await session.release?.();
  const results: Readonly<Record<string, RuntimeTensor>>[] = [];
  try {
    for (const { feeds, random } of runs) {
      const running = (async () => await session.run(feeds as Readonly<Record<string, never>>))();
      const outputs = await running.catch((cause: unknown) => {
        throw engineFailed(where, problemOf(kind, random), cause);
      });
      const tensors = Object.values(Object(outputs) as Readonly<Record<string, unknown>>);
      const isTensor = (each: unknown): boolean => typeof (each as Fields)?.dims === "object";
      if (tensors.length === 0 || !tensors.every(isTensor)) {
        const cause = new Error(`run gave ${show(outputs)}`);
        throw engineFailed(where, `the ${kind} model has no outputs that are tensors`, cause);
      }
      results.push(outputs);
    }
  } catch (error) {
    await release().catch(() => {});
    throw error;
  }
  await release().catch((cause: unknown) => {
    throw engineFailed(where, `the engine does not release the ${kind} model`, cause);
  });
  return results;
}

/** What an engine may give as an output. */
type Fields = { readonly dims?: unknown } | null | undefined;

/** Whose fault it is that a run failed, and which option mends it. */
function problemOf(kind: "float" | "quantized", random: readonly string[]): string {
  if (kind === "quantized") return "the quantized model fails on inputs that the float model takes";
  if (random.length === 0) return "the float model itself fails on options.verifyInputs";
  const names = random.map((name) => show(name)).join(", ");
  return `the float model itself fails on random inputs ${names}: options.verifyInputs gives values, options.verifySizes lengths of free axes`;
}

const engineFailed = (where: string, problem: string, cause: unknown): Error =>
  stateError("ZP_ENGINE_FAILED", where, `${problem}: ${messageOf(cause)}`, cause);

/** The first line of an error's message. */
const messageOf = (error: unknown): string =>
  String((Object(error) as { message?: unknown }).message ?? error).split("\n")[0];

/** The values of an output; those of half floats may be bit patterns. */
function valuesOf(tensor: RuntimeTensor | undefined): ArrayLike<unknown> {
  const { type, data = [] } = tensor ?? {};
  if (type !== "float16" || !(data instanceof Uint16Array)) return data;
  return floatsOf(new Halves(data.buffer, data.byteOffset, data.length, "float16"));
}

/** Largest difference, and squares of signal and noise, in double precision. */
function differenceOf(
  a: ArrayLike<unknown>,
  b: ArrayLike<unknown>,
): { max: number; signal: number; noise: number } {
  if (a.length !== b.length) return { max: Infinity, signal: 0, noise: Infinity };
  let [max, signal, noise] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const x = Number(a[i]);
    if (Number.isFinite(x)) signal += x * x;
    // Infinities and NaN of both, and equal texts, do not differ.
    if (Object.is(a[i], b[i])) continue;
    const error = Math.abs(x - Number(b[i]));
    // NaN on one side is the largest difference.
    if (!(error <= max)) max = Number.isNaN(error) ? Infinity : error;
    noise += Number.isNaN(error) ? Infinity : error * error;
  }
  return { max, signal, noise };
}

async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

async function gather(size: number, chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const whole = new Uint8Array(size);
  let at = 0;
  for await (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

const dataOf = (
  files: readonly Pick<OutputFile, "name" | "size" | "stream">[],
): Promise<ExternalData[]> =>
  Promise.all(
    files.map(async (file) => ({
      // As the model names it, beside itself.
      path: file.name.replace(/^.*\//, ""),
      data: await gather(file.size, chunksOf(file.stream())),
    })),
  );
