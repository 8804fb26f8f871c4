// A against B: the size and the errors of two settings on the same data.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { isBlock, type Settings } from "../state.js";
import type { Evaluation } from "../worker/evaluate.js";
import { decibels } from "./curves.js";

const RANGES = {
  minmax: "",
  mse: ", least squared error",
  histogram: ", histogram observer",
  ends: ", ends by hand",
  qparams: ", qparams by hand",
};

export function describe(settings: Settings) {
  if (isBlock(settings)) return settings.scheme.toUpperCase();
  const { granularity, bits, scheme, isUnsigned, range, arithmetic } = settings;
  const unit = {
    tensor: "per tensor",
    channel: `per channel of axis ${settings.axis}`,
    group: `per group of ${settings.groupSize}`,
  }[granularity];
  const how = range === "percentile" ? `, percentile ${settings.percentile}` : RANGES[range];
  const name = {
    symmetric: "symmetric",
    affine: "affine",
    float: "affine with a float zero point",
  }[scheme];
  const who = arithmetic === "torch" ? "PyTorch: " : "";
  return `${who}${bits === 1 ? "1 bit" : `${bits} bits`}${isUnsigned ? " unsigned" : ""}, ${name}, ${unit}${how}`;
}

/** Each with its name, value, text, and whether more or less is better. */
export const ERRORS: [
  string,
  (evaluation: Evaluation) => number,
  (value: number) => string,
  1 | -1,
][] = [
  ["Bytes", ({ bytes }) => bytes, (value) => value.toLocaleString("en"), -1],
  ["SQNR, dB", ({ metrics }) => metrics.sqnr, decibels, 1],
  ["Mean squared error", ({ metrics }) => metrics.mse, formatNumber, -1],
  ["Mean absolute error", ({ metrics }) => metrics.mae, formatNumber, -1],
  ["Largest error", ({ metrics }) => metrics.max, formatNumber, -1],
  ["Cosine", ({ metrics }) => metrics.cosine, (value) => value.toFixed(6), 1],
];

/**
 * @param b  the current settings
 * @param a  those to compare with
 */
export function showMetrics(
  place: HTMLElement,
  b: { settings: Settings; evaluation: Evaluation },
  a?: { settings: Settings; evaluation: Evaluation },
) {
  place.replaceChildren(
    toDom(
      h(
        "table",
        { class: "play-metrics" },
        h(
          "caption",
          {},
          a
            ? [
                h("span", {}, h("b", {}, "A "), describe(a.settings)),
                h("span", {}, h("b", {}, "B "), describe(b.settings)),
              ]
            : describe(b.settings),
        ),
        a &&
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("td", {}),
              h("th", { scope: "col" }, "A"),
              h("th", { scope: "col" }, "B"),
              h("th", { scope: "col" }, "Better"),
            ),
          ),
        h(
          "tbody",
          {},
          ERRORS.map(([name, read, text, sign]) => {
            const [mine, theirs] = [read(b.evaluation), a && read(a.evaluation)];
            const isEqual = theirs === mine;
            const better =
              theirs === undefined
                ? ""
                : isEqual
                  ? "equal"
                  : sign * (mine - theirs) > 0
                    ? "B"
                    : "A";
            return h(
              "tr",
              {},
              h("th", { scope: "row" }, name),
              theirs !== undefined && h("td", {}, text(theirs)),
              h("td", {}, text(mine)),
              theirs !== undefined && h("td", {}, better),
            );
          }),
        ),
      ),
    ),
  );
}
