// A staging memory for copies between JavaScript arrays and shared memory.
//
// Engines copy arrays into and out of shared memory word by word, at half the speed of other memory or
// less. WebAssembly itself copies shared memory at full speed, and a module may have two memories: therefore
// values pass through an unshared memory on their way to the heap and back.

import type { WasmMemory } from "../../base/platform.js";
import { type NumberArray, setArray, subarrayOf } from "../../base/typed-arrays.js";
import { bytesIn, type ElementType, Views } from "../views.js";

/** Size that fits in the processor's cache together with source and target of a copy. */
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
  /** Writes `bytes` bytes to an address of the heap. */
  w(to: number, bytes: number): void;
  /** Reads `bytes` bytes from an address of the heap. */
  r(from: number, bytes: number): void;
}

/** Copies through a staging memory. */
export class Staging {
  readonly #exports: Exports;
  readonly #views: Views;

  /** @throws {Error} in an engine without multiple memories per module */
  constructor(heap: WasmMemory) {
    const module = new WebAssembly.Module(new Uint8Array(MODULE));
    const { exports } = new WebAssembly.Instance(module, { "": { h: heap } });
    this.#exports = exports as unknown as Exports;
    this.#views = new Views(this.#exports.m.buffer);
  }

  /** Copies an array of `count` values to an address of the heap, converted to `type`. */
  write(type: ElementType, to: number, values: NumberArray, count: number): void {
    const most = CAPACITY / bytesIn(type, 1);
    for (let at = 0; at < count; at += most) {
      const size = Math.min(most, count - at);
      const part = size === count ? values : subarrayOf(values, at, at + size);
      setArray(this.#views.whole[type], part, 0);
      this.#exports.w(to + bytesIn(type, at), bytesIn(type, size));
    }
  }

  /** Copies `count` values from an address of the heap to the start of an array of that type. */
  read(type: ElementType, from: number, out: NumberArray, count: number): void {
    const most = CAPACITY / bytesIn(type, 1);
    for (let at = 0; at < count; at += most) {
      const size = Math.min(most, count - at);
      this.#exports.r(from + bytesIn(type, at), bytesIn(type, size));
      setArray(out, this.#views.part(type, 0, size), at);
    }
  }
}
