// What the header of the file says: name, facts, metadata.

import { bytesText, countText, nounText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { formatText } from "../format.js";

/** Values of all tensors. @param {readonly { shape: readonly number[] }[]} tensors */
export const parametersOf = (tensors) =>
  tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);

/**
 * @param {HTMLElement} parent
 * @param {any} header  of the command open
 */
export function showHeader(parent, { name, size, format, metadata, tensors }) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (parent.querySelector(selector));
  const dtypes = [...new Set(tensors.map((/** @type {any} */ { dtype }) => dtype))].join(", ");
  find(".lab-name").textContent = name;
  find(".lab-facts").textContent = [
    formatText(format),
    nounText(tensors.length, "tensor"),
    `${countText(parametersOf(tensors))} parameters`,
    dtypes,
    bytesText(size),
  ].join("\u00a0· ");
  const details = find(".lab-metadata");
  details.hidden = metadata.length === 0;
  const lines = metadata.map((/** @type {[string, string]} */ [key, text]) =>
    h("div", {}, h("dt", {}, key), h("dd", {}, text)),
  );
  details.replaceChildren(
    toDom(h("summary", {}, nounText(metadata.length, "line"), " of metadata")),
    toDom(h("dl", {}, lines)),
  );
}
