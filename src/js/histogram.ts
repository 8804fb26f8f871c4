// tensors over time -> histogram -> the range that quantizes it best -> qparams.

import { arrayName, newArray } from "./arrays.js";
import { type CheckedTensor, checkInteger } from "./check.js";
import { checkStatus, rangeError, typeError } from "./errors.js";
import { oneSlice } from "./granularity.js";
import { fromJSONNumbers, type ObservedQParams, toJSONNumbers } from "./observer.js";
import { infoOf, PER_TENSOR } from "./observer-options.js";
import { Tensor } from "./tensor.js";
import type { ValueRange } from "./tiles.js";
import { type Look, UniformObserver, type UniformObserverOptions } from "./uniform.js";

/** What `HistogramObserver` takes. */
export interface HistogramObserverOptions extends UniformObserverOptions {
  /** Into how many equal parts the range is cut. Default: 2048. */
  bins?: number | undefined;
}

const MOST_BINS = 2 ** 20;

/**
 * Counts the values of all batches in a histogram, and chooses the range whose quantization errs
 * least.
 *
 * A batch that lies in the range held is counted into it. One that does not widens the range, and the
 * old bins are spread over the new ones. `calculateQParams` narrows the range from its ends, by
 * quantiles of 1e-5, as long as the estimated error falls.
 *
 * Batches are float32 or float64 of any shape; one without values changes nothing. `observe` throws a
 * RangeError, `ZP_NON_FINITE`, for NaN, and for infinities unless `compat: "torch"` drops them; with it
 * also after a first batch that held NaN, as in PyTorch, until `reset()`. It throws a TypeError,
 * `ZP_INVALID_TENSOR`, for integers, too, which PyTorch does not count either.
 * A RangeError of that code is thrown for a first batch of nothing but one value beyond ±2⁵³, which PyTorch
 * cannot lay bins around.
 *
 * A batch of any size passes through the core's memory in tiles, twice, and no copy is kept.
 *
 * Source: torch.ao.quantization.HistogramObserver of PyTorch 2.6, its treatment of a constant first
 * batch included (it then counts as often as the next batch has values; issue 156414, changed later).
 *
 * @example
 * const observer = new HistogramObserver({ bins: 128 });
 * observer.observe(tensor([0, 0.1, 0.2, 100]));
 * observer.histogram.data[0]; // 3
 */
export class HistogramObserver extends UniformObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.HistogramObserver";
  /** Into how many equal parts the range is cut. */
  declare readonly bins: number;
  #histogram: Float32Array;

  /**
   * @throws {RangeError|TypeError} what `MinMaxObserver` throws; `ZP_INVALID_OPTION` for bins that are
   *   not an integer from 1 to 2²⁰, or for `isDynamic`
   */
  constructor(options?: HistogramObserverOptions) {
    super(options, ["bins"], PER_TENSOR);
    this.bins = checkInteger(this.where, "options.bins", this.options.bins, 2048, 1, MOST_BINS);
    this.#histogram = newArray(this.where, Float32Array, this.bins);
  }

  /** How many values fell into each part of minVal to maxVal: float32 of shape [bins]. A copy. */
  get histogram(): Tensor {
    return new Tensor(this.#histogram.slice(), [this.bins]);
  }

  /** @internal */
  protected override get reducesSymmetric(): boolean {
    return true;
  }

  /** @internal */
  protected override *look(where: string, { data, size }: CheckedTensor): Look {
    const name = arrayName(data) as string;
    if (!name.startsWith("Float")) {
      throw typeError(
        "ZP_INVALID_TENSOR",
        where,
        `x must hold floats, as PyTorch counts no integers, got data of type ${name}; ` +
          `tensor(…) makes floats of them`,
      );
    }
    if (size === 0) return;
    const counts = oneSlice(size);
    const ranges = { kind: "ranges", counts, passes: 2 } as const;
    let range = (yield { ...ranges, nonFinite: "keep" }) as Float32Array;
    this.#checkCountable(where, range);
    if (!range.every(Number.isFinite)) {
      range = (yield { ...ranges, nonFinite: "ignore" }) as Float32Array;
      if (range[0] > range[1]) return;
    }
    let held: Float32Array;
    let joint: Float32Array;
    let batch: Uint32Array;
    do {
      held = this.ranges;
      joint = Float32Array.of(Math.min(range[0], held[0]), Math.max(range[1], held[1]));
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
      const wanted = { kind: "counts", range: { min, max }, bins: this.bins, passes: 1 } as const;
      batch = (yield wanted) as Uint32Array;
      // Another batch may have come while this one was counted elsewhere.
    } while (held !== this.ranges);
    this.#histogram = this.#join(where, batch, joint);
    this.ranges = joint;
  }

  /** Refuses a batch whose range says that it cannot be counted. */
  #checkCountable(where: string, range: Float32Array): void {
    const holdsNaN = Number.isNaN(range[0]);
    if (holdsNaN || Number.isNaN(this.ranges[0])) {
      // As in PyTorch, which stores the range before it finds that it cannot count.
      if (this.compat && this.isUnobserved) this.ranges = range;
      throw rangeError(
        "ZP_NON_FINITE",
        where,
        `${holdsNaN ? "x" : "a batch before x"} must not hold NaN, which has no place in a ` +
          `histogram`,
      );
    }
    this.checkFiniteRanges(where, range);
  }

  /** The histogram held and the counts of a batch, which are spread over the joint range already. */
  #join(where: string, counts: Uint32Array, joint: Float32Array): Float32Array {
    const { memory, module } = this.core;
    const { bins } = this;
    const joined = newArray(where, Float32Array, bins);
    const [countsAt, batchAt, heldAt, scratchAt] = memory.layOut(
      where,
      4 * bins,
      4 * bins,
      4 * bins,
      scratchBytes(bins),
    );
    try {
      memory.write("Uint32Array", countsAt, counts);
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
        this.ranges[0],
        this.ranges[1],
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
   * The part of minVal to maxVal that `calculateQParams` lays onto codes.
   *
   * Source: HistogramObserver._non_linear_param_search.
   *
   * @returns float32 values; Infinity and -Infinity before any batch
   */
  searchRange(): ValueRange {
    const where = `${this.where}.searchRange`;
    const { memory, module } = this.core;
    const { bins } = this;
    const [min, max] = this.ranges;
    if (this.isUnobserved) return { min, max };
    // All that the dtype has, whatever the quant range is: 2 ** torch.iinfo(dtype).bits.
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
   * Scale and zero point that fit the range which quantizes the histogram best; see `searchRange`, and
   * `MinMaxObserver` for what is made of a range.
   * @returns scale and zero point of shape [1]
   * @throws {RangeError} `ZP_NON_FINITE` if float32 cannot hold the width of the range
   */
  override calculateQParams(): ObservedQParams {
    const { min, max } = this.searchRange();
    return this.chooseFor(Float32Array.of(min, max));
  }

  override reset(): void {
    super.reset();
    this.#histogram = newArray(this.where, Float32Array, this.bins);
  }

  protected override saveState(): Record<string, unknown> {
    return { ...super.saveState(), histogram: toJSONNumbers(this.#histogram) };
  }

  protected override restoreState(where: string, state: Record<string, unknown>): void {
    const { histogram } = state;
    const counts = fromJSONNumbers(where, "json.state.histogram", histogram, this.bins);
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

/** What the core needs beside a histogram to merge and to search it. */
function scratchBytes(bins: number): number {
  return 4 * (2 * bins + 1);
}
