// tensors over time -> range -> qparams: PyTorch's observers, bit for bit.

import { checkStillThere, newArray } from "./arrays.js";
import { type AsyncOptions, checkAsyncOptions, runHere, runJob } from "./async/background.js";
import {
  aroundAxis,
  type CheckedTensor,
  checkBoolean,
  checkChoice,
  checkFinite,
  checkInteger,
  checkOptions,
  checkQuantLimit,
  checkTensor,
  INT32,
  type TensorInput,
  wrongKind,
} from "./check.js";
import type { Core } from "./core.js";
import { checkStatus, rangeError, type ZeropointError } from "./errors.js";
import {
  type ObserverConstructor,
  type ObserverFactory,
  partial,
  partialCallable,
  shortName,
} from "./factory.js";
import { axisOf, oneSlice, type SliceCounts } from "./granularity.js";
import { activeCore } from "./init.js";
import { floatRepr } from "./python-repr.js";
import { IntegerTensor } from "./qtensor.js";
import { INSPECT, showShape } from "./show.js";
import { Tensor } from "./tensor.js";
import { countIntoBins, rangesOf, type ValueRange } from "./tiles.js";
import { calculateQParams, checkCompat } from "./torch.js";

// ---------------------------------------------------------------------------------------------
// Types.

/** The integer dtypes that observers choose qparams for, by PyTorch's names. */
export type ObserverDType =
  | "qint8"
  | "quint8"
  | "qint32"
  | "quint4x2"
  | "int8"
  | "uint8"
  | "int16"
  | "uint16"
  | "int32";

/** How an observer lays its range onto codes, by PyTorch's names. */
export type QScheme =
  | "per_tensor_affine"
  | "per_tensor_symmetric"
  | "per_channel_affine"
  | "per_channel_symmetric"
  | "per_channel_affine_float_qparams";

/** Scale and zero point that fit what an observer has seen. */
export interface ObservedQParams {
  /** float32 of shape [1], or [n] per channel. */
  readonly scale: Tensor;
  /** Integers of the same shape; floats in per_channel_affine_float_qparams. */
  readonly zeroPoint: IntegerTensor<Int32Array> | Tensor;
}

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

/** What the moving-average observers take. */
export interface MovingAverageObserverOptions extends UniformObserverOptions {
  /** How far a batch moves the range: old + c · (batch − old). Default: 0.01. */
  averagingConstant?: number | undefined;
}

/** What the per-channel observers take. */
export interface PerChannelObserverOptions extends Omit<UniformObserverOptions, "qscheme"> {
  /** Default: `"per_channel_affine"`. */
  qscheme?: Extract<QScheme, `per_channel_${string}`> | undefined;
  /** The axis of the channels; negative counts from the end. Default: 0. */
  chAxis?: number | undefined;
}

/** What `MovingAveragePerChannelMinMaxObserver` takes. */
export interface MovingAveragePerChannelObserverOptions
  extends PerChannelObserverOptions,
    Pick<MovingAverageObserverOptions, "averagingConstant"> {}

/** A number as JSON can hold it: it has no infinities, no NaN and no -0. */
export type JSONNumber = number | "Infinity" | "-Infinity" | "NaN" | "-0";

/** What `toJSON` gives: class, options and state of an observer. */
export interface ObserverJSON {
  /** The name of its class. */
  readonly observer: string;
  /** What it was made with. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What it has seen. */
  readonly state: Readonly<Record<string, unknown>>;
}

// ---------------------------------------------------------------------------------------------
// Options.

/** Options whose names are known. */
type Given = Readonly<Record<string, unknown>>;

