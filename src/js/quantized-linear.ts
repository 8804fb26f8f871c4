/// <reference lib="esnext.disposable" preserve="true" />

// The linear layer with quantized weights, packed once and run many times.

import { arrayLength, arrayName, type NumberArray } from "./arrays.js";
import {
  type AsyncOptions,
  changes,
  checkAsyncOptions,
  runAway,
  runHere,
  runJob,
} from "./async/background.js";
import {
  type CheckedTensor,
  checkBoolean,
  checkChoice,
  checkOptions,
  checkTensor,
  looksQuantized,
  type TensorInput,
} from "./check.js";
import type { Core } from "./core.js";
import type { OutOption } from "./dequantize.js";
import { makeDisposable } from "./disposable.js";
import { rangeError, typeError } from "./errors.js";
import { activeCore } from "./init.js";
import {
  type Accumulate,
  type Batch,
  checkAccumulate,
  checkBias,
  checkInput,
  checkMatrix,
  checkWeightDType,
  fromTorch,
  multiplyPacked,
  weightCodes,
} from "./linear.js";
import { type PackedWeight, packing, type WeightCodes } from "./packed-weight.js";
import {
  type AnyQuantizeOptions,
  type CheckedQuantized,
  checkQuantized,
  checkQuantizeOptions,
  type QParams,
  QUANTIZE_OPTIONS,
  type QuantizedTensor,
  type QuantizedTensorInput,
  qparamsResult,
  qparamsText,
} from "./qparams.js";
import type { TorchQuantizedTensor, TorchQuantizedTensorInput } from "./qtensor.js";
import { quantizeValues } from "./quantize.js";
import { INSPECT, show, showShape } from "./show.js";
import { checkGivenOut, checkTensorOut, Tensor } from "./tensor.js";
import { quantizeInt8Weight, runDynamic } from "./w8a8.js";
import { done, type Procedure, workHere } from "./work.js";

/** What `new QuantizedLinear` takes: how to quantize a float weight, and how to run. */
export interface QuantizedLinearOptions extends AnyQuantizeOptions {
  /** float32 of shape [outFeatures]. Default: none. */
  bias?: TensorInput | null | undefined;
  /**
   * In which precision the input is multiplied. `"float32"`, the default; or `"dynamic"`: the input is
   * quantized to 8 bits on the fly, as PyTorch's dynamic quantization does.
   */
  activations?: "float32" | "dynamic" | undefined;
  /**
   * With `"dynamic"` activations: use 7 of their 8 bits, as PyTorch does for the sake of kernels whose
   * sums overflow. No kernel here does, so `false` is as safe and more exact. PyTorch's qnnpack engine uses
   * 8 bits whatever it is told: `false` has its bits. Default: true.
   */
  reduceRange?: boolean | undefined;
  /** Default: `"exact"`. */
  accumulate?: Accumulate | undefined;
}

/**
 * A linear layer with quantized weights, which it packs into the core's memory once, at their own 2 to 8
 * bits, and uses many times. `forward` computes what `linear` computes, bit for bit.
 *
 * That memory is freed by `dispose()` or at the end of a `using` block; a layer that is forgotten
 * frees it some time after it has become garbage.
 *
 * It gives its codes back to nobody. To save a layer, quantize the weight first, and keep what `pack` makes
 * of it, with its other fields and the bias.
 *
 * @example
 * using layer = new QuantizedLinear(weight, { axis: 0, bias });
 * const y = layer.forward(x);
 * @example
 * // One that was saved.
 * new QuantizedLinear(unpack(bytes, meta), { bias })
 */
export class QuantizedLinear {
  /** How many values a row of input has: K of the weight's shape [N, K]. */
  declare readonly inFeatures: number;
  /** How many values a row of output has: N. */
  declare readonly outFeatures: number;
  /** The weight's scale and zero point, dtype, scheme and granularity. */
  declare readonly qparams: QParams;
  /** How products are summed. */
  declare readonly accumulate: Accumulate;

