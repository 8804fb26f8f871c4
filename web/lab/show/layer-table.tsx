// The table of layers and schemes: a grid whose visible rows alone are in the document.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { Component, createRef, type HTMLAttributes } from "preact";
import { closest } from "../../shell/dom.js";
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

/** Columns before the schemes; on a narrow screen the name is a line of its own above the others. */
const OWN_COLUMNS = { wide: ["name", "shape", "plan"], narrow: ["name", "plan"] };
const isNarrow = matchMedia("(max-width: 40rem)");
const isTouched = matchMedia("(pointer: coarse)");

/** Height of a row in pixels: --row in layer-table.css, and on a narrow screen --name-line above it. */
const rowHeight = () => (isTouched.matches ? 44 : 34) + (isNarrow.matches ? 28 : 0);

/** Whether the figures of a layer are errors of outputs, of which the planned one has two marks, and an estimate three. */
function hasManyMarks({ rows }: Layer) {
  const row = rows.values().next().value;
  return row !== undefined && fieldOf(row, "sqnr") !== "sqnr";
}

/** The layers whose names contain a text, in order. @param sort  a column, with - in front for descending */
export function shownLayers(
  layers: readonly Layer[],
  { metric, filter, sort }: { metric: Metric; filter: string; sort: string },
) {
  const found = layers.filter(({ name }) => name.toLowerCase().includes(filter.toLowerCase()));
  const column = sort.replace(/^-/, "");
  if (!column) return found;
  const sign = sort.startsWith("-") ? -1 : 1;
  const missing = METRICS[metric].isMoreBetter ? Infinity : -Infinity;
  const keyOf = (layer: Layer) => {
    if (column === "name") return layer.name;
    if (column === "shape") return layer.byteLength;
    if (column === "plan") return layer.planned ?? "";
    const row = layer.rows.get(column);
    return row ? figureOf(row, metric) : missing;
  };
  return found.sort((a, b) => {
    const [left, right] = [keyOf(a), keyOf(b)];
    return sign * (left < right ? -1 : left > right ? 1 : 0);
  });
}

interface Props {
  layers: readonly Layer[];
  /** Those of the layers that the filter leaves, in order. */
  shown: readonly Layer[];
  schemes: readonly string[];
  metric: Metric;
  sort: string;
  /** Why the plan gives a layer its scheme. */
  reasonOf: (layer: Layer) => string;
  /** scheme: undefined for a layer's own columns */
  onOpen: (layer: Layer, scheme: string | undefined) => void;
  onSort: (sort: string) => void;
}

const TITLES: Record<string, string> = { name: "Layer", shape: "Shape", plan: "Plan" };

/** Of the head of a column, which is pressed once for ascending, again for descending, and again for no order. */
const nextSort = (sort: string, column: string) =>
  sort === column ? `-${column}` : sort === `-${column}` ? "" : column;

