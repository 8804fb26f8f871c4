// The exercises of one notebook: their editors and buttons, and the reader's progress.

import { h, toDom } from "../../shell/drawing/tree.js";
import { messageOf } from "../../shell/message-of.js";
import { Kernel } from "../kernel.js";
import { Exercise } from "./exercise.js";
import { exportProgress, importProgress, solvedExercises } from "./progress.js";

/** Exercises of all notebooks. */
const TOTAL = 34;

export function connectExercises(notebook: HTMLElement, announce: (message: string) => void) {
  const elements = notebook.querySelectorAll<HTMLElement>(".exercise");
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

function exportButton(announce: (message: string) => void) {
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

function importButton(announce: (message: string) => void, show: () => void) {
  const input = toDom(
    h("input", { type: "file", accept: ".json", class: "visually-hidden", tabindex: -1 }),
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
      announce(`${file.name} cannot be read: ${messageOf(error)}`);
    }
    input.value = "";
  });
  const both = document.createDocumentFragment();
  both.append(button, input);
  return both;
}
