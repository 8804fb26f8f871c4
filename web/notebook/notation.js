// The notation of all notebooks' cells: JavaScript, the same step in PyTorch, or both.

import { segmented } from "../shell/drawing/segmented.js";

/** @typedef {"javascript" | "pytorch" | "both"} Notation */

const KEY = "zeropoint-notation";

/** @type {[Notation, string][]} */
const NOTATIONS = [
  ["javascript", "JavaScript"],
  ["pytorch", "PyTorch"],
  ["both", "Both"],
];

/** @param {string} name  of the radio buttons, one for each notebook */
export const notationTree = (name) =>
  segmented("Cells in", name, NOTATIONS, { class: "segmented notation", hidden: true });

/** @returns {Notation} */
function kept() {
  try {
    const value = localStorage.getItem(KEY);
    return NOTATIONS.find(([name]) => name === value)?.[0] ?? "javascript";
  } catch {
    return "javascript";
  }
}

/** @param {Notation} notation */
function keep(notation) {
  try {
    localStorage.setItem(KEY, notation);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

/**
 * Shows all notebooks' cells in a notation.
 * @param {Notation} notation
 */
function show(notation) {
  document.documentElement.dataset.notation = notation;
  for (const details of document.querySelectorAll(".cell-torch")) {
    /** @type {HTMLDetailsElement} */ (details).open = notation !== "javascript";
  }
  for (const input of document.querySelectorAll(".notation input")) {
    const radio = /** @type {HTMLInputElement} */ (input);
    radio.checked = radio.value === notation;
  }
}

/**
 * Connects a notebook's choice, and shows the cells as the reader chose before, in any notebook.
 * @param {HTMLElement} notebook
 */
export function connectNotation(notebook) {
  const control = /** @type {HTMLElement | null} */ (notebook.querySelector(".notation"));
  if (!control) return;
  control.hidden = false;
  control.addEventListener("change", ({ target }) => {
    const { value } = /** @type {HTMLInputElement} */ (target);
    const notation = /** @type {Notation} */ (value);
    keep(notation);
    show(notation);
  });
  show(/** @type {Notation | undefined} */ (document.documentElement.dataset.notation) ?? kept());
}