export class LayerTable extends Component<Props> {
  /** Row and column of the cell that has or gets the focus. */
  #at = { row: 0, column: 0 };
  #box = createRef<HTMLDivElement>();
  #virtualizer = new Virtualizer<HTMLDivElement, Element>({
    count: 0,
    getScrollElement: () => this.#box.current,
    estimateSize: rowHeight,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => this.setState({}),
  });

  override componentDidMount() {
    this.#virtualizer._didMount();
    this.#virtualizer._willUpdate();
    isNarrow.addEventListener("change", () => {
      this.#virtualizer.measure();
      this.setState({});
    });
  }

  override componentDidUpdate() {
    this.#virtualizer._willUpdate();
  }

  /** Scrolls to a layer and focuses it. */
  show(name: string) {
    const row = this.props.shown.findIndex((layer) => layer.name === name);
    if (row >= 0) this.#focus(row, 0);
  }

  focusCell() {
    this.#cellAt()?.focus({ preventScroll: true });
  }

  get #ownColumns() {
    return isNarrow.matches ? OWN_COLUMNS.narrow : OWN_COLUMNS.wide;
  }

  get #columns() {
    return [...this.#ownColumns, ...this.props.schemes];
  }

  override render({ layers, shown, schemes, metric }: Props) {
    this.#at.row = Math.min(this.#at.row, Math.max(0, shown.length - 1));
    this.#virtualizer.setOptions({ ...this.#virtualizer.options, count: shown.length });
    // Decibels are the shortest texts, but with several marks only if these are above them.
    const isShort = metric === "sqnr";
    const marks = isShort && layers.some(hasManyMarks) ? "has-many-marks" : "";
    const letters = layers.map(({ shape }) => shapeText(shape).length);
    const style = {
      "--schemes": schemes.length,
      "--shape-letters": letters.reduce((a, b) => Math.max(a, b), 0),
    };
    return (
      <div
        ref={this.#box}
        class={`layer-table ${isShort ? "has-short-texts" : ""} ${marks}`}
        role="grid"
        aria-label="Error of each layer by scheme"
        aria-rowcount={shown.length + 1}
        aria-colcount={this.#columns.length}
        style={style}
        onClick={(event) => this.#click(event)}
        onKeyDown={(event) => this.#key(event)}
      >
        <div class="layer-head" role="rowgroup">
          <div class="layer-row" role="row" aria-rowindex={1}>
            {this.#columns.map((column, i) => this.#head(column, i))}
          </div>
        </div>
        <div
          class="layer-body"
          role="rowgroup"
          style={{ height: `${this.#virtualizer.getTotalSize()}px` }}
        >
          {this.#virtualizer
            .getVirtualItems()
            .filter(({ index }) => index < shown.length)
            .map(({ index, start }) => this.#row(index, start))}
        </div>
      </div>
    );
  }

  #head(column: string, i: number) {
    const { sort, onSort } = this.props;
    const isSorted = sort.replace("-", "") === column;
    const direction = sort.startsWith("-") ? "descending" : "ascending";
    return (
      <div
        key={column}
        role="columnheader"
        aria-colindex={i + 1}
        aria-sort={isSorted ? direction : "none"}
        class={i < this.#ownColumns.length ? `is-${column}` : "is-scheme"}
      >
        <button type="button" data-sort={column} onClick={() => onSort(nextSort(sort, column))}>
          {TITLES[column] ?? column}
          {isSorted && (direction === "ascending" ? " ↑" : " ↓")}
        </button>
      </div>
    );
  }

  /** Keyed by its place, where the focus stays when the order changes. */
  #row(index: number, top: number) {
    const layer = this.props.shown[index];
    return (
      <div
        key={index}
        class="layer-row"
        role="row"
        aria-rowindex={index + 2}
        style={{ transform: `translateY(${top}px)` }}
      >
        {this.#columns.map((column, i) => (
          <div
            role={i === 0 ? "rowheader" : "gridcell"}
            aria-colindex={i + 1}
            data-row={index}
            data-column={i}
            tabIndex={index === this.#at.row && i === this.#at.column ? 0 : -1}
            {...(i < this.#ownColumns.length
              ? this.#ownCell(layer, column)
              : schemeCell(layer, column, this.props.metric))}
          />
        ))}
      </div>
    );
  }

  #ownCell(layer: Layer, column: string): HTMLAttributes<HTMLDivElement> {
    const { name, shape, planned, isPinned } = layer;
    const own = { class: `is-${column}` };
    if (column === "name") return { ...own, title: name, children: <bdi>{name}</bdi> };
    if (column === "shape") return { ...own, children: shapeText(shape) };
    return {
      ...own,
      title: this.props.reasonOf(layer) || undefined,
      "aria-label": isPinned ? `${planned}, pinned` : undefined,
      children: isPinned ? `■ ${planned ?? ""}` : planned,
    };
  }

  #cellAt(): HTMLElement | null | undefined {
    const { row, column } = this.#at;
    return this.#box.current?.querySelector(`[data-row="${row}"][data-column="${column}"]`);
  }

  #focus(row: number, column: number) {
    this.#at = {
      row: Math.max(0, Math.min(this.props.shown.length - 1, row)),
      column: Math.max(0, Math.min(this.#columns.length - 1, column)),
    };
    this.#virtualizer.scrollToIndex(this.#at.row, { align: "auto" });
    this.setState({});
    requestAnimationFrame(() => {
      this.focusCell();
      this.#cellAt()?.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }

  #click(event: Event) {
    const cell = closest(event, "[data-row]");
    if (!cell) return;
    this.#focus(Number(cell.dataset.row), Number(cell.dataset.column));
    this.#open();
  }

  #open() {
    const { shown, schemes, onOpen } = this.props;
    const layer = shown[this.#at.row];
    const scheme = this.#columns[this.#at.column];
    if (!layer) return;
    if (!schemes.includes(scheme)) onOpen(layer, undefined);
    else if (layer.rows.has(scheme)) onOpen(layer, scheme);
  }

  #key(event: KeyboardEvent) {
    if (!closest(event, "[data-row]")) return;
    const { row, column } = this.#at;
    const page = Math.max(1, Math.floor((this.#box.current?.clientHeight ?? 0) / rowHeight()) - 2);
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

/** The error of a layer by a scheme. */
function schemeCell(layer: Layer, scheme: string, metric: Metric): HTMLAttributes<HTMLDivElement> {
  const row = layer.rows.get(scheme);
  if (!row)
    return { class: "is-scheme is-empty", "aria-label": `${scheme}: no figure`, children: "·" };
  const isPlanned = layer.planned === scheme;
  const field = fieldOf(row, metric);
  const isOutput = field !== metric;
  const isEstimate = isEstimated(row, field);
  const isUnwritten = row.isWritten === false;
  const text = metricText(metric, figureOf(row, metric));
  const marks = `${isPlanned ? "● " : ""}${isEstimate ? "≈ " : ""}${isOutput ? "→ " : ""}`;
  const kind = `${isEstimate ? "estimated " : ""}${isOutput ? "output " : ""}`;
  const state = isPlanned ? ", in the plan" : isUnwritten ? ", not stored by the output" : "";
  const loss = Math.max(0, Math.min(1, (40 - figureOf(row, "sqnr")) / 40));
  return {
    class: `is-scheme${isPlanned ? " is-planned" : ""}${isEstimate ? " is-estimate" : ""}${isUnwritten ? " is-unwritten" : ""}`,
    "aria-label": `${scheme}: ${kind}${text}${state}`,
    style: { "--loss": `${(100 * loss).toFixed(0)}%` },
    children: [marks && <span class="cell-marks">{marks}</span>, text],
  };
}
