// Puts a plot of a cell into the page; loaded with the first plot.

import { find } from "../../shell/dom.js";
import { toDom } from "../../shell/drawing/tree.js";
import { THEME_EVENT } from "../../shell/theme.js";
import type { Plot } from "../kernel.js";
import { type Plot as HeatMaps, quantizationErrorPlot } from "./heat-map.js";
import { linesFigure, linesTable } from "./lines.js";
import type { LinesPlot } from "./lines-plot.js";
import { connectTable } from "./paged-table.js";

/**
 * @param place  replaced by the plot
 * @param roomOf  the width of the output, in pixels
 */
export function showPlot(place: HTMLElement, plot: Plot, roomOf: () => number) {
  if (plot.kind === "lines") showLines(place, plot, roomOf);
  else showHeatMaps(place, plot);
}

/** What draws a figure of heat maps again; a figure that a later run replaces is forgotten. */
const drawAgain = new WeakMap<Element, () => void>();

/** Heat maps are drawn again when the theme changes. */
function showHeatMaps(place: Element, plot: HeatMaps) {
  const figure = quantizationErrorPlot(plot);
  place.replaceWith(figure);
  drawAgain.set(figure, () => showHeatMaps(figure, plot));
}

document.addEventListener(THEME_EVENT, () => {
  for (const figure of document.querySelectorAll(".plot")) drawAgain.get(figure)?.();
});

/**
 * A line chart is drawn again when its room changes: a telephone is turned, or a notebook that ran out of
 * sight is shown.
 */
function showLines(place: HTMLElement, plot: LinesPlot, roomOf: () => number) {
  let room = roomOf();
  const draw = () => toDom(linesFigure(plot, room));
  const figure = draw();
  place.replaceWith(figure);
  connectTable(find(figure, "details"), linesTable(plot));
  // Called, too, when a later run takes the figure out of the document.
  const observer = new ResizeObserver(() => {
    if (!figure.isConnected) return observer.disconnect();
    const width = roomOf();
    if (width <= 0 || width === room) return;
    room = width;
    // The table stays as it is, open or not.
    const details = find(figure, "details");
    const fresh = Array.from(draw().children).filter((part) => !part.matches("details"));
    figure.replaceChildren(...fresh, details);
  });
  observer.observe(figure);
}
