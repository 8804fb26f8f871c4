// The core's heap: copies in and out. No view of it leaves this file.
//
// A call lays out its buffers in one scratch block, runs, and copies its results out:
//
//   const { memory } = core;
//   const [xAt, outAt] = memory.layOut("quantize", 4 * n, n);   // throws if there is no room
//   try { … memory.copyIn(…, xAt, values) … } finally { memory.end(); }
//
// No user code may run between layOut() or reserve() and end(): a nested call would overwrite the block.
// Hence all copies use intrinsics: an overridden `set` or `subarray` is never called, and never receives a
// view of the heap.

import { rangeError } from "../base/errors.js";
import { Halves } from "../base/halves.js";
import {
  arrayLength,
  arrayName,
  checkStillThere,
  type NumberArray,
  setArray,
} from "../base/typed-arrays.js";
import type { CoreModule } from "./bindings.js";
import type { Staging } from "./threads/staging.js";
import { bytesIn, ELEMENT_BYTES, type ElementType, Views } from "./views.js";

export type { CoreModule };

/** Every buffer starts at a multiple of this, as the core's blocks do, so that vectors load aligned. */
const ALIGNMENT = 16;
/** The smallest scratch block. */
const SMALLEST = 64 * 1024;
/** A larger scratch block is released at the end of its call. */
const LARGEST_KEPT = 16 * 1024 * 1024;
/** Copies of at least this many bytes use the staging memory, if present. */
const STAGED = 4 * 1024;
/** The address space of a 32-bit heap. */
const ADDRESS_SPACE = 2 ** 32;

/** The next multiple of the alignment, a power of two. */
export function aligned(bytes: number): number {
  return bytes + (-bytes & (ALIGNMENT - 1));
}

/** The scratch block of one core, and the copies to and from its heap. */
export class Memory {
  readonly #module: CoreModule;
  #views: Views;
  /** Heap offset of the block; 0 without a block. */
  #block = 0;
  #capacity = 0;
  /** Staging memory for large copies, if any. */
  staging: Staging | undefined;

  constructor(module: CoreModule) {
    this.#module = module;
    this.#views = new Views(module.HEAPU8.buffer);
  }

  /** Bytes of the scratch block at present. */
  get capacity(): number {
    return this.#capacity;
  }

  /**
   * Begins a call: makes the block large enough for `bytes` bytes.
   * @returns its heap offset
   * @throws {RangeError} `ZP_OUT_OF_MEMORY`
   */
  reserve(where: string, bytes: number): number {
    return this.#block !== 0 && bytes <= this.#capacity && bytes === bytes >>> 0
      ? this.#block
      : this.#grow(where, bytes);
  }

  /**
   * Begins a call: reserves consecutive buffers of the given sizes in the block.
   * @returns their heap offsets
   */
  layOut(where: string, ...sizes: number[]): number[] {
    // Reuses the list of sizes: this runs in every call, also for small tensors.
    let end = 0;
    for (let i = 0; i < sizes.length; i++) {
      const at = end;
      end += aligned(sizes[i]);
      sizes[i] = at;
    }
    const block = this.reserve(where, end);
    for (let i = 0; i < sizes.length; i++) sizes[i] += block;
    return sizes;
  }

  /** Ends a call: releases a block larger than LARGEST_KEPT. */
  end(): void {
    if (this.#capacity > LARGEST_KEPT) this.#drop();
  }

  #grow(where: string, needed: number): number {
    const doubled = Math.min(2 * this.#capacity, LARGEST_KEPT);
    this.#drop();
    for (const bytes of [Math.max(needed, doubled, SMALLEST), needed]) {
      this.#block = this.#tryAllocate(bytes);
      if (this.#block === 0) continue;
      this.#capacity = bytes;
      return this.#block;
    }
    throw outOfMemory(where, needed);
  }

  #drop(): void {
    if (this.#block !== 0) this.release(this.#block);
    this.abandon();
  }

  /** The address of a new block; 0 if memory is exhausted. */
  #tryAllocate(bytes: number): number {
    const isSize = Number.isInteger(bytes) && bytes >= 0 && bytes < ADDRESS_SPACE;
    const address = isSize ? this.#module.allocate(bytes) : 0;
    this.#renew();
    return address;
  }

  /** Whether a call's block is still in use here; if not, the call must be repeated, see `abandon`. */
  holds(block: number): boolean {
    return this.#block === block;
  }

  /**
   * Abandons the present block without release, so that it is never reused: a lost worker may still
   * write to it.
   */
  abandon(): void {
    this.#block = 0;
    this.#capacity = 0;
  }

  /**
   * Allocates memory that stays until `release`. @returns its heap offset
   * @throws {RangeError} `ZP_OUT_OF_MEMORY`
   */
  allocate(where: string, bytes: number): number {
    const address = this.#tryAllocate(bytes);
    if (address === 0) throw outOfMemory(where, bytes);
    return address;
  }

  /** Frees memory from `allocate`. */
  release(address: number): void {
    this.#module.release(address);
  }

  /**
   * The views of the heap, renewed if growth has detached them. Shared memory grows in place: its views
   * stay valid, and `#tryAllocate` renews them for blocks beyond their end.
   */
  #current(): Views {
    return this.#views.whole.Uint8Array.length === 0 ? this.#renew() : this.#views;
  }

