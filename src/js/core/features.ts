// Features of the engine, detected by small modules, never by its name; and the builds that it supports.

import { stateError, type ZeropointError } from "../base/errors.js";
import type { Build } from "./builds.js";
import type { Lowering } from "./kernels.js";

/** The engine's features that builds need. */
interface Engine {
  /** WebAssembly's 128-bit SIMD. */
  readonly simd: boolean;
  /** Relaxed SIMD: `"wrong"` if it exists and computes wrongly. */
  readonly relaxed: boolean | "wrong";
}

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

// "\0asm", version 1

/** (func (result v128) (f32x4.nearest (f32x4.splat (f32.const 0)))): rounds as the kernels do. */
const SIMD_PROBE = /* @__PURE__ */ new Uint8Array([
  ...HEADER,
  ...[0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b], // type section: () -> v128
  ...[0x03, 0x02, 0x01, 0x00], // function section: one function of that type
  ...[0x0a, 0x0d, 0x01, 0x0b, 0x00], // code section: one body of 11 bytes, no locals
  ...[0x43, 0x00, 0x00, 0x00, 0x00, 0xfd, 0x13, 0xfd, 0x6a, 0x0b],
]);

/** int8 weights, 7-bit digits and sums, at both ends of the kernels' ranges. */
const WEIGHTS = [-128, -128, -128, -128, 127, 127, 127, 127, 1, -2, 3, -4, 100, -100, 50, -50];

const DIGITS = [127, 127, 127, 127, 127, 127, 127, 127, 1, 2, 3, 4, 127, 1, 64, 3];

const SUMS = [1, -2, 1000, -70000];

/** SUMS[i] + the four products of lane i: worked by hand. */
const KNOWN = [-65023, 64514, 990, -54350];

const int32Bytes = (values: readonly number[]): number[] => [
  ...new Uint8Array(new Int32Array(values).buffer),
];

const v128Const = (bytes: readonly number[]): number[] => [
  ...[0xfd, 0x0c],
  ...bytes.map((byte) => byte & 0xff),
];

/**
 * A module that checks whether `i32x4.relaxed_dot_i8x16_i7x16_add_s` gives the known values:
 * (func (export "f") (result i32)
 *   (i32x4.all_true (i32x4.eq (i32x4.relaxed_dot_i8x16_i7x16_add_s … … …) …)))
 */
function relaxedProbe(
  weights = WEIGHTS,
  digits = DIGITS,
  sums = SUMS,
  known = KNOWN,
): Uint8Array<ArrayBuffer> {
  const body = [
    ...[0x00], // no locals
    ...v128Const(weights),
    ...v128Const(digits),
    ...v128Const(int32Bytes(sums)),
    ...[0xfd, 0x93, 0x02], // i32x4.relaxed_dot_i8x16_i7x16_add_s
    ...v128Const(int32Bytes(known)),
    ...[0xfd, 0x37, 0xfd, 0xa3, 0x01, 0x0b], // i32x4.eq, i32x4.all_true, end
  ];
  return new Uint8Array([
    ...HEADER,
    ...[0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7f], // type section: () -> i32
    ...[0x03, 0x02, 0x01, 0x00], // function section: one function of that type
    ...[0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00], // export section: it is called "f"
    ...[0x0a, body.length + 2, 0x01, body.length, ...body], // code section: both below 128
  ]);
}

/** Whether a module runs and its function "f" returns 1. */
function isRight(bytes: Uint8Array<ArrayBuffer>): boolean {
  try {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
    return (instance.exports as { f: () => number }).f() === 1;
  } catch {
    return false;
  }
}

/** Detects SIMD by `WebAssembly.validate`; correctness is checked by `examineEngine()`. */
export function askEngine(): Engine {
  const validates = (bytes: Uint8Array<ArrayBuffer>): boolean =>
    typeof WebAssembly === "object" && WebAssembly.validate(bytes);
  const simd = validates(SIMD_PROBE);
  return { simd, relaxed: simd && validates(relaxedProbe()) };
}

/** Checks that the engine computes the relaxed dot correctly, if it has relaxed SIMD. */
export function examineEngine(said = askEngine()): Engine {
  return said.relaxed ? { ...said, relaxed: isRight(relaxedProbe()) || "wrong" } : said;
}

/**
 * Detects how the engine computes the relaxed dot. With 8 bits in the second operand, which no kernel uses,
 * the specification leaves the result open, and the instructions of processors differ: AVX-VNNI's VPDPBUSD
 * takes the operand as unsigned, as does PMADDUBSW, of which engines need several instructions more, and which
 * saturates sums of two products to 16 bits. Signed operands, as of ARM's, leave the number of instructions open.
 */
export function loweringOfDot(): Lowering {
  const gives = (sum: number): boolean => {
    const all = (length: number, value: number): number[] => Array(length).fill(value);
    return isRight(relaxedProbe(all(16, -128), all(16, 255), all(4, 0), all(4, sum)));
  };
  if (gives(4 * -128 * 255)) return "one-instruction";
  return gives(2 * -32768) ? "several-instructions" : "unknown";
}

/** The reason why threads cannot share memory here; undefined if they can. */
export function whyNotShared(): string | undefined {
  if (typeof SharedArrayBuffer !== "function") {
    return (globalThis as { isSecureContext?: boolean }).isSecureContext === false
      ? "the page is not served securely, so there is no SharedArrayBuffer"
      : "there is no SharedArrayBuffer, which in a page needs cross-origin isolation";
  }
  if ((globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === false) {
    return "the page is not cross-origin isolated";
  }
  return undefined;
}

/** The reason why the engine cannot run a build; undefined if it can. */
export function whyNot(engine: Engine, build: Build): string | undefined {
  if (!engine.simd) {
    return "this engine has no WebAssembly with 128-bit SIMD, which every build needs";
  }
  if (build === "baseline" || engine.relaxed === true) return undefined;
  return engine.relaxed === "wrong"
    ? 'this engine computes relaxed SIMD wrongly, which the "relaxed" build needs'
    : 'this engine has no relaxed SIMD, which the "relaxed" build needs';
}

/**
 * The builds to try for a request, best first.
 * @throws {Error} `ZP_UNSUPPORTED_ENGINE` if the engine runs none of them
 */
export function chooseBuilds(
  where: string,
  request: "auto" | Build,
  engine: Engine = examineEngine(),
): Build[] {
  const wanted: readonly Build[] = request === "auto" ? ["relaxed", "baseline"] : [request];
  const builds = wanted.filter((build) => whyNot(engine, build) === undefined);
  if (builds.length > 0) return builds;
  throw unsupported(where, whyNot(engine, wanted.at(-1) as Build) as string);
}

/** The error of an engine that cannot run a build. */
export function unsupported(where: string, why: string): ZeropointError {
  return stateError("ZP_UNSUPPORTED_ENGINE", where, why);
}
