// Paper to draw a digit on, and what the network of notebook 6 reads in it, with weights of fewer and fewer bits.

import { h } from "../shell/drawing/tree.js";
import { padTree } from "./pad-tree.js";

/** Bits of the networks' weights; 32 is float32. */
export const BITS = [32, 8, 4, 3, 2];

const LABELS = Array.from({ length: 10 }, (_, label) => label);

/** One scale for how many weights, as options of a WeightOnlyQConfig. */
export const GRANULARITIES: [string, object][] = [
  ["per tensor", {}],
  ["per channel", { axis: 0 }],
  ["per group of 16", { groupSize: 16 }],
];

export const readerTree = () =>
  h(
    "div",
    { class: "reader", hidden: true },
    h("div", { class: "reader-draw" }, padTree()),
    h(
      "div",
      { class: "reader-networks" },
      h(
        "p",
        {},
        h(
          "label",
          {},
          "Scales ",
          h(
            "select",
            {},
            GRANULARITIES.map(([name], i) => h("option", { value: i, selected: i === 1 }, name)),
          ),
        ),
      ),
      h(
        "div",
        { class: "scroll-x" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["weights", "bytes", "reads"].map((name) => h("th", { scope: "col" }, name)),
              h(
                "th",
                { scope: "col" },
                h("span", { class: "visually-hidden" }, "probability of each digit"),
                h(
                  "span",
                  { class: "reader-bars is-labels", "aria-hidden": "true" },
                  LABELS.map((label) => h("span", {}, label)),
                ),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            BITS.map((bits) =>
              h(
                "tr",
                { "data-bits": bits },
                h("th", { scope: "row" }, bits === 32 ? "float32" : `${bits} bits`),
                h("td", { class: "reader-bytes" }),
                h("td", { class: "reader-reads" }),
                h(
                  "td",
                  {},
                  h(
                    "span",
                    { class: "reader-bars", role: "img", "aria-label": "nothing drawn" },
                    LABELS.map(() => h("span", {})),
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
      h("p", { class: "reader-status" }, "The first stroke loads the network, 0.4\u00a0MB."),
    ),
  );
