// Puts a plot of a cell into the page; loaded with the first plot.

import { toDom } from "../../shell/drawing/tree.js";
import { THEME_EVENT } from "../../shell/theme.js";
import { quantizationErrorPlot } from "./heat-map.js";
import { linesFigure, linesTable } from "./lines.js";
import { connectTable } from "./paged-table.js";

/**
 * @param {HTMLElement} place  replaced by the plot
 * @param {import("../kernel.js").Plot} plot
 * @param {() => number} roomOf  the width of the output, in pixels
 */
export function showPlot(place, plot, roomOf) {
  if (plot.kind === "lines") showLines(place, plot, roomOf);
  else showHeatMaps(place, plot);
}

/**
 * Heat maps are drawn again when the theme changes.
 * @param {HTMLElement} place
 * @param {import("./heat-map.js").Plot} plot
 */
function showHeatMaps(place, plot) {
  let figure = quantizationErrorPlot(plot);
  place.replaceWith(figure);
  const draw = () => {
    if (!figure.isConnected) return document.removeEventListener(THEME_EVENT, draw);
    const fresh = quantizationErrorPlot(plot);
    figure.replaceWith(fresh);
    figure = fresh;
  };
  document.addEventListener(THEME_EVENT, draw);
}

/**
 * A line chart is drawn again when its room changes: a telephone is turned, or a notebook that ran out of
 * sight is shown.
 * @param {HTMLElement} place
 * @param {import("./lines-plot.js").LinesPlot} plot
 * @param {() => number} roomOf
 */
function showLines(place, plot, roomOf) {
  let room = roomOf();
  const draw = () => toDom(linesFigure(plot, room));
  const figure = draw();
  const output = /** @type {HTMLElement} */ (place.parentElement);
  place.replaceWith(figure);
  connectTable(/** @type {Element} */ (figure.querySelector("details")), linesTable(plot));
  const observer = new ResizeObserver(() => {
    if (!figure.isConnected) return observer.disconnect();
    const width = roomOf();
    if (width <= 0 || width === room) return;
    room = width;
    // The table stays as it is, open or not.
    const details = /** @type {Element} */ (figure.querySelector("details"));
    const fresh = Array.from(draw().children).filter((part) => !part.matches("details"));
    figure.replaceChildren(...fresh, details);
  });
  observer.observe(output);
}
