// PyTorch's observers of minimum and maximum, per tensor and per channel.

import { checkFinite, checkInteger } from "../base/check.js";
import { rangeError } from "../base/errors.js";
import { fixFields, ownFields } from "../base/fields.js";
import { showShape } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import type { CheckedTensor } from "../tensor/check.js";
import { axisOf, oneSlice } from "../tensor/granularity.js";
import { rangesOf } from "../tensor/range.js";
import { aroundAxis } from "../tensor/shape.js";
import { isObserver } from "./observer.js";
import { PER_CHANNEL, PER_TENSOR, type QScheme } from "./options.js";
import {
  checkFiniteRanges,
  joinToState,
  RangeObserver,
  type RangeObserverOptions,
  stateOf,
} from "./range-observer.js";

/** Options of the moving-average observers. */
export interface MovingAverageObserverOptions extends RangeObserverOptions {
  /** The weight c of a batch in the range: old + c · (batch − old). Default: 0.01. */
  averagingConstant?: number | undefined;
}

/** Options of the per-channel observers. */
export interface PerChannelObserverOptions extends Omit<RangeObserverOptions, "qscheme"> {
  /** Default: `"per_channel_affine"`. */
  qscheme?: Extract<QScheme, `per_channel_${string}`> | undefined;
  /** The axis of the channels; negative counts from the end. Default: 0. */
  chAxis?: number | undefined;
}

/** Options of `MovingAveragePerChannelMinMaxObserver`. */
export interface MovingAveragePerChannelObserverOptions
  extends PerChannelObserverOptions,
    Pick<MovingAverageObserverOptions, "averagingConstant"> {}

/** One range for the whole tensor. */
abstract class PerTensorMinMaxObserver extends RangeObserver {
  static {
    explainReceivers(PerTensorMinMaxObserver, "PerTensorMinMaxObserver", isObserver);
  }

  /** @internal */
  protected override update(where: string, { data, size }: CheckedTensor): void {
    if (size === 0) return;
    const state = stateOf(this);
    const batch = rangesOf(state.core, where, data, oneSlice(size), "keep");
    checkFiniteRanges(where, state, batch);
    joinToState(where, this, batch);
  }
}

/**
 * Keeps the smallest and the largest value of all batches.
 *
 * A batch without values changes nothing. A batch of any size passes through the core's memory once, in
 * tiles; no copy is kept.
 *
 * Source: torch.ao.quantization.MinMaxObserver.
 *
 * @example
 * const observer = new MinMaxObserver({ dtype: "qint8", qscheme: "per_tensor_symmetric" });
 * observer.observe(tensor([-1, 2]));
 * observer.calculateQParams().scale.data; // Float32Array [0.01568627543747425]
 */
export class MinMaxObserver extends PerTensorMinMaxObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.MinMaxObserver";

  static {
    explainReceivers(MinMaxObserver, "MinMaxObserver", isObserver);
  }

  /**
   * @throws {RangeError} `ZP_INVALID_QSCHEME` for a per-channel qscheme, or a symmetric one with
   *   quint8 and `reduceRange`; `ZP_INVALID_QUANT_RANGE` if quantMin to quantMax does not contain 0 or
   *   is too wide; `ZP_INVALID_DTYPE`, `ZP_INVALID_OPTION`
   * @throws {TypeError} `ZP_INVALID_OPTIONS`, `ZP_UNKNOWN_OPTION`
   */
  constructor(options?: RangeObserverOptions) {
    super(options, [], PER_TENSOR);
  }

  /** @internal */
  protected override get takesDynamic(): boolean {
    return true;
  }
}

/** Checks and sets an observer's averaging constant. */
function setAveragingConstant(
  observer: RangeObserver & { readonly averagingConstant: number },
  where: string,
): void {
  const given = ownFields(observer.options).averagingConstant;
  const averagingConstant = checkFinite(where, "options.averagingConstant", given, 0.01);
  fixFields(observer, { averagingConstant });
  stateOf(observer).averagingConstant = averagingConstant;
}

