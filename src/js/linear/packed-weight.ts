// A weight in the core's memory, packed in the layout of its kernels, with its bias.

import { type Codes, DTYPES } from "../base/dtype.js";
import { checkStatus, rangeError, typeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import {
  codesArray,
  type NumberArray,
  newArray,
  setArray,
  subarrayOf,
} from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { aligned, type Memory } from "../core/memory.js";
import { bytesIn } from "../core/views.js";
import { TILE } from "../tensor/tiles.js";
import type { NumberList, WeightLayout } from "./weight.js";
import {
  GrowingList,
  isShared,
  partOf,
  shiftOf,
  type WeightRows,
  type WeightShift,
} from "./weight-rows.js";

/** Outputs of a panel: rows are packed from a multiple of this on. */
const PANEL = 8;

/** Core memory that an object owns. */
interface Owned {
  readonly memory: Memory;
  block: number;
}

function free({ memory, block }: Owned): void {
  memory.release(block);
}

const abandoned = /* @__PURE__ */ new FinalizationRegistry<Owned>(free);

/** Bytes of a packed weight with room for `capacity` rows. */
function packedBytes(
  { module }: Core,
  where: string,
  { dtype, inFeatures, granularity, groupSize }: WeightLayout,
  capacity: number,
): number {
  const bytes = module.packedWeightSize(dtype, capacity, inFeatures, granularity, groupSize);
  if (bytes > 0) return bytes;
  throw rangeError(
    "ZP_SIZE_OVERFLOW",
    where,
    "weight must fit into 4 GiB once it is packed, in panels of eight rows, got shape " +
      showShape([capacity, inFeatures]),
  );
}

/** A block for a packed weight, and its bias. */
interface Placed {
  /** Heap offset. */
  readonly block: number;
  /** Heap offset of the bias; 0 without a bias. */
  readonly biasAt: number;
  /** The number of rows that it has room for. */
  readonly capacity: number;
  /** The addends of codes that it has room for. */
  readonly shift: WeightShift;
}

/** Allocates a block for a weight, without rows. */
function begin(
  core: Core,
  where: string,
  layout: WeightLayout,
  capacity: number,
  shift: WeightShift,
  hasBias: boolean,
): Placed {
  const { memory, module } = core;
  const { dtype, inFeatures, granularity, groupSize } = layout;
  const size = aligned(packedBytes(core, where, layout, capacity));
  const block = memory.allocate(where, size + (hasBias ? 4 * capacity : 0));
  const biasAt = hasBias ? block + size : 0;
  // The shape is the one that packedBytes has checked.
  module.beginWeight(dtype, capacity, inFeatures, granularity, groupSize, shift, block);
  return { block, biasAt, capacity, shift };
}

function writeBias(
  { memory }: Core,
  where: string,
  at: number,
  bias: NumberList,
  count: number,
): void {
  if (Array.isArray(bias)) memory.write("Float32Array", at, bias);
  else memory.copyIn(where, "Float32Array", at, bias as NumberArray, count);
}

/**
 * Packs the rows of a weight from `first` on, a tile at a time: the heap holds the packed weight and one
 * tile, never all codes.
 * @param placed  the weight's place; the rows before `first` are packed
 */
function packRows(
  core: Core,
  where: string,
  weight: WeightRows,
  first: number,
  { block, shift }: Placed,
): void {
  const { memory, module } = core;
  const { outFeatures, inFeatures, dtype, granularity, groupSize } = weight;
  const type = DTYPES[dtype].arrayName;
  const most = Math.max(PANEL, Math.floor(TILE / Math.max(inFeatures, 1) / PANEL) * PANEL);
  for (let row = first; row < outFeatures; row += most) {
    const rows = Math.min(most, outFeatures - row);
    const size = rows * inFeatures;
    const codes = weight.rows(row, rows);
    const scales = partOf(weight, weight.scales, row, rows);
    const zeroPoints = partOf(weight, weight.zeroPoints, row, rows);
    const count = scales.length;
    const [codesAt, scalesAt, zeroPointsAt] = memory.layOut(
      where,
      bytesIn(type, size),
      4 * count,
      4 * count,
    );
    try {
      memory.copyIn(where, type, codesAt, codes, size);
      memory.write("Float32Array", scalesAt, scales);
      memory.write(shift === "offsets" ? "Float32Array" : "Int32Array", zeroPointsAt, zeroPoints);
      const status = module.packRows(
        codesAt,
        dtype,
        row,
        rows,
        granularity,
        groupSize,
        scalesAt,
        zeroPointsAt,
        count,
        shift,
        block,
      );
      checkStatus(where, status);
    } finally {
      memory.end();
    }
  }
}

/**
 * A packed weight. Its memory is freed by `dispose()`, or some time after the object becomes
 * garbage.
 */
export class PackedWeight {
  declare readonly core: Core;
  #layout: WeightLayout;
  readonly #scales: GrowingList;
  readonly #zeroPoints: GrowingList;
  #placed: Placed;
  #owned: Owned | undefined;
  #rows = -1;
  #scratchBytes = 0;

  /** @param bias  float32 values, one for each output */
  constructor(core: Core, where: string, weight: WeightRows, bias?: NumberList) {
    const { rows: _, ...layout } = weight;
    const { memory } = core;
    // Without the reader of rows, which may hold a float weight.
    this.#layout = layout;
    this.#scales = new GrowingList(layout.scales);
    this.#zeroPoints = new GrowingList(layout.zeroPoints);
    this.core = core;
    const { outFeatures } = weight;
    this.#placed = begin(core, where, weight, outFeatures, shiftOf(weight), bias !== undefined);
    try {
      packRows(core, where, weight, 0, this.#placed);
      if (bias !== undefined) writeBias(core, where, this.biasAt, bias, outFeatures);
    } catch (error) {
      memory.release(this.at);
      throw error;
    }
    this.#owned = { memory, block: this.at };
    abandoned.register(this, this.#owned, this);
  }

  /** The weight without its codes. */
  get layout(): WeightLayout {
    return this.#layout;
  }

  get outFeatures(): number {
    return this.#layout.outFeatures;
  }

  get inFeatures(): number {
    return this.#layout.inFeatures;
  }

  /** Heap offset of the packed weight. */
  get at(): number {
    return this.#placed.block;
  }

  /** Heap offset of the bias, four bytes per output; 0 without a bias. */
  get biasAt(): number {
    return this.#placed.biasAt;
  }

  /** The codes of `count` rows from `first` on. */
  codes(where: string, first: number, count: number): Codes {
    const { memory, module } = this.core;
    const { inFeatures, dtype } = this.#layout;
    const out = newArray(where, codesArray(dtype), count * inFeatures) as Codes;
    const most = Math.max(1, Math.floor(TILE / Math.max(inFeatures, 1)));
    for (let row = 0; row < count; row += most) {
      const rows = Math.min(most, count - row);
      const [codesAt] = memory.layOut(where, rows * inFeatures);
      try {
        checkStatus(where, module.unpackRows(this.at, first + row, rows, codesAt));
        const start = row * inFeatures;
        memory.read(codesAt, subarrayOf(out, start, start + rows * inFeatures));
      } finally {
        memory.end();
      }
    }
    return out;
  }

  /**
   * Appends rows. Costs as much as packing them, and from time to time a copy of the packed weight to a
   * block with an eighth more room. After an error the weight is as before.
   * @param added  of the same inFeatures, dtype, granularity and group size, and with the same scales if
   *   outputs share them
   * @param bias   one value for each appended row, if the weight has a bias
   */
  append(where: string, added: WeightRows, bias: NumberList | undefined): void {
    this.checkAlive(where);
    const core = this.core;
    const { memory, module } = core;
    const layout = this.#layout;
    const before = layout.outFeatures;
    const outFeatures = before + added.outFeatures;
    const scales = isShared(layout) ? undefined : this.#scales.joined(added.scales);
    const zeroPoints = isShared(layout) ? undefined : this.#zeroPoints.joined(added.zeroPoints);
    const whole: WeightRows = {
      ...layout,
      outFeatures,
      scales: scales ?? layout.scales,
      zeroPoints: zeroPoints ?? layout.zeroPoints,
      rows: (first, count) => this.#joinedRows(where, added, first, count),
    };
    const { shift: own, capacity } = this.#placed;
    const shift = own === "none" ? shiftOf(added) : own;
    const moves = outFeatures > capacity || shift !== own;
    const room = Math.max(outFeatures, Math.ceil(before * 1.125));
    const to = moves ? begin(core, where, layout, room, shift, bias !== undefined) : this.#placed;
    try {
      if (moves && shift === own) {
        const size = packedBytes(core, where, layout, room);
        checkStatus(where, module.growWeight(this.at, room, to.block, size));
      }
      // The last panel is packed again if it is not full; all of them if they get zero points.
      const kept = shift === own ? before - (before % PANEL) : 0;
      packRows(core, where, whole, kept, to);
      if (bias !== undefined) {
        if (moves) memory.copyWithin(to.biasAt, this.biasAt, 4 * before);
        writeBias(core, where, to.biasAt + 4 * before, bias, added.outFeatures);
      }
    } catch (error) {
      if (moves) memory.release(to.block);
      else module.keepRows(this.at, before);
      throw error;
    }
    if (moves) {
      memory.release(this.at);
      (this.#owned as Owned).block = to.block;
      this.#placed = to;
    }
    if (scales !== undefined) this.#scales.keep(scales);
    if (zeroPoints !== undefined) this.#zeroPoints.keep(zeroPoints);
    const { rows: _, ...grown } = whole;
    this.#layout = grown;
  }

  /** Rows of this weight and, after them, of another. */
  #joinedRows(where: string, added: WeightRows, first: number, count: number): NumberArray {
    const { outFeatures, inFeatures, dtype } = this.#layout;
    const own = Math.min(Math.max(outFeatures - first, 0), count);
    if (own === 0) return added.rows(first - outFeatures, count);
    const kept = this.codes(where, first, own);
    if (own === count) return kept;
    const all = newArray(where, codesArray(dtype), count * inFeatures) as Codes;
    setArray(all, kept, 0);
    setArray(all, added.rows(0, count - own), own * inFeatures);
    return all;
  }

  /** Scratch bytes that the core needs for `rows` rows of input. */
  scratchBytes(rows: number): number {
    if (rows !== this.#rows) {
      this.#scratchBytes = this.core.module.linearScratchSize(this.at, rows);
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
