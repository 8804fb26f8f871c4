// A weight in the core's memory, packed in the layout of its kernels, with its bias.

import { DTYPES, type DType } from "../base/dtype.js";
import { checkStatus, rangeError, typeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import type { NumberArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { aligned, type Memory } from "../core/memory.js";
import { bytesIn } from "../core/views.js";
import type { MainModule } from "../wasm/baseline.js";

/** A read-only list of numbers. */
type NumberList = NumberArray | readonly number[];

/** A checked weight of shape [outFeatures, inFeatures], 2 to 8 bits. */
export interface WeightCodes {
  readonly outFeatures: number;
  readonly inFeatures: number;
  readonly dtype: DType;
  /** One code per byte. */
  readonly codes: NumberArray;
  readonly granularity: Parameters<MainModule["packWeight"]>[4];
  /** For "perGroup"; 0 otherwise. */
  readonly groupSize: number;
  readonly scales: NumberList;
  readonly zeroPoints: NumberList;
}

/** Core memory that an object owns. */
interface Owned {
  readonly memory: Memory;
  readonly block: number;
}

/** A packed weight in the heap: its offset and that of its bias (0 without a bias). */
interface Placed {
  readonly block: number;
  readonly biasAt: number;
}

function free({ memory, block }: Owned): void {
  memory.release(block);
}

const abandoned = /* @__PURE__ */ new FinalizationRegistry<Owned>(free);

/** Packs a weight. */
function pack(
  core: Core,
  where: string,
  weight: WeightCodes,
  bias: NumberList | undefined,
): Placed {
  const { memory, module } = core;
  const { outFeatures, inFeatures, dtype, codes, granularity, groupSize } = weight;
  const { scales, zeroPoints } = weight;
  const values = outFeatures * inFeatures;
  const count = scales.length;
  const size = module.packedWeightSize(dtype, outFeatures, inFeatures, granularity, groupSize);
  if (size === 0) {
    throw rangeError(
      "ZP_SIZE_OVERFLOW",
      where,
      "weight must fit into 4 GiB once it is packed, in panels of eight rows, got shape " +
        showShape([outFeatures, inFeatures]),
    );
  }
  const biasOffset = bias === undefined ? 0 : aligned(size);
  const bytes = aligned(size) + (bias === undefined ? 0 : 4 * outFeatures);
  const block = memory.allocate(where, bytes);
  try {
    const type = DTYPES[dtype].arrayName;
    const [codesAt, scalesAt, zeroPointsAt] = memory.layOut(
      where,
      bytesIn(type, values),
      4 * count,
      4 * count,
    );
    memory.copyIn(where, type, codesAt, codes, values);
    memory.write("Float32Array", scalesAt, scales);
    memory.write("Int32Array", zeroPointsAt, zeroPoints);
    const status = module.packWeight(
      codesAt,
      dtype,
      outFeatures,
      inFeatures,
      granularity,
      groupSize,
      scalesAt,
      zeroPointsAt,
      count,
      block,
    );
    checkStatus(where, status);
    if (bias !== undefined) {
      const biasAt = block + biasOffset;
      if (Array.isArray(bias)) memory.write("Float32Array", biasAt, bias);
      else memory.copyIn(where, "Float32Array", biasAt, bias as NumberArray, outFeatures);
    }
  } catch (error) {
    memory.release(block);
    throw error;
  } finally {
    memory.end();
  }
  return { block, biasAt: bias === undefined ? 0 : block + biasOffset };
}

/**
 * A packed weight. Its memory is freed by `dispose()`, or some time after the object becomes
 * garbage.
 */
export class PackedWeight {
  declare readonly outFeatures: number;
  declare readonly inFeatures: number;
  /** Heap offset of the packed weight. */
  declare readonly at: number;
  /** Heap offset of the bias, four bytes per output; 0 without a bias. */
  declare readonly biasAt: number;
  readonly #core: Core;
  #owned: Owned | undefined;
  #rows = -1;
  #scratchBytes = 0;

  /** @param bias  float32 values, one for each output */
  constructor(core: Core, where: string, weight: WeightCodes, bias?: NumberList) {
    const { block, biasAt } = pack(core, where, weight, bias);
    this.#core = core;
    this.outFeatures = weight.outFeatures;
    this.inFeatures = weight.inFeatures;
    this.at = block;
    this.biasAt = biasAt;
    this.#owned = { memory: core.memory, block };
    abandoned.register(this, this.#owned, this);
  }

  /** Scratch bytes that the core needs for `rows` rows of input. */
  scratchBytes(rows: number): number {
    if (rows !== this.#rows) {
      this.#scratchBytes = this.#core.module.linearScratchSize(this.at, rows);
      this.#rows = rows;
    }
    return this.#scratchBytes;
  }

  /** @throws {TypeError} `ZP_DISPOSED` */
  checkAlive(where: string): void {
    if (this.#owned !== undefined) return;
    throw typeError("ZP_DISPOSED", where, "the layer is disposed and cannot be used any more");
  }

  /** Frees the memory. A second call does nothing. */
  dispose(): void {
    if (this.#owned === undefined) return;
    const owned = this.#owned;
    this.#owned = undefined;
    abandoned.unregister(this);
    free(owned);
  }
}
