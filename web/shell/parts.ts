// Content of views that are not in the document: fetched when a view is opened, and inserted in pieces, so that no
// task of the page is long.

import { inSlices } from "./slices.js";
import { trustedHtml } from "./trusted.js";

/** Marks in the file of a view: the first piece follows the first mark. The same marks are in build/page-html.mjs. */
const PIECE = "<!-- piece -->";
const END = "<!-- end -->";

const loading = new Map<HTMLElement, Promise<void>>();

export const isFilled = (view: HTMLElement) => view.dataset.part === undefined;

/**
 * Loads the content of a view, once.
 * @returns rejected if it cannot be loaded: the next call tries again
 */
export function fill(view: HTMLElement): Promise<void> {
  const found = loading.get(view);
  if (found) return found;
  const filling = isFilled(view) ? Promise.resolve() : load(view);
  loading.set(view, filling);
  filling.catch(() => {
    view.dataset.failed = "";
    loading.delete(view);
  });
  return filling;
}

async function load(view: HTMLElement) {
  const response = await fetch(view.dataset.part as string);
  if (!response.ok) throw new Error(`${response.url} answers ${response.status}`);
  const text = await response.text();
  const end = text.indexOf(END);
  if (end < 0) throw new Error(`${response.url} ends early`);
  const [, ...pieces] = text.slice(0, end).split(PIECE);
  view.querySelector(".part-link")?.remove();
  delete view.dataset.failed;
  const template = document.createElement("template");
  await inSlices(pieces, (piece) => {
    template.innerHTML = trustedHtml(piece);
    view.append(template.content);
    // Lays the piece out now, so that its time counts in this slice.
    view.getBoundingClientRect();
  });
  delete view.dataset.part;
}
