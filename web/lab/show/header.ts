// What the header of the file says: name, facts, metadata.

import { find } from "../../shell/dom.js";
import { bytesText, countText, nounText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { formatText } from "../format.js";
import type { Header } from "../model/commands.js";

/** Values of all tensors. */
export const parametersOf = (tensors: readonly { shape: readonly number[] }[]) =>
  tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);

/** @param header  of the command open */
export function showHeader(parent: HTMLElement, { name, size, format, metadata, tensors }: Header) {
  const dtypes = [...new Set(tensors.map(({ dtype }) => dtype))].join(", ");
  find(parent, ".lab-name").textContent = name;
  find(parent, ".lab-facts").textContent = [
    formatText(format),
    nounText(tensors.length, "tensor"),
    `${countText(parametersOf(tensors))} parameters`,
    dtypes,
    bytesText(size),
  ].join("\u00a0· ");
  const details = find(parent, ".lab-metadata");
  details.hidden = metadata.length === 0;
  const lines = metadata.map(([key, text]) => h("div", {}, h("dt", {}, key), h("dd", {}, text)));
  details.replaceChildren(
    toDom(h("summary", {}, nounText(metadata.length, "line"), " of metadata")),
    toDom(h("dl", {}, lines)),
  );
}
