// An illustration as HTML, drawn for wide and for narrow screens.

import { figures } from "../figures/index.js";
import { FULL, PHONE, WIDE } from "../figures/parts.js";
import { icon } from "../shell/drawing/icons.js";
import { segmented } from "../shell/drawing/segmented.js";
import { h, toHtml } from "../shell/drawing/tree.js";

const NARROW = 260; // pixels left for a drawing on a screen of 320 pixels

/**
 * Built for four widths: until scripts draw for the room that there is, and where none may run, the
 * page shows the one that fits, as high as what they will draw. A drawing that fits any width is built once.
 * @param {string} name
 * @param {string} caption
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 */
export function figureHtml(name, caption, zeropoint) {
  const { controls, draw, predict, fitsAnyWidth } = figures[name];
  const values = Object.fromEntries(
    controls.flatMap((control) =>
      control.type === "player" ? [] : [[control.name, String(control.value)]],
    ),
  );
  return toHtml(
    h(
      "figure",
      { class: "figure", "data-figure": name },
      predict && predictionTree(predict),
      controls.length > 0 && h("form", { hidden: true }, controls.map(controlTree)),
      h(
        "div",
        { class: "figure-drawing scroll-x", tabindex: 0 },
        fitsAnyWidth
          ? h("div", {}, draw(values, zeropoint, FULL))
          : ["full", "wide", "phone", "narrow"].map((name, i) =>
              h(
                "div",
                { class: `when-${name}` },
                draw(values, zeropoint, [FULL, WIDE, PHONE, NARROW][i]),
              ),
            ),
      ),
      h("figcaption", {}, caption),
    ),
  );
}

/**
 * A question to answer before the drawing is shown; left out without scripts.
 * @param {import("../figures/index.js").Prediction} prediction
 */
function predictionTree({ question, choices, answer }) {
  return h(
    "div",
    {
      class: "predict",
      role: "group",
      "aria-label": question,
      "data-answer": answer,
      hidden: true,
    },
    h("p", { class: "predict-question" }, question),
    h(
      "p",
      { class: "predict-choices" },
      choices.map((choice) =>
        h("button", { type: "button", class: "button", "data-choice": choice }, choice),
      ),
    ),
    h("p", { class: "predict-verdict", role: "status" }),
  );
}

/** @param {import("../figures/index.js").Control} control */
function controlTree(control) {
  const { name, label } = control;
  if (control.type === "player") {
    return h(
      "div",
      { class: "player", role: "group", "aria-label": label, "data-moves": name },
      h(
        "button",
        { type: "button", class: "button", "data-action": "play" },
        icon("play"),
        icon("pause"),
        h("span", {}, "Play"),
      ),
      h(
        "button",
        { type: "button", class: "button", "data-action": "step" },
        icon("step"),
        h("span", {}, control.next),
      ),
    );
  }
  if (control.type === "choice") {
    return segmented(label, name, control.choices, {}, control.value);
  }
  if (control.type === "text") {
    return h(
      "label",
      { class: "range" },
      h("span", {}, label),
      h("input", {
        type: "text",
        name,
        value: control.value,
        autocomplete: "off",
        spellcheck: "false",
      }),
    );
  }
  const { min, max, step, value, unit } = control;
  return h(
    "label",
    { class: "range" },
    h("span", {}, label),
    h("input", { type: "range", name, min, max, step, value }),
    h("span", {}, h("output", { name }, String(value).replace("-", "−")), unit),
  );
}
