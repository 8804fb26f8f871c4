// frontier: the least error of every size.

import { checkInteger } from "../../base/check.js";
import { checkOptions } from "../../base/options.js";
import { hullsOf } from "./hull.js";
import { CONSTRAINT_NAMES, checkMinSqnr, type PlanConstraints, prepare } from "./plan.js";
import type { FileRows, PlanRow } from "./rows.js";

/** Options of `frontier`. */
export interface FrontierOptions extends PlanConstraints {
  /** Points at most, evenly spaced by bytes. Default: 64. */
  points?: number | undefined;
}

/** A plan's size and error: no plan of as few bytes has less. */
export interface FrontierPoint {
  /** Bytes of all tensors together; with what `storedRows` gives, about those of the file. */
  readonly bytes: number;
  /** Total error, in the metric of the plan. */
  readonly error: number;
  /** Bits of `bytes` by parameters. */
  readonly bitsPerWeight: number;
  /** `bytes` by the bytes of the tensors as they are, if the rows say so. */
  readonly ratio?: number;
}

/**
 * Error against bytes, from the smallest plan to that of least error. `plan(rows, { bytes })` with the bytes of a point
 * has its error.
 * @param rows  of `analyze`, or what `storedRows` gives
 * @throws {TypeError | RangeError} `ZP_INVALID_ROW`; `ZP_INVALID_OPTION`
 * @example
 * frontier(rows).map(({ bytes, bitsPerWeight }) => [bytes, bitsPerWeight]); // [[10240, 5], [14336, 7], [18432, 9]]
 */
export function frontier(
  rows: Iterable<PlanRow> | FileRows,
  options?: FrontierOptions,
): FrontierPoint[] {
  const where = "frontier";
  const given = checkOptions(where, options, ["points", ...CONSTRAINT_NAMES]);
  const points = checkInteger(where, "options.points", given.points, 64, 2, 2 ** 20);
  checkMinSqnr(where, given.minSqnr);
  const { input, choices } = prepare(where, rows, given);
  const hulls = hullsOf(choices);
  let bytes = input.overhead ?? 0;
  let error = 0;
  const steps: number[] = [];
  for (let group = 0; group + 1 < hulls.starts.length; group++) {
    const [start, end] = [hulls.starts[group], hulls.starts[group + 1]];
    bytes += choices.bytes[hulls.options[end - 1]];
    error += choices.errors[hulls.options[end - 1]];
    for (let i = start + 1; i < end; i++) steps.push(i);
  }
  // The flattest first; of equal ones, in the order of groups from the last.
  steps.sort((a, b) => hulls.slopes[a] - hulls.slopes[b] || b - a);
  // From the largest plan down: errors are only added, which keeps small ones exact.
  const corners = [{ bytes, error }];
  for (const step of steps) {
    const [from, to] = [hulls.options[step - 1], hulls.options[step]];
    bytes -= choices.bytes[to] - choices.bytes[from];
    error += choices.errors[from] - choices.errors[to];
    corners.push({ bytes, error });
  }
  corners.reverse();
  return thinned(corners, points).map((corner) => ({
    ...corner,
    bitsPerWeight: input.parameters === 0 ? 0 : (8 * corner.bytes) / input.parameters,
    ...(input.bytesBefore && { ratio: corner.bytes / input.bytesBefore }),
  }));
}

type Corner = { readonly bytes: number; readonly error: number };

/** The first and the last corner, and between them those nearest below evenly spaced bytes. */
function thinned(corners: readonly Corner[], points: number): readonly Corner[] {
  if (corners.length <= points) return corners;
  const first = corners[0].bytes;
  const width = corners[corners.length - 1].bytes - first;
  const kept: Corner[] = [];
  let target = 0;
  for (const [i, corner] of corners.entries()) {
    const next = corners[i + 1]?.bytes ?? Number.POSITIVE_INFINITY;
    if (next <= first + (width * target) / (points - 1)) continue;
    kept.push(corner);
    while (next > first + (width * target) / (points - 1) && target < points) target++;
  }
  return kept;
}
