// Exports of the playground: a link, code, files, and a notebook cell.

import { icon } from "../../shell/drawing/icons.js";
import { h } from "../../shell/drawing/tree.js";
import { writeLink } from "../link.js";
import { cardOf } from "./card.js";
import { cell, javaScript, pyTorch } from "./code.js";
import { offer, toCsv, toJson, toSvg } from "./files.js";

/** @typedef {any} Playground  of playground.js */

export function exportsTree() {
  const button = (/** @type {string} */ name, /** @type {string} */ text, iconName = "download") =>
    h(
      "button",
      { type: "button", class: "button", "data-export": name },
      icon(iconName),
      h("span", {}, text),
    );
  return h(
    "section",
    { class: "play-exports", "aria-label": "Take it with you" },
    h("h2", {}, "Take it with you"),
    h(
      "p",
      { class: "play-buttons" },
      button("link", "Copy link", "copy"),
      button("js", "JavaScript"),
      button("py", "PyTorch"),
      button("json", "JSON"),
      button("csv", "CSV"),
      button("svg", "SVG"),
      button("png", "PNG"),
      button("card", "Card"),
      button("cell", "Open as a notebook cell", "pencil"),
    ),
    h("p", { class: "play-note", role: "status" }),
    h("div", { class: "play-notebook notebook", hidden: true }),
  );
}

/**
 * @param {HTMLElement} section
 * @param {Playground} playground
 */
export function connectExports(section, playground) {
  const note = /** @type {HTMLElement} */ (section.querySelector(".play-note"));
  const place = /** @type {HTMLElement} */ (section.querySelector(".play-notebook"));
  /** @type {Promise<import("../../notebook/notebook.js").Notebook> | undefined} */
  let notebook;

  /** @param {string} name */
  const run = async (name) => {
    const { data, result, source } = playground;
    if (!data || !result) return;
    const { settings } = result;
    const { hash, isComplete } = await writeLink(playground);
    const link = new URL(hash, document.baseURI).href;
    const missing = isComplete ? "" : " The data is too large for a link: it holds the settings.";
    const file = (
      /** @type {string} */ ending,
      /** @type {BlobPart} */ content,
      /** @type {string} */ type,
    ) => {
      offer(`zeropoint-playground.${ending}`, new Blob([content], { type }));
      note.textContent = `Saved as zeropoint-playground.${ending}.`;
    };
    switch (name) {
      case "link":
        try {
          await navigator.clipboard.writeText(link);
          note.textContent = `The link is copied.${missing}`;
        } catch {
          note.textContent = `The browser does not allow copying: the link is in the address.${missing}`;
        }
        break;
      case "js":
        file("mjs", javaScript(settings, source, data), "text/javascript");
        break;
      case "py":
        file("py", pyTorch(settings, source, data, result.evaluation), "text/x-python");
        break;
      case "json":
        file("json", toJson({ ...data, ...result, link }), "application/json");
        break;
      case "csv":
        file("csv", toCsv({ ...data, ...result, link }), "text/csv");
        break;
      case "svg":
        file("svg", toSvg(playground.histogram.svg), "image/svg+xml");
        break;
      case "png":
      case "card": {
        const picture = name === "png" ? playground.grids.picture() : cardOf(playground);
        picture.toBlob((/** @type {Blob | null} */ blob) => blob && file("png", blob, "image/png"));
        break;
      }
      default: {
        const { createNotebook } = await import("../as-cell.js");
        place.hidden = false;
        notebook ??= createNotebook(place, playground.announce);
        const [only] = (await notebook).cells;
        const text = cell(settings, source, data);
        // Reset restores this code, not an empty cell.
        only.originalSource = text;
        only.replaceSource(text);
        only.element.scrollIntoView({ block: "nearest" });
        /** @type {HTMLElement} */ (only.element.querySelector("button.run")).focus();
        note.textContent = "The cell is below. It runs when you run it.";
      }
    }
  };
  section.addEventListener("click", ({ target }) => {
    const button = /** @type {Element} */ (target).closest("button");
    const name = button?.dataset.export;
    if (name) run(name);
  });
}
