// Makes the page's illustrations live: the same drawings as in the built page, redrawn as their
// controls and their width change.

import { figures } from "./figures/index.js";
import { makeScrollable } from "./scrollable.js";
import { toDom } from "./tree.js";

/** @type {Promise<typeof import("zeropoint")> | undefined} */
let loading;

/** Starts zeropoint in the page, when the first illustration is shown. */
function loadZeropoint() {
  loading ??= import("zeropoint").then(async (zeropoint) => {
    await zeropoint.init();
    return zeropoint;
  });
  return loading;
}

/** @param {HTMLElement} view */
export async function showFigures(view) {
  const waiting = /** @type {NodeListOf<HTMLElement>} */ (
    view.querySelectorAll("[data-figure]:not([data-live])")
  );
  if (waiting.length === 0) return;
  for (const element of waiting) element.dataset.live = "";
  try {
    const zeropoint = await loadZeropoint();
    for (const element of waiting) makeLive(element, zeropoint);
  } catch {
    // The built drawings stay, without controls; a cell that runs reports what is wrong.
    loading = undefined;
    for (const element of waiting) delete element.dataset.live;
  }
}

/**
 * @param {HTMLElement} element
 * @param {typeof import("zeropoint")} zeropoint
 */
function makeLive(element, zeropoint) {
  const figure = figures[element.dataset.figure ?? ""];
  const drawing = /** @type {HTMLElement} */ (element.querySelector(".figure-drawing"));
  const form = element.querySelector("form");
  let width = 0;

  const draw = () => {
    if (width === 0) return;
    drawing.replaceChildren(toDom(figure.draw(readControls(form), zeropoint, width)));
    makeScrollable(drawing);
  };

  form?.addEventListener("input", draw);
  form?.addEventListener("submit", (event) => event.preventDefault());
  if (form) form.hidden = false;
  new ResizeObserver(() => {
    const available = Math.round(Math.min(drawing.clientWidth, 840));
    if (available === width || available === 0) return;
    width = available;
    draw();
  }).observe(drawing);
}

/**
 * @param {HTMLFormElement | null} form
 * @returns {Record<string, string>}
 */
function readControls(form) {
  if (!form) return {};
  for (const output of form.querySelectorAll("output")) {
    const input = form.querySelector(`input[name="${output.name}"]`);
    output.value = /** @type {HTMLInputElement} */ (input).value;
  }
  return /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)));
}
