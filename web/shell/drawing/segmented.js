// A segmented control: one of a few choices, side by side.

import { h } from "./tree.js";

/**
 * @param {string} legend
 * @param {string} name
 * @param {[string, string][]} choices  each with its value and its text
 * @param {Record<string, string | boolean>} [attributes]
 * @param {string} [chosen]  its value
 */
export const segmented = (legend, name, choices, attributes = {}, chosen = undefined) =>
  h(
    "fieldset",
    { class: "segmented", "data-part": name, ...attributes },
    h("legend", {}, legend),
    choices.map(([value, text]) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name, value, checked: value === chosen }),
        h("span", {}, text),
      ),
    ),
  );
