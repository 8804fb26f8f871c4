// The views of the page.

import { openNotebook, runAll, waitFor } from "../page.mjs";

export const NOTEBOOKS = [
  "quantize-and-dequantize",
  "finer-granularity",
  "per-channel",
  "schemes-observers-qconfig",
  "quantizer-from-scratch",
  "what-it-costs",
  "nearest-vectors",
  "formats-of-files",
];

export const VIEWS = ["overview", ...NOTEBOOKS];

/** Opens a view, runs its cells and waits until its figures react to input. */
export async function show(page, view) {
  if (view !== "overview") {
    await openNotebook(page, view);
    await runAll(page);
  }
  await waitForFigures(page);
}

/** Waits until the figures of the current view react to input. */
export function waitForFigures(page) {
  return waitFor(page, () =>
    [...document.querySelectorAll(".view[data-current] [data-figure] form")].every(
      (form) => !form.hidden,
    ),
  );
}

/** Opens every view whose content is fetched, so that the document has all of it. */
export async function fetchAll(page) {
  for (const id of await page.$$eval(".view[data-part]", (views) => views.map((view) => view.id))) {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, id);
    await page.waitForSelector(`[id="${id}"][data-current]:not([data-part])`);
  }
}
