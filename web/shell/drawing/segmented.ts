// A segmented control: one of a few choices, side by side.

import { h } from "./tree.js";

/**
 * @param choices  each with its value and its text
 * @param chosen  its value
 */
export const segmented = (
  legend: string,
  name: string,
  choices: [string, string][],
  attributes: Record<string, string | boolean> = {},
  chosen?: string,
) =>
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
