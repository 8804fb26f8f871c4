// tensors over time -> range -> qparams, as PyTorch's observers choose them, bit for bit.

import { checkStillThere, newArray } from "./arrays.js";
import { type AsyncOptions, changes, checkAsyncOptions, runJob } from "./async/background.js";
import { type CheckedTensor, checkBoolean, checkTensor, type TensorInput } from "./check.js";
import type { Core } from "./core.js";
import { checkStatus, rangeError } from "./errors.js";
import type { SliceCounts } from "./granularity.js";
import { activeCore } from "./init.js";
import { fromJSONNumbers, type ObservedQParams, Observer, toJSONNumbers } from "./observer.js";
import {
  checkCodeRange,
  checkEps,
  checkObserverDType,
  checkQScheme,
  hasCustomRange,
  OBSERVER_DTYPES,
  type ObserverDType,
  type QScheme,
} from "./observer-options.js";
import { floatRepr } from "./python-repr.js";
import { IntegerTensor } from "./qtensor.js";
import { Tensor } from "./tensor.js";
import { countIntoBins, rangesOf, type ValueRange } from "./tiles.js";
import { checkCompat } from "./torch.js";
import { calculateQParams } from "./torch-qparams.js";

/** What every observer that chooses qparams takes. */
export interface UniformObserverOptions {
  /** Default: `"quint8"`. */
  dtype?: ObserverDType | undefined;
  /** Default: `"per_tensor_affine"`. */
  qscheme?: Extract<QScheme, `per_tensor_${string}`> | undefined;
  /** Use half the codes of 8 bits, as some int8 kernels need. Default: false. */
  reduceRange?: boolean | undefined;
  /** The smallest code, together with `quantMax`; alone it is ignored, as in PyTorch. */
  quantMin?: number | undefined;
  /** The largest code, together with `quantMin`. */
  quantMax?: number | undefined;
  /** The smallest scale. Default: 2⁻²³. */
  eps?: number | undefined;
  /** For layers that choose qparams on the fly; only `MinMaxObserver` takes true. Default: false. */
  isDynamic?: boolean | undefined;
  /**
   * `"torch"`: NaN and infinities are taken as PyTorch takes them. Default: a batch that has any is
   * refused, and the state stays as it was.
   */
  compat?: "torch" | undefined;
}

/** What an observer wants to know of a batch. */
export type Question = {
  /** How often it will go through the batch, this time included, if nothing odd is in it. */
  readonly passes: number;
} & (
  | {
      /** The range of each slice: its smallest and its largest value, side by side, as float32. */
      readonly kind: "ranges";
      readonly counts: SliceCounts;
      readonly nonFinite: "keep" | "ignore";
    }
  | {
      /** How many values fall into equal parts of a range, as uint32. */
      readonly kind: "counts";
      readonly range: ValueRange;
      readonly bins: number;
    }
);

/** How an observer looks at a batch: it asks, is answered by this thread or another, and takes it in. */
export type Look = Generator<Question, void, Float32Array | Uint32Array>;

/** Answers a question on this thread. */
function answer(core: Core, where: string, { data, size }: CheckedTensor, question: Question) {
  if (question.kind === "ranges") {
    return rangesOf(core, where, data, question.counts, question.nonFinite);
  }
  checkStillThere(where, data, size);
  const counts = newArray(where, Uint32Array, question.bins);
  countIntoBins(core, where, data, size, question.range, counts);
  return counts;
}

const UNIFORM_OPTIONS = [
  "dtype",
  "qscheme",
  "reduceRange",
  "quantMin",
  "quantMax",
  "eps",
  "isDynamic",
  "compat",
] as const;

/**
 * An observer that lays a range onto codes: the base of all that choose qparams.
 *
 * Source: UniformQuantizationObserverBase.
 */
export abstract class UniformObserver extends Observer {
  /** The dtype that qparams are chosen for. */
  declare readonly dtype: ObserverDType;
  /** One scale for the tensor or for each channel, symmetric or affine. */
  declare readonly qscheme: QScheme;
  /** Whether half the codes of 8 bits are used. */
  declare readonly reduceRange: boolean;
  /** The smallest code in use. */
  declare readonly quantMin: number;
  /** The largest code in use. */
  declare readonly quantMax: number;
  /** The smallest scale. */
  declare readonly eps: number;
  /** Whether it serves a layer that chooses qparams on the fly. */
  declare readonly isDynamic: boolean;

  /** @internal */
  declare protected readonly core: Core;
  /** @internal */
  declare protected readonly compat: boolean;
  /** @internal Smallest and largest value of each slice, side by side, as the core lays them out. */
  declare protected ranges: Float32Array;
  /** @internal How far a batch moves the ranges; undefined where they only grow. */
  declare protected averagingConstant: number | undefined;

