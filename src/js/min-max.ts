// Observers that keep the smallest and the largest value: PyTorch's, of a tensor and of channels.

import { aroundAxis, type CheckedTensor, checkFinite, checkInteger } from "./check.js";
import { rangeError } from "./errors.js";
import { axisOf, oneSlice } from "./granularity.js";
import { type Given, PER_CHANNEL, PER_TENSOR, type QScheme } from "./observer-options.js";
import { showShape } from "./show.js";
import { type Look, UniformObserver, type UniformObserverOptions } from "./uniform.js";

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

// ---------------------------------------------------------------------------------------------
// Per tensor.

/** One range for the whole tensor. */
abstract class PerTensorMinMaxObserver extends UniformObserver {
  /** @internal */
  protected override *look(where: string, { size }: CheckedTensor): Look {
    if (size === 0) return;
    const batch = (yield {
      kind: "ranges",
      counts: oneSlice(size),
      nonFinite: "keep",
      passes: 1,
    }) as Float32Array;
    this.checkFiniteRanges(where, batch);
    this.update(where, batch);
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
 * observer.calculateQParams().scale.data; // Float32Array [0.01568627543747425]
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

  /** @internal */
  protected override *look(where: string, { shape, size }: CheckedTensor): Look {
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
    const counts = { outer, slices, inner };
    const batch = (yield { kind: "ranges", counts, nonFinite: "keep", passes: 1 }) as Float32Array;
    this.checkFiniteRanges(where, batch);
    this.update(where, this.#fit(where, batch));
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
      where,
      `x must have ${held} channels, as the batches before it, got ${given}`,
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
}
