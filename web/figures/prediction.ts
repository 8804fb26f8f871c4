// A question before a drawing: the drawing is shown when it is answered.

import { find } from "../shell/dom.js";

export function connectPrediction(figure: HTMLElement) {
  const question = figure.querySelector(".predict");
  if (!(question instanceof HTMLElement)) return;
  const verdict = find(question, ".predict-verdict");
  question.hidden = false;
  question.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button") : null;
    const choice = button?.dataset.choice;
    if (!button || choice === undefined) return;
    const { answer } = question.dataset;
    for (const each of question.querySelectorAll("button")) {
      each.setAttribute("aria-pressed", String(each === button));
      each.toggleAttribute("data-right", each.dataset.choice === answer);
    }
    verdict.textContent = choice === answer ? `Yes: ${answer}.` : `Not ${choice}, but ${answer}.`;
    figure.dataset.predicted = "";
  });
}