  /** @internal */
  constructor(options: unknown, known: readonly string[], qschemes: readonly QScheme[]) {
    super(options, [...UNIFORM_OPTIONS, ...known]);
    const { where, options: given } = this;
    this.core = activeCore(where);
    this.dtype = checkObserverDType(where, given.dtype, OBSERVER_DTYPES, "quint8");
    this.qscheme = checkQScheme(where, given.qscheme, qschemes);
    this.reduceRange = checkBoolean(where, "options.reduceRange", given.reduceRange, false);
    if (this.reduceRange && this.isSymmetric && this.dtype === "quint8" && !this.reducesSymmetric) {
      throw rangeError(
        "ZP_INVALID_QSCHEME",
        where,
        "options.reduceRange must be false for a symmetric qscheme with dtype quint8, got true",
      );
    }
    this.isDynamic = checkBoolean(where, "options.isDynamic", given.isDynamic, false);
    if (this.isDynamic && !this.takesDynamic) {
      throw rangeError(
        "ZP_INVALID_OPTION",
        where,
        "options.isDynamic must be false for this observer, whose qparams do not come from " +
          `one batch alone, got true`,
      );
    }
    [this.quantMin, this.quantMax] = checkCodeRange(where, this.dtype, this.reduceRange, given);
    this.eps = checkEps(where, given.eps);
    if (this.eps < 0) {
      throw rangeError("ZP_INVALID_OPTION", where, `options.eps must be >= 0, got ${this.eps}`);
    }
    this.compat = checkCompat(where, given.compat);
    this.ranges = this.#noRanges();
  }

  /** @internal Whether it takes symmetric quint8 codes of a reduced range, as PyTorch's histogram alone does. */
  protected get reducesSymmetric(): boolean {
    return false;
  }

  /** @internal Whether its qparams may come from one batch alone, with its options. */
  protected get takesDynamic(): boolean {
    return false;
  }

  /** @internal Looks at a batch: what to ask about it, and what becomes of the state. */
  protected abstract look(where: string, x: CheckedTensor): Look;

  observe<X extends TensorInput>(x: X): X {
    const where = `${this.where}.observe`;
    const checked = checkTensor(where, "x", x);
    const look = this.look(where, checked);
    for (let step = look.next(); step.done !== true; ) {
      step = look.next(answer(this.core, where, checked, step.value));
    }
    return x;
  }

  override async observeAsync<X extends TensorInput>(x: X, options?: AsyncOptions): Promise<X> {
    if (changes(this, UniformObserver, "observe")) return await super.observeAsync(x, options);
    const where = `${this.where}.observeAsync`;
    const checked = checkTensor(where, "x", x);
    const { settings } = checkAsyncOptions(where, options);
    const look = this.look(where, checked);
    await runJob(this.core, where, settings, "observe", checked, look);
    return x;
  }

  /** @internal */
  protected get isSymmetric(): boolean {
    return this.qscheme.endsWith("symmetric");
  }