/**
 * Keeps a moving average of the ranges of batches: old + c · (batch − old), in float32. The first batch
 * sets the range.
 *
 * Source: torch.ao.quantization.MovingAverageMinMaxObserver.
 *
 * @example new MovingAverageMinMaxObserver({ averagingConstant: 0.1 })
 */
export class MovingAverageMinMaxObserver extends PerTensorMinMaxObserver {
  static override readonly pythonName =
    "torch.ao.quantization.observer.MovingAverageMinMaxObserver";
  /** c: the weight of a batch in the range. */
  declare readonly averagingConstant: number;

  static {
    explainReceivers(MovingAverageMinMaxObserver, "MovingAverageMinMaxObserver", isObserver);
  }

  /** @throws {RangeError|TypeError} as `MinMaxObserver` */
  constructor(options?: MovingAverageObserverOptions) {
    super(options, ["averagingConstant"], PER_TENSOR);
    setAveragingConstant(this, this.where);
  }

  /** @internal */
  protected override get takesDynamic(): boolean {
    return ownFields(this.options).averagingConstant === 1;
  }
}

/** One range per channel. */
abstract class ChannelMinMaxObserver extends RangeObserver {
  /** The axis of the channels, as given: negative counts from the end. */
  declare readonly chAxis: number;

  static {
    explainReceivers(ChannelMinMaxObserver, "ChannelMinMaxObserver", isObserver);
  }

  /** @internal */
  constructor(options: unknown, known: readonly string[]) {
    super(options, ["chAxis", ...known], PER_CHANNEL);
    const given = ownFields(this.options).chAxis;
    const chAxis = checkInteger(this.where, "options.chAxis", given, 0, -64, 63);
    fixFields<ChannelMinMaxObserver>(this, { chAxis });
  }

  /** @internal */
  protected override update(where: string, { data, shape, size }: CheckedTensor): void {
    if (size === 0) return;
    if (shape.length < 2) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        where,
        "x must have at least 2 axes, as PyTorch's observer takes it, " +
          `got shape ${showShape(shape)}`,
      );
    }
    const axis = axisOf(where, "chAxis", this.chAxis, shape);
    const [outer, slices, inner] = aroundAxis(shape, axis);
    const state = stateOf(this);
    const batch = rangesOf(state.core, where, data, { outer, slices, inner }, "keep");
    checkFiniteRanges(where, state, batch);
    joinToState(where, this, this.#fit(where, batch));
  }

  /** Ranges of a batch for the channels of the state; a single range is repeated, as in PyTorch. */
  #fit(where: string, batch: Float32Array): Float32Array {
    const state = stateOf(this);
    const [held, given] = [state.ranges.length / 2, batch.length / 2];
    if (held === 0 || held === given) return batch;
    if (state.compat && given === 1) return repeated(batch, held);
    if (state.compat && held === 1) {
      state.ranges = repeated(state.ranges, given);
      return batch;
    }
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `x must have ${held} channels, as the batches before it, got ${given}`,
    );
  }
}

/** One range, repeated for `count` channels. */
function repeated(range: Float32Array, count: number): Float32Array {
  return Float32Array.from({ length: 2 * count }, (_, i) => range[i % 2]);
}

/**
 * Keeps the smallest and the largest value of every channel.
 *
 * Batches have at least 2 axes and the same number of channels as the first one.
 *
 * Source: torch.ao.quantization.PerChannelMinMaxObserver.
 *
 * @example new PerChannelMinMaxObserver({ dtype: "qint8", qscheme: "per_channel_symmetric" })
 */
export class PerChannelMinMaxObserver extends ChannelMinMaxObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.PerChannelMinMaxObserver";

  /** @throws {RangeError|TypeError} as `MinMaxObserver`, but `ZP_INVALID_QSCHEME` for a per-tensor qscheme */
  constructor(options?: PerChannelObserverOptions) {
    super(options, []);
  }
}

/**
 * Keeps a moving average of the ranges of every channel.
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
  /** c: the weight of a batch in the ranges. */
  declare readonly averagingConstant: number;

  /** @throws {RangeError|TypeError} as `PerChannelMinMaxObserver` */
  constructor(options?: MovingAveragePerChannelObserverOptions) {
    super(options, ["averagingConstant"]);
    setAveragingConstant(this, this.where);
  }
}
