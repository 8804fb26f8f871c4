// A memory between arrays of JavaScript and memory that threads share.
//
// Engines copy arrays into and out of shared memory word by word, at half the speed of other memory or
// less. WebAssembly itself copies shared memory as fast as any, and a module may have two memories: so
// values go to one that nobody shares, and from there to the heap, or the other way.

import { type NumberArray, setArray, subarrayOf } from "./arrays.js";
import { bytesIn, type ElementType, Views } from "./memory.js";
import type { WasmMemory } from "./platform.js";

/** As much as stays in the processor's cache beside what it is copied from and to. */
const PAGES = 2;
const CAPACITY = PAGES * 65536;

/**
 * (import "" "h" (memory $heap 0 65536 shared))
 * (memory $staging (export "m") PAGES PAGES)
 * (func (export "w") (param $to i32) (param $bytes i32)
 *   (memory.copy $heap $staging (local.get $to) (i32.const 0) (local.get $bytes)))
 * (func (export "r") (param $from i32) (param $bytes i32)
 *   (memory.copy $staging $heap (i32.const 0) (local.get $from) (local.get $bytes)))
 */
const MODULE = [
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00], // "\0asm", version 1
  ...[0x01, 0x06, 0x01, 0x60, 0x02, 0x7f, 0x7f, 0x00], // type section: (i32, i32) -> ()
  ...[0x02, 0x0a, 0x01, 0x00, 0x01, 0x68, 0x02, 0x03, 0x00, 0x80, 0x80, 0x04], // import section
  ...[0x03, 0x03, 0x02, 0x00, 0x00], // function section: two of that type
  ...[0x05, 0x04, 0x01, 0x01, PAGES, PAGES], // memory section
  ...[0x07, 0x0d, 0x03], // export section: a memory and two functions
  ...[0x01, 0x6d, 0x02, 0x01, 0x01, 0x77, 0x00, 0x00, 0x01, 0x72, 0x00, 0x01],
  ...[0x0a, 0x1b, 0x02], // code section: two bodies of 12 bytes, no locals
  ...[0x0c, 0x00, 0x20, 0x00, 0x41, 0x00, 0x20, 0x01, 0xfc, 0x0a, 0x00, 0x01, 0x0b],
  ...[0x0c, 0x00, 0x41, 0x00, 0x20, 0x00, 0x20, 0x01, 0xfc, 0x0a, 0x01, 0x00, 0x0b],
];

interface Exports {
  readonly m: WasmMemory;
  /** Writes so many bytes to an address of the heap. */
  w(to: number, bytes: number): void;
  /** Reads so many bytes from an address of the heap. */
  r(from: number, bytes: number): void;
}

/** Copies by way of a staging memory. */
export class Staging {
  readonly #exports: Exports;
  readonly #views: Views;

  /** @throws {Error} where an engine knows one memory a module only */
  constructor(heap: WasmMemory) {
    const module = new WebAssembly.Module(new Uint8Array(MODULE));
    const { exports } = new WebAssembly.Instance(module, { "": { h: heap } });
    this.#exports = exports as unknown as Exports;
    this.#views = new Views(this.#exports.m.buffer);
  }

  /** Copies all of an array, of so many values, to an address of the heap, converted to `type`. */
  write(type: ElementType, to: number, values: NumberArray, count: number): void {
    const most = CAPACITY / bytesIn(type, 1);
    for (let at = 0; at < count; at += most) {
      const size = Math.min(most, count - at);
      const part = size === count ? values : subarrayOf(values, at, at + size);
      setArray(this.#views.whole[type], part, 0);
      this.#exports.w(to + bytesIn(type, at), bytesIn(type, size));
    }
  }

  /** Copies so many values from an address of the heap to the beginning of an array of that type. */
  read(type: ElementType, from: number, out: NumberArray, count: number): void {
    const most = CAPACITY / bytesIn(type, 1);
    for (let at = 0; at < count; at += most) {
      const size = Math.min(most, count - at);
      this.#exports.r(from + bytesIn(type, at), bytesIn(type, size));
      setArray(out, this.#views.part(type, 0, size), at);
    }
  }
}
