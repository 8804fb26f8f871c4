// A weight as rows: one row of inputs for each output.

import type { Scheme } from "../scheme.js";
import { groupOf, type Outputs, type WeightView } from "../weights/view.js";

/** How a tensor's values form rows. */
export interface RowLayout extends Outputs {
  /** Consecutive values whose end groups and blocks do not cross. */
  readonly runLength: number;
  /** Whether a run is of outputs, of which `inner` is a multiple; else it is of inputs, and divides the row. */
  readonly isAcross: boolean;
}

/** The rows of a weight for a file of a format. */
export function layoutOf(view: WeightView, format: string): RowLayout {
  const [, runLength] = view.groupAxes(format);
  return { ...view.outputs, runLength, isAcross: view.isAcross(format) };
}

/** Whether a scheme's groups or blocks are of outputs. */
export const isAcross = (scheme: Scheme, layout: RowLayout): boolean =>
  layout.isAcross && groupOf(scheme) !== undefined;

/** The number of neighbouring rows that whole groups or blocks of a scheme are in. */
export function rowsOfGroups(scheme: Scheme, { rows, runLength, isAcross }: RowLayout): number {
  const group = isAcross ? Math.min(groupOf(scheme) ?? 1, runLength) : 1;
  // Groups that do not divide their run end with it.
  return runLength % group === 0 || runLength === rows ? group : runLength;
}

/** The number of rows that tiles are multiples of, so that they have whole groups and blocks of all schemes. */
export const stepOf = (schemes: readonly Scheme[], layout: RowLayout): number =>
  schemes
    .map((scheme) => rowsOfGroups(scheme, layout))
    .reduce((step, rows) => Math.min(leastCommonMultiple(step, rows), layout.runLength), 1);

function leastCommonMultiple(a: number, b: number): number {
  let [divisor, rest] = [a, b];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
}
