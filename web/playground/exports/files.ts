// The results as files: JSON, CSV, SVG and PNG.

import { context2d, find } from "../../shell/dom.js";
import type { Settings } from "../state.js";
import { indexOf } from "../views/geometry.js";
import type { Evaluation } from "../worker/evaluate.js";
import { shortest } from "./code.js";

type Result = {
  values: Float32Array;
  shape: readonly number[];
  settings: Settings;
  evaluation: Evaluation;
  error: Float32Array;
  link: string;
};

export function toJson({ values, shape, settings, evaluation, error, link }: Result) {
  const { codes, restored, scales, zeroPoints, isOffset, metrics, bytes } = evaluation;
  const numbers = (list: ArrayLike<number>) => Array.from(list, shortestNumber);
  return `${JSON.stringify({
    version: 1,
    link,
    settings,
    shape,
    scale: Array.from(scales),
    [isOffset ? "offset" : "zeroPoint"]: Array.from(zeroPoints),
    bytes,
    // JSON has no infinity.
    metrics: Object.fromEntries(
      Object.entries(metrics).map(([name, value]) => [
        name,
        Number.isFinite(value) ? value : String(value),
      ]),
    ),
    values: numbers(values),
    codes: codes && Array.from(codes),
    restored: numbers(restored),
    error: numbers(error),
  })}\n`;
}

const shortestNumber = (value: number) => Number(shortest(value));

export function toCsv({ values, shape, evaluation, error }: Result) {
  const { codes, restored } = evaluation;
  const lines = ["index,value,code,restored,error"];
  for (let i = 0; i < values.length; i++) {
    const index = indexOf(shape, i).slice(1, -1).replaceAll(", ", " ");
    const numbers = [values[i], undefined, restored[i], error[i]].map((each) =>
      each === undefined ? (codes ? String(codes[i]) : "") : shortest(each),
    );
    lines.push([index, ...numbers].join(","));
  }
  return `${lines.join("\n")}\n`;
}

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "font-family",
  "font-size",
  "font-weight",
];

/** A drawing with its styles, as a file. */
export function toSvg(svg: SVGSVGElement) {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [svg.querySelectorAll("*"), copy.querySelectorAll("*")];
  for (let i = 0; i < from.length; i++) {
    const style = getComputedStyle(from[i]);
    if (style.display === "none" || from[i].classList.contains("touch"))
      to[i].setAttribute("display", "none");
    for (const name of STYLES) to[i].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["tabindex", "role", "class"]) to[i].removeAttribute(name);
  }
  const background = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  background.setAttribute("width", "100%");
  background.setAttribute("height", "100%");
  background.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(background);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  for (const name of ["class", "role"]) copy.removeAttribute(name);
  return new XMLSerializer().serializeToString(copy);
}

/** The grids of the page side by side, as one picture. */
export function toPicture(place: ParentNode) {
  const grids = Array.from(place.querySelectorAll(".play-grid"), (grid) => ({
    name: find(grid, "strong").textContent ?? "",
    canvas: find(grid, "canvas", HTMLCanvasElement),
  }));
  const gap = 24;
  const letters = 18 * Math.max(1, devicePixelRatio);
  const picture = document.createElement("canvas");
  picture.width = grids.reduce((sum, { canvas }) => sum + canvas.width + gap, gap);
  picture.height = Math.max(...grids.map(({ canvas }) => canvas.height)) + 2 * gap + letters;
  const context = context2d(picture);
  context.fillStyle = "#fff";
  context.fillRect(0, 0, picture.width, picture.height);
  context.font = `600 ${letters * 0.8}px system-ui, sans-serif`;
  let x = gap;
  for (const { name, canvas } of grids) {
    context.fillStyle = "#1c2127";
    context.fillText(name, x, gap + letters * 0.6, canvas.width);
    context.drawImage(canvas, x, gap + letters);
    x += canvas.width + gap;
  }
  return picture;
}

/** Offers a file for download. */
export function offer(name: string, content: Blob) {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
