// The core's heap: copies in and out. No view of it leaves this file.
//
// A call lays out its buffers in one scratch block, runs, and copies its results out:
//
//   const { memory } = core;
//   const [xAt, outAt] = memory.layOut("quantize", 4 * n, n);   // throws if there is no room
//   try { … memory.copyIn(…, xAt, values) … } finally { memory.end(); }
//
// Nothing that a user wrote may run between layOut(), or reserve(), and end(): another call would take
// the block. Hence all copies run on intrinsics: an overridden `set` or `subarray` is never asked, and
// so never sees a view of the heap either.

import {
  ARRAYS,
  arrayLength,
  arrayName,
  checkStillThere,
  type NumberArray,
  setArray,
} from "./arrays.js";
import type { MainModule } from "./core/baseline.js";
import { rangeError } from "./errors.js";
import type { Staging } from "./staging.js";

/** One compiled build of the core, as its bindings present it. */
export type CoreModule = MainModule;

/** Every buffer starts at a multiple of this, as the core's blocks do, so that vectors load aligned. */
const ALIGNMENT = 16;
/** The smallest scratch block. */
const SMALLEST = 64 * 1024;
/** A larger scratch block is given back when the call that needed it is over. */
const LARGEST_KEPT = 16 * 1024 * 1024;
/** So many bytes are copied by way of a staging memory, where there is one. */
const STAGED = 4 * 1024;
/** What a 32-bit heap can address. */
const ADDRESS_SPACE = 2 ** 32;

/** The next multiple of the alignment, a power of two. */
export function aligned(bytes: number): number {
  return bytes + (-bytes & (ALIGNMENT - 1));
}

/** The element types that cross between JavaScript and the heap. */
export type ElementType = keyof typeof ARRAYS;

/** Views of all of a memory, one for each element type. */
type Whole = { readonly [T in ElementType]: InstanceType<(typeof ARRAYS)[T]> };

function wholeOf(buffer: ArrayBufferLike): Whole {
  const views = Object.entries(ARRAYS).map(([type, View]) => [
    type,
    new View(buffer as ArrayBuffer),
  ]);
  return Object.fromEntries(views) as Whole;
}

/** A memory as typed arrays. */
export class Views {
  declare readonly buffer: ArrayBufferLike;
  declare readonly whole: Whole;
  /** The part that was asked for last, and of what: it is never asked, for somebody may answer for it. */
  #part: Whole[ElementType] | undefined;
  #type: ElementType | undefined;
  #offset = 0;
  #count = 0;

  constructor(buffer: ArrayBufferLike) {
    this.buffer = buffer;
    this.whole = wholeOf(buffer);
  }

  /** So many elements. A layer in a loop reads the same place again and again, and makes no garbage. */
  part(type: ElementType, offset: number, count: number): Whole[ElementType] {
    let part = this.#part;
    if (
      part === undefined ||
      this.#type !== type ||
      this.#offset !== offset ||
      this.#count !== count
    ) {
      part = new ARRAYS[type](this.buffer as ArrayBuffer, offset, count);
      this.#part = part;
      this.#type = type;
      this.#offset = offset;
      this.#count = count;
    }
    return part;
  }
}

/** Spelled out: engines look up a number sooner than what they ask a constructor for. */
const ELEMENT_BYTES: { readonly [T in ElementType]: number } = {
  Int8Array: 1,
  Uint8Array: 1,
  Int16Array: 2,
  Uint16Array: 2,
  Int32Array: 4,
  Uint32Array: 4,
  Float32Array: 4,
  Float64Array: 8,
};

/** Bytes that so many elements take in the heap. */
export function bytesIn(type: ElementType, count: number): number {
  return ELEMENT_BYTES[type] * count;
}

/** The scratch block of one core, and the copies to and from its heap. */
export class Memory {
  readonly #module: CoreModule;
  #views: Views;
  /** Where the block is; 0 without one. */
  #block = 0;
  #capacity = 0;
  /** By which way much is copied, if not directly. */
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
   * Begins a call: makes the block large enough for so many bytes.
   * @returns where in the heap it is
   * @throws {RangeError} `ZP_OUT_OF_MEMORY`
   */
  reserve(where: string, bytes: number): number {
    return this.#block !== 0 && bytes <= this.#capacity ? this.#block : this.#grow(where, bytes);
  }

  /**
   * The same for buffers of so many bytes each, one after the other.
   * @returns where in the heap they are
   */
  layOut(where: string, ...sizes: number[]): number[] {
    // In place, for this runs in every call, however small.
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

  /** Ends a call: a block larger than worth keeping goes back to the heap. */
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

  /** An address; 0 if there is no room. */
  #tryAllocate(bytes: number): number {
    const address = bytes < ADDRESS_SPACE ? this.#module.allocate(bytes) : 0;
    this.#renew();
    return address;
  }

  /** Whether the block of a call is still this one's: if not, the call has to run again, see `abandon`. */
  holds(block: number): boolean {
    return this.#block === block;
  }

  /**
   * Never uses the present block again, nor anybody else: it may yet be written to, also by what the
   * call computed before.
   */
  abandon(): void {
    this.#block = 0;
    this.#capacity = 0;
  }

  /**
   * Memory that stays until `release`: where in the heap it is.
   * @throws {RangeError} `ZP_OUT_OF_MEMORY`
   */
  allocate(where: string, bytes: number): number {
    const address = this.#tryAllocate(bytes);
    if (address === 0) throw outOfMemory(where, bytes);
    return address;
  }

  /** Gives back what `allocate` gave. */
  release(address: number): void {
    this.#module.release(address);
  }

  /**
   * The views, fetched again if the heap has grown since: that leaves them without memory. Shared
   * memory grows in place, and they then lack only what `#tryAllocate` may give next.
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
    if (this.staging !== undefined && bytesIn(type, count) >= STAGED) {
      this.staging.write(type, offset, values, count);
    } else {
      setArray(this.#current().whole[type], values, offset / ELEMENT_BYTES[type]);
    }
  }

  /** Copies numbers of this library's own in, converted to `type` as typed arrays convert. */
  write(type: ElementType, offset: number, values: NumberArray | readonly number[]): void {
    const start = offset / ELEMENT_BYTES[type];
    if (!Array.isArray(values)) {
      this.#put(type, offset, values as NumberArray, arrayLength(values));
    } else if (type === "Uint32Array") {
      // Shapes, in every call: a loop over one type of array is many times as fast as over all.
      const view = this.#current().whole.Uint32Array;
      for (let i = 0; i < values.length; i++) view[start + i] = values[i];
    } else {
      const view = this.#current().whole[type];
      for (let i = 0; i < values.length; i++) view[start + i] = values[i];
    }
  }

  /**
   * Copies an array of the user's in, converted to `type` as typed arrays convert.
   * @param size  how many values it had when it was checked
   * @throws {TypeError} `ZP_DETACHED` if it has more or fewer by now
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
