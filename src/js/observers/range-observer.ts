// batches -> range -> qparams, as in PyTorch's observers, bit for bit.

import { checkBoolean } from "../base/check.js";
import { checkStatus, notItself, rangeError } from "../base/errors.js";
import { fixFields, type Options, ownFields } from "../base/fields.js";
import { explainReceivers } from "../base/receivers.js";
import { newArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { type CheckedTensor, checkTensor, type TensorInput } from "../tensor/check.js";
import { floatRepr } from "../tensor/python-repr.js";
import { Tensor } from "../tensor/tensor.js";
import { IntegerTensor } from "../torch/integer-tensor.js";
import { checkCompat } from "../torch/options.js";
import { calculateQParams } from "../torch/qparams.js";
import {
  fromJSONNumbers,
  isObserver,
  type ObservedQParams,
  Observer,
  toJSONNumbers,
} from "./observer.js";
import {
  checkCodeRange,
  checkEps,
  checkObserverDType,
  checkQScheme,
  hasCustomRange,
  OBSERVER_DTYPES,
  type ObserverDType,
  type QScheme,
} from "./options.js";

/** Common options of observers that choose qparams. */
export interface RangeObserverOptions {
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
  /** For layers that choose qparams on the fly: a MinMaxObserver, or averagingConstant 1. Default: false. */
  isDynamic?: boolean | undefined;
  /**
   * `"torch"`: NaN and infinities are treated as in PyTorch. Default: a batch that contains any is
   * refused, and the state is unchanged.
   */
  compat?: "torch" | undefined;
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
 * Base of the observers that choose qparams: an observer that maps a range to codes.
 *
 * Source: UniformQuantizationObserverBase.
 */
export abstract class RangeObserver extends Observer {
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
  /** Whether the observer is for a layer that chooses qparams on the fly. */
  declare readonly isDynamic: boolean;

  static {
    explainReceivers(RangeObserver, "Observer", isObserver);
  }

  /** @internal */
  constructor(options: unknown, known: readonly string[], qschemes: readonly QScheme[]) {
    super(options, [...UNIFORM_OPTIONS, ...known]);
    const { where } = this;
    const given = ownFields(this.options);
    const core = activeCore(where);
    fixFields<RangeObserver>(this, {
      dtype: checkObserverDType(where, given.dtype, OBSERVER_DTYPES, "quint8"),
      qscheme: checkQScheme(where, given.qscheme, qschemes),
      reduceRange: checkBoolean(where, "options.reduceRange", given.reduceRange, false),
      isDynamic: checkBoolean(where, "options.isDynamic", given.isDynamic, false),
    });
    if (this.reduceRange && this.isSymmetric && this.dtype === "quint8" && !this.reducesSymmetric) {
      throw rangeError(
        "ZP_INVALID_QSCHEME",
        where,
        "options.reduceRange must be false for a symmetric qscheme with dtype quint8, got true",
      );
    }
    if (this.isDynamic && !this.takesDynamic) {
      throw rangeError(
        "ZP_INVALID_OPTION",
        where,
        "options.isDynamic must be false for this observer, whose qparams do not come from " +
          `one batch alone, got true`,
      );
    }
    const [quantMin, quantMax] = checkCodeRange(where, this.dtype, this.reduceRange, given);
    const eps = checkEps(where, given.eps);
    if (eps < 0) {
      throw rangeError("ZP_INVALID_OPTION", where, `options.eps must be >= 0, got ${eps}`);
    }
    fixFields<RangeObserver>(this, { quantMin, quantMax, eps });
    const compat = checkCompat(where, given.compat);
    states.set(this, { core, compat, averagingConstant: undefined, ranges: this.#noRanges() });
  }

  /** @internal Whether symmetric quint8 with `reduceRange` is accepted: by the histogram only, as in PyTorch. */
  protected get reducesSymmetric(): boolean {
    return false;
  }

  /** @internal Whether `isDynamic` is accepted: qparams depend on a single batch. */
  protected get takesDynamic(): boolean {
    return false;
  }

  /** @internal Updates the state with a checked batch. */
  protected abstract update(where: string, x: CheckedTensor): void;

  observe<X extends TensorInput>(x: X): X {
    const where = `${this.where}.observe`;
    this.update(where, checkTensor(where, "x", x));
    return x;
  }

  /** @internal */
  protected get isSymmetric(): boolean {
    return this.qscheme.endsWith("symmetric");
  }

  get #isPerChannel(): boolean {
    return this.qscheme.startsWith("per_channel");
  }

  /** The state before any batch. The number of channels is still unknown. */
  #noRanges(): Float32Array {
    return this.#isPerChannel ? new Float32Array(0) : Float32Array.of(Infinity, -Infinity);
  }

  /** Whether no batch with values has been observed yet. */
  get isUnobserved(): boolean {
    const [min, max] = stateOf(this).ranges;
    return min === undefined || (min === Infinity && max === -Infinity && !this.#isPerChannel);
  }

  /**
   * The lower end of the range, such as the smallest value so far or a moving average. Per tensor: shape
   * [], Infinity before any batch; per channel: shape [n], [0] before any batch. A copy.
   */
  get minVal(): Tensor {
    return this.#everySecond(0);
  }

  /** The upper end of the range, in the same form; -Infinity before any batch. */
  get maxVal(): Tensor {
    return this.#everySecond(1);
  }

  #everySecond(first: 0 | 1): Tensor {
    const { ranges } = stateOf(this);
    const values = newArray(this.where, Float32Array, ranges.length / 2);
    for (let i = 0; i < values.length; i++) values[i] = ranges[2 * i + first];
    return new Tensor(values, this.#isPerChannel ? [values.length] : []);
  }

  /**
   * Scale and zero point for the observed range:
   *
   *     neg = min(min, 0), pos = max(max, 0)
   *     symmetric      scale = max(max(−neg, pos) / ((quantMax − quantMin) / 2), eps)
   *                    zero point 0; 128 for 8 unsigned bits, or the middle of a custom range
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
   * @throws {RangeError} `ZP_NON_FINITE` if the range is NaN, which only `compat: "torch"` can produce
   */
  calculateQParams(): ObservedQParams {
    return this.chooseFor(stateOf(this).ranges);
  }

  /** @internal */
  protected chooseFor(ranges: Float32Array): ObservedQParams {
    const where = `${this.where}.calculateQParams`;
    if (this.isUnobserved) return unobservedQParams();
    const { core, ranges: held } = stateOf(this);
    const { qscheme, quantMin, quantMax, eps, isSymmetric } = this;
    const floating = qscheme === "per_channel_affine_float_qparams";
    const scheme = floating ? "affineFloat" : isSymmetric ? "symmetric" : "affine";
    const how = { scheme, quantMin, quantMax, eps, zeroPoint: symmetricZeroPoint(this) } as const;
    const { status, scales, zeroPoints } = calculateQParams(core, where, ranges, how);
    if (status === "kNonFinite") {
      const wrong = ranges.findIndex((min, i) => i % 2 === 0 && !(min <= ranges[i + 1]));
      const [min, max] = [held[wrong], held[wrong + 1]];
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
    stateOf(this).ranges = this.#noRanges();
  }

  /** @internal */
  protected override saveState(): Record<string, unknown> {
    const { minVal, maxVal } = this;
    return { minVal: toJSONNumbers(minVal.data), maxVal: toJSONNumbers(maxVal.data) };
  }

  /** @internal */
  protected override restoreState(where: string, state: Options): void {
    const count = this.#isPerChannel ? undefined : 1;
    const min = fromJSONNumbers(where, "json.state.minVal", state.minVal, count);
    const max = fromJSONNumbers(where, "json.state.maxVal", state.maxVal, min.length);
    // Infinity and -Infinity: unobserved.
    const wrong = min.findIndex(
      (low, i) => low > max[i] && !(low === Infinity && max[i] === -Infinity),
    );
    if (wrong >= 0) {
      throw rangeError(
        "ZP_INVALID_STATE",
        where,
        `json.state.minVal must be at most json.state.maxVal, got ${min[wrong]} and ${max[wrong]}`,
      );
    }
    const ranges = newArray(where, Float32Array, 2 * min.length);
    for (let i = 0; i < min.length; i++) {
      ranges[2 * i] = min[i];
      ranges[2 * i + 1] = max[i];
    }
    stateOf(this).ranges = ranges;
  }

  /** @internal */
  protected override extraText(): string {
    const { minVal, maxVal } = this;
    const text = (value: Tensor) =>
      value.shape.length === 0 ? floatRepr(value.data[0]) : String(value);
    return `min_val=${text(minVal)}, max_val=${text(maxVal)}`;
  }
}

/** The private state of an observer, shared with its subclasses. */
interface State {
  readonly core: Core;
  readonly compat: boolean;
  /** The weight of a batch in the ranges; undefined if the ranges only grow. */
  averagingConstant: number | undefined;
  /** Minimum and maximum of each slice, interleaved, in the core's layout. */
  ranges: Float32Array;
}

const states = /* @__PURE__ */ new WeakMap<RangeObserver, State>();

/** The state of an observer. */
export function stateOf(observer: RangeObserver): State {
  const state = states.get(observer);
  if (state === undefined) throw notItself("Observer");
  return state;
}

/** Refuses ranges with NaN or infinities. */
export function checkFiniteRanges(where: string, { compat }: State, ranges: Float32Array): void {
  const wrong = compat ? undefined : ranges.find((value) => !Number.isFinite(value));
  if (wrong === undefined) return;
  throw rangeError(
    "ZP_NON_FINITE",
    where,
    `x must be finite, as float32 too, but holds ${wrong}; options.compat: "torch" takes ` +
      `it as PyTorch does`,
  );
}

/** Merges the ranges of a batch into the state on the core. Both have the same number of slices. */
export function joinToState(where: string, observer: RangeObserver, batch: Float32Array): void {
  const state = stateOf(observer);
  if (!observer.isUnobserved) {
    const { core, averagingConstant, ranges } = state;
    const { memory, module } = core;
    const { length } = ranges;
    const [batchAt, heldAt] = memory.layOut(where, 4 * length, 4 * length);
    try {
      memory.copyIn(where, "Float32Array", batchAt, batch, length);
      memory.write("Float32Array", heldAt, ranges);
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
  state.ranges = batch;
}

/** The code of 0 in a symmetric qscheme. */
function symmetricZeroPoint({ dtype, quantMin, quantMax, options }: RangeObserver): number {
  if (dtype === "quint8" || dtype === "uint8") {
    return hasCustomRange(ownFields(options)) ? Math.floor((quantMin + quantMax) / 2) : 128;
  }
  return dtype === "uint16" ? 2 ** 15 : 0;
}

function unobservedQParams(): ObservedQParams {
  return {
    scale: new Tensor(Float32Array.of(1), [1]),
    zeroPoint: new IntegerTensor(Int32Array.of(0), [1], "int64"),
  };
}
