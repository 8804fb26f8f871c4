// What the asynchronous functions have done elsewhere: each call is plain data, works on a piece of a
// tensor, and adds to a result that stays here until it is whole. A worker performs them, or this
// thread where there is none.

import { ARRAYS, bytesOf, type NumberArray, newArray, setArray } from "../arrays.js";
import type { Core } from "../core.js";
import type { Codes, DType, DTypeInfo } from "../dtype.js";
import {
  applyQParams,
  type Chosen,
  chooseSlices,
  chosenFor,
  type ElementwiseOperation,
} from "../elementwise.js";
import type { Metric } from "../error.js";
import { type ErrorTotal, measurePiece } from "../error.js";
import type { ZeropointError } from "../errors.js";
import type { Accumulate, FloatWeight, Rows } from "../linear.js";
import { multiply, multiplyPacked } from "../linear.js";
import type { ElementType } from "../memory.js";
import { convertBits } from "../pack.js";
import { type PackedCopy, PackedWeight, type WeightCodes } from "../packed-weight.js";
import type { CheckedOptions, LaidOutQParams } from "../qparams.js";
import type { TensorQParams } from "../qtensor.js";
import { countIntoBins, forgetRanges, joinRanges, type ValueRange } from "../tiles.js";
import { runChannelTile, runPerTensor, type TorchOperation } from "../torch-elementwise.js";
import { runDynamic, runStatic } from "../w8a8.js";

/** The type of a result's array. */
export type ResultType = DTypeInfo["arrayName"] | "Float32Array" | "Uint32Array";

/** An array of a result. */
export type ResultArray = InstanceType<(typeof ARRAYS)[ResultType]>;

/** What is done with one piece. `job` names the call of the user's that it belongs to. */
export type Task = { readonly job: number; readonly where: string } & (
  | { readonly kind: "open"; readonly type: ResultType; readonly length: number }
  /** A result of ranges, of so many slices without values yet. */
  | { readonly kind: "openRanges"; readonly slices: number }
  | {
      readonly kind: "apply";
      readonly start: number;
      readonly operation: ElementwiseOperation;
      readonly inputType: ElementType;
      readonly input: NumberArray;
      readonly size: number;
      readonly qparams: LaidOutQParams;
      readonly dtype: DType;
    }
  | {
      readonly kind: "torchPerTensor";
      readonly start: number;
      readonly input: NumberArray;
      readonly size: number;
      readonly qparams: TensorQParams;
      readonly operation: TorchOperation;
    }
  | {
      readonly kind: "torchPerChannel";
      readonly start: number;
      readonly input: NumberArray;
      readonly size: number;
      readonly shape: readonly number[];
      readonly scales: Float32Array | Float64Array;
      readonly zeroPoints: Int32Array | Float32Array;
      readonly operation: TorchOperation;
    }
  | {
      readonly kind: "convertBits";
      readonly operation: "pack" | "unpack";
      readonly input: Codes;
      readonly dtype: DType;
      /** How many codes. */
      readonly size: number;
      /** Where in the result, and how much of it. */
      readonly start: number;
      readonly count: number;
    }
  | {
      readonly kind: "ranges";
      readonly input: NumberArray;
      readonly shape: readonly number[];
      /** Where the ranges of the first slice are in the result. */
      readonly start: number;
      readonly nonFinite: "keep" | "ignore";
    }
  | {
      /** The result being counts: more of them. */
      readonly kind: "counts";
      readonly input: NumberArray;
      readonly size: number;
      readonly range: ValueRange;
    }
  | {
      /** The result being ranges: qparams for them. */
      readonly kind: "choose";
      readonly options: Omit<CheckedOptions, "given">;
    }
  | {
      readonly kind: "error";
      readonly a: NumberArray;
      readonly b: NumberArray;
      readonly metric: Metric;
      readonly begin: number;
      readonly size: number;
      readonly total: number;
    }
  | {
      readonly kind: "linear";
      readonly batch: Rows;
      /** Of the weight: its values or codes. */
      readonly values: NumberArray;
      readonly weight: Omit<FloatWeight, "values"> | Omit<WeightCodes, "codes">;
      readonly bias: Float32Array | undefined;
      readonly accumulate: Accumulate;
      /** Where in the result, of rows of `width` values, its first value goes. */
      readonly start: number;
      readonly width: number;
    }
  | {
      /** A part of the result, as it is. */
      readonly kind: "copy";
      readonly input: NumberArray;
      readonly start: number;
    }
  | {
      /** The result being a weight's codes: hands over all of it, packed, as bytes. */
      readonly kind: "packWeight";
      readonly weight: Omit<WeightCodes, "codes">;
      readonly bias: Float32Array | undefined;
    }
  /** Keeps a packed weight. */
  | ({ readonly kind: "hold"; readonly weight: number } & PackedCopy)
  /** Forgets it. */
  | { readonly kind: "release"; readonly weight: number }
  | {
      readonly kind: "forward";
      /** The weight, or the number that it is kept by. */
      readonly weight: PackedWeight | number;
      readonly input: NumberArray;
      readonly rows: number;
      readonly accumulate: Accumulate;
      /** Of quantized activations. */
      readonly activation: TensorQParams | undefined;
      /** Of what comes out, if that is to be codes; then the input is codes, too. */
      readonly output?: TensorQParams;
      readonly start: number;
    }
  /** Hands the result over, and forgets it. */
  | { readonly kind: "close" }
  /** Forgets the result. */
  | { readonly kind: "drop" }
);

