// Times contestants in turn, round after round, so that a temporary slowdown of the machine affects all of them.

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {() => unknown} run      one call
 * @property {boolean} [isAsync]      whether `run` returns a promise to wait for
 *
 * @typedef {object} Pace
 * @property {number} rounds          samples of each contestant
 * @property {number} sampleMs        minimum duration of a sample
 * @property {number} warmUpMs        running time of a contestant before its first sample
 * @property {number} [budgetMs]      limit for all rounds of a contestant; slower ones get fewer rounds
 *
 * @typedef {object} Timing
 * @property {number[]} samples       milliseconds per call, in the order measured
 * @property {number} median
 * @property {number} q1              the quartiles
 * @property {number} q3
 */

const FEWEST_ROUNDS = 3;

/**
 * @param {Entry} entry
 * @param {number} calls
 */
async function time({ run, isAsync }, calls) {
  if (isAsync) {
    const start = performance.now();
    for (let i = 0; i < calls; i++) await run();
    return performance.now() - start;
  }
  const start = performance.now();
  for (let i = 0; i < calls; i++) run();
  return performance.now() - start;
}

/**
 * Runs a contestant until its code is optimized, and finds the number of calls per sample.
 * @param {Entry} entry
 * @param {Pace} pace
 */
async function warmUp(entry, { sampleMs, warmUpMs }) {
  let calls = 1;
  let total = 0;
  for (;;) {
    let elapsed = await time(entry, calls);
    total += elapsed;
    const isLong = () => elapsed >= sampleMs / 4 && elapsed > 0;
    // Time again: other load on the machine may have made few calls look long, but hardly twice.
    if (total >= warmUpMs && isLong()) elapsed = Math.min(elapsed, await time(entry, calls));
    // A coarse clock may measure a single call as 0.
    if (total >= warmUpMs && isLong()) {
      return {
        calls: Math.max(1, Math.ceil((calls * sampleMs) / elapsed)),
        perCall: elapsed / calls,
      };
    }
    if (elapsed < sampleMs / 4 || elapsed === 0) calls *= elapsed < sampleMs / 32 ? 8 : 2;
  }
}

/**
 * @param {Entry[]} entries
 * @param {Pace} pace
 * @returns {Promise<Timing[]>} one for each entry
 */
export async function race(entries, pace) {
  const { rounds, sampleMs, budgetMs = Number.POSITIVE_INFINITY } = pace;
  const plans = [];
  for (const entry of entries) {
    const { calls, perCall } = await warmUp(entry, pace);
    const sample = Math.max(sampleMs, calls * perCall);
    const affordable = Math.max(FEWEST_ROUNDS, Math.floor(budgetMs / sample));
    plans.push({
      entry,
      calls,
      rounds: Math.min(rounds, affordable),
      samples: /** @type {number[]} */ ([]),
    });
  }
  // Engines compile optimized code in the background; wait until it is ready.
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (let round = 0; round < rounds; round++) {
    // Alternate the direction, so that no contestant always follows the same other one.
    const order = round % 2 === 0 ? plans : [...plans].reverse();
    for (const plan of order) {
      if (round < plan.rounds) {
        plan.samples.push((await time(plan.entry, plan.calls)) / plan.calls);
      }
    }
  }
  return plans.map(({ samples }) => summary(samples));
}

/**
 * @param {number[]} samples
 * @returns {Timing}
 */
export function summary(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  return {
    samples,
    median: quantile(sorted, 0.5),
    q1: quantile(sorted, 0.25),
    q3: quantile(sorted, 0.75),
  };
}

/**
 * @param {number[]} sorted
 * @param {number} part
 */
function quantile(sorted, part) {
  const at = (sorted.length - 1) * part;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}
