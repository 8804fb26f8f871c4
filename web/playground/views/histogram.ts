// Histogram of the values, with ticks at the codes and movable ends of the range.

import { axis, bars, linear, ticks } from "../../figures/chart.js";
import { dot, line, round, text } from "../../figures/parts.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";

export type Counts = { low: number; high: number; counts: Uint32Array };

interface View {
  counts: Counts;
  /** The real number of each code, in order. */
  levels: number[];
  /** The real number of the least code. */
  low: number;
  high: number;
  /** The codes are those of all values. */
  isWhole: boolean;
  /** Whether the ends can be moved. */
  canMove: boolean;
  /** One end moves the other. */
  isSymmetric: boolean;
  /** Of the selected element. */
  value?: number;
  restored?: number;
  levelsName: string;
}

const HEIGHT = 220;
const SIDE = 12;
const TOP = 26;
const BASE = 150;
const DENSEST = 3; // pixels between ticks
const LETTER = 8; // pixels of a bold letter

export class Histogram {
  onMove: (low: number, high: number) => void;
  svg;
  drawn;
  handles;
  #view: View | undefined;
  /** Pixels; measured when they change, because measuring lays the page out. */
  #room = 0;
  #across = linear([0, 1], [0, 1]);
  /** The domain while an end is dragged, so that the drawing does not move below the pointer. */
  #held: [number, number] | undefined;

  constructor(place: HTMLElement, onMove: (low: number, high: number) => void) {
    this.onMove = onMove;
    this.svg = toDom(
      h("svg", {
        class: "drawing play-histogram",
        height: HEIGHT,
        role: "group",
        "aria-label": "Histogram",
      }),
    );
    this.drawn = toDom(h("g", { role: "img" }), true);
    const handle = (name: string) =>
      toDom(
        h(
          "g",
          {
            class: "play-handle",
            role: "slider",
            tabindex: 0,
            "aria-label": name,
            "aria-orientation": "horizontal",
          },
          h("rect", { class: "touch", x: -22, y: TOP - 10, width: 44, height: BASE - TOP + 44 }),
          h("line", { x1: 0, x2: 0, y1: TOP - 4, y2: BASE + 22 }),
          h("path", { d: `M-6 ${TOP - 10} H6 V${TOP - 3} L0 ${TOP + 5} L-6 ${TOP - 3} Z` }),
        ),
        true,
      );
    this.handles = {
      low: handle("Lower end of the range"),
      high: handle("Upper end of the range"),
    };
    this.svg.append(this.drawn, this.handles.low, this.handles.high);
    place.append(this.svg);
    for (const end of ["low", "high"] as const) this.#connect(end);
    new ResizeObserver(([{ contentRect }]) => {
      this.#room = Math.floor(contentRect.width);
      this.#draw();
    }).observe(place);
  }