/** Codes of every dtype, and those that `reduceRange` leaves. Source: calculate_qmin_qmax. */
const CODE_RANGES: {
  readonly [D in ObserverDType]: readonly [min: number, max: number, reducible: boolean];
} = {
  qint8: [-128, 127, true],
  int8: [-128, 127, true],
  quint8: [0, 255, true],
  uint8: [0, 255, true],
  qint32: [INT32.qmin, INT32.qmax, false],
  int32: [INT32.qmin, INT32.qmax, false],
  int16: [-32768, 32767, false],
  uint16: [0, 65535, false],
  quint4x2: [0, 15, false],
};

/** All integer dtypes of observers. */
export const OBSERVER_DTYPES = /* @__PURE__ */ Object.keys(CODE_RANGES) as ObserverDType[];
export const PER_TENSOR = ["per_tensor_affine", "per_tensor_symmetric"] as const;
const PER_CHANNEL = [
  "per_channel_affine",
  "per_channel_symmetric",
  "per_channel_affine_float_qparams",
] as const;
/** All schemes. */
const QSCHEMES: readonly QScheme[] = [...PER_TENSOR, ...PER_CHANNEL];

/** The name of a dtype. */
export function checkObserverDType<D extends string>(
  where: string,
  value: unknown,
  dtypes: readonly D[],
  fallback: D,
): D {
  return checkChoice(where, "options.dtype", value, dtypes, fallback, "ZP_INVALID_DTYPE");
}

/** One of some schemes; `undefined` means the first of them. */
export function checkQScheme(
  where: string,
  value: unknown,
  qschemes: readonly QScheme[] = QSCHEMES,
): QScheme {
  const [fallback] = qschemes;
  return checkChoice(where, "options.qscheme", value, qschemes, fallback, "ZP_INVALID_QSCHEME");
}

/** The smallest scale; `undefined` means 2⁻²³, torch.finfo(torch.float32).eps. */
export function checkEps(where: string, value: unknown): number {
  return checkFinite(where, "options.eps", value, 2 ** -23);
}

/** quantMin or quantMax, which may be missing. */
export function checkLimit(
  where: string,
  name: "quantMin" | "quantMax",
  options: Given,
): number | undefined {
  const value = options[name];
  return value === undefined ? undefined : checkQuantLimit(where, `options.${name}`, value);
}

/** Whether the codes are those of the options. One limit alone is ignored, as in PyTorch. */
function hasCustomRange({ quantMin, quantMax }: Given): boolean {
  return quantMin !== undefined && quantMax !== undefined;
}

/** The smallest and the largest code to use: those given, or the dtype's. */
function checkCodeRange(
  where: string,
  dtype: ObserverDType,
  reduceRange: boolean,
  options: Given,
): readonly [min: number, max: number] {
  const limits = [checkLimit(where, "quantMin", options), checkLimit(where, "quantMax", options)];
  const isCustom = hasCustomRange(options);
  const [dtypeMin, dtypeMax, reducible] = CODE_RANGES[dtype];
  const [low, high] = isCustom ? (limits as [number, number]) : [dtypeMin, dtypeMax];
  const problem =
    low > 0 || high < 0
      ? "must contain 0"
      : low >= high
        ? "must hold more than one code"
        : (dtype === "qint8" || dtype === "int8") && high - low > 255
          ? `must hold at most 256 codes for dtype ${dtype}`
          : undefined;
  if (problem !== undefined) {
    throw rangeError(
      "ZP_INVALID_QUANT_RANGE",
      `${where}: options.quantMin to options.quantMax ${problem}, got ${low} to ${high}`,
    );
  }
  const divide = reduceRange && (isCustom || reducible) ? 2 : 1;
  return [Math.floor(low / divide), Math.floor(high / divide)];
}

// ---------------------------------------------------------------------------------------------
// The base of all observers.

/**
 * Watches tensors pass. This is what all observers have in common; those that choose qparams say which
 * fit all they have seen.
 */
export abstract class Observer {
  /** Where PyTorch has this class. */
  static readonly pythonName: string = "torch.ao.quantization.observer.ObserverBase";
  /** The options that make another one like it, defaults left out. */
  declare readonly options: Readonly<Record<string, unknown>>;

