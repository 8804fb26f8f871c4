// Multiple-choice knapsacks: the lower convex hull of each group's options, and the Lagrange multiplier of a budget.
// Source: P. Sinha and A. Zoltners, The Multiple-Choice Knapsack Problem (1979).

/** Groups of options: one of each group is chosen. */
export interface Choices {
  /** Of groups + 1: the options of group i are those from starts[i] up to, but without, starts[i + 1]. */
  readonly starts: Int32Array;
  /** Bytes of each option: integers, ascending within a group. */
  readonly bytes: Float64Array;
  /** Error of each option, at least 0, descending within a group: an option of more bytes has less error. */
  readonly errors: Float64Array;
}

/** The lower convex hulls of all groups. */
export interface Hulls {
  /** Of groups + 1, as in `Choices`. */
  readonly starts: Int32Array;
  /** The option of each corner: ascending bytes. */
  readonly options: Int32Array;
  /** Error saved by each byte of the step to this corner; Infinity at the first one of a group. Descending. */
  readonly slopes: Float64Array;
}

/** The lower convex hull of every group. */
export function hullsOf({ starts, bytes, errors }: Choices): Hulls {
  const groups = starts.length - 1;
  const hullStarts = new Int32Array(groups + 1);
  const options = new Int32Array(bytes.length);
  const slopes = new Float64Array(bytes.length);
  let end = 0;
  for (let group = 0; group < groups; group++) {
    const first = end;
    for (let option = starts[group]; option < starts[group + 1]; option++) {
      let slope = Number.POSITIVE_INFINITY;
      while (end > first) {
        const last = options[end - 1];
        slope = (errors[last] - errors[option]) / (bytes[option] - bytes[last]);
        if (slope < slopes[end - 1]) break;
        end--;
        slope = Number.POSITIVE_INFINITY;
      }
      options[end] = option;
      slopes[end++] = slope;
    }
    hullStarts[group + 1] = end;
  }
  return { starts: hullStarts, options: options.slice(0, end), slopes: slopes.slice(0, end) };
}

/** The option of every group at a multiplier. */
export interface Relaxed {
  /** Error saved by each byte of the last step: the price of a byte. 0 if all groups have their best option. */
  readonly multiplier: number;
  /** An option of each group. */
  readonly chosen: Int32Array;
  /** Bytes of them together. */
  readonly bytes: number;
}

/** The corner that a group takes if a byte costs more than the multiplier. */
function cornerAt({ starts, slopes }: Hulls, group: number, multiplier: number): number {
  let corner = starts[group];
  const end = starts[group + 1];
  while (corner + 1 < end && slopes[corner + 1] > multiplier) corner++;
  return corner;
}

/** Bytes of all groups if a byte costs more than the multiplier. */
function bytesAt({ bytes }: Choices, hulls: Hulls, multiplier: number): number {
  let sum = 0;
  for (let group = 0; group + 1 < hulls.starts.length; group++) {
    sum += bytes[hulls.options[cornerAt(hulls, group, multiplier)]];
  }
  return sum;
}

/**
 * The optimum of the relaxed problem without its last, partial step: all steps that save more than the multiplier for
 * each byte, and steps that save equally much while they fit, in the order of the groups.
 * @param capacity  bytes at most, enough for the smallest option of each group
 */
export function relax(choices: Choices, hulls: Hulls, capacity: number): Relaxed {
  const groups = hulls.starts.length - 1;
  const multiplier = multiplierOf(choices, hulls, capacity);
  const corners = new Int32Array(groups);
  let bytes = 0;
  for (let group = 0; group < groups; group++) {
    corners[group] = cornerAt(hulls, group, multiplier);
    bytes += choices.bytes[hulls.options[corners[group]]];
  }
  for (let group = 0; group < groups; group++) {
    const next = corners[group] + 1;
    if (next >= hulls.starts[group + 1] || hulls.slopes[next] < multiplier) continue;
    const more = choices.bytes[hulls.options[next]] - choices.bytes[hulls.options[next - 1]];
    if (bytes + more > capacity) continue;
    corners[group] = next;
    bytes += more;
  }
  return { multiplier, chosen: corners.map((corner) => hulls.options[corner]), bytes };
}

/** The least slope such that all steps steeper than it fit; 0 if all fit. */
function multiplierOf(choices: Choices, hulls: Hulls, capacity: number): number {
  if (bytesAt(choices, hulls, 0) <= capacity) return 0;
  // Native sort of numbers: far faster than by a function.
  const sorted = hulls.slopes.slice().sort();
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bytesAt(choices, hulls, sorted[middle]) <= capacity) high = middle;
    else low = middle + 1;
  }
  return sorted[low];
}