  readonly #core: Core;
  readonly #weight: PackedWeight;
  /** Of dynamic activations; undefined for float32. */
  readonly #reduceRange: boolean | undefined;

  /**
   * With `activations: "dynamic"` the layer is PyTorch's dynamic quantized linear layer, bit for bit: a
   * float weight is quantized to int8 with scale max|w| / 127.5, one for all or (`axis: 0`) one for
   * each output; every input is quantized to quint8 with one scale for all its rows, chosen from its
   * range; products are summed as integers:
   *
   *     y = float(Σ (qx − zeroPoint) · qw) · (scale · weightScale) + bias        in float32
   *
   * Source: torch.ao.nn.quantized.dynamic.Linear, with qnnpack's rounding.
   *
   * @param weight  a quantized tensor of shape [N, K] and 2 to 8 bits (dynamic activations: int8 or
   *   qint8 with zero points 0, per tensor or one scale for each output); or float32 of that shape,
   *   which is quantized as `quantize(weight, options)` does (dynamic: as above)
   * @param options.bias         float32 of shape [N]; default: none
   * @param options.activations  `"float32"` (default) or `"dynamic"`
   * @param options.reduceRange  dynamic: 7 bits for activations, as PyTorch has it; default: true
   * @param options.accumulate   `"exact"` (default) or `"float32"`, see `linear`
   * @param options  the others are those of `quantize`, for a float weight only
   * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_UNKNOWN_OPTION`, `ZP_CONFLICTING_OPTIONS` if options
   *   say how to quantize a weight that is quantized already, or differently from dynamic layers
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_UNSUPPORTED_DTYPE` for more than 8 bits,
   *   `ZP_OUT_OF_MEMORY`, and what `quantize` and `dequantize` throw
   * @example new QuantizedLinear(weight, { dtype: "int4", groupSize: 32 })
   * @example new QuantizedLinear(weight, { activations: "dynamic", axis: 0, bias })
   */
  constructor(
    weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
    options?: QuantizedLinearOptions,
  ) {
    const where = "QuantizedLinear";
    const made =
      weight instanceof Made
        ? weight
        : workHere(makingOf(activeCore(where), where, weight, options));
    const { core, source, qparams, weight: packed } = made;
    this.outFeatures = packed.outFeatures;
    this.inFeatures = packed.inFeatures;
    this.qparams = qparams;
    this.accumulate = source.accumulate;
    this.#reduceRange = source.reduceRange;
    this.#core = core;
    this.#weight = packed;
  }

