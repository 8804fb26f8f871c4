// Known results: checks of a core after its start, before use.

import type { Core } from "./core.js";
import type { ThreadsModule } from "./threads/threads.js";

const PARTS = 256;
const STEPS = 100;

/** The error, if any, when all threads repeat the computation of one thread; undefined if the results agree. */
export function troubleWithThreads({ memory, module, threads }: Core): unknown {
  if (threads === 1) return undefined;
  const [out] = memory.layOut("init", 4 * PARTS);
  try {
    (module as unknown as ThreadsModule).proveWorkers(out, PARTS, STEPS);
  } catch (trap) {
    return trap;
  }
  const states = new Uint32Array(PARTS);
  memory.read(out, states);
  memory.end();
  const isRight = states.every((state, part) => {
    let expected = part;
    for (let step = 0; step < STEPS; step++) {
      expected = (Math.imul(expected, 1664525) + 1013904223) >>> 0;
    }
    return state === expected;
  });
  return isRight ? undefined : "they compute wrong values";
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
  NaN,
];
/** Their codes for scale 0.5 and zero point 1, worked by hand. */
const KNOWN_CODES = [1, 1, 2, 2, 0, 0, 4, -2, 127, 127, 127, -127, -128, -128, 127, -128, 1];

/**
 * Whether a core computes the known codes. Products of linear layers are not checked here: examineEngine()
 * checks the one instruction that engines are known to compute wrongly.
 */
export function computesKnownValues({ memory, module }: Core): boolean {
  const n = KNOWN_VALUES.length;
  const [x, scale, zeroPoint, shape, codes] = memory.layOut("init", 4 * n, 4, 4, 4, n);
  memory.write("Float32Array", x, KNOWN_VALUES);
  memory.writeOne("Float32Array", scale, 0.5);
  memory.writeOne("Int32Array", zeroPoint, 1);
  memory.writeOne("Uint32Array", shape, n);
  const status = module.quantize(
    x,
    shape,
    1,
    scale,
    zeroPoint,
    shape,
    0,
    0,
    "int8",
    false,
    "course",
    codes,
  );
  const got = new Int8Array(n);
  memory.read(codes, got);
  memory.end();
  return status === "kOk" && KNOWN_CODES.every((code, i) => code === got[i]);
}
