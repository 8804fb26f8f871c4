// A number in a sentence that can be dragged or moved with the arrow keys: another handle of a figure's slider.

import { closest, find } from "../shell/dom.js";
import { h } from "../shell/drawing/tree.js";

/** @param name  of the range control */
export function scrub(name: string, value: number) {
  return h("span", { class: "scrub", "data-scrub": name }, String(value).replace("-", "−"));
}

/**
 * Makes the numbers of a figure move their sliders. They are drawn anew with every change, so that the figure
 * listens, and returns the focus.
 */
export function connectScrubs(drawing: HTMLElement, form: HTMLFormElement) {
  let drag: { range: HTMLInputElement; from: number; x: number } | undefined;
  const scrubOf = (event: Event) => closest(event, "[data-scrub]");
  const rangeOf = (element: HTMLElement) =>
    find(form, `input[name="${element.dataset.scrub}"]`, HTMLInputElement);
  const move = (range: HTMLInputElement, to: number) => {
    range.value = String(to);
    range.dispatchEvent(new Event("input", { bubbles: true }));
  };
  drawing.addEventListener("pointerdown", (event) => {
    const element = scrubOf(event);
    if (!element) return;
    const range = rangeOf(element);
    drag = { range, from: Number(range.value), x: event.clientX };
    drawing.setPointerCapture(event.pointerId);
    event.preventDefault();
    element.focus();
  });
  drawing.addEventListener("pointermove", ({ clientX }) => {
    if (!drag) return;
    const { range, from, x } = drag;
    const whole = Number(range.max) - Number(range.min);
    move(range, from + ((clientX - x) / 300) * whole);
  });
  for (const type of ["pointerup", "pointercancel"]) {
    drawing.addEventListener(type, () => {
      drag = undefined;
    });
  }
  drawing.addEventListener("keydown", (event) => {
    const element = scrubOf(event);
    if (!element) return;
    const range = rangeOf(element);
    const step = Number(range.step) * (event.shiftKey ? 10 : 1);
    const coarse = (Number(range.max) - Number(range.min)) / 10;
    const now = Number(range.value);
    const places: Record<string, number> = {
      ArrowLeft: now - step,
      ArrowDown: now - step,
      ArrowRight: now + step,
      ArrowUp: now + step,
      PageDown: now - coarse,
      PageUp: now + coarse,
      Home: Number(range.min),
      End: Number(range.max),
    };
    if (!(event.key in places)) return;
    event.preventDefault();
    move(range, places[event.key]);
  });

  return {
    /** Makes the numbers sliders; before scripts run they are text. */
    mark() {
      for (const element of drawing.querySelectorAll<HTMLElement>("[data-scrub]")) {
        const range = rangeOf(element);
        const label = range.closest("label")?.querySelector("span")?.textContent ?? range.name;
        const attributes = {
          role: "slider",
          tabindex: "0",
          "aria-label": `${label}, in the sentence`,
          "aria-valuemin": range.min,
          "aria-valuemax": range.max,
          "aria-valuenow": range.value,
        };
        for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      }
    },
  };
}
