// Picks a build of the core, loads it, and makes it prove itself before anything relies on it.

import { rangeError, stateError } from "./errors.js";
import { type CoreModule, Memory } from "./memory.js";
import { PackedWeight } from "./packed-weight.js";

/** One compiled variant of the core. `"baseline"` needs WebAssembly's 128-bit SIMD. */
export type Build = "baseline" | "relaxed";

/** One loaded build with its memory. */
export class Core {
  readonly module: CoreModule;
  readonly memory: Memory;
  readonly build: Build;
  readonly threads: number;

  constructor(module: CoreModule, build: Build, threads: number) {
    this.module = module;
    this.memory = new Memory(module);
    this.build = build;
    this.threads = threads;
  }
}

/** The builds that this version has, best first. */
const BUILDS: readonly Build[] = ["baseline"];

/** The build a request gets. @throws {RangeError} `ZP_BUILD_UNAVAILABLE` */
export function chooseBuild(where: string, request: "auto" | Build): Build {
  const build = request === "auto" ? BUILDS[0] : BUILDS.find((name) => name === request);
  if (build !== undefined) return build;
  throw rangeError(
    "ZP_BUILD_UNAVAILABLE",
    `${where}: this version has no "${request}" build; options.build takes "auto" or ` +
      BUILDS.map((name) => `"${name}"`).join(" or "),
  );
}

/**
 * A module of one function that rounds a vector with `f32x4.nearest`, as the kernels do:
 * (func (result v128) (f32x4.nearest (f32x4.splat (f32.const 0))))
 */
const SIMD_PROBE = /* @__PURE__ */ new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00], // "\0asm", version 1
  ...[0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b], // type section: () -> v128
  ...[0x03, 0x02, 0x01, 0x00], // function section: one function of that type
  ...[0x0a, 0x0d, 0x01, 0x0b, 0x00], // code section: one body of 11 bytes, no locals
  ...[0x43, 0x00, 0x00, 0x00, 0x00, 0xfd, 0x13, 0xfd, 0x6a, 0x0b],
]);

/** Whether the engine has WebAssembly with SIMD, without loading anything. */
export function supportsSimd(): boolean {
  return typeof WebAssembly === "object" && WebAssembly.validate(SIMD_PROBE);
}

/**
 * Loads a build.
 * @throws {Error} `ZP_UNSUPPORTED_ENGINE` if the engine lacks what the build needs, or has it and
 *   computes wrongly; `ZP_LOAD_FAILED`
 */
export async function loadBuild(where: string, build: Build, threads: number): Promise<Core> {
  if (!supportsSimd()) {
    throw stateError(
      "ZP_UNSUPPORTED_ENGINE",
      `${where}: this engine has no WebAssembly with 128-bit SIMD, which every build needs`,
    );
  }
  let core: Core;
  let isCorrect: boolean;
  try {
    const { default: start } = await import("./core/baseline.js");
    // The rejection says what went wrong; the loader need not print it too.
    core = new Core(await start({ printErr: () => {} }), build, threads);
    isCorrect = computesKnownValues(core);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw stateError(
      "ZP_LOAD_FAILED",
      `${where}: the "${build}" build could not be loaded: ${reason}`,
      cause,
    );
  }
  if (isCorrect) return core;
  throw stateError(
    "ZP_UNSUPPORTED_ENGINE",
    `${where}: the "${build}" build computes wrong values on this engine`,
  );
}

/** Four vectors and one value over: ties, signs, both ends of the range, NaN and infinities. */
const KNOWN_VALUES = [
  0,
  -0,
  0.25,
  0.75,
  -0.25,
  -0.75,
  1.25,
  -1.75,
  63.25,
  63.5,
  1e30,
  -64,
  -64.5,
  -1e30,
  Infinity,
  -Infinity,
  Number.NaN,
];
/** Of scale 0.5 and zero point 1: worked by hand. */
const KNOWN_CODES = [1, 1, 2, 2, 0, 0, 4, -2, 127, 127, 127, -127, -128, -128, 127, -128, 1];
/** The sum of i * (17 - i) * 0.5 for i from 1 to 17, each weight being i steps of 0.5. */
const KNOWN_SUM = 408;

/** Whether a core computes what was worked out without it. */
export function computesKnownValues(core: Core): boolean {
  return quantizesKnownValues(core) && multipliesKnownValues(core);
}

function quantizesKnownValues({ memory, module }: Core): boolean {
  const n = KNOWN_VALUES.length;
  const x = memory.place(4 * n);
  const scale = memory.place(4);
  const zeroPoint = memory.place(4);
  const shape = memory.place(4);
  const codes = memory.place(n);
  const base = memory.commit("init");
  memory.write("Float32Array", base + x, KNOWN_VALUES);
  memory.writeOne("Float32Array", base + scale, 0.5);
  memory.writeOne("Int32Array", base + zeroPoint, 1);
  memory.writeOne("Uint32Array", base + shape, n);
  const status = module.quantize(
    base + x,
    base + shape,
    1,
    base + scale,
    base + zeroPoint,
    base + shape,
    0,
    "int8",
    base + codes,
  );
  const got = new Int8Array(n);
  memory.read(base + codes, got);
  memory.end();
  return status === "kOk" && KNOWN_CODES.every((code, i) => code === got[i]);
}

function multipliesKnownValues(core: Core): boolean {
  const { memory, module } = core;
  const n = KNOWN_VALUES.length;
  const codes = Int8Array.from(KNOWN_VALUES, (_, i) => i + 1);
  const weight = new PackedWeight(
    core,
    "init",
    {
      outFeatures: 1,
      inFeatures: n,
      dtype: "int8",
      codes,
      granularity: "perTensor",
      groupSize: 0,
      scales: [0.5],
      zeroPoints: [0],
    },
    undefined,
  );
  const x = memory.place(4 * n);
  const scratch = memory.place(weight.scratchBytes(1));
  const sum = memory.place(4);
  const base = memory.commit("init");
  const input = Float32Array.from(codes, (i) => 17 - i);
  memory.write("Float32Array", base + x, input);
  const { at } = weight;
  const status = module.linearPacked(base + x, 1, at, 0, "exact", base + scratch, base + sum);
  const y = memory.readOne("Float32Array", base + sum);
  memory.end();
  weight.dispose();
  return status === "kOk" && y === KNOWN_SUM;
}