  get #isPerChannel(): boolean {
    return this.qscheme.startsWith("per_channel");
  }

  /** The state before any batch: how many channels there are it does not know. */
  #noRanges(): Float32Array {
    return Float32Array.from(this.#isPerChannel ? [] : [Infinity, -Infinity]);
  }

  /** Whether no batch with values has come by yet. */
  get isUnobserved(): boolean {
    const [min, max] = this.ranges;
    return min === undefined || (min === Infinity && max === -Infinity && !this.#isPerChannel);
  }

  /**
   * The smallest value so far, or what the observer has made of it: shape [] per tensor and Infinity
   * before any batch, [n] per channel and [0] before. A copy.
   */
  get minVal(): Tensor {
    return this.#everySecond(0);
  }

  /** The largest value so far, likewise; -Infinity before any batch. */
  get maxVal(): Tensor {
    return this.#everySecond(1);
  }

  #everySecond(first: 0 | 1): Tensor {
    const values = this.ranges.filter((_, i) => i % 2 === first);
    return new Tensor(values, this.#isPerChannel ? [values.length] : []);
  }

  /**
   * Scale and zero point that fit the range seen so far:
   *
   *     neg = min(min, 0), pos = max(max, 0)
   *     symmetric      scale = max(max(−neg, pos) / ((quantMax − quantMin) / 2), eps)
   *                    zero point 0; 128 for 8 unsigned bits, or the middle of a range of its own
   *     affine         scale = max((pos − neg) / (quantMax − quantMin), eps)
   *                    zero point = clamp(quantMin − round_half_even(neg / scale), quantMin, quantMax)
   *     float_qparams  scale = (max − min) / (quantMax − quantMin), or 1 if that is not > eps
   *                    zero point = −min / scale
   *
   * in float32. Without a batch: scale 1 and zero point 0.
   *
   * Source: UniformQuantizationObserverBase._calculate_qparams.
   *
   * @returns scale and zero point of shape [1], or [n] per channel
   * @throws {RangeError} `ZP_NON_FINITE` if the range is none, which takes `compat: "torch"` and NaN
   */
  calculateQParams(): ObservedQParams {
    return this.chooseFor(this.ranges);
  }

  /** @internal */
  protected chooseFor(ranges: Float32Array): ObservedQParams {
    const where = `${this.where}.calculateQParams`;
    if (this.isUnobserved) return unobservedQParams();
    const { qscheme, quantMin, quantMax, eps, isSymmetric } = this;
    const floating = qscheme === "per_channel_affine_float_qparams";
    const scheme = floating ? "affineFloat" : isSymmetric ? "symmetric" : "affine";
    const how = { scheme, quantMin, quantMax, eps, zeroPoint: symmetricZeroPoint(this) } as const;
    const { status, scales, zeroPoints } = calculateQParams(this.core, where, ranges, how);
    if (status === "kNonFinite") {
      const wrong = ranges.findIndex((min, i) => i % 2 === 0 && !(min <= ranges[i + 1]));
      const [min, max] = this.ranges.subarray(wrong);
      throw rangeError(
        "ZP_NON_FINITE",
        where,
        `min ${min} must be at most max ${max}, and float32 hold their difference`,
      );
    }
    checkStatus(where, status);
    const shape = [scales.length];
    const scale = new Tensor(scales, shape);
    if (zeroPoints instanceof Float32Array) {
      return { scale, zeroPoint: new Tensor(zeroPoints, shape) };
    }
    const dtype = isSymmetric ? "int64" : "int32";
    return { scale, zeroPoint: new IntegerTensor(zeroPoints, shape, dtype) };
  }

  reset(): void {
    this.ranges = this.#noRanges();
  }

  /** @internal */
  protected override saveState(): Record<string, unknown> {
    const { minVal, maxVal } = this;
    return { minVal: toJSONNumbers(minVal.data), maxVal: toJSONNumbers(maxVal.data) };
  }

  /** @internal */
  protected override restoreState(where: string, state: Record<string, unknown>): void {
    const count = this.#isPerChannel ? undefined : 1;
    const min = fromJSONNumbers(where, "json.state.minVal", state.minVal, count);
    const max = fromJSONNumbers(where, "json.state.maxVal", state.maxVal, min.length);
    // Infinity and -Infinity: nothing has been observed.
    const wrong = min.findIndex((low, i) => low > max[i] && low - max[i] < Infinity);
    if (wrong >= 0) {
      throw rangeError(
        "ZP_INVALID_STATE",
        where,
        `json.state.minVal must be at most json.state.maxVal, got ${min[wrong]} and ${max[wrong]}`,
      );
    }
    this.ranges = Float32Array.from([...min].flatMap((low, i) => [low, max[i]]));
  }

  /** @internal */
  protected override extraText(): string {
    const { minVal, maxVal } = this;
    const text = (value: Tensor) =>
      value.shape.length === 0 ? floatRepr(value.data[0]) : String(value);
    return `min_val=${text(minVal)}, max_val=${text(maxVal)}`;
  }

  /** @internal Refuses ranges of a batch with NaN or infinities in it. */
  protected checkFiniteRanges(where: string, ranges: Float32Array): void {
    const wrong = this.compat ? undefined : ranges.find((value) => !Number.isFinite(value));
    if (wrong === undefined) return;
    throw rangeError(
      "ZP_NON_FINITE",
      where,
      `x must be finite, as float32 too, but holds ${wrong}; options.compat: "torch" takes ` +
        `it as PyTorch does`,
    );
  }

  /** @internal Joins a batch's ranges to the state, on the core. */
  protected update(where: string, batch: Float32Array): void {
    if (!this.isUnobserved) this.#join(where, batch);
    this.ranges = batch;
  }

  /** Makes of a batch's ranges what they are with those of the batches before. */
  #join(where: string, batch: Float32Array): void {
    const { averagingConstant } = this;
    const { memory, module } = this.core;
    const { length, byteLength } = batch;
    const [batchAt, heldAt] = memory.layOut(where, byteLength, byteLength);
    try {
      memory.write("Float32Array", batchAt, batch);
      memory.write("Float32Array", heldAt, this.ranges);
      const status =
        averagingConstant === undefined
          ? module.updateMinMax(batchAt, heldAt, length / 2)
          : module.updateMovingAverage(batchAt, heldAt, length / 2, averagingConstant);
      checkStatus(where, status);
      memory.read(heldAt, batch);
    } finally {
      memory.end();
    }
  }
}

/** The code that stands for 0 in a symmetric qscheme. */
function symmetricZeroPoint({ dtype, quantMin, quantMax, options }: UniformObserver): number {
  if (dtype === "quint8" || dtype === "uint8") {
    return hasCustomRange(options) ? Math.floor((quantMin + quantMax) / 2) : 128;
  }
  return dtype === "uint16" ? 2 ** 15 : 0;
}

function unobservedQParams(): ObservedQParams {
  return {
    scale: new Tensor(Float32Array.of(1), [1]),
    zeroPoint: new IntegerTensor(Int32Array.of(0), [1], "int64"),
  };
}