  /** @internal */
  constructor(options: unknown, known: readonly string[]) {
    const given = checkOptions(this.where, options, known);
    // A copy, each read once: what was given may change, or be a getter.
    const entries = known.map((name) => [name, given[name]] as const);
    const said = entries.filter(([, value]) => value !== undefined);
    this.options = Object.freeze(Object.fromEntries(said));
  }

  /** @internal What the class is called in messages, in JSON and in print. */
  protected get where(): string {
    return shortName(this.constructor as typeof Observer);
  }

  /** Looks at a batch. @returns the batch itself, so that a call can be put into any expression */
  abstract observe<X extends TensorInput>(x: X): X;

  /**
   * `observe`, off this thread where it looks at values; `quantizeAsync` says how. What it has seen
   * changes when all is done, or not at all. Await one batch before the next where their order matters,
   * as it does for averages.
   * @param x        what `observe` takes; leave it as it is until the promise settles
   * @param options  `signal` and `onProgress` as in `quantizeAsync`
   * @returns a promise of the batch itself
   * @throws (as a rejection) what `observe` and `quantizeAsync` throw
   * @example await observer.observeAsync(batch, { signal: AbortSignal.timeout(1000) });
   */
  async observeAsync<X extends TensorInput>(x: X, options?: AsyncOptions): Promise<X> {
    const { settings } = checkAsyncOptions(`${this.where}.observeAsync`, options);
    return await runHere(this.where, settings, () => this.observe(x));
  }

  /**
   * The scale and zero point that fit all that it has seen.
   * @throws {TypeError} `ZP_NO_QPARAMS` for observers that have none to give
   */
  abstract calculateQParams(): ObservedQParams;

  /** Forgets all it has seen. */
  abstract reset(): void;

  /** Class, options and state, for `JSON.stringify`; the class's `fromJSON` restores them. */
  toJSON(): ObserverJSON {
    return { observer: this.where, options: { ...this.options }, state: this.saveState() };
  }

  /** @internal State as JSON can hold it. */
  protected saveState(): Record<string, unknown> {
    return {};
  }

  /** @internal */
  protected restoreState(_where: string, _state: Record<string, unknown>): void {}

