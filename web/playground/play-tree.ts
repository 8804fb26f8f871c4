// The elements of the playground, in their order.

import { h } from "../shell/drawing/tree.js";
import { controlsTree } from "./controls.js";
import { dataTree } from "./data/data-panel.js";
import { exportsTree } from "./exports/panel.js";
import { inspectorTree } from "./views/inspector.js";

/** What is wrong with the link, above everything else. */
export const damageTree = () =>
  h("p", { class: "play-damage cell-error", role: "alert", hidden: true });

export function playTree() {
  return h(
    "div",
    { class: "play-columns" },
    h(
      "div",
      { class: "play-side" },
      dataTree(),
      h("section", { "aria-label": "Settings" }, h("h2", {}, "Settings"), controlsTree()),
    ),
    h(
      "div",
      { class: "play-main" },
      h("p", { class: "play-damage cell-error", role: "alert", hidden: true }),
      h("p", { class: "play-status", role: "status" }),
      h(
        "section",
        { class: "play-distribution", "aria-label": "Distribution" },
        h("div", { class: "play-histogram-place" }),
      ),
      h(
        "section",
        { class: "play-summary", "aria-label": "Errors" },
        h("div", { class: "play-metrics-place scroll-x" }),
        h(
          "p",
          { class: "play-buttons" },
          h("button", { type: "button", class: "button", "data-action": "keep" }, "Keep as A"),
          h(
            "button",
            { type: "button", class: "button", "data-action": "swap", hidden: true },
            "Swap A and B",
          ),
          h(
            "button",
            { type: "button", class: "button", "data-action": "drop", hidden: true },
            "Drop A",
          ),
        ),
      ),
      inspectorTree(),
      h("section", { class: "play-elements", "aria-label": "Elements" }),
      h("section", { class: "play-curves", "aria-label": "Other settings" }),
      h(
        "section",
        { class: "play-all", "aria-label": "All schemes" },
        h("h2", {}, "All schemes"),
        h("div", { class: "play-schemes-place" }),
      ),
      exportsTree(),
    ),
  );
}