  #renew(): Views {
    const { buffer } = this.#module.HEAPU8;
    if (this.#views.buffer !== buffer) this.#views = new Views(buffer);
    return this.#views;
  }

  #put(type: ElementType, offset: number, values: NumberArray, count: number): void {
    const half = type === "Float32Array" ? Halves.typeOf(values) : undefined;
    if (half !== undefined) {
      // Bits go into the second half of the buffer, and are converted in place.
      const from = offset + 2 * count;
      this.#put("Uint16Array", from, values, count);
      this.#module.toFloat32(from, count, half, offset);
    } else if (this.staging !== undefined && bytesIn(type, count) >= STAGED) {
      this.staging.write(type, offset, values, count);
    } else {
      setArray(this.#current().whole[type], values, offset / ELEMENT_BYTES[type]);
    }
  }

  /** Copies the library's own numbers in, converted to `type` as typed arrays convert. */
  write(type: ElementType, offset: number, values: NumberArray | readonly number[]): void {
    const start = offset / ELEMENT_BYTES[type];
    if (!Array.isArray(values)) {
      this.#put(type, offset, values as NumberArray, arrayLength(values));
    } else if (type === "Uint32Array") {
      // For shapes, in every call: a loop over one array type is many times as fast as a generic one.
      const view = this.#current().whole.Uint32Array;
      for (let i = 0; i < values.length; i++) view[start + i] = values[i];
    } else {
      const view = this.#current().whole[type];
      for (let i = 0; i < values.length; i++) view[start + i] = values[i];
    }
  }

  /**
   * Copies a user's array in, converted to `type` as typed arrays convert. The array must not grow during
   * the copy: see `pinned`.
   * @param size  the number of values at the time of the check
   * @throws {TypeError} `ZP_DETACHED` if the number has changed since
   */
  copyIn(
    where: string,
    type: ElementType,
    offset: number,
    values: NumberArray,
    size: number,
  ): void {
    checkStillThere(where, values, size);
    this.#put(type, offset, values, size);
  }

  /** Copies bytes within the heap. */
  copyWithin(to: number, from: number, bytes: number): void {
    this.#current().whole.Uint8Array.copyWithin(to, from, from + bytes);
  }

  /** Writes one number. */
  writeOne(type: ElementType, offset: number, value: number): void {
    const views = this.#current().whole;
    if (type === "Float32Array") views.Float32Array[offset / 4] = value;
    else if (type === "Int32Array") views.Int32Array[offset / 4] = value;
    else views[type][offset / ELEMENT_BYTES[type]] = value;
  }

  /** Reads one number. */
  readOne(type: ElementType, offset: number): number {
    const views = this.#current().whole;
    if (type === "Float64Array") return views.Float64Array[offset / 8];
    if (type === "Int32Array") return views.Int32Array[offset / 4];
    return views[type][offset / ELEMENT_BYTES[type]];
  }

  /**
   * Copies numbers out.
   * @param count  how many; more than `out` had when it was checked are never copied, even if another
   *   thread has let it grow since
   */
  read(offset: number, out: NumberArray, count: number = arrayLength(out)): void {
    const type = arrayName(out) as ElementType;
    if (this.staging !== undefined && bytesIn(type, count) >= STAGED) {
      this.staging.read(type, offset, out, count);
    } else {
      setArray(out, this.#current().part(type, offset, count), 0);
    }
  }
}

function outOfMemory(where: string, bytes: number): Error {
  return rangeError(
    "ZP_OUT_OF_MEMORY",
    where,
    `the core needs ${bytes} bytes (${(bytes / 2 ** 20).toFixed(1)} MiB) for this call, ` +
      `more than it can have`,
  );
}
