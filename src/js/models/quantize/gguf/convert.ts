// A tensor of a file in another dtype, converted slab by slab while it is written.

import { isReadableBlock } from "../../../base/block-types.js";
import { rangeError, type ZeropointError } from "../../../base/errors.js";
import { fieldOf } from "../../../base/fields.js";
import type { KeptCore } from "../../../core/init.js";
import { bytesOf, type FileDType } from "../../../formats/dtypes.js";
import { ggmlTypeNumber } from "../../../formats/gguf/types.js";
import type { FileTensor, WritableTensor } from "../../../formats/source.js";
import { decodeTile } from "../../open/values.js";
import { SLAB_VALUES } from "../../weights/memory.js";
import { floatsOf, type Run, readRuns, type Values, valuesOfFile } from "../../weights/values.js";
import type { ValueWatch } from "../watch.js";
import { convertValues } from "./convert-values.js";

/** Dtypes of values that are quantized. */
const FLOATS: readonly FileDType[] = ["float32", "float16", "bfloat16", "float64"];

/** Integers of GGUF that hold all values of a dtype that GGUF has not. */
const WIDER: { readonly [dtype: string]: FileDType } = {
  bool: "int8",
  int4: "int8",
  int2: "int8",
  uint4: "int8",
  uint2: "int8",
  uint8: "int16",
  uint16: "int32",
  float8_e4m3fn: "float32",
  float8_e5m2: "float32",
  float8_e4m3fnuz: "float32",
  float8_e5m2fnuz: "float32",
  float8_e8m0fnu: "float32",
  float4_e2m1fn: "float32",
};

/** A dtype of GGUF that holds all values of a dtype. @returns undefined if there is none */
export const storedType = (dtype: FileDType): FileDType | undefined =>
  ggmlTypeNumber(dtype) >= 0 ? dtype : fieldOf(WIDER, dtype);

/**
 * Whether a tensor of one dtype can be converted to another one.
 * @param requantize  whether block types can, too
 */
export const isConvertible = (from: FileDType, to: FileDType, requantize: boolean): boolean =>
  from === to ||
  FLOATS.includes(from) ||
  storedType(from) === to ||
  (requantize && isReadableBlock(from));

/**
 * A tensor in another dtype: float32 converted row by row, as ggml does.
 * @param importance  of the columns, or of the columns of each matrix
 * @param watch  watches what becomes of the values
 */
export function convertTensor(
  where: string,
  core: KeptCore,
  tensor: FileTensor,
  dtype: FileDType,
  importance?: Float32Array,
  watch?: ValueWatch,
): WritableTensor {
  const { name, shape } = tensor;
  if (tensor.dtype === dtype) return tensor;
  const bytes = (): AsyncGenerator<Uint8Array> =>
    convert(where, core, tensor, dtype, importance, watch);
  return { name, shape, dtype, bytes };
}

async function* convert(
  where: string,
  core: KeptCore,
  tensor: FileTensor,
  dtype: FileDType,
  importance: Float32Array | undefined,
  watch: ValueWatch | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  watch?.restart();
  const source = valuesOfFile(where, core, tensor);
  // Chunks are valid until the next one is asked for.
  let converted: Uint8Array | undefined;
  for await (const { run, values } of readRuns(source, runsOf(tensor.shape, importance))) {
    try {
      converted = convertValues(core, values, dtype, run.importance, converted);
    } catch (error) {
      throw located(where, error, tensor.name, values, run.begin);
    }
    // Scales that are not finite are refused.
    const bytes = converted;
    watch?.take(values, (most) => {
      const written = new Float32Array(Math.min(most, values.length));
      const length = bytesOf(dtype, written.length) as number;
      return decodeTile(core, dtype, bytes.subarray(0, length), written);
    });
    yield converted;
  }
}

/** Some of the values of a tensor. */
interface ImportantRun extends Run {
  /** Of the columns; then the run is whole rows of one matrix. */
  readonly importance: Float32Array | undefined;
}

/** Cuts a tensor into runs: of whole blocks or, with importance, of whole rows of one matrix. */
function* runsOf(
  shape: readonly number[],
  importance: Float32Array | undefined,
): Generator<ImportantRun> {
  const count = shape.reduce((product, length) => product * length, 1);
  const columns = shape.at(-1) ?? 1;
  const matrix = importance === undefined ? count : columns * (shape.at(-2) ?? 1);
  const rows = Math.max(1, Math.floor(SLAB_VALUES / columns));
  const step = importance === undefined ? SLAB_VALUES : columns * rows;
  for (let start = 0; start < count; start += matrix) {
    // One for each column of all matrices, or of each.
    const first = importance?.length === columns ? 0 : (start / matrix) * columns;
    const weights = importance?.subarray(first, first + columns);
    for (let begin = start; begin < start + matrix; begin += step) {
      yield { begin, end: Math.min(start + matrix, begin + step), importance: weights };
    }
  }
}

/** An error of some values as one of their tensor. @param begin  index of the first value in the tensor */
function located(
  where: string,
  error: unknown,
  name: string,
  given: Values,
  begin: number,
): unknown {
  const { code, message } = error as Partial<ZeropointError>;
  if (code !== "ZP_NON_FINITE") return error;
  const label = `tensor ${JSON.stringify(name)}`;
  const values = floatsOf(given);
  const index = values.findIndex((value) => !Number.isFinite(value));
  const problem =
    index < 0
      ? `${label}, from value ${begin} on: ${String(message).replace("checkScales: ", "")}`
      : `${label} must be finite, but value ${begin + index} is ${values[index]}`;
  return rangeError("ZP_NON_FINITE", where, problem);
}
