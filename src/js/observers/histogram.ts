// batches -> histogram -> range of least quantization error -> qparams.

import { checkInteger } from "../base/check.js";
import { checkStatus, rangeError, typeError } from "../base/errors.js";
import { fixFields, type Options, ownFields } from "../base/fields.js";
import { explainReceivers } from "../base/receivers.js";
import { copyOf, elementName, newArray } from "../base/typed-arrays.js";
import type { CheckedTensor } from "../tensor/check.js";
import { oneSlice } from "../tensor/granularity.js";
import { countIntoBins, rangesOf, type ValueRange } from "../tensor/range.js";
import { Tensor } from "../tensor/tensor.js";
import { fromJSONNumbers, isObserver, type ObservedQParams, toJSONNumbers } from "./observer.js";
import { infoOf, PER_TENSOR } from "./options.js";
import {
  checkFiniteRanges,
  RangeObserver,
  type RangeObserverOptions,
  stateOf,
} from "./range-observer.js";

/** Options of `HistogramObserver`. */
export interface HistogramObserverOptions extends RangeObserverOptions {
  /** The number of equal bins that divide the range. Default: 2048. */
  bins?: number | undefined;
}

const MOST_BINS = 2 ** 20;

/**
 * Counts the values of all batches in a histogram, and chooses the range with the smallest quantization
 * error.
 *
 * A batch within the current range is added to the histogram. Any other batch widens the range, and the
 * old counts are redistributed over the new bins. `calculateQParams` narrows the range from its ends, by
 * quantiles of 1e-5, as long as the estimated error falls.
 *
 * Batches are float32 or float64 of any shape; one without values changes nothing. `observe` throws a
 * RangeError, `ZP_NON_FINITE`, for NaN, and for infinities unless `compat: "torch"` drops them; with it
 * also after a first batch that held NaN, as in PyTorch, until `reset()`. It throws a TypeError,
 * `ZP_INVALID_TENSOR`, for integers, too, which PyTorch does not count either.
 * A RangeError of that code is thrown for a first batch that is constant and beyond ±2⁵³: PyTorch
 * cannot make bins around such a value.
 *
 * A batch of any size passes through the core's memory twice, in tiles; no copy is kept.
 *
 * Source: torch.ao.quantization.HistogramObserver of PyTorch 2.6, its treatment of a constant first
 * batch included (it then counts as often as the next batch has values; issue 156414, changed later).
 *
 * @example
 * const observer = new HistogramObserver({ bins: 128 });
 * observer.observe(tensor([0, 0.1, 0.2, 100]));
 * observer.histogram.data[0]; // 3
 */
