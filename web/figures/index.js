// All illustrations, by the name the notebooks give them.

import { affineSymmetric } from "./affine-symmetric.js";
import { byHand } from "./by-hand.js";
import { clipOrRound } from "./clip-or-round.js";
import { errorBits } from "./error-bits.js";
import { granularity } from "./granularity.js";
import { groupSize } from "./group-size.js";
import { journey } from "./journey.js";
import { linked } from "./linked.js";
import { observer } from "./observer.js";
import { odometer } from "./odometer.js";
import { scaleLeavesTheSum } from "./scale-leaves-the-sum.js";
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
 * @typedef {{ question: string, choices: string[], answer: string }} Prediction
 * @typedef {object} Figure
 * @property {Control[]} controls
 * @property {Prediction} [predict]  asked before the drawing is shown
 * @property {(values: Record<string, string>, zeropoint: Zeropoint, width: number) => Tree} draw
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
};
