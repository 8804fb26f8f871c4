// Choice of the kernels for quantized layers in a relaxed build: the faster ones with this engine on this
// processor. Results have the same bits with all kernels.

/**
 * The kernels of quantized layers: `"relaxed"` multiplies 8-bit values by the relaxed dot, `"baseline"` 16-bit
 * values as the baseline build does, and `"mixed"` takes the relaxed dot only where it replaces two 16-bit dots:
 * activations of 7 bits, and rows of 8 bits of which few need the eighth.
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
const PAYS_FOR_7_BITS = 2;

/** Timings per kind of dot. The shortest counts, since interruptions lengthen the others. */
const TRIES = 6;
/** Rounds of the first timing; doubled until a timing tells how many are enough. */
const FEWEST_ROUNDS = 400;
/** Least and largest time of the faster dot, in milliseconds. Coarser clocks would take too long. */
const SHORTEST = 0.005;
const LONGEST = 0.075;
/** More rounds than any processor needs; with this many, the clock stands still. */
const MOST_ROUNDS = 400 * 2 ** 6;
/** Ticks of the clock per timing at least, so that ratios are off by a fifth at most. */
const TICKS = 12;
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
  if (tick === undefined || TICKS * tick > LONGEST) return undefined;
  const enough = Math.max(SHORTEST, TICKS * tick);
  const timeOf = (relaxed: boolean, rounds: number): number => {
    const start = now();
    run(relaxed, rounds);
    return now() - start;
  };
  // Warm-up: engines compile a function at its first call.
  for (const relaxed of [true, false]) run(relaxed, 1);
  let rounds = FEWEST_ROUNDS;
  // Of two timings, since one may have been interrupted.
  for (;;) {
    const passed = Math.min(timeOf(false, rounds), timeOf(false, rounds));
    if (passed >= enough / 4) {
      rounds = Math.ceil(rounds * Math.max(1, enough / passed));
      break;
    }
    if (!(passed >= 0) || rounds >= MOST_ROUNDS) return undefined;
    rounds *= 2;
  }
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let attempt = 0; attempt < TRIES; attempt++) {
    for (const relaxed of [true, false]) {
      const passed = timeOf(relaxed, rounds);
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
  // Several are PMADDUBSW, PMADDWD and PADDD, three against four for the same products of 7-bit activations.
  if (ratio === undefined) return areSeveral ? "mixed" : "relaxed";
  // A timing that is too short by error must not select kernels of less than half the speed.
  if (ratio <= PAYS_EVERYWHERE && !areSeveral) return "relaxed";
  return ratio <= PAYS_FOR_7_BITS ? "mixed" : "baseline";
}
