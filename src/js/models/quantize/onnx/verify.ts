// The quantized model beside the float one: both run on the same inputs in the engine that the user gives.

import { rangeError, typeError } from "../../../base/errors.js";
import { show } from "../../../base/format-value.js";
import type { FileDType } from "../../../formats/dtypes.js";
import type { OnnxModel } from "../../../formats/onnx/read.js";
import { findWeights } from "../../../formats/onnx/weights.js";
import { inputsOf } from "../../open/graph-inputs.js";
import type { ExternalData, RuntimeSession, RuntimeTensor, SessionFactory } from "../runtime.js";
import type { OutputDifference, OutputFile } from "../types.js";
import { Rewriter } from "./rewrite.js";

/** Name of the external data of a float model that is too large for one file. */
const FLOAT_DATA = "model.onnx.data";

/** Lengths of axes that the model leaves open. */
const OPEN_BATCH = 1;
const OPEN_LENGTH = 8;

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

/**
 * The inputs of a run: given ones, and for the others random values by the types and shapes that the model declares,
 * floats of a normal distribution, integers 0 and 1. Open axes are as long as those of the same name in given inputs.
 * @throws {RangeError} `ZP_INVALID_OPTION` for inputs of unknown shape or other types that are not given, and for given
 *   ones that the model does not have
 */
function feedsOf(
  where: string,
  model: OnnxModel,
  given: Readonly<Record<string, RuntimeTensor>>,
): Record<string, RuntimeTensor> {
  const inputs = inputsOf(model);
  const lengths = new Map<string, number>();
  const feeds: [string, RuntimeTensor][] = Object.entries(given);
  for (const [name, { dims }] of feeds) {
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
    const type = dtype && INPUT_TYPES[dtype];
    if (type === undefined || shape === undefined) {
      const problem = `options.verifyInputs must give input ${show(name)}, whose type or shape cannot be made up`;
      throw rangeError("ZP_INVALID_OPTION", where, problem);
    }
    const dims = shape.map((length, axis) => {
      if (typeof length === "number") return length;
      const open = axis === 0 ? OPEN_BATCH : OPEN_LENGTH;
      if (length === undefined) return open;
      const known = lengths.get(length) ?? open;
      lengths.set(length, known);
      return known;
    });
    const size = dims.reduce((product, length) => product * length, 1);
    const values = Array.from({ length: size }, normal);
    feeds.push([name, tensorOf(dtype as FileDType, dims, type(values))]);
  }
  return Object.fromEntries(feeds);
}

/** A tensor with the fields that engines read of their own tensors. */
function tensorOf(type: string, dims: number[], data: RuntimeTensor["data"]): RuntimeTensor {
  const size = data.length;
  return Object.assign({ type, dims, data }, { size, location: "cpu" });
}

/**
 * Runs the float and the quantized model.
 * @param inputs  tensors by name; the others are random
 * @returns a row for each output
 * @throws {TypeError} `ZP_INVALID_FUNCTION` if the factory gives no session
 */
export async function verifyOutputs(
  where: string,
  model: OnnxModel,
  files: readonly OutputFile[],
  factory: SessionFactory,
  inputs: Readonly<Record<string, RuntimeTensor>> = {},
): Promise<OutputDifference[]> {
  const feeds = feedsOf(where, model, inputs);
  const floats = new Rewriter(model, await findWeights(model)).finish(FLOAT_DATA);
  const bytes = await gather(floats.model.byteLength, floats.model.bytes());
  const { byteLength, parts } = floats.external;
  const far = (async function* () {
    for (const part of parts) yield* part.bytes();
  })();
  const data = byteLength > 0 ? [{ path: FLOAT_DATA, data: await gather(byteLength, far) }] : [];
  const before = await runOnce(where, factory, bytes, data, feeds);
  const [main, ...others] = files;
  const quantized = await gather(main.size, chunksOf(main.stream()));
  const after = await runOnce(where, factory, quantized, await dataOf(others), feeds);
  return Object.entries(before).map(([name, tensor]) => ({
    name,
    shape: [...tensor.dims],
    ...differenceOf(tensor.data, after[name]?.data ?? []),
  }));
}

async function runOnce(
  where: string,
  factory: SessionFactory,
  bytes: Uint8Array,
  externalData: readonly ExternalData[],
  feeds: Readonly<Record<string, RuntimeTensor>>,
): Promise<Readonly<Record<string, RuntimeTensor>>> {
  const session = await factory(bytes, externalData.length > 0 ? { externalData } : {});
  if (typeof (session as Partial<RuntimeSession> | undefined)?.run !== "function") {
    const problem = `options.verifyWith must return a session with run, got ${show(session)}`;
    throw typeError("ZP_INVALID_FUNCTION", where, problem);
  }
  try {
    return await session.run(feeds as Readonly<Record<string, never>>);
  } finally {
    await session.release?.();
  }
}

/** Largest difference and SQNR of numbers, in double precision. */
function differenceOf(
  a: RuntimeTensor["data"],
  b: RuntimeTensor["data"],
): { max: number; sqnr: number } {
  if (a.length !== b.length) return { max: Infinity, sqnr: -Infinity };
  let [max, signal, noise] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [Number(a[i]), Number(b[i])];
    const error = Object.is(x, y) ? 0 : x - y;
    // NaN on one side is the largest difference.
    if (!(Math.abs(error) <= max)) max = Number.isNaN(error) ? Infinity : Math.abs(error);
    signal += x * x;
    noise += error * error;
  }
  return { max, sqnr: noise === 0 ? Infinity : 10 * Math.log10(signal / noise) };
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
