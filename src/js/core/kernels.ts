// Choice of the kernels for quantized layers in a relaxed build: the faster ones with this engine on this
// processor. Results have the same bits with all kernels.

/**
 * The kernels of quantized layers: `"relaxed"` multiplies 8-bit values by the relaxed dot, `"baseline"` 16-bit
 * values as the baseline build does, and `"mixed"` takes the relaxed dot for activations of 7 bits alone.
 */
export type Kernels = "relaxed" | "mixed" | "baseline";

/** The functions of a relaxed build that the choice needs. */
export interface DotFunctions {
  /** Computes 16 dots a round, of one kind or the other, on data in the processor's cache. */
  runDots(relaxed: boolean, rounds: number): number;
  setLayerKernels(kernels: Kernels): void;
}

/** An engine's lowering of the relaxed dot, deduced from results that the specification leaves open. */
export type Lowering = "one-instruction" | "several-instructions" | "unknown";

/** Largest ratio of the times of relaxed and 16-bit dots at which relaxed dots are faster in all layers. */
const PAYS_EVERYWHERE = 1.35;
/** The same for activations of 7 bits, which need half as many relaxed dots. */
const PAYS_FOR_7_BITS = 1.6;

/** Timings per kind of dot. The shortest counts, since interruptions lengthen the others. */
const TRIES = 6;
/** Rounds that take 6 to 10 microseconds. */
const FEWEST_ROUNDS = 400;
/** Upper limit, reached with clocks that tick every 6 microseconds or less often: more would take too long. */
const MOST_ROUNDS = 4000;
const ROUNDS_A_MILLISECOND = 64_000;
/** Ticks of the clock per timing at least, so that ratios are off by a fifth at most. */
const TICKS = 10;
/** Readings without a change after which a clock counts as too coarse. */
const LOOKS = 200;

/** The time between two values of a clock; undefined if it stands still or goes backwards. */
function tickOf(now: () => number): number | undefined {
  const start = now();
  for (let look = 0; look < LOOKS; look++) {
    const passed = now() - start;
    if (passed !== 0) return passed > 0 ? passed : undefined;
  }
  return undefined;
}

/**
 * Times both kinds of dot, in turns, in well under a millisecond.
 * @returns the relaxed dot's time divided by the 16-bit dot's; undefined where the clock is too coarse
 */
export function timeDots(
  run: DotFunctions["runDots"],
  now: () => number = () => performance.now(),
): number | undefined {
  const tick = tickOf(now);
  if (tick === undefined) return undefined;
  const rounds = Math.max(FEWEST_ROUNDS, Math.ceil(TICKS * tick * ROUNDS_A_MILLISECOND));
  if (!(rounds <= MOST_ROUNDS)) return undefined;
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // Warm-up: engines compile a function at its first call.
  for (const relaxed of [true, false]) run(relaxed, 1);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    for (const relaxed of [true, false]) {
      const start = now();
      run(relaxed, rounds);
      const passed = now() - start;
      if (!(passed > 0)) return undefined;
      least[Number(relaxed)] = Math.min(least[Number(relaxed)], passed);
    }
  }
  return least[1] / least[0];
}

/**
 * Chooses the kernels of a relaxed build.
 * @param time  the relaxed dot's time divided by the 16-bit dot's, if the clock is fine enough; called if
 *   the lowering alone does not decide
 */
export function chooseKernels(lowering: Lowering, time: () => number | undefined): Kernels {
  if (lowering === "one-instruction") return "relaxed";
  const areSeveral = lowering === "several-instructions";
  const ratio = time();
  if (ratio === undefined) return areSeveral ? "baseline" : "relaxed";
  // A timing that is too short by error must not select kernels of less than half the speed.
  if (ratio <= PAYS_EVERYWHERE && !areSeveral) return "relaxed";
  return ratio <= PAYS_FOR_7_BITS ? "mixed" : "baseline";
}
