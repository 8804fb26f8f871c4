// An exercise as HTML: its starting code, two hints and a solution. All of it can be read without scripts.

import { h, toHtml } from "../shell/drawing/tree.js";
import { codeHtml, torchHtml } from "./cell-html.mjs";

/**
 * @param {import("./read-notebook.mjs").ExerciseText} exercise
 * @param {string} notebook
 */
export function exerciseHtml({ id, title, source, hints, solution }, notebook) {
  if (hints.length !== 2 || solution === "") {
    throw new Error(`exercise ${id} needs two hints and a solution`);
  }
  const anchor = `${notebook}-exercise-${id}`;
  const head = h(
    "div",
    { class: "exercise-head" },
    h("span", { class: "exercise-state" }, "Exercise"),
    h("span", { class: "exercise-tools", hidden: true }),
  );
  const label = `Code of the exercise ${title}`;
  return (
    `<div class="exercise" id="${anchor}" data-exercise="${id}" role="group" ` +
    `aria-label="Exercise: ${title}">${toHtml(head)}` +
    `<div class="exercise-code">${codeHtml(source, label)}</div>${torchHtml(source, `the exercise ${title}`)}` +
    `<div class="exercise-verdict" hidden></div><div class="exercise-help">` +
    hints.map((hint, i) => detailsHtml("hint", `Hint ${i + 1}`, `<p>${hint}</p>`)).join("") +
    detailsHtml(
      "solution",
      "Solution",
      codeHtml(solution, `A solution of ${title}`) + torchHtml(solution, `a solution of ${title}`),
    ) +
    "</div></div>\n"
  );
}

/**
 * @param {"hint" | "solution"} kind
 * @param {string} summary
 * @param {string} html
 */
const detailsHtml = (kind, summary, html) =>
  `<details class="exercise-${kind}"><summary>${summary}</summary>${html}</details>`;
