// Cells of a figure's grids that say more when they are pointed at or have the focus, and show what belongs to them.

import { closest } from "../shell/dom.js";
import { type Tree, toDom } from "../shell/drawing/tree.js";

/** others: the cells that belong to it, by their grid's kind. */
export type Detail = { tree: Tree; others: Record<string, number[]> };

let details = 0;

export function connectCells(
  drawing: HTMLElement,
  detailOf: (kind: string, index: number) => Promise<Detail | undefined>,
) {
  let asked = 0;
  const gridOf = (cell: HTMLElement) => cell.closest<HTMLElement>("[data-kind]");
  const show = async (cell: HTMLElement, grid: HTMLElement) => {
    const kind = grid.dataset.kind ?? "";
    const index = Number(cell.dataset.index);
    const turn = ++asked;
    for (const each of grid.querySelectorAll("[tabindex]")) each.setAttribute("tabindex", "-1");
    cell.tabIndex = 0;
    const detail = await detailOf(kind, index);
    // Another cell has been pointed at, or the figure drawn anew.
    if (!detail || turn !== asked || !drawing.contains(cell)) return;
    for (const each of drawing.querySelectorAll<HTMLElement>("[data-index]")) {
      const own = each === cell;
      const others = detail.others[gridOf(each)?.dataset.kind ?? ""];
      const at = Number(each.dataset.index);
      each.toggleAttribute("data-shown", own);
      each.toggleAttribute("data-sharing", !own && others?.includes(at) === true);
    }
    drawing.querySelector("[data-detail]")?.replaceChildren(toDom(detail.tree));
  };
  for (const type of ["pointerover", "focusin", "click"]) {
    drawing.addEventListener(type, (event) => {
      const cell = closest(event, "[data-index]");
      const grid = cell && gridOf(cell);
      if (grid) show(cell, grid);
    });
  }
  drawing.addEventListener("keydown", (event) => {
    const cell = closest(event, "[data-index]");
    const grid = cell && gridOf(cell);
    if (!grid) return;
    const columns = Number(grid.dataset.columns);
    const index = Number(cell.dataset.index);
    const row = index - (index % columns);
    const cells = grid.querySelectorAll<HTMLElement>("[data-index]");
    const places: Record<string, number> = {
      ArrowLeft: index - 1,
      ArrowRight: index + 1,
      ArrowUp: index - columns,
      ArrowDown: index + columns,
      Home: event.ctrlKey ? 0 : row,
      End: event.ctrlKey ? cells.length - 1 : Math.min(row + columns, cells.length) - 1,
    };
    const to = cells[places[event.key]];
    if (!(event.key in places)) return;
    event.preventDefault();
    to?.focus();
  });
  return {
    /** Makes the cells take the focus: one of each grid by Tab, the others by arrow keys. */
    mark() {
      const detail = drawing.querySelector("[data-detail]");
      if (!detail) return;
      detail.id ||= `detail-${++details}`;
      for (const grid of drawing.querySelectorAll("[data-kind]")) {
        grid.setAttribute("role", "grid");
        const cells = grid.querySelectorAll("[data-index]");
        const first = grid.querySelector("[data-shown]") ?? cells[0];
        for (const cell of cells) {
          cell.setAttribute("tabindex", cell === first ? "0" : "-1");
          cell.setAttribute("aria-describedby", detail.id);
        }
      }
    },
  };
}