export class HistogramObserver extends RangeObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.HistogramObserver";
  /** The number of equal bins that divide the range. */
  declare readonly bins: number;
  #histogram: Float32Array;

  static {
    explainReceivers(HistogramObserver, "HistogramObserver", isObserver);
  }

  /**
   * @throws {RangeError|TypeError} as `MinMaxObserver`; `ZP_INVALID_OPTION` for bins that are
   *   not an integer from 1 to 2²⁰, or for `isDynamic`
   */
  constructor(options?: HistogramObserverOptions) {
    super(options, ["bins"], PER_TENSOR);
    const { bins: given } = ownFields(this.options);
    const bins = checkInteger(this.where, "options.bins", given, 2048, 1, MOST_BINS);
    fixFields<HistogramObserver>(this, { bins });
    this.#histogram = newArray(this.where, Float32Array, bins);
  }

  /** Counts of values per bin of minVal to maxVal: float32 of shape [bins]. A copy. */
  get histogram(): Tensor {
    const counts = copyOf(this.where, this.#histogram, Float32Array);
    return new Tensor(counts, [counts.length]);
  }

  /** @internal */
  protected override get reducesSymmetric(): boolean {
    return true;
  }

  /** @internal */
  protected override update(where: string, { data, size }: CheckedTensor): void {
    const name = elementName(data);
    if (!/float/i.test(name)) {
      throw typeError(
        "ZP_INVALID_TENSOR",
        where,
        `x must hold floats, as PyTorch counts no integers, got data of type ${name}; ` +
          `tensor(…) makes floats of them`,
      );
    }
    if (size === 0) return;
    const counts = oneSlice(size);
    const state = stateOf(this);
    const { core } = state;
    let range = rangesOf(core, where, data, counts, "keep");
    this.#checkCountable(where, range);
    if (!range.every(Number.isFinite)) {
      range = rangesOf(core, where, data, counts, "ignore");
      if (range[0] > range[1]) return;
    }
    const held = state.ranges;
    const joint = Float32Array.of(Math.min(range[0], held[0]), Math.max(range[1], held[1]));
    const [min, max] = joint;
    // PyTorch widens the range of equal values by 1 on either side, in double precision.
    if (min === max && min - 1 === max + 1) {
      throw rangeError(
        "ZP_INVALID_TENSOR",
        where,
        `x must hold values that differ, got ${min} alone, which is beyond 2^53: bins around ` +
          `it would have no width`,
      );
    }
    const batch = newArray(where, Uint32Array, this.#histogram.length);
    countIntoBins(core, where, data, size, { min, max }, batch);
    this.#histogram = this.#join(where, batch, joint);
    state.ranges = joint;
  }

  /** Refuses a batch with NaN or infinities in its range, which cannot be counted. */
  #checkCountable(where: string, range: Float32Array): void {
    const state = stateOf(this);
    const holdsNaN = Number.isNaN(range[0]);
    if (holdsNaN || Number.isNaN(state.ranges[0])) {
      // As in PyTorch, which stores the range before counting fails.
      if (state.compat && this.isUnobserved) state.ranges = range;
      throw rangeError(
        "ZP_NON_FINITE",
        where,
        `${holdsNaN ? "x" : "a batch before x"} must not hold NaN, which has no place in a ` +
          `histogram`,
      );
    }
    checkFiniteRanges(where, state, range);
  }

  /** The sum of the current histogram and the counts of a batch, which already cover the joint range. */
  #join(where: string, counts: Uint32Array, joint: Float32Array): Float32Array {
    const { core, ranges } = stateOf(this);
    const { memory, module } = core;
    const bins = this.#histogram.length;
    const joined = newArray(where, Float32Array, bins);
    const [countsAt, batchAt, heldAt, scratchAt] = memory.layOut(
      where,
      4 * bins,
      4 * bins,
      4 * bins,
      scratchBytes(bins),
    );
    try {
      memory.copyIn(where, "Uint32Array", countsAt, counts, bins);
      checkStatus(where, module.toHistogram(countsAt, batchAt, bins));
      if (this.isUnobserved) {
        memory.read(batchAt, joined);
        return joined;
      }
      memory.write("Float32Array", heldAt, this.#histogram);
      const status = module.mergeHistogram(
        batchAt,
        joint[0],
        joint[1],
        heldAt,
        ranges[0],
        ranges[1],
        bins,
        scratchAt,
      );
      checkStatus(where, status);
      memory.read(heldAt, joined);
      return joined;
    } finally {
      memory.end();
    }
  }

  /**
   * The part of minVal to maxVal that `calculateQParams` maps to codes.
   *
   * Source: HistogramObserver._non_linear_param_search.
   *
   * @returns float32 values; Infinity and -Infinity before any batch
   */
  searchRange(): ValueRange {
    const where = `${this.where}.searchRange`;
    const { core, ranges } = stateOf(this);
    const { memory, module } = core;
    const bins = this.#histogram.length;
    const [min, max] = ranges;
    if (this.isUnobserved) return { min, max };
    // The count of all codes of the dtype, not of the quant range: 2 ** torch.iinfo(dtype).bits.
    const levels = 2 ** (8 * infoOf(this.dtype).elementBytes);
    const [histogramAt, scratchAt, outAt] = memory.layOut(where, 4 * bins, scratchBytes(bins), 8);
    try {
      memory.write("Float32Array", histogramAt, this.#histogram);
      const status = module.searchHistogram(histogramAt, bins, min, max, levels, scratchAt, outAt);
      checkStatus(where, status);
      return {
        min: memory.readOne("Float32Array", outAt),
        max: memory.readOne("Float32Array", outAt + 4),
      };
    } finally {
      memory.end();
    }
  }

  /**
   * Scale and zero point for the range with the smallest quantization error of the histogram; see
   * `searchRange` for the range, and `MinMaxObserver` for its qparams.
   * @returns scale and zero point of shape [1]
   * @throws {RangeError} `ZP_NON_FINITE` if float32 cannot hold the width of the range
   */
  override calculateQParams(): ObservedQParams {
    const { min, max } = this.searchRange();
    return this.chooseFor(Float32Array.of(min, max));
  }

  override reset(): void {
    super.reset();
    this.#histogram = newArray(this.where, Float32Array, this.#histogram.length);
  }

  protected override saveState(): Record<string, unknown> {
    return { ...super.saveState(), histogram: toJSONNumbers(this.#histogram) };
  }

  protected override restoreState(where: string, state: Options): void {
    const { histogram } = state;
    const counts = fromJSONNumbers(
      where,
      "json.state.histogram",
      histogram,
      this.#histogram.length,
    );
    const wrong = counts.find((count) => !(count >= 0));
    if (wrong !== undefined) {
      throw rangeError(
        "ZP_INVALID_STATE",
        where,
        `json.state.histogram must be counts, 0 or more, got ${wrong}`,
      );
    }
    super.restoreState(where, state);
    this.#histogram = counts;
  }
}

/** Scratch bytes that the core needs to merge and to search a histogram. */
function scratchBytes(bins: number): number {
  return 4 * (2 * bins + 1);
}