/** What comes of a task. */
export interface Outcome {
  /** `close`, `packWeight`: the result. */
  readonly result?: ResultArray;
  /** `choose`: the core's status, and what was chosen if that is kOk. */
  readonly chosen?: Chosen & { readonly status: string };
  /** `error`: what the values so far measure. */
  readonly measured?: number;
}

/** Performs tasks on a core, and keeps the results that are on their way. */
export class Performer {
  readonly #results = new Map<number, ResultArray>();
  readonly #totals = new Map<number, ErrorTotal>();
  readonly #weights = new Map<number, PackedWeight>();

  /** @throws {Error} what the core's functions throw */
  perform(core: Core, task: Task): Outcome {
    const { job, where } = task;
    switch (task.kind) {
      case "open": {
        const type = ARRAYS[task.type] as typeof Float32Array;
        this.#results.set(job, newArray(where, type, task.length));
        return {};
      }
      case "openRanges": {
        const ranges = newArray(where, Float32Array, 2 * task.slices);
        forgetRanges(ranges);
        this.#results.set(job, ranges);
        return {};
      }
      case "apply": {
        const { operation, inputType, input, size, qparams, dtype } = task;
        const out = this.#part(job, task.start, size);
        applyQParams(core, where, operation, inputType, input, size, qparams, dtype, out);
        return {};
      }
      case "torchPerTensor": {
        const { input, size, qparams, operation } = task;
        const out = this.#part(job, task.start, size) as Float32Array;
        runPerTensor(core, where, input, size, qparams, operation, out);
        return {};
      }
      case "torchPerChannel": {
        const { input, shape, scales, zeroPoints, operation } = task;
        const out = this.#part(job, task.start, task.size);
        runChannelTile(core, where, input, shape, scales, zeroPoints, operation, out);
        return {};
      }
      case "convertBits": {
        const { operation, input, dtype, size, start, count } = task;
        const out = bytesOf(this.#part(job, start, count) as Codes);
        convertBits(core, where, operation, dtype, size, bytesOf(input), out);
        return {};
      }
      case "ranges": {
        const { input, shape, start, nonFinite } = task;
        const ranges = this.#part(job, start, 2 * shape[1]) as Float32Array;
        joinRanges(core, where, input, shape, nonFinite, ranges);
        return {};
      }
      case "counts": {
        const { input, size, range } = task;
        countIntoBins(core, where, input, size, range, this.#result(job) as Uint32Array);
        return {};
      }
      case "choose":
        return { chosen: this.#choose(core, where, job, task.options) };
      case "error": {
        const { a, b, metric, begin, size, total } = task;
        const before = begin === 0 ? undefined : this.#totals.get(job);
        const after = measurePiece(core, where, a, b, size, metric, begin, total, before);
        this.#totals.set(job, after);
        return { measured: after.value };
      }
      case "linear": {
        const { batch, values, bias, accumulate, start, width } = task;
        const weight =
          "dtype" in task.weight ? { ...task.weight, codes: values } : { ...task.weight, values };
        const columns = weight.outFeatures;
        const y = newArray(where, Float32Array, batch.rows * columns);
        multiply(core, where, { weight, batch, bias, accumulate }, y);
        const result = this.#result(job);
        for (let row = 0; row < batch.rows; row++) {
          const own = y.subarray(row * columns, (row + 1) * columns);
          setArray(result, own, start + row * width);
        }
        return {};
      }
      case "copy":
        setArray(this.#result(job), task.input, task.start);
        return {};
      case "packWeight": {
        const weight = { ...task.weight, codes: this.#result(job) };
        const packed = new PackedWeight(core, where, weight, task.bias);
        const { bytes } = packed.copy(where, () => undefined);
        packed.dispose();
        this.#forget(job);
        return { result: bytes as ResultArray };
      }
      case "hold":
        this.#weights.set(task.weight, new PackedWeight(core, where, task));
        return {};
      case "release":
        this.#weights.get(task.weight)?.dispose();
        this.#weights.delete(task.weight);
        return {};
      case "forward": {
        const { input, rows, accumulate, activation, output, start } = task;
        const weight =
          typeof task.weight === "number"
            ? (this.#weights.get(task.weight) as PackedWeight)
            : task.weight;
        const part = this.#part(job, start, rows * weight.outFeatures);
        const out = part as Float32Array;
        if (activation === undefined) {
          multiplyPacked(core, where, weight, accumulate, input, rows, out);
          return {};
        }
        if (output === undefined) {
          const size = rows * weight.inFeatures;
          runDynamic(core, where, weight, { data: input, size }, rows, activation, out);
        } else {
          const codes = input as Uint8Array;
          runStatic(core, where, weight, codes, rows, activation, output, part as Uint8Array);
        }
        return {};
      }
      case "close": {
        const result = this.#result(job);
        this.#forget(job);
        return { result };
      }
      case "drop":
        this.#forget(job);
        return {};
    }
  }

  #choose(
    core: Core,
    where: string,
    job: number,
    options: Extract<Task, { kind: "choose" }>["options"],
  ): NonNullable<Outcome["chosen"]> {
    const chosen = chosenFor(where, options.slices);
    const ranges = this.#result(job) as Float32Array;
    return { status: chooseSlices(core, where, ranges, 2, options, chosen), ...chosen };
  }

  #result(job: number): ResultArray {
    return this.#results.get(job) as ResultArray;
  }

  #part(job: number, start: number, size: number): ResultArray {
    return this.#result(job).subarray(start, start + size);
  }

  #forget(job: number): void {
    this.#results.delete(job);
    this.#totals.delete(job);
  }
}

/** The memory of a task's arrays that may be handed to another thread with it. */
export function transferOf(values: object): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  for (const value of Object.values(values)) {
    const { buffer } = (ArrayBuffer.isView(value) ? value : (value?.data ?? {})) as {
      buffer?: unknown;
    };
    if (buffer instanceof ArrayBuffer) found.add(buffer);
  }
  return [...found];
}

/** An error as it crosses between threads. */
export interface ErrorData {
  readonly code: ZeropointError["code"] | undefined;
  readonly isType: boolean;
  readonly message: string;
}

/** What crosses of an error. */
export function errorData(error: unknown): ErrorData {
  const { code, message } = error as ZeropointError;
  return { code, isType: error instanceof TypeError, message: String(message) };
}

/** The error again. */
export function errorOf({ code, isType, message }: ErrorData): Error {
  if (code === undefined) return new Error(message);
  return Object.assign(new (isType ? TypeError : RangeError)(message), { code });
}