  /** The observer as PyTorch prints it: what takes several lines stands below its name. */
  toString(): string {
    const text = this.extraText();
    const inside = text.includes("\n") ? `\n  ${text.replaceAll("\n", "\n  ")}\n` : text;
    return `${this.where}(${inside})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** @internal */
  protected extraText(): string {
    return "";
  }

  /**
   * A factory of observers with these options: what a `QConfig` takes. Further options may be added;
   * later ones win.
   *
   * Source: ObserverBase.with_args.
   *
   * @throws {TypeError} `ZP_INVALID_OPTIONS`; the options themselves are checked when it makes one
   * @example const factory = MinMaxObserver.withArgs({ dtype: "qint8" });
   * factory().observe(x); // a MinMaxObserver
   */
  static withArgs<C extends ObserverClass>(
    this: C,
    options: Partial<OptionsOf<C>>,
  ): ObserverFactory<InstanceType<C>, OptionsOf<C>> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    return partial(constructorOf(this), options);
  }

  /**
   * A factory that calls functions for its options whenever it makes an observer.
   *
   * Source: ObserverBase.with_callable_args.
   *
   * @throws {TypeError} `ZP_INVALID_FUNCTION`
   */
  static withCallableArgs<C extends ObserverClass>(
    this: C,
    options: { readonly [K in keyof OptionsOf<C>]?: () => OptionsOf<C>[K] },
  ): ObserverFactory<InstanceType<C>, OptionsOf<C>> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    return partialCallable(constructorOf(this), options);
  }

  /**
   * Makes an observer of what `toJSON` gave, with the same options and state.
   * @param json  the object, after `JSON.parse` if it was text; `json.observer` names the class
   * @throws {TypeError|RangeError} `ZP_INVALID_STATE` if it is none, or of another class; and what the
   *   constructor throws
   * @example
   * const text = JSON.stringify(observer); // a HistogramObserver, say
   * HistogramObserver.fromJSON(JSON.parse(text)).observe(nextBatch);
   */
  static fromJSON<C extends ObserverClass>(this: C, json: ObserverJSON): InstanceType<C> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    const make = constructorOf(this);
    const name = shortName(make);
    const where = `${name}.fromJSON`;
    const { observer, options, state } = checkRecord(where, "json", json);
    if (observer !== name) {
      throw wrongKind(
        "ZP_INVALID_STATE",
        where,
        "json.observer",
        `"${name}"`,
        observer,
        rangeError,
      );
    }
    const made = new make(checkRecord(where, "json.options", options) as OptionsOf<C>);
    made.restoreState(where, checkRecord(where, "json.state", state));
    return made;
  }
}

/** A class of observers. */
export type ObserverClass = (new (options: never) => Observer) & { readonly pythonName: string };

/** The options that a class of observers takes. */
export type OptionsOf<C extends ObserverClass> = C extends new (
  options: infer Options,
) => unknown
  ? NonNullable<Options>
  : never;

/** A class with the types of what it takes and makes, which TypeScript does not infer from `C`. */
function constructorOf<C extends ObserverClass>(
  observerClass: C,
): ObserverConstructor<InstanceType<C>, OptionsOf<C>> {
  return observerClass as unknown as ObserverConstructor<InstanceType<C>, OptionsOf<C>>;
}

function checkRecord(where: string, argument: string, value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw wrongKind("ZP_INVALID_STATE", where, argument, "an object as toJSON makes it", value);
}

/** Numbers as JSON can hold them. */
export function toJSONNumbers(values: Float32Array): JSONNumber[] {
  return Array.from(values, (value) => {
    if (Object.is(value, -0)) return "-0";
    return Number.isFinite(value) ? value : (String(value) as JSONNumber);
  });
}

const NUMBERS_IN_WORDS: readonly unknown[] = ["Infinity", "-Infinity", "NaN", "-0"];

/** A list of numbers out of JSON. */
export function fromJSONNumbers(
  where: string,
  argument: string,
  value: unknown,
  wanted?: number,
): Float32Array {
  const numbers = `a list of ${wanted === undefined ? "" : `${wanted} `}numbers`;
  const bad = (got: unknown): ZeropointError =>
    wrongKind("ZP_INVALID_STATE", where, argument, numbers, got);
  if (!Array.isArray(value)) throw bad(value);
  if (wanted !== undefined && value.length !== wanted) throw bad(value);
  return Float32Array.from(value, (item: unknown) => {
    const number = NUMBERS_IN_WORDS.includes(item) ? Number(item) : item;
    if (typeof number !== "number") throw bad(value);
    return number;
  });
}

// ---------------------------------------------------------------------------------------------
// Observers that keep a range.

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
        `${where}: options.reduceRange must be false for a symmetric qscheme with dtype quint8, ` +
          `got true`,
      );
    }
    this.isDynamic = checkBoolean(where, "options.isDynamic", given.isDynamic, false);
    if (this.isDynamic && !this.takesDynamic) {
      throw rangeError(
        "ZP_INVALID_OPTION",
        `${where}: options.isDynamic must be false for this observer, whose qparams do not come from ` +
          `one batch alone, got true`,
      );
    }
    [this.quantMin, this.quantMax] = checkCodeRange(where, this.dtype, this.reduceRange, given);
    this.eps = checkEps(where, given.eps);
    if (this.eps < 0) {
      throw rangeError("ZP_INVALID_OPTION", `${where}: options.eps must be >= 0, got ${this.eps}`);
    }
    this.compat = checkCompat(where, given.compat);
    this.ranges = interleave(...this.unobserved());
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
    const where = `${this.where}.observeAsync`;
    const checked = checkTensor(where, "x", x);
    const { settings } = checkAsyncOptions(where, options);
    const look = this.look(where, checked);
    await runJob(this.core, where, settings, ({ observe }, job) => observe(job, checked, look));
    return x;
  }

  /** @internal The state before any batch. */
  protected unobserved(): [min: Float32Array, max: Float32Array] {
    return [Float32Array.of(Infinity), Float32Array.of(-Infinity)];
  }

  /** @internal The shape of the state. */
  protected stateShape(): number[] {
    return [];
  }

  /** @internal */
  protected get isSymmetric(): boolean {
    return this.qscheme.endsWith("symmetric");
  }

  /** Whether no batch with values has come by yet. */
  get isUnobserved(): boolean {
    const [min, max] = this.ranges;
    return this.ranges.length <= 2 && !(min !== Infinity || max !== -Infinity);
  }

  /**
   * The smallest value so far, or what the observer has made of it: shape [] per tensor and Infinity
   * before any batch, [n] per channel and [0] before. A copy.
   */
  get minVal(): Tensor {
    return new Tensor(everySecond(this.ranges, 0), this.stateShape());
  }

  /** The largest value so far, likewise; -Infinity before any batch. */
  get maxVal(): Tensor {
    return new Tensor(everySecond(this.ranges, 1), this.stateShape());
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
        `${where}: min ${min} must be at most max ${max}, and float32 hold their difference`,
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
    this.ranges = interleave(...this.unobserved());
  }

  protected override saveState(): Record<string, unknown> {
    const { minVal, maxVal } = this;
    return { minVal: toJSONNumbers(minVal.data), maxVal: toJSONNumbers(maxVal.data) };
  }

  protected override restoreState(where: string, state: Record<string, unknown>): void {
    const min = fromJSONNumbers(where, "json.state.minVal", state.minVal, this.stateLength);
    const max = fromJSONNumbers(where, "json.state.maxVal", state.maxVal, min.length);
    // Infinity and -Infinity: nothing has been observed.
    const wrong = min.findIndex((low, i) => low > max[i] && low - max[i] < Infinity);
    if (wrong >= 0) {
      throw rangeError(
        "ZP_INVALID_STATE",
        `${where}: json.state.minVal must be at most json.state.maxVal, got ${min[wrong]} and ` +
          `${max[wrong]}`,
      );
    }
    this.ranges = interleave(min, max);
  }

  /** @internal How many ranges there are, if that is fixed. */
  protected get stateLength(): number | undefined {
    return 1;
  }

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
      `${where}: x must be finite, as float32 too, but holds ${wrong}; options.compat: "torch" takes ` +
        `it as PyTorch does`,
    );
  }

  /** @internal Joins a batch's ranges to the state, on the core. */
  protected update(
    where: string,
    batch: Float32Array,
    averagingConstant: number | undefined,
  ): void {
    if (this.isUnobserved) {
      this.ranges = batch;
      return;
    }
    const { memory, module } = this.core;
    const joined = new Float32Array(batch.length);
    const count = batch.length / 2;
    const [batchAt, heldAt] = memory.layOut(where, batch.byteLength, batch.byteLength);
    try {
      memory.write("Float32Array", batchAt, batch);
      memory.write("Float32Array", heldAt, this.ranges);
      const status =
        averagingConstant === undefined
          ? module.updateMinMax(batchAt, heldAt, count)
          : module.updateMovingAverage(batchAt, heldAt, count, averagingConstant);
      checkStatus(where, status);
      memory.read(heldAt, joined);
    } finally {
      memory.end();
    }
    this.ranges = joined;
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

/** Ranges of their smallest and their largest values. */
function interleave(min: Float32Array, max: Float32Array): Float32Array {
  return Float32Array.from({ length: 2 * min.length }, (_, i) => (i % 2 ? max : min)[i >> 1]);
}

/** The smallest values of ranges, or with 1 the largest. */
function everySecond(ranges: Float32Array, first: 0 | 1): Float32Array {
  return ranges.filter((_, i) => i % 2 === first);
}

// ---------------------------------------------------------------------------------------------
// Per tensor.

/** One range for the whole tensor. */
abstract class PerTensorMinMaxObserver extends UniformObserver {
  /** @internal Undefined: the range only grows. */
  protected abstract get constant(): number | undefined;

  /** @internal */
  protected override *look(where: string, { size }: CheckedTensor): Look {
    if (size === 0) return;
    const counts = oneSlice(size);
    const batch = yield { kind: "ranges", counts, nonFinite: "keep", passes: 1 };
    this.checkFiniteRanges(where, batch as Float32Array);
    this.update(where, batch as Float32Array, this.constant);
  }
}

/**
 * Keeps the smallest and the largest value of all batches.
 *
 * A batch without values changes nothing. A batch of any size passes through the core's memory in
 * tiles, once, and no copy is kept.
 *
 * Source: torch.ao.quantization.MinMaxObserver.
 *
 * @example
 * const observer = new MinMaxObserver({ dtype: "qint8", qscheme: "per_tensor_symmetric" });
 * observer.observe(tensor([-1, 2]));
 * observer.calculateQParams().scale.data; // Float32Array [2 / 127.5]
 */
export class MinMaxObserver extends PerTensorMinMaxObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.MinMaxObserver";

  /**
   * @throws {RangeError} `ZP_INVALID_QSCHEME` for a per-channel qscheme, or a symmetric one with
   *   quint8 and `reduceRange`; `ZP_INVALID_QUANT_RANGE` if quantMin to quantMax does not contain 0 or
   *   is too wide; `ZP_INVALID_DTYPE`, `ZP_INVALID_OPTION`
   * @throws {TypeError} `ZP_INVALID_OPTIONS`, `ZP_UNKNOWN_OPTION`
   */
  constructor(options?: UniformObserverOptions) {
    super(options, [], PER_TENSOR);
  }

  protected get constant(): undefined {
    return undefined;
  }

  /** @internal */
  protected override get takesDynamic(): boolean {
    return true;
  }
}

function checkAveragingConstant(where: string, { averagingConstant }: Given): number {
  return checkFinite(where, "options.averagingConstant", averagingConstant, 0.01);
}

/**
 * Keeps a range that every batch moves towards its own: old + c · (batch − old), in float32. The first
 * batch sets it.
 *
 * Source: torch.ao.quantization.MovingAverageMinMaxObserver.
 *
 * @example new MovingAverageMinMaxObserver({ averagingConstant: 0.1 })
 */
export class MovingAverageMinMaxObserver extends PerTensorMinMaxObserver {
  static override readonly pythonName =
    "torch.ao.quantization.observer.MovingAverageMinMaxObserver";
  /** c: how far a batch moves the range. */
  declare readonly averagingConstant: number;

  /** @throws {RangeError|TypeError} what `MinMaxObserver` throws */
  constructor(options?: MovingAverageObserverOptions) {
    super(options, ["averagingConstant"], PER_TENSOR);
    this.averagingConstant = checkAveragingConstant(this.where, this.options);
  }

  /** @internal */
  protected override get takesDynamic(): boolean {
    return this.options.averagingConstant === 1;
  }

  protected get constant(): number {
    return this.averagingConstant;
  }
}

// ---------------------------------------------------------------------------------------------
// Per channel.

/** One range for each channel. */
abstract class ChannelMinMaxObserver extends UniformObserver {
  /** The axis of the channels, as given: negative counts from the end. */
  declare readonly chAxis: number;

  /** @internal */
  constructor(options: unknown, known: readonly string[]) {
    super(options, ["chAxis", ...known], PER_CHANNEL);
    this.chAxis = checkInteger(this.where, "options.chAxis", this.options.chAxis, 0, -64, 63);
  }

  protected override unobserved(): [min: Float32Array, max: Float32Array] {
    return [new Float32Array(0), new Float32Array(0)];
  }

  protected override stateShape(): number[] {
    return [this.ranges.length / 2];
  }

  protected override get stateLength(): undefined {
    return undefined;
  }

  override get isUnobserved(): boolean {
    return this.ranges.length === 0;
  }

  /** @internal Undefined: the ranges only grow. */
  protected abstract get constant(): number | undefined;

  /** @internal */
  protected override *look(where: string, { shape, size }: CheckedTensor): Look {
    if (size === 0) return;
    if (shape.length < 2) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        `${where}: x must have at least 2 axes, as PyTorch's observer takes it, ` +
          `got shape ${showShape(shape)}`,
      );
    }
    const axis = axisOf(where, "chAxis", this.chAxis, shape);
    const [outer, slices, inner] = aroundAxis(shape, axis);
    const counts = { outer, slices, inner };
    const batch = (yield { kind: "ranges", counts, nonFinite: "keep", passes: 1 }) as Float32Array;
    this.checkFiniteRanges(where, batch);
    this.update(where, this.#fit(where, batch), this.constant);
  }

  /** A batch with as many channels as the state; PyTorch repeats a single one. */
  #fit(where: string, batch: Float32Array): Float32Array {
    const [held, given] = [this.ranges.length / 2, batch.length / 2];
    if (held === 0 || held === given) return batch;
    if (this.compat && given === 1) return repeated(batch, held);
    if (this.compat && held === 1) {
      this.ranges = repeated(this.ranges, given);
      return batch;
    }
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      `${where}: x must have ${held} channels, as the batches before it, got ${given}`,
    );
  }
}

