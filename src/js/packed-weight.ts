// A weight in the core's memory, packed as its kernels read it, and the bias that goes with it.

import type { NumberArray } from "./arrays.js";
import type { Core } from "./build.js";
import type { MainModule } from "./core/baseline.js";
import { DTYPES, type DType } from "./dtype.js";
import { refused, typeError } from "./errors.js";
import { aligned, type Block, bytesIn, type Memory } from "./memory.js";

/** Numbers that are only read. */
export type Numbers = NumberArray | readonly number[];

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
  readonly scales: Numbers;
  readonly zeroPoints: Numbers;
}

/** Core memory that an object owns. */
interface Owned {
  readonly memory: Memory;
  readonly block: Block;
}

const abandoned = /* @__PURE__ */ new FinalizationRegistry<Owned>(({ memory, block }) => {
  memory.release(block);
});

/**
 * A packed weight. Its memory is freed by `dispose()`, or some time after the object has become
 * garbage.
 */
export class PackedWeight {
  readonly outFeatures: number;
  readonly inFeatures: number;
  /** Where in the heap the packed weight is. */
  readonly at: number;
  /** Where its bias is, of four bytes for each output; 0 if there is none. */
  readonly biasAt: number;
  readonly #core: Core;
  #owned: Owned | undefined;
  #rows = -1;
  #scratchBytes = 0;

  /** @param bias  float32 values, one for each output */
  constructor(core: Core, where: string, weight: WeightCodes, bias: Numbers | undefined) {
    const { memory, module } = core;
    const { outFeatures, inFeatures, dtype, codes, granularity, groupSize } = weight;
    const { scales, zeroPoints } = weight;
    const count = scales.length;
    const size = module.packedWeightSize(dtype, outFeatures, inFeatures, granularity, groupSize);
    if (size === 0) throw refused(where, "kSizeOverflow");
    const biasBytes = bias === undefined ? 0 : 4 * outFeatures;
    const block = memory.allocate(where, aligned(size) + biasBytes);
    try {
      const type = DTYPES[dtype].arrayName;
      const codesAt = memory.place(bytesIn(type, outFeatures * inFeatures));
      const scalesAt = memory.place(4 * count);
      const zeroPointsAt = memory.place(4 * count);
      const base = memory.commit(where);
      try {
        memory.copyIn(where, type, base + codesAt, codes, outFeatures * inFeatures);
        memory.write("Float32Array", base + scalesAt, scales);
        memory.write("Int32Array", base + zeroPointsAt, zeroPoints);
        const status = module.packWeight(
          base + codesAt,
          dtype,
          outFeatures,
          inFeatures,
          granularity,
          groupSize,
          base + scalesAt,
          base + zeroPointsAt,
          count,
          block.base,
        );
        if (status !== "kOk") throw refused(where, status);
      } finally {
        memory.end();
      }
      if (bias !== undefined) {
        const biasAt = block.base + aligned(size);
        if (Array.isArray(bias)) memory.write("Float32Array", biasAt, bias);
        else memory.copyIn(where, "Float32Array", biasAt, bias as NumberArray, outFeatures);
      }
    } catch (error) {
      memory.release(block);
      throw error;
    }
    this.#core = core;
    this.outFeatures = outFeatures;
    this.inFeatures = inFeatures;
    this.at = block.base;
    this.biasAt = bias === undefined ? 0 : block.base + aligned(size);
    this.#owned = { memory, block };
    abandoned.register(this, this.#owned, this);
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
    throw typeError("ZP_DISPOSED", `${where}: the layer is disposed and cannot be used any more`);
  }

  /** Frees the memory; a second time it does nothing. */
  dispose(): void {
    if (this.#owned === undefined) return;
    const { memory, block } = this.#owned;
    this.#owned = undefined;
    abandoned.unregister(this);
    memory.release(block);
  }
}