  /**
   * Computes input · weightᵀ + bias.
   * @param input  float32 of shape [..., inFeatures]
   * @param out    where to write the result: a Float32Array of its length, or a Tensor of its shape,
   *   which is then itself the result; apart from `input`
   * @returns float32 of shape [..., outFeatures]
   *
   * With dynamic activations the input needs 2 axes or more, as in PyTorch, and finite values.
   *
   * @throws {TypeError} `ZP_DISPOSED`, `ZP_INVALID_TENSOR`, `ZP_INVALID_OUT`
   * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OUT`, `ZP_SIZE_OVERFLOW`,
   *   `ZP_OUT_OF_MEMORY`; `ZP_NON_FINITE` with dynamic activations
   * @example
   * const layer = new QuantizedLinear(tensor([[1, 2, 3], [4, 5, 6]]));
   * layer.forward(tensor([[1, 0, 1]])).shape; // [1, 2]
   */
  forward(input: TensorInput, out?: Float32Array | Tensor): Tensor {
    const where = "QuantizedLinear.forward";
    const weight = this.#weight;
    const core = this.#core;
    // The loop that reuses its tensors makes no garbage.
    if (this.#reduceRange === undefined && input instanceof Tensor && out instanceof Tensor) {
      const rows = matchingRows(input, out, weight);
      if (rows > 0) {
        weight.checkAlive(where);
        multiplyPacked(core, where, weight, this.accumulate, input.data, rows, out.data);
        return out;
      }
    }
    const batch = this.#check(where, input);
    const result = checkTensorOut(where, "out", out, batch.outShape, batch.outSize, [batch.data]);
    // Only now: a getter among the arguments may have disposed of it.
    weight.checkAlive(where);
    if (this.#reduceRange !== undefined) {
      runDynamic(core, where, weight, batch, batch.rows, this.#reduceRange, result.data);
    } else if (batch.outSize > 0) {
      multiplyPacked(core, where, weight, this.accumulate, batch.data, batch.rows, result.data);
    }
    return result;
  }

  /**
   * `forward`, off this thread, with the same bits; `quantizeAsync` says how. The worker gets the packed
   * weight with the first call and keeps it, beside the layer's own, until the layer is disposed. Where a
   * subclass has changed `forward` alone, that is what runs, on this thread.
   *
   * @param input    float32 of shape [..., inFeatures]
   * @param options.out         where to write the result, as in `forward`
   * @param options.signal      stops the work: the promise is rejected with the signal's reason
   * @param options.onProgress  called after every piece with `{ done, total, offThread, reason }`
   * @returns a promise of what `forward` returns
   * @throws {TypeError|RangeError|Error} (as a rejection) what `forward` and `quantizeAsync` throw
   * @example const y = await layer.forwardAsync(x, { signal: AbortSignal.timeout(1000) });
   */
  async forwardAsync(input: TensorInput, options?: OutOption & AsyncOptions): Promise<Tensor> {
    const where = "QuantizedLinear.forwardAsync";
    const { given, settings } = checkAsyncOptions(where, options, ["out"]);
    if (changes(this, QuantizedLinear, "forward")) {
      return await runHere("QuantizedLinear", settings, () =>
        this.forward(input, given.out as Tensor),
      );
    }
    const weight = this.#weight;
    weight.checkAlive(where);
    const batch = this.#check(where, input);
    const { outShape, outSize, data } = batch;
    const out = checkGivenOut(where, given.out, outShape, outSize, [data]);
    const { accumulate } = this;
    const reduceRange = this.#reduceRange;
    return await runJob(
      this.#core,
      where,
      settings,
      "forward",
      weight,
      { accumulate, reduceRange },
      batch,
      out,
    );
  }

  /** Checks an input of the layer's. */
  #check(where: string, input: unknown): Batch {
    const batch = checkInput(where, input, this.#weight);
    if (this.#reduceRange !== undefined && batch.shape.length < 2) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        where,
        "input must have 2 axes or more, as PyTorch's dynamic layer takes it, " +
          `got shape ${showShape(batch.shape)}`,
      );
    }
    return batch;
  }

  /** Frees the layer's memory. Calling it again does nothing; calling `forward` after it throws. */
  dispose(): void {
    this.#weight.dispose();
  }

  /** `dispose()`, for `using`. There where the engine has `Symbol.dispose`. */
  declare [Symbol.dispose]: () => void;

