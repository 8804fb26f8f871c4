// All tensors of the file: type, shape, bits and bytes. A name opens the values.

import type { ModelTensor } from "zeropoint/models";
import { bytesText } from "../../shell/drawing/numbers.js";
import { factsTable } from "../../shell/drawing/table.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { shapeText } from "../format.js";

/** Rows in the document at once; a filter finds the others. */
export const MOST_ROWS = 200;

const typeText = ({ dtype, layout }: ModelTensor) => (layout ? `${dtype}, ${layout}` : dtype);

/** Bits of a value as the file has it, without scales that are tensors of their own. */
export function bitsText({ shape, byteLength }: ModelTensor) {
  const values = shape.reduce((product, length) => product * length, 1);
  return values > 0 ? String(Number(((8 * byteLength) / values).toFixed(2))) : "–";
}

/**
 * Fills a disclosure with the tensors of a file when it is opened.
 * @param onChoose  called with the tensor whose name is pressed
 */
export function connectTensorList(details: HTMLDetailsElement, onChoose: (name: string) => void) {
  let tensors: readonly ModelTensor[] = [];
  const draw = () => {
    const body = details.querySelector("tbody");
    const count = details.querySelector(".tensor-count");
    if (!body || !count || !details.open) return;
    const filter = details.querySelector("input")?.value.toLowerCase() ?? "";
    const found = tensors.filter(({ name }) => name.toLowerCase().includes(filter));
    const rows = found
      .slice(0, MOST_ROWS)
      .map((tensor) =>
        toDom(
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              h("button", { type: "button", class: "lab-sample" }, h("bdi", {}, tensor.name)),
            ),
            h("td", { class: "is-text" }, typeText(tensor)),
            h("td", {}, bitsText(tensor)),
            h("td", {}, bytesText(tensor.byteLength)),
            h("td", {}, shapeText(tensor.shape)),
          ),
        ),
      );
    body.replaceChildren(...rows);
    const isCut = found.length > rows.length;
    count.textContent = isCut ? `The first ${rows.length} of ${found.length} are shown.` : "";
  };
  details.addEventListener("toggle", draw);
  details.addEventListener("input", draw);
  details.addEventListener("click", ({ target }) => {
    const name = (target as Element).closest("tbody button")?.textContent;
    if (name) onChoose(name);
  });
  /** Shows the tensors of another file. */
  return (all: readonly ModelTensor[]) => {
    tensors = all;
    const heads = ["Tensor", "Type", "Bits per value", "Bytes", "Shape"];
    details.replaceChildren(
      toDom(h("summary", {}, "All tensors: types, bits and values")),
      toDom(
        h(
          "div",
          { class: "lab-controls" },
          h(
            "label",
            {},
            h("span", {}, "Filter"),
            h("input", { type: "search", placeholder: "part of a name", autocomplete: "off" }),
          ),
          h("span", { class: "tensor-count", role: "status" }),
        ),
      ),
      toDom(factsTable(heads, [], { texts: ["Type"] })),
    );
    draw();
  };
}
