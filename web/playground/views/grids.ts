// Value, code, restored value and error of every element, in grids that share one selection. A grid is a
// canvas; its table has the numbers.

import { closedTable, connectTable } from "../../notebook/plots/paged-table.js";
import { context2d, find } from "../../shell/dom.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { THEME_EVENT } from "../../shell/theme.js";
import { colorsOf, inkOn, shadeAt } from "./colors.js";
import { indexOf, type Layout, layoutOf } from "./geometry.js";

type Meaning = "real" | "code" | "error";

export interface Panel {
  name: string;
  meaning: Meaning;
  data: ArrayLike<number>;
  /** Of the colours' scale. */
  least: number;
  greatest: number;
  /** Codes without a zero point have the colours of their sizes, as real numbers do. */
  isBySize?: boolean;
  note?: string;
}

const TALLEST = 420; // pixels
const SHORTEST = 96;
const LETTERS = 44; // pixels of a cell from which on its number is written into it
const NARROWEST = 1.35; // times a cell's width, of a number with three digits
const LARGEST = 26; // pixels of a cell without a number
const MARKED = 8; // pixels of a cell from which on a negative number gets a stroke

/** One canvas and its marker. */
class Grid {
  name: string;
  element;
  box;
  canvas;
  marker;
  range;
  /** Whether negative numbers have strokes. */
  isMarked = false;
  #context;
  #cell = { width: 1, height: 1, across: 1, down: 1 };
  /** One pixel per cell; drawn magnified. */
  #small = document.createElement("canvas");
  #smallContext = context2d(this.#small);
  /** The arguments of the last drawing. */
  #drawn: unknown[] = [];

  constructor(name: string) {
    this.name = name;
    this.element = toDom(
      h(
        "figure",
        { class: "play-grid" },
        h("figcaption", {}, h("strong", {}, name), " ", h("span", { class: "play-range" })),
        h(
          "div",
          {
            class: "play-canvas",
            tabindex: 0,
            role: "application",
            "aria-label": `${name}: arrow keys select an element`,
          },
          h("canvas", { "aria-hidden": "true" }),
          h("div", { class: "play-marker", hidden: true }),
        ),
      ),
    );
    this.box = find(this.element, ".play-canvas");
    this.canvas = find(this.element, "canvas", HTMLCanvasElement);
    this.marker = find(this.element, ".play-marker");
    this.range = find(this.element, ".play-range");
    this.#context = context2d(this.canvas);
  }

  /** @param room  pixels */
  draw(panel: Panel, { rows, columns }: Layout, room: number) {
    const { data, least, greatest, note } = panel;
    const colors = colorsOf(panel.meaning);
    const wanted = [data, least, greatest, note, rows, columns, room, devicePixelRatio, colors];
    if (wanted.every((each, i) => each === this.#drawn[i])) return;
    this.#drawn = wanted;
    const hasLetters = room / columns >= LETTERS && rows <= 24;
    const dense = Math.max(1, devicePixelRatio);
    const across = Math.ceil(columns / (room * dense));
    const down = Math.ceil(rows / (TALLEST * dense));
    const width = Math.min(hasLetters ? 72 : LARGEST, room / Math.ceil(columns / across));
    // Stretches a few rows of many columns, so that they are visible.
    const tall = Math.max(width, Math.min(LARGEST, SHORTEST / rows));
    const height = hasLetters ? 26 : Math.min(tall, TALLEST / Math.ceil(rows / down));
    this.#cell = { width, height, across, down };
    const [w, h] = [Math.ceil(columns / across) * width, Math.ceil(rows / down) * height];
    const { canvas } = this;
    canvas.width = Math.max(1, Math.round(w * dense));
    canvas.height = Math.max(1, Math.round(h * dense));
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
    this.#paint(panel, rows, columns);
    this.isMarked = !hasLetters && Math.min(width, height) >= MARKED && least < 0;
    if (hasLetters) this.#write(panel, rows, columns, dense);
    else if (this.isMarked) this.#stroke(panel, columns, dense);
    this.range.textContent = note ?? `${formatNumber(least)} to ${formatNumber(greatest)}`;
    if (across * down > 1) this.range.textContent += `, largest of ${down} × ${across}`;
  }

  #paint(panel: Panel, rows: number, columns: number) {
    const { across, down } = this.#cell;
    const { data } = panel;
    const [w, h] = [Math.ceil(columns / across), Math.ceil(rows / down)];
    const image = new ImageData(w, h);
    const pixels = new Uint32Array(image.data.buffer);
    const table = new Uint32Array(colorsOf(panel.meaning).buffer);
    const isWhole = across * down === 1;
    for (let i = 0; i < h; i++) {
      for (let j = 0; j < w; j++) {
        const element = isWhole
          ? i * columns + j
          : this.#extreme(data, rows, columns, i * down, j * across);
        if (element < 0 || element >= data.length) continue;
        pixels[i * w + j] = table[shadeAt(shareOf(panel, data[element])) / 4];
      }
    }
    const { canvas } = this;
    const small = this.#small;
    small.width = w;
    small.height = h;
    this.#smallContext.putImageData(image, 0, 0);
    this.#context.imageSmoothingEnabled = false;
    this.#context.drawImage(small, 0, 0, canvas.width, canvas.height);
  }

  /** The element of largest size in a bin; −1 beyond the end of a wrapped list. */
  #extreme(data: ArrayLike<number>, rows: number, columns: number, top: number, left: number) {
    const { across, down } = this.#cell;
    let extreme = -1;
    for (let i = top; i < Math.min(rows, top + down); i++) {
      for (let j = left; j < Math.min(columns, left + across); j++) {
        const at = i * columns + j;
        if (at >= data.length) continue;
        if (extreme < 0 || Math.abs(data[at]) > Math.abs(data[extreme])) extreme = at;
      }
    }
    return extreme;
  }

