// Parts of a drawing that set a control of its figure: bits to flip, and numbers to take.

const SETTER = "[data-set]";

/**
 * @param {HTMLElement} drawing
 * @param {HTMLFormElement} form
 */
export function connectSetters(drawing, form) {
  const setterOf = (/** @type {EventTarget | null} */ target) => {
    const setter = target instanceof Element ? target.closest(SETTER) : null;
    return setter instanceof HTMLElement ? setter : undefined;
  };
  /** The setters of one row, of which Tab reaches one. @param {HTMLElement} setter */
  const rowOf = (setter) =>
    /** @type {HTMLElement[]} */ ([
      ...(setter.closest("[data-row]")?.querySelectorAll(SETTER) ?? [setter]),
    ]);
  const set = (/** @type {HTMLElement} */ setter) => {
    const control = form.querySelector(`[name="${setter.dataset.set}"]`);
    if (!(control instanceof HTMLInputElement)) return;
    control.value = setter.dataset.to ?? "";
    setter.focus();
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  drawing.addEventListener("click", ({ target }) => {
    const setter = setterOf(target);
    if (setter) set(setter);
  });
  drawing.addEventListener("keydown", (event) => {
    const setter = setterOf(event.target);
    if (!setter) return;
    const row = rowOf(setter);
    const at = row.indexOf(setter);
    /** @type {Record<string, number>} */
    const places = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: row.length - 1 };
    if (event.key === "Enter" || event.key === " ") set(setter);
    else if (event.key in places) reach(row[places[event.key]] ?? setter);
    else return;
    event.preventDefault();
  });
  const reach = (/** @type {HTMLElement} */ setter) => {
    for (const each of rowOf(setter)) each.tabIndex = each === setter ? 0 : -1;
    setter.focus();
  };
  drawing.addEventListener("focusin", ({ target }) => {
    const setter = setterOf(target);
    if (setter) for (const each of rowOf(setter)) each.tabIndex = each === setter ? 0 : -1;
  });
  return {
    /** Makes the parts buttons; before scripts run they are text. */
    mark() {
      for (const setter of /** @type {NodeListOf<HTMLElement>} */ (
        drawing.querySelectorAll(SETTER)
      )) {
        setter.setAttribute("role", "button");
        if (setter.dataset.label) setter.setAttribute("aria-label", setter.dataset.label);
        setter.tabIndex = rowOf(setter)[0] === setter ? 0 : -1;
      }
    },
  };
}
