// Paints the grid of a tensor on a canvas: a cell for each element, or for the largest of some.

import { context2d } from "../../shell/dom.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { inkOn, shadeAt } from "./colors.js";
import type { Layout } from "./geometry.js";

export interface Panel {
  name: string;
  meaning: "real" | "code" | "error";
  data: ArrayLike<number>;
  /** Of the colours' scale. */
  least: number;
  greatest: number;
  /** Codes without a zero point have the colours of their sizes, as real numbers do. */
  isBySize?: boolean;
  note?: string;
}

/** The cells of a grid: their size in pixels, and how many elements each of them stands for. */
export interface Cells extends Layout {
  width: number;
  height: number;
  across: number;
  down: number;
  /** Pixels of the canvas in a pixel of the page. */
  dense: number;
  /** Whether numbers are written into them. */
  hasLetters: boolean;
}

const TALLEST = 420; // pixels
const SHORTEST = 96;
const LETTERS = 44; // pixels of a cell from which on its number is written into it
const NARROWEST = 1.35; // times a cell's width, of a number with three digits
const LARGEST = 26; // pixels of a cell without a number
const MARKED = 8; // pixels of a cell from which on a negative number gets a stroke

/** @param room  pixels */
export function cellsOf({ rows, columns }: Layout, room: number): Cells {
  const dense = Math.max(1, devicePixelRatio);
  const hasLetters = room / columns >= LETTERS && rows <= 24;
  const across = Math.ceil(columns / (room * dense));
  const down = Math.ceil(rows / (TALLEST * dense));
  const width = Math.min(hasLetters ? 72 : LARGEST, room / Math.ceil(columns / across));
  // Stretches a few rows of many columns, so that they are visible.
  const tall = Math.max(width, Math.min(LARGEST, SHORTEST / rows));
  const height = hasLetters ? 26 : Math.min(tall, TALLEST / Math.ceil(rows / down));
  return { rows, columns, width, height, across, down, dense, hasLetters };
}

/** Whether negative numbers have strokes. */
export const hasStrokes = ({ least }: Panel, { width, height, hasLetters }: Cells) =>
  !hasLetters && Math.min(width, height) >= MARKED && least < 0;

export function paintGrid(
  canvas: HTMLCanvasElement,
  panel: Panel,
  cells: Cells,
  table: Uint8ClampedArray,
) {
  const { rows, columns, width, height, across, down, dense } = cells;
  const [w, h] = [Math.ceil(columns / across), Math.ceil(rows / down)];
  canvas.width = Math.max(1, Math.round(w * width * dense));
  canvas.height = Math.max(1, Math.round(h * height * dense));
  canvas.style.width = `${w * width}px`;
  canvas.style.height = `${h * height}px`;
  const context = context2d(canvas);
  paintCells(context, panel, cells, table);
  if (cells.hasLetters) writeNumbers(context, panel, cells, table);
  else if (hasStrokes(panel, cells)) strokeNegatives(context, panel, cells, table);
}

/** One pixel per cell; drawn magnified. */
const small = new OffscreenCanvas(1, 1);

function paintCells(
  context: CanvasRenderingContext2D,
  panel: Panel,
  cells: Cells,
  colors: Uint8ClampedArray,
) {
  const { rows, columns, across, down } = cells;
  const { data } = panel;
  const [w, h] = [Math.ceil(columns / across), Math.ceil(rows / down)];
  const image = new ImageData(w, h);
  const pixels = new Uint32Array(image.data.buffer);
  const table = new Uint32Array(colors.buffer);
  const isWhole = across * down === 1;
  for (let i = 0; i < h; i++) {
    for (let j = 0; j < w; j++) {
      const element = isWhole ? i * columns + j : elementOf(data, cells, i, j);
      if (element < 0 || element >= data.length) continue;
      pixels[i * w + j] = table[shadeAt(shareOf(panel, data[element])) / 4];
    }
  }
  small.width = w;
  small.height = h;
  small.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, context.canvas.width, context.canvas.height);
}

/** The element of largest size in a cell; −1 beyond the end of a wrapped list. */
export function elementOf(data: ArrayLike<number>, cells: Cells, i: number, j: number) {
  const { rows, columns, across, down } = cells;
  let extreme = -1;
  for (let row = i * down; row < Math.min(rows, (i + 1) * down); row++) {
    for (let column = j * across; column < Math.min(columns, (j + 1) * across); column++) {
      const at = row * columns + column;
      if (at >= data.length) continue;
      if (extreme < 0 || Math.abs(data[at]) > Math.abs(data[extreme])) extreme = at;
    }
  }
  return extreme;
}

function writeNumbers(
  context: CanvasRenderingContext2D,
  panel: Panel,
  { columns, width, height, dense }: Cells,
  table: Uint8ClampedArray,
) {
  context.font = `${13 * dense}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let at = 0; at < panel.data.length; at++) {
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
function strokeNegatives(
  context: CanvasRenderingContext2D,
  panel: Panel,
  { columns, width, height, dense }: Cells,
  table: Uint8ClampedArray,
) {
  const paths: Record<string, Path2D> = { "#000": new Path2D(), "#fff": new Path2D() };
  for (let at = 0; at < panel.data.length; at++) {
    if (!(panel.data[at] < 0)) continue;
    const path = paths[inkOn(table, shadeAt(shareOf(panel, panel.data[at])))];
    const [x, y] = [(at % columns) * width, Math.floor(at / columns) * height];
    path.moveTo((x + 2) * dense, (y + height - 2) * dense);
    path.lineTo((x + width - 2) * dense, (y + 2) * dense);
  }
  context.lineWidth = dense;
  for (const [ink, path] of Object.entries(paths)) {
    context.strokeStyle = ink;
    context.stroke(path);
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