  #write(panel: Panel, rows: number, columns: number, dense: number) {
    const { width, height } = this.#cell;
    const context = this.#context;
    context.font = `${13 * dense}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const table = colorsOf(panel.meaning);
    for (let at = 0; at < Math.min(rows * columns, panel.data.length); at++) {
      const [i, j] = [Math.floor(at / columns), at % columns];
      context.fillStyle = inkOn(table, shadeAt(shareOf(panel, panel.data[at])));
      const x = (j + 0.5) * width * dense;
      const room = (width - 4) * dense;
      const three = shortNumber(panel.data[at], 3);
      // Letters that are pressed together much more cannot be read.
      const isTooWide = context.measureText(three).width > NARROWEST * room;
      const text = isTooWide ? shortNumber(panel.data[at], 2) : three;
      context.fillText(text, x, (i + 0.52) * height * dense, room);
    }
  }

  /** A stroke on each negative number: colours show sizes alone. */
  #stroke(panel: Panel, columns: number, dense: number) {
    const { width, height } = this.#cell;
    const table = colorsOf(panel.meaning);
    const paths: Record<string, Path2D> = { "#000": new Path2D(), "#fff": new Path2D() };
    for (let at = 0; at < panel.data.length; at++) {
      if (!(panel.data[at] < 0)) continue;
      const path = paths[inkOn(table, shadeAt(shareOf(panel, panel.data[at])))];
      const [x, y] = [(at % columns) * width, Math.floor(at / columns) * height];
      path.moveTo((x + 2) * dense, (y + height - 2) * dense);
      path.lineTo((x + width - 2) * dense, (y + 2) * dense);
    }
    const context = this.#context;
    context.lineWidth = dense;
    for (const [ink, path] of Object.entries(paths)) {
      context.strokeStyle = ink;
      context.stroke(path);
    }
  }

  /** The element at a place of the screen; undefined beyond the end. */
  elementAt(
    { clientX, clientY }: PointerEvent,
    data: ArrayLike<number>,
    { rows, columns }: Layout,
  ) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const { width, height, across, down } = this.#cell;
    const [j, i] = [Math.floor((clientX - left) / width), Math.floor((clientY - top) / height)];
    if (i < 0 || j < 0 || i * down >= rows || j * across >= columns) return undefined;
    const element = this.#extreme(data, rows, columns, i * down, j * across);
    return element < 0 ? undefined : element;
  }

  mark(element: number, { columns }: Layout) {
    const { width, height, across, down } = this.#cell;
    const i = Math.floor(Math.floor(element / columns) / down);
    const j = Math.floor((element % columns) / across);
    const { style } = this.marker;
    this.marker.hidden = false;
    style.transform = `translate(${j * width}px, ${i * height}px)`;
    style.width = `${Math.max(width, 5)}px`;
    style.height = `${Math.max(height, 5)}px`;
  }
}

function shareOf({ meaning, least, greatest, isBySize }: Panel, value: number) {
  if (meaning === "code" && !isBySize) return (value - least) / (greatest - least || 1);
  return Math.abs(value) / (Math.max(Math.abs(least), Math.abs(greatest)) || 1);
}

function shortNumber(value: number, digits: number) {
  if (Number.isInteger(value)) return formatNumber(value);
  return formatNumber(Number(value.toPrecision(digits)));
}

/** All grids of a view, with one selection. */
export class Grids {
  place: HTMLElement;
  onSelect: (element: number) => void;
  tables;
  list;
  note;
  #grids = new Map<string, Grid>();
  panels: Panel[] = [];
  layout = { rows: 1, columns: 1 };
  selected = 0;
  #hovered: number | undefined;
  /** The width of a grid; measured only when it changes, because measuring forces a layout. */
  #room = 0;
  #observer;

  constructor(place: HTMLElement, onSelect: (element: number) => void) {
    this.place = place;
    this.onSelect = onSelect;
    this.tables = toDom(h("div", { class: "play-table" }, closedTable("all elements")));
    this.list = document.createElement("div");
    this.list.className = "play-grids";
    this.note = toDom(h("p", { class: "play-note" }, "A stroke marks a negative number."));
    place.append(this.list, this.note, this.tables);
    this.#observer = new ResizeObserver(([{ contentRect }]) => {
      this.#room = Math.floor(contentRect.width);
      this.#draw();
    });
    document.addEventListener(THEME_EVENT, () => this.#draw());
  }

  show(panels: Panel[], shape: readonly number[]) {
    this.panels = panels;
    this.layout = layoutOf(shape);
    this.selected = Math.min(this.selected, panels[0].data.length - 1);
    for (const [name, { element }] of this.#grids) {
      if (panels.some((panel) => panel.name === name)) continue;
      element.remove();
      this.#grids.delete(name);
    }
    for (const panel of panels) {
      const grid = this.#grids.get(panel.name) ?? this.#add(panel.name);
      this.list.append(grid.element);
    }
    this.list.toggleAttribute("data-small", this.layout.columns <= 4);
    this.#draw();
    this.#showTable(shape);
  }

  #add(name: string) {
    const grid = new Grid(name);
    this.#grids.set(name, grid);
    if (this.#grids.size === 1) this.#observer.observe(grid.box);
    const elementAt = (event: PointerEvent) => {
      const panel = this.panels.find((each) => each.name === name);
      return panel && grid.elementAt(event, panel.data, this.layout);
    };
    grid.box.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      this.#hovered = elementAt(event);
      this.#mark();
    });
    grid.box.addEventListener("pointerleave", () => {
      this.#hovered = undefined;
      this.#mark();
    });
    grid.box.addEventListener("click", (event) => {
      const element = elementAt(event);
      if (element !== undefined) this.select(element);
    });
    grid.box.addEventListener("keydown", (event) => {
      const to = this.#neighbour(event.key);
      if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.select(to);
    });
    return grid;
  }

  #neighbour(key: string) {
    const { columns } = this.layout;
    const size = this.panels[0]?.data.length ?? 0;
    const row = this.selected - (this.selected % columns);
    const places: Record<string, number> = {
      ArrowLeft: this.selected - 1,
      ArrowRight: this.selected + 1,
      ArrowUp: this.selected - columns,
      ArrowDown: this.selected + columns,
      Home: row,
      End: Math.min(size, row + columns) - 1,
      PageUp: this.selected % columns,
      PageDown: size - 1 - ((size - 1 - this.selected) % columns),
    };
    const to = places[key];
    return to === undefined ? undefined : Math.max(0, Math.min(size - 1, to));
  }

  select(element: number) {
    this.selected = element;
    this.#hovered = undefined;
    this.#mark();
  }

  #draw() {
    const room = this.#room;
    if (room < 20) return;
    for (const panel of this.panels) this.#grids.get(panel.name)?.draw(panel, this.layout, room);
    this.note.hidden = ![...this.#grids.values()].some(({ isMarked }) => isMarked);
    this.#mark();
  }

  #mark() {
    const element = this.#hovered ?? this.selected;
    for (const grid of this.#grids.values()) grid.mark(element, this.layout);
    this.onSelect(element);
  }

  #showTable(shape: readonly number[]) {
    const { panels } = this;
    const old = find(this.tables, "details", HTMLDetailsElement);
    const fresh = toDom(closedTable("all elements"));
    connectTable(fresh, {
      caption: "Each element with its code",
      rows: panels[0].data.length,
      columns: panels.length,
      rowName: (row) => indexOf(shape, row),
      columnName: (column) => panels[column].name,
      cell: (row, column) => formatNumber(panels[column].data[row]),
    });
    const wasOpen = old.open;
    const hadFocus = old.contains(document.activeElement);
    old.replaceWith(fresh);
    fresh.open = wasOpen;
    if (hadFocus) fresh.querySelector("summary")?.focus();
  }

  /** The grids side by side, as one picture. */
  picture() {
    const grids = [...this.#grids.values()];
    const gap = 24;
    const letters = 18 * Math.max(1, devicePixelRatio);
    const canvas = document.createElement("canvas");
    canvas.width = grids.reduce((sum, grid) => sum + grid.canvas.width + gap, gap);
    canvas.height = Math.max(...grids.map((grid) => grid.canvas.height)) + 2 * gap + letters;
    const context = context2d(canvas);
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.font = `600 ${letters * 0.8}px system-ui, sans-serif`;
    let x = gap;
    for (const grid of grids) {
      context.fillStyle = "#1c2127";
      context.fillText(grid.name, x, gap + letters * 0.6, grid.canvas.width);
      context.drawImage(grid.canvas, x, gap + letters);
      x += grid.canvas.width + gap;
    }
    return canvas;
  }
}
