// The table of layers and schemes: a grid whose visible rows alone are in the document.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { find } from "../../shell/dom.js";
import { h, type Nested, type Tree, toDom } from "../../shell/drawing/tree.js";
import {
  fieldOf,
  figureOf,
  isEstimated,
  METRICS,
  type Metric,
  metricText,
  shapeText,
} from "../format.js";
import type { Layer } from "../layers.js";

/** The content of a layer's own column. */
function textOf(layer: Layer, column: string) {
  if (column === "name") return h("bdi", {}, layer.name);
  if (column === "shape") return shapeText(layer.shape);
  return [layer.isPinned && "■ ", layer.planned ?? ""];
}

/** Applies the positions and shades that the tree carries as data: the page's policy refuses style attributes. */
function withStyles(row: Element) {
  const { style, dataset } = row as HTMLElement;
  style.transform = `translateY(${dataset.top}px)`;
  for (const cell of row.querySelectorAll<HTMLElement>("[data-loss]")) {
    cell.style.setProperty("--loss", cell.dataset.loss ?? "");
  }
  return row;
}

/** Columns before the schemes; on a narrow screen the name is a line of its own above the others. */
const OWN_COLUMNS = { wide: ["name", "shape", "plan"], narrow: ["name", "plan"] };
const isNarrow = matchMedia("(max-width: 40rem)");
const isTouched = matchMedia("(pointer: coarse)");

/** Height of a row in pixels: --row in layer-table.css, and on a narrow screen --name-line above it. */
const rowHeight = () => (isTouched.matches ? 44 : 34) + (isNarrow.matches ? 28 : 0);

/** Whether the figures of a layer are estimates of the errors of outputs, of which the planned one has three marks. */
function hasManyMarks({ rows }: Layer) {
  const row = rows.values().next().value;
  if (!row) return false;
  const field = fieldOf(row, "sqnr");
  return field !== "sqnr" && isEstimated(row, field);
}

/** Makes a cell of a row. */
type Cell = (
  column: number,
  name: string,
  content: Nested,
  attributes?: Record<string, unknown>,
) => Tree;

export class LayerTable {
  #layers: Layer[] = [];
  #shown: Layer[] = [];
  #schemes: readonly string[] = [];
  #metric: Metric = "sqnr";
  #filter = "";
  #sort = "";
  /** Row and column of the cell that has or gets the focus. */
  #at = { row: 0, column: 0 };
  #element;
  #body;
  #scroller;
  #virtualizer;
  #onOpen;
  #onSort;
  #reasonOf;

