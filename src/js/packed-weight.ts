// A weight in the core's memory, packed as its kernels read it, and the bias that goes with it.

import { type NumberArray, newArray } from "./arrays.js";
import { runJob } from "./async/background.js";
import type { MainModule } from "./core/baseline.js";
import type { Core } from "./core.js";
import { DTYPES, type DType } from "./dtype.js";
import { checkStatus, rangeError, typeError } from "./errors.js";
import { aligned, bytesIn, type Memory } from "./memory.js";
import { showShape } from "./show.js";
import { done, type Procedure } from "./work.js";

/** Numbers in a row that are only read. */
export type NumberList = NumberArray | readonly number[];

/** A checked weight of shape [outFeatures, inFeatures], 2 to 8 bits. */
export interface WeightCodes {
  readonly outFeatures: number;
  readonly inFeatures: number;
  readonly dtype: DType;
  /** One a byte. */
  readonly codes: NumberArray;
  readonly granularity: Parameters<MainModule["packWeight"]>[4];
  /** For "perGroup"; otherwise 0. */
  readonly groupSize: number;
  readonly scales: NumberList;
  readonly zeroPoints: NumberList;
}

/** A packed weight and its bias as bytes, for another core of the same build. */
export interface PackedCopy {
  readonly outFeatures: number;
  readonly inFeatures: number;
  readonly bytes: Uint8Array;
  /** Where in the bytes the bias begins; 0 if there is none. */
  readonly biasOffset: number;
}

/** Core memory that an object owns. */
interface Owned {
  readonly memory: Memory;
  readonly block: number;
  /** Has a copy elsewhere forgotten. */
  forget?: () => void;
}

/** Where a packed weight is, how long it is with its bias, and where in it that begins, or 0. */
interface Placed {
  readonly block: number;
  readonly bytes: number;
  readonly biasOffset: number;
}

function free({ memory, block, forget }: Owned): void {
  memory.release(block);
  forget?.();
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
  return { block, bytes, biasOffset };
}

/** Has a weight packed. @param bias  float32 values, one for each output */
export function packing(
  core: Core,
  where: string,
  weight: WeightCodes,
  bias?: NumberArray,
): Procedure<PackedWeight> {
  return done({
    amount: weight.outFeatures * weight.inFeatures,
    here: () => new PackedWeight(core, where, weight, bias),
    away: (own) => runJob(core, where, own, "packWeight", weight, bias),
  });
}

/** Puts a weight that is packed already into a core's memory. */
function paste({ memory }: Core, where: string, { bytes, biasOffset }: PackedCopy): Placed {
  const block = memory.allocate(where, bytes.length);
  memory.write("Uint8Array", block, bytes);
  return { block, bytes: bytes.length, biasOffset };
}

/**
 * A packed weight. Its memory is freed by `dispose()`, or some time after the object has become
 * garbage.
 */
export class PackedWeight {
  declare readonly outFeatures: number;
  declare readonly inFeatures: number;
  /** Where in the heap the packed weight is. */
  declare readonly at: number;
  /** Where its bias is, of four bytes for each output; 0 if there is none. */
  declare readonly biasAt: number;
  readonly #core: Core;
  readonly #bytes: number;
  #owned: Owned | undefined;
  #rows = -1;
  #scratchBytes = 0;

  /** @param bias  float32 values, one for each output; a copy has its own */
  constructor(core: Core, where: string, weight: WeightCodes | PackedCopy, bias?: NumberList) {
    const isCopy = "bytes" in weight;
    const placed = isCopy ? paste(core, where, weight) : pack(core, where, weight, bias);
    const { block, bytes, biasOffset } = placed;
    this.#core = core;
    this.outFeatures = weight.outFeatures;
    this.inFeatures = weight.inFeatures;
    this.at = block;
    this.biasAt = biasOffset === 0 ? 0 : block + biasOffset;
    this.#bytes = bytes;
    this.#owned = { memory: core.memory, block };
    abandoned.register(this, this.#owned, this);
  }

  /**
   * What another core of the same build makes the same weight of.
   * @param forget  called when this weight is freed
   */
  copy(where: string, forget: () => void): PackedCopy {
    this.checkAlive(where);
    const { outFeatures, inFeatures } = this;
    const bytes = newArray(where, Uint8Array, this.#bytes);
    this.#core.memory.read(this.at, bytes);
    (this.#owned as Owned).forget = forget;
    return { outFeatures, inFeatures, bytes, biasOffset: this.biasAt && this.biasAt - this.at };
  }

  /** Bytes that the core needs to work in for so many rows of input. */
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

  /** Frees the memory; a second time it does nothing. */
  dispose(): void {
    if (this.#owned === undefined) return;
    const owned = this.#owned;
    this.#owned = undefined;
    abandoned.unregister(this);
    free(owned);
  }
}
