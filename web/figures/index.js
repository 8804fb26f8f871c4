// All illustrations, by the name the notebooks give them.

import { affineSymmetric } from "./drawings/affine-symmetric.js";
import { bits } from "./drawings/bits.js";
import { block } from "./drawings/block.js";
import { byHand } from "./drawings/by-hand.js";
import { clipOrRound } from "./drawings/clip-or-round.js";
import { errorBits } from "./drawings/error-bits.js";
import { granularity } from "./drawings/granularity.js";
import { groupSize } from "./drawings/group-size.js";
import { journey } from "./drawings/journey.js";
import { linked } from "./drawings/linked.js";
import { observer } from "./drawings/observer.js";
import { odometer } from "./drawings/odometer.js";
import { outlierCodes } from "./drawings/outlier-codes.js";
import { scaleLeavesTheSum } from "./drawings/scale-leaves-the-sum.js";
import { schemeMatrix } from "./drawings/scheme-matrix.js";

/**
 * @typedef {import("../shell/drawing/tree.js").Tree} Tree
 * @typedef {typeof import("zeropoint") & typeof import("zeropoint/torch")} Zeropoint
 * @typedef {{ name: string, label: string, type: "range", min: number, max: number, step: number,
 *   value: number, unit?: string }} RangeControl
 * @typedef {{ name: string, label: string, type: "choice", choices: [string, string][],
 *   value: string }} ChoiceControl
 * @typedef {{ name: string, label: string, type: "player", next: string }} PlayerControl  buttons
 *   that move the range control of the same name
 * @typedef {{ name: string, label: string, type: "text", value: string }} TextControl
 * @typedef {RangeControl | ChoiceControl | PlayerControl | TextControl} Control
 * @typedef {{ question: string, choices: string[], answer: string }} Prediction
 * @typedef {object} Figure
 * @property {Control[]} controls
 * @property {Prediction} [predict]  asked before the drawing is shown
 * @property {(values: Record<string, string>, zeropoint: Zeropoint, width: number) => Tree} draw
 * @property {boolean} [fitsAnyWidth]  whether the drawing is the same for all widths
 * @property {(values: Record<string, string>, zeropoint: Zeropoint, kind: string, index: number) =>
 *   import("./point-at-cells.js").Detail} [detail]  what a cell of a grid of the drawing says when it is pointed at
 */

/** @type {Record<string, Figure>} */
export const figures = {
  journey,
  "scheme-matrix": schemeMatrix,
  granularity,
  "affine-symmetric": affineSymmetric,
  observer,
  "by-hand": byHand,
  odometer,
  linked,
  "clip-or-round": clipOrRound,
  "group-size": groupSize,
  "error-bits": errorBits,
  "scale-leaves-the-sum": scaleLeavesTheSum,
  block,
  bits,
  "outlier-codes": outlierCodes,
};
