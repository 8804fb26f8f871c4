// The multiple-choice knapsack: least error within a number of bytes, and a bound that no choice can be below.
// Source: D. Pisinger, A Minimal Algorithm for the Multiple-Choice Knapsack Problem (1995): the relaxed optimum, then
// dynamic programming over the groups whose other options lose least, until no other group can improve the best choice.

import { type Choices, hullsOf, type Relaxed, relax } from "./hull.js";

/** A choice of one option of each group. */
export interface Solution {
  /** An option of each group. */
  readonly chosen: Int32Array;
  /** No choice within the capacity has less error. */
  readonly bound: number;
  /** Whether the choice is proven to have the least error, up to the rounding of sums. */
  readonly isOptimal: boolean;
  /** Error saved by one more byte, in the relaxed problem. */
  readonly multiplier: number;
}

/** Partial choices kept after each group, and in all. A count, unlike a time, is the same on every machine. */
const MAX_STATES = 8192;
const MAX_WORK = 2_500_000;

/**
 * Chooses an option of each group.
 * @param capacity  bytes at most, enough for the smallest option of each group
 */
export function solve(choices: Choices, capacity: number): Solution {
  const relaxed = relax(choices, hullsOf(choices), capacity);
  const { multiplier } = relaxed;
  const { errors, starts } = choices;
  let error = 0;
  for (const option of relaxed.chosen) error += errors[option];
  const rest = capacity - relaxed.bytes;
  if (multiplier === 0 || rest === 0) {
    return { chosen: relaxed.chosen, bound: error, isOptimal: true, multiplier };
  }
  const found = finish(choices, relaxed, rest);
  // Rounding of the sum: half a unit in the last place for each addition.
  const margin = (error + multiplier * rest) * starts.length * 2 ** -53;
  const lagrangian = Math.max(0, error - multiplier * rest - margin);
  const chosen = relaxed.chosen.slice();
  for (const [group, option] of found.changes) chosen[group] = option;
  let least = 0;
  for (const option of chosen) least += errors[option];
  const bound = found.isExact ? least : Math.min(least, lagrangian);
  return { chosen, bound, isOptimal: found.isExact || bound === least, multiplier };
}

/** A group whose other options may be better than the one of the relaxed optimum. */
interface CoreGroup {
  readonly group: number;
  /** The least loss among the other options. */
  readonly loss: number;
}

/**
 * Partial choices, by ascending bytes and descending error, both relative to the relaxed optimum; each with the
 * partial choice that it continues and the option that it takes.
 */
interface States {
  readonly count: number;
  readonly bytes: Float64Array;
  readonly errors: Float64Array;
  readonly parents: Int32Array;
  readonly options: Int32Array;
}

/** Spends the rest of the capacity. @returns the groups with another option than the relaxed optimum's */
function finish(
  choices: Choices,
  { chosen, multiplier }: Relaxed,
  rest: number,
): { readonly changes: [group: number, option: number][]; readonly isExact: boolean } {
  const { bytes, errors, starts } = choices;
  // An option loses its error and the price of its bytes, relative to the one of the relaxed optimum, which has the least.
  const lossOf = (option: number, base: number): number =>
    Math.max(0, errors[option] - errors[base] + multiplier * (bytes[option] - bytes[base]));
  /** Above the Lagrangian bound: of the best choice so far. A choice that loses as much is no better. */
  let limit = multiplier * rest;
  const core: CoreGroup[] = [];
  for (let group = 0; group < chosen.length; group++) {
    let loss = Number.POSITIVE_INFINITY;
    for (let option = starts[group]; option < starts[group + 1]; option++) {
      if (option !== chosen[group]) loss = Math.min(loss, lossOf(option, chosen[group]));
    }
    if (loss < limit) core.push({ group, loss });
  }
  core.sort((a, b) => a.loss - b.loss || a.group - b.group);
  const savable = savableBytes(choices, chosen, core);
  const levels: States[] = [firstState()];
  let best = { level: 0, state: 0, error: 0 };
  let work = 0;
  let isExact = true;
  for (const [index, { group, loss }] of core.entries()) {
    if (loss >= limit) break;
    if (work > MAX_WORK) {
      isExact = false;
      break;
    }
    const base = chosen[group];
    const last = levels[levels.length - 1];
    let next: States | undefined;
    for (let option = starts[group]; option < starts[group + 1]; option++) {
      if (lossOf(option, base) >= limit) continue;
      const moved = move(
        last,
        option,
        bytes[option] - bytes[base],
        errors[option] - errors[base],
        (byBytes, byError) =>
          byBytes - rest <= savable[index + 1] && byError + multiplier * byBytes < limit,
      );
      work += last.count;
      next = next === undefined ? moved : merge(next, moved);
    }
    // The option of the relaxed optimum loses nothing.
    let states = next as States;
    if (states.count > MAX_STATES) {
      states = thin(states, multiplier);
      isExact = false;
    }
    levels.push(states);
    const state = lastWithin(states, rest);
    if (state >= 0 && states.errors[state] < best.error) {
      best = { level: levels.length - 1, state, error: states.errors[state] };
      limit = best.error + multiplier * rest;
    }
  }
  return { changes: changesOf(levels, best, core), isExact };
}