  #connect(end: "low" | "high") {
    const handle = this.handles[end];
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
      this.#held = this.#across.domain() as [number, number];
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const { left } = this.svg.getBoundingClientRect();
      this.#move(end, this.#across.invert(event.clientX - left));
    });
    for (const type of ["pointerup", "pointercancel"]) {
      handle.addEventListener(type, () => {
        this.#held = undefined;
        this.#draw();
      });
    }
    handle.addEventListener("keydown", (event) => {
      const view = this.#view;
      if (!view) return;
      const [from, to] = this.#across.domain();
      const step = (to - from) / (event.shiftKey ? 20 : 200);
      const { low, high } = view.counts;
      const places: Record<string, number> = {
        ArrowLeft: view[end] - step,
        ArrowDown: view[end] - step,
        ArrowRight: view[end] + step,
        ArrowUp: view[end] + step,
        PageDown: view[end] - 10 * step,
        PageUp: view[end] + 10 * step,
        Home: low,
        End: high,
      };
      if (!(event.key in places)) return;
      event.preventDefault();
      this.#move(end, places[event.key]);
    });
  }

  #move(end: "low" | "high", to: number) {
    const view = this.#view;
    if (!view) return;
    const least = (this.#across.domain()[1] - this.#across.domain()[0]) / 1000;
    // An affine range contains 0; a symmetric one has it in the middle.
    const place =
      end === "low"
        ? Math.min(to, view.isSymmetric ? -least : 0)
        : Math.max(to, view.isSymmetric ? least : 0);
    const other = end === "low" ? view.high : view.low;
    const fitting = view.isSymmetric ? -place : other;
    const [low, high] = end === "low" ? [place, fitting] : [fitting, place];
    if (high - low >= least) this.onMove(Math.fround(low), Math.fround(high));
  }

  show(view: View) {
    this.#view = view;
    this.#draw();
  }

  /**
   * Draws the histogram for a width of its own while a picture of it is made.
   * @param width  pixels
   */
  drawnFor(width: number, use: (svg: SVGSVGElement) => void) {
    const room = this.#room;
    this.#room = width;
    this.#draw();
    use(this.svg);
    this.#room = room;
    this.#draw();
  }

  #draw() {
    const view = this.#view;
    const width = this.#room;
    if (!view || width < 50) return;
    const { counts, low, high, levels } = view;
    const reach = counts.high - counts.low || Math.abs(counts.high) || 1;
    this.#across
      .domain(
        this.#held ?? [
          Math.min(counts.low, low, 0) - 0.06 * reach,
          Math.max(counts.high, high, 0) + 0.06 * reach,
        ],
      )
      .range([SIDE, width - SIDE]);
    const across = this.#across;
    // On a narrow screen the name of the codes gets a line of its own.
    const isSplit =
      LETTER * ("real numbers".length + view.levelsName.length + 2) > width - 2 * SIDE;
    const height = HEIGHT + (isSplit ? 18 : 0);
    this.svg.setAttribute("width", String(width));
    this.svg.setAttribute("height", String(height));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawn.setAttribute(
      "aria-label",
      `Histogram of values from ${formatNumber(counts.low)} to ${formatNumber(counts.high)}; ` +
        `${levels.length} codes from ${formatNumber(low)} to ${formatNumber(high)}.`,
    );
    const parts = [
      this.#bars(view),
      axis([SIDE, width - SIDE], BASE),
      this.#levels(view, width),
      ticks(across, across.ticks(Math.round(width / 90)), BASE + 44),
      text(SIDE, HEIGHT - 8, "real numbers", "label real"),
      isSplit
        ? text(SIDE, height - 8, view.levelsName, "label code")
        : text(width - SIDE, height - 8, view.levelsName, "label code", "end"),
      view.value !== undefined && this.#element(view),
    ];
    const group = toDom(h("g", {}, ...parts), true);
    this.drawn.replaceChildren(...group.childNodes);
    for (const end of ["low", "high"] as const) {
      const handle = this.handles[end];
      handle.toggleAttribute("hidden", !view.canMove);
      if (view.canMove) handle.setAttribute("tabindex", "0");
      else handle.removeAttribute("tabindex");
      handle.style.display = view.canMove ? "" : "none";
      handle.setAttribute("transform", `translate(${round(across(view[end]))} 0)`);
      const [from, to] = across.domain();
      handle.setAttribute("aria-valuemin", String(Number(from.toPrecision(4))));
      handle.setAttribute("aria-valuemax", String(Number(to.toPrecision(4))));
      handle.setAttribute("aria-valuenow", String(Number(view[end].toPrecision(6))));
      handle.setAttribute("aria-valuetext", formatNumber(view[end]));
    }
  }

  #bars({ counts, levels, isWhole }: View) {
    const [low, high] = reachOf(levels);
    const most = Math.max(...counts.counts);
    const topOf = (count: number) => BASE - Math.max(2.5, ((BASE - TOP) * count) / most);
    // The ends of one slice do not apply to the values of others.
    const isKept = (x: number) => !isWhole || (x >= low && x <= high);
    return ["bar", "bar clipped"].map((name) =>
      h("path", {
        class: name,
        d: bars(counts, this.#across, BASE, topOf, (x) => isKept(x) === (name === "bar")),
      }),
    );
  }

  #levels({ levels }: View, width: number) {
    const across = this.#across;
    let last = Number.NEGATIVE_INFINITY;
    let path = "";
    for (const level of levels) {
      const at = across(level);
      if (at < 0 || at > width || at - last < DENSEST) continue;
      path += `M${round(at)} ${BASE + 6}V${BASE + 22}`;
      last = at;
    }
    return h("path", { class: "levels", d: path });
  }

  #element({ value = 0, restored = 0 }: View) {
    const across = this.#across;
    return [
      line(across(value), BASE, across(restored), BASE + 14, "thread strong"),
      dot(across(value), BASE, 4.5, "real"),
      dot(across(restored), BASE + 14, 4.5, "code-dot"),
    ];
  }
}

/**
 * The ends of the numbers that are rounded and not clipped: half a step beyond the least and the greatest code.
 * @param levels  the real number of each code, in order
 */
export function reachOf(levels: number[]) {
  if (levels.length < 2) return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const half = (levels[1] - levels[0]) / 2;
  return [levels[0] - half, levels[levels.length - 1] + half];
}