/** One range as that of so many channels. */
function repeated(range: Float32Array, count: number): Float32Array {
  return Float32Array.from({ length: 2 * count }, (_, i) => range[i % 2]);
}

/**
 * Keeps the smallest and the largest value of every channel.
 *
 * Batches have at least 2 axes and always as many channels as the first one.
 *
 * Source: torch.ao.quantization.PerChannelMinMaxObserver.
 *
 * @example new PerChannelMinMaxObserver({ dtype: "qint8", qscheme: "per_channel_symmetric" })
 */
export class PerChannelMinMaxObserver extends ChannelMinMaxObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.PerChannelMinMaxObserver";

  /** @throws {RangeError|TypeError} what `MinMaxObserver` throws, for per-tensor qschemes instead */
  constructor(options?: PerChannelObserverOptions) {
    super(options, []);
  }

  protected get constant(): undefined {
    return undefined;
  }
}

/**
 * Keeps a range of every channel, which every batch moves towards its own.
 *
 * With `per_channel_symmetric` and the default dtype quint8 the zero points are 128, as in PyTorch;
 * `dtype: "qint8"` makes them 0.
 *
 * Source: torch.ao.quantization.MovingAveragePerChannelMinMaxObserver.
 *
 * @example new MovingAveragePerChannelMinMaxObserver({ chAxis: 1 })
 */
export class MovingAveragePerChannelMinMaxObserver extends ChannelMinMaxObserver {
  static override readonly pythonName =
    "torch.ao.quantization.observer.MovingAveragePerChannelMinMaxObserver";
  /** c: how far a batch moves the ranges. */
  declare readonly averagingConstant: number;

  /** @throws {RangeError|TypeError} what `PerChannelMinMaxObserver` throws */
  constructor(options?: MovingAveragePerChannelObserverOptions) {
    super(options, ["averagingConstant"]);
    this.averagingConstant = checkAveragingConstant(this.where, this.options);
  }

  protected get constant(): number {
    return this.averagingConstant;
  }
}
