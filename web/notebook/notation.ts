// The notation of all notebooks' cells: JavaScript, the same step in PyTorch, or both.

import { segmented } from "../shell/drawing/segmented.js";

type Notation = "javascript" | "pytorch" | "both";

const KEY = "zeropoint-notation";

const NOTATIONS: [Notation, string][] = [
  ["javascript", "JavaScript"],
  ["pytorch", "PyTorch"],
  ["both", "Both"],
];

/** @param name  of the radio buttons, one for each notebook */
export const notationTree = (name: string) =>
  segmented("Cells in", name, NOTATIONS, { class: "segmented notation", hidden: true });

function kept(): Notation {
  try {
    const value = localStorage.getItem(KEY);
    return NOTATIONS.find(([name]) => name === value)?.[0] ?? "javascript";
  } catch {
    return "javascript";
  }
}

function keep(notation: Notation) {
  try {
    localStorage.setItem(KEY, notation);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

/** Shows all notebooks' cells in a notation. */
function show(notation: Notation) {
  document.documentElement.dataset.notation = notation;
  for (const details of document.querySelectorAll<HTMLDetailsElement>(".cell-torch")) {
    details.open = notation !== "javascript";
  }
  for (const radio of document.querySelectorAll<HTMLInputElement>(".notation input")) {
    radio.checked = radio.value === notation;
  }
}

/** Connects a notebook's choice, and shows the cells as the reader chose before, in any notebook. */
export function connectNotation(notebook: HTMLElement) {
  const control = notebook.querySelector<HTMLElement>(".notation");
  if (!control) return;
  control.hidden = false;
  control.addEventListener("change", ({ target }) => {
    const { value } = target as HTMLInputElement;
    const notation = value as Notation;
    keep(notation);
    show(notation);
  });
  show((document.documentElement.dataset.notation as Notation | undefined) ?? kept());
}
