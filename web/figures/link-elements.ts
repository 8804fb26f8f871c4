// Shows one element of a figure in all of its grids.

/** Shows one element of the figure in all of its grids, on hover and on focus. */
export function connectLinked(drawing: HTMLElement) {
  const show = (element: number) => {
    const own = drawing.querySelector(`[data-first][data-element="${element}"]`);
    if (!(own instanceof HTMLElement)) return;
    const { slice } = own.dataset;
    for (const cell of drawing.querySelectorAll("[data-element]")) {
      const isOwn = cell.getAttribute("data-element") === String(element);
      cell.toggleAttribute("data-shown", isOwn);
      cell.toggleAttribute("data-sharing", cell.getAttribute("data-slice") === slice);
      if (cell.hasAttribute("data-first")) cell.setAttribute("tabindex", isOwn ? "0" : "-1");
    }
    for (const cell of drawing.querySelectorAll("[data-scale]")) {
      cell.toggleAttribute("data-shown", cell.getAttribute("data-scale") === slice);
    }
    for (const line of drawing.querySelectorAll("[data-equation]")) {
      line.toggleAttribute("hidden", line.getAttribute("data-equation") !== String(element));
    }
  };
  const elementOf = (target: EventTarget | null) =>
    target instanceof Element
      ? target.closest("[data-element]")?.getAttribute("data-element")
      : undefined;
  for (const type of ["pointerover", "focusin", "click"]) {
    drawing.addEventListener(type, ({ target }) => {
      const element = elementOf(target);
      if (element) show(Number(element));
    });
  }
  drawing.addEventListener("keydown", (event) => {
    const element = elementOf(event.target);
    if (!element) return;
    const [row, column] = [Math.floor(Number(element) / 3), Number(element) % 3];
    const places: Record<string, [number, number]> = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      Home: [row, 0],
      End: [row, 2],
    };
    const to = places[event.key];
    if (!to) return;
    event.preventDefault();
    const [i, j] = to.map((index) => Math.max(0, Math.min(2, index)));
    const cell = drawing.querySelector(`[data-first][data-element="${3 * i + j}"]`);
    if (cell instanceof HTMLElement) cell.focus();
  });
  return {
    /** Makes the cells take the focus, beginning with the one that is shown. */
    mark() {
      const first = drawing.querySelector("[data-first][data-shown]");
      if (first) show(Number(first.getAttribute("data-element")));
    },
  };
}
