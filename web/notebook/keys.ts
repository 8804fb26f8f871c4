// Keys of a notebook outside of its editors: j and k move between cells, Enter edits, Shift+Enter runs, Escape closes.

import { closest } from "../shell/dom.js";
import type { Notebook } from "./notebook.js";

/** The keys work while the focus is inside the notebook: single letters must not be taken from the page. */
export function connectKeys(notebook: Notebook) {
  for (const { element } of notebook.cells) element.tabIndex = -1;
  notebook.element.addEventListener("keydown", (event) => {
    const { key, target, altKey, ctrlKey, metaKey, shiftKey } = event;
    if (event.defaultPrevented || altKey || metaKey || isEditable(target)) return;
    if (key === "Escape") close(event);
    const cell = notebook.cells.find(({ element }) => element === target);
    if (key === "Enter" && cell) {
      if (shiftKey) notebook.runAndAdvance(cell, "cell");
      else if (ctrlKey) notebook.run([cell]);
      else cell.focus();
      event.preventDefault();
    } else if ((key === "j" || key === "k") && !ctrlKey && !shiftKey) {
      const next = neighbour(notebook, key === "j" ? 1 : -1);
      next?.element.focus({ preventScroll: true });
      next?.bringIntoView();
      event.preventDefault();
    }
  });
}

/** Closes the list of keys or the PyTorch code that has the focus, and leaves the focus on its summary. */
function close(event: Event) {
  const details = closest(event, ":is(.keys, .cell-torch)[open]");
  const summary = details?.querySelector("summary");
  // Where PyTorch takes the place of the code, it stays.
  if (!(details instanceof HTMLDetailsElement) || !summary?.offsetParent) return;
  details.open = false;
  summary.focus();
}

function isEditable(target: EventTarget | null) {
  if (!(target instanceof HTMLElement)) return true;
  return target.matches("input, select, textarea, [contenteditable], .editor");
}

/** The cell after or before the one that has the focus; without one, the first in sight. */
function neighbour({ cells }: Notebook, step: 1 | -1) {
  const at = cells.findIndex(({ hasFocus }) => hasFocus);
  if (at >= 0) return cells[at + step];
  const inSight = cells.findIndex(({ element }) => element.getBoundingClientRect().bottom > 120);
  return step > 0 ? cells[inSight] : cells[inSight - 1];
}
