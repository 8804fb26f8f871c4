// Exports of the playground: a link, code, files, and a notebook cell.

import type { Notebook } from "../../notebook/notebook.js";
import { closest, find } from "../../shell/dom.js";
import { icon } from "../../shell/drawing/icons.js";
import { h } from "../../shell/drawing/tree.js";
import { writeLink } from "../link.js";
import type { Playground } from "../playground.js";
import { cardOf } from "./card.js";
import { cell, javaScript, pyTorch } from "./code.js";
import { offer, toCsv, toJson, toSvg } from "./files.js";

export function exportsTree() {
  const button = (name: string, text: string, iconName = "download") =>
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

export function connectExports(section: HTMLElement, playground: Playground) {
  const note = find(section, ".play-note");
  const place = find(section, ".play-notebook");
  let notebook: Promise<Notebook> | undefined;

  const run = async (name: string) => {
    const { data, result, source } = playground;
    if (!data || !result) return;
    const { settings } = result;
    const { hash, isComplete } = await writeLink(playground);
    const link = new URL(hash, document.baseURI).href;
    const missing = isComplete ? "" : " The data is too large for a link: it holds the settings.";
    const file = (ending: string, content: BlobPart, type: string) => {
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
        picture.toBlob((blob: Blob | null) => blob && file("png", blob, "image/png"));
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
        find(only.element, "button.run").focus();
        note.textContent = "The cell is below. It runs when you run it.";
      }
    }
  };
  section.addEventListener("click", (event) => {
    const name = closest(event, "button")?.dataset.export;
    if (name) run(name);
  });
}
