// A button of a cell or an exercise: an icon and a text, with a longer label for screen readers.

import { icon } from "../shell/drawing/icons.js";
import { h, toDom } from "../shell/drawing/tree.js";

export const iconButton = (
  text: string,
  iconName: string,
  label: string,
  attributes: Record<string, string> = {},
) =>
  toDom(
    h(
      "button",
      { type: "button", class: "button", "aria-label": label, ...attributes },
      icon(iconName),
      h("span", {}, text),
    ),
  );
