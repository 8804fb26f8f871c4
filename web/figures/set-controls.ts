// Parts of a drawing that set a control of its figure: bits to flip, and numbers to take.

import { closest } from "../shell/dom.js";

const SETTER = "[data-set]";

export function connectSetters(drawing: HTMLElement, form: HTMLFormElement) {
  /** The setters of one row, of which Tab reaches one. */
  const rowOf = (setter: HTMLElement) => [
    ...(setter.closest("[data-row]")?.querySelectorAll<HTMLElement>(SETTER) ?? [setter]),
  ];
  const set = (setter: HTMLElement) => {
    const control = form.querySelector(`[name="${setter.dataset.set}"]`);
    if (!(control instanceof HTMLInputElement)) return;
    control.value = setter.dataset.to ?? "";
    setter.focus();
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  drawing.addEventListener("click", (event) => {
    const setter = closest(event, SETTER);
    if (setter) set(setter);
  });
  drawing.addEventListener("keydown", (event) => {
    const setter = closest(event, SETTER);
    if (!setter) return;
    const row = rowOf(setter);
    const at = row.indexOf(setter);
    const places: Record<string, number> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: row.length - 1,
    };
    if (event.key === "Enter" || event.key === " ") set(setter);
    else if (event.key in places) reach(row[places[event.key]] ?? setter);
    else return;
    event.preventDefault();
  });
  const reach = (setter: HTMLElement) => {
    for (const each of rowOf(setter)) each.tabIndex = each === setter ? 0 : -1;
    setter.focus();
  };
  drawing.addEventListener("focusin", (event) => {
    const setter = closest(event, SETTER);
    if (setter) for (const each of rowOf(setter)) each.tabIndex = each === setter ? 0 : -1;
  });
  return {
    /** Makes the parts buttons; before scripts run they are text. */
    mark() {
      for (const setter of drawing.querySelectorAll<HTMLElement>(SETTER)) {
        setter.setAttribute("role", "button");
        if (setter.dataset.label) setter.setAttribute("aria-label", setter.dataset.label);
        setter.tabIndex = rowOf(setter)[0] === setter ? 0 : -1;
      }
    },
  };
}
