// Shows the current settings as a notebook of one cell, which runs only when the user runs it.

import { Notebook } from "../notebook/notebook.js";
import { toolbarTree } from "../notebook/toolbar.js";
import { h, toDom } from "../shell/drawing/tree.js";

const ID = "play-cell-1";

/** A notebook of one cell. */
export async function createNotebook(place: HTMLElement, announce: (message: string) => void) {
  place.append(
    toDom(toolbarTree("Notebook of the playground", 1)),
    toDom(
      h(
        "div",
        {
          class: "cell",
          id: ID,
          "data-cell": "cell-1",
          "data-label": "Cell 1",
          role: "group",
          "aria-labelledby": `${ID}-label`,
        },
        h(
          "div",
          { class: "cell-head" },
          h("span", { class: "cell-counter" }, "In [ ]"),
          h("span", { class: "cell-label", id: `${ID}-label` }, "Cell 1"),
          h("span", { class: "cell-tools", hidden: true }),
        ),
        h(
          "div",
          { class: "cell-code" },
          h("pre", { tabindex: 0, role: "region", "aria-label": "Code of Cell 1" }, h("code", {})),
        ),
        h("div", { class: "cell-result" }, h("div", { class: "cell-output", hidden: true })),
      ),
    ),
  );
  const notebook = new Notebook(place, announce);
  await notebook.start();
  return notebook;
}