  /**
   * The layer in the manner of PyTorch's print.
   * @example String(new QuantizedLinear(tensor([[1, 2]]))) // "QuantizedLinear(in_features=2, out_features=1, dtype=int8)"
   */
  toString(): string {
    const { inFeatures, outFeatures, qparams } = this;
    const dynamic = this.#reduceRange === undefined ? "" : ", activations=dynamic";
    return `QuantizedLinear(in_features=${inFeatures}, out_features=${outFeatures}, ${qparamsText(qparams)}${dynamic})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

makeDisposable(QuantizedLinear);

/**
 * How many rows a tensor has, if it and the result's tensor plainly fit the weight; otherwise 0, and
 * the checks decide.
 */
function matchingRows(input: Tensor, out: Tensor, weight: PackedWeight): number {
  const axes = input.shape.length;
  if (axes === 0 || out.shape.length !== axes) return 0;
  if (input.shape[axes - 1] !== weight.inFeatures) return 0;
  if (out.shape[axes - 1] !== weight.outFeatures) return 0;
  let rows = 1;
  for (let axis = 0; axis < axes - 1; axis++) {
    if (input.shape[axis] !== out.shape[axis]) return 0;
    rows *= input.shape[axis];
  }
  const fits =
    arrayName(input.data) === "Float32Array" &&
    arrayName(out.data) === "Float32Array" &&
    arrayLength(input.data) === rows * weight.inFeatures &&
    arrayLength(out.data) === rows * weight.outFeatures &&
    arrayLength(out.data) > 0 &&
    input.data.buffer !== out.data.buffer;
  return fits ? rows : 0;
}

// ---- Making layers

/** What a layer is made from, after its checks. */
interface Source {
  readonly accumulate: Accumulate;
  /** Of dynamic activations; undefined for float32. */
  readonly reduceRange: boolean | undefined;
  readonly bias: NumberArray | undefined;
  /** Quantized already, or what quantizes it. */
  readonly weight: CheckedQuantized | Procedure<unknown>;
  /** How many values there are to go through. */
  readonly total: number;
}

/** What a layer is made of, as its constructor takes it. */
class Made {
  declare readonly core: Core;
  declare readonly source: Source;
  declare readonly qparams: QParams;
  declare readonly weight: PackedWeight;

  constructor(core: Core, source: Source, qparams: QParams, weight: PackedWeight) {
    this.core = core;
    this.source = source;
    this.qparams = qparams;
    this.weight = weight;
  }
}

const LAYER_OPTIONS = ["bias", "activations", "reduceRange", "accumulate", ...QUANTIZE_OPTIONS];

function checkSource(
  core: Core,
  where: string,
  weight: unknown,
  options: Record<string, unknown>,
): Source {
  const activations = checkChoice(
    where,
    "options.activations",
    options.activations,
    ["float32", "dynamic"] as const,
    "float32",
  );
  const accumulate = checkAccumulate(where, options.accumulate);
  const reduceRange = checkBoolean(where, "options.reduceRange", options.reduceRange, true);
  const isDynamic = activations === "dynamic";
  if (isDynamic) checkDynamicOptions(where, options);
  else if (options.reduceRange !== undefined) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      'options.reduceRange is for options.activations: "dynamic", which is not given',
    );
  }
  const isQuantized = looksQuantized(weight);
  const x = isQuantized ? checkReady(where, weight, options) : checkTensor(where, "weight", weight);
  const [outFeatures] = checkMatrix(where, x.shape);
  const quantized = isQuantized
    ? undefined
    : isDynamic
      ? toInt8(core, where, x as CheckedTensor, options.axis)
      : toQuantized(core, where, x as CheckedTensor, options);
  return {
    accumulate,
    reduceRange: isDynamic ? reduceRange : undefined,
    bias: checkBias(where, "options.bias", options.bias, outFeatures),
    weight: quantized ?? (x as CheckedQuantized),
    total: (isQuantized ? 1 : options.scale === undefined ? 3 : 2) * x.size,
  };
}

/** Makes what is checked. */
function* making(core: Core, where: string, source: Source): Procedure<Made> {
  const { weight, bias, reduceRange } = source;
  const checked =
    "codes" in weight
      ? weight
      : checkQuantized(where, "weight", fromTorch(where, yield* weight), true);
  const codes = weightCodes(where, checked);
  if (reduceRange !== undefined) checkInt8(where, checked, codes);
  const result = qparamsResult(checked.qparams, checked);
  return new Made(core, source, result, yield* packing(core, where, codes, bias));
}

/** Makes what `new QuantizedLinear` takes. */
function makingOf(core: Core, where: string, weight: unknown, options: unknown): Procedure<Made> {
  const given = checkOptions(where, options, LAYER_OPTIONS);
  return making(core, where, checkSource(core, where, weight, given));
}

/** `new QuantizedLinear`, on this thread or another. */
export function* layerOf(
  core: Core,
  weight: QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
  options: QuantizedLinearOptions,
): Procedure<QuantizedLinear> {
  return layerMade(yield* makingOf(core, "QuantizedLinear", weight, options));
}

const layerMade = (made: Made): QuantizedLinear => new QuantizedLinear(made as never);

/**
 * `new QuantizedLinear`, off this thread; `quantizeAsync` says how. What remains here is to copy the
 * packed weight into the core's memory.
 *
 * @param weight   as `QuantizedLinear` takes it
 * @param options  those of `QuantizedLinear`, and `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of the layer
 * @throws {TypeError|RangeError|Error} (as a rejection) what `QuantizedLinear` and `quantizeAsync` throw
 * @example using layer = await quantizedLinearAsync(weight, { dtype: "int4", groupSize: 32, bias });
 */
export async function quantizedLinearAsync(
  weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
  options?: QuantizedLinearOptions & AsyncOptions,
): Promise<QuantizedLinear> {
  const where = "quantizedLinearAsync";
  const core = activeCore(where);
  const { given, settings } = checkAsyncOptions(where, options, LAYER_OPTIONS);
  const source = checkSource(core, where, weight, given);
  const made = making(core, where, source);
  return layerMade(await runAway(core, where, settings, made, source.total));
}

/** A weight that is quantized already. */
function checkReady(
  where: string,
  weight: unknown,
  options: Record<string, unknown>,
): CheckedQuantized {
  const extra = QUANTIZE_OPTIONS.find((name) => options[name] !== undefined);
  if (extra === undefined) return checkQuantized(where, "weight", fromTorch(where, weight), true);
  throw typeError(
    "ZP_CONFLICTING_OPTIONS",
    where,
    `options.${extra} says how to quantize, but weight is quantized already`,
  );
}

/** Quantizes a weight as the options say. */
function toQuantized(
  core: Core,
  where: string,
  x: CheckedTensor,
  options: Record<string, unknown>,
): Procedure<QuantizedTensor> {
  const checked = checkQuantizeOptions(where, options, x.shape, true);
  checkWeightDType(where, "options.dtype", checked.dtype);
  return done({
    amount: (checked.given === undefined ? 2 : 1) * x.size,
    here: () => quantizeValues(core, where, "weight", x, checked),
    away: (own) => runJob(core, where, own, "quantize", x, checked, undefined, "weight"),
  });
}

/** Dynamic layers quantize their weight in one way only. */
function checkDynamicOptions(where: string, options: Record<string, unknown>): void {
  const only: Readonly<Record<string, string>> = {
    dtype: "int8",
    scheme: "symmetric",
    accumulate: "exact",
  };
  for (const name of [...QUANTIZE_OPTIONS, "accumulate"]) {
    const { [name]: wanted } = only;
    if (name === "axis" || options[name] === undefined || options[name] === wanted) continue;
    const takes = wanted === undefined ? "cannot be given" : `must be ${show(wanted)}`;
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      `options.${name} ${takes} with options.activations: "dynamic", got ${show(options[name])}`,
    );
  }
}

/** Quantizes a weight for dynamic activations, as PyTorch does it. */
function toInt8(
  core: Core,
  where: string,
  x: CheckedTensor,
  axis: unknown,
): Procedure<TorchQuantizedTensor<"qint8">> {
  if (axis !== undefined && axis !== 0 && axis !== -2) {
    throw rangeError(
      "ZP_INVALID_AXIS",
      where,
      "options.axis must be 0, for one scale for each output, with " +
        `options.activations: "dynamic", got ${show(axis)}`,
    );
  }
  return quantizeInt8Weight(core, where, x, axis !== undefined);
}

/** Checks that dynamic activations can be multiplied by a weight. */
function checkInt8(where: string, { dtype }: CheckedQuantized, weight: WeightCodes): void {
  const { granularity, zeroPoints } = weight;
  const problem =
    dtype !== "int8"
      ? `dtype "int8" or "qint8", got "${dtype}"`
      : Array.from(zeroPoints).some((zero) => zero !== 0)
        ? "zero points of 0"
        : granularity !== "perTensor" && granularity !== "perOutput"
          ? "one scale, or one for each output"
          : undefined;
  if (problem === undefined) return;
  throw rangeError(
    dtype === "int8" ? "ZP_INVALID_SCHEME" : "ZP_UNSUPPORTED_DTYPE",
    where,
    `weight must have ${problem} with options.activations: "dynamic"`,
  );
}