/** Bytes that the core's groups from an index on can save at most. */
function savableBytes(
  { bytes, starts }: Choices,
  chosen: Int32Array,
  core: readonly CoreGroup[],
): Float64Array {
  const savable = new Float64Array(core.length + 1);
  for (let i = core.length - 1; i >= 0; i--) {
    const { group } = core[i];
    savable[i] = savable[i + 1] + bytes[chosen[group]] - bytes[starts[group]];
  }
  return savable;
}

const newStates = (length: number): States => ({
  count: length,
  bytes: new Float64Array(length),
  errors: new Float64Array(length),
  parents: new Int32Array(length),
  options: new Int32Array(length),
});

const firstState = (): States => newStates(1);

const trimmed = (states: States, count: number): States => ({
  count,
  bytes: states.bytes.slice(0, count),
  errors: states.errors.slice(0, count),
  parents: states.parents.slice(0, count),
  options: states.options.slice(0, count),
});

/** All partial choices continued by an option. */
function move(
  states: States,
  option: number,
  bytes: number,
  error: number,
  mayKeep: (bytes: number, error: number) => boolean,
): States {
  const moved = newStates(states.count);
  let count = 0;
  for (let i = 0; i < states.count; i++) {
    const byBytes = states.bytes[i] + bytes;
    const byError = states.errors[i] + error;
    if (!mayKeep(byBytes, byError)) continue;
    moved.bytes[count] = byBytes;
    moved.errors[count] = byError;
    moved.parents[count] = i;
    moved.options[count++] = option;
  }
  return trimmed(moved, count);
}

/** Partial choices of both lists, without those that have neither fewer bytes nor less error than another one. */
function merge(a: States, b: States): States {
  const merged = newStates(a.count + b.count);
  let count = 0;
  let i = 0;
  let j = 0;
  let least = Number.POSITIVE_INFINITY;
  while (i < a.count || j < b.count) {
    const isFirst =
      j >= b.count ||
      (i < a.count &&
        (a.bytes[i] < b.bytes[j] || (a.bytes[i] === b.bytes[j] && a.errors[i] <= b.errors[j])));
    const from = isFirst ? a : b;
    const at = isFirst ? i++ : j++;
    if (from.errors[at] >= least) continue;
    least = from.errors[at];
    merged.bytes[count] = from.bytes[at];
    merged.errors[count] = least;
    merged.parents[count] = from.parents[at];
    merged.options[count++] = from.options[at];
  }
  return trimmed(merged, count);
}

/** The partial choices that lose least. */
function thin(states: States, multiplier: number): States {
  const losses = states.errors.map((error, i) => error + multiplier * states.bytes[i]);
  const limit = losses.slice().sort()[MAX_STATES];
  const kept = newStates(states.count);
  let count = 0;
  for (let i = 0; i < states.count && count < MAX_STATES; i++) {
    if (losses[i] > limit) continue;
    kept.bytes[count] = states.bytes[i];
    kept.errors[count] = states.errors[i];
    kept.parents[count] = states.parents[i];
    kept.options[count++] = states.options[i];
  }
  return trimmed(kept, count);
}

/** The last, so best, of the partial choices that fit; -1 if none does. */
function lastWithin({ bytes, count }: States, rest: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bytes[middle] <= rest) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The options of a partial choice, back to the first. */
function changesOf(
  levels: readonly States[],
  best: { readonly level: number; readonly state: number },
  core: readonly CoreGroup[],
): [number, number][] {
  const changes: [number, number][] = [];
  let { state } = best;
  for (let level = best.level; level > 0; level--) {
    const { options, parents } = levels[level];
    changes.push([core[level - 1].group, options[state]]);
    state = parents[state];
  }
  return changes;
}