  /** @param handlers  reasonOf: why the plan gives a layer its scheme */
  constructor(
    parent: HTMLElement,
    {
      onOpen,
      onSort,
      reasonOf,
    }: {
      onOpen: (layer: Layer, scheme: string | undefined) => void;
      onSort: (sort: string) => void;
      reasonOf: (layer: Layer) => string;
    },
  ) {
    this.#onOpen = onOpen;
    this.#reasonOf = reasonOf;
    this.#onSort = onSort;
    this.#element = toDom(
      h(
        "div",
        { class: "layer-table", role: "grid", "aria-label": "Error of each layer by scheme" },
        h("div", { class: "layer-head", role: "rowgroup" }),
        h("div", { class: "layer-body", role: "rowgroup" }),
      ),
    ) as HTMLElement;
    parent.replaceChildren(this.#element);
    this.#scroller = this.#element;
    this.#body = find(this.#element, ".layer-body");
    this.#virtualizer = new Virtualizer({
      count: 0,
      getScrollElement: () => this.#scroller,
      estimateSize: rowHeight,
      overscan: 6,
      scrollToFn: elementScroll,
      observeElementRect,
      observeElementOffset,
      onChange: () => this.#draw(),
    });
    this.#virtualizer._didMount();
    isNarrow.addEventListener("change", () => {
      this.#virtualizer.measure();
      this.update({});
    });
    this.#element.addEventListener("click", (event) => this.#click(event));
    this.#element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Shows other layers, schemes or settings; what is left out stays. */
  update({
    layers,
    schemes,
    metric,
    filter,
    sort,
  }: {
    layers?: Layer[];
    schemes?: readonly string[];
    metric?: Metric;
    filter?: string;
    sort?: string;
  }) {
    this.#layers = layers ?? this.#layers;
    this.#schemes = schemes ?? this.#schemes;
    this.#metric = metric ?? this.#metric;
    this.#filter = (filter ?? this.#filter).toLowerCase();
    this.#sort = sort ?? this.#sort;
    this.#shown = this.#sorted(
      this.#layers.filter(({ name }) => name.toLowerCase().includes(this.#filter)),
    );
    // Decibels are the shortest texts.
    const isShort = this.#metric === "sqnr" && !this.#layers.some(hasManyMarks);
    this.#element.classList.toggle("has-short-texts", isShort);
    this.#element.style.setProperty("--schemes", String(this.#schemes.length));
    const letters = this.#layers.map(({ shape }) => shapeText(shape).length);
    const most = letters.reduce((a, b) => Math.max(a, b), 0);
    this.#element.style.setProperty("--shape-letters", String(most));
    this.#element.setAttribute("aria-rowcount", String(this.#shown.length + 1));
    this.#element.setAttribute("aria-colcount", String(this.#columns.length));
    this.#at.row = Math.min(this.#at.row, Math.max(0, this.#shown.length - 1));
    this.#virtualizer.setOptions({ ...this.#virtualizer.options, count: this.#shown.length });
    this.#virtualizer._willUpdate();
    this.#drawHead();
    this.#draw();
  }

  /** Number of layers that the filter leaves. */
  get shownCount() {
    return this.#shown.length;
  }

  /** Scrolls to a layer and focuses it. */
  show(name: string) {
    const row = this.#shown.findIndex((layer) => layer.name === name);
    if (row >= 0) this.#focus(row, 0);
  }

  /** Focuses the current cell. Drawing the rows again takes the focus away while a dialog is open. */
  focusCell() {
    this.#cellAt()?.focus({ preventScroll: true });
  }

  get #ownColumns() {
    return isNarrow.matches ? OWN_COLUMNS.narrow : OWN_COLUMNS.wide;
  }

  get #columns() {
    return [...this.#ownColumns, ...this.#schemes];
  }

  #sorted(layers: Layer[]) {
    const [, minus, column] = /^(-?)(.*)$/.exec(this.#sort) ?? [];
    if (!column) return layers;
    const sign = minus ? -1 : 1;
    const { isMoreBetter } = METRICS[this.#metric];
    const missing = isMoreBetter ? Infinity : -Infinity;
    const keyOf = (layer: Layer) => {
      if (column === "name") return layer.name;
      if (column === "shape") return layer.byteLength;
      if (column === "plan") return layer.planned ?? "";
      const row = layer.rows.get(column);
      return row ? figureOf(row, this.#metric) : missing;
    };
    return [...layers].sort((a, b) => {
      const [left, right] = [keyOf(a), keyOf(b)];
      return sign * (left < right ? -1 : left > right ? 1 : 0);
    });
  }

  #drawHead() {
    const head = find(this.#element, ".layer-head");
    const focused = document.activeElement?.getAttribute("data-sort");
    const titles = { name: "Layer", shape: "Shape", plan: "Plan" };
    const row = h(
      "div",
      { class: "layer-row", role: "row", "aria-rowindex": 1 },
      this.#columns.map((column, i) => {
        const isSorted = this.#sort.replace("-", "") === column;
        const direction = this.#sort.startsWith("-") ? "descending" : "ascending";
        const title = titles[column as keyof typeof titles] ?? column;
        return h(
          "div",
          {
            role: "columnheader",
            "aria-colindex": i + 1,
            "aria-sort": isSorted ? direction : "none",
            class: i < this.#ownColumns.length ? `is-${column}` : "is-scheme",
          },
          h(
            "button",
            { type: "button", "data-sort": column },
            title,
            isSorted && (direction === "ascending" ? " ↑" : " ↓"),
          ),
        );
      }),
    );
    head.replaceChildren(toDom(row));
    if (focused) {
      const again = head.querySelector(`[data-sort="${CSS.escape(focused)}"]`);
      (again as HTMLElement | null)?.focus({ preventScroll: true });
    }
  }

  #draw() {
    const hadFocus = this.#body.contains(document.activeElement);
    this.#body.style.height = `${this.#virtualizer.getTotalSize()}px`;
    const rows = this.#virtualizer
      .getVirtualItems()
      .map(({ index, start }) => withStyles(toDom(this.#row(index, start))));
    this.#body.replaceChildren(...rows);
    if (hadFocus) this.#cellAt()?.focus({ preventScroll: true });
  }

  #row(index: number, top: number) {
    const layer = this.#shown[index];
    const cell: Cell = (column, name, content, attributes = {}) =>
      h(
        "div",
        {
          role: column === 0 ? "rowheader" : "gridcell",
          "aria-colindex": column + 1,
          "data-row": index,
          "data-column": column,
          tabindex: index === this.#at.row && column === this.#at.column ? 0 : -1,
          class: name,
          ...attributes,
        },
        content,
      );
    return h(
      "div",
      {
        class: "layer-row",
        role: "row",
        "aria-rowindex": index + 2,
        "data-top": top,
      },
      this.#columns.map((column, i) => {
        if (i >= this.#ownColumns.length) return this.#schemeCell(cell, layer, column, i);
        const titles = {
          name: layer.name,
          plan: this.#reasonOf(layer),
        } as Record<string, string | undefined>;
        const label = column === "plan" && layer.isPinned && `${layer.planned}, pinned`;
        const attributes = { title: titles[column] || undefined, "aria-label": label };
        return cell(i, `is-${column}`, textOf(layer, column), attributes);
      }),
    );
  }

  #schemeCell(cell: Cell, layer: Layer, scheme: string, column: number) {
    const row = layer.rows.get(scheme);
    if (!row)
      return cell(column, "is-scheme is-empty", "·", { "aria-label": `${scheme}: no figure` });
    const isPlanned = layer.planned === scheme;
    const field = fieldOf(row, this.#metric);
    const isOutput = field !== this.#metric;
    const isEstimate = isEstimated(row, field);
    const text = metricText(this.#metric, figureOf(row, this.#metric));
    const marks = `${isPlanned ? "● " : ""}${isEstimate ? "≈ " : ""}${isOutput ? "→ " : ""}`;
    const kind = `${isEstimate ? "estimated " : ""}${isOutput ? "output " : ""}`;
    const isUnwritten = row.isWritten === false;
    const state = isPlanned ? ", in the plan" : isUnwritten ? ", not stored by the output" : "";
    const label = `${scheme}: ${kind}${text}${state}`;
    const decibels = figureOf(row, "sqnr");
    const level = Math.max(0, Math.min(1, (40 - decibels) / 40));
    return cell(
      column,
      `is-scheme${isPlanned ? " is-planned" : ""}${isEstimate ? " is-estimate" : ""}${isUnwritten ? " is-unwritten" : ""}`,
      [marks && h("span", { class: "cell-marks" }, marks), text],
      { "aria-label": label, "data-loss": `${(100 * level).toFixed(0)}%` },
    );
  }

  #cellAt(): HTMLElement | null {
    const { row, column } = this.#at;
    return this.#body.querySelector(`[data-row="${row}"][data-column="${column}"]`);
  }

  #focus(row: number, column: number) {
    this.#at = {
      row: Math.max(0, Math.min(this.#shown.length - 1, row)),
      column: Math.max(0, Math.min(this.#columns.length - 1, column)),
    };
    this.#virtualizer.scrollToIndex(this.#at.row, { align: "auto" });
    this.#draw();
    requestAnimationFrame(() => {
      this.#draw();
      const cell = this.#cellAt();
      cell?.focus({ preventScroll: true });
      cell?.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }

  #click({ target }: MouseEvent) {
    const element = target as Element;
    const sort = element.closest("[data-sort]")?.getAttribute("data-sort");
    if (sort) {
      const isSame = this.#sort === sort;
      this.update({ sort: isSame ? `-${sort}` : this.#sort === `-${sort}` ? "" : sort });
      this.#onSort(this.#sort);
      return;
    }
    const cell = element.closest("[data-row]") as HTMLElement | null;
    if (!cell) return;
    this.#focus(Number(cell.dataset.row), Number(cell.dataset.column));
    this.#open();
  }

  #open() {
    const layer = this.#shown[this.#at.row];
    const scheme = this.#columns[this.#at.column];
    if (!layer) return;
    if (!this.#schemes.includes(scheme)) this.#onOpen(layer, undefined);
    else if (layer.rows.has(scheme)) this.#onOpen(layer, scheme);
  }

  #key(event: KeyboardEvent) {
    if (!(event.target as Element).closest("[data-row]")) return;
    const { row, column } = this.#at;
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / rowHeight()) - 2);
    const far = event.ctrlKey || event.metaKey;
    const actions: Record<string, () => void> = {
      ArrowDown: () => this.#focus(row + 1, column),
      ArrowUp: () => this.#focus(row - 1, column),
      ArrowRight: () => this.#focus(row, column + 1),
      ArrowLeft: () => this.#focus(row, column - 1),
      PageDown: () => this.#focus(row + page, column),
      PageUp: () => this.#focus(row - page, column),
      Home: () => this.#focus(far ? 0 : row, 0),
      End: () => this.#focus(far ? Infinity : row, Infinity),
      Enter: () => this.#open(),
      " ": () => this.#open(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
