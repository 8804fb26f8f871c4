// A button of a cell or an exercise: an icon and a text, with a longer label for screen readers.

import { icon } from "../shell/drawing/icons.js";
import { h, toDom } from "../shell/drawing/tree.js";

/**
 * @param {string} text
 * @param {string} iconName
 * @param {string} label
 * @param {Record<string, string>} [attributes]
 */
export const iconButton = (text, iconName, label, attributes = {}) =>
  /** @type {HTMLButtonElement} */ (
    toDom(
      h(
        "button",
        { type: "button", class: "button", "aria-label": label, ...attributes },
        icon(iconName),
        h("span", {}, text),
      ),
    )
  );
