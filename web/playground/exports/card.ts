// A card of the playground: its settings, the histogram and the errors as one picture, in the theme of the page.

import { context2d, find } from "../../shell/dom.js";
import { GENERATORS } from "../data/generate.js";
import type { Data, Result } from "../engine.js";
import type { Source } from "../state.js";
import { describe, ERRORS } from "../views/compare.js";
import { withHistogram } from "../views/histogram.js";
import { paintSvg } from "./paint-svg.js";

const SCALE = 2; // pixels of a unit
const WIDTH = 600;
const HEIGHT = 315;
const SIDE = 24;
const HISTOGRAM = 0.8; // units of a pixel of the histogram
const SHOWN = ["Bytes", "SQNR, dB", "Mean squared error", "Largest error"];

/** @param a  the results of the settings to compare with */
export function cardOf(
  view: Element,
  source: Source,
  data: Data,
  a: Result | undefined,
  result: Result,
  element: number,
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * WIDTH;
  canvas.height = SCALE * HEIGHT;
  const context = context2d(canvas);
  const { color, fontFamily } = getComputedStyle(view);
  const faint = getComputedStyle(find(view, ".play-note")).color;
  const room = WIDTH - 2 * SIDE;
  const write = (
    text: string,
    x: number,
    y: number,
    { size = 12, weight = 400, ink = color, width = room } = {},
  ) => {
    context.font = `${weight} ${size}px ${fontFamily}`;
    context.fillStyle = ink;
    context.fillText(text, x, y, width);
  };
  context.scale(SCALE, SCALE);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, WIDTH, HEIGHT);

  const titles = a
    ? [`A: ${describe(a.settings)}`, `B: ${describe(result.settings)}`]
    : [describe(result.settings)];
  titles.forEach((title, i) => {
    write(title, SIDE, 38 + 20 * i, { size: a ? 15 : 20, weight: 700 });
  });
  write(dataText(source, data.shape), SIDE, a ? 76 : 58, { ink: faint });

  context.save();
  context.translate(SIDE, a ? 86 : 72);
  context.scale(HISTOGRAM, HISTOGRAM);
  withHistogram({ data, result, element }, room / HISTOGRAM, (svg) => paintSvg(context, svg));
  context.restore();

  const shown = ERRORS.filter(([name]) => SHOWN.includes(name));
  const column = (room - 70) / shown.length;
  shown.forEach(([name, read, text], i) => {
    const x = SIDE + i * column;
    const values = [...(a ? [a] : []), result].map(({ evaluation }) => text(read(evaluation)));
    write(name, x, 280, { size: 11.5, ink: faint, width: column - 12 });
    write(values.join(" → "), x, 299, { size: a ? 12.5 : 16, weight: 600, width: column - 12 });
  });
  context.textAlign = "end";
  write("zeropoint", WIDTH - SIDE, 299, { weight: 700, ink: faint });
  return canvas;
}

function dataText(source: Source, shape: readonly number[]) {
  const size = `${shape.join(" × ")} values`;
  if (source.kind === "given") return `${size}, ${source.name}`;
  const { name } = GENERATORS[source.generator];
  const seed = source.generator === "course" ? "" : `, seed ${source.seed}`;
  return `${size}: ${name}${seed}`;
}
