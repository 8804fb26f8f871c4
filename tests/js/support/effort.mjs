// How much a test does: a tenth of its runs by default, all of them in `npm run check`.

/** A page has no environment. */
const environment = globalThis.process?.env ?? {};

/** Whether to test in every build, engine and size, as before a release. */
export const isThorough = environment.ZEROPOINT_THOROUGH === "1";

/** Whether to make all runs, as `npm run check` does. */
export const isFull = isThorough || environment.ZEROPOINT_FULL === "1";

/** The number of runs: all of `runs`, or by default a tenth of them. */
export const effort = (runs) => (isFull ? runs : Math.ceil(runs / 10));
