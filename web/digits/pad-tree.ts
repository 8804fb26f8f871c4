// Paper to draw a digit on, and buttons to clear it and to take a digit of the data.

import { h } from "../shell/drawing/tree.js";

export const padTree = () => [
  h(
    "div",
    { class: "pad-paper" },
    h("canvas", {
      class: "pad",
      tabindex: 0,
      role: "application",
      "aria-label":
        "Paper for a digit. The arrow keys move the pen, the space bar lowers and lifts it.",
    }),
    h("p", { class: "pad-hint", "aria-hidden": "true" }, "Draw a digit here"),
  ),
  h(
    "div",
    { class: "pad-tools" },
    h("button", { type: "button", class: "button", "data-action": "clear" }, "Clear"),
    h(
      "div",
      { class: "pad-take", role: "group", "aria-label": "Take a digit of the data" },
      h("span", { "aria-hidden": "true" }, "or take a"),
      Array.from({ length: 10 }, (_, label) =>
        h(
          "button",
          { type: "button", class: "button", "data-label": label },
          h("span", { class: "visually-hidden" }, "Take a "),
          String(label),
        ),
      ),
    ),
  ),
];
