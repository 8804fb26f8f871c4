// All illustrations, by the name the notebooks give them.

import type { Tree } from "../shell/drawing/tree.js";
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
import type { Detail } from "./point-at-cells.js";

export type Zeropoint = typeof import("zeropoint") & typeof import("zeropoint/torch");

type RangeControl = {
  name: string;
  label: string;
  type: "range";
  min: number;
  max: number;
  step: number;
  value: number;
  unit?: string;
};

type ChoiceControl = {
  name: string;
  label: string;
  type: "choice";
  choices: [string, string][];
  value: string;
};

/** Buttons that move the range control of the same name. */
type PlayerControl = { name: string; label: string; type: "player"; next: string };

type TextControl = { name: string; label: string; type: "text"; value: string };

export type Control = RangeControl | ChoiceControl | PlayerControl | TextControl;

export type Prediction = { question: string; choices: string[]; answer: string };

export interface Figure {
  controls: Control[];
  /** Asked before the drawing is shown. */
  predict?: Prediction;
  draw: (values: Record<string, string>, zeropoint: Zeropoint, width: number) => Tree;
  /** Whether the drawing is the same for all widths. */
  fitsAnyWidth?: boolean;
  /** What a cell of a grid of the drawing says when it is pointed at. */
  detail?: (
    values: Record<string, string>,
    zeropoint: Zeropoint,
    kind: string,
    index: number,
  ) => Detail;
}

export const figures: Record<string, Figure> = {
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
