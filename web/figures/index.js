// All illustrations, by the name the notebooks give them.

import { affineSymmetric } from "./affine-symmetric.js";
import { granularity } from "./granularity.js";
import { journey } from "./journey.js";
import { observer } from "./observer.js";
import { schemeMatrix } from "./scheme-matrix.js";

/**
 * @typedef {import("../shell/tree.js").Tree} Tree
 * @typedef {typeof import("zeropoint")} Zeropoint
 * @typedef {{ name: string, label: string, type: "range", min: number, max: number, step: number,
 *   value: number, unit?: string }} RangeControl
 * @typedef {{ name: string, label: string, type: "choice", choices: [string, string][],
 *   value: string }} ChoiceControl
 * @typedef {{ name: string, label: string, type: "player", next: string }} PlayerControl  buttons
 *   that move the range control of the same name
 * @typedef {RangeControl | ChoiceControl | PlayerControl} Control
 * @typedef {object} Figure
 * @property {Control[]} controls
 * @property {(values: Record<string, string>, zeropoint: Zeropoint, width: number) => Tree} draw
 */

/** @type {Record<string, Figure>} */
export const figures = {
  journey,
  "scheme-matrix": schemeMatrix,
  granularity,
  "affine-symmetric": affineSymmetric,
  observer,
};
