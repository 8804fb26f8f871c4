// Exports of the playground: a link, code, files, and a notebook cell.

import { useRef, useState } from "preact/hooks";
import type { Notebook } from "../../notebook/notebook.js";
import { find } from "../../shell/dom.js";
import { Drawn } from "../../shell/drawing/drawn.js";
import { memo } from "../../shell/drawing/hooks.js";
import { icon } from "../../shell/drawing/icons.js";
import { writeLink } from "../link.js";
import type { Playground } from "../playground.js";
import { cardOf } from "./card.js";
import { cell, javaScript, pyTorch } from "./code.js";
import { offer, toCsv, toJson, toPicture, toSvg } from "./files.js";

const BUTTONS = [
  ["link", "Copy link", "copy"],
  ["js", "JavaScript", "download"],
  ["py", "PyTorch", "download"],
  ["json", "JSON", "download"],
  ["csv", "CSV", "download"],
  ["svg", "SVG", "download"],
  ["png", "PNG", "download"],
  ["card", "Card", "download"],
  ["cell", "Open as a notebook cell", "pencil"],
] as const;

export const Exports = memo(({ playground }: { playground: Playground }) => {
  const [note, say] = useState("");
  const place = useRef<HTMLDivElement>(null);
  const notebook = useRef<Promise<Notebook>>(null);

  const run = async (name: (typeof BUTTONS)[number][0]) => {
    const { view, state, announce } = playground;
    const { data, result, otherResult, source, selected } = state;
    if (!data || !result) return;
    const { settings, evaluation } = result;
    const { hash, isComplete } = await writeLink(state);
    const link = new URL(hash, document.baseURI).href;
    const missing = isComplete ? "" : " The data is too large for a link: it holds the settings.";
    const file = (ending: string, content: BlobPart, type: string) => {
      offer(`zeropoint-playground.${ending}`, new Blob([content], { type }));
      say(`Saved as zeropoint-playground.${ending}.`);
    };
    const picture = (canvas: HTMLCanvasElement) =>
      canvas.toBlob((blob) => blob && file("png", blob, "image/png"));
    const copy = () =>
      navigator.clipboard.writeText(link).then(
        () => say(`The link is copied.${missing}`),
        () => say(`The browser does not allow copying: the link is in the address.${missing}`),
      );
    const openCell = async () => {
      if (!place.current) return;
      const { createNotebook } = await import("../as-cell.js");
      place.current.hidden = false;
      notebook.current ??= createNotebook(place.current, announce);
      const [only] = (await notebook.current).cells;
      const text = cell(settings, source, data);
      // Reset restores this code, not an empty cell.
      only.originalSource = text;
      only.replaceSource(text);
      only.element.scrollIntoView({ block: "nearest" });
      find(only.element, "button.run").focus();
      say("The cell is below. It runs when you run it.");
    };
    const svg = () => toSvg(find(view, ".play-histogram", SVGSVGElement));
    const all = { ...data, ...result, link };
    const element = Math.min(selected, data.values.length - 1);
    const actions = {
      link: copy,
      js: () => file("mjs", javaScript(settings, source, data), "text/javascript"),
      py: () => file("py", pyTorch(settings, source, data, evaluation), "text/x-python"),
      json: () => file("json", toJson(all), "application/json"),
      csv: () => file("csv", toCsv(all), "text/csv"),
      svg: () => file("svg", svg(), "image/svg+xml"),
      png: () => picture(toPicture(view)),
      card: () => picture(cardOf(view, source, data, otherResult, result, element)),
      cell: openCell,
    };
    await actions[name]();
  };

  return (
    <section class="play-exports" aria-label="Take it with you">
      <h2>Take it with you</h2>
      <p class="play-buttons">
        {BUTTONS.map(([name, text, iconName]) => (
          <button
            key={name}
            type="button"
            class="button"
            data-export={name}
            onClick={() => run(name)}
          >
            <Drawn trees={icon(iconName)} />
            <span>{text}</span>
          </button>
        ))}
      </p>
      <p class="play-note" role="status">
        {note}
      </p>
      <div class="play-notebook notebook" ref={place} hidden />
    </section>
  );
});
