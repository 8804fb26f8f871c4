// The builds of the core, and the names of their files.

import type { WasmModule } from "../base/platform.js";

/** The file of a build, with shared memory or without. */
export type BinaryName = "baseline" | "relaxed" | "baseline-threads" | "relaxed-threads";

/**
 * One compiled variant of the core. `"baseline"` needs WebAssembly's 128-bit SIMD, `"relaxed"` its
 * relaxed SIMD, too, and is faster.
 */
export type Build = "baseline" | "relaxed";

const THREADS = "-threads";

/** The file of a build. */
export const nameOf = (build: Build, isShared: boolean): BinaryName =>
  isShared ? `${build}${THREADS}` : build;

/** Whether a file's build shares its memory between threads. */
export const isShared = (name: BinaryName): boolean => name.endsWith(THREADS);

/** The build in a file. */
export const buildOf = (name: BinaryName): Build => name.replace(THREADS, "") as Build;

/** A compiled build. */
export interface Binary {
  readonly name: BinaryName;
  readonly module: WasmModule;
}
