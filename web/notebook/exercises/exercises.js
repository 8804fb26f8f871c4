// The exercises of one notebook: their editors and buttons, and the reader's progress.

import { h, toDom } from "../../shell/drawing/tree.js";
import { Kernel } from "../kernel.js";
import { Exercise } from "./exercise.js";
import { exportProgress, importProgress, solvedExercises } from "./progress.js";

/** Exercises of all notebooks. */
const TOTAL = 34;

/**
 * @param {HTMLElement} notebook
 * @param {(message: string) => void} announce
 */
export function connectExercises(notebook, announce) {
  const elements = /** @type {NodeListOf<HTMLElement>} */ (notebook.querySelectorAll(".exercise"));
  const last = [...elements].at(-1);
  if (!last) return;
  // A worker of their own: an endless loop does not end the notebook's variables.
  const kernel = new Kernel();
  const status = toDom(h("p", { class: "exercise-progress" }));
  const text = document.createElement("span");
  const exercises = [...elements].map(
    (element) => new Exercise(element, { kernel, announce, onSolved: () => show() }),
  );
  const show = () => {
    const solved = solvedExercises();
    const here = exercises.filter(({ id }) => solved.has(id)).length;
    text.textContent =
      `${here} of ${exercises.length} solved in this notebook, ` +
      `${solved.size} of ${TOTAL} in the course.`;
    for (const exercise of exercises) exercise.showSolved(solved.has(exercise.id));
  };
  status.append(text, exportButton(announce), importButton(announce, show));
  last.after(status);
  show();
}

/** @param {(message: string) => void} announce */
function exportButton(announce) {
  const button = toDom(
    h("button", { type: "button", class: "button", "data-action": "export-progress" }, "Export"),
  );
  button.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([exportProgress()], { type: "application/json" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = "zeropoint-exercises.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    announce(`${link.download} was made.`);
  });
  return button;
}

/**
 * @param {(message: string) => void} announce
 * @param {() => void} show
 */
function importButton(announce, show) {
  const input = /** @type {HTMLInputElement} */ (
    toDom(h("input", { type: "file", accept: ".json", class: "visually-hidden", tabindex: -1 }))
  );
  input.setAttribute("aria-label", "A file of exported progress");
  const button = toDom(
    h("button", { type: "button", class: "button", "data-action": "import-progress" }, "Import"),
  );
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    const [file] = input.files ?? [];
    if (!file) return;
    try {
      const count = importProgress(await file.text());
      announce(`${count} solved exercises were read from ${file.name}.`);
      show();
    } catch (error) {
      announce(`${file.name} cannot be read: ${/** @type {Error} */ (error).message}`);
    }
    input.value = "";
  });
  const both = document.createDocumentFragment();
  both.append(button, input);
  return both;
}
